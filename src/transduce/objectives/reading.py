"""Teacher forcing and scheduled sampling: run a decoder over a target in training."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.models.interface import State
from transduce.models.projecting import ProjectingDecoder
from transduce.nn.state import Sampler
from transduce.shapes import Hidden, Tokens


@dataclass(frozen=True)
class Reading:
    """What the output layer predicts each target token from, and the log-probabilities of what the model drew for each,
    if it draws."""

    hidden: Hidden
    sampled_log_probabilities: Float[Tensor, "rows time"] | None


def read_target(decoder: ProjectingDecoder[State], state: State, target_in: Tokens, teacher_forcing: float) -> Reading:
    """One call with all true tokens; where the rate of these is below 1, a call a token.

    Then each token but the first is the true one with that probability, and else drawn from what the model itself
    predicts (Bengio et al. 2015).
    """
    if teacher_forcing >= 1:
        hidden, state = decoder.read(target_in, state)
        return Reading(hidden, _sampled_by(state))
    token, steps = target_in[:, :1], []
    for true in [*target_in[:, 1:].split(1, 1), None]:
        hidden, state = decoder.read(token, state)
        steps.append(Reading(hidden, _sampled_by(state)))
        if true is not None:
            with torch.no_grad():
                own = decoder.output(hidden[:, -1]).float().softmax(-1).multinomial(1)
            is_true = torch.rand(true.shape, device=true.device) < teacher_forcing
            token = torch.where(is_true, true, own)
    each = [step.sampled_log_probabilities for step in steps]
    sampled = [of_step for of_step in each if of_step is not None]
    return Reading(torch.cat([step.hidden for step in steps], 1), torch.cat(sampled, 1) if sampled else None)


def _sampled_by(state: object) -> Tensor | None:
    return state.sampled_log_probabilities if isinstance(state, Sampler) else None
