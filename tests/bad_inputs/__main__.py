"""Shows rows that are not answered as they say: `python -m bad_inputs [TABLE or PATTERN of names ...]`, in tests/."""

import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from bad_inputs.harness import Harness, fastest_place
from bad_inputs.outcome import describe
from bad_inputs.tables import ROWS, TABLES

patterns = sys.argv[1:] or ["*"]
named = [row for name, table in TABLES.items() if name in patterns for row in table]
rows = [row for row in ROWS if row in named or any(fnmatch(row.name, pattern) for pattern in patterns)]
with tempfile.TemporaryDirectory(dir=fastest_place()) as folder, Harness(Path(folder), rows) as outcomes:
    wrong = [told for row in rows if (told := describe(row, outcomes[row.name]))]
print("\n\n".join([*wrong, f"{len(rows)} rows, {len(wrong)} not answered as they say"]))
sys.exit(bool(wrong))
