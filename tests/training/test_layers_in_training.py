"""Layers computed again give the same gradients and keep less; compiled ones are compiled once for all sizes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import transduce
from transduce.models.bert import BertConfig
from transduce.models.causal import CausalTransformerConfig
from transduce.models.families import build_model
from transduce.models.heads import EncoderModel
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import TransformerConfig
from transduce.models.transformer_encoder import TransformerEncoderConfig
from transduce.models.transformer_xl import TransformerXLConfig
from transduce.models.xlnet import XLNetConfig
from transduce.training.layers_in_training import recompute_layers

VOCABULARY, ROWS, TIME = 11, 4, 30
SMALL: dict[str, Any] = {"dim": 16, "heads": 4, "layers": 3, "feed_forward_dim": 64, "dropout": 0.2}
WRITERS = (TransformerConfig, CausalTransformerConfig, TransformerXLConfig, XLNetConfig, RecurrentConfig)
READERS = (BertConfig, TransformerEncoderConfig)


def kept_and_gradients(family: Any, recompute: bool) -> tuple[int, list[Tensor]]:
    """The bytes that a training pass keeps for the backward pass, and the gradients, all of the same seeds."""
    torch.manual_seed(1)
    names = family.__struct_fields__
    model = build_model(
        family(**{name: value for name, value in SMALL.items() if name in names}), VOCABULARY, VOCABULARY
    )
    if recompute:
        recompute_layers(model)
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    torch.manual_seed(2)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        outputs = read(model.train())
    outputs.square().sum().backward()
    return sum(kept.values()), [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


def read(model: nn.Module) -> Tensor:
    tokens = torch.arange(ROWS * TIME).view(ROWS, TIME) % VOCABULARY
    is_real = torch.ones_like(tokens, dtype=torch.bool)
    if isinstance(model, EncoderModel):
        return model(tokens, torch.zeros_like(tokens), is_real)
    return model.decoder.read(tokens, model.start(model.encode(tokens, is_real)))[0]


@pytest.mark.parametrize("family", [*WRITERS, *READERS], ids=lambda family: family.__name__)
def test_gradients_are_the_same_and_less_is_kept(family: Any) -> None:
    whole, gradients = kept_and_gradients(family, recompute=False)
    less, again = kept_and_gradients(family, recompute=True)
    assert len(gradients) == len(again) and all(map(torch.equal, gradients, again))
    assert less < whole * (0.9 if family is RecurrentConfig else 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_run_with_it_is_the_run_without(recipe_file: Path, tmp_path: Path, precision: str) -> None:
    weights = []
    for checkpointing in (False, True):
        changes = {"training.updates": 4, "training.precision": precision, "training.moving_average": 0.5}
        changes |= {"training.activation_checkpointing": checkpointing, "checkpoint.every_updates": 4}
        run = tmp_path / str(checkpointing)
        transduce.train(recipe_file, run, overrides=changes)
        weights.append((run / "model" / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]


COMPILE = """
import copy, json, sys
from functools import partial
import torch
from torch._dynamo.utils import counters
from transduce.models.families import build_model
from transduce.models.causal import CausalTransformerConfig
from transduce.models.transformer import TransformerConfig
from transduce.training.layers_in_training import compile_layers

torch.compile = partial(torch.compile, backend="eager")  # graphs count, not their code
torch.manual_seed(1)
plain = build_model(eval(sys.argv[1])(dim=16, heads=4, feed_forward_dim=64, dropout=0.0, **eval(sys.argv[2])), 11, 11)
compiled = copy.deepcopy(plain)
compile_layers(compiled)


def loss_of(model, time):
    tokens = torch.arange(4 * time).view(4, time) % 11
    is_real = torch.ones_like(tokens, dtype=torch.bool)
    is_real[1:, time - 3 :] = False
    return model.decoder.read(tokens[:, :-1], model.start(model.encode(tokens, is_real)))[0].square().sum()


graphs = []
for time in (9, 12, 17, 23, 31, 33, 38):
    losses = [loss_of(model, time) for model in (plain, compiled)]
    torch.testing.assert_close(*losses)
    losses[1].backward()
    graphs.append(counters["stats"]["unique_graphs"])
with torch.no_grad():  # a search, say, compiles nothing more
    loss_of(compiled, 5)
print(json.dumps([*graphs, counters["stats"]["unique_graphs"]]))
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("family", "layers"),
    [("TransformerConfig", {"encoder_layers": 2, "decoder_layers": 2}), ("CausalTransformerConfig", {"layers": 2})],
)
def test_compiled_layers_are_not_compiled_again_for_other_sizes(family: str, layers: dict[str, int]) -> None:
    """In a process of its own, since types are checked in the tests'."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, family, str(layers)], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    graphs = json.loads(done.stdout)
    assert 0 < graphs[1] == graphs[-2] == graphs[-1]
