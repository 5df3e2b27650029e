"""Parquet files that are broken, odd or hostile; pyarrow is imported when they are made."""

from __future__ import annotations

import datetime
import decimal
import io
from functools import partial

import numpy as np


def good_parquet():
    rng = np.random.default_rng(0)
    columns = {f"x{place}": rng.normal(size=50) for place in range(3)}
    return stored(site=["basel", "cairo"] * 25, ill=["yes", "no", None, None, "no"] * 10, **columns)


def stored(**columns):
    import pyarrow as pa

    return table(pa.table(columns))


def table(content, n_times=1, **options):
    import pyarrow.parquet as pq

    file = io.BytesIO()
    with pq.ParquetWriter(file, content.schema, **options) as writer:
        for _ in range(n_times):
            writer.write_table(content)
    return file.getvalue()


def typed(kind, values):
    import pyarrow as pa

    kinds = {
        "map": lambda: pa.map_(pa.string(), pa.int64()),
        "dictionary": lambda: pa.dictionary(pa.int32(), pa.string()),
        "time": lambda: pa.time64("us"),
    }
    given = kinds[kind]() if kind in kinds else pa.type_for_alias(kind)
    return stored(x=pa.array(values, type=given))


def twice():
    import pyarrow as pa

    return table(pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["x", "x"]))


def bomb():
    """Half a billion empty cells in some kilobytes."""
    import pyarrow as pa

    size = 1 << 24
    return table(pa.table({"x": pa.nulls(size, pa.bool_())}), n_times=40, write_batch_size=size)


def wide():
    import pyarrow as pa

    row = pa.array([1.0, 2.0])
    return table(pa.table([row] * 5_000, names=[f"x{place}" for place in range(5_000)]))


def from_pandas(index):
    import pandas as pd

    file = io.BytesIO()
    pd.DataFrame({"x": [1, 2, 3]}, index=index).to_parquet(file)
    return file.getvalue()


def cut(share):
    content = good_parquet()
    return content[: int(share * len(content))]


def lying_footer(claimed):
    content = good_parquet()
    return content[:-8] + claimed.to_bytes(4, "little") + b"PAR1"


def longest_footer():
    return b"PAR1" + bytes(100) + (2**32 - 1).to_bytes(4, "little") + b"PAR1"


DAY = datetime.datetime(2020, 1, 1)

PARQUET = {
    "empty": ("error", bytes),
    "magic-alone": ("error", lambda: b"PAR1"),
    "magic-twice": ("error", lambda: b"PAR1PAR1"),
    "encrypted": ("error", lambda: b"PARE" + bytes(100) + b"PARE"),
    "noise": ("error", lambda: b"PAR1" + np.random.default_rng(2).bytes(900) + b"PAR1"),
    "csv-inside": ("error", lambda: b"a,b\n1,2\n"),
    "cut-at-a-tenth": ("error", partial(cut, 0.1)),
    "cut-at-a-half": ("error", partial(cut, 0.5)),
    "cut-before-the-end": ("error", partial(cut, 0.99)),
    "footer-too-long": ("error", partial(lying_footer, 2**31)),
    "footer-of-none": ("error", partial(lying_footer, 0)),
    "footer-longest": ("error", longest_footer),
    "lists": ("error", lambda: stored(x=[[1, 2], [3]])),
    "structs": ("error", lambda: stored(x=[{"a": 1}, {"a": 2}])),
    "maps": ("error", lambda: typed("map", [[("a", 1)], []])),
    "bytes": ("error", lambda: stored(x=[b"\xff", b"a"])),
    "times-of-day": ("error", lambda: typed("time", [datetime.time(1), None])),
    "column-twice": ("error", twice),
    "column-without-name": ("error", lambda: stored(**{"": [1, 2], "a": [1, 2]})),
    "no-rows": ("error", lambda: stored(x=[])),
    "no-columns": ("error", lambda: stored()),
    "bomb": ("error", bomb),
    "decimals": ("table", lambda: stored(x=[decimal.Decimal("1.50"), decimal.Decimal("2.25")])),
    "nothing-but-nulls": ("table", lambda: stored(x=[None, None], y=[1, 2])),
    "dictionary": ("table", lambda: typed("dictionary", ["a", "b", None, "a"])),
    "timestamps": ("table", lambda: stored(x=[DAY, None], y=[1.0, 2.0])),
    "dates-far-away": ("table", lambda: stored(x=[datetime.date(9999, 1, 1), None], y=[1, 2])),
    "integers-with-nulls": ("table", lambda: stored(x=[1, None, 3])),
    "booleans-with-nulls": ("table", lambda: stored(x=[True, None, False])),
    "one-row": ("table", lambda: stored(x=[1.0], site=["a"])),
    "all-infinite": ("table", lambda: stored(x=[float("inf"), float("-inf")])),
    "index-without-name": ("table", lambda: from_pandas([7, 8, 8])),
    "hostile": ("table", lambda: stored(**{"<script>\x1b[31m": ["\u202e", "\x00", "[red]"]})),
    "many-columns": ("table", wide),
}
