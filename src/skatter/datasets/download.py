"""Bring a file from its address into the data home: whole and checked, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from skatter.files import write_atomically


def fetch(url: str, path: Path, check: Callable[[Path], None]) -> None:
    """Download a file, and put it in its place once it has passed a check."""
    by_hand = f"Or get the file by hand and put it at {path}."
    download = _downloader(url, by_hand)

    def write(part: Path) -> None:
        with part.open("wb") as file:
            download(url, file, None)
        check(part)

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, write)
    except OSError as error:  # requests' own errors are among them
        raise FileNotFoundError(
            f"{path} is missing, and {url} could not be downloaded: {error}. Try again later. "
            f"{by_hand}"
        ) from error
    except ValueError as error:
        raise ValueError(
            f"{url} gave another file than the one that skatter knows, and it was thrown away: "
            f"{error} {by_hand}"
        ) from error


def _downloader(url: str, by_hand: str) -> Callable[..., Any]:
    try:
        # pooch carries no types, and is looked for only where a download is asked for.
        pooch = import_module("pooch")
    except ImportError as error:
        raise ImportError(
            f'To download {url}, install pooch: pip install "skatter[data]". {by_hand}'
        ) from error
    downloader: Callable[..., Any] = pooch.HTTPDownloader()
    return downloader
