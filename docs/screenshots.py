"""Take the pictures of docs/looks.md: the terminal, the report and this site, as users see them.

    skatter demo --out demo
    python docs/screenshots.py demo/digits.csv [--site docs/_build/html]

Commands run in a real terminal of 80 and of 200 columns, pages open in Debian's Chromium at the
width of a desk and of a phone.
"""

from __future__ import annotations

import argparse
import fcntl
import io
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parent / "images"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ROLES = ["--domain", "collection", "--label", "digit"]
DESK, PHONE = (1280, 900), (390, 844)
PAGE = """<style>
  body {{ margin: 0; background: #fff }}
  pre {{ display: inline-block; margin: 0; padding: 12px; font: 13px/1.25 monospace }}
</style><pre>{code}</pre>"""


def in_a_terminal(command: list[str], columns: int, folder: Path) -> str:
    """Run a command in a terminal of so many columns; return what it wrote there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    # COLUMNS would win over the size of the terminal.
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(
        [str(Path(sys.executable).with_name("skatter")), *command],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environ | {"TERM": "xterm-256color"},
    ) as process:
        os.close(theirs)
        written = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {written.decode()}")
    return "\n".join(written.decode().splitlines())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says so when the other end is closed
        return b""


def picture_of_terminal(browser: Browser, written: str, columns: int, name: str) -> None:
    """Draw what a terminal shows."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(written), soft_wrap=True)
    code = console.export_html(inline_styles=True, code_format="{code}")
    page = browser.new_page(device_scale_factor=1.5 if columns < 100 else 1)
    page.set_content(PAGE.format(code=code))
    page.locator("pre").screenshot(path=IMAGES / name)
    page.close()


def picture_of_page(
    browser: Browser, path: Path, size: tuple[int, int], scheme: str, at: str, name: str
) -> None:
    """Draw the window of a browser, scrolled to a place, or at the top."""
    width, height = size
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page.goto(path.resolve().as_uri())
    if at:
        page.locator(at).evaluate("place => place.scrollIntoView()")
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / name)
    page.close()


def take(browser: Browser, source: Path, folder: Path) -> None:
    """Take the pictures of the commands and of the report."""
    table = "demo/digits.csv"
    (folder / "demo").mkdir()
    shutil.copy(source, folder / table)
    for columns in (80, 200):
        written = in_a_terminal(["diagnose", table, *ROLES], columns, folder)
        short = "\n".join(written.splitlines()[:34])
        picture_of_terminal(browser, short, columns, f"terminal-diagnose-{columns}.png")
        out = ["--out", f"{columns}.csv", "--report", f"{columns}.html"]
        written = in_a_terminal(["adapt", table, *ROLES, *out], columns, folder)
        picture_of_terminal(browser, written, columns, f"terminal-adapt-{columns}.png")
    written = in_a_terminal(["adapt", "--help"], 80, folder)
    picture_of_terminal(browser, written, 80, "terminal-help.png")
    page = folder / "80.html"
    picture_of_page(browser, page, DESK, "light", "", "report.png")
    picture_of_page(browser, page, DESK, "dark", "#explorer", "report-explorer.png")
    picture_of_page(browser, page, PHONE, "dark", "", "report-phone.png")


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, help="digits.csv of skatter demo")
    parser.add_argument("--site", type=Path, help="folder of the built site")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        take(browser, options.table.resolve(), Path(folder))
        if options.site is not None:
            index = options.site / "index.html"
            picture_of_page(browser, index, DESK, "light", "", "site.png")
            picture_of_page(browser, index, PHONE, "dark", "", "site-phone.png")
        browser.close()
    for pattern in ("terminal-*.png", "report*.png", "site*.png"):
        for path in IMAGES.glob(pattern):
            # 256 colours are enough for text, and a third of the bytes.
            Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    main()
