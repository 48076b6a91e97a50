"""A request: one line to translate, with its constraints; needs no PyTorch, so documents' processes can use it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """A line to translate, and constraints on its translation; a blank line's translation stays blank."""

    text: str
    prefix: str = ""
    """Whole words that the translation begins with."""
    required: tuple[str, ...] = ()
    """Words or phrases that the translation must hold; of a line that is split, its last piece."""
    banned: tuple[str, ...] = ()
    """Words or phrases that the translation must not hold."""
