"""Low-rank adapters: a frozen layer and a narrow product beside it, and the same as one layer."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from toy_models import CONFIGS, SOURCE_VOCABULARY, TARGET_VOCABULARY

from transduce.base.errors import ConfigError
from transduce.models.adapters import AdaptersConfig, add_adapters, without_adapters
from transduce.models.families import build_model
from transduce.models.heads import ClassHeadConfig, HeadConfig, WordHeadConfig
from transduce.models.transformer import TransformerConfig
from transduce.models.transformer_encoder import TransformerEncoderConfig
from transduce.nn.low_rank import LowRankLinear, merge_weights

INPUTS, OUTPUTS, RANK = 7, 5, 2


def adapted(bias: bool = True, dropout: float = 0.0) -> tuple[nn.Linear, LowRankLinear]:
    torch.manual_seed(1)
    linear = nn.Linear(INPUTS, OUTPUTS, bias=bias)
    layer = LowRankLinear(linear, RANK, 1.5, dropout)
    return linear, layer


@pytest.mark.parametrize("bias", [True, False])
def test_it_begins_as_the_layer_and_then_adds_a_scaled_product(bias: bool) -> None:
    linear, layer = adapted(bias)
    inputs = torch.randn(2, 3, INPUTS)
    assert torch.equal(layer(inputs), linear(inputs))
    nn.init.normal_(layer.up)
    expected = linear(inputs) + 1.5 * inputs @ layer.down.T @ layer.up.T
    assert_close(layer(inputs), expected)
    assert_close(layer.merged()(inputs), expected)
    assert layer.merged().weight.data_ptr() != linear.weight.data_ptr()


def test_dropout_is_of_what_the_adapter_reads_alone() -> None:
    linear, layer = adapted(dropout=0.5)
    nn.init.normal_(layer.up)
    inputs = torch.randn(11, INPUTS)
    layer.eval()
    assert_close(layer(inputs), layer.merged()(inputs))
    layer.train()
    extra = layer(inputs) - linear(inputs)
    assert not torch.allclose(extra, layer(inputs) - linear(inputs))
    nn.init.zeros_(layer.up)
    assert torch.equal(layer(inputs), linear(inputs))


@pytest.mark.parametrize(
    "name", [name for name in CONFIGS if "bahdanau" in name or "transformer" in name or "fed" in name]
)
def test_merged_weights_are_those_of_the_merged_model(name: str) -> None:
    torch.manual_seed(2)
    config = AdaptersConfig(rank=2, alpha=3.0)
    shares = CONFIGS[name].tie == "all"
    model = build_model(CONFIGS[name], SOURCE_VOCABULARY, SOURCE_VOCABULARY if shares else TARGET_VOCABULARY)
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    add_adapters(model, config)
    learned = {key for key, parameter in model.named_parameters() if parameter.requires_grad}
    assert learned == {key for key, _ in model.named_parameters() if key.endswith((".up", ".down"))}
    for key, parameter in model.named_parameters():
        if key.endswith(".up"):
            nn.init.normal_(parameter)
    merged, weights = without_adapters(model).state_dict(), merge_weights(model.state_dict(), config.scale)
    assert merged.keys() == weights.keys() == before.keys()
    for key, tensor in merged.items():
        assert_close(weights[key], tensor)
    changed = {key for key in before if not torch.equal(before[key], merged[key])}
    assert changed == {key.replace(".up", ".weight") for key in learned if key.endswith(".up")}


def test_adapters_are_where_they_are_asked_for_and_errors_say_where_they_could_be() -> None:
    def build(**choices: object) -> nn.Module:
        sizes = TransformerConfig(encoder_layers=1, decoder_layers=1, dim=12, heads=3, feed_forward_dim=17)
        model = build_model(sizes, SOURCE_VOCABULARY, TARGET_VOCABULARY)
        add_adapters(model, AdaptersConfig(**choices))
        return model

    def places(model: nn.Module) -> set[str]:
        return {name for name, module in model.named_modules() if isinstance(module, LowRankLinear)}

    assert places(build(rank=2, layers=("cross_attention.query", "encoder.layers.0.feed_forward"))) == {
        "decoder.layers.0.cross_attention.query",
        "encoder.layers.0.feed_forward.inner",
        "encoder.layers.0.feed_forward.output",
    }
    assert "decoder.output" not in places(build(rank=2))
    with pytest.raises(
        ConfigError, match=r"layers: .* no linear layers in 'memory'; it has them in attention\.attention"
    ):
        build(layers=("memory",))
    with pytest.raises(ConfigError, match=r"rank = 13, but encoder\.layers\.0\..* has 12 inputs or outputs"):
        build(rank=13)


@pytest.mark.parametrize("head", [ClassHeadConfig(labels=("up", "down")), WordHeadConfig(next_sentence=False)])
def test_a_head_on_an_encoder_learns_too_but_for_what_it_shares(head: HeadConfig) -> None:
    config = TransformerEncoderConfig(layers=1, dim=12, heads=3, feed_forward_dim=17)
    model = build_model(config, SOURCE_VOCABULARY, SOURCE_VOCABULARY, head)
    add_adapters(model, AdaptersConfig(rank=2))
    learned = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    of_head = {name for name, _ in model.named_parameters() if name.startswith("head.")}
    assert of_head
    drawn = {"encoder.segments.weight"}  # no translation has taught them
    drawn |= {"encoder.pooler.weight", "encoder.pooler.bias"} if isinstance(head, ClassHeadConfig) else set()
    assert learned - drawn == of_head | {
        name for name, _ in model.named_parameters() if name.endswith((".up", ".down"))
    }
    assert learned >= drawn
    assert not model.encoder.table.weight.requires_grad
