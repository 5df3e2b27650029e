"""Where data files lie, and whether they are the right ones.

The files are not part of skatter. They lie in one folder, the data home; a loader looks there and
checks size and SHA-256 before it reads a file. Most are put there by the user. A few come from a
source with a stable address and a licence that allows it; those are downloaded where the user asks
for that. Without being asked, skatter downloads nothing and makes no folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skatter.datasets.download import fetch

Home = str | os.PathLike[str] | None
"""A data home as users give it; None is the default."""

VARIABLE = "SKATTER_DATA"
"""The environment variable that names the data home."""


@dataclass(frozen=True)
class KnownFile:
    """What is known of a file that a loader reads; size and SHA-256 where somebody saw its bytes.

    ``shape`` is what can be checked of a file without them: samples (None for any number) and
    features. ``url`` is where it may be downloaded from; empty where it may not.
    """

    name: str
    size: int | None = None
    sha256: str | None = None
    shape: tuple[int | None, int] | None = None
    url: str = ""


@dataclass(frozen=True)
class Source:
    """The files of a data set, by domain or any other name, and what a user is told of them.

    They lie in ``folder`` of the data home and come from ``origin``; ``hint`` says what else can be
    done where one is missing.
    """

    folder: str
    files: Mapping[str, KnownFile]
    origin: str
    hint: str = ""

    def find(self, key: str, home: Home = None, *, download_if_missing: bool = False) -> Path:
        """Return the path of a file once its bytes are known to be the right ones."""
        file = self.files[key]
        root = data_home(home)
        path = root / self.folder / file.name
        hint = self.hint
        if file.url:
            if download_if_missing and not path.exists():
                fetch(file.url, path, lambda found: check_bytes(found, file, self.origin))
            hint = f"{hint} download_if_missing=True downloads it from {file.url}.".strip()
        return find_file(root, f"{self.folder}/{file.name}", file, origin=self.origin, hint=hint)


def data_home(folder: Home = None) -> Path:
    """Return the folder that holds the data files; it need not exist, and is not made."""
    if folder is None:
        folder = os.environ.get(VARIABLE) or Path("~", "skatter_data")
    return Path(folder).expanduser()


def find_file(
    home: Path, relative: str | os.PathLike[str], file: KnownFile, *, origin: str, hint: str = ""
) -> Path:
    """Return the path of a file in the data home once its bytes are known to be the right ones."""
    path = home / relative
    if not path.is_file():
        also = f" {hint}" if hint else ""
        raise FileNotFoundError(
            f"{Path(relative).as_posix()} is not in {home}. Put it at {path}, or name the folder "
            f"that holds it by data_home or by the environment variable {VARIABLE}.{also} "
            f"It comes from {origin}."
        )
    check_bytes(path, file, origin)
    return path


def check_bytes(path: Path, file: KnownFile, origin: str) -> None:
    """Compare size and SHA-256 of a file with what is known of it, as far as it is."""
    if file.size is not None:
        _compare("size in bytes", path.stat().st_size, file.size, path, origin)
    if file.sha256 is not None:
        with path.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
        _compare("SHA-256", found, file.sha256, path, origin)


def _compare(what: str, found: int | str, expected: int | str, path: Path, origin: str) -> None:
    if found != expected:
        raise ValueError(
            f"{path} is not the file that skatter knows: {what} expected {expected}, found "
            f"{found}. Get it again from {origin}."
        )
