"""MATLAB files that are broken, odd or hostile."""

from __future__ import annotations

import io
import struct
import zlib
from functools import partial

import numpy as np
from scipy import sparse
from scipy.io import savemat

HEAD = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
DOUBLE, CHAR, CELL = 6, 4, 1


def good_mat():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30)[:, None] % 2
    return saved(X=X, y=y, site=cells(["basel", "cairo", "essen"] * 10))


def plain_mat():
    """Return a file whose bytes are not behind a check sum, so that mutants are read further."""
    site = np.array(["basel", "ulm", "cairo"])
    return saved(compress=False, X=np.eye(3), site=site, ill=cells(["yes", "no", ""]))


def saved(*, compress=True, version="5", **variables):
    file = io.BytesIO()
    savemat(file, variables, do_compression=compress, format=version)
    return file.getvalue()


def cells(values):
    column = np.empty((len(values), 1), dtype=object)
    column[:, 0] = values
    return column


# --- elements, written by hand ------------------------------------------------------------------


def element(kind, content, n_bytes=None):
    n_bytes = len(content) if n_bytes is None else n_bytes
    return struct.pack("<II", kind, n_bytes) + content + bytes(-len(content) % 8)


def matrix(kind, shape, *parts, name=b"x", n_bytes=None):
    content = (
        element(6, struct.pack("<II", kind, 0))
        + element(5, struct.pack(f"<{len(shape)}i", *shape))
        + element(1, name)
        + b"".join(parts)
    )
    return element(14, content, n_bytes)


def numbers(*values):
    return element(9, struct.pack(f"<{len(values)}d", *values))


def squeezed(content):
    packed = zlib.compress(content, 1)
    return element(15, packed)[: 8 + len(packed)]


def nested(levels):
    """Return cells within cells within cells, the outermost first."""
    inner = matrix(DOUBLE, (1, 1), numbers(1.0), name=b"")
    shell = matrix(CELL, (1, 1), name=b"")[8:]
    sizes = (len(inner) + level * (8 + len(shell)) + len(shell) for level in range(levels))
    shells = [struct.pack("<II", 14, size) + shell for size in sizes]
    return b"".join(reversed(shells)) + inner


def hidden(levels):
    """Return a cell whose tag says that it ends after the deep one which its reader walks into."""
    flat, inner = matrix(DOUBLE, (1, 1), numbers(1.0), name=b""), nested(levels)
    lying = flat[:4] + struct.pack("<I", len(flat) - 8 + len(inner)) + flat[8:] + inner
    return HEAD + matrix(CELL, (2, 1), lying)


def zeros(n_mebibytes):
    """Return an element that unpacks to nothing but zeros."""
    packer = zlib.compressobj(1)
    start = matrix(DOUBLE, (n_mebibytes << 17, 1))
    start = struct.pack("<II", 14, len(start) + (n_mebibytes << 20)) + start[8:]
    content = packer.compress(start + struct.pack("<II", 9, n_mebibytes << 20))
    for _ in range(n_mebibytes):
        content += packer.compress(bytes(1 << 20))
    return content + packer.flush()


def bomb(n_mebibytes):
    content = zeros(n_mebibytes)
    return HEAD + struct.pack("<II", 15, len(content)) + content


def cut(share):
    content = good_mat()
    return content[: int(share * len(content))]


def renamed(old, new):
    content = saved(compress=False, **{old: np.eye(3)})
    return content.replace(old.encode(), new.encode())


def other_byte_order():
    """Write a file as a big-endian machine does."""

    def tag(kind, content):
        return struct.pack(">II", kind, len(content)) + content + bytes(-len(content) % 8)

    content = (
        tag(6, struct.pack(">II", DOUBLE, 0))
        + tag(5, struct.pack(">2i", 2, 1))
        + tag(1, b"x")
        + tag(9, struct.pack(">2d", 1.0, 2.0))
    )
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI" + tag(14, content)


def old_version(rows, columns):
    return struct.pack("<5i", 0, rows, columns, 0, 2) + b"x\0" + bytes(16)


MAT = {
    "empty": ("error", bytes),
    "short": ("error", lambda: b"MATLAB"),
    "noise": ("error", lambda: np.random.default_rng(1).bytes(3000)),
    "header-alone": ("error", lambda: HEAD),
    "header-and-noise": ("error", lambda: HEAD + np.random.default_rng(1).bytes(3000)),
    "csv-inside": ("error", lambda: b"a,b\n1,2\n" * 50),
    "version-7.3": ("error", lambda: b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n"),
    "hdf5": ("error", lambda: b"\x89HDF\r\n\x1a\n" + bytes(600)),
    "version-unknown": ("error", lambda: HEAD[:124] + b"\x00\x09IM" + bytes(64)),
    "cut-at-a-tenth": ("error", partial(cut, 0.1)),
    "cut-at-a-half": ("error", partial(cut, 0.5)),
    "cut-before-the-end": ("error", partial(cut, 0.99)),
    "struct": ("error", lambda: saved(x={"a": 1, "b": "text"})),
    "structs": ("error", lambda: saved(x=np.zeros(3, dtype=[("a", "f8"), ("b", "f8")]))),
    "sparse": ("error", lambda: saved(x=sparse.eye(5).tocsc())),
    "complex": ("error", lambda: saved(x=np.array([[1j], [2]]))),
    "three-dimensions": ("error", lambda: saved(x=np.ones((2, 3, 4)))),
    "lengths-differ": ("error", lambda: saved(x=np.ones((3, 2)), y=np.ones((4, 1)))),
    "no-rows": ("error", lambda: saved(x=np.empty((0, 3)))),
    "cells-of-matrices": ("error", lambda: saved(x=cells([np.ones((2, 2)), np.eye(3)]))),
    "cells-mixed": ("error", lambda: saved(x=cells(["a", 1.0]))),
    "cells-of-structs": ("error", lambda: saved(x=cells([{"a": 1}, {"a": 2}]))),
    "cells-in-cells": ("error", lambda: saved(x=cells([cells(["a"]), cells(["b"])]))),
    "cells-in-cells-plain": (
        "error",
        lambda: saved(compress=False, x=cells([cells(["a"]), cells(["b"])])),
    ),
    "cells-100000-deep": ("error", lambda: HEAD + squeezed(nested(100_000))),
    "cells-hidden-behind-a-tag": ("error", partial(hidden, 100_000)),
    "cells-claimed": ("error", lambda: HEAD + matrix(CELL, (10**9, 1))),
    "cells-too-few": ("error", lambda: HEAD + matrix(CELL, (3, 1), matrix(DOUBLE, (1, 1)))),
    "shape-huge": ("error", lambda: HEAD + matrix(DOUBLE, (2**31 - 1, 2**31 - 1), numbers(1.0))),
    "shape-negative": ("error", lambda: HEAD + matrix(DOUBLE, (-1, -1), numbers(1.0))),
    "shape-of-none": ("error", lambda: HEAD + matrix(DOUBLE, (), numbers(1.0))),
    "shape-too-large": ("error", lambda: HEAD + matrix(DOUBLE, (9, 1), numbers(1.0))),
    "tag-claims-too-much": ("error", lambda: HEAD + matrix(DOUBLE, (1, 1), n_bytes=2**32 - 8)),
    "part-claims-too-much": (
        "error",
        lambda: HEAD + matrix(DOUBLE, (1, 1), element(9, bytes(8), n_bytes=2**32 - 8)),
    ),
    "squeezed-noise": ("error", lambda: HEAD + element(15, bytes(range(256)))),
    "squeezed-cut-off": (
        "error",
        lambda: HEAD + element(15, zlib.compress(matrix(DOUBLE, (1, 1), numbers(1.0)))[:-12]),
    ),
    "squeezed-twice": (
        "error",
        lambda: HEAD + squeezed(squeezed(matrix(DOUBLE, (1, 1), numbers(1.0)))),
    ),
    "old-version-huge": ("error", partial(old_version, 10**6, 10**6)),
    "old-version-negative": ("error", partial(old_version, -1, 1)),
    "variable-twice": ("error", lambda: saved(x=np.eye(3)) + saved(x=np.eye(3))[128:]),
    "bomb": ("error", partial(bomb, 320)),
    "bomb-in-disguise": (
        "error",
        lambda: HEAD + squeezed(matrix(DOUBLE, (1, 1), element(9, bytes(320 << 20)))),
    ),
    "path-for-a-name": ("table", partial(renamed, "x_______________", "../../etc/passwd")),
    "hostile-name": ("table", partial(renamed, "x_______", "<b>\x1b[31m")),
    "one-row": ("table", lambda: saved(X=np.ones((1, 3)), y=np.ones((1, 1)))),
    "all-missing": ("table", lambda: saved(X=np.full((4, 3), np.nan))),
    "lying-vectors": ("table", lambda: saved(X=np.eye(5), y=np.arange(5))),
    "characters": ("table", lambda: saved(X=np.eye(2), site=np.array(["basel", "ulm"]))),
    "hostile-cells": ("table", lambda: saved(x=cells(["<script>", "\x1b[31m", "é\u202e"]))),
    "other-byte-order": ("table", other_byte_order),
    "old-version": ("table", lambda: saved(version="4", X=np.eye(3))),
    "many-columns": ("table", lambda: saved(X=np.arange(40_000.0).reshape(2, -1))),
}
