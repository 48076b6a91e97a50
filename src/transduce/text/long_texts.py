"""Texts that are too long for a model, in pieces that are not."""

import re
from collections.abc import Iterator

from transduce.text.tokenizer import Tokenizer

ENCODED_AT_ONCE = 256


def split_text(text: str, tokenizer: Tokenizer, longest: int) -> list[str]:
    """Pieces of at most `longest` tokens: the whole text if it fits, else sentences, words, or characters together."""
    text = text.strip()
    if not text or not (count := len(tokenizer.encode(text))):
        return []
    if count <= longest:
        return [text]
    for parts, joint in ((re.split(r"(?<=[.!?…。！？])\s+", text), " "), (text.split(), " "), (list(text), "")):
        if len(parts) > 1:
            return _pack(parts, joint, tokenizer, longest)
    return [text]


def _pack(parts: list[str], joint: str, tokenizer: Tokenizer, longest: int) -> list[str]:
    """Join neighbours while their tokens, counted apart, stay within the longest; split parts that are too long."""
    packed: list[list[str]] = []
    room = 0
    for part, ids in zip(parts, _encoded(parts, tokenizer), strict=True):
        if len(ids) > longest:
            packed += [[piece] for piece in split_text(part, tokenizer, longest)]
            room = 0
        elif len(ids) <= room:
            packed[-1].append(part)
            room -= len(ids)
        else:
            packed.append([part])
            room = longest - len(ids)
    return [joint.join(group) for group in packed]


def _encoded(parts: list[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    """Token ids of each part; some at a time, since other threads wait while the tokenizer makes its results."""
    for start in range(0, len(parts), ENCODED_AT_ONCE):
        yield from tokenizer.encode_batch(parts[start : start + ENCODED_AT_ONCE])
