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

from skatter._extras import need
from skatter._files import write_atomically

Home = str | os.PathLike[str] | None  # a data home as users give it; None is the default
VARIABLE = "SKATTER_DATA"  # the environment variable that names the data home


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

    def check(self, path: Path, origin: str) -> None:
        wrong, size = "", path.stat().st_size
        if self.size not in (None, size):
            wrong = f"size in bytes expected {self.size}, found {size}"
        elif self.sha256 is not None:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != self.sha256:
                wrong = f"SHA-256 expected {self.sha256}, found {found}"
        if wrong:
            raise ValueError(
                f"{path} is not the file that skatter knows: {wrong}. Get it again from {origin}."
            )


@dataclass(frozen=True)
class Source:
    """The files of a data set, by domain or any other name, and what a user is told of them.

    They lie in ``folder`` of the data home and come from ``origin``; ``hint`` is for missing ones.
    """

    folder: str
    files: Mapping[str, KnownFile]
    origin: str
    hint: str = ""

    def find(self, key: str, home: Home = None, *, download_if_missing: bool = False) -> Path:
        """Return the path of a file once its bytes are known to be the right ones."""
        file, root = self.files[key], data_home(home)
        path = root / self.folder / file.name
        hint = f" {self.hint}" if self.hint else ""
        if file.url:
            hint += f" download_if_missing=True downloads it from {file.url}."
            if download_if_missing and not path.exists():
                _download(file, path, self.origin)
        if not path.is_file():
            raise FileNotFoundError(
                f"{self.folder}/{file.name} is not in {root}. Put it at {path}, or name the folder "
                f"that holds it by data_home or by the environment variable {VARIABLE}.{hint} It "
                f"comes from {self.origin}."
            )
        file.check(path, self.origin)
        return path


def data_home(folder: Home = None) -> Path:
    """Return the folder that holds the data files; it need not exist, and is not made."""
    if folder is None:
        folder = os.environ.get(VARIABLE) or Path("~", "skatter_data")
    return Path(folder).expanduser()


def _download(file: KnownFile, path: Path, origin: str) -> None:
    """Put a file in its place once it has come whole and passed its check."""
    by_hand = f"Or get the file by hand and put it at {path}."
    words = f'To download {file.url}, install pooch: pip install "skatter[data]". {by_hand}'
    download = need("pooch", words).HTTPDownloader()

    def write(part: Path) -> None:
        with part.open("wb") as opened:
            download(file.url, opened, None)
        file.check(part, origin)

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, write)
    except OSError as error:  # requests' own errors are among them
        raise FileNotFoundError(
            f"{path} is missing, and {file.url} could not be downloaded: {error}. Try again later. "
            f"{by_hand}"
        ) from error
    except ValueError as error:
        raise ValueError(
            f"{file.url} gave another file than the one that skatter knows, and it was thrown "
            f"away: {error} {by_hand}"
        ) from error
