"""The file of a page: it appears whole or not at all, and replaces nothing unless told to."""

from __future__ import annotations

import os
from pathlib import Path

from skatter.files import write_atomically


def check_path(path: str | os.PathLike[str], *, force: bool) -> Path:
    """Say what is wrong with a path before any work is done."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"path must be a file, got the folder {target}.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path {target}: there is no folder {target.parent}.")
    if target.exists() and not force:
        raise FileExistsError(f"{target} exists; force=True replaces it.")
    return target


def write_page(path: Path, page: str, *, force: bool) -> None:
    """Write a page as a whole or not at all."""
    check_path(path, force=force)  # somebody else may have written it in the meantime
    write_atomically(path, lambda part: part.write_bytes(page.encode("utf-8")))
