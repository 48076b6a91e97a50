"""Reads SentencePiece `.model` files as tokenizers of ours, by their protocol buffer; nothing in it is run."""

import math
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend

from transduce.base.errors import CheckpointError, InputError
from transduce.text.protobuf import last, read_fields
from transduce.text.tokenizer import (
    ELSEWHERE,
    HIDDEN,
    OTHER_NAMES,
    PAST_THE_END,
    SENTENCEPIECE,
    SPACE,
    Tokenizer,
    check_special,
)
from transduce.text.tokenizer_file import one_line_errors
from transduce.text.tokenizer_settings import UNK, SpecialTokens

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
MODELS = (".model", SENTENCEPIECE)
"""The endings of models' names."""
COMPOSING = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf")
"""The built-in rules of SentencePiece, all of which compose characters."""
NONCHARACTERS = ELSEWHERE + PAST_THE_END + HIDDEN
LEADING_SPACE = Regex(r"\A ")


@dataclass(frozen=True)
class VocabularyEntry:
    """An entry of a vocabulary."""

    text: str
    score: float
    """The log-probability of the entry, in a unigram model."""
    kind: int
    """The kind of the entry: NORMAL and so on."""


@dataclass(frozen=True)
class SentencePieceModel:
    """The contents of a `.model` file (sentencepiece_model.proto)."""

    pieces: list[VocabularyEntry]
    kind: str
    """The kind of the model: unigram, bpe, word or char."""
    rules: str
    """The name of the rules by which characters are normalised."""
    character_map: bytes
    """The map by which characters are normalised; empty if they stay as they are."""
    adds_space: bool
    """True if each text gets a space in front."""
    joins_spaces: bool
    """True if spaces at both ends go, and several become one."""
    problem: str
    """The name of a setting that no tokenizer of ours has; empty without one."""
    content: bytes
    """The bytes of the whole file."""


def read_sentencepiece(path: Path) -> SentencePieceModel:
    """Reads a `.model` file.

    Raises CheckpointError for one that is missing or damaged, InputError for one with settings that cannot be carried
    over.
    """
    try:
        if not path.is_file():  # a pipe would be waited for
            raise CheckpointError(f"{path}: no such file")
        content = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        model = parse_sentencepiece(content)
    except (ValueError, IndexError, KeyError, TypeError, struct.error):
        raise CheckpointError(f"{path}: not a model of SentencePiece, or a damaged one; download it again") from None
    if not model.pieces:
        raise CheckpointError(f"{path}: not a model of SentencePiece: it has no pieces")
    if model.problem:
        raise InputError(f"{path}: {model.problem} is set, which cannot be carried over")
    return model


def parse_sentencepiece(content: bytes) -> SentencePieceModel:
    """Parses the bytes of a `.model` file; ValueError and the like for other bytes."""
    fields: Any = read_fields(content)
    trainer, normalizer = (read_fields(b"".join(fields.get(number, []))) for number in (2, 3))
    is_suffix, is_escaped = last(trainer, 24, 0), last(normalizer, 5, 1)
    return SentencePieceModel(
        pieces=[_piece(value) for value in fields.get(1, [])],
        kind=KINDS[last(trainer, 3, 1)],
        rules=last(normalizer, 1, b"").decode(),
        character_map=last(normalizer, 2, b""),
        adds_space=bool(last(normalizer, 3, 1)),
        joins_spaces=bool(last(normalizer, 4, 1)),
        problem="treat_whitespace_as_suffix" if is_suffix else "" if is_escaped else "unescaped",
        content=content,
    )


def read_model(path: Path, special: SpecialTokens | None = None) -> Tokenizer:
    """Reads the tokenizer of a `.model` file, its pieces numbered as there.

    By default, pieces with the usual names serve as special tokens, missing ones are added, and no text means
    them, as in SentencePiece.

    Raises CheckpointError for a file that is missing or damaged, or lacks a special token, InputError for a model that
    cannot be carried over.
    """
    model = read_sentencepiece(path)
    if model.kind not in ("unigram", "bpe"):
        raise InputError(f"{path} is a {model.kind} model of SentencePiece; only unigram and bpe models can be used")
    if other := next((piece for piece in model.pieces if piece.kind in (USER_DEFINED, UNUSED)), None):
        raise InputError(f"{path}: {other.text!r} is a piece that is user-defined or unused, which cannot be used")
    numbers = {piece.text: number for number, piece in enumerate(model.pieces)}
    unknown = [piece.text for piece in model.pieces if piece.kind == UNKNOWN]
    if len(unknown) != 1 or len(numbers) != len(model.pieces):
        raise CheckpointError(
            f"{path}: not a model of SentencePiece: {len(unknown)} unknown pieces, or pieces repeated"
        )
    check_special(numbers.get, special, path)
    if unknown[0] not in ((UNK, *OTHER_NAMES[UNK]) if special is None else [special.unknown]):
        raise InputError(f"{path}: its unknown piece is {unknown[0]!r}; say so in tokenizer.special")
    names = set() if special is None else {special.pad, special.unknown, special.bos, special.eos}
    pieces = [
        (piece.text if piece.kind == NORMAL or piece.text in names else HIDDEN + piece.text, piece.score)
        for piece in model.pieces
    ]
    spaces = [decoders.Strip(" ", 1, 0)] if model.adds_space else []
    with one_line_errors(path, f"it is no {model.kind} model"):
        backend = _backend(model, pieces, numbers[unknown[0]])
        backend.decoder = decoders.Sequence(
            [
                decoders.Replace(HIDDEN, ""),
                decoders.Replace(SPACE, " "),
                decoders.ByteFallback(),
                decoders.Fuse(),
                *spaces,
            ]
        )
    backend.add_special_tokens([AddedToken(name, normalized=False) for name in sorted(names)])
    return Tokenizer(backend, special, model.content)


def _merges(scores: Mapping[str, float]) -> list[tuple[str, str]]:
    """Returns the pairs of pieces that make a piece, best first: SentencePiece makes the piece with the best score."""
    return [
        (piece[:cut], piece[cut:])
        for piece in sorted(scores, key=scores.__getitem__, reverse=True)
        for cut in range(1, len(piece))
        if piece[:cut] in scores and piece[cut:] in scores
    ]


def with_vocabulary(
    path: Path,
    model: SentencePieceModel,
    vocabulary: Mapping[str, int],
    special: SpecialTokens,
    languages: Mapping[str, str] | None = None,
    meant: Collection[str] = (),
) -> Tokenizer:
    """Makes a tokenizer that divides text by a model and numbers the pieces by a vocabulary of its own.

    A piece that the vocabulary lacks is unknown. A run of characters that the model does not know may still be in the
    vocabulary, which serves another language too, and then has its number.

    Args:
        path: named by errors.
        model: read from there.
        vocabulary: numbers, from 0 without gaps, of pieces.
        special: which of these serve as padding and so on; a text that spells one means it.
        languages: the tokens of languages among these, by language.
        meant: those of them that a text means which spells them.

    Raises InputError for a model of a kind that cannot be carried over.
    """
    if model.kind not in ("unigram", "bpe"):
        raise InputError(
            f"{path} is a {model.kind} model of SentencePiece; only unigram and bpe models can be carried over"
        )
    names = {special.pad, special.unknown, special.bos, special.eos}
    plain = names | set((languages or {}).values())
    scores = {piece.text: piece.score for piece in model.pieces if piece.kind == NORMAL}
    if others := [piece.text for piece in model.pieces if piece.kind in (USER_DEFINED, UNUSED, BYTE)]:
        raise InputError(
            f"{path}: {others[0]!r} is a piece that is user-defined, unused or a byte, which cannot be carried over"
        )
    entries = [
        (text, scores[text]) if text in scores else (text if text in plain else ELSEWHERE + text, 0.0)
        for text in sorted(vocabulary, key=vocabulary.__getitem__)
    ]
    if lacking := [(text, score) for text, score in scores.items() if text not in vocabulary]:
        entries += [(PAST_THE_END, 0.0), *lacking]
    with one_line_errors(path, f"it is no {model.kind} model"):
        backend = _backend(model, entries, vocabulary[special.unknown])
        backend.decoder = decoders.Sequence(
            [
                decoders.Replace(ELSEWHERE, ""),
                decoders.Metaspace(replacement=SPACE, prepend_scheme="always" if model.adds_space else "never"),
            ]
        )
    backend.add_special_tokens([AddedToken(name, normalized=False) for name in sorted(names | set(meant))])
    return Tokenizer(backend, special, model.content, languages)


def _backend(model: SentencePieceModel, entries: list[tuple[str, float]], unknown: int) -> Backend:
    """Returns a backend that normalises, marks spaces and divides as a model does, with entries of its own: pieces and
    scores, of which one is the unknown piece; spaces divide nothing."""
    if model.kind == "unigram":
        backend = Backend(models.Unigram(entries, unknown, False))
    else:
        numbers = {text: number for number, (text, _) in enumerate(entries)}
        merges = _merges({piece.text: piece.score for piece in model.pieces if piece.kind == NORMAL})
        backend = Backend(models.BPE(vocab=numbers, merges=merges, unk_token=entries[unknown][0], fuse_unk=True))
    backend.normalizer = _normalizer(model)
    backend.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement=SPACE, prepend_scheme="always" if model.adds_space else "never", split=False
    )
    return backend


def _normalizer(model: SentencePieceModel) -> normalizers.Normalizer:
    steps: list[normalizers.Normalizer] = [
        normalizers.Replace(Regex(f"[{NONCHARACTERS}]"), "\ufffe")
    ]  # unknown all the same, and none of our marks
    if model.character_map:
        # The library looks up a base with all its marks or each alone, where SentencePiece finds any sequence; so they
        # are composed before it, and the forms of half-width letters after it.
        composed = [normalizers.NFC()] if model.rules in COMPOSING else []
        steps += [*composed, normalizers.Precompiled(model.character_map), *composed]
    if model.joins_spaces:
        steps += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Replace(Regex("^ | $"), "")]
    elif model.adds_space:  # which the pre-tokenizer does not before a space
        steps.append(normalizers.Replace(LEADING_SPACE, "  "))
    return normalizers.Sequence(steps)


def _piece(content: bytes) -> VocabularyEntry:
    fields = read_fields(content)
    score = struct.unpack("<f", last(fields, 2, bytes(4)))[0]
    if 1 not in fields or not math.isfinite(score):
        raise ValueError(f"a piece without a text, or a score of {score}")
    return VocabularyEntry(last(fields, 1, b"").decode(), score, last(fields, 3, NORMAL))
