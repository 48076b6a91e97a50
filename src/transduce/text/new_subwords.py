"""Adds subwords of a new language to a tokenizer that a model was trained with, numbered after all others."""

import heapq
import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, models
from tokenizers import Tokenizer as Backend

from transduce.base.errors import InputError
from transduce.text.new_words import MIN_COUNT, PREFERENCE
from transduce.text.sentencepiece import NORMAL, parse_sentencepiece, with_vocabulary
from transduce.text.sentencepiece_writing import append_pieces
from transduce.text.tokenizer import HIDDEN, SPACE, Tokenizer, Tokenizers
from transduce.text.tokenizer_training import NEVER

LONGEST_RUN = 100
"""The most characters of a run of letters that subwords are learned from at once."""
LONGEST_KEPT = 12
"""The most tokens of a sequence that is kept in other languages' words; longer pieces hardly occur in them."""


@dataclass(frozen=True)
class Subwords:
    """Pieces that a tokenizer lacks, in the order of their learning."""

    former: dict[str, list[int]] = field(default_factory=dict)
    """The tokens that each new piece was divided into before."""
    parts: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The two pieces that each is merged of; none for a character that the vocabulary lacked."""


def learn_subwords(tokenizer: Tokenizer, texts: Iterable[str], count: int, keep: Iterable[str] = ()) -> Subwords:
    """Learns the characters that a text needs, and then merges the most frequent neighbours among the pieces that its
    words are divided into (byte pair encoding, Sennrich et al. 2016, begun where the tokenizer ends).

    Args:
        tokenizer: divides text by bpe or unigram.
        texts: lines of the new language.
        count: the most pieces to learn.
        keep: lines of other languages, whose words stay divided as they are.

    Raises InputError for a tokenizer that divides text in another way.
    """
    _check_can_grow(tokenizer)
    runs = Counter(run for text in texts for run in _runs(tokenizer, text))
    lacking: Counter[str] = Counter()
    divided = []
    for run, times in runs.items():
        pieces = _divide(tokenizer, run)
        if _is_of_word(run[-1]):  # signs are not merged
            divided.append((pieces, times))
        for piece in pieces:
            if _id(tokenizer, piece) is None:
                lacking[piece] += times
    subwords = Subwords()
    for piece, times in sorted(lacking.items(), key=lambda item: (-item[1], item[0])):
        if times >= MIN_COUNT and len(subwords.former) < count:
            subwords.former[piece] = _spelled(tokenizer, piece)
    words = [
        (list(known), times)
        for pieces, times in divided
        for is_known, known in groupby(pieces, lambda piece: _is_known(tokenizer, subwords, piece))
        if is_known
    ]
    _merge(tokenizer, words, count, subwords, _sequences(tokenizer, keep))
    return subwords


@dataclass(frozen=True)
class Extended:
    """Tokenizers with new pieces, and the tokens that these were divided into before, from the first new number on."""

    tokenizers: Tokenizers
    source: list[list[int]]
    target: list[list[int]]


def extend(tokenizers: Tokenizers, learned: tuple[Subwords, Subwords], marks: Mapping[str, str]) -> Extended:
    """Returns tokenizers with the subwords that each side has learned, and then tokens that mark texts.

    Both sides stay one object, or of one numbering, if they are. A piece that the other side has already keeps its
    number. A model of SentencePiece with a vocabulary of its own gets the subwords, too; another's `.model` file is
    left behind.
    """
    source, target = tokenizers.source, tokenizers.target
    if source is target:
        names = _new_names(source, learned[:1])
        both, former = _extend(source, learned[0], names, marks), _former_of(names, learned[:1])
        return Extended(Tokenizers(both, both), former, former)
    of_sides = [learned, learned] if are_numbered_alike(tokenizers) else [learned[:1], learned[1:]]
    all_names = [_new_names(side, of) for side, of in zip((source, target), of_sides, strict=True)]
    formers = [_former_of(names, of) for names, of in zip(all_names, of_sides, strict=True)]
    sides = zip((source, target), learned, all_names, strict=True)
    return Extended(Tokenizers(*(_extend(side, of, names, marks) for side, of, names in sides)), *formers)


def _new_names(tokenizer: Tokenizer, learned: Sequence[Subwords]) -> list[str]:
    known = set(tokenizer.pieces(range(len(tokenizer))))
    return [
        name for name in dict.fromkeys(name for subwords in learned for name in subwords.former) if name not in known
    ]


def _former_of(names: Sequence[str], learned: Sequence[Subwords]) -> list[list[int]]:
    return [next(subwords.former[name] for subwords in learned if name in subwords.former) for name in names]


def are_numbered_alike(tokenizers: Tokenizers) -> bool:
    """Returns True if both sides have the same pieces under the same numbers, as MarianMT's have."""
    source, target = tokenizers.source, tokenizers.target
    return len(source) == len(target) and source.pieces(range(len(source))) == target.pieces(range(len(target)))


def _check_can_grow(tokenizer: Tokenizer) -> None:
    model = tokenizer.backend.model
    if gaps := tokenizer.pieces(range(len(tokenizer))).count(""):
        raise InputError(f"the model's tokenizer leaves {gaps:,} of its {len(tokenizer):,} ids without a token")
    if tokenizer.backend.pre_tokenizer is None or not isinstance(model, models.BPE | models.Unigram):
        raise InputError(
            f"the model's tokenizer ({type(model).__name__}) divides text by neither bpe nor unigram, so that no "
            "subwords can be added to it"
        )


def _runs(tokenizer: Tokenizer, text: str) -> Iterator[str]:
    """Yields runs of letters, with the mark of a space before them, and runs of other characters."""
    normalizer, pre_tokenizer = tokenizer.backend.normalizer, tokenizer.backend.pre_tokenizer
    assert pre_tokenizer is not None
    normal = text if normalizer is None else normalizer.normalize_str(text)
    for word, _ in pre_tokenizer.pre_tokenize_str(normal):
        for part in word.replace(SPACE, f" {SPACE}").split():
            for _, run in groupby(part, _is_of_word):
                characters = "".join(run)
                yield from (characters[at : at + LONGEST_RUN] for at in range(0, len(characters), LONGEST_RUN))


def _is_of_word(character: str) -> bool:
    return character == SPACE or unicodedata.category(character)[0] in "LM"


def _divide(tokenizer: Tokenizer, run: str) -> list[str]:
    """Returns the pieces of a run; a character that the vocabulary lacks is a piece, too."""
    pieces: list[str] = []
    for is_known, part in groupby(run, lambda character: tokenizer.backend.token_to_id(character) is not None):
        text = "".join(part)
        pieces += [token.value for token in tokenizer.backend.model.tokenize(text)] if is_known else text
    return pieces


def _id(tokenizer: Tokenizer, piece: str) -> int | None:
    """Returns the number of a piece; None if the model has no row for it."""
    token: int | None = tokenizer.backend.token_to_id(piece)
    return token if token is not None and token < len(tokenizer) else None


def _is_known(tokenizer: Tokenizer, subwords: Subwords, piece: str) -> bool:
    return piece in subwords.former or _id(tokenizer, piece) is not None


def _spelled(tokenizer: Tokenizer, piece: str) -> list[int]:
    """Returns the tokens of a piece that the vocabulary lacks: bytes, or the unknown token."""
    before = "a"
    return tokenizer.encode(before + piece.replace(SPACE, " "))[len(tokenizer.encode(before)) :] or [tokenizer.unknown]


def _sequences(tokenizer: Tokenizer, texts: Iterable[str]) -> set[tuple[int, ...]]:
    """Returns all short sequences of tokens within the words of a text."""
    runs = dict.fromkeys(run for text in texts for run in _runs(tokenizer, text) if _is_of_word(run[-1]))
    sequences: set[tuple[int, ...]] = set()
    for run in runs:
        ids = [number for piece in _divide(tokenizer, run) if (number := _id(tokenizer, piece)) is not None]
        for length in range(2, min(len(ids), LONGEST_KEPT) + 1):
            sequences |= {tuple(ids[at : at + length]) for at in range(len(ids) - length + 1)}
    return sequences


def _merge(
    tokenizer: Tokenizer,
    words: Sequence[tuple[list[str], int]],
    count: int,
    subwords: Subwords,
    kept: Collection[tuple[int, ...]],
) -> None:
    """Adds to `subwords` the most frequent pairs of neighbours, until there are `count`; none that joins a sequence of
    tokens that is to be kept."""
    counts: Counter[tuple[str, str]] = Counter()
    places: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for number, (pieces, times) in enumerate(words):
        for pair in pairwise(pieces):
            counts[pair] += times
            places[pair].add(number)
    waiting = [(-times, pair) for pair, times in counts.items()]
    heapq.heapify(waiting)
    while waiting and len(subwords.former) < count:
        times, pair = heapq.heappop(waiting)
        if -times != counts[pair]:  # an older count
            continue
        if -times < MIN_COUNT:
            return
        piece = "".join(pair)
        if tokenizer.backend.token_to_id(piece) is not None or piece in subwords.former:
            continue  # a piece that the tokenizer finds less probable than its parts
        former = [token for part in pair for token in _former(tokenizer, subwords, part)]
        if tuple(former) in kept:
            continue
        subwords.former[piece] = former
        subwords.parts[piece] = pair
        changed: set[tuple[str, str]] = set()
        for number in places.pop(pair):
            pieces, of_word = words[number]
            before = Counter(pairwise(pieces))
            pieces[:] = _merged(pieces, pair)
            after = Counter(pairwise(pieces))
            for other in before.keys() | after.keys():
                if before[other] != after[other]:
                    counts[other] += of_word * (after[other] - before[other])
                    changed.add(other)
                if after[other]:
                    places[other].add(number)
        for other in changed:
            if counts[other] > 0:
                heapq.heappush(waiting, (-counts[other], other))


def _merged(pieces: Sequence[str], pair: tuple[str, str]) -> list[str]:
    merged: list[str] = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def _former(tokenizer: Tokenizer, subwords: Subwords, piece: str) -> list[int]:
    token = _id(tokenizer, piece)
    return subwords.former[piece] if token is None else [token]


def _extend(tokenizer: Tokenizer, subwords: Subwords, names: Sequence[str], marks: Mapping[str, str]) -> Tokenizer:
    """Returns a tokenizer that finds the subwords that it has learned, and numbers these names and the marks."""
    known_names = set(tokenizer.pieces(range(len(tokenizer))))
    tokens = [token for token in marks.values() if token not in known_names]
    if tokenizer.sentencepiece is not None and tokenizer.named is not None:
        pieces = tokenizer.pieces(range(len(tokenizer)))
        model = parse_sentencepiece(tokenizer.sentencepiece)
        known = {piece.text: piece.score for piece in model.pieces if piece.kind == NORMAL}
        scores = {piece: score for piece, score in _scores(subwords, known, model.kind).items() if piece not in known}
        larger = parse_sentencepiece(append_pieces(tokenizer.sentencepiece, scores))
        numbers = {piece: number for number, piece in enumerate([*pieces, *names, *tokens])}
        spelled = {token.content for token in tokenizer.backend.get_added_tokens_decoder().values()}
        meant = marks.values() if spelled & set(marks.values()) else ()
        return with_vocabulary(Path("the tokenizer"), larger, numbers, tokenizer.named, marks, meant)
    tree = json.loads(tokenizer.backend.to_str())
    pieces = [tokenizer.backend.id_to_token(token) or "" for token in range(len(tokenizer))]
    if tokenizer.named is None and tree["model"]["type"] == "Unigram":  # which would find them in texts
        size = len(tree["model"]["vocab"])
        pieces[size:], tokens = ([HIDDEN + name for name in each] for each in (pieces[size:], tokens))
        tree["added_tokens"] = [token for token in tree["added_tokens"] if token["id"] < size]
    _add(tree["model"], pieces, subwords, names, tokens)
    backend = Backend.from_str(json.dumps(tree))
    if tokenizer.named is not None or tree["model"]["type"] == "BPE":
        backend.add_special_tokens([AddedToken(token, normalized=False) for token in tokens])
    return tokenizer.with_backend(backend, marks)


def _scores(subwords: Subwords, known: Mapping[str, float], kind: str) -> dict[str, float]:
    """Returns the scores by which a model of SentencePiece prefers each new piece to its parts."""
    least = min(known.values(), default=0.0)
    scores: dict[str, float] = {}
    sums: dict[str, float] = {}  # of the old pieces that each is made of
    for number, piece in enumerate(subwords.former, 1):
        parts = subwords.parts.get(piece)
        sums[piece] = known.get(piece, least) if parts is None else sum(sums.get(p, known.get(p, least)) for p in parts)
        if kind == "bpe":  # merged after all others, in this order
            scores[piece] = least - number
        else:
            scores[piece] = sums[piece] if parts is None else sums[piece] * (1 - PREFERENCE)
    return scores


def _add(
    model: dict[str, Any], pieces: Sequence[str], subwords: Subwords, names: Sequence[str], tokens: Sequence[str]
) -> None:
    """Adds the subwords of these names, and tokens that no text means, to a model of the tokenizers library, numbered
    after all pieces.

    Pieces that were beside its vocabulary come into it, so that they keep their numbers.
    """
    vocabulary = model["vocab"]
    if model["type"] == "Unigram":
        vocabulary += [[piece, NEVER] for piece in pieces[len(vocabulary) :]]
        known = {piece: score for piece, score in vocabulary if score > NEVER}
        scores = _scores(subwords, known, "unigram")
        vocabulary += [[name, scores[name]] for name in names]
        vocabulary += [[token, NEVER] for token in tokens]
        return
    vocabulary |= {piece: number for number, piece in enumerate([*pieces, *names, *tokens])}
    model["merges"] += [list(pair) for pair in subwords.parts.values()]
