"""Streaming: greedy search or sampling that yields tokens one by one."""

from collections.abc import Iterator
from typing import TypeVar

import torch

from transduce.nn.state import DecoderState
from transduce.search.limits import begin_each
from transduce.search.problem import SearchProblem
from transduce.search.rules import Prefixes
from transduce.search.sampling import Sampling, draw

State = TypeVar("State", bound=DecoderState)


def tokens_one_by_one(
    problem: SearchProblem[State], sampling: Sampling | None = None, generator: torch.Generator | None = None
) -> Iterator[int]:
    """The tokens of one output of one sentence, until its end, or until the rules leave none.

    The same generator gives the same draws.
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
