import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from transduce.data.batch import Batch, SpecialIds, make_batch
from transduce.models.interface import Decoder, EncoderDecoder, Memory
from transduce.models.scoring import score_tokens
from transduce.models.transformer import Transformer, TransformerConfig, build_transformer
from transduce.nn import losses

SPECIAL = SpecialIds(0, 2, 0, 1, 2)


def make_model() -> Transformer:
    torch.manual_seed(1)
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, dim=6, heads=2, feed_forward_dim=7)
    return build_transformer(config, 11, 13).eval()


def scores(model: Transformer, batch: Batch) -> torch.Tensor:
    return score_tokens(
        model, batch.source, batch.source_is_real, batch.target_in, batch.target_out, batch.target_is_real
    )


IDS = st.lists(st.integers(3, 10), max_size=5)


@settings(max_examples=15, deadline=None)
@given(pairs=st.lists(st.tuples(IDS, IDS), min_size=1, max_size=3))
@torch.no_grad()
def test_scores_are_log_softmax_at_the_target_read_one_token_at_a_time(
    pairs: list[tuple[list[int], list[int]]],
) -> None:
    model = make_model()
    batch = make_batch([source for source, _ in pairs], [target for _, target in pairs], SPECIAL)
    found = scores(model, batch)
    for row, (source, target) in enumerate(pairs):
        ids = torch.tensor([[*source, SPECIAL.source_eos]])
        state = model.start(model.encode(ids, torch.ones_like(ids, dtype=torch.bool)))
        for time, (read, expected) in enumerate(
            zip([SPECIAL.target_bos, *target], [*target, SPECIAL.target_eos], strict=True)
        ):
            logits, state = model.decoder(torch.tensor([[read]]), state)
            numbers = logits[0, 0].tolist()
            by_hand = numbers[expected] - math.log(sum(math.exp(number) for number in numbers))
            assert float(found[row, time]) == pytest.approx(by_hand, abs=1e-5)
        assert (found[row, len(target) + 1 :] == 0).all()


@torch.no_grad()
def test_scores_are_float32_whatever_the_models_precision() -> None:
    batch = make_batch([[3, 4, 5]], [[6, 7]], SPECIAL)
    assert scores(make_model().to(torch.bfloat16), batch).dtype == torch.float32


@torch.no_grad()
def test_logits_of_a_batch_never_exist_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "PROJECTED_AT_ONCE", 7)
    model, projected = make_model(), []
    model.decoder.output.register_forward_hook(lambda _, inputs, __: projected.append(len(inputs[0])))
    batch = make_batch([[3, 4, 5]] * 4, [[6], [7, 8, 9], [6] * 10, []], SPECIAL)
    scores(model, batch)
    assert sum(projected) == 2 + 4 + 11 + 1, "padding is not projected"
    assert max(projected) <= 7


def test_a_transformer_is_an_encoder_decoder() -> None:
    model = make_model()
    assert isinstance(model, EncoderDecoder)
    assert isinstance(model.decoder, Decoder)


def test_axes_are_checked_while_tests_run() -> None:
    hidden, is_real = torch.randn(2, 5, 6), torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(TypeCheckError):
        Memory(hidden, is_real)
    batch = make_batch([[3, 4], [5]], [[6], [7, 8, 9]], SPECIAL)
    with pytest.raises(TypeCheckError):
        Batch(batch.source, batch.target_is_real, batch.target_in, batch.target_out, batch.target_is_real)
    with pytest.raises(TypeCheckError):
        make_model().encode(batch.source.float(), batch.source_is_real)
