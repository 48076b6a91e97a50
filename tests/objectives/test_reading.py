"""Teacher forcing, scheduled sampling, and learning from what was drawn."""

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from transduce.data.batch import SpecialIds, make_batch
from transduce.inference.engines.ensemble import EnsembleState
from transduce.models.interface import Decoder
from transduce.models.recurrent.model import build_recurrent
from transduce.models.recurrent.recurrent_attention import HardAttentionConfig
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import TransformerConfig, build_transformer
from transduce.objectives.next_token import KEPT, NextToken, score_function_loss
from transduce.objectives.reading import read_target

ROWS, TIME, VOCABULARY = 3, 40, 7
TARGET_IN = torch.randint(0, VOCABULARY, (ROWS, TIME))


NOTHING = EnsembleState(())  # the state of a decoder that needs none


def successor(tokens: Tensor) -> Tensor:
    """The logits of a decoder that is sure of the next token: the one after what it reads."""
    return 100 * functional.one_hot((tokens + 1) % VOCABULARY, VOCABULARY).float()


class Reader(Decoder[EnsembleState]):
    """Keeps the tokens that a decoder was given; its output layer changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Linear(VOCABULARY, VOCABULARY, bias=False)
        nn.init.eye_(self.output.weight)
        self.given: list[Tensor] = []

    def read(self, tokens: Tensor, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        self.given.append(tokens)
        return successor(tokens), state


def test_with_all_tokens_true_there_is_one_call() -> None:
    reader = Reader()
    reading = read_target(reader, NOTHING, TARGET_IN, 1.0)
    assert torch.equal(torch.cat(reader.given, 1), TARGET_IN) and len(reader.given) == 1
    assert_close(reading.hidden, successor(TARGET_IN))


def test_without_true_tokens_only_the_first_is_given_and_the_rest_are_the_models_own() -> None:
    reader = Reader()
    reading = read_target(reader, NOTHING, TARGET_IN, 0.0)
    expected = (TARGET_IN[:, :1] + torch.arange(TIME)) % VOCABULARY
    assert torch.equal(torch.cat(reader.given, 1), expected)
    assert reading.hidden.shape == (ROWS, TIME, VOCABULARY)


def test_each_token_is_true_with_the_probability_asked_for() -> None:
    torch.manual_seed(5)
    reader, target = Reader(), torch.zeros(200, 30, dtype=torch.long)  # the model's own are 1 after a 0, else others
    read_target(reader, NOTHING, target, 0.7)
    share = (torch.cat(reader.given, 1)[:, 1:] == 0).float().mean()
    assert 0.67 < float(share) < 0.73  # a run of six of the model's own, which comes to 0 too, is rare


def test_a_transformer_reads_its_own_tokens_too_and_learns() -> None:
    torch.manual_seed(6)
    model = build_transformer(
        TransformerConfig(encoder_layers=1, decoder_layers=1, dim=6, heads=2, feed_forward_dim=7, dropout=0.0), 11, 13
    )
    batch = make_batch([[3, 4, 5], [8]], [[6, 7], [9, 10, 3, 4]], SpecialIds(0, 2, 0, 1, 2))
    forced = NextToken(0.1)(model, batch, None)
    free = NextToken(0.1, lambda: 0.0)(model, batch, None)
    assert free.tokens == forced.tokens and not torch.equal(free.total, forced.total)
    free.total.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_the_score_function_loss_is_the_log_probability_of_draws_times_what_they_gained() -> None:
    torch.manual_seed(7)
    rewards, choices = -torch.rand(2, 3), torch.randn(2, 3, requires_grad=True)
    is_real = torch.tensor([[True, True, True], [True, False, False]])
    loss, carried = score_function_loss(choices, rewards, is_real, {"baseline": torch.tensor(-1.5)})
    expected = -sum((float(rewards[i, j]) + 1.5) * choices[i, j] for i, j in is_real.nonzero().tolist())
    assert_close(loss, expected)
    assert_close(carried["baseline"], KEPT * torch.tensor(-1.5) + (1 - KEPT) * rewards[is_real].mean())
    _, first = score_function_loss(choices, rewards, is_real, None)
    assert_close(first["baseline"], rewards[is_real].mean())


def test_the_score_function_gradient_is_that_of_the_expected_score() -> None:
    """Over many draws, against the sum over all positions that might be drawn."""
    torch.manual_seed(8)
    config = RecurrentConfig(dim=4, encoder_dim=3, decoder_dim=5, attention=HardAttentionConfig(), dropout=0.0)
    model = build_recurrent(config, 9, 9).train()
    weight = model.decoder.attention.score.key.weight  # type: ignore[union-attr, attr-defined]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.5)
    draws = 20_000
    batch = make_batch([[3, 4]] * draws, [[]] * draws, SpecialIds(0, 2, 0, 1, 2))  # one target token: the end
    estimated = torch.autograd.grad(NextToken()(model, batch, None).total / draws, weight)[0]

    memory = model.encode(batch.source[:1], batch.source_is_real[:1])
    state, decoder = model.start(memory), model.decoder
    hidden, _ = decoder.layers(decoder.embedding(batch.target_in[:1]), state.hidden)  # type: ignore[attr-defined]
    scores = decoder.attention.score(hidden[:, None], state.source.keys)[0, 0, 0]  # type: ignore[attr-defined]
    rewards = []
    for place in range(3):
        read = decoder.readout(memory.hidden[:, place : place + 1], hidden)  # type: ignore[attr-defined]
        rewards.append(decoder.output(read).log_softmax(-1)[0, 0, 2])  # type: ignore[attr-defined]
    expected_score = (scores.softmax(0) * torch.stack(rewards).detach()).sum()
    exact = torch.autograd.grad(-expected_score, weight)[0]
    assert (estimated - exact).norm() < 0.1 * exact.norm()
