"""Cross-entropy of an output layer, with label smoothing; the logits of a batch never exist all at once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from transduce.nn.adaptive import AdaptiveOutput

PROJECTED_AT_ONCE = 1024  # tokens whose logits exist at the same time, enough to keep the matrix products large
LOGITS_OF_GPU = 2**27  # logits that exist at the same time on a GPU, where each chunk of tokens costs launches
NORMALIZED_AT_ONCE = 128  # tokens whose logits have float32 copies on a CPU, few enough to stay near the cache


@dataclass(frozen=True)
class CrossEntropy:
    """The loss that training descends, and the log-probabilities that it is made of."""

    smoothed: Float[Tensor, ""]
    """Summed over real tokens, in nats."""
    log_probabilities: Float[Tensor, "*positions"]
    """Log-probability of each target token, in float32, without gradients; 0 at padding."""

    @property
    def plain(self) -> Float[Tensor, ""]:
        """The sum without smoothing, which is what is reported."""
        return -self.log_probabilities.sum()


def cross_entropy(
    hidden: Float[Tensor, "*positions dim"],
    output: nn.Linear | AdaptiveOutput,
    target: Int[Tensor, "*positions"],
    places: Int[Tensor, " tokens"] | None,
    smoothing: float = 0.0,
) -> CrossEntropy:
    """Sum of -log p(target) over real positions, where p is the softmax of `output(hidden)`; `places` are the indices
    of these among the flattened positions, None where all are real.

    Smoothing spreads that share of the target's probability over the whole vocabulary (Szegedy et al. 2016); an
    adaptive softmax takes none. Padding is not projected.
    """
    if isinstance(output, AdaptiveOutput):
        assert not smoothing, "an adaptive softmax is not smoothed: callers check it"
        smoothed, of_real = _adaptive(_chosen(hidden, places, 1), output, _chosen(target, places, 0))
    else:
        smoothed, of_real = _CrossEntropy.apply(  # type: ignore[no-untyped-call]
            _chosen(hidden, places, 1),
            output.weight,
            output.bias,
            _chosen(target, places, 0),
            smoothing,
            torch.is_grad_enabled(),
        )
    return CrossEntropy(smoothed, _put_back(of_real, places, target))


def _chosen(tensor: Tensor, places: Tensor | None, kept: int) -> Tensor:
    """Returns the rows of some positions; all axes but the last `kept` are positions."""
    flat = tensor.flatten(0, tensor.dim() - 1 - kept)
    return flat if places is None else flat.index_select(0, places)


def _put_back(of_real: Tensor, places: Tensor | None, target: Tensor) -> Tensor:
    """Returns the numbers of real positions in the shape of the targets, 0 elsewhere."""
    if places is None:
        return of_real.view(target.shape)
    return of_real.new_zeros(target.numel()).index_copy(0, places, of_real).view(target.shape)


@torch.no_grad()
def log_probabilities(
    hidden: Float[Tensor, "*positions dim"],
    output: Callable[[Tensor], Tensor],
    target: Int[Tensor, "*positions"],
    is_real: Bool[Tensor, "*positions"],
) -> Float[Tensor, "*positions"]:
    """log p(target) in float32, where p is the softmax of `output(hidden)`; 0 at padding, which is not projected."""
    found = torch.zeros(target.shape, dtype=torch.float32, device=target.device)
    if isinstance(output, AdaptiveOutput):
        found[is_real] = _adaptive(hidden[is_real], output, target[is_real])[1]
        return found
    of_real = [found.new_zeros(0)]
    hidden, target = hidden[is_real], target[is_real]
    for rows, chosen in zip(hidden.split(PROJECTED_AT_ONCE), target.split(PROJECTED_AT_ONCE), strict=True):
        logits = output(rows)  # [tokens, vocabulary]
        for part, of_part in _normalized_at_once(logits, chosen):
            of_real.append(_normalize(part, of_part, 0.0, False)[1])
    found[is_real] = torch.cat(of_real)
    return found


def _adaptive(hidden: Tensor, output: AdaptiveOutput, target: Tensor) -> tuple[Tensor, Tensor]:
    """The summed loss of an adaptive softmax, and each target's log-probability; logits of a cluster of rare tokens are
    made for the targets within it alone."""
    learns = torch.is_grad_enabled()
    total, found = _CrossEntropy.apply(  # type: ignore[no-untyped-call]
        output.projected(hidden, 0), *output.head, output.head_target(target), 0.0, learns
    )
    for cluster, (start, stop) in enumerate(output.bounds[1:], 1):
        (places,) = torch.where((target >= start) & (target < stop))
        if len(places):
            projected = output.projected(hidden[places], cluster)
            loss, within = _CrossEntropy.apply(  # type: ignore[no-untyped-call]
                projected, *output.tail(cluster), target[places] - start, 0.0, learns
            )
            total, found = total + loss, found.index_add(0, places, within)
    return total, found


class _CrossEntropy(torch.autograd.Function):
    """All gradients are made beside the loss, from a chunk of logits that its own gradient then replaces."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        target: Tensor,
        smoothing: float,
        is_learning: bool,
    ) -> tuple[Tensor, Tensor]:
        _, weight_learns, bias_learns, *_ = ctx.needs_input_grad
        gradients = _Gradients(hidden, weight, weight_learns, bias_learns)
        smoothed, log_probabilities = [hidden.new_zeros((), dtype=torch.float32)], [hidden.new_zeros(0).float()]
        at_once = _projected_at_once(weight)
        for start in range(0, len(hidden), at_once):
            rows = slice(start, start + at_once)
            logits = functional.linear(hidden[rows], weight, bias)  # [tokens, vocabulary]
            for part, chosen in _normalized_at_once(logits, target[rows]):
                losses, found = _normalize(part, chosen, smoothing, is_learning)
                smoothed.append(losses.sum())
                log_probabilities.append(found)
            if is_learning:
                gradients.add(rows, logits)
        ctx.save_for_backward(*gradients.of_each())
        of_real = torch.cat(log_probabilities)
        ctx.mark_non_differentiable(of_real)
        return torch.stack(smoothed).sum(), of_real

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = (None if one is None else one * scale.to(one.dtype) for one in ctx.saved_tensors)
        return *gradients, None, None, None  # of hidden, weight and bias alone


class _Gradients:
    """The sums' gradients by what the logits are made of, in float32 where several chunks add up."""

    def __init__(self, hidden: Tensor, weight: Tensor, weight_learns: bool, bias_learns: bool) -> None:
        self._hidden, self._weight = hidden, weight
        self._weight_learns, self._bias_learns = weight_learns, bias_learns
        self._by_hidden = torch.empty_like(hidden)
        self._by_weight: Tensor | None = None
        self._by_bias: Tensor | None = None

    def add(self, rows: slice, by_logits: Tensor) -> None:
        """Adds the gradients of a chunk of rows."""
        torch.mm(by_logits, self._weight, out=self._by_hidden[rows])
        if self._weight_learns:
            self._by_weight = _plus(self._by_weight, by_logits.t() @ self._hidden[rows])
        if self._bias_learns:
            self._by_bias = _plus(self._by_bias, by_logits.sum(0))

    def of_each(self) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Gradients by hidden, weight and bias, in their type; None for what does not learn."""
        dtype = self._weight.dtype
        by_weight, by_bias = (None if one is None else one.to(dtype) for one in (self._by_weight, self._by_bias))
        return self._by_hidden, by_weight, by_bias


def _plus(total: Tensor | None, part: Tensor) -> Tensor:
    return part if total is None else total.float().add_(part)


def _projected_at_once(weight: Tensor) -> int:
    """Tokens whose logits, as many as the weight has rows, exist at the same time."""
    if weight.device.type == "cpu":
        return PROJECTED_AT_ONCE
    return max(LOGITS_OF_GPU // len(weight) // PROJECTED_AT_ONCE, 1) * PROJECTED_AT_ONCE


def _normalized_at_once(logits: Tensor, target: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Some logits at a time, and their targets, [tokens, 1]."""
    at_once = NORMALIZED_AT_ONCE if logits.device.type == "cpu" else max(len(logits), 1)
    return zip(logits.split(at_once), target[:, None].split(at_once), strict=True)


def _normalize(
    logits: Float[Tensor, "tokens vocabulary"], chosen: Int[Tensor, "tokens 1"], smoothing: float, is_learning: bool
) -> tuple[Float[Tensor, " tokens"], Float[Tensor, " tokens"]]:
    """Smoothed losses and the target's log-probabilities; the logits become the losses' gradient, if one is asked for:
    softmax minus smoothed target."""
    at_target = logits.gather(1, chosen).float()  # z_y  [tokens, 1]
    normalize = _in_place if logits.device.type == "cpu" else _in_few_passes
    log_total, mean = normalize(logits, chosen, smoothing, is_learning)  # log sum exp(z), mean z  [tokens, 1]
    losses = log_total - (1 - smoothing) * at_target - smoothing * mean  # -sum of smoothed target * log softmax(z)
    return losses[:, 0], (at_target - log_total)[:, 0]


def _in_place(logits: Tensor, chosen: Tensor, smoothing: float, is_learning: bool) -> tuple[Tensor, Tensor]:
    """Returns log sum exp(z) and the mean of z, and makes gradients of logits as `_normalize` does: in one copy in
    float32, changed again and again while it is in a processor's cache."""
    floats = logits.to(torch.float32, copy=True)  # z  [tokens, vocabulary]
    mean = floats.mean(-1, keepdim=True) if smoothing else floats[:, :1]  # [tokens, 1]
    largest = floats.amax(-1, keepdim=True)  # [tokens, 1]
    exponential = floats.sub_(largest).exp_()  # which no logit makes overflow
    total = exponential.sum(-1, keepdim=True)
    if is_learning:
        probability = exponential.div_(total).sub_(smoothing / logits.shape[-1])  # softmax(z) - s / vocabulary
        probability.scatter_add_(1, chosen, probability.new_full((1, 1), smoothing - 1).expand_as(chosen))
        logits.copy_(probability)
    return total.log() + largest, mean


def _in_few_passes(logits: Tensor, chosen: Tensor, smoothing: float, is_learning: bool) -> tuple[Tensor, Tensor]:
    """Returns and does the same by few kernels, each of which reads and writes the memory of a GPU."""
    mean = logits.mean(-1, keepdim=True, dtype=torch.float32) if smoothing else logits[:, :1]  # [tokens, 1]
    log_probability = logits.to(torch.float32).log_softmax(-1)  # [tokens, vocabulary]
    log_total = logits.gather(1, chosen) - log_probability.gather(1, chosen)
    if is_learning:
        torch.exp(log_probability, out=logits)
        if smoothing:
            logits.sub_(smoothing / logits.shape[-1])
        logits.scatter_add_(1, chosen, logits.new_full((1, 1), smoothing - 1).expand_as(chosen))
    return log_total, mean
