"""The lexical shortlist of Firefox Translations and Marian: written from ours, and read as one of ours."""

import struct
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from transduce.base.errors import CheckpointError
from transduce.inference.shortlist.shortlist import Shortlist
from transduce.text.tokenizer import Tokenizers

MAGIC = 0xF11A48D5013417F5
HEADER = struct.Struct("<QQQQQQ")
"""Magic number, checksum, frequent tokens, tokens listed for each, offsets, tokens in all lists."""
CHECKED_FROM = 16
"""The first byte that the checksum is of."""
MULTIPLE = 8
"""Engines fill a sentence's list up to a multiple of this."""
MASK = (1 << 64) - 1


def write_lexicon(shortlist: Shortlist, tokenizers: Tokenizers, vocabularies: tuple[int, int], path: Path) -> None:
    """Writes a shortlist of a model's tokenizers, without the tokens that no output has.

    Engines allow the first tokens of the vocabulary in every sentence, where ours allows any. So no token is
    called frequent; frequent tokens belong to the end token, which is in every source.

    Args:
        shortlist: lists of source tokens.
        tokenizers: those of the shortlist.
        vocabularies: the number of the engine's source tokens, and of the target tokens that outputs may have.
        path: the file to write.
    """
    sources, targets = vocabularies
    end, never = tokenizers.source.eos, tokenizers.target.unknown
    always = set(shortlist.always.tolist())
    lists = [
        sorted({token for token in row if token < targets and token != never} - always)
        for row in shortlist.lists[:sources].tolist()
    ]
    lists[len(lists) :] = [[] for _ in range(sources - len(lists))]
    lists[end] = sorted({*lists[end], *(token for token in always if token < targets and token != never)})
    lists[-1] = lists[-1] or [lists[end][0]]  # Marian wants an entry after each offset but the last
    offsets = np.cumsum([0, *map(len, lists)], dtype="<u8")
    entries = np.array([token for row in lists for token in row], "<u4")
    body = struct.pack("<QQQQ", 0, shortlist.lists.shape[1], len(offsets), len(entries))
    body += offsets.tobytes() + entries.tobytes()
    path.write_bytes(struct.pack("<QQ", MAGIC, _checksum(body)) + body)


def read_lexicon(path: Path, tokenizers: Tokenizers, vocabularies: tuple[int, int]) -> Shortlist:
    """Reads a shortlist, whose lists become those of an engine: filled up, and with the source's own tokens where both
    sides have one vocabulary.

    Args:
        path: the file.
        tokenizers: those of the model.
        vocabularies: the number of the engine's source tokens and of its target tokens; of the tokenizer's they are the
            first.

    Raises CheckpointError for a file that is missing or damaged, or of other vocabularies.
    """
    source, target = tokenizers.source, tokenizers.target
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file")
    try:
        frequent, lists = _parse(path.read_bytes(), *vocabularies)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, struct.error) as error:
        raise CheckpointError(f"{path} is no shortlist of this model, or a damaged one: {error}") from None
    lists[source.eos] = np.union1d(lists[source.eos], np.arange(frequent))  # every source has the end token
    if source is target:
        lists = [np.append(row, token) for token, row in enumerate(lists)]
    rows = torch.full((len(source), max(map(len, lists))), target.eos)
    for token, row in enumerate(lists[: len(source)]):
        rows[token, : len(row)] = torch.from_numpy(row)
        rows[token, len(row) :] = int(row[0]) if len(row) else target.eos
    return Shortlist(rows, torch.tensor([target.pad, target.bos]), len(target), MULTIPLE)


def _parse(content: bytes, sources: int, targets: int) -> tuple[int, list[NDArray[np.int64]]]:
    """Returns the number of tokens that all sentences may have, and the list of each source token; ValueError for what
    is wrong."""
    magic, checksum, frequent, _, count, entries = HEADER.unpack_from(content)
    if magic != MAGIC:
        raise ValueError("it does not begin as a shortlist does")
    if len(content) != HEADER.size + 8 * count + 4 * entries:
        raise ValueError(f"it has {len(content):,} bytes, but its {count:,} offsets and {entries:,} tokens need others")
    if checksum != _checksum(content[CHECKED_FROM:]):
        raise ValueError("it has changed since it was written (its checksum differs)")
    if count != sources + 1:
        raise ValueError(f"it is of {max(count - 1, 0):,} source tokens, the model has {sources:,}")
    offsets = np.frombuffer(content, "<u8", count, HEADER.size)
    tokens = np.frombuffer(content, "<u4", entries, HEADER.size + 8 * count).astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != entries or (np.diff(offsets.astype(np.int64)) < 0).any():
        raise ValueError("its lists overlap")
    if frequent > targets or tokens.max(initial=0) >= targets:
        raise ValueError(f"it lists tokens from {targets:,} on, which the model does not have")
    return frequent, np.split(tokens, offsets[1:-1].astype(np.int64))


def _checksum(body: bytes) -> int:
    """Returns Marian's checksum: boost's hash_combine, over the whole numbers of 64 bits in these bytes."""
    seed = 0
    for value in np.frombuffer(body, "<u8", len(body) // 8).tolist():
        seed ^= (value + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & MASK
    return seed
