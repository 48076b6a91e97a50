"""A decoder made to read a target in training: the true tokens, or also its own."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.models.interface import State
from transduce.models.projecting import ProjectingDecoder
from transduce.nn.state import Chooser
from transduce.shapes import Hidden, Tokens


@dataclass(frozen=True)
class Reading:
    """What the output layer predicts each target token from, and the log-probabilities of what the model drew for each,
    if it draws."""

    hidden: Hidden
    choices: Float[Tensor, "rows time"] | None


def read_target(decoder: ProjectingDecoder[State], state: State, target_in: Tokens, teacher_forcing: float) -> Reading:
    """One call with all true tokens; where the rate of these is below 1, a call a token.

    Then each token but the first is the true one with that probability, and else drawn from what the model itself
    predicts (Bengio et al. 2015).
    """
    if teacher_forcing >= 1:
        hidden, state = decoder.read(target_in, state)
        return Reading(hidden, _choices_of(state))
    token, steps = target_in[:, :1], []
    for true in [*target_in[:, 1:].split(1, 1), None]:
        hidden, state = decoder.read(token, state)
        steps.append(Reading(hidden, _choices_of(state)))
        if true is not None:
            with torch.no_grad():
                own = decoder.output(hidden[:, -1]).float().softmax(-1).multinomial(1)
            is_true = torch.rand(true.shape, device=true.device) < teacher_forcing
            token = torch.where(is_true, true, own)
    choices = [step.choices for step in steps if step.choices is not None]
    return Reading(torch.cat([step.hidden for step in steps], 1), torch.cat(choices, 1) if choices else None)


def _choices_of(state: object) -> Tensor | None:
    return state.choices if isinstance(state, Chooser) else None
