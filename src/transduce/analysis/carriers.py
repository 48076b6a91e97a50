"""Finds the layers and heads through which a word of the input decided what a model wrote.

Patching: a part's values come from a run in which the word is hidden, all else from the plain run (Vig et al. 2020).
Direct contributions: where the decoder's layers add to one stream, the share of each in the difference of logits, with
the scale of the last norm held (Elhage et al. 2021).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transduce.analysis.contrast import Decision, InputWord
from transduce.analysis.interventions import Recording, intervene, places

PARTS_AT_ONCE = 64
"""The most parts that are patched in one pass, a row each."""
PARTS = (".heads", ".feed_forward", ".state")
"""The ends of the names of places that are patched."""
LAST = -1
"""The token from which the decision is made."""


@dataclass(frozen=True)
class Carrier:
    """A part of the model, and what it carries of a word."""

    place: str
    """The name of its place, such as `decoder.layers.0.cross_attention.heads`; see `transduce.places`."""
    head: int | None
    """The head, counted from 0; None for a part without heads."""
    patched: float
    """The nats by which the difference falls when this part's values are those of the run without the word."""
    direct: float | None
    """The nats that this part adds to the difference itself; None in an encoder, and where layers do not add up."""

    def __str__(self) -> str:
        """Returns a name such as `head 3 of the cross-attention in decoder layer 1`."""
        side, *_, layer, part = ["", *self.place.removesuffix(".heads").split(".")]
        if not layer.isdigit():  # of a recurrent model, whose attention to the source is in no layer
            return f"the {part} of the {layer or side}"
        side = self.place.partition(".")[0]
        kind = "self-attention" if part == "attention" else part.replace("_", "-")
        of_head = "" if self.head is None else f"head {self.head + 1} of "
        return f"{of_head}the {kind} in {side} layer {int(layer) + 1}"


def carriers(decision: Decision, word: InputWord) -> list[Carrier]:
    """Returns what each head and each other part carries of a word, the largest first."""
    model = decision.bundle.writer
    known = {name: place for name, place in places(model).items() if name.endswith(PARTS)}
    with intervene(model) as edit:
        without = edit.record(*known)
        decision.logits(decision.without(word))
    with intervene(model) as edit:
        plain = edit.record()
        difference = decision.difference(decision.without())
    parts = [(name, head) for name, place in known.items() for head in range(place.heads or 1)]
    falls = []
    for start in range(0, len(parts), PARTS_AT_ONCE):
        some = parts[start : start + PARTS_AT_ONCE]
        with intervene(model) as edit:
            for row, (name, head) in enumerate(some):
                edit.patch(name, without, heads=head if known[name].heads else None, rows=row)
            falls.append(difference - decision.difference(decision.without().expand(len(some), -1)))
    direct = direct_contributions(decision, plain, parts)
    found = [
        Carrier(name, head if known[name].heads else None, fall, own)
        for (name, head), fall, own in zip(parts, torch.cat(falls)[:, 0].tolist(), direct, strict=True)
    ]
    return sorted(found, key=lambda each: -each.patched)


@torch.no_grad()
def direct_contributions(decision: Decision, plain: Recording, parts: Sequence[tuple[str, int]]) -> list[float | None]:
    """Returns what some parts, and heads of them, add to the difference of logits; None for what is not added to the
    stream that the output layer reads.

    Args:
        decision: the step.
        plain: all values of the pass that decided.
        parts: names of places, and the head that is meant where they have heads.
    """
    decoder, known = decision.bundle.writer.decoder, places(decision.bundle.writer)
    norm = getattr(decoder, "norm", None)
    of_last = f"decoder.layers.{len(list(decoder.layers)) - 1}.after"
    if not isinstance(norm, nn.LayerNorm | nn.RMSNorm) or not isinstance(decoder.output, nn.Linear):
        return [None] * len(parts)

    def centred(vector: Tensor) -> Tensor:
        return vector - vector.mean() if isinstance(norm, nn.LayerNorm) else vector

    scale = (centred(plain[of_last][0, LAST]).square().mean() + (norm.eps or 0)).sqrt()
    weights = decoder.output.weight
    direction = (weights[decision.token] - weights[decision.other]) * norm.weight / scale  # [dim]
    found: list[float | None] = []
    for name, head in parts:
        if not name.startswith("decoder."):
            found.append(None)
            continue
        value = plain[name][0, LAST]  # [heads, width] or [dim]
        if name.endswith(".heads"):
            of_head, project = torch.zeros_like(value), known[name].module
            of_head[head] = value[head]
            value = project(of_head.flatten()) - project(torch.zeros_like(of_head).flatten())
        found.append(float(centred(value) @ direction))
    return found
