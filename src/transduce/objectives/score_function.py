"""Loss of hard attention: the score-function (REINFORCE) gradient of the sampled source positions."""

from jaxtyping import Float
from torch import Tensor

from transduce.shapes import Mask

KEPT = 0.9  # of the baseline, each time (Xu et al. 2015, section 4.1)


def score_function_loss(
    sampled_log_probabilities: Float[Tensor, "rows time"],
    log_probabilities: Float[Tensor, "rows time"],
    is_real: Mask,
    carried: dict[str, Tensor] | None,
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """A loss, summed over real tokens, whose gradient makes those draws likelier that predicted their token well.

    It is the log-probability of each draw, `sampled_log_probabilities`, times what the target token's log-probability,
    which has no gradient, has over a baseline, its moving average over batches (Williams 1992; Xu et al. 2015, eq. 11
    and 12). A draw matters to its own token alone, since the context enters no later step. The baseline is what one
    batch hands the next.
    """
    mean = log_probabilities[is_real].mean()
    baseline = carried["baseline"] if carried else mean
    advantage = (log_probabilities - baseline) * is_real
    return -(advantage * sampled_log_probabilities).sum(), {"baseline": KEPT * baseline + (1 - KEPT) * mean}
