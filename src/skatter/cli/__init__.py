"""The command line: ``skatter diagnose``, ``adapt``, ``ask``, ``predict``, ``demo`` and others.

Typer and rich come with the extra ``cli`` and are imported when a command runs.
"""

import sys
from importlib.metadata import version
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    from typer import Typer

__all__ = ["build_app", "main"]


def main() -> None:
    """Run the command line; without its libraries, say how to get them and exit with 1."""
    try:
        app = build_app()
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        needs = 'skatter: the command line needs typer and rich: pip install "skatter[table]"'
        print(needs, file=sys.stderr)
        raise SystemExit(1) from None
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a question mark for what it cannot write
    app()


def build_app() -> "Typer":
    """Return the Typer application with all its commands."""
    import typer

    from skatter.cli._adapt import adapt_file
    from skatter.cli._ask import ask_file
    from skatter.cli._demo import demo
    from skatter.cli._diagnose import diagnose_file
    from skatter.cli._methods import methods
    from skatter.cli._predict import predict_file
    from skatter_bench.cli import app as bench

    app = typer.Typer(
        name="skatter",
        help="Train where you have labels, predict where you don't.\n\nNew here? Begin with "
        "**skatter demo**; it leaves a table behind for **diagnose** and **adapt**.",
        no_args_is_help=True,
        rich_markup_mode="markdown",  # flows the paragraphs of a docstring
        context_settings={"help_option_names": ["--help", "-h"]},
    )

    # Annotations are evaluated here, where typer is known: no "from __future__" in this file.
    @app.callback(invoke_without_command=True)
    def options(
        show_version: Annotated[
            bool, typer.Option("--version", is_eager=True, help="Print the version and exit.")
        ] = False,
    ) -> None:
        if show_version:
            typer.echo(f"skatter {version('skatter')}")
            raise typer.Exit

    app.command("diagnose")(diagnose_file)
    app.command("adapt")(adapt_file)
    app.command("ask")(ask_file)
    app.command("predict")(predict_file)
    app.command()(demo)
    app.command()(methods)
    app.add_typer(bench)
    return app
