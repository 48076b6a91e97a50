"""Limits how much a translation must hold: each token of it takes search time, which others have to wait for."""

from transduce.inference.request import Request
from transduce.inference.translator import Translator

MOST = 128
"""The most tokens of a prefix, and twice those of required phrases, that a search places in good time; as many as the
longest sentence has if the model knows longer ones."""


class WantedTokens:
    """Counts the tokens that requests want in their translations."""

    def __init__(self, translator: Translator) -> None:
        self.most = max(MOST, translator.longest_source)
        self._tokenizer = translator.bundle.tokenizers.target
        self._lengths = {"": 0}

    def of(self, text: str) -> int:
        """Returns the number of tokens of a text."""
        if text not in self._lengths:
            self._lengths[text] = len(self._tokenizer.encode(text))
        return self._lengths[text]

    def are_too_many(self, request: Request) -> bool:
        """Returns True if a search for the request would take too long."""
        return self.of(request.prefix) + 2 * sum(map(self.of, request.required)) > self.most
