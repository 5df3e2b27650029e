"""``skatter methods``: what there is to choose from, and all that is known of one method."""

from __future__ import annotations

import inspect
from typing import Annotated, get_args

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Argument, BadParameter

from skatter._formatting import public_name
from skatter.methods import METHODS, Method, get_method
from skatter.methods._record import Kind, say_needs


def methods(
    name: Annotated[
        str | None, Argument(metavar="NAME", help="A method, to see all about it.")
    ] = None,
) -> None:
    """List the methods, or show what is known of one.

    With a name: what it does, when to reach for it, what it needs and costs, its parameters, and
    whom to cite.
    """
    console = Console(highlight=False)
    if name is None:
        console.print(overview())
        console.print("\nAll about one of them: skatter methods NAME")
        return
    try:
        method = get_method(name)
    except ValueError as error:
        raise BadParameter(str(error), param_hint="NAME") from None
    console.print(Text(f"{method.name}: {method.summary}", style="bold"))
    console.print(facts(method))
    console.print()
    console.print(parameters(method))


def overview() -> Table:
    table = _table("name", "what it does", "needs", "gives")
    table.columns[0].no_wrap = True
    for kind in get_args(Kind):
        for method in METHODS.values():
            if method.kind == kind:
                _add(table, method.name, method.summary, say_needs(method), kind)
        table.add_section()
    return table


def facts(method: Method) -> Table:
    estimator = method.estimator
    # Padding: top, right, bottom, left.
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2), pad_edge=True)
    for label, fact in (
        ("when", method.when),
        ("needs", say_needs(method)),
        ("gives", method.kind),
        ("cost", method.cost),
        ("class", public_name(estimator)),
        ("citation", method.citation),
    ):
        _add(table, label, fact)
    return table


def parameters(method: Method) -> Table:
    table = _table("parameter", "default", "worth trying")
    table.columns[0].no_wrap = True
    for parameter in inspect.signature(method.estimator).parameters.values():
        values = ", ".join(repr(value) for value in method.grid.get(parameter.name, ()))
        _add(table, parameter.name, repr(parameter.default), values)
    return table


def _table(*headings: str) -> Table:
    return Table(*headings, box=box.SIMPLE, show_edge=False)


def _add(table: Table, *cells: str) -> None:
    """Add a row of plain text, in which a bracket is a bracket."""
    table.add_row(*(Text(cell) for cell in cells))
