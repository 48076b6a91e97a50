"""How a tokenizer writes a phrase in each place where it may stand, and whether a text holds it as whole words."""

import re
from functools import cached_property

from transduce.text.tokenizer import Tokenizer

BEFORE = ("", "a ", '"', "(")
"""What may stand before a phrase and change its tokens: nothing, a space, punctuation without a space."""

BROKEN = "\ufffd"  # how a part of a character is decoded


def holds(text: str, phrase: str) -> bool:
    """Whether the phrase stands in the text as whole words, letter by letter."""
    first = r"(?<!\w)" if phrase[:1].isalnum() else ""
    last = r"(?!\w)" if phrase[-1:].isalnum() else ""
    return re.search(f"{first}{re.escape(phrase)}{last}", text) is not None


class Wording:
    """What a tokenizer makes of phrases; two passes over its vocabulary, made when first asked for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def normal(self, phrase: str) -> str | None:
        """The phrase as outputs write it, lower-cased if they are; None if the vocabulary cannot write it."""
        ids = self.tokenizer.encode(phrase)
        return None if self.tokenizer.unknown in ids else self.tokenizer.decode(ids).strip()

    def forms(self, phrase: str) -> tuple[tuple[int, ...], ...]:
        """The token ids of the phrase in each place; none if the vocabulary cannot write it."""
        found: dict[tuple[int, ...], None] = {}
        for before in BEFORE:
            alone, together = self.tokenizer.encode_batch([before.strip(), before + phrase])
            ids = tuple(together[len(alone) :])
            if together[: len(alone)] == alone and ids and self.tokenizer.unknown not in ids:
                found[ids] = None
        return tuple(found)

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
        return tuple(_is_within_word(self.tokenizer.decode([token])[-1:]) for token in range(len(self.tokenizer)))

    @cached_property
    def _letter(self) -> int:
        """A token that is a letter or a word."""
        tokens = range(len(self.tokenizer))
        return next((token for token in tokens if self.tokenizer.decode([token]).strip().isalpha()), 0)


def _is_within_word(character: str) -> bool:
    return character.isalnum() or character in ("_", BROKEN)
