"""Mutated tables, stores and moments: some hundred here, more by ``make fuzz``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

CASES = 6 * int(os.environ.get("SKATTER_FUZZ", "200")) // 5
"""Of six, five are tables, and one is a store or moments."""
SEED = int(os.environ.get("SKATTER_SEED", "0"))


def test_mutated_files_are_read_or_refused_in_one_line(tmp_path, require):
    require("pyarrow", "table")
    require("openpyxl", "table")
    script = Path(__file__).with_name("mutations.py")
    command = [sys.executable, str(script), str(tmp_path), str(SEED), str(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    outcomes = json.loads(done.stdout)
    assert sum(outcomes.values()) == CASES
    assert sum(n for what, n in outcomes.items() if what.endswith("refused")) > CASES / 2
