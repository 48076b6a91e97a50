"""The examples that the pages of the documentation hold: commands and blocks of code, in their order."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "docs/course/README.md",
    ROOT / "RESULTS.md",
    *sorted((ROOT / "results").glob("*.md")),
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
]
PROGRAMS = {"transduce", "echo", "cat", "python", "make", "git", "torchrun", "pip", "tensorboard"}
SHELLS = {"sh", "bash", "shell", "console"}


@dataclass(frozen=True)
class Example:
    """A command, or a block of code."""

    where: str
    """The page and the line."""
    kind: str
    """command, python, toml, or "" for a block of another kind."""
    text: str


def examples(page: Path) -> Iterator[Example]:
    """All examples of a page."""
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), 1))
    for number, line in lines:
        where = f"{page.name}:{number}"
        if fence := re.match(r"```(\w*)", line):
            block = []
            while not (line := next(lines)[1]).startswith("```"):
                block.append(line)
            if fence[1] in SHELLS:
                yield from (Example(where, "command", command) for command in _commands(block))
            else:
                yield Example(where, fence[1], "\n".join(block) + "\n")
        elif line.startswith("    ") and line.split()[0] in PROGRAMS:
            block = [line]
            while block[-1].endswith("\\"):
                block.append(next(lines)[1])
            yield from (Example(where, "command", command) for command in _commands(block))


def inline_commands(page: Path) -> Iterator[str]:
    """The commands of `transduce` that stand in sentences."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for found in re.findall(r"`(transduce\s[^`]+)`", text):
        yield " ".join(found.split())


def headings(page: Path) -> set[str]:
    """The anchors of a page as GitHub makes them: small letters, digits and hyphens, numbered where repeated."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found: list[str] = []
    for heading in re.findall(r"^#+ +(.*?)\s*$", text, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        times = sum(1 for one in found if one == anchor or re.fullmatch(rf"{re.escape(anchor)}-\d+", one))
        found.append(anchor if not times else f"{anchor}-{times}")
    return set(found)


def _commands(lines: list[str]) -> Iterator[str]:
    """Whole commands, without what comments say."""
    joined = "\n".join(lines).replace("\\\n", " ")
    for line in joined.splitlines():
        if command := re.split(r"(?:^|\s)#\s", line)[0].strip():
            yield " ".join(command.split()) if '"' not in command and "'" not in command else command
