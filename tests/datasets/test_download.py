"""Files come whole and checked into the data home, or not at all; from a server on this machine."""

from __future__ import annotations

import hashlib
import socket
import sys
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from skatter.datasets import _parkinsons as parkinsons
from skatter.datasets import load_parkinsons
from skatter.datasets._home import KnownFile, Source

BODY = bytes(range(256)) * 400
ORIGIN = "example.org/data"


class Handler(BaseHTTPRequestHandler):
    """Serves the body whole, changed, cut off, or not at all, by its address."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/missing":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        changed = BODY[:-1] + b"!" if self.path == "/changed" else BODY
        self.wfile.write(changed[: len(BODY) // 2] if self.path == "/cut" else changed)

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def server(monkeypatch, require):
    require("pooch", extra="data")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.asked = []
        thread = Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def source(address):
    sha256 = hashlib.sha256(BODY).hexdigest()
    return Source("set", {"all": KnownFile("part.bin", len(BODY), sha256, url=address)}, ORIGIN)


def at(server, path):
    return source(f"http://127.0.0.1:{server.server_port}/{path}")


def files_in(folder):
    return [path for path in Path(folder).rglob("*") if path.is_file()]


def test_a_missing_file_comes_into_a_data_home_that_need_not_be_there(server, tmp_path):
    home = tmp_path / "new" / "home"
    path = at(server, "whole").find("all", home, download_if_missing=True)
    assert path == home / "set" / "part.bin"
    assert path.read_bytes() == BODY
    assert files_in(tmp_path) == [path]
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_there_is_not_asked_for(server, tmp_path):
    whole = at(server, "whole")
    for _ in range(2):
        whole.find("all", tmp_path, download_if_missing=True)
    assert server.asked == ["/whole"]


def test_nothing_is_asked_for_unless_the_user_wants_it(server, tmp_path):
    with pytest.raises(FileNotFoundError, match="download_if_missing=True"):
        at(server, "whole").find("all", tmp_path)
    assert server.asked == []
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_file_of_the_user_is_refused_and_not_replaced(server, tmp_path):
    path = tmp_path / "set" / "part.bin"
    path.parent.mkdir()
    path.write_bytes(b"mine")
    with pytest.raises(ValueError, match="is not the file that skatter knows"):
        at(server, "whole").find("all", tmp_path, download_if_missing=True)
    assert path.read_bytes() == b"mine"
    assert server.asked == []


def test_another_file_at_the_address_is_thrown_away(server, tmp_path):
    with pytest.raises(
        ValueError, match=r"/changed gave another file .* SHA-256 expected"
    ) as caught:
        at(server, "changed").find("all", tmp_path, download_if_missing=True)
    assert f"put it at {tmp_path / 'set' / 'part.bin'}" in str(caught.value)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(("path", "cause"), [("missing", "404"), ("cut", "")])
def test_what_does_not_come_whole_leaves_nothing_behind(server, tmp_path, path, cause):
    with pytest.raises((FileNotFoundError, ValueError), match=f"/{path} .*{cause}") as caught:
        at(server, path).find("all", tmp_path, download_if_missing=True)
    assert f"put it at {tmp_path / 'set' / 'part.bin'}" in str(caught.value)
    assert files_in(tmp_path) == []
    assert list((tmp_path / "set").iterdir()) == []


def test_after_a_failure_the_next_try_succeeds(server, tmp_path):
    with pytest.raises(FileNotFoundError):
        at(server, "missing").find("all", tmp_path, download_if_missing=True)
    path = at(server, "whole").find("all", tmp_path, download_if_missing=True)
    assert path.read_bytes() == BODY


def test_without_a_server_the_user_learns_what_to_put_where(server, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = source(f"http://127.0.0.1:{free.getsockname()[1]}/whole")
        with pytest.raises(FileNotFoundError, match="could not be downloaded") as caught:
            closed.find("all", tmp_path, download_if_missing=True)
    assert f"put it at {tmp_path / 'set' / 'part.bin'}" in str(caught.value)
    assert files_in(tmp_path) == []


def test_a_data_home_that_cannot_hold_files_is_told(server, tmp_path):
    (tmp_path / "set").write_text("a file where the folder should be")
    with pytest.raises(FileNotFoundError, match="could not be downloaded"):
        at(server, "whole").find("all", tmp_path, download_if_missing=True)
    assert files_in(tmp_path) == [tmp_path / "set"]


def test_without_pooch_the_user_learns_what_to_install_or_to_put_where(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r'pip install "skatter\[data\]"') as caught:
        source("https://example.org/part.bin").find("all", tmp_path, download_if_missing=True)
    assert f"put it at {tmp_path / 'set' / 'part.bin'}" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_loader_downloads_and_reads(server, tmp_path, monkeypatch):
    header = ",".join([parkinsons.SUBJECT, *parkinsons.TARGETS.values(), *parkinsons.VOICE])
    body = f"{header}\n{','.join('1' * 19)}\n".encode()
    monkeypatch.setattr(sys.modules[__name__], "BODY", body)
    file = replace(at(server, "whole").files["all"], name="parkinsons_updrs.data")
    monkeypatch.setattr(parkinsons, "SOURCE", replace(parkinsons.SOURCE, files={"all": file}))
    data = load_parkinsons(data_home=tmp_path, download_if_missing=True)
    assert data.X.tolist() == [[1.0] * 16]
    assert server.asked == ["/whole"]
