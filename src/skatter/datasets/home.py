"""Where data files lie, whether they are the right ones, and what is read from them.

skatter downloads nothing and makes no folder. A user puts the files into one folder, the data
home; a loader looks there and checks size and SHA-256 before it reads a file. Only arrays of
numbers are read, and of text where a loader asks for it: nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

VARIABLE = "SKATTER_DATA"
"""The environment variable that names the data home."""


@dataclass(frozen=True)
class KnownFile:
    """Name, size in bytes and SHA-256 (in hexadecimal digits) of a file that a loader reads."""

    name: str
    size: int
    sha256: str


def data_home(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds the data files; it need not exist, and is not made.

    Parameters
    ----------
    folder : path or None
        The folder; None for the environment variable ``SKATTER_DATA``, or ``~/skatter_data``
        where that is not set.

    Examples
    --------
    >>> data_home("downloads").name
    'downloads'
    """
    if folder is None:
        folder = os.environ.get(VARIABLE) or Path("~", "skatter_data")
    return Path(folder).expanduser()


def find_file(
    home: Path, relative: str | os.PathLike[str], *, size: int, sha256: str, origin: str
) -> Path:
    """Return the path of a file in the data home once its bytes are known to be the right ones.

    Parameters
    ----------
    home : Path
        The data home.
    relative : path
        Of the file, within ``home``.
    size : int
        Its size in bytes.
    sha256 : str
        Its SHA-256 in hexadecimal digits.
    origin : str
        Where a user can get it.

    Raises
    ------
    FileNotFoundError
        If there is no such file; says what to put where.
    ValueError
        If there is one, with another size or SHA-256.
    """
    path = home / relative
    if not path.is_file():
        raise FileNotFoundError(
            f"{Path(relative).as_posix()} is not in {home}. Put it at {path}, or name the folder "
            f"that holds it by data_home or by the environment variable {VARIABLE}. "
            f"It comes from {origin}."
        )
    _check("size in bytes", path.stat().st_size, size, path, origin)
    with path.open("rb") as file:
        _check("SHA-256", hashlib.file_digest(file, "sha256").hexdigest(), sha256, path, origin)
    return path


def find_known(
    home: str | os.PathLike[str] | None, folder: str, file: KnownFile, origin: str
) -> Path:
    """Return the path of a file that a loader knows; see :func:`data_home`, :func:`find_file`.

    Parameters
    ----------
    home : path or None
        As the user gave it.
    folder : str
        Where the file lies in the data home.
    file : KnownFile
        What it is.
    origin : str
        Where a user can get it.
    """
    relative = f"{folder}/{file.name}"
    return find_file(data_home(home), relative, size=file.size, sha256=file.sha256, origin=origin)


def _check(what: str, found: int | str, expected: int | str, path: Path, origin: str) -> None:
    if found != expected:
        raise ValueError(
            f"{path} is not the file that skatter knows: {what} expected {expected}, found "
            f"{found}. Get it again from {origin}."
        )


def read_arrays(
    path: Path, names: tuple[str, ...], *, text: tuple[str, ...] = ()
) -> tuple[NDArray[Any], ...]:
    """Return named arrays from a MATLAB (version 5) or NumPy ``.npz`` file.

    Nothing but plain arrays of numbers, or of text where asked for, is accepted: no structs,
    cells or objects.

    Parameters
    ----------
    path : Path
        The file; its suffix is ``.mat`` or ``.npz``.
    names : tuple of str
        The variables to read.
    text : tuple of str
        Those of ``names`` that must be arrays of text; the others must be arrays of numbers.

    Raises
    ------
    ValueError
        If a variable is missing or is something else than an array of its kind.
    """
    read = {".mat": _read_mat, ".npz": _read_npz}[path.suffix]
    arrays = read(path, names)
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"{path} holds no variable {', '.join(missing)}.")
    for name in names:
        if name in text and not _is_plain(arrays[name], "U"):
            raise ValueError(
                f"{name} in {path} must be an array of text; numbers, structs, cells, objects and "
                "sparse matrices are not read."
            )
        if name not in text and not _is_plain(arrays[name], "biuf"):
            raise ValueError(
                f"{name} in {path} must be a dense array of real numbers; structs, cells, text, "
                "objects and sparse matrices are not read."
            )
    return tuple(arrays[name] for name in names)


def _is_plain(value: Any, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds


def _read_mat(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    return dict(loadmat(path, variable_names=names))


def _read_npz(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: _member(archive, name) for name in names if name in archive.files}


def _member(archive: Any, name: str) -> Any:
    """One array of an archive, or None where NumPy would have to unpickle it."""
    try:
        return archive[name]
    except ValueError:
        return None
