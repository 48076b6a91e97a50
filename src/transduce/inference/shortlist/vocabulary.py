"""What a search must know of the tokens that it writes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transduce.search.required_phrases import WordEdges
from transduce.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Vocabulary:
    """The numbers of target tokens, and what rules ask of them."""

    pad: int
    begin: int
    end: int
    unknown: int
    decode: Callable[[Sequence[int]], str]
    """The text of tokens."""
    edges: Callable[[], WordEdges]
    """Where words begin and end; made when it is asked for."""

    @staticmethod
    def of(tokenizer: Tokenizer, edges: Callable[[], WordEdges]) -> "Vocabulary":
        """All tokens of a tokenizer."""
        return Vocabulary(tokenizer.pad, tokenizer.bos, tokenizer.eos, tokenizer.unknown, tokenizer.decode, edges)
