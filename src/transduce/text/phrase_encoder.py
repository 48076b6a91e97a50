"""Finds how a tokenizer writes a phrase in each context, and which tokens begin, end or continue words."""

from functools import cached_property, lru_cache

from docsegments.orthography.characters import SPELLED, UNSPACED, is_extending
from docsegments.orthography.words import KOREAN_ENDING, holds, is_word_boundary
from transduce.text.tokenizer import Tokenizer

BEFORE = ("", "a ", '"', "(")
"""Texts before a phrase that may change its tokens: nothing, a space, punctuation without a space."""

CLOSING = tuple(".,;:!?)]}…")
"""Punctuation that has a space after it in scripts with spaces."""

REMEMBERED = 1024
"""The number of phrases whose spellings are remembered: those of a glossary come again with each sentence."""

__all__ = ["PhraseEncoder", "ends_with", "holds"]

BROKEN = "\ufffd"  # how a part of a character is decoded


def ends_with(text: str, phrase: str) -> bool:
    """Returns True if the phrase is at the end of the text, and begins a word there."""
    return text.endswith(phrase) and is_word_boundary(text, len(text) - len(phrase))


class PhraseEncoder:
    """Encodes phrases as a tokenizer may write them; two passes over its vocabulary, made when first asked for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._forms = lru_cache(REMEMBERED)(self._make_forms)
        self._closing = lru_cache(REMEMBERED)(self._make_closing)

    def normal(self, phrase: str) -> str | None:
        """Returns the phrase as outputs write it, lower-cased if they are; None if the vocabulary cannot write it."""
        ids = self.tokenizer.encode(phrase)
        return None if self.tokenizer.unknown in ids else self.tokenizer.decode(ids).strip()

    def forms(self, phrase: str) -> tuple[tuple[int, ...], ...]:
        """Returns the token ids of the phrase in each context; none if the vocabulary cannot write it."""
        return self._forms(phrase)

    def _make_forms(self, phrase: str) -> tuple[tuple[int, ...], ...]:
        forms: dict[tuple[int, ...], None] = {}
        for before in BEFORE:
            alone, together = self.tokenizer.encode_batch([before.strip(), before + phrase])
            ids = tuple(together[len(alone) :])
            if together[: len(alone)] == alone and ids and self.tokenizer.unknown not in ids:
                forms[ids] = None
        return tuple(forms)

    def closing(self, phrase: str) -> list[int]:
        """Returns the tokens that may complete the phrase and leave no word open, however its beginning is spelled."""
        return list(self._closing(phrase))

    def _make_closing(self, phrase: str) -> list[int]:
        phrase = self.normal(phrase) or phrase
        ends = [phrase[start:] for start in range(len(phrase))]
        closing = [token for end in ends for token in self._spelled.get(end, ()) if not self.leaves_open[token]]
        for token, text in self._of_several_words:
            if holds(text, phrase) or any(
                text.startswith(end) and len(text) > len(end) and is_word_boundary(text, len(end)) for end in ends
            ):
                closing.append(token)
        return list(dict.fromkeys(closing))

    @cached_property
    def continues(self) -> tuple[bool, ...]:
        """Truth values by token: True if it continues a word that the text before it ends in."""
        return tuple(map(_may_continue, self.after_letter))

    @cached_property
    def after_letter(self) -> tuple[str, ...]:
        """The text that each token adds to a letter."""
        before = self.tokenizer.decode([self._letter])
        return tuple(
            self.tokenizer.decode([self._letter, token])[len(before) :] for token in range(len(self.tokenizer))
        )

    @cached_property
    def leaves_open(self) -> tuple[bool, ...]:
        """Truth values by token: True if another may continue the word, or the character, that it ends in."""
        if not any(self.continues):
            return (False,) * len(self.tokenizer)
        return tuple(_may_be_continued(text[-1:]) for text in self.texts)

    @cached_property
    def precedes_no_letter(self) -> tuple[bool, ...]:
        """Truth values by token: True if a letter after it would continue its word, or lack a space as after commas."""
        return tuple(
            is_open or text.endswith(CLOSING) for is_open, text in zip(self.leaves_open, self.texts, strict=True)
        )

    @cached_property
    def _letter(self) -> int:
        """A token that is a letter or a word."""
        return next((token for token, text in enumerate(self.texts) if text.strip().isalpha()), 0)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The text of each token alone."""
        return tuple(self.tokenizer.decode([token]) for token in range(len(self.tokenizer)))

    @cached_property
    def _of_several_words(self) -> list[tuple[int, str]]:
        """The tokens within which words may end, as in scripts without spaces and before Korean particles."""
        texts = [(token, text.strip()) for token, text in enumerate(self.texts)]
        return [
            (token, text)
            for token, text in texts
            if not text.isascii() and any(is_word_boundary(text, offset) for offset in range(1, len(text)))
        ]

    @cached_property
    def _spelled(self) -> dict[str, list[int]]:
        """The tokens of each text."""
        spelled: dict[str, list[int]] = {}
        for token, text in enumerate(self.texts):
            spelled.setdefault(text.strip(), []).append(token)
        return spelled


def _may_continue(text: str) -> bool:
    """Returns True if a token that adds this text to a letter continues its word: not if it begins with a letter that
    may begin one anywhere, or is a Korean particle."""
    first = text[:1]
    if not first or first == BROKEN or is_extending(first):
        return first != ""
    is_of_word = first.isalnum() or first == "_"
    return is_of_word and UNSPACED.match(first) is None and KOREAN_ENDING.fullmatch(text) is None


def _may_be_continued(last: str) -> bool:
    """Returns True if a character may end within a word: a letter, but no Chinese or Japanese one, which is a word."""
    if not last or last == BROKEN:
        return last != ""
    is_of_word = last.isalnum() or last == "_" or is_extending(last)
    return is_of_word and (UNSPACED.match(last) is None or SPELLED.match(last) is not None)
