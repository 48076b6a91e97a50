"""Learning to draw well: the score-function gradient, for models whose attention draws a source position."""

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.objectives.reading import Reading
from transduce.shapes import Mask, Tokens

KEPT = 0.9  # of the baseline, each time (Xu et al. 2015, section 4.1)


def score_function_loss(
    reading: Reading, target_out: Tokens, is_real: Mask, carried: dict[str, Tensor] | None
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """A loss, summed over real tokens, whose gradient makes those draws likelier that predicted their token well.

    It is the log-probability of each draw times what the target token's log-probability has over a baseline, its moving
    average over batches (Williams 1992; Xu et al. 2015, eq. 11 and 12). A draw matters to its own token alone, since
    the context enters no later step. The baseline is what one batch hands the next.
    """
    assert reading.choices is not None, "only of a model that draws"
    with torch.no_grad():
        log_probabilities = reading.logits.float().log_softmax(-1)
        reward = log_probabilities.gather(-1, target_out[..., None])[..., 0]  # [rows, time]
        mean = reward[is_real].mean()
        baseline = carried["baseline"] if carried else mean
        advantage = (reward - baseline) * is_real
    return -(advantage * reading.choices).sum(), {"baseline": KEPT * baseline + (1 - KEPT) * mean}
