"""Running text as one row of token ids on disk, mapped into memory: built once and found again by its contents."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transduce.base.errors import DataError
from transduce.base.files import found_or_made, sha256
from transduce.corpora.corpus import TextCorpus
from transduce.data.store import MAX_UNKNOWN, REMEDY
from transduce.text.running_text import encode_lines
from transduce.text.tokenizer import Tokenizer

FORMAT = 2


@dataclass(frozen=True)
class TextStore:
    """The ids of all lines, each with its end token."""

    ids: NDArray[np.integer]
    words: int
    """Number of predicted words, split at spaces, and line ends; without the first word if it is all of the first
    token, which no model predicts."""
    characters: int
    """Number of predicted Unicode characters, line ends included; without those of the first token."""

    def __len__(self) -> int:
        return len(self.ids)


def open_text_store(corpus: TextCorpus, tokenizer: Tokenizer, cache: Path) -> TextStore:
    """Returns the store of a text, built if the cache has none of these contents and tokenizer.

    Raises DataError for a text of fewer than two tokens, or one whose tokens are mostly unknown.
    """
    made_from = ["text", FORMAT, corpus.content(), tokenizer.content]
    folder = cache / "stores" / hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:32]
    return found_or_made(folder, _read, lambda new: _build(corpus, tokenizer, new))


class FirstToken(NamedTuple):
    """The size of a text's first token, which no model predicts."""

    words: int
    """1 if the token is a whole word, or the end of an empty line, else 0."""
    characters: int


def first_token(tokenizer: Tokenizer, line: str) -> FirstToken:
    """Returns the size of the first token of a text that begins with this line."""
    ids = tokenizer.encode(line)
    if not ids:
        return FirstToken(1, 1)
    text, word = tokenizer.decode(ids[:1]).strip(), (line.split() or [""])[0]
    is_word = ids[0] == tokenizer.unknown or len(text) >= len(word)  # longer than it: normalised
    return FirstToken(int(is_word), min(len(word) if is_word else max(len(text), 1), len(line)))


def _read(folder: Path) -> TextStore | None:
    """Returns the store in a folder; None if its files have changed."""
    facts = json.loads((folder / "store.json").read_text(encoding="utf-8"))
    if facts["sha256"] != sha256(folder / "text.ids"):
        return None
    ids = np.memmap(folder / "text.ids", dtype=facts["dtype"], mode="r")
    return TextStore(ids, int(facts["words"]), int(facts["characters"]))


def _build(corpus: TextCorpus, tokenizer: Tokenizer, folder: Path) -> None:
    """Writes the files of a store into an empty folder."""
    dtype = np.dtype(np.uint16 if len(tokenizer) <= 2**16 else np.uint32)
    tokens = unknown = words = characters = 0

    def counted(lines: Iterable[str]) -> Iterator[str]:
        nonlocal words, characters
        for line in lines:
            words += len(line.split()) + 1
            characters += len(line) + 1
            yield line

    with (folder / "text.ids").open("wb") as file:
        for ids in encode_lines(tokenizer, counted(corpus)):
            file.write(np.array(ids, dtype).tobytes())
            tokens += len(ids)
            unknown += ids.count(tokenizer.unknown) if tokenizer.unknown != tokenizer.eos else 0
    if tokens < 2:
        raise DataError(f"{corpus.name}: there is no text")
    if unknown > MAX_UNKNOWN * tokens:
        raise DataError(f"{corpus.name}: {unknown / tokens:.0%} of the tokens are unknown to the tokenizer; {REMEDY}")
    first = first_token(tokenizer, next(iter(corpus)))
    words, characters = words - first.words, characters - first.characters
    facts = {"dtype": dtype.name, "words": words, "characters": characters, "sha256": sha256(folder / "text.ids")}
    (folder / "store.json").write_text(json.dumps(facts), encoding="utf-8")
