"""No setting of a family is ignored: each changes what a model is, computes or forgets, or is refused."""

from functools import cache
from itertools import permutations
from typing import Any, get_args

import msgspec
import pytest
import torch
from torch import Tensor

from transduce.base.config import convert
from transduce.base.errors import ConfigError
from transduce.bundle.bundle_config import BundleConfig
from transduce.models.bert import BertConfig
from transduce.models.causal import CausalTransformerConfig
from transduce.models.families import ModelConfig, PhrasesConfig, build_model
from transduce.models.heads import EncoderModel
from transduce.models.recurrent.recurrent_attention import LuongAttentionConfig
from transduce.models.transformer import TransformerConfig
from transduce.models.transformer_encoder import TransformerEncoderConfig
from transduce.models.xlnet import XLNetConfig

VOCABULARY, ROWS, TIME = 11, 3, 9
SMALL: dict[str, Any] = {"dim": 12, "heads": 6, "feed_forward_dim": 17, "max_positions": 19, "memory": 3}
LAYERS = {"layers": 2, "encoder_layers": 1, "decoder_layers": 2}
FAMILIES = [family for family in get_args(ModelConfig) if family is not PhrasesConfig]
OTHERS: dict[str, Any] = {
    "attention": LuongAttentionConfig(),
    "bridge": "zero",
    "cutoffs": (4, 7),
    "first_token": 5,
    "heads": 3,
    "key_dim": 4,
    "kv_heads": 2,
    "max_positions": 38,
    "norm_epsilon": 0.5,
    "value_dim": 5,
    "word_dropout": 0.5,
}
"""Values of settings that differ from the default."""
WITH: dict[str, dict[str, Any]] = {
    "reverse_source": {"bidirectional": False},
    "uniform_bound": {"initialization": "uniform"},
    "max_positions": {"positions": "learned"},
    "narrowing": {"cutoffs": (4, 7)},
    "variational_dropout": {"dropout": 0.5},
}
"""Settings without which one has no part in a model."""
LEFT_OUT = {(XLNetConfig, "predicted"), (XLNetConfig, "max_span"), (BertConfig, "size")}
"""Settings of the objective, and the one that stands for several that the small model has."""


EACH_SETTING = [
    (family, name) for family in FAMILIES for name in family.__struct_fields__ if (family, name) not in LEFT_OUT
]


def other(family: Any, name: str) -> Any:
    """A value that is not what the small model has."""
    field = next(field for field in msgspec.structs.fields(family) if field.name == name)
    now = SMALL.get(name, LAYERS.get(name, field.default))
    if isinstance(now, bool):
        return not now
    if name in OTHERS:
        return OTHERS[name]
    if choices := [value for value in get_args(field.type) if isinstance(value, str) and value != now]:
        return choices[0]
    return 0.5 if now is None or isinstance(now, float) else 2 * now


def prints(family: Any, **changes: Any) -> list[Tensor]:
    """The weights of a model, and what it computes: in training, for a seed, and afterwards."""
    names = family.__struct_fields__
    config = family(**{name: value for name, value in {**SMALL, **LAYERS, **changes}.items() if name in names})
    torch.manual_seed(1)
    model = build_model(config, VOCABULARY, VOCABULARY)
    found = [parameter.detach().clone() for parameter in model.parameters()]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    tokens = torch.arange(ROWS * TIME).view(ROWS, TIME) % VOCABULARY
    is_real = torch.ones_like(tokens, dtype=torch.bool)
    for trains in (True, False):
        model.train(trains)
        torch.manual_seed(2)
        if isinstance(model, EncoderModel):
            found.append(model(tokens, torch.zeros_like(tokens), is_real).detach())
        else:
            found.append(model.decoder(tokens, model.start(model.encode(tokens, is_real)))[0].detach())
    return found


@cache
def prints_of_defaults(family: Any, beside: tuple[tuple[str, Any], ...]) -> list[Tensor]:
    """The same each time, or no difference tells anything."""
    found = prints(family, **dict(beside))
    assert are_same(found, prints(family, **dict(beside)))
    return found


def are_same(first: list[Tensor], second: list[Tensor]) -> bool:
    return [one.shape for one in first] == [one.shape for one in second] and all(map(torch.equal, first, second))


@pytest.mark.usefixtures("unchecked_axes")  # which the families' own tests check
@pytest.mark.parametrize(("family", "name"), EACH_SETTING, ids=lambda part: getattr(part, "__name__", part))
def test_every_setting_of_a_family_changes_its_model(family: Any, name: str) -> None:
    beside = WITH.get(name, {})
    changed = prints(family, **beside, **{name: other(family, name)})
    assert not are_same(prints_of_defaults(family, tuple(beside.items())), changed)


def test_no_familys_settings_extend_anothers_as_which_it_would_be_built_and_exported() -> None:
    assert not [(one, other) for one, other in permutations(FAMILIES, 2) if issubclass(one, other)]


@pytest.mark.parametrize("kind", ["transformer-xl", "xlnet", "bert", "recurrent", "recurrent-language"])
def test_grouped_queries_are_unknown_to_families_without_them(kind: str) -> None:
    tree = {"model": {"kind": kind, "kv_heads": 2}}
    with pytest.raises(ConfigError, match="unknown key 'kv_heads'"):
        convert(tree, BundleConfig, "recipe")


@pytest.mark.parametrize("family", [TransformerConfig, CausalTransformerConfig, TransformerEncoderConfig])
def test_heads_that_groups_do_not_share_evenly_are_an_error(family: Any) -> None:
    with pytest.raises(ValueError, match="heads 6 is not a multiple of kv_heads 4"):
        family(heads=6, dim=12, kv_heads=4)
