"""Shows rows that are not as their table says: `python -m bad_inputs [--awaited] [TABLE or PATTERN of names ...]`, in tests/.

Without any, all rows run; with --awaited those alone that wait for a mend, and all of them are shown.
"""

import sys
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from bad_inputs.awaited import AWAITED
from bad_inputs.harness import Harness
from bad_inputs.outcome import problems
from bad_inputs.tables import ROWS, TABLES

SHOWN = 2  # last lines of each stream
LONGEST = 200
SLOWEST = 12


def main(arguments: Sequence[str]) -> None:
    """Run rows and show what became of them."""
    patterns = [argument for argument in arguments if not argument.startswith("--")]
    only_awaited = "--awaited" in arguments
    tables = [table for name, table in TABLES.items() if name in patterns]
    rows = [row for row in ROWS if not patterns or any(row in table for table in tables) or _fits(row.name, patterns)]
    rows = [row for row in rows if row.name in AWAITED or not only_awaited]
    failed, seconds = 0, 0.0
    with tempfile.TemporaryDirectory() as folder, Harness(Path(folder), rows) as outcomes:
        for row in rows:
            outcome = outcomes[row.name]
            found = list(problems(row, outcome))
            failed += bool(found)
            seconds += outcome.seconds
            if only_awaited or bool(found) != (row.name in AWAITED):
                print(f"\n{row.name[:LONGEST]}{f' (awaited: {AWAITED[row.name]})' if row.name in AWAITED else ''}")
                print(f"  transduce {' '.join(row.command)}"[:LONGEST])
                print(f"  status {outcome.status} in {outcome.seconds} s; {'; '.join(found) or 'as it should be'}")
                for name, text in (("out", outcome.stdout), ("err", outcome.stderr)):
                    for line in text.splitlines()[-SHOWN:]:
                        print(f"  {name}: {line[:LONGEST]}")
        slowest = sorted((outcomes[row.name] for row in rows), key=lambda outcome: -outcome.seconds)[:SLOWEST]
    print(f"\nslowest: {', '.join(f'{outcome.name[:60]} {outcome.seconds:.1f} s' for outcome in slowest)}")
    print(f"{len(rows)} rows in {seconds:.0f} s of one process, {failed} not as they should be")


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


main(sys.argv[1:])
