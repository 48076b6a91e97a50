import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional
from torch.testing import assert_close

import fake_cuda
from transduce.data.batch import SpecialIds, make_batch
from transduce.models.scoring import score_tokens
from transduce.models.transformer import Transformer, TransformerConfig, build_transformer
from transduce.objectives.next_token import NextToken

SPECIAL = SpecialIds(0, 2, 0, 1, 2)
IDS = st.lists(st.integers(3, 10), max_size=5)
PAIRS = st.lists(st.tuples(IDS, IDS), min_size=2, max_size=5)
Pairs = list[tuple[list[int], list[int]]]


def make_model() -> Transformer:
    torch.manual_seed(1)
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, dim=6, heads=2, feed_forward_dim=7, dropout=0.0)
    return build_transformer(config, 11, 13)


def loss_of(model: Transformer, pairs: Pairs, smoothing: float = 0.1) -> tuple[torch.Tensor, torch.Tensor, int]:
    batch = make_batch([source for source, _ in pairs], [target for _, target in pairs], SPECIAL)
    loss = NextToken(smoothing)(model, batch, None)
    assert loss.carried is None
    return loss.total, loss.plain, int(loss.tokens)


@settings(max_examples=10, deadline=None)
@given(pairs=PAIRS)
def test_the_loss_is_minus_the_scores_of_the_targets_and_counts_their_real_tokens(pairs: Pairs) -> None:
    model = make_model()
    batch = make_batch([source for source, _ in pairs], [target for _, target in pairs], SPECIAL)
    scores = score_tokens(
        model, batch.source, batch.source_is_real, batch.target_in, batch.target_out, batch.target_is_real
    )
    total, plain, tokens = loss_of(model, pairs, smoothing=0.0)
    assert_close(total, -scores.sum(), rtol=1e-4, atol=1e-4)
    assert_close(plain, -scores.sum(), rtol=1e-4, atol=1e-4)
    assert tokens == sum(len(target) + 1 for _, target in pairs)


@settings(max_examples=10, deadline=None)
@given(pairs=PAIRS, data=st.data())
def test_losses_and_gradients_of_parts_of_a_batch_add_up(pairs: Pairs, data: st.DataObject) -> None:
    model = make_model()
    parameters = list(model.parameters())
    cut = data.draw(st.integers(1, len(pairs) - 1))
    whole, first, second = (loss_of(model, part) for part in (pairs, pairs[:cut], pairs[cut:]))
    for of_whole, of_first, of_second in zip(whole, first, second, strict=True):
        assert_close(torch.as_tensor(of_whole), torch.as_tensor(of_first + of_second), rtol=1e-4, atol=1e-4)
    assert_close(
        torch.autograd.grad(whole[0], parameters),
        torch.autograd.grad(first[0] + second[0], parameters),
        rtol=1e-3,
        atol=1e-4,
    )


def test_smoothing_is_spread_over_the_vocabulary_and_not_reported() -> None:
    model, pairs = make_model(), [([3, 4, 5], [6, 7]), ([8], [9, 10, 3, 4])]
    batch = make_batch([source for source, _ in pairs], [target for _, target in pairs], SPECIAL)
    state = model.start(model.encode(batch.source, batch.source_is_real))
    logits = model.decoder(batch.target_in, state)[0][batch.target_is_real]
    target = batch.target_out[batch.target_is_real]
    total, plain, _ = loss_of(model, pairs, smoothing=0.3)
    assert_close(total, functional.cross_entropy(logits, target, label_smoothing=0.3, reduction="sum"))
    assert_close(plain, functional.cross_entropy(logits, target, reduction="sum"))
    assert not plain.requires_grad


def test_rows_without_padding_give_the_loss_and_gradients_of_padded_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transduce.nn.ragged.HalfPrecision", (torch.float32,))  # to compare more than two digits
    monkeypatch.setattr(fake_cuda, "FLASH_TYPES", (torch.float32,))
    torch.manual_seed(1)
    config = TransformerConfig(
        encoder_layers=2, decoder_layers=2, dim=16, heads=2, feed_forward_dim=7, dropout=0.0, positions="rotary"
    )
    pairs: Pairs = [([3, 4, 5, 6, 7], [3]), ([8], [4, 5, 6]), ([9, 10], [7, 8])]
    padded = build_transformer(config, 11, 13)
    expected = loss_of(padded, pairs)
    expected_gradients = torch.autograd.grad(expected[0], list(padded.parameters()))
    with fake_cuda.fake_cuda() as work:
        model = build_transformer(config, 11, 13)
        model.load_state_dict(padded.state_dict())
        model.to("cuda:0")
        batch = make_batch([source for source, _ in pairs], [target for _, target in pairs], SPECIAL)
        loss = NextToken(0.1)(model, batch.to(torch.device("cuda", 0)), None)
        gradients = torch.autograd.grad(loss.total, list(model.parameters()))
        assert work.attentions == {"flash": 6}  # two layers of the encoder, twice two of the decoder
        found = (loss.total.detach().cpu(), loss.plain.cpu(), int(loss.tokens))
        of_gpu = [gradient.cpu() for gradient in gradients]
    assert_close(found, (expected[0].detach(), *expected[1:]))
    assert_close(of_gpu, list(expected_gradients))
