"""The facts about a target vocabulary that a search needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transduce.search.required_phrases import WordEdges
from transduce.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Vocabulary:
    """The numbers of target tokens, and facts that rules need."""

    begin: int
    end: int
    never: Sequence[int]
    """Tokens that are never written: padding, beginning and languages, except one that is the end token too."""
    unknown: Sequence[int]
    """Tokens that are written only if allowed: the unknown token, unless it is the end token too."""
    decode: Callable[[Sequence[int]], str]
    """The text of tokens."""
    edges: Callable[[], WordEdges]
    """Returns where words begin and end; computed on request."""

    @staticmethod
    def of(tokenizer: Tokenizer, edges: Callable[[], WordEdges]) -> "Vocabulary":
        """Returns the vocabulary of all tokens of a tokenizer."""
        never = {tokenizer.pad, tokenizer.bos, *tokenizer.languages.values()} - {tokenizer.eos}
        unknown = {tokenizer.unknown} - {tokenizer.eos}
        return Vocabulary(tokenizer.bos, tokenizer.eos, sorted(never), sorted(unknown), tokenizer.decode, edges)
