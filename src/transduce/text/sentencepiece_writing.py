"""Writes tokenizers as SentencePiece `.model` files, if these divide text in the same way."""

import io
import json
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

from docsegments.extras import require
from transduce.base.errors import InputError
from transduce.text.protobuf import message
from transduce.text.sentencepiece import BYTE, CONTROL, NORMAL, UNKNOWN, parse_sentencepiece
from transduce.text.tokenizer import BYTES, SPACE, Tokenizer

KINDS = {"Unigram": 1, "BPE": 2}
"""Numbers of TrainerSpec.ModelType, by the names of Hugging Face tokenizers."""
BETWEEN = "."
"""The character around those whose normal form is asked for: nothing composes with it."""
HALF_WIDTH = {"\u3099": "\uff9e", "\u309a": "\uff9f"}
"""Marks of kana that replace others."""


def require_sentencepiece() -> Any:
    """Imports and returns SentencePiece; InputError if it is not installed."""
    return require("sentencepiece", "export")


def what_cannot_be_written(tokenizer: Tokenizer) -> list[str]:
    """Lists why no SentencePiece model divides text as a tokenizer does, in words; empty if one does."""
    if tokenizer.sentencepiece is not None:
        return []
    tree = json.loads(tokenizer.backend.to_str())
    model = tree["model"]
    if model["type"] not in KINDS:
        return [f"{model['type']} is an algorithm that SentencePiece does not have; it has bpe and unigram"]
    problems = []
    if "Metaspace" not in [step["type"] for step in _steps(tree["pre_tokenizer"])]:
        problems.append(f"it does not mark the beginning of words by {SPACE!r}")
    if not model.get("byte_fallback") or any(tokenizer.backend.token_to_id(piece) is None for piece in BYTES):
        problems.append("it does not spell unknown characters in bytes")
    if model["type"] == "BPE" and len({"".join(merge) for merge in model["merges"]}) < len(model["merges"]):
        problems.append("two of its merges make the same piece")
    if model.get("ignore_merges"):
        problems.append("it has words to which no merges lead (training.new_words)")
    return problems


def write_sentencepiece(tokenizer: Tokenizer) -> bytes:
    """Returns the `.model` file (sentencepiece_model.proto) of a tokenizer, its pieces numbered as there.

    A tokenizer that was made from such a file gives it back. Of others, merges become scores, and what the normaliser
    does to each character becomes a table. Two or more combining marks on one letter that compose no character stay in
    the order in which they come, where Unicode's normal forms would sort them.

    Raises InputError for a tokenizer that divides text as no SentencePiece model does (all reasons are listed), or
    where SentencePiece is not installed.
    """
    if problems := what_cannot_be_written(tokenizer):
        raise InputError(f"the tokenizer cannot become a model of SentencePiece: {'; '.join(problems)}")
    if tokenizer.sentencepiece is not None:
        return tokenizer.sentencepiece
    model = json.loads(tokenizer.backend.to_str())["model"]
    pieces = tokenizer.pieces(range(len(tokenizer)))
    scores = _scores(model, pieces)
    entries = [
        _entry(piece, score, _kind(tokenizer, number, piece))
        for number, (piece, score) in enumerate(zip(pieces, scores, strict=True))
    ]
    special = (tokenizer.unknown, tokenizer.bos, tokenizer.eos, tokenizer.pad)
    trainer = message(
        (3, KINDS[model["type"]]),
        (4, len(pieces)),
        (35, 1),
        *((40 + role, number) for role, number in enumerate(special)),
        *((45 + role, pieces[number].encode()) for role, number in enumerate(special)),
    )
    normalizer = message((1, b"transduce"), (2, _character_map(tokenizer)), (3, 1), (4, 1), (5, 1))
    return b"".join([*entries, message((2, trainer), (3, normalizer))])


def fill_up(model: bytes, count: int) -> bytes:
    """Returns a `.model` file with so many pieces more, which no text means and which write nothing."""
    return model + b"".join(_entry(f"<unused {number}>", 0.0, CONTROL) for number in range(1, count + 1))


def append_pieces(model: bytes, scores: Mapping[str, float]) -> bytes:
    """Returns a `.model` file with these pieces more, after all that it has."""
    return model + b"".join(_entry(piece, score, NORMAL) for piece, score in scores.items())


def _entry(piece: str, score: float, kind: int) -> bytes:
    return message((1, message((1, piece.encode()), (2, float(score)), (3, kind))))


def _steps(part: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [] if part is None else part.get("pretokenizers", [part])


def _scores(model: dict[str, Any], pieces: list[str]) -> list[float]:
    """Returns the scores of pieces: a unigram model's own; of BPE, the earlier a piece is merged, the higher."""
    if model["type"] == "Unigram":
        return [score for _, score in model["vocab"]]
    ranks = {"".join(merge): rank for rank, merge in enumerate(model["merges"])}
    return [-float(ranks.get(piece, len(ranks) + number)) for number, piece in enumerate(pieces)]


def _kind(tokenizer: Tokenizer, number: int, piece: str) -> int:
    if number == tokenizer.unknown:
        return UNKNOWN
    if number in (tokenizer.pad, tokenizer.bos, tokenizer.eos):
        return CONTROL
    return BYTE if piece in BYTES else NORMAL


def _character_map(tokenizer: Tokenizer) -> bytes:
    """Returns the map of a tokenizer's normaliser, compiled by SentencePiece."""
    library = require_sentencepiece()
    normalizer = tokenizer.backend.normalizer
    rules = []
    for text in () if normalizer is None else _texts():
        normal = normalizer.normalize_str(f"{BETWEEN}{text}{BETWEEN}")[len(BETWEEN) : -len(BETWEEN)]
        if normal != text:
            rules.append("\t".join(" ".join(f"{ord(character):X}" for character in side) for side in (text, normal)))
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "rules.tsv"
        table.write_text("\n".join(rules) + "\n", encoding="ascii")
        written = io.BytesIO()
        library.SentencePieceTrainer.train(  # of a vocabulary that is not used: it compiles the table for others
            sentence_iterator=iter(["a"]),
            model_writer=written,
            model_type="char",
            vocab_size=8,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(table),
            minloglevel=2,
        )
    return parse_sentencepiece(written.getvalue()).character_map


def _texts() -> Iterator[str]:
    """Yields every character, every sequence that is canonically equivalent to one, and every character with a mark
    that its compatible form composes with, as half-width kana do."""
    characters = [chr(code) for code in range(1, 0x110000)]
    characters = [character for character in characters if unicodedata.category(character) not in ("Cn", "Co", "Cs")]
    marks: dict[str, set[str]] = {}  # that compose with a letter
    for character in characters:
        yield character
        apart = unicodedata.normalize("NFD", character)
        if len(apart) > 1:
            yield from _equivalents(apart)
        if len(apart) == 2 and unicodedata.combining(apart[1]):
            marks.setdefault(apart[0], set()).add(apart[1])
    plain = {character: unicodedata.normalize("NFKC", character) for character in characters}
    others = {c: normal for c, normal in plain.items() if normal != unicodedata.normalize("NFC", c)}
    for character, normal in others.items():
        for mark in marks.get(normal[-1:], ()):
            yield character + mark
            yield from (character + sign for sign in HALF_WIDTH.get(mark, ""))


def _equivalents(apart: str) -> set[str]:
    """Returns all sequences of several characters with the same canonical decomposition as this one."""
    first, marks = apart[0], apart[1:]
    sequences = set()
    for order in permutations(marks) if unicodedata.combining(marks[0]) else [tuple(marks)]:
        for joined in range(len(order)):
            begin = unicodedata.normalize("NFC", first + "".join(order[:joined]))
            text = begin + "".join(order[joined:])
            if len(begin) == 1 and unicodedata.normalize("NFD", text) == apart:
                sequences.add(text)
    return sequences
