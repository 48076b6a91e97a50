"""Terms beside the words of a source that they translate, for models trained to use them (Dinu et al. 2019)."""

from collections.abc import Iterable

from transduce.config import Settings
from transduce.orthography.words import is_word_boundary


class TermMarks(Settings, frozen=True):
    """The signs around a term in a source: `two hounds ⟦ Hund ⟧ run`."""

    opening: str = "⟦"
    closing: str = "⟧"

    def _check_together(self) -> None:
        if not self.opening.strip() or not self.closing.strip() or self.opening == self.closing:
            raise ValueError("opening and closing must be two signs that differ")

    @property
    def alone(self) -> str:
        """The signs without a term."""
        return f"{self.opening} {self.closing}"

    def without(self, text: str) -> str:
        """Returns a text with brackets in place of the signs that it has itself."""
        return text.replace(self.opening, "[").replace(self.closing, "]")

    def after(self, text: str, terms: Iterable[tuple[int, str]]) -> str:
        """Returns a text with terms after the words that end at some offsets."""
        parts, begin = [], 0
        for end, term in sorted(terms):
            parts += [self.without(text[begin:end]), f" {self.opening} {self.without(term)} {self.closing}"]
            begin = end
        return "".join([*parts, self.without(text[begin:])])

    def insert(self, text: str, terms: Iterable[tuple[str, str]]) -> str:
        """Returns a text with the translation of each term after each of its places, sought as whole words without
        regard to case; of terms that overlap the longest counts."""
        lower = text.lower()
        lower = lower if len(lower) == len(text) else text  # a letter may become two
        is_taken = [False] * len(text)
        ends: list[tuple[int, str]] = []
        for source, target in sorted(dict.fromkeys(terms), key=lambda term: -len(term[0])):
            for start in _places(lower, source.lower()):
                end = start + len(source)
                if not any(is_taken[start:end]):
                    is_taken[start:end] = [True] * len(source)
                    ends.append((end, target))
        return self.after(text, ends)


def _places(text: str, phrase: str) -> Iterable[int]:
    """Yields the offsets at which a phrase is in a text as whole words."""
    start = text.find(phrase) if phrase else -1
    while start >= 0:
        if is_word_boundary(text, start) and is_word_boundary(text, start + len(phrase)):
            yield start
        start = text.find(phrase, start + 1)
