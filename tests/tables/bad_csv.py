"""CSV files that are broken, odd or hostile."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle

import numpy as np

ROWS = "site,dose,ill\nbasel,1.5,yes\ncairo,2.5,no\nbasel,0.5,\n"
HOSTILE = [
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "\x1b[31mred\x1b[0m\x07",
    "\u202edesrever\u202c",
    "[bold]markup[/bold]",
    "../../etc/passwd",
    "%s%n{0}{x}",
    "a\u2028b\x85c",
    "𝕏é\u0301",
    "'; DROP TABLE x; --",
]


def good_csv():
    rng = np.random.default_rng(0)
    lines = ["site,ward,x0,x1,x2,ill"]
    for row in range(60):
        numbers = ",".join(f"{value:.3f}" for value in rng.normal(size=3))
        label = ("yes", "no", "")[row % 3]
        lines.append(f'{("basel", "cairo")[row % 2]},"ward {row % 4}",{numbers},{label}')
    return "\n".join(lines).encode()


def wide(n_columns, change=lambda names, cells: None):
    names = [f"x{place}" for place in range(n_columns)]
    cells = ["1"] * n_columns
    change(names, cells)
    return ("\n".join([",".join(names), ",".join(cells), ",".join(cells)])).encode()


def zeros(pack):
    """Pack a long row of nothing, piece by piece: packed files may be put one after the other."""
    return pack(b"a,b\n") + pack(b"0," * (1 << 21)) * 80


def quoted_row(cells):
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)


def block_edge(tail):
    """Text whose tail straddles the first mebibyte."""
    head = b"a,b\n" + b"1,2\n" * ((1 << 18) - 2)
    return head + b"1," + b"x" * ((1 << 20) - len(head) - 3) + tail


def both(text):
    return lambda: text if isinstance(text, bytes) else text.encode()


ERRORS = {
    "empty": b"",
    "blank-lines": "\n\n \n\t\n",
    "byte-order-mark-alone": b"\xef\xbb\xbf",
    "header-alone": "a,b,c\n",
    "header-alone-without-end": "a,b,c",
    "utf-16-little": ROWS.encode("utf-16"),
    "utf-16-big": b"\xfe\xff" + ROWS.encode("utf-16-be"),
    "utf-16-without-mark": ROWS.encode("utf-16-le"),
    "utf-32": ROWS.encode("utf-32"),
    "latin-1": "site,dose\nZürich,1\n".encode("latin-1"),
    "windows-quotes": "site,dose\n“basel”,1\n".encode("cp1252"),
    "shift-jis": "場所,量\n東京,1\n".encode("shift-jis"),
    "cut-in-a-character": "site,dose\nbasel,é".encode()[:-1],
    "overlong-slash": b"a,b\n1,\xc0\xaf\n",
    "encoded-surrogate": b"a,b\n1,\xed\xa0\x80\n",
    "nul-in-the-header": b"a,b\0,c\n1,2,3\n",
    "nul-in-a-cell": b"a,b\n1,\0\n",
    "zeros": bytes(5000),
    "noise": np.random.default_rng(0).bytes(5000),
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "pickle": pickle.dumps({"a": 1}, protocol=4),
    "called-csv-but-parquet": b"PAR1" + b"a,b\n1,2\n",
    "called-csv-but-zip": b"PK\x03\x04" + b"a,b\n1,2\n",
    "called-csv-but-mat": b"MATLAB 5.0 MAT-file, a\n1,2\n",
    "gzip-cut-off": gzip.compress(ROWS.encode() * 99)[:-20],
    "gzip-of-nothing": gzip.compress(b""),
    "gzip-wrong-sum": gzip.compress(ROWS.encode())[:-8] + b"\1" * 8,
    "gzip-head-alone": b"\x1f\x8b",
    "gzip-noise": b"\x1f\x8b\x08" + bytes(range(256)),
    "bzip2-cut-off": bz2.compress(ROWS.encode() * 99)[:-20],
    "bzip2-noise": b"BZh9" + bytes(range(256)),
    "xz-cut-off": lzma.compress(ROWS.encode() * 99)[:-20],
    "xz-noise": b"\xfd7zXZ\x00" + bytes(range(256)),
    "column-twice": "a,b,a\n1,2,3\n",
    "columns-all-the-same": "a,a,a,a\n1,2,3,4\n",
    "column-without-name": ",a,b\n0,1,2\n",
    "column-of-blanks": "a,  ,b\n0,1,2\n",
    "columns-without-names": ",,,\n1,2,3,4\n",
    "delimiters-alone": ",,,,\n,,,,\n",
    "row-too-long": ROWS + "basel,1,yes,more\n",
    "row-too-short": ROWS + "basel,1\n",
    "first-row-too-long": "a,b\n1,2,3\n4,5\n",
    "all-rows-too-long": "a,b\nx,1,2\ny,3,4\n",
    "short-row-after-quotes": 'a,b\n1,"x\ny"\n3\n',
    "cell-with-delimiter": "site,dose\nBasel, CH,1\nCairo,2\n",
    "quote-never-closed": 'a,b\n1,"x\n2,y\n3,z\n',
    "quote-never-closed-long": 'a,b\n1,"x\n' + "2,y\n" * 50_000,
    "text-after-quote": 'a,b\n1,"x"y\n',
    "quotes-alone": '"""',
    "quoted-cell-too-long": 'a,b\n1,"' + "x" * 200_000 + '"\n',
    "no-header": "1.5,2.5,3\n4,5,6\n",
    "no-header-decimal-commas": "1,5;2,5\n3,5;4,5\n",
    "one-number": "17",
}

TABLES = {
    "one-row": "site,dose,ill\nbasel,1.5,yes\n",
    "one-column": "dose\n1\n2\n",
    "one-class": "site,dose,ill\n" + "basel,1,yes\ncairo,2,\n" * 20,
    "no-label": "site,dose\nbasel,1\ncairo,2\n",
    "one-domain": "site,dose,ill\n" + "basel,1,yes\nbasel,2,no\n" * 20,
    "domain-in-each-row": "site,dose\n" + "".join(f"s{row},{row * 7 % 11}\n" for row in range(50)),
    "domain-missing": "site,dose,ill\nbasel,1,yes\n,2,no\n",
    "all-missing": "a,b,ill\n,,\n,,\n",
    "all-missing-column": "site,dose,x,ill\nbasel,1,,yes\ncairo,2,,no\n",
    "all-constant": "site,dose,ill\n" + "basel,1,yes\n" * 30,
    "labels-of-blanks": "site,dose,ill\nbasel,1, \ncairo,2,  \n",
    "mixed-types": "site,dose,ill\n" + "".join(f"s{r % 2},{r},y\n" for r in range(30)) + "s0,x,n\n",
    "numbers-and-booleans": "site,dose\nbasel,True\ncairo,1\nbasel,False\n",
    "infinite": "site,dose,ill\nbasel,inf,yes\ncairo,-inf,no\nbasel,1,yes\n",
    "beyond-doubles": "site,dose\nbasel,1e999\ncairo,-1e999\nbasel,3\n",
    "monstrous-numbers": "site,dose\nbasel,1e300\ncairo,-1e300\nbasel,3\n",
    "tiny-numbers": "site,dose\nbasel,1e-320\ncairo,3e-320\nbasel,5e-324\n",
    "endless-integers": "site,dose\nbasel," + "9" * 400 + "\ncairo,1\n",
    "integers-beyond-64-bits": "site,dose\nbasel,18446744073709551617\ncairo,-1\n",
    "almost-numbers": "site,dose\n" + "".join(f"s{r % 2},{r}.5\n" for r in range(60)) + "s0,?\n",
    "ids": "site,id,ill\n" + "".join(f"s{r % 2},patient-{r},y\n" for r in range(60)),
    "dates": "site,day\nbasel,2020-01-01\ncairo,2020-01-02\n",
    "missing-marks": "site,dose\nbasel,NA\ncairo,null\nbasel,#N/A\ncairo,NaN\n",
    "sites-called-na": "site,dose\nNA,1\nEU,2\n",
    "byte-order-mark": b"\xef\xbb\xbf" + ROWS.encode(),
    "line-ends-of-windows": ROWS.replace("\n", "\r\n"),
    "line-ends-of-old-macs": ROWS.replace("\n", "\r"),
    "line-ends-mixed": "a,b\r\n1,2\n3,4\r\n",
    "no-final-line-end": ROWS[:-1],
    "blank-lines-between": ROWS.replace("\n", "\n\n"),
    "semicolons-decimal-commas": "site;dose\nbasel;1,5\ncairo;2,25\n",
    "decimal-commas-and-points": "site;dose;x\nbasel;1,5;1.5\ncairo;2,25;2.5\n",
    "tabs": ROWS.replace(",", "\t"),
    "bars": ROWS.replace(",", "|"),
    "quotes-within-cells": 'site,dose\n5" pipe,1\n"say ""hi""",2\n',
    "line-end-in-name": '"si\nte",dose\nbasel,1\n',
    "numbered-columns": "0,1,2\n5,6,7\n8,9,10\n",
    "cell-of-a-megabyte": "a,b\n1," + "x" * (1 << 20) + "\n2,y\n",
    "name-of-a-megabyte": "a," + "x" * (1 << 20) + "\n1,2\n3,4\n",
    "comments": "# made by a machine\n1\n2\n",
    "hostile-cells": "\n".join(["site,dose", *(quoted_row([cell, "1"]) for cell in HOSTILE * 3)]),
    "hostile-names": "\n".join(
        [quoted_row(HOSTILE), quoted_row(map(str, range(10))), "1" + ",2" * 9]
    ),
    "hostile-labels": "\n".join(
        ["site,dose,ill", *(quoted_row([cell, str(n), cell]) for n, cell in enumerate(HOSTILE * 2))]
    ),
    "names-of-features-collide": "a,a_x,ill\nx,1,yes\ny,2,no\nx,4,no\n",
    "character-across-blocks": block_edge("é".encode() + b"\n"),
    "gzip": gzip.compress(ROWS.encode()),
    "bzip2": bz2.compress(ROWS.encode()),
    "xz": lzma.compress(ROWS.encode()),
}

MADE = {
    "many-columns": ("table", lambda: wide(30_000)),
    "many-columns-one-twice": (
        "error",
        lambda: wide(30_000, lambda names, cells: names.append("x7") or cells.append("1")),
    ),
    "many-columns-short-row": ("error", lambda: wide(30_000, lambda _, cells: cells.pop())),
    "many-columns-of-text": (
        "table",
        lambda: wide(1_000, lambda _, cells: cells.__setitem__(slice(None), ["a"] * 1_000)),
    ),
    "bad-byte-across-blocks": ("error", lambda: block_edge(b"\xc3\n")),
    "gzip-bomb": ("error", lambda: zeros(gzip.compress)),
    "bzip2-bomb": ("error", lambda: zeros(lambda text: bz2.compress(text, 1))),
    "xz-bomb": ("error", lambda: zeros(lambda text: lzma.compress(text, preset=0))),
    "gzip-in-gzip": ("error", lambda: gzip.compress(gzip.compress(ROWS.encode()))),
    "html-page": ("either", both("<html>\n<body>\n<p>not found, sorry</p>\n</body>\n</html>\n")),
    "json": ("either", both('[{"a": 1, "b": 2},\n {"a": 3, "b": 4}]\n')),
}

CSV = {
    **{name: ("error", both(text)) for name, text in ERRORS.items()},
    **{name: ("table", both(text)) for name, text in TABLES.items()},
    **MADE,
}
