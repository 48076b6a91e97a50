"""Sampling outputs from the model's probabilities, at once or token by token."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.base.devices import to_device, to_host
from transduce.base.ranges import NonNegativeInt, PositiveShare, Seed, Share, Temperature
from transduce.nn.state import DecoderState
from transduce.search.loop import LOOK_EVERY, Hypothesis, SearchProblem, reserved
from transduce.search.rules import LogProbabilities, Prefixes
from transduce.search.search_settings import Limits, SearchSettings, begin_each

State = TypeVar("State", bound=DecoderState)


class Sampling(SearchSettings, frozen=True):
    """Sampling of tokens: temperature, and which tokens may be drawn."""

    temperature: Temperature = 1.0
    """Softmax temperature; below 1 likely tokens gain, above 1 unlikely ones."""
    top_k: NonNegativeInt = 0
    """Sample from the k most likely tokens; 0 for all."""
    top_p: PositiveShare = 1.0
    """Sample from the smallest set of tokens with this total probability (nucleus; Holtzman et al. 2020)."""
    min_p: Share = 0.0
    """Sample from tokens that have at least this share of the likeliest one's probability (Nguyen et al. 2024)."""
    seed: Seed = 1
    """Random seed; the samples of a sentence depend only on it and on the sentence."""

    @property
    def rows(self) -> int:
        """Number of hypotheses that the model decodes at once for each sentence."""
        return self.n_best

    def generator(self, source: Sequence[int]) -> torch.Generator:
        """Returns the random generator of one source sentence, the same in every batch."""
        digest = hashlib.blake2b(repr((self.seed, list(source))).encode(), digest_size=7).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest))

    def find(self, problem: SearchProblem[State]) -> list[list[Hypothesis]]:
        """See `sample`; each sentence's generator is that of its source."""
        return sample(problem, self, [self.generator(source) for source in problem.sources])


@torch.no_grad()
def sample(
    problem: SearchProblem[State], sampling: Sampling, generators: Sequence[torch.Generator]
) -> list[list[Hypothesis]]:
    """Returns `n_best` sampled outputs of each sentence; log-probabilities are the model's own, at any
    temperature.

    Each sentence has a generator, on the CPU. An output is dropped if the rules exclude all next tokens.
    """
    limits, end, rule, rows = problem.limits, problem.end, problem.rule, sampling.n_best
    on_host = limits.on_host or limits
    sentences = torch.arange(len(limits.longest), device=limits.longest.device)  # unfinished ones
    (uniform,) = to_device([_uniform(generators, rows, on_host)], sentences.device)  # [sentences, rows, length]
    drawn: list[list[Hypothesis | None]] = [[None] * rows for _ in sentences]
    tokens = begin_each(problem.begin, sentences).repeat_interleave(rows, 0)  # [sentences * rows, length]
    scores = torch.zeros(len(sentences), rows, device=sentences.device)
    is_open = torch.ones_like(scores, dtype=torch.bool)
    state = reserved(problem.state, limits, rows).expand(rows)
    look_every = LOOK_EVERY if sentences.device.type == "cuda" else 1
    unseen: list[tuple[int, list[Tensor]]] = []  # lengths, sentences, rows that ended, log-probabilities and texts
    while len(sentences):
        logits, state = problem.decoder(tokens[:, -1:], state)
        log_probabilities = logits[:, -1].float().log_softmax(-1).unflatten(0, scores.shape)  # [sentences, rows, vocab]
        history = tokens.unflatten(0, scores.shape)[..., 1:]
        length = history.shape[2] + 1
        rule(log_probabilities, Prefixes(sentences, history))
        is_open = is_open & log_probabilities.amax(-1).isfinite()  # [sentences, rows]
        chosen = draw(log_probabilities, sampling, uniform[sentences, :, length - 1])
        scores = scores + log_probabilities.gather(2, chosen[..., None])[..., 0]
        ends = is_open & (chosen == end)
        is_open = is_open & ~ends
        tokens = torch.cat([tokens, chosen.flatten()[:, None]], 1)
        unseen.append((length, [sentences, ends, scores, history]))
        if length % look_every and length < limits.all_must_end:
            continue
        are_open, *seen = to_host([is_open, *(tensor for _, tensors in unseen for tensor in tensors)])
        of_steps = iter(seen)
        for length, tensors in unseen:
            numbers, ends, totals, texts = (next(of_steps) for _ in tensors)
            are_truncated = on_host.are_reached(length, numbers)
            for index, row in ends.nonzero().tolist():
                total, text = float(totals[index, row]), texts[index, row].tolist()
                drawn[int(numbers[index])][row] = Hypothesis(text, total, total, bool(are_truncated[index]))
        unseen = []
        written = are_open.any(1)
        if not written.all():
            (kept,) = to_device([written.nonzero()[:, 0]], sentences.device)
            tokens = tokens.unflatten(0, scores.shape)[kept].flatten(0, 1)
            sentences, scores, is_open, state = sentences[kept], scores[kept], is_open[kept], state.select(kept)
    return [[hypothesis for hypothesis in of_sentence if hypothesis] for of_sentence in drawn]


def tokens_one_by_one(
    problem: SearchProblem[State], sampling: Sampling | None = None, generator: torch.Generator | None = None
) -> Iterator[int]:
    """Yields the tokens of one output of one sentence, until its end, or until the rules exclude all.

    The same generator gives the same output.
    """
    rule, state, longest = problem.rule, problem.state, int(problem.limits.longest)
    sentence = torch.zeros_like(problem.limits.longest)
    history = begin_each(problem.begin, sentence)[:, None]  # [sentences, rows, length]
    uniform = torch.rand(1, longest, generator=generator).to(sentence.device)
    for step in range(longest):
        logits, state = problem.decoder(history[:, 0, -1:], state)
        log_probabilities = logits[:, -1:].float().log_softmax(-1)  # [sentences, rows, vocabulary]
        rule(log_probabilities, Prefixes(sentence, history[..., 1:]))
        if not log_probabilities.amax().isfinite():
            return
        chosen = (
            log_probabilities.argmax(-1)
            if sampling is None
            else draw(log_probabilities, sampling, uniform[:, step : step + 1])
        )
        token = int(chosen)
        if token == problem.end:
            return
        yield token
        history = torch.cat([history, chosen[..., None]], 2)


def draw(
    log_probabilities: LogProbabilities, sampling: Sampling, uniform: Float[Tensor, "sentences rows"]
) -> Int[Tensor, "sentences rows"]:
    """Returns the tokens at which the cumulative probability passes a uniform random number from 0 to 1."""
    device = log_probabilities.device
    if device.type == "mps":  # which has no float64
        log_probabilities, uniform = log_probabilities.cpu(), uniform.cpu()
    weights = log_probabilities.double() / sampling.temperature
    if 0 < sampling.top_k < weights.shape[-1]:
        kept = _largest(weights, weights.topk(sampling.top_k).values)
        weights = weights.masked_fill(~kept, -torch.inf)
    probabilities = weights.softmax(-1)  # [sentences, rows, vocabulary]
    if sampling.top_p < 1:
        ordered = probabilities.sort(-1, descending=True).values
        is_needed = ordered.cumsum(-1) - ordered < sampling.top_p
        kept = _largest(probabilities, ordered.masked_fill(~is_needed, torch.inf))
        probabilities = probabilities.masked_fill(~kept, 0.0)
    if sampling.min_p:
        least = sampling.min_p * probabilities.amax(-1, keepdim=True)
        probabilities = probabilities.masked_fill(probabilities < least, 0.0)
    cumulated = probabilities.cumsum(-1)
    passed = torch.searchsorted(cumulated, uniform[..., None].double() * cumulated[..., -1:], right=True)[..., 0]
    return passed.clamp(max=weights.shape[-1] - 1).to(device)


def _largest(
    values: Float[Tensor, "sentences rows vocabulary"], chosen: Float[Tensor, "sentences rows some"]
) -> Bool[Tensor, "sentences rows vocabulary"]:
    """Returns True at as many tokens as there are chosen values, the largest, not counting inf; of tokens that are tied
    for the last places those of the lowest ids."""
    least = chosen.amin(-1, keepdim=True)
    tied, above = values == least, values > least
    places = chosen.isfinite().sum(-1, keepdim=True) - above.sum(-1, keepdim=True)
    return above | (tied & (tied.cumsum(-1) <= places))


def _uniform(
    generators: Sequence[torch.Generator], rows: int, limits: Limits
) -> Float[Tensor, "sentences rows length"]:
    """Returns all random numbers that will be needed, so that no sentence's samples depend on another's length."""
    lengths = limits.longest.tolist()
    numbers = torch.zeros(len(lengths), rows, max(lengths, default=0))
    for of_sentence, generator, length in zip(numbers, generators, lengths, strict=True):
        of_sentence[:, :length] = torch.rand(rows, length, generator=generator)
    return numbers
