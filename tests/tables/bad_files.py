"""More than two hundred files that should never have been: what a reader of tables must survive.

``BAD_FILES`` is the same in every run. Contents are made when asked for, so that importing this
module costs nothing; those of ``.parquet`` files need pyarrow.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bad_csv import CSV, good_csv
from bad_mat import MAT, good_mat, plain_mat
from bad_npz import NPZ, good_npz
from bad_parquet import PARQUET, good_parquet

N_MUTANTS = 30


@dataclass(frozen=True)
class BadFile:
    """One file.

    Attributes
    ----------
    name : str
        What is wrong with it; with ``suffix``, the name of the file.
    suffix : str
        The ending of its name.
    make : callable
        Returns the bytes.
    ends : {"table", "error", "either"}
        What reading it must end in: some files are only odd.
    bomb : bool
        Whether a careless reader would fill the memory.
    """

    name: str
    suffix: str
    make: Callable[[], bytes]
    ends: str
    bomb: bool = False

    def write(self, folder):
        path = folder / f"{self.name}{self.suffix}"
        path.write_bytes(self.make())
        return path


def mutate(make, seed):
    """Cut, flip, repeat, drop or blank out bytes of a good file."""
    rng = random.Random(seed)
    content = bytearray(make())
    for _ in range(rng.choice((1, 1, 2, 5))):
        start = rng.randrange(len(content))
        stop = min(len(content), start + rng.choice((1, 4, 16, 200)))
        change = rng.choice(("cut", "flip", "repeat", "drop", "blank", "noise"))
        if change == "cut":
            del content[max(start, 1) :]
        elif change == "flip":
            content[start] ^= 1 << rng.randrange(8)
        elif change == "repeat":
            content[start:start] = content[start:stop]
        elif change == "drop" and stop - start < len(content):
            del content[start:stop]
        elif change == "blank":
            content[start:stop] = bytes(stop - start)
        else:
            content[start:stop] = rng.randbytes(stop - start)
    return bytes(content)


GOOD = {".csv": good_csv, ".npz": good_npz, ".mat": good_mat, ".parquet": good_parquet}

BAD_FILES = [
    BadFile(name, suffix, make, ends, bomb="bomb" in name)
    for suffix, family in ((".csv", CSV), (".npz", NPZ), (".mat", MAT), (".parquet", PARQUET))
    for name, (ends, make) in family.items()
]
for suffix, good in (*GOOD.items(), (".mat", plain_mat)):
    for number in range(N_MUTANTS):
        name = f"mutant-of-{good.__name__.replace('_', '-')}-{number}"
        make = partial(mutate, good, f"{name}{suffix}")
        BAD_FILES.append(BadFile(name, suffix, make, "either"))
