"""Details of finished translations: how sure the model was of each token, and which words translate which."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from weakref import WeakKeyDictionary

from torch import nn

from docsegments.orthography.words import word_texts
from transduce.analysis.alignment import SAMPLE, AlignmentHead, InTurn, choose_head, link_words, places_of
from transduce.analysis.look_at_text import linked_words, words_of_output
from transduce.analysis.recorded_attention import record_pass
from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.directions import Direction
from transduce.text.tokenizer import Tokenizer

TOKENS_AT_ONCE = 1024
"""Padded tokens of the longer side of a batch; its probabilities take the vocabulary times as many numbers."""

ENOUGH = 200
"""The least target tokens of a sample after which another one would hardly choose another head."""

RUNNERS_UP = 4
"""The number of runners-up reported for each token."""


@dataclass(frozen=True)
class TokenProbability:
    """A token of an output."""

    token: str
    """The token as the vocabulary spells it; the end token comes last."""
    probability: float
    """The probability of the token, given the source and the tokens before it."""
    runners_up: list[tuple[str, float]] = field(default_factory=list)
    """The most probable other tokens in its place, as the vocabulary spells them, with their probabilities."""


@dataclass(frozen=True)
class Details:
    """Details of one translation."""

    tokens: list[TokenProbability]
    source_words: list[str]
    words: list[str]
    """The words of the translation."""
    word_of_tokens: list[int]
    """The word of each token, counted from 0; the end token belongs to the last."""
    alignment: list[tuple[int, int]] | None
    """Pairs (source word, target word) that go together, counted from 0; None without attention to the source."""

    @staticmethod
    def joined(pieces: Sequence["Details"]) -> "Details":
        """Returns the details of a line that was translated piece by piece."""
        links: list[tuple[int, int]] | None = []
        source_words, words = 0, 0
        word_of_tokens = []
        for piece in pieces:
            if links is None or piece.alignment is None:
                links = None
            else:
                links += [(i + source_words, j + words) for i, j in piece.alignment]
            word_of_tokens += [word + words for word in piece.word_of_tokens]
            source_words, words = source_words + len(piece.source_words), words + len(piece.words)
        return Details(
            [token for piece in pieces for token in piece.tokens],
            [word for piece in pieces for word in piece.source_words],
            [word for piece in pieces for word in piece.words],
            word_of_tokens,
            links,
        )


def details_of(
    bundle: ModelBundle, head: AlignmentHead | None, sources: Sequence[list[int]], targets: Sequence[list[int]]
) -> list[Details]:
    """Returns the details of each pair of token ids, without end tokens; alignments need a head."""
    model = bundle.writer
    of_source, of_target = bundle.tokenizers.source, bundle.tokenizers.target
    results: dict[int, Details] = {}
    for chosen, batch in bundle.batches(sources, targets, TOKENS_AT_ONCE):
        recorded = record_pass(model, batch)
        probabilities = recorded.log_probabilities.gather(2, batch.target_out[..., None])[..., 0].exp()
        best = recorded.log_probabilities.topk(min(RUNNERS_UP + 1, len(of_target)))  # [batch, length, best]
        best_tokens, best_shares = best.indices.tolist(), best.values.exp().tolist()
        for row, i in enumerate(chosen):
            source, target = sources[i], targets[i]
            word_of = words_of_output(of_target, target)
            pieces = of_target.pieces([*target, of_target.eos])
            links = None
            if head is not None:
                positions = places_of(recorded.cross(), head, row, len(source), len(target))
                links = link_words(positions, linked_words(of_source, source), linked_words(of_target, target))
            runners_up = [
                _without(token, of_target, *ranked)
                for token, *ranked in zip([*target, of_target.eos], best_tokens[row], best_shares[row], strict=False)
            ]
            results[i] = Details(
                list(map(TokenProbability, pieces, probabilities[row].tolist(), runners_up)),
                word_texts(of_source.decode(of_source.without_context(source))),
                word_texts(of_target.decode(target)),
                [*word_of, *word_of[-1:]],
                None if links is None else sorted(links),
            )
    return [results[i] for i in range(len(sources))]


def details_of_lines(
    bundle: ModelBundle, sources: Sequence[Sequence[list[int]]], targets: Sequence[Sequence[list[int]]]
) -> list[Details]:
    """Returns the details of lines, given the token ids of their pieces and of the translations, without end tokens."""
    all_sources, all_targets = list(chain(*sources)), list(chain(*targets))
    head = find_head(bundle, all_sources, all_targets) if all_sources else None
    of_pieces = iter(details_of(bundle, head, all_sources, all_targets))
    return [Details.joined([next(of_pieces) for _ in line]) for line in sources]


def _without(
    token: int, tokenizer: Tokenizer, best: Sequence[int], probabilities: Sequence[float]
) -> list[tuple[str, float]]:
    """Returns the best tokens of a position and their probabilities, without the token that is there."""
    others = [(other, share) for other, share in zip(best, probabilities, strict=True) if other != token]
    pieces = tokenizer.pieces([other for other, _ in others])
    return list(zip(pieces, [share for _, share in others], strict=True))[:RUNNERS_UP]


_chosen: "WeakKeyDictionary[nn.Module, dict[Direction, AlignmentHead]]" = WeakKeyDictionary()


def find_head(
    bundle: ModelBundle,
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    in_turn: InTurn = lambda work: work(),
) -> AlignmentHead | None:
    """Returns the head kept with the model, or chosen before, else the best on a sample of pairs; None for a model
    without attention. A head that is chosen on enough text stays; see `choose_head`."""
    if bundle.folder is not None and (kept := AlignmentHead.load(bundle.folder)) is not None:
        return kept
    heads, direction = _chosen.setdefault(bundle.model, {}), Direction(bundle.config.source, bundle.config.target)
    if direction in heads:
        return heads[direction]
    try:
        head = choose_head(bundle, list(zip(sources, targets, strict=True))[:SAMPLE], in_turn)
    except InputError:
        return None
    if sum(map(len, targets[:SAMPLE])) >= ENOUGH:
        heads[direction] = head
    return head
