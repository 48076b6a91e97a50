"""The budget of `src`, for `make check`: 2 % more lines than at the last release, and what CHANGELOG accounts for.

CHANGELOG says "`src` has N lines" where a release was made. A line of the newest section on what users got for N
further lines ends with "(`src` +N)".
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
GROWTH = 1.02


def allowed(changelog: str) -> int:
    """Returns the lines that `src` may have."""
    number = r"([\d,]+)"
    released = re.search(rf"`src` has {number} lines", changelog)
    assert released is not None, "CHANGELOG.md: no section says how many lines `src` has"
    newest = changelog.split("\n## ")[1]
    told = re.findall(rf"\(`src` \+{number}\)", newest)
    return int(int(released[1].replace(",", "")) * GROWTH) + sum(int(more.replace(",", "")) for more in told)


def lines(folder: Path) -> int:
    """Returns the lines of Python in a folder."""
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))


if __name__ == "__main__":
    have, most = lines(ROOT / "src"), allowed((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if have > most:
        sys.exit(
            f"src has {have:,} lines, {have - most:,} more than the last release allows: make it smaller, or say in "
            f"CHANGELOG.md what users got for them, at the end of that line (`src` +{have - most:,})"
        )
    print(f"src has {have:,} lines of {most:,}")
