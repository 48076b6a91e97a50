"""What a search must know of the tokens that it writes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transduce.search.required_phrases import WordEdges
from transduce.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Vocabulary:
    """The numbers of target tokens, and what rules ask of them."""

    begin: int
    end: int
    never: Sequence[int]
    """Those that are not written: of padding, of the beginning and of languages, unless one is the end token too."""
    unknown: Sequence[int]
    """Those that are written only where it is allowed: the unknown token, unless it is the end token too."""
    decode: Callable[[Sequence[int]], str]
    """The text of tokens."""
    edges: Callable[[], WordEdges]
    """Where words begin and end; made when it is asked for."""

    @staticmethod
    def of(tokenizer: Tokenizer, edges: Callable[[], WordEdges]) -> "Vocabulary":
        """All tokens of a tokenizer."""
        never = {tokenizer.pad, tokenizer.bos, *tokenizer.languages.values()} - {tokenizer.eos}
        unknown = {tokenizer.unknown} - {tokenizer.eos}
        return Vocabulary(tokenizer.bos, tokenizer.eos, sorted(never), sorted(unknown), tokenizer.decode, edges)
