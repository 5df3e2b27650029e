"""The folder that a command writes into."""

from __future__ import annotations

import os
from pathlib import Path

import typer


def prepare_folder(path: Path) -> Path:
    """Create the folder, or say why nothing can be written there before any work is done."""
    if path.exists() and not path.is_dir():
        raise _bad_out(f"{path} exists and is not a folder; choose another path.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _bad_out(f"cannot create the folder {path}: {error.strerror}.") from error
    if not os.access(path, os.W_OK):
        raise _bad_out(f"the folder {path} is not writable; choose another path.")
    return path


def _bad_out(reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint="--out")
