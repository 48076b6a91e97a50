"""Shows rows that are not answered as they say: `python -m bad_inputs [TABLE or part of a command ...]`, in tests/."""

import sys
import tempfile
from pathlib import Path

from bad_inputs.harness import fastest_place, outcomes_of
from bad_inputs.outcome import describe
from bad_inputs.tables import ROWS, TABLES

wanted = [number for name in sys.argv[1:] for row in TABLES.get(name, []) for number in [ROWS.index(row)]]
wanted += [number for number, row in enumerate(ROWS) if any(part in str(row) for part in sys.argv[1:] or [""])]
numbers = list(dict.fromkeys(wanted))
with tempfile.TemporaryDirectory(dir=fastest_place()) as folder:
    outcomes = outcomes_of(numbers, Path(folder))
wrong = [told for number in numbers if (told := describe(ROWS[number], outcomes[number]))]
print("\n\n".join([*wrong, f"{len(numbers)} rows, {len(wrong)} not answered as they say"]))
sys.exit(bool(wrong))
