"""XLNet predicts in any order from what the order shows, and is the public implementation with the same weights."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from operator_calls import OperatorCalls
from transduce.models.xlnet import (
    XLNetConfig,
    XLNetEncoder,
    XLNetLanguageModel,
    build_xlnet,
    build_xlnet_encoder,
)
from transduce.nn.permutation import CONTEXT, FactorizationOrder, draw_orders

VOCABULARY, ROWS, TIME, MEMORY = 13, 2, 7, 5
SIZES: dict[str, Any] = {"layers": 2, "dim": 12, "heads": 3, "feed_forward_dim": 17, "dropout": 0.0, "memory": MEMORY}
CPU = torch.device("cpu")


def randomize(model: torch.nn.Module) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.4)


def build(**choices: Any) -> XLNetLanguageModel:
    torch.manual_seed(3)
    model = build_xlnet(XLNetConfig(**{**SIZES, **choices}), VOCABULARY).eval()
    randomize(model)
    return model


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(VOCABULARY, (ROWS, TIME), generator=torch.Generator().manual_seed(5))


def start(model: XLNetLanguageModel, rows: int = ROWS) -> Any:
    nothing = torch.zeros(rows, 0, dtype=torch.int64)
    return model.start(model.encode(nothing, nothing.bool()))


def predicted(model: XLNetLanguageModel, tokens: torch.Tensor, order: FactorizationOrder) -> torch.Tensor:
    return model.predict(tokens, order, start(model, len(tokens)))[0]


@pytest.mark.slow
@pytest.mark.parametrize("max_span", [1, 3, 5])
def test_each_position_is_predicted_as_often_as_any_other(max_span: int) -> None:
    torch.manual_seed(4)
    rows, time = 6000, 12
    order = draw_orders(rows, time, 1 / 6, max_span, CPU)
    shares = (order.rank != CONTEXT).double().mean(0)
    assert (shares - 1 / 6).abs().max() < 5 * (1 / 6 * 5 / 6 / rows) ** 0.5


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("max_span", [1, 3])
def test_an_order_predicts_its_share_once_each(share: float, max_span: int) -> None:
    torch.manual_seed(1)
    order = draw_orders(4, 10, share, max_span, CPU)
    assert order.targets.shape == (4, round(share * 10))
    for rank, targets in zip(order.rank.tolist(), order.targets.tolist(), strict=True):
        assert sorted(rank[target] for target in targets) == list(range(len(targets)))
        assert all((position in targets) == (rank[position] != CONTEXT) for position in range(10))
    assert not (order.rank[0] == order.rank[1]).all()


def test_spans_are_side_by_side() -> None:
    torch.manual_seed(1)
    targets = draw_orders(40, 60, 0.2, 5, CPU).targets
    neighbours = (targets.diff(dim=1) == 1).float().mean()
    alone = (draw_orders(40, 60, 0.2, 1, CPU).targets.diff(dim=1) == 1).float().mean()
    assert neighbours > 2 * alone


@torch.no_grad()
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_prediction_does_not_change_with_what_the_order_hides(norm: str, tokens: torch.Tensor) -> None:
    model = build(norm=norm)
    torch.manual_seed(2)
    order = draw_orders(ROWS, TIME, 0.6, 1, CPU)
    before = predicted(model, tokens, order)
    for position in range(TIME):
        other = tokens.clone()
        other[:, position] = (other[:, position] + 1) % VOCABULARY
        changes = (predicted(model, other, order) - before).abs().amax(2) > 1e-6  # [rows, targets]
        for row in range(ROWS):
            rank = order.rank[row]
            for place, target in enumerate(order.targets[row].tolist()):
                is_shown = bool(rank[position] < rank[target])  # context is, and not the target itself
                assert bool(changes[row, place]) == is_shown


@torch.no_grad()
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("steps", [[TIME], [1] * TIME, [3, 4]], ids=str)
def test_going_on_is_predicting_from_left_to_right(norm: str, steps: list[int], tokens: torch.Tensor) -> None:
    model = build(norm=norm, memory=50)
    rank = torch.arange(TIME).expand(ROWS, -1)
    expected = predicted(model, tokens, FactorizationOrder(rank, rank))
    state, found = start(model), []
    for part in tokens.split(steps, 1):
        hidden, state = model.decoder.read(part, state)
        found.append(hidden)
    assert_close(torch.cat(found, 1)[:, :-1], expected[:, 1:], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("steps", [[1] * TIME, [2, 4, 1]], ids=str)
@pytest.mark.parametrize("learns", [True, False], ids=["hidden states", "keys and values"])
def test_many_short_segments_are_one_long_one(steps: list[int], learns: bool, tokens: torch.Tensor) -> None:
    model = build(memory=3)
    with torch.set_grad_enabled(learns):
        state, found = start(model), []
        for part in tokens.split(steps, 1):
            hidden, state = model.decoder.read(part, state)
            found.append(hidden)
        assert_close(torch.cat(found, 1), model.decoder.read(tokens, start(model))[0])


@torch.no_grad()
def test_padding_changes_nothing(tokens: torch.Tensor) -> None:
    encoder = encoder_of(3)
    is_real = torch.arange(TIME) < torch.tensor([[TIME], [4]])
    segments = (torch.arange(TIME) > 2).long().expand(ROWS, -1)
    found = encoder(tokens, segments, is_real)
    alone = encoder(tokens[1:, :4], segments[1:, :4], is_real[1:, :4])
    assert_close(found.hidden[1:, :4], alone.hidden)
    assert_close(found.pooled[1:], alone.pooled)


def encoder_of(seed: int) -> XLNetEncoder:
    torch.manual_seed(seed)
    encoder = build_xlnet_encoder(XLNetConfig(**SIZES), VOCABULARY, has_pooler=True).eval()
    randomize(encoder)
    return encoder


def theirs(model: XLNetLanguageModel) -> Any:
    """Hugging Face's model with the weights of ours."""
    transformers = pytest.importorskip("transformers")
    config = transformers.XLNetConfig(
        vocab_size=VOCABULARY, d_model=12, n_layer=2, n_head=3, d_inner=17, ff_activation="gelu", mem_len=MEMORY
    )
    copy = transformers.XLNetLMHeadModel(config).eval()
    stack = model.decoder.stack
    their: Any = copy.transformer
    with torch.no_grad():
        their.word_embedding.weight.copy_(stack.table.weight)
        their.mask_emb.copy_(stack.query[None])
        copy.lm_loss.bias.copy_(model.decoder.output.bias)
        for layer, block in zip(stack.layers, their.layer, strict=True):
            attention = layer.attention
            keys, values = attention.key_value.weight.chunk(2)
            projections = {"q": attention.query.weight, "k": keys, "v": values, "r": attention.distance.weight}
            for name, weight in projections.items():
                getattr(block.rel_attn, name).copy_(weight.T.view(12, 3, 4))
            block.rel_attn.o.copy_(attention.output.weight.view(12, 3, 4))
            block.rel_attn.r_w_bias.copy_(attention.content_bias[:, 0])
            block.rel_attn.r_r_bias.copy_(attention.distance_bias[:, 0])
            block.rel_attn.r_s_bias.copy_(layer.segments.bias[:, 0])
            block.rel_attn.seg_embed.copy_(layer.segments.vectors)
            block.rel_attn.layer_norm.load_state_dict(layer.around_attention.norm.state_dict())
            block.ff.layer_norm.load_state_dict(layer.around_feed_forward.norm.state_dict())
            block.ff.layer_1.load_state_dict(layer.feed_forward.inner.state_dict())
            block.ff.layer_2.load_state_dict(layer.feed_forward.output.state_dict())
    return copy


@torch.no_grad()
def test_its_encoder_is_the_public_implementations_content_stream(tokens: torch.Tensor) -> None:
    model, encoder = build(), encoder_of(4)
    encoder.stack.load_state_dict(model.decoder.stack.state_dict())
    segments = (torch.arange(TIME) > 3).long().expand(ROWS, -1)
    lengths = torch.tensor([TIME, 5])
    found = encoder(tokens, segments, torch.arange(TIME) < lengths[:, None])
    for row, length in enumerate(lengths.tolist()):  # their class token stands last, and is of segment 2
        last_first = [*range(1, length), 0]
        theirs_read = {"input_ids": tokens[row, last_first][None], "use_mems": False}
        of_segments = torch.cat([segments[row, 1:length], torch.tensor([2])])[None]
        expected = theirs(model).transformer(**theirs_read, token_type_ids=of_segments).last_hidden_state[0]
        assert_close(found.hidden[row, last_first], expected, atol=1e-4, rtol=0)
        pooled = torch.tanh(encoder.pooler(expected[-1])) if encoder.pooler else expected[-1]
        assert_close(found.pooled[row], pooled, atol=1e-4, rtol=0)


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_scores_are_gathered_only_where_some_tokens_are_not_predicted(share: float, tokens: torch.Tensor) -> None:
    model = build()
    order = draw_orders(ROWS, TIME, share, 1, CPU)
    with OperatorCalls() as calls:
        predicted(model, tokens, order)
    scores = ROWS * SIZES["heads"] * order.targets.shape[1] * 2 * TIME
    assert calls.sizes_given("gather").count(scores) == (0 if share == 1 else SIZES["layers"])


def test_a_text_read_backward_is_the_text(tokens: torch.Tensor) -> None:
    model = build()
    order = draw_orders(ROWS, TIME, 0.6, 1, CPU)
    turned = FactorizationOrder(order.rank.flip(1), TIME - 1 - order.targets.flip(1))
    backward, _ = model.predict(tokens.flip(1), turned, start(model), is_backward=torch.ones(ROWS, dtype=torch.bool))
    assert_close(backward.flip(1), predicted(model, tokens, order), atol=1e-5, rtol=0)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_its_two_streams_are_the_public_implementations_with_memory_over_segments(
    share: float, bidirectional: bool
) -> None:
    model = build()
    copy, memory, state = theirs(model), None, start(model)
    copy.transformer.bi_data = bidirectional  # then it takes the second half of the rows to be backward
    is_backward = torch.arange(ROWS) >= ROWS // 2 if bidirectional else None
    torch.manual_seed(6)
    for segment in range(3):
        tokens, order = torch.randint(VOCABULARY, (ROWS, TIME)), draw_orders(ROWS, TIME, share, 1, CPU)
        is_shown = (order.rank[:, None] < order.rank[..., None]) | (order.rank == CONTEXT)[:, None]
        mapping = torch.nn.functional.one_hot(order.targets, TIME).float()
        with torch.no_grad():
            expected = copy(tokens, perm_mask=(~is_shown).float(), target_mapping=mapping, mems=memory, use_mems=True)
        memory = expected.mems
        hidden, state = model.predict(tokens, order, state, is_backward=is_backward)
        sees_something = order.query_may_attend.any(-1)[:, 0] | bool(segment)  # there, nothing weighs as all alike
        found = model.decoder.output(hidden).detach()
        assert_close(found[sees_something], expected.logits[sees_something], atol=1e-4, rtol=0)
