"""A glossary file: what translations of lines that hold a term must, or must not, contain."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tokenizers import normalizers

from transduce.corpora.formats import read_lines
from transduce.errors import DataError
from transduce.orthography.characters import without_invisible
from transduce.text.phrases import holds

_NFC = normalizers.NFC()  # Python's takes time that is quadratic in the marks on a letter


@dataclass(frozen=True)
class Entry:
    """One line of a glossary."""

    source: str
    """The words that a source line must hold for the entry to apply; empty for every line."""
    target: str
    """The words that its translation must hold, or must not."""
    is_banned: bool = False


@dataclass(frozen=True)
class Glossary:
    """Entries, sought in source lines as whole words without regard to case."""

    entries: Sequence[Entry]

    @staticmethod
    def read(path: str | Path) -> "Glossary":
        """Read a file of lines `source term TAB target phrase [TAB ban]`; DataError names a bad line."""
        entries = []
        for number, line in enumerate(read_lines(path), 1):
            if not line.strip():
                continue
            cells = [" ".join(cell.split()) for cell in line.split("\t")]
            if len(cells) not in (2, 3) or not cells[1] or cells[2:] not in ([], [""], ["ban"]):
                raise DataError(
                    f"{path}: line {number} is {line!r}; expected a source term, a tab and a target phrase, "
                    "and, to forbid the phrase, a tab and 'ban'"
                )
            entries.append(Entry(cells[0], cells[1], cells[2:] == ["ban"]))
        if not entries:
            raise DataError(f"{path}: the glossary is empty")
        return Glossary(entries)

    @property
    def requires_any(self) -> bool:
        """Whether any entry is more than a ban."""
        return not all(entry.is_banned for entry in self.entries)

    def required(self, source: str) -> tuple[str, ...]:
        """What the translation of a source line must hold."""
        return self._targets(source, is_banned=False)

    def banned(self, source: str) -> tuple[str, ...]:
        """What the translation of a source line must not hold."""
        return self._targets(source, is_banned=True)

    def _targets(self, source: str, is_banned: bool) -> tuple[str, ...]:
        text = _comparable(source)
        apply = (entry for entry in self.entries if entry.is_banned == is_banned)
        return tuple(dict.fromkeys(e.target for e in apply if not e.source or holds(text, _comparable(e.source))))


@lru_cache(1024)
def _comparable(text: str) -> str:
    """A text without regard to case, to what cannot be seen, and to whether accents are characters of their own."""
    composed: str = _NFC.normalize_str(without_invisible(text).casefold())
    return composed
