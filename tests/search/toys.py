"""Small decoders that the tests of search share, and what trying everything finds with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeVar

import pytest
import torch
from torch import Tensor, nn

from transduce.models.recurrent.model import build_recurrent
from transduce.models.recurrent.recurrent_attention import BahdanauAttentionConfig
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import Transformer, TransformerConfig, build_transformer
from transduce.search.loop import Hypothesis
from transduce.search.search_settings import Limits

Model = TypeVar("Model", bound=nn.Module)
VOCABULARY, BEGIN, END = 5, 0, 1
SOURCE_LENGTHS = [4, 2, 3]
EXHAUSTIVE = 160  # more rows than there are sequences of four tokens before the end


@dataclass(frozen=True)
class RecurrentState:
    """A hidden vector a hypothesis, and a context a sentence that is copied for the hypotheses of a beam."""

    context: Tensor
    hidden: Tensor
    rows: int = 1

    def expand(self, rows_per_sentence: int) -> "RecurrentState":
        hidden = self.hidden.repeat_interleave(rows_per_sentence, 0)
        return RecurrentState(self.context.repeat_interleave(rows_per_sentence, 0), hidden, rows_per_sentence)

    def reorder(self, rows: Tensor) -> "RecurrentState":
        return replace(self, hidden=self.hidden[rows])

    def select(self, sentences: Tensor) -> "RecurrentState":
        rows = (sentences[:, None] * self.rows + torch.arange(self.rows)).flatten()
        return RecurrentState(self.context[rows], self.hidden[rows], self.rows)


class RecurrentDecoder:
    """A toy that is no Transformer: h' = tanh(A h + embedding + context)."""

    def __init__(self, vocabulary: int = VOCABULARY) -> None:
        self.embedding, self.matrix = torch.randn(vocabulary, 6), torch.randn(6, 6)
        self.output = 2 * torch.randn(6, vocabulary)

    def __call__(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        logits = []
        for token in tokens.T:
            hidden = torch.tanh(state.hidden @ self.matrix + self.embedding[token] + state.context)
            state = replace(state, hidden=hidden)
            logits.append(hidden @ self.output)
        return torch.stack(logits, 1), state


class RowCounter:
    """Passes calls on and keeps how many rows each had."""

    def __init__(self, decoder: Any) -> None:
        self.decoder = decoder
        self.rows: list[int] = []

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        assert tokens.shape[1] == 1
        self.rows.append(tokens.shape[0])
        return self.decoder(tokens, state)


Start = Callable[[Sequence[int]], Any]
"""A fresh state for the sentences of these numbers."""


def recurrent(seed: int, vocabulary: int = VOCABULARY) -> tuple[RecurrentDecoder, Start]:
    torch.manual_seed(seed)
    decoder, contexts = RecurrentDecoder(vocabulary), torch.randn(len(SOURCE_LENGTHS), 6)
    return decoder, lambda chosen: RecurrentState(contexts[list(chosen)], torch.zeros(len(chosen), 6))


def transformer(seed: int) -> tuple[Any, Start]:
    model, source, is_real = tiny_transformer(seed)
    return model.decoder, lambda chosen: model.start(model.encode(source[list(chosen)], is_real[list(chosen)]))


def bahdanau(seed: int) -> tuple[Any, Start]:
    torch.manual_seed(seed)
    config = RecurrentConfig(
        dim=6, encoder_dim=5, decoder_dim=7, attention=BahdanauAttentionConfig(score_dim=4), tie="none"
    )
    model, source, is_real = _with_sources(build_recurrent(config, 11, VOCABULARY))
    return model.decoder, lambda chosen: model.start(model.encode(source[list(chosen)], is_real[list(chosen)]))


def tiny_transformer(seed: int) -> tuple[Transformer, Tensor, Tensor]:
    torch.manual_seed(seed)
    config = TransformerConfig(encoder_layers=1, decoder_layers=2, dim=6, heads=2, feed_forward_dim=7, tie="none")
    return _with_sources(build_transformer(config, 11, VOCABULARY))


def _with_sources(model: Model) -> tuple[Model, Tensor, Tensor]:
    model.eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=0.7)  # sharp enough that choices differ
    is_real = torch.arange(max(SOURCE_LENGTHS)) < torch.tensor(SOURCE_LENGTHS)[:, None]
    return model, torch.randint(0, 11, is_real.shape), is_real


EVERY_DECODER = pytest.mark.parametrize(
    "family", [recurrent, transformer, bahdanau], ids=["toy", "transformer", "bahdanau"]
)
Family = Callable[[int], tuple[Any, Start]]


def limits(longest: Sequence[int], shortest: Sequence[int] | None = None) -> Limits:
    return Limits(torch.tensor(shortest or [1] * len(longest)).long(), torch.tensor(longest).long())


def log_probability(decoder: Any, state: Any, tokens: Sequence[int]) -> float:
    """Of the tokens and the end after them, in one call."""
    logits, _ = decoder(torch.tensor([[BEGIN, *tokens]]), state)
    return float(logits[0].log_softmax(-1)[range(len(tokens) + 1), [*tokens, END]].sum())


def normalized(total: float, length: int, normalization: str, alpha: float) -> float:
    return total / (((5 + length) ** alpha / 6**alpha) if normalization == "wu" else length**alpha)


def every_output(
    decoder: Any, start: Start, sentence: int, longest: int, normalization: str = "wu", alpha: float = 0.6
) -> list[tuple[float, float, list[int]]]:
    """Score, log-probability and tokens of each output without BEGIN in it, best first."""
    found = []
    for length in range(longest):
        for tokens in product(range(2, VOCABULARY), repeat=length):
            total = log_probability(decoder, start([sentence]), tokens)
            found.append((normalized(total, length + 1, normalization, alpha), total, list(tokens)))
    return sorted(found, reverse=True)


def assert_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [(h.tokens, h.truncated) for h in found] == [(h.tokens, h.truncated) for h in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)
