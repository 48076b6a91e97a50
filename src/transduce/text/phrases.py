"""How a tokenizer writes a phrase in each place where it may stand, and whether a text holds it as whole words."""

from functools import cached_property, lru_cache

from transduce.text.tokenizer import Tokenizer

BEFORE = ("", "a ", '"', "(")
"""What may stand before a phrase and change its tokens: nothing, a space, punctuation without a space."""

REMEMBERED = 1024
"""Phrases of which it is remembered how they are written: those of a glossary come again with each sentence."""

BROKEN = "\ufffd"  # how a part of a character is decoded


def holds(text: str, phrase: str) -> bool:
    """Whether the phrase stands in the text as whole words, letter by letter."""
    start = text.find(phrase)
    while start >= 0:
        if _begins_word(text, phrase, start) and _ends_word(text, phrase, start + len(phrase)):
            return True
        start = text.find(phrase, start + 1)
    return False


def ends_with(text: str, phrase: str) -> bool:
    """Whether the phrase stands at the end of the text, and begins a word there."""
    return text.endswith(phrase) and _begins_word(text, phrase, len(text) - len(phrase))


def _begins_word(text: str, phrase: str, start: int) -> bool:
    return not (phrase[:1].isalnum() and start > 0 and _is_of_word(text[start - 1]))


def _ends_word(text: str, phrase: str, end: int) -> bool:
    return not (phrase[-1:].isalnum() and end < len(text) and _is_of_word(text[end]))


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


class PhraseEncoder:
    """What a tokenizer makes of phrases; two passes over its vocabulary, made when first asked for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._forms = lru_cache(REMEMBERED)(self._make_forms)
        self._closing = lru_cache(REMEMBERED)(self._make_closing)

    def normal(self, phrase: str) -> str | None:
        """The phrase as outputs write it, lower-cased if they are; None if the vocabulary cannot write it."""
        ids = self.tokenizer.encode(phrase)
        return None if self.tokenizer.unknown in ids else self.tokenizer.decode(ids).strip()

    def forms(self, phrase: str) -> tuple[tuple[int, ...], ...]:
        """The token ids of the phrase in each place; none if the vocabulary cannot write it."""
        return self._forms(phrase)

    def _make_forms(self, phrase: str) -> tuple[tuple[int, ...], ...]:
        found: dict[tuple[int, ...], None] = {}
        for before in BEFORE:
            alone, together = self.tokenizer.encode_batch([before.strip(), before + phrase])
            ids = tuple(together[len(alone) :])
            if together[: len(alone)] == alone and ids and self.tokenizer.unknown not in ids:
                found[ids] = None
        return tuple(found)

    def closing(self, phrase: str) -> list[int]:
        """The tokens that may complete the phrase and leave no word open, however its beginning is spelled."""
        return list(self._closing(phrase))

    def _make_closing(self, phrase: str) -> list[int]:
        phrase = self.normal(phrase) or phrase
        ends = (phrase[start:] for start in range(len(phrase)))
        return [token for end in ends for token in self._spelled.get(end, ()) if not self.leaves_open[token]]

    @cached_property
    def continues(self) -> tuple[bool, ...]:
        """Of each token: whether it goes on with a word that the text before it ends in."""
        before = self.tokenizer.decode([self._letter])
        after = (self.tokenizer.decode([self._letter, token])[len(before) :] for token in range(len(self.tokenizer)))
        return tuple(_is_within_word(text[:1]) for text in after)

    @cached_property
    def leaves_open(self) -> tuple[bool, ...]:
        """Of each token: whether another may go on with the word that it ends in."""
        if not any(self.continues):
            return (False,) * len(self.tokenizer)
        return tuple(_is_within_word(text[-1:]) for text in self._texts)

    @cached_property
    def _letter(self) -> int:
        """A token that is a letter or a word."""
        return next((token for token, text in enumerate(self._texts) if text.strip().isalpha()), 0)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(self.tokenizer.decode([token]) for token in range(len(self.tokenizer)))

    @cached_property
    def _spelled(self) -> dict[str, list[int]]:
        """The tokens of each text."""
        spelled: dict[str, list[int]] = {}
        for token, text in enumerate(self._texts):
            spelled.setdefault(text.strip(), []).append(token)
        return spelled


def _is_within_word(character: str) -> bool:
    return character.isalnum() or character in ("_", BROKEN)
