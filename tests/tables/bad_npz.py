"""NPZ files that are broken, odd or hostile."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
import zlib
from functools import partial

import numpy as np


def good_npz():
    rng = np.random.default_rng(0)
    site = np.repeat(["basel", "cairo"], 20)
    return packed(X=rng.normal(size=(40, 3)), site=site, y=np.arange(40) % 2)


def packed(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array))
    return file.getvalue()


def raw_npy(header, body=b"", version=(1, 0)):
    """Write the bytes of an array whose header says whatever it is told to."""
    width = 2 if version == (1, 0) else 4
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(width, "little") + text + body


def described(dtype, shape, body=b""):
    return raw_npy(f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}", body)


def zipped(members, compression=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def one(content, name="x.npy", compression=zipfile.ZIP_DEFLATED):
    return zipped([(name, content)], compression)


class Evil:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch pickle-was-run",)


def evil_array():
    head = described("|O", (1,))
    return one(head + pickle.dumps(np.array([Evil()], dtype=object)))


def encrypted():
    content = bytearray(one(npy(np.arange(3))))
    content[content.find(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def wrong_sum():
    content = bytearray(one(npy(np.arange(300.0)), compression=zipfile.ZIP_STORED))
    content[700] ^= 1
    return bytes(content)


def lying_size(claimed):
    """Make a directory that claims another size than the member unpacks to."""
    body = npy(np.zeros(4 << 20))
    content = bytearray(one(body))
    true = len(body).to_bytes(4, "little")
    at = content.find(true, content.find(b"PK\x01\x02"))
    content[at : at + 4] = claimed.to_bytes(4, "little")
    return bytes(content)


def bomb(n_mebibytes, shape):
    """An array of zeros, packed a thousand to one, and never held in memory."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(zipfile.ZipInfo("x.npy"), "w", force_zip64=True) as member,
    ):
        member._compressor = zlib.compressobj(1, zlib.DEFLATED, -15)
        member._zinfo.compress_type = zipfile.ZIP_DEFLATED
        member.write(described("<f8", shape))
        for _ in range(n_mebibytes):
            member.write(bytes(1 << 20))
    return file.getvalue()


def twice():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zipped([("x.npy", npy([1, 2])), ("x.npy", npy([3, 4]))])


def cut(share):
    content = good_npz()
    return content[: int(share * len(content))]


TEXT = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"

NPZ = {
    "empty": ("error", bytes),
    "not-a-zip": ("error", lambda: b"PK\x03\x04" + bytes(200)),
    "csv-inside": ("error", lambda: b"a,b\n1,2\n"),
    "no-arrays": ("error", lambda: zipped([])),
    "cut-at-a-tenth": ("error", partial(cut, 0.1)),
    "cut-at-a-half": ("error", partial(cut, 0.5)),
    "cut-before-the-end": ("error", partial(cut, 0.99)),
    "path-up": ("error", lambda: one(npy([1, 2]), "../../x.npy")),
    "path-absolute": ("error", lambda: one(npy([1, 2]), "/tmp/x.npy")),
    "path-folder": ("error", lambda: one(npy([1, 2]), "folder/x.npy")),
    "path-of-windows": ("error", lambda: one(npy([1, 2]), "C:x.npy")),
    "path-backslash": ("error", lambda: one(npy([1, 2]), "..\\x.npy")),
    "path-dots-alone": ("error", lambda: one(npy([1, 2]), "...npy")),
    "name-empty": ("error", lambda: one(npy([1, 2]), ".npy")),
    "name-twice": ("error", twice),
    "no-array-member": ("error", lambda: one(b"hello", "readme.txt")),
    "member-empty": ("error", lambda: one(b"")),
    "member-noise": ("error", lambda: one(bytes(range(256)))),
    "member-zip": ("error", lambda: one(one(npy([1, 2])))),
    "excel-sheet": ("error", lambda: one("<worksheet/>", "xl/worksheets/sheet1.xml")),
    "encrypted": ("error", encrypted),
    "packed-by-bzip2": ("error", lambda: one(npy([1, 2]), compression=zipfile.ZIP_BZIP2)),
    "packed-by-lzma": ("error", lambda: one(npy([1, 2]), compression=zipfile.ZIP_LZMA)),
    "wrong-sum": ("error", wrong_sum),
    "pickle-that-runs": ("error", evil_array),
    "objects": ("error", lambda: packed(x=np.array(["a", 1, None], dtype=object))),
    "records": ("error", lambda: packed(x=np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]))),
    "complex": ("error", lambda: packed(x=np.ones(3, dtype=complex))),
    "durations": ("error", lambda: packed(x=np.ones(3, dtype="m8[s]"))),
    "scalar": ("error", lambda: packed(x=np.float64(3), y=np.arange(2))),
    "three-dimensions": ("error", lambda: packed(x=np.ones((3, 2, 2)))),
    "lengths-differ": ("error", lambda: packed(x=np.ones((3, 2)), y=np.arange(4))),
    "sparse-matrix": (
        "error",
        lambda: packed(
            data=np.ones(3), indices=np.arange(3), indptr=np.arange(2), shape=np.ones(2)
        ),
    ),
    "no-rows": ("error", lambda: packed(x=np.empty((0, 3)), y=np.empty(0))),
    "no-columns": ("error", lambda: packed(x=np.empty((3, 0)))),
    "names-collide": ("error", lambda: packed(A=np.ones((2, 2)), A0=np.arange(2))),
    "too-many-arrays": (
        "error",
        lambda: zipped([(f"x{n}.npy", b"") for n in range(10_001)], zipfile.ZIP_STORED),
    ),
    "text-not-unicode": ("error", lambda: one(described("<U1", (1,), b"\xff\xff\xff\x7f"))),
    "text-of-surrogates": ("either", lambda: packed(x=np.array(["\ud800", "b"]))),
    "bytes-not-utf-8": ("error", lambda: packed(x=np.array([b"\xe9", b"a"]))),
    "header-version-3": ("error", lambda: one(raw_npy(TEXT, bytes(16), (3, 0)))),
    "header-version-9": ("error", lambda: one(raw_npy(TEXT, bytes(16), (9, 9)))),
    "header-code": ("error", lambda: one(raw_npy("__import__('os').system('touch header-ran')"))),
    "header-parentheses": ("error", lambda: one(raw_npy("(" * 9000 + ")" * 900))),
    "header-too-long": ("error", lambda: one(raw_npy(TEXT + " " * 60_000, bytes(16)))),
    "header-cut-off": ("error", lambda: one(raw_npy(TEXT)[:30])),
    "header-no-dictionary": ("error", lambda: one(raw_npy("[1, 2]"))),
    "header-unknown-type": ("error", lambda: one(described("<q77", (2,)))),
    "shape-huge": ("error", lambda: one(described("<f8", (10**15, 10**15)))),
    "shape-negative": ("error", lambda: one(described("<f8", (-2, -1), bytes(16)))),
    "shape-too-large": ("error", lambda: one(described("<f8", (3,), bytes(16)))),
    "shape-too-small": ("error", lambda: one(described("<f8", (1,), bytes(16)))),
    "items-huge": ("error", lambda: one(described("<U2000000000", (9,), bytes(16)))),
    "items-of-no-bytes": ("either", lambda: one(described("<U0", (10**18,)))),
    "size-claimed-too-small": ("error", partial(lying_size, 1000)),
    "size-claimed-too-large": ("error", partial(lying_size, 1 << 31)),
    "bomb": ("error", partial(bomb, 320, (320 << 17,))),
    "bomb-of-columns": ("error", partial(bomb, 200, (1, 200 << 17))),
    "bomb-in-disguise": ("error", partial(bomb, 320, (3,))),
    "one-row": ("table", lambda: packed(X=np.ones((1, 3)), y=np.array([1]))),
    "one-class": ("table", lambda: packed(X=np.eye(4), y=np.ones(4))),
    "all-missing": ("table", lambda: packed(X=np.full((4, 3), np.nan))),
    "infinite": ("table", lambda: packed(X=np.array([[1, np.inf], [2, 3]]))),
    "many-columns": ("table", lambda: packed(X=np.arange(40_000.0).reshape(2, -1))),
    "half-precision": ("table", lambda: packed(X=np.eye(3, dtype=np.float16))),
    "long-precision": ("table", lambda: packed(X=np.eye(3, dtype=np.longdouble))),
    "other-byte-order": ("table", lambda: packed(X=np.eye(3, dtype=">f8"), y=np.arange(3))),
    "column-major": ("table", lambda: packed(X=np.asfortranarray(np.eye(3)[:, :2]))),
    "no-times": ("table", lambda: packed(t=np.array(["NaT", "2020-01-01"], dtype="M8[D]"))),
    "hostile-name": ("table", lambda: one(npy([1, 2]), "<script>\x1b[31m.npy")),
    "hostile-text": ("table", lambda: packed(y=np.array(["\x1b[31m", "</script>", "\u202ea"]))),
}
