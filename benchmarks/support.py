"""Tries each family of models, with each of its settings, in each precision, with each verb, on a tiny model.

    python benchmarks/support.py --out docs/support.md      # everything, in twenty minutes of one core
    python benchmarks/support.py --only transformer         # the rows whose names hold the word, and what they say

Families and their choices come from the types of the settings, so that a new one is tried without a change here. A
cell is "yes", or the line in which the command refuses; a traceback is neither, and ends the script with status 1.
"""

import argparse
import sys
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from supported.cells import CELLS, Outcome
from supported.page import page
from supported.rows import Row, every_row
from supported.workplace import prepare, try_row


def main() -> None:
    """Try the rows and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="the page to write")
    parser.add_argument("--only", default="", help="try the rows whose names hold this")
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.only and arguments.out is not None:
        parser.error("--out writes a page of all rows; leave --only out")
    rows = [row for row in every_row() if arguments.only in row.name]
    folder = prepare()
    found: dict[Row, dict[str, Outcome]] = {}
    # New processes now and then: what a broken row leaves behind must not reach all others.
    with get_context("spawn").Pool(arguments.processes, maxtasksperchild=20) as pool:
        for row, outcomes in zip(rows, pool.imap(partial(try_row, data=folder), rows), strict=True):
            found[row] = outcomes
            for cell, outcome in outcomes.items():
                if not outcome.is_supported:
                    print(f"{row.name}: {cell}: {outcome.line}", flush=True)
            print(f"{len(found)} of {len(rows)}: {row.name}", file=sys.stderr, flush=True)
    broken = [(row, cell) for row, outcomes in found.items() for cell, one in outcomes.items() if one.is_broken]
    print(f"{len(rows)} rows, {len(CELLS)} columns, {len(broken)} broken")
    if arguments.out is not None:
        arguments.out.write_text(page(found), encoding="utf-8")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
