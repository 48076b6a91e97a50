"""The references of a test set with several translations of each sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from transduce.base.errors import DataError, InputError


@dataclass(frozen=True)
class References(Sequence[str]):
    """Several references of each sentence; as a sequence, the first one of each, for metrics of a single reference."""

    of_sentences: Sequence[Sequence[str]]
    """The references of each sentence, one at least."""

    def __post_init__(self) -> None:
        for number, texts in enumerate(self.of_sentences, 1):
            if isinstance(texts, str) or not texts or not all(isinstance(text, str) for text in texts):
                found = f"the references of sentence {number:,} are {repr(texts)[:60]}"
                raise InputError(f"{found}; expected texts (of lists of lines: References.aligned(first, second))")

    @staticmethod
    def aligned(*lists: Sequence[str], names: Sequence[str] = ()) -> "References":
        """Returns the references in lists of lines; one that is blank is missing, unless it is blank in every list.

        Raises DataError, with the lists' names, for lists that are not equally long.
        """
        if len(set(map(len, lists))) > 1:
            counts = ", ".join(f"{name}: {len(lines):,}" for name, lines in zip(names or count(1), lists, strict=False))
            raise DataError(f"references of different numbers of lines ({counts}); they must be aligned line by line")
        return References([[text for text in texts if text.strip()] or texts for texts in zip(*lists, strict=True)])

    @staticmethod
    def of(references: Sequence[str]) -> "References":
        """Returns references as this type, those of a single list too."""
        return references if isinstance(references, References) else References([(each,) for each in references])

    def __len__(self) -> int:
        return len(self.of_sentences)

    def __getitem__(self, index: Any) -> Any:
        return References(self.of_sentences[index]) if isinstance(index, slice) else self.of_sentences[index][0]
