"""Vectors and hidden states of every layer, for every model with an encoder, the source's of translation models too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
import torch
from transformers import AutoModel, AutoTokenizer

from bert_folder import write_bert
from toy_languages import settings, write_corpora
from transduce.apps.cli.main import app
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.experiment import load_recipe, train
from transduce.inference.text_encoder import Encoder
from transduce.models.families import build_encoder_model
from transduce.models.xlnet import XLNetConfig
from transduce.nn.recording import record_inputs

RECURRENT = {"kind": "recurrent", "dim": 4, "encoder_dim": 3, "decoder_dim": 6, "encoder_layers": 2}
MODELS: dict[str, dict[str, Any]] = {
    "post": {},
    "pre": {"norm": "pre", "encoder_layers": 3},
    "recurrent": RECURRENT,
    "reversed": RECURRENT | {"bidirectional": False, "reverse_source": True, "encoder_dim": 5},
}
TEXTS = ["Your uncles can eat bread.", "My dog sees the cat in the garden.", ""]


@pytest.fixture(scope="module", params=MODELS)
def translating(request: pytest.FixtureRequest, recipe_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    out = tmp_path_factory.mktemp(request.param) / "run"
    changes = {"model": MODELS[request.param], "training.updates": 1, "search": {"size": 1, "max_extra": 0}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSDUCE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        train(load_recipe(recipe_file, changes), out)
    return Encoder.load(out, "cpu")


def test_the_last_states_of_a_translation_model_are_its_memory(translating: Encoder) -> None:
    bundle = translating.bundle
    for text, states in zip(TEXTS, translating.hidden_states(TEXTS), strict=True):
        ids = torch.tensor([[*bundle.tokenizers.source.encode(text), bundle.special.source_eos]])
        with torch.inference_mode():
            memory = bundle.model.encode(ids, torch.ones_like(ids).bool()).hidden[0].numpy()  # type: ignore[operator]
        assert states.tokens == bundle.tokenizers.source.pieces(ids[0].tolist())
        np.testing.assert_allclose(states.layers[-1], memory, atol=1e-6)
        np.testing.assert_allclose(translating.embed(text, normalize=False), memory.mean(0), atol=1e-6)


def test_states_of_each_layer_are_those_that_the_next_one_reads(translating: Encoder) -> None:
    encoder: Any = translating.bundle.model.encoder
    states = translating.hidden_states(TEXTS[1])
    blocks = list(encoder.blocks)
    assert len(states.layers) == len(blocks)
    assert all(len(layer) == len(states.tokens) for layer in states.layers)
    is_real = torch.ones(1, len(states.tokens), dtype=torch.bool)
    for number, block in enumerate(blocks[1:]):
        reads = torch.from_numpy(states.layers[number])[None]
        if hasattr(block, "read_whole"):
            made = block.read_whole(reads, None)
            made = encoder.norm(made) if block is blocks[-1] else made
        else:
            reads = encoder.arranged_back(reads, is_real)
            made = encoder.arranged_back(block(reads, is_real)[0], is_real)
        np.testing.assert_allclose(states.layers[number + 1], made[0].detach().numpy(), atol=1e-5)


def test_padding_changes_no_state(translating: Encoder) -> None:
    for text, together in zip(TEXTS, translating.hidden_states(TEXTS), strict=True):
        for one, other in zip(translating.hidden_states(text).layers, together.layers, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_layer_is_embedded_by_its_number(translating: Encoder, capsys: pytest.CaptureFixture[str]) -> None:
    states = translating.hidden_states(TEXTS[0])
    for number, layer in enumerate(states.layers):
        found = translating.embed(TEXTS[0], normalize=False, layer=number)
        np.testing.assert_allclose(found, layer.mean(0), atol=1e-5)
    with pytest.raises(InputError, match=rf"layer = {len(states.layers)}: expected 0 \(the embeddings\) to"):
        translating.embed(TEXTS, layer=len(states.layers))
    with pytest.raises(InputError, match="leave layer out"):
        translating.embed(TEXTS, "pooler", layer=0)
    assert translating.embed([]).shape == (0, states.layers[-1].shape[1])
    with pytest.raises(InputError, match="transduce translate"):
        translating.fill("a [MASK]")


def test_states_of_bert_are_those_of_transformers(tmp_path: Path) -> None:
    import_huggingface(write_bert(tmp_path / "theirs"), tmp_path / "ours")
    encoder = Encoder(ModelBundle.load(tmp_path / "ours"))
    model = AutoModel.from_pretrained(tmp_path / "theirs").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "theirs")
    texts = ["the dog sees", "a cat"]
    for text, states in zip(texts, encoder.hidden_states(texts), strict=True):
        with torch.inference_mode():
            theirs = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        assert len(theirs) == len(states.layers)
        for ours, expected in zip(states.layers, theirs, strict=True):
            np.testing.assert_allclose(ours, expected[0].numpy(), atol=1e-5)


def test_states_of_xlnet_are_at_their_tokens() -> None:
    torch.manual_seed(5)
    model = build_encoder_model(XLNetConfig(layers=2, dim=12, heads=3), 11, None).eval()
    encoder: Any = model.encoder
    tokens, lengths = torch.randint(11, (3, 7)), torch.tensor([7, 2, 5])
    is_real = torch.arange(7) < lengths[:, None]
    with torch.inference_mode(), record_inputs(encoder.blocks[1:]) as read:
        encoder(tokens, torch.zeros_like(tokens), is_real)
    embedded = encoder.arranged_back(read[0], is_real)
    assert torch.equal(embedded[is_real], encoder.stack.embed(tokens)[is_real])


def test_the_command_embeds_by_a_translation_model(tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("My dog sees the cat.\n\n")
    app(
        ["embed", str(tiny_run), str(tmp_path / "lines"), "-o", str(tmp_path / "out"), "--layer", "1"],
        standalone_mode=False,
    )
    first, blank = map(json.loads, (tmp_path / "out").read_text().splitlines())
    np.testing.assert_allclose(first, Encoder.load(tiny_run).embed("My dog sees the cat.", layer=1), atol=1e-5)
    assert blank is None


@pytest.mark.slow
def test_a_model_of_several_directions_needs_one_of_them(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    (tmp_path / "many.toml").write_text(tomli_w.dumps(settings("source", updates=1)))
    train(load_recipe(tmp_path / "many.toml"), tmp_path / "run")
    encoder = Encoder.load(tmp_path / "run", "cpu")
    with pytest.raises(InputError, match=r"--to|name|choose"):
        encoder.embed("a")
    found = {to: encoder.directed(to, "de").hidden_states("a") for to in ("en", "fr")}
    assert [states.tokens[1:] for states in found.values()] == [found["en"].tokens[1:]] * 2
    assert found["en"].tokens[0] != found["fr"].tokens[0]
