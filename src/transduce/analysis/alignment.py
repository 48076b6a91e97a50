"""Word alignment from the attention of a decoder to its source.

One head of one layer aligns: the one that agrees best with occlusion on a sample of sentences. Some heads attend to
the source of a token at the step that writes it, others at the next, which reads it (Chen et al. 2020); both are tried.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
import torch
from jaxtyping import Float
from torch import Tensor

from transduce.analysis.attribution import occlusion
from transduce.analysis.recorded_attention import RecordedAttention, record_pass
from transduce.base.errors import CheckpointError, InputError
from transduce.base.ranges import NonNegativeInt
from transduce.base.verification import COPY_AGAIN
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.batch import make_batch
from transduce.models.scoring import fits

FILE = "alignment.json"
SAMPLE = 50  # sentences that a head is chosen on
LONGEST = 40
"""The tokens of each side of a sentence that a head is chosen on; of a longer one its beginning counts."""

InTurn = Callable[[Callable[[], Tensor]], Tensor]
"""Runs work with a model when it is free."""

Links = set[tuple[int, int]]
"""Pairs of source and target tokens that belong together, counted from 0."""

NO_WORDS = range(0)
"""The words of a token that belongs to none."""

Symmetrization = Literal["intersection", "union", "grow-diag"]


class AlignmentHead(msgspec.Struct, frozen=True):
    """The attention head whose weights align target words with source words."""

    layer: NonNegativeInt
    """The decoder layer, counted from 0."""
    head: NonNegativeInt
    shift: Literal[0, 1]
    """1 if the step that reads a target token aligns it, 0 if the step that writes it does."""
    agreement: float
    """The share of target tokens that it aligns with the source token whose absence costs them most."""

    def save(self, folder: Path) -> None:
        """Saves the head with the model in a folder."""
        (folder / FILE).write_bytes(msgspec.json.encode(self))

    @staticmethod
    def load(folder: Path) -> "AlignmentHead | None":
        """Returns the head kept with the model, None if there is none; raises CheckpointError for a damaged file."""
        try:
            return msgspec.json.decode((folder / FILE).read_bytes(), type=AlignmentHead)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError, RecursionError, msgspec.DecodeError):
            raise CheckpointError(f"{folder / FILE} is damaged; {COPY_AGAIN}, or delete it") from None


def choose_head(
    bundle: ModelBundle, pairs: Iterable[tuple[list[int], list[int]]], in_turn: InTurn = lambda work: work()
) -> AlignmentHead:
    """Returns the head that agrees best with occlusion on pairs of token ids; InputError without cross-attention.

    A pair takes as many passes as it has source tokens, at most LONGEST. `in_turn` runs the work on each pair.
    """
    model = bundle.writer
    hits: Tensor | float = 0.0
    tokens = 0
    for source, target in ((source[:LONGEST], target[:LONGEST]) for source, target in pairs):
        if not source or not target or not fits(model, source, target):
            continue
        hits = hits + in_turn(partial(_hits, bundle, source, target))
        tokens += len(target)
    if not tokens:
        raise InputError(
            "there are no pairs to choose an alignment head on: with text on both sides, and short enough for the model"
        )
    assert isinstance(hits, Tensor)
    best = int(hits.argmax())
    shift, layer, head = (int(index) for index in torch.unravel_index(torch.tensor(best), hits.shape))
    return AlignmentHead(layer, head, 1 if shift else 0, int(hits.flatten()[best]) / tokens)


def _hits(bundle: ModelBundle, source: list[int], target: list[int]) -> Float[Tensor, "shifts layers heads"]:
    """Returns how many target tokens of a pair each head aligns as occlusion does."""
    batch = make_batch([source], [target], bundle.special).to(bundle.device)
    maps = record_pass(bundle.writer, batch).cross()
    if not maps:
        raise InputError("an alignment needs a model with attention to its source, and this one has none")
    hidden = occlusion(bundle.writer, batch)[:-1, :-1].argmax(1)  # [target tokens]; ends align with nothing
    aligned = torch.stack([_aligned(maps, shift) for shift in (0, 1)])  # [shifts, layers, heads, target tokens]
    return (aligned == hidden).sum(-1)


def places_of(
    maps: Sequence[RecordedAttention], head: AlignmentHead, row: int, source_length: int, target_length: int
) -> list[int | None]:
    """Returns the source position aligned with each target token of a row; None where attention is at the source's end.

    Lengths are without the ends. Raises InputError for a head that the model has not.
    """
    if head.layer >= len(maps) or head.head >= maps[head.layer].weights.shape[1]:
        raise InputError(
            f"the model has no head {head.head} in a layer {head.layer} that attends to its source; delete {FILE} in "
            "its folder, so that one is chosen anew"
        )
    weights = maps[head.layer].weights[row, head.head]  # [targets and end, sources and end]
    positions = weights[head.shift : target_length + head.shift].argmax(-1).tolist()
    return [position if position < source_length else None for position in positions]


def link_words(positions: Sequence[int | None], source_words: Sequence[range], target_words: Sequence[range]) -> Links:
    """Returns links of words from the positions of tokens, given each token's words; a token of none links nothing."""
    pairs = [(source_words[i], words) for i, words in zip(positions, target_words, strict=True) if i is not None]
    return {(source, target) for sources, targets in pairs for source in sources for target in targets}


def without_punctuation(words: Sequence[range], pieces: Sequence[str]) -> list[range]:
    """Returns the words of each token, but none for a token without letters and digits that is part of a word with
    some: the full stop of `dog.` does not align the dog."""
    are_spoken = [any(map(str.isalnum, piece)) for piece in pieces]
    spoken = {word for numbers, is_spoken in zip(words, are_spoken, strict=True) if is_spoken for word in numbers}
    return [
        NO_WORDS if not is_spoken and spoken.issuperset(numbers) else numbers
        for numbers, is_spoken in zip(words, are_spoken, strict=True)
    ]


def symmetrize(forward: Links, backward: Links, method: Symmetrization) -> Links:
    """Merges two alignments, both as source and target positions of the first (Och and Ney 2003).

    grow-diag begins with the intersection and adds links of the union beside its links, where a word on either side has
    no link yet (Koehn et al. 2003).
    """
    if method == "intersection":
        return forward & backward
    union = forward | backward
    if method == "union":
        return union
    grown = forward & backward
    sources, targets = {i for i, _ in grown}, {j for _, j in grown}
    while True:
        before = len(grown)
        beside = {(i + di, j + dj) for i, j in grown for di in (-1, 0, 1) for dj in (-1, 0, 1)}
        for i, j in sorted(beside & union - grown):
            if i not in sources or j not in targets:
                grown.add((i, j))
                sources.add(i)
                targets.add(j)
        if len(grown) == before:
            return grown


def pharaoh(links: Links) -> str:
    """Writes links as `0-0 1-2`, in order."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def alignment_error_rate(predicted: Iterable[Links], sure: Iterable[Links], possible: Iterable[Links]) -> float:
    """Returns the AER (Och and Ney 2003) of several sentences, 0 to 1; the sure links are among the possible ones."""
    hits = links = 0
    for of_predicted, of_sure, of_possible in zip(predicted, sure, possible, strict=True):
        hits += len(of_predicted & of_sure) + len(of_predicted & of_possible)
        links += len(of_predicted) + len(of_sure)
    return 1 - hits / links if links else 0.0


def _aligned(maps: Sequence[RecordedAttention], shift: int) -> Float[Tensor, "layers heads targets"]:
    """Returns the source position of each target token of a single pair, for each layer and head, without both ends."""
    of_layers = torch.stack([layer.weights[0] for layer in maps])  # [layers, heads, targets and end, sources and end]
    time = of_layers.shape[2] - 1
    return of_layers[:, :, shift : time + shift, :-1].argmax(-1).cpu()
