"""Streaming: greedy search or sampling that yields tokens one by one."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from transduce.models.interface import Decoder
from transduce.nn.state import DecoderState
from transduce.search.limits import Limits
from transduce.search.rules import LengthConstraint, Prefixes, Rule
from transduce.search.sampling import Sampling, draw

State = TypeVar("State", bound=DecoderState)


def tokens_one_by_one(
    decoder: Decoder[State],
    state: State,
    limits: Limits,
    begin: Tensor,
    end: int,
    rules: Sequence[Rule] = (),
    sampling: Sampling | None = None,
    generator: torch.Generator | None = None,
) -> Iterator[int]:
    """The tokens of one output of one sentence, until its end, or until the rules leave none.

    Arguments are those of `beam_search` and, to draw, of `sample`; the same generator gives the same draws.
    """
    rule, sentence = LengthConstraint(limits, end, rules), begin.new_zeros(1)
    history = begin.view(1, 1, 1)  # [sentences, rows, length]
    uniform = torch.rand(1, int(limits.longest), generator=generator).to(begin.device)
    for step in range(int(limits.longest)):
        logits, state = decoder(history[:, 0, -1:], state)
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
        if token == end:
            return
        yield token
        history = torch.cat([history, chosen[..., None]], 2)
