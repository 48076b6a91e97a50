import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from transduce.data.batch import SpecialIds, make_batch
from transduce.errors import ConfigError
from transduce.models.transformer import Transformer, TransformerConfig, build_transformer
from transduce.nn.attention import MultiHeadAttention, fast_attention
from transduce.nn.positions import LearnedPositions
from transduce.nn.recording import record_attention
from transduce.nn.state import AttentionState
from transduce.objectives.translation import Translation
from transduce.search.beam import Beam, beam_search
from transduce.search.limits import limits_for
from transduce.search.rules import Forbid

SOURCE_VOCABULARY, TARGET_VOCABULARY = 11, 13
SIZES = {"encoder_layers": 1, "decoder_layers": 2, "dim": 12, "heads": 3, "inner_dim": 17, "max_positions": 19}
CONFIGS: dict[str, dict[str, Any]] = {
    "default": {},
    "after": {"norm": "after", "initialization": "xavier"},
    "learned": {"positions": "learned", "activation": "gelu", "tie": "none"},
    "rotary": {"positions": "rotary", "activation": "gated", "key_dim": 6, "value_dim": 5, "norm": "after"},
    "none": {"positions": "none", "tie": "all", "scale_embeddings": False, "initialization": "small"},
    "odd": {"dim": 13, "key_dim": 2, "value_dim": 7, "tie": "none", "encoder_layers": 2},
}
EVERY_CONFIG = pytest.mark.parametrize("name", CONFIGS)
LENGTHS = [5, 2, 3]  # real tokens of each source; all models read three sentences of these lengths
TIME = 7  # target tokens


def make_model(name: str) -> Transformer:
    config = TransformerConfig(**{**SIZES, **CONFIGS[name]})
    torch.manual_seed(1)
    source_vocabulary = TARGET_VOCABULARY if config.tie == "all" else SOURCE_VOCABULARY
    model = build_transformer(config, source_vocabulary, TARGET_VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)  # so that no bias is zero and no norm the identity
    return model.eval()


def sentences(seed: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Padded sources, where they are real, and targets."""
    torch.manual_seed(seed)
    is_real = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    source = torch.randint(0, SOURCE_VOCABULARY, is_real.shape)
    return source, is_real, torch.randint(0, TARGET_VOCABULARY, (len(LENGTHS), TIME))


def start(model: Transformer, source: Tensor, is_real: Tensor) -> AttentionState:
    return model.start(model.encode(source, is_real))


def in_chunks(model: Transformer, state: AttentionState, target: Tensor, sizes: Sequence[int]) -> Tensor:
    logits = []
    for chunk in target.split(list(sizes), 1):
        part, state = model.decoder(chunk, state)
        logits.append(part)
    assert state.position == target.shape[1]
    return torch.cat(logits, 1)


def at_once(model: Transformer, source: Tensor, is_real: Tensor, target: Tensor) -> Tensor:
    return in_chunks(model, start(model, source, is_real), target, [target.shape[1]])


@EVERY_CONFIG
@pytest.mark.parametrize("rows", [1, 2])
@torch.no_grad()
def test_in_steps_and_in_chunks_equal_at_once(name: str, rows: int) -> None:
    model, (source, is_real, _) = make_model(name), sentences()
    target = torch.randint(0, TARGET_VOCABULARY, (len(LENGTHS) * rows, TIME))
    together = in_chunks(model, start(model, source, is_real).expand(rows), target, [TIME])
    for sizes in ([1] * TIME, [2, 4, 1], [1, 6], [5, 2]):
        assert_close(
            in_chunks(model, start(model, source, is_real).expand(rows), target, sizes), together, rtol=1e-4, atol=1e-5
        )


@EVERY_CONFIG
@torch.no_grad()
def test_source_padding_changes_nothing(name: str) -> None:
    model, (source, is_real, target) = make_model(name), sentences()
    expected = at_once(model, source, is_real, target)
    other = torch.where(is_real, source, (source + 1) % SOURCE_VOCABULARY)
    assert_close(at_once(model, other, is_real, target), expected, rtol=1e-4, atol=1e-5)
    longer = torch.cat([source, torch.full((len(LENGTHS), 4), 3)], 1)
    longer_is_real = torch.cat([is_real, torch.zeros(len(LENGTHS), 4, dtype=torch.bool)], 1)
    assert_close(at_once(model, longer, longer_is_real, target), expected, rtol=1e-4, atol=1e-5)


@EVERY_CONFIG
@torch.no_grad()
def test_batched_equals_one_by_one(name: str) -> None:
    model, (source, is_real, target) = make_model(name), sentences()
    together = at_once(model, source, is_real, target)
    for row, length in enumerate(LENGTHS):
        one = slice(row, row + 1)
        alone = at_once(model, source[one, :length], is_real[one, :length], target[one])
        assert_close(together[one], alone, rtol=1e-4, atol=1e-5)


@EVERY_CONFIG
@torch.no_grad()
def test_the_future_changes_nothing_and_the_past_does(name: str) -> None:
    model, (source, is_real, target) = make_model(name), sentences()
    expected = at_once(model, source, is_real, target)
    for time in range(TIME):
        changed = target.clone()
        changed[:, time] = (changed[:, time] + 1) % TARGET_VOCABULARY
        logits = at_once(model, source, is_real, changed)
        assert_close(logits[:, :time], expected[:, :time], rtol=1e-4, atol=1e-5)
        assert ((logits[:, time:] - expected[:, time:]).abs().amax(-1) > 1e-4).all()


@EVERY_CONFIG
@torch.no_grad()
def test_every_real_source_token_matters_to_its_own_sentence_alone(name: str) -> None:
    model, (source, is_real, target) = make_model(name), sentences()
    expected = at_once(model, source, is_real, target)
    for row, length in enumerate(LENGTHS):
        for time in range(length):
            changed = source.clone()
            changed[row, time] = (changed[row, time] + 1) % SOURCE_VOCABULARY
            difference = (at_once(model, changed, is_real, target) - expected).abs().amax((1, 2))
            assert (difference > 1e-4).tolist() == [other == row for other in range(len(LENGTHS))]


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "none"])
@torch.no_grad()
def test_the_order_of_tokens_matters(name: str) -> None:
    model, (source, is_real, target) = make_model(name), sentences()
    swapped = source[:, [1, 0, *range(2, max(LENGTHS))]]
    assert (swapped != source).any(1).all()
    difference = at_once(model, swapped, is_real, target) - at_once(model, source, is_real, target)
    assert (difference.abs().amax((1, 2)) > 1e-4).all()


@EVERY_CONFIG
@torch.no_grad()
def test_recorded_equals_plain_and_weights_sum_to_one_over_allowed_keys(name: str) -> None:
    model, (source, is_real, target) = make_model(name), sentences()
    plain = at_once(model, source, is_real, target)
    with record_attention(model) as tape:
        recorded = at_once(model, source, is_real, target)
    assert_close(recorded, plain, rtol=1e-4, atol=1e-5)
    assert_close(at_once(model, source, is_real, target), plain, rtol=0, atol=0)
    assert len(tape) == len(model.encoder.layers) + 2 * len(model.decoder.layers)
    causal = torch.ones(TIME, TIME, dtype=torch.bool).tril()
    for module, (weights,) in tape.items():
        may_attend = is_real[:, None, None] if "encoder" in module or "cross" in module else causal
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        assert (weights.masked_fill(may_attend, 0) == 0).all()
        assert (weights > 0).logical_or(~may_attend).all()


def test_attention_is_fast_again_after_an_error_under_the_recorder() -> None:
    model, (source, is_real, _) = make_model("default"), sentences()
    with pytest.raises(IndexError), record_attention(model):
        at_once(model, source, is_real, torch.full((len(LENGTHS), TIME), TARGET_VOCABULARY))
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert len(attentions) == 5
    assert all(module.kernel is fast_attention for module in attentions)


@EVERY_CONFIG
@settings(max_examples=5, deadline=None)
@given(data=st.data())
@torch.no_grad()
def test_rows_go_on_as_if_alone_however_expanded_reordered_and_selected(name: str, data: st.DataObject) -> None:
    """Four decoder calls with the state's three operations between them, against one call a row with its history."""
    model, (source, is_real, _) = make_model(name), sentences(data.draw(st.integers(0, 99)))
    rows = data.draw(st.integers(1, 3))
    histories: list[tuple[int, list[int]]] = [(sentence, []) for sentence in range(len(LENGTHS))]
    state = start(model, source, is_real)
    logits = torch.empty(0)

    def read(count: int) -> None:
        nonlocal state, logits
        tokens = torch.randint(0, TARGET_VOCABULARY, (len(histories), count))
        for (_, history), new in zip(histories, tokens.tolist(), strict=True):
            history += new
        logits, state = model.decoder(tokens, state)

    read(2)
    state = state.expand(rows)
    histories = [(sentence, list(history)) for sentence, history in histories for _ in range(rows)]
    read(1)
    order = [
        sentence * rows + data.draw(st.integers(0, rows - 1)) for sentence in range(len(LENGTHS)) for _ in range(rows)
    ]
    state = state.reorder(torch.tensor(order))
    histories = [(histories[row][0], list(histories[row][1])) for row in order]
    read(1)
    chosen = data.draw(st.permutations(range(len(LENGTHS))))[: data.draw(st.integers(1, len(LENGTHS)))]
    state = state.select(torch.tensor(chosen))
    histories = [histories[sentence * rows + row] for sentence in chosen for row in range(rows)]
    read(3)
    for row, (sentence, history) in enumerate(histories):
        one = slice(sentence, sentence + 1)
        alone = at_once(model, source[one], is_real[one], torch.tensor([history]))
        assert_close(logits[row], alone[0, -3:], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["before", "after"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_stack_of_pytorchs_layers_with_the_same_weights_gives_the_same(norm: str, activation: str) -> None:
    torch.manual_seed(3)
    config = TransformerConfig(**{**SIZES, "encoder_layers": 2}, norm=norm, activation=activation)
    model = build_transformer(config, SOURCE_VOCABULARY, TARGET_VOCABULARY).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    source, is_real, target = sentences()
    shape = {"d_model": 12, "nhead": 3, "dim_feedforward": 17, "dropout": 0.0, "batch_first": True}
    shape |= {"activation": activation, "norm_first": norm == "before"}

    memory = model.encoder.embedding(source, 0)
    for layer in model.encoder.layers:
        theirs = nn.TransformerEncoderLayer(**shape)
        copy_attention(theirs.self_attn, layer.attention.attention)
        copy_rest(theirs, layer.feed_forward, [layer.around_attention, layer.around_feed_forward])
        memory = theirs(memory, src_key_padding_mask=~is_real)
    memory = model.encoder.norm(memory)
    assert_close(model.encode(source, is_real).hidden[is_real], memory[is_real], rtol=1e-5, atol=1e-5)

    hidden = model.decoder.embedding(target, 0)
    for layer in model.decoder.layers:
        theirs = nn.TransformerDecoderLayer(**shape)
        copy_attention(theirs.self_attn, layer.attention.attention)
        copy_attention(theirs.multihead_attn, layer.cross_attention)
        residuals = [layer.around_attention, layer.around_cross_attention, layer.around_feed_forward]
        copy_rest(theirs, layer.feed_forward, residuals)
        may_not_attend = torch.ones(TIME, TIME, dtype=torch.bool).triu(1)
        hidden = theirs(hidden, memory, tgt_mask=may_not_attend, memory_key_padding_mask=~is_real)
    expected = model.decoder.output(model.decoder.norm(hidden))
    assert_close(at_once(model, source, is_real, target), expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key_value.weight]))
    theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key_value.bias]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def copy_rest(theirs: nn.Module, feed_forward: nn.Module, residuals: Sequence[nn.Module]) -> None:
    theirs.linear1.load_state_dict(feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(feed_forward.output.state_dict())
    for number, residual in enumerate(residuals, 1):
        getattr(theirs, f"norm{number}").load_state_dict(residual.norm.state_dict())


@pytest.mark.parametrize(
    "choices",
    [{"positions": "sinusoidal"}, {"positions": "rotary", "activation": "gated", "norm": "after"}],
    ids=["default", "rotary"],
)
def test_it_learns_to_reverse_a_string(choices: dict[str, Any]) -> None:
    torch.manual_seed(4)
    generator = random.Random(5)
    begin, end, letters = 1, 2, range(3, 9)
    special = SpecialIds(0, end, 0, begin, end)
    strings = [tuple(generator.choices(letters, k=generator.randint(3, 6))) for _ in range(30_000)]
    unseen = set(strings[:150])
    seen = [string for string in strings if string not in unseen]
    config = TransformerConfig(
        encoder_layers=1, decoder_layers=1, dim=32, heads=4, inner_dim=64, dropout=0.0, tie="none", **choices
    )
    model = build_transformer(config, 9, 9)
    updates = 500
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=updates)
    for update in range(updates):
        sources = seen[update * 40 : (update + 1) * 40]
        loss = Translation()(model, make_batch(sources, [string[::-1] for string in sources], special), None)
        optimizer.zero_grad()
        (loss.total / loss.tokens).backward()
        optimizer.step()
        schedule.step()
    model.eval()
    sources = sorted(unseen)
    batch = make_batch(sources, sources, special)
    beam = Beam(size=1)
    limits = limits_for(beam, batch.source_is_real.sum(1), model.target_limit)
    state = start(model, batch.source, batch.source_is_real)
    found = beam_search(model.decoder, state, beam, limits, begin, end, [Forbid([0, begin])])
    right = sum(best.tokens == list(string[::-1]) for string, (best, *_) in zip(sources, found, strict=True))
    assert right >= 0.98 * len(sources)


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_tied_matrices_are_one(tie: str) -> None:
    model = build_transformer(TransformerConfig(**SIZES, tie=tie), 11, 11)
    source, target = model.encoder.embedding.table.weight, model.decoder.embedding.table.weight
    assert (source is target) == (tie == "all")
    assert (model.decoder.output.weight is target) == (tie != "none")
    assert (model.decoder.output.bias is None) == (tie != "none")


def test_limits_are_those_of_learned_positions() -> None:
    learned, sinusoidal = make_model("learned"), make_model("default")
    assert (learned.source_limit, learned.target_limit) == (19, 19)
    assert (sinusoidal.source_limit, sinusoidal.target_limit) == (None, None)
    tables = [module for module in learned.modules() if isinstance(module, LearnedPositions)]
    assert len({id(table.weight) for table in tables}) == 2


def test_dropout_acts_in_training_alone_and_each_rate_where_it_says() -> None:
    source, is_real, target = sentences()
    for place in ("embedding", "attention", "activation", "residual"):
        config = TransformerConfig(**SIZES, dropout=0.0, **{f"{place}_dropout": 0.5})
        model = build_transformer(config, SOURCE_VOCABULARY, TARGET_VOCABULARY)
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.3)
        dropped = [at_once(model.train(), source, is_real, target) for _ in range(2)]
        plain = [at_once(model.eval(), source, is_real, target) for _ in range(2)]
        assert not torch.allclose(*dropped)
        assert_close(*plain)
    model = build_transformer(TransformerConfig(**SIZES, dropout=0.0), SOURCE_VOCABULARY, TARGET_VOCABULARY).train()
    assert_close(at_once(model, source, is_real, target), at_once(model.eval(), source, is_real, target))


def test_every_parameter_learns() -> None:
    source, is_real, target = sentences()
    for name in CONFIGS:
        model = make_model(name).train()
        at_once(model, source, is_real, target).square().sum().backward()
        for parameter_name, parameter in model.named_parameters():
            assert parameter.grad is not None and parameter.grad.isfinite().all(), (name, parameter_name)
            assert (parameter.grad != 0).any(), (name, parameter_name)


def test_vocabularies_of_different_sizes_cannot_share_a_matrix() -> None:
    with pytest.raises(ConfigError, match=r'model\.tie = "all".*11 tokens and the target 13.*set tokenizer\.shared'):
        build_transformer(TransformerConfig(**SIZES, tie="all"), 11, 13)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"decoder_layers": 0}, "decoder_layers must be at least 1"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
        ({"attention_dropout": -0.1}, "attention_dropout must be at least 0 and below 1"),
        ({"dim": 13}, "dim 13 is not a multiple of heads 3: set key_dim and value_dim"),
        ({"positions": "rotary", "key_dim": 5}, "rotary positions need an even key_dim, not 5"),
        ({"key_dim": 0}, "key_dim must be at least 1"),
        ({"value_dim": -2}, "value_dim must be at least 1"),
    ],
)
def test_settings_that_make_no_model_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**{**SIZES, **wrong})
