"""Adds new words to a tokenizer that a model was trained with: pieces of their own, numbered after all others."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta
from tokenizers import Tokenizer as Backend

from transduce.base.config import Settings
from transduce.base.errors import ConfigError
from transduce.base.ranges import PositiveInt
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_training import NEVER

MIN_COUNT = 2
"""The least number of times a word must occur in the training text to be added for its frequency."""
BEFORE = "a "
"""Text before a word whose pieces are sought, so that they are those within a text."""
PREFERENCE = 1e-3
"""The share by which a new piece of a unigram model is likelier than the pieces it was made of."""


class NewWordsConfig(Settings, frozen=True):
    """Words that become pieces of their own in the vocabulary of the model to start from."""

    file: str | None = None
    """A file of words, one a line."""
    frequent: PositiveInt | None = None
    """The number of words to add: the most frequent in the training text that are unknown or split into many pieces."""
    min_pieces: Annotated[int, Meta(ge=2, le=1000)] = 3
    """The least number of pieces that a frequent word must be split into."""

    def _check_together(self) -> None:
        if self.file is None and self.frequent is None:
            raise ValueError("new_words needs a file of words, or how many of the most frequent ones (frequent)")


@dataclass(frozen=True)
class Growth:
    """A tokenizer with new pieces."""

    tokenizer: Tokenizer
    former: list[list[int]]
    """The pieces that each new piece was split into, from the first new number on."""


def read_words(path: Path) -> list[str]:
    """Reads the words of a file, one a line; raises ConfigError if it cannot be read or a line has several words."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise ConfigError(f"training.new_words.file: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"training.new_words.file: {path} is not UTF-8 text ({error})") from None
    for number, line in enumerate(lines, 1):
        if len(line.split()) > 1:
            raise ConfigError(f"{path}:{number}: '{line.strip()}' is more than one word; write one a line")
    words = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not words:
        raise ConfigError(f"training.new_words.file: {path} has no words")
    return words


def frequent_words(tokenizer: Tokenizer, texts: Iterable[str], count: int, min_pieces: int) -> list[str]:
    """Returns the most frequent words of a text that are split into many pieces or unknown, at most `count`."""
    counts = Counter(word for text in texts for word in _words(tokenizer.backend, text))
    result: list[str] = []
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        if counts[word] < MIN_COUNT or len(result) == count:
            break
        former = _former(tokenizer, word)
        if (len(former) >= min_pieces or tokenizer.unknown in former) and _piece(tokenizer.backend, word) is not None:
            result.append(word)
    return result


def grow(tokenizer: Tokenizer, words: Sequence[str]) -> Growth:
    """Returns the tokenizer with a piece of its own for each word that had none; the others keep their numbers.

    A word that the tokenizer divides before it looks for pieces, such as one with a hyphen, is left out. Texts without
    the words stay as they were, but that subwords of unigram and wordpiece may begin longer words.

    Raises ConfigError for a tokenizer that does not divide text into words first, or was made from SentencePiece.
    """
    tree = json.loads(tokenizer.backend.to_str())
    _check_can_grow(tokenizer, tree)
    pieces: dict[str, list[int]] = {}
    for word in words:
        piece, former = _piece(tokenizer.backend, word), _former(tokenizer, word)
        if piece is not None and tokenizer.backend.token_to_id(piece) is None:
            pieces.setdefault(piece, former)
    _add(tree["model"], pieces, len(tokenizer))
    return Growth(tokenizer.with_backend(Backend.from_str(json.dumps(tree))), list(pieces.values()))


def _check_can_grow(tokenizer: Tokenizer, tree: dict[str, Any]) -> None:
    problem = None
    if tokenizer.sentencepiece is not None:
        problem = "was made from a model of SentencePiece, to which nothing can be added"
    elif _piece(tokenizer.backend, "b") is None:
        problem = "does not divide text into words first"
    elif len(tree["model"]["vocab"]) != len(tokenizer):
        problem = "has tokens beside its vocabulary, after which nothing can be numbered"
    if problem is not None:
        raise ConfigError(f"training.new_words: the tokenizer of the model to start from {problem}; leave it out")


def _add(model: dict[str, Any], pieces: dict[str, list[int]], first: int) -> None:
    """Adds pieces, numbered from `first` on, to a model of the tokenizers library."""
    vocabulary = model["vocab"]
    if model["type"] == "Unigram":
        scores = [score for _, score in vocabulary]
        least = min(score for score in scores if score > NEVER)
        for piece, former in pieces.items():
            of_former = [scores[token] for token in former]
            preferred = sum(of_former) * (1 - PREFERENCE) if min(of_former) > NEVER else least
            vocabulary.append([piece, preferred])
        return
    vocabulary |= {piece: first + number for number, piece in enumerate(pieces)}
    if model["type"] == "BPE":
        model["ignore_merges"] = True  # a word that is a piece is taken whole, though no merges lead to it


def _piece(backend: Backend, word: str) -> str | None:
    """Returns a word as the vocabulary would spell it; None if it is not looked up as a whole."""
    if backend.pre_tokenizer is None:
        return None
    words = backend.pre_tokenizer.pre_tokenize_str(_normal(backend, BEFORE + word))
    return words[1][0] if len(words) == len(BEFORE.split()) + 1 else None


def _former(tokenizer: Tokenizer, word: str) -> list[int]:
    """Returns the pieces that a word within a text is split into."""
    return tokenizer.encode(BEFORE + word)[len(tokenizer.encode(BEFORE.strip())) :]


def _words(backend: Backend, text: str) -> Iterator[str]:
    """Yields the words with letters that a tokenizer looks up."""
    if backend.pre_tokenizer is None:
        return
    normal = _normal(backend, text)
    for _, (start, end) in backend.pre_tokenizer.pre_tokenize_str(normal):
        word = normal[start:end].strip()
        if any(character.isalpha() for character in word):
            yield word


def _normal(backend: Backend, text: str) -> str:
    return text if backend.normalizer is None else str(backend.normalizer.normalize_str(text))
