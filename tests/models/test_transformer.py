from collections.abc import Sequence
from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close
from toy_models import (
    CONFIGS,
    LENGTHS,
    SOURCE_VOCABULARY,
    TARGET_VOCABULARY,
    TIME,
    at_once,
    make_model,
    sentences,
    start,
)
from toy_models import TRANSFORMER as SIZES

from transduce.models.transformer import TransformerConfig, build_transformer
from transduce.nn.attention import MultiHeadAttention, fast_attention
from transduce.nn.positions import LearnedPositions, Span
from transduce.nn.recording import record_attention
from transduce.search.beam import Beam
from transduce.search.loop import SearchProblem
from transduce.search.rules import SuppressTokens
from transduce.search.search_settings import limits_for

NAMES = [name for name in CONFIGS if name.startswith("transformer")]


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_recorded_equals_plain_and_weights_sum_to_one_over_allowed_keys(name: str) -> None:
    model, (source, is_real, target) = make_model(CONFIGS[name]), sentences()
    plain = at_once(model, source, is_real, target)
    with record_attention(model) as tape:
        recorded = at_once(model, source, is_real, target)
    assert_close(recorded, plain, rtol=1e-4, atol=1e-5)
    assert_close(at_once(model, source, is_real, target), plain, rtol=0, atol=0)
    in_decoder = 2 if CONFIGS[name].decoder_recurrence == "none" else 1
    assert len(tape) == len(model.encoder.layers) + in_decoder * len(model.decoder.layers)
    causal = torch.ones(TIME, TIME, dtype=torch.bool).tril()
    for module, (weights,) in tape.items():
        may_attend = is_real[:, None, None] if "encoder" in module or "cross" in module else causal
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        assert (weights.masked_fill(may_attend, 0) == 0).all()
        assert (weights > 0).logical_or(~may_attend).all()


def test_attention_is_fast_again_after_an_error_under_the_recorder() -> None:
    model, (source, is_real, _) = make_model(CONFIGS["transformer"]), sentences()
    with pytest.raises(IndexError), record_attention(model):
        at_once(model, source, is_real, torch.full((len(LENGTHS), TIME), TARGET_VOCABULARY))
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert len(attentions) == 5
    assert all(module.kernel is fast_attention for module in attentions)


@torch.no_grad()
def test_a_model_as_marian_has_it_computes_marians_formulas() -> None:
    """Written out anew for one sentence: sinusoids of its own, post-norm, an SSRU, and zeros for the first input."""
    config = CONFIGS["transformer, as marian"]
    model, (source, is_real, target) = make_model(config), sentences()
    weights = model.state_dict()
    half = config.dim // 2
    rates = 10000.0 ** (-torch.arange(half) / (half - 1))

    def layer(x: Tensor, name: str) -> Tensor:
        return functional.linear(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"))

    def embed(rows: Tensor) -> Tensor:
        angles = torch.arange(len(rows))[:, None] * rates
        return rows + torch.cat([angles.sin(), angles.cos()], -1)

    def add(x: Tensor, output: Tensor, name: str) -> Tensor:
        return functional.layer_norm(
            x + output, (config.dim,), weights[f"{name}.norm.weight"], weights[f"{name}.norm.bias"]
        )

    def attend(x: Tensor, memory: Tensor, name: str) -> Tensor:
        keys, values = layer(memory, f"{name}.key_value").chunk(2, -1)
        split = [y.unflatten(-1, (config.heads, -1)).transpose(0, 1) for y in (layer(x, f"{name}.query"), keys, values)]
        scores = split[0] @ split[1].transpose(1, 2) / (config.dim // config.heads) ** 0.5
        return layer((scores.softmax(-1) @ split[2]).transpose(0, 1).flatten(1), f"{name}.output")

    def feed(x: Tensor, name: str) -> Tensor:
        return layer(layer(x, f"{name}.feed_forward.inner").relu(), f"{name}.feed_forward.output")

    table = weights["decoder.embedding.table.weight"]
    memory = embed(table[source[0, : LENGTHS[0]]] * config.dim**0.5)
    for number in range(config.encoder_layers):
        name = f"encoder.layers.{number}"
        memory = add(memory, attend(memory, memory, f"{name}.attention.attention"), f"{name}.around_attention")
        memory = add(memory, feed(memory, name), f"{name}.around_feed_forward")
    x = embed(torch.cat([torch.zeros(1, config.dim), table[target[0, 1:]] * config.dim**0.5]))
    for number in range(config.decoder_layers):
        name = f"decoder.layers.{number}"
        cell, outputs = torch.zeros(config.dim), []
        for y in x:
            forget = layer(y, f"{name}.recurrence.forget").sigmoid()
            cell = forget * cell + (1 - forget) * layer(y, f"{name}.recurrence.candidate")
            outputs.append(cell.relu())
        x = add(x, torch.stack(outputs), f"{name}.around_recurrence")
        x = add(x, attend(x, memory, f"{name}.cross_attention"), f"{name}.around_cross_attention")
        x = add(x, feed(x, name), f"{name}.around_feed_forward")
    logits = x @ table.T + weights["decoder.output.bias"]
    assert_close(at_once(model, source, is_real, target)[0], logits, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_the_search_of_a_model_with_a_recurrence_finds_what_all_outputs_from_scratch_say() -> None:
    """A beam that holds all hypotheses of three tokens, against the scores of every output, each read from scratch."""
    model, (source, is_real, _) = make_model(CONFIGS["transformer, recurrence"]), sentences()
    end, begin, longest = 2, 1, 3
    beam = Beam(size=TARGET_VOCABULARY**2, n_best=5, length_penalty=0, max_ratio=0, max_extra=longest)
    limits = limits_for(beam, is_real.sum(1), None)
    outputs = beam.find(
        SearchProblem(model.decoder, start(model, source, is_real), limits, begin, end, [SuppressTokens([])])
    )
    others = [token for token in range(TARGET_VOCABULARY) if token != end]
    texts = [text for length in range(longest) for text in product(others, repeat=length)]
    for row, hypotheses in enumerate(outputs):
        one = slice(row, row + 1)
        scores: dict[tuple[int, ...], float] = {}
        for length in range(longest):
            ending = torch.tensor([[begin, *text, end] for text in texts if len(text) == length])
            read = start(model, source[one].expand(len(ending), -1), is_real[one].expand(len(ending), -1))
            log_probabilities = model.decoder(ending[:, :-1], read)[0].log_softmax(-1)
            total = log_probabilities.gather(2, ending[:, 1:, None])[..., 0].sum(1)
            scores |= {tuple(text[1:-1]): score for text, score in zip(ending.tolist(), total.tolist(), strict=True)}
        best = sorted(scores.items(), key=lambda item: -item[1])[:5]
        assert [tuple(hypothesis.tokens) for hypothesis in hypotheses] == [text for text, _ in best]
        assert_close(
            torch.tensor([hypothesis.log_probability for hypothesis in hypotheses]),
            torch.tensor([score for _, score in best]),
            rtol=1e-4,
            atol=1e-4,
        )


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_stack_of_pytorchs_layers_with_the_same_weights_gives_the_same(norm: str, activation: str) -> None:
    torch.manual_seed(3)
    config = TransformerConfig(**{**SIZES, "encoder_layers": 2}, norm=norm, activation=activation)
    model = build_transformer(config, SOURCE_VOCABULARY, TARGET_VOCABULARY).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    source, is_real, target = sentences()
    shape = {"d_model": 12, "nhead": 3, "dim_feedforward": 17, "dropout": 0.0, "batch_first": True}
    shape |= {"activation": activation, "norm_first": norm == "pre"}

    memory = model.encoder.embedding(source, Span(0, source.shape[1]))
    for layer in model.encoder.layers:
        theirs = nn.TransformerEncoderLayer(**shape)
        copy_attention(theirs.self_attn, layer.attention.attention)
        copy_rest(theirs, layer.feed_forward, [layer.around_attention, layer.around_feed_forward])
        memory = theirs(memory, src_key_padding_mask=~is_real)
    memory = model.encoder.norm(memory)
    assert_close(model.encode(source, is_real).hidden[is_real], memory[is_real], rtol=1e-5, atol=1e-5)

    hidden = model.decoder.embedding(target, Span(0, target.shape[1]))
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


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_tied_matrices_are_one(tie: str) -> None:
    model = build_transformer(TransformerConfig(**SIZES, tie=tie), 11, 11)
    source, target = model.encoder.embedding.table.weight, model.decoder.embedding.table.weight
    assert (source is target) == (tie == "all")
    assert (model.decoder.output.weight is target) == (tie != "none")
    assert (model.decoder.output.bias is None) == (tie != "none")


def test_limits_are_those_of_learned_positions() -> None:
    learned, sinusoidal = make_model(CONFIGS["transformer, learned positions"]), make_model(CONFIGS["transformer"])
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
    for name in NAMES:
        model = make_model(CONFIGS[name]).train()
        at_once(model, source, is_real, target).square().sum().backward()
        for parameter_name, parameter in model.named_parameters():
            assert parameter.grad is not None and parameter.grad.isfinite().all(), (name, parameter_name)
            assert (parameter.grad != 0).any(), (name, parameter_name)
