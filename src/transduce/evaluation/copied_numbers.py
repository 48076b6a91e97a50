"""Matching the numbers of a source sentence with those of its translation, however each language writes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docsegments.text.written_numbers import numbers_in


@dataclass(frozen=True)
class CopiedNumbers:
    """The share of the source's numbers that the translations have."""

    in_source: int
    reference: float | None
    """Share, 0 to 1, that the reference has: as many as a faithful human wrote in digits. None without numbers."""
    systems: dict[str, float | None]
    """Share, 0 to 1, that each system has."""


NO_NUMBERS = CopiedNumbers(0, None, {})
"""The numbers of systems that do not translate."""


def count_copied_numbers(
    sources: Sequence[str], references: Sequence[str], systems: Mapping[str, Sequence[str]]
) -> CopiedNumbers:
    """Counts the sources' numbers in line-aligned references and outputs; a repeated one must be repeated."""
    wanted = [numbers_in(source) for source in sources]
    total = sum(numbers.total() for numbers in wanted)

    def share(texts: Sequence[str]) -> float | None:
        pairs = zip(wanted, texts, strict=True)
        return sum((numbers & numbers_in(text)).total() for numbers, text in pairs) / total if total else None

    return CopiedNumbers(total, share(references), {name: share(outputs) for name, outputs in systems.items()})
