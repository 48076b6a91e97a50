"""Encodes running text as token ids, the ends of its lines among them."""

from collections.abc import Iterable, Iterator
from itertools import islice

from transduce.text.tokenizer import Tokenizer

PARTS_AT_ONCE = 4096


def encode_running(tokenizer: Tokenizer, text: str) -> list[int]:
    """Returns the ids of a text whose last line is not at its end; none for an empty one."""
    if tokenizer.newline_is_text:
        return tokenizer.encode(text)
    first, *others = tokenizer.encode_batch(text.split("\n"))
    return [*first, *(token for line in others for token in (tokenizer.eos, *line))]


def encode_lines(tokenizer: Tokenizer, lines: Iterable[str]) -> Iterator[list[int]]:
    """Yields the ids of a text, each line with its end, some thousand lines at a time."""
    parts = _parts(tokenizer, lines) if tokenizer.newline_is_text else iter(lines)
    end = [] if tokenizer.newline_is_text else [tokenizer.eos]
    while chunk := list(islice(parts, PARTS_AT_ONCE)):
        yield [token for ids in tokenizer.encode_batch(chunk) for token in (*ids, *end)]


def _parts(tokenizer: Tokenizer, lines: Iterable[str]) -> Iterator[str]:
    """Yields parts of a text with the same tokens as uncut: cut before a newline, unless white space precedes that.

    A tokenizer that joins a newline to the mark before it, or adds a space to each text, is given all of it at once.
    """
    can_be_cut = tokenizer.encode("a.\nb") == tokenizer.encode("a.") + tokenizer.encode("\nb")
    part: list[str] = []
    for line in lines:
        part.append(line)
        if can_be_cut and line and not line[-1].isspace():
            yield "".join(part)
            part = ["\n"]
        else:
            part.append("\n")
    yield "".join(part)
