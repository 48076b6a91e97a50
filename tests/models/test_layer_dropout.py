"""LayerDrop skips layers in training alone, each by itself, at the rate that is asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from toy_models import SOURCE_VOCABULARY, TARGET_VOCABULARY, make_model, sentences, transformer

import transduce
from transduce.experiment import load_recipe
from transduce.models.causal import CausalTransformerConfig
from transduce.models.families import ModelConfig, build_model
from transduce.models.transformer_encoder import TransformerEncoderConfig
from transduce.nn.layers import LayerDropout, every_layer
from transduce.task_table import find_task
from transduce.training.trainer import Trainer

SIZES = {"dim": 12, "heads": 3, "feed_forward_dim": 17, "dropout": 0.0}
STACKS: dict[str, Callable[[float], ModelConfig]] = {
    "encoder and decoder": lambda rate: transformer(
        encoder_layers=3, decoder_layers=3, dropout=0.0, layer_dropout=rate
    ),
    "language model": lambda rate: CausalTransformerConfig(layers=3, layer_dropout=rate, **SIZES),
    "encoder of texts": lambda rate: TransformerEncoderConfig(layers=3, layer_dropout=rate, **SIZES),
}


def build(stack: str, rate: float) -> nn.Module:
    torch.manual_seed(3)
    return build_model(STACKS[stack](rate), SOURCE_VOCABULARY, TARGET_VOCABULARY)


def outputs(model: nn.Module) -> Tensor:
    """What the model makes of a few tokens."""
    torch.manual_seed(5)
    source, target = torch.randint(3, 11, (2, 5)), torch.randint(3, 11, (2, 7))
    is_real = torch.ones_like(source, dtype=torch.bool)
    if hasattr(model, "decoder"):
        return model.decoder(target, model.start(model.encode(source, is_real)))[0]
    return model.encoder(source, torch.zeros_like(source), is_real).hidden


def layers_of(model: nn.Module) -> dict[nn.Module, nn.ModuleList]:
    """The layers of each stack, by what skips them."""
    stacks = [module for module in model.modules() if isinstance(getattr(module, "layer_dropout", None), nn.Module)]
    return {stack.layer_dropout: stack.layers for stack in stacks}


@pytest.mark.parametrize("stack", STACKS)
def test_off_nothing_is_drawn_and_translation_reads_every_layer(stack: str) -> None:
    plain, dropping = build(stack, 0.0), build(stack, 0.9)
    assert plain.state_dict().keys() == dropping.state_dict().keys()
    assert_close(outputs(plain.train()), outputs(dropping.eval()))
    torch.manual_seed(11)
    before = torch.get_rng_state()
    for dropout in layers_of(plain):
        assert not dropout.skips()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("stack", STACKS)
def test_a_layer_that_is_skipped_is_as_if_it_were_not_there(stack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, kept = build(stack, 0.5).train(), {0, 2}
    for dropout, layers in layers_of(model).items():
        turns = iter([number not in kept for number in range(len(layers))])
        monkeypatch.setattr(dropout, "skips", lambda turns=turns: next(turns))
    found = outputs(model)
    shorter = build(stack, 0.0).train()
    for module in shorter.modules():
        if isinstance(getattr(module, "layers", None), nn.ModuleList):
            module.layers = nn.ModuleList([layer for number, layer in enumerate(module.layers) if number in kept])
    assert_close(found, outputs(shorter))
    assert not torch.equal(found, outputs(build(stack, 0.0)))


def test_layers_are_skipped_as_often_as_asked_and_independently() -> None:
    torch.manual_seed(2)
    dropout = LayerDropout(0.3).train()
    drawn = torch.tensor([[dropout.skips() for _ in range(2)] for _ in range(4000)]).float()
    assert_close(drawn.mean(0), torch.tensor([0.3, 0.3]), rtol=0, atol=0.03)
    assert abs(float(torch.corrcoef(drawn.T)[0, 1])) < 0.06


def test_the_memory_check_reads_every_layer(recipe_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, check = [], Trainer._check_memory

    def watched(trainer: Trainer) -> None:
        skips = LayerDropout.skips

        def told(dropout: LayerDropout) -> bool:
            asked.append(skips(dropout))
            return asked[-1]

        with monkeypatch.context() as patch:
            patch.setattr(LayerDropout, "skips", told)
            check(trainer)

    monkeypatch.setattr(Trainer, "_check_memory", watched)
    changes = ["model.layer_dropout=0.9", "training.updates=2"]
    transduce.train(load_recipe(str(recipe_file), changes), tmp_path / "run")
    assert asked
    assert not any(asked)


def test_rates_come_back_after_every_layer_was_asked_for() -> None:
    model = build("language model", 0.4).train()
    with pytest.raises(MemoryError), every_layer(model):
        assert [dropout.rate for dropout in layers_of(model)] == [0.0]
        raise MemoryError
    assert [dropout.rate for dropout in layers_of(model)] == [0.4]


def test_a_first_token_has_one_of_the_learned_positions() -> None:
    for first_token, limit in ((None, 19), (2, 18)):
        model = make_model(transformer(positions="learned", first_token=first_token))
        assert model.target_limit == limit
        source, is_real, _ = sentences()
        state = model.start(model.encode(source, is_real))
        model.decoder(torch.zeros(len(source), limit, dtype=torch.int64), state)  # as many as are promised


@pytest.mark.parametrize("first_token", [None, 2])
def test_a_sentence_is_read_token_by_token_by_the_layers_that_read_it_at_once(first_token: int | None) -> None:
    config = transformer(encoder_layers=3, decoder_layers=3, dropout=0.0, layer_dropout=0.5, first_token=first_token)
    torch.manual_seed(3)
    model = build_model(config, SOURCE_VOCABULARY, TARGET_VOCABULARY).train()
    source, target = torch.randint(3, 11, (2, 5)), torch.randint(3, 11, (2, 7))
    read_by = set()
    for seed in range(8):
        memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
        torch.manual_seed(seed)
        whole, after = model.decoder(target, model.start(memory))
        torch.manual_seed(seed)
        state, steps = model.start(memory), []
        for token in target.split(1, 1):
            step, state = model.decoder(token, state)
            steps.append(step)
        assert_close(torch.cat(steps, 1), whole)
        read_by.add(after.skips)
    assert len(read_by) > 3


@pytest.mark.parametrize("recipe", ["multi30k", "shakespeare"])
def test_the_settings_go_with_scheduled_sampling(recipe: str) -> None:
    changes = ["model.layer_dropout=0.1", "training.teacher_forcing.last=0.5"]
    config: Any = load_recipe(recipe, changes).config
    find_task(config.task).check(config)
