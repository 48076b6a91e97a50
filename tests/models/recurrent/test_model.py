"""What the recurrent family promises beyond what every family does."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.testing import assert_close
from toy_models import (
    CONFIGS,
    EQUAL,
    LENGTHS,
    RECURRENT,
    TIME,
    at_once,
    make_model,
    recurrent,
    sentences,
)

import transduce
from transduce.base.errors import Interrupted
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.batch import Batch
from transduce.experiment import load_recipe
from transduce.models.families import build_model
from transduce.models.recurrent.recurrent_attention import (
    BahdanauAttentionConfig,
    HardAttentionConfig,
    LocalAttentionConfig,
    LuongAttentionConfig,
    NoAttentionConfig,
)
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.nn.recording import record_attention
from transduce.objectives.next_token import NextToken
from transduce.training.observers import Observer

NAMES = [name for name, config in CONFIGS.items() if isinstance(config, RecurrentConfig)]
ATTENTIONS = {
    "none": "{kind='none'}",
    "bahdanau": "{kind='bahdanau', score_dim=7}",
    "luong": "{kind='luong', input_feeding=true}",
    "local": "{kind='local', window=3}",
    "hard": "{kind='hard'}",
}


def batch() -> Batch:
    source, is_real, target = sentences()
    return Batch(source, is_real, target, target.roll(-1, 1), torch.ones_like(target, dtype=torch.bool))


@pytest.mark.parametrize("name", [name for name in NAMES if "thought" not in name and name != "local, predictive"])
@torch.no_grad()
def test_weights_sum_to_one(name: str) -> None:
    model, (source, is_real, target) = make_model(CONFIGS[name]), sentences()
    with record_attention(model) as tape:
        at_once(model, source, is_real, target)
    weights = torch.cat(tape["decoder.attention"], 2)
    assert weights.shape == (len(LENGTHS), 1, TIME, max(LENGTHS))
    assert_close(weights.sum(-1), torch.ones(len(LENGTHS), 1, TIME))
    assert ((weights == 1) | (weights == 0)).all() == (name == "hard")


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_learns(name: str) -> None:
    model = make_model(CONFIGS[name]).train()
    NextToken(0.1)(model, batch(), {"baseline": torch.tensor(-9.0)}).total.backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), parameter_name
        assert (parameter.grad != 0).any(), parameter_name


@torch.no_grad()
def test_a_source_read_backwards_is_the_reversed_source_read_forwards_and_laid_back() -> None:
    source, is_real, _ = sentences()
    models = [
        make_model(recurrent(bidirectional=False, reverse_source=is_reversed, encoder_layers=2))
        for is_reversed in (True, False)
    ]
    turned = source.clone()
    for row, length in enumerate(LENGTHS):
        turned[row, :length] = source[row, :length].flip(0)
    backwards, forwards = models[0].encode(source, is_real), models[1].encode(turned, is_real)
    assert_close(backwards.final, forwards.final)
    for row, length in enumerate(LENGTHS):
        assert_close(backwards.hidden[row, :length], forwards.hidden[row, :length].flip(0))


@torch.no_grad()
def test_bahdanaus_step_is_the_papers_with_a_tanh_readout() -> None:
    """Appendix A of the paper, with PyTorch's own cell, one sentence and one step at a time."""
    model, (source, is_real, target) = make_model(CONFIGS["bahdanau"]), sentences()
    decoder, score = model.decoder, model.decoder.attention.score
    rnn, table = decoder.layers.layers[0].rnn, decoder.embedding[0]
    cell = nn.GRUCell(rnn.input_size, rnn.hidden_size)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(cell, name).copy_(getattr(rnn, f"{name}_l0"))
    logits = at_once(model, source, is_real, target)
    for row, length in enumerate(LENGTHS):
        memory = model.encode(source[row : row + 1, :length], is_real[row : row + 1, :length])
        h, s = memory.hidden[0], torch.tanh(model.bridge.linear(memory.final[0, 0, 0]))
        for time, token in enumerate(target[row]):
            energies = score.energy(torch.tanh(score.query(s) + score.key(h)))[:, 0]
            context = energies.softmax(0) @ h
            s = cell(torch.cat([table(token), context])[None], s[None])[0]
            readout = torch.tanh(decoder.readout.linear(torch.cat([s, context, table(token)])))
            assert_close(logits[row, time], decoder.output(readout), rtol=1e-4, atol=1e-5)


def test_dropout_acts_in_training_alone_and_each_rate_where_it_says() -> None:
    source, is_real, target = sentences()
    for place in ("embedding", "layer", "readout"):
        model = make_model(recurrent(dropout=0.0, **{f"{place}_dropout": 0.5}))
        plain = [at_once(model.eval(), source, is_real, target) for _ in range(2)]
        dropped = [at_once(model.train(), source, is_real, target) for _ in range(2)]
        assert_close(*plain)
        assert not torch.allclose(*dropped)
    model = make_model(recurrent(dropout=0.0))
    assert_close(at_once(model.train(), source, is_real, target), at_once(model.eval(), source, is_real, target))


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_tied_matrices_are_one(tie: str) -> None:
    model: Any = build_model(recurrent(tie=tie), 11, 11)
    source, target = model.encoder.embedding[0].weight, model.decoder.embedding[0].weight
    assert (source is target) == (tie == "all")
    assert (model.decoder.output.weight is target) == (tie != "none")


class Stop(Observer):
    """An observer that asks for a stop as Ctrl-C does."""

    def report(self, report: Any) -> None:
        if report.update == 2:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name == "hard" else pytest.param(name, marks=pytest.mark.slow) for name in ATTENTIONS]
)
@pytest.mark.usefixtures("unchecked_axes")
def test_resumed_is_uninterrupted_and_a_bundle_gives_back_its_model(
    name: str, recipe_file: Path, tmp_path: Path
) -> None:
    model = f"model={{kind='recurrent', dim=8, encoder_dim=5, decoder_dim=7, attention={ATTENTIONS[name]}}}"
    changes = [model, "training.updates=4", "training.report_every=1", "training.teacher_forcing={last=0.5}"]
    recipe = load_recipe(str(recipe_file), [*changes, "validation.every_updates=4", "search.size=1"])
    alone, run = tmp_path / "left alone", tmp_path / "stopped"
    transduce.train(recipe, alone)
    with pytest.raises(Interrupted):
        transduce.train(recipe, run, observers=[Stop()])
    transduce.train(recipe, run, resume=True)
    expected, found = (load_file(folder / "model" / "weights.safetensors") for folder in (alone, run))
    assert all(torch.equal(tensor, found[name]) for name, tensor in expected.items())
    first = ModelBundle.load(run)
    first.save(tmp_path / "again", [("The dog sleeps.", "Der Hund schläft.")])
    text = ["The old man buys a red car.", "I see the dog."]
    assert transduce.load(run).translate(text) == transduce.load(tmp_path / "again").translate(text)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"decoder_layers": 0}, "decoder_layers must be from 1 to 1,000"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
        ({"reverse_source": True}, "reverse_source is for an encoder of one direction: set bidirectional = false"),
        ({"bridge": "copy"}, r"the encoder has 1 x 10 \(directions times encoder_dim\), the decoder 1 x 7"),
        ({"bridge": "zero", "attention": NoAttentionConfig()}, "keeps the source from the decoder"),
        ({"attention": LuongAttentionConfig(score="dot")}, "the dot score needs decoder_dim, 7, to be .* 10"),
        ({"uniform_bound": 0.1}, "uniform_bound is for initialization = uniform alone"),
    ],
)
def test_settings_that_make_no_model_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RecurrentConfig(**{**RECURRENT, **wrong})
    assert RecurrentConfig(**{**RECURRENT, **EQUAL, "bridge": "copy", "attention": LuongAttentionConfig(score="dot")})


@pytest.mark.parametrize("kind", [LuongAttentionConfig, LocalAttentionConfig, HardAttentionConfig])
def test_a_width_without_a_hidden_layer_is_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match="score_dim is for the score concat; general has no hidden layer"):
        kind(score_dim=3)
    with pytest.raises(ValueError, match="score_dim must be from 1"):
        kind(score="concat", score_dim=0)
    with pytest.raises(ValueError, match="score_dim must be from 1"):
        BahdanauAttentionConfig(score_dim=0)
    with pytest.raises(ValueError, match="window must be from 1"):
        LocalAttentionConfig(window=0)
