"""An exported model translates as the model it was made from, or there is none."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ctranslate2
import msgspec
import pytest
import torch
from tokenizers import Tokenizer as Backend

from small_quality import PAIRS, small_quality
from transduce.apps.exchange.ctranslate2 import export_ctranslate2 as exporting
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2
from transduce.base.errors import CheckpointError, InputError
from transduce.base.verification import checksums
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.engines.exported import ExportedModel
from transduce.inference.translator import Translator
from transduce.models.families import ModelConfig, build_model
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam
from transduce.text.tokenizer import Tokenizer, Tokenizers

SMALL = {"encoder_layers": 1, "decoder_layers": 2, "dim": 12, "heads": 3, "feed_forward_dim": 17, "max_positions": 90}
CONFIGS = {
    "sinusoids, before": TransformerConfig(**SMALL),
    "sinusoids, after, more encoder": TransformerConfig(**{**SMALL, "encoder_layers": 3}, norm="post", tie="none"),
    "learned, gelu": TransformerConfig(**SMALL, positions="learned", activation="gelu", scale_embeddings=False),
    "rms norm": TransformerConfig(**SMALL, norm_kind="rms"),
    "grouped queries": TransformerConfig(**{**SMALL, "heads": 4}, kv_heads=2, key_dim=6, value_dim=5),
    "grouped queries, rotary": TransformerConfig(**SMALL, kv_heads=1, positions="rotary"),
    "rms norm, after": TransformerConfig(**SMALL, norm_kind="rms", norm="post", positions="rotary"),
    "learned, gated, after": TransformerConfig(**SMALL, positions="learned", activation="geglu", norm="post"),
    "rotary": TransformerConfig(**SMALL, positions="rotary", activation="geglu"),
    "rotary, larger keys": TransformerConfig(**SMALL, positions="rotary", key_dim=6, value_dim=5, norm="post"),
    "rotary, larger values": TransformerConfig(**SMALL, positions="rotary", key_dim=2, value_dim=7, tie="all"),
    "none, tied": TransformerConfig(**SMALL, positions="none", tie="all"),
    "a token before each target": TransformerConfig(**SMALL, positions="learned", first_token=5),
    "as marian": TransformerConfig(
        **SMALL, positions="marian", norm="post", tie="all", output_bias=True, decoder_start="zeros"
    ),
    "odd sizes": TransformerConfig(**{**SMALL, "dim": 13}, key_dim=3, value_dim=7, tie="none"),
}

Save = Callable[[ModelConfig], Path]


@pytest.fixture(scope="module")
def save(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Save:
    """Writes a bundle whose weights are all of its own: no bias is zero, no norm the identity."""
    bundle = ModelBundle.load(tiny_run)

    def make(config: ModelConfig) -> Path:
        torch.manual_seed(1)
        target = bundle.tokenizers.target
        tokenizers = Tokenizers(target, target) if config.tie == "all" else bundle.tokenizers
        tokenizer = msgspec.structs.replace(bundle.config.tokenizer, shared=config.tie == "all")
        model = build_model(config, len(tokenizers.source), len(tokenizers.target))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        folder = tmp_path_factory.mktemp("bundles") / "model"
        described = msgspec.structs.replace(bundle.config, model=config, tokenizer=tokenizer)
        made = replace(bundle, config=described, model=model.eval(), tokenizers=tokenizers)
        made.save(folder, [("The dog sleeps.", "Der Hund schläft.")])
        return folder

    return make


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_greedy_outputs_and_their_scores_are_the_models(config: ModelConfig, save: Save, tmp_path: Path) -> None:
    export = export_ctranslate2(save(config), tmp_path / "exported")
    assert export.parity.identical == export.parity.sentences == exporting.SAMPLES
    assert export.parity.largest_difference < 1e-3


@pytest.mark.parametrize("source_end", ["<eos>", "</s>"])
def test_plain_ctranslate2_needs_no_end_token_by_hand(
    source_end: str, tiny_run: Path, save: Save, tmp_path: Path, corpus: Path
) -> None:
    bundle = ModelBundle.load(save(CONFIGS["rotary"]))
    renamed = bundle.tokenizers.source.backend.to_str().replace('"<eos>"', f'"{source_end}"')
    source = Tokenizer(Backend.from_str(renamed))
    assert source.pieces([source.eos]) == [source_end]
    bundle = replace(bundle, tokenizers=Tokenizers(source, bundle.tokenizers.target))
    bundle.save(tmp_path / "model", [("The dog sleeps.", "Der Hund schläft.")])
    export_ctranslate2(tmp_path / "model", tmp_path / "exported")
    lines = (corpus / "test.en").read_text(encoding="utf-8").splitlines()
    expected = Translator(bundle).translate(lines, Beam(size=1, allow_unknown=True, max_ratio=0, max_extra=20))
    by_hand = [] if source_end == "<eos>" else [source_end]  # told by docs/export.md
    pieces = [[*source.pieces(source.encode(line)), *by_hand] for line in lines]
    results = ctranslate2.Translator(str(tmp_path / "exported")).translate_batch(
        pieces, beam_size=1, max_decoding_length=19
    )
    target_ids = bundle.tokenizers.target.backend.token_to_id
    found = [[target_ids(piece) for piece in result.hypotheses[0]] for result in results]
    assert [bundle.tokenizers.target.decode(ids) for ids in found] == [one.text for one in expected]


@pytest.mark.slow
@pytest.mark.parametrize("quantization", ["int8", "int16", "float16", "bfloat16"])
def test_quantised_models_run_and_tell_how_they_differ(
    quantization: Any, save: Save, tmp_path: Path, corpus: Path
) -> None:
    bundle = save(CONFIGS["rotary"])
    export = export_ctranslate2(bundle, tmp_path / "exported", quantization)
    assert export == ExportedModel.load(tmp_path / "exported").export
    assert 0 < export.parity.identical <= export.parity.sentences
    texts = (corpus / "test.en").read_text(encoding="utf-8").splitlines()
    translations = Translator(ExportedModel.load(tmp_path / "exported")).translate(texts, Beam(size=2))
    assert len(translations) == len(texts)


def test_int8_is_smaller_and_leaves_the_model_that_is_exported_as_it_was(save: Save, tmp_path: Path) -> None:
    bundle = save(CONFIGS["sinusoids, before"])
    before = checksums(bundle)
    sizes = {}
    for quantization in ("int8", "float32"):
        export_ctranslate2(bundle, tmp_path / quantization, quantization)  # type: ignore[arg-type]
        sizes[quantization] = (tmp_path / quantization / "model.bin").stat().st_size
    assert sizes["int8"] < sizes["float32"]
    assert checksums(bundle) == before


def test_an_export_that_translates_otherwise_is_not_written(
    save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = exporting.make_specification

    def broken(*arguments: Any) -> Any:
        specification = plain(*arguments)
        specification.decoder.layer[1].ffn.linear_1.bias[0] += 3  # more than a norm takes away
        return specification

    monkeypatch.setattr(exporting, "make_specification", broken)
    bundle = save(CONFIGS["sinusoids, before"])
    with pytest.raises(CheckpointError, match=r"exported is not written: of 32 sample sentences .* expected all"):
        export_ctranslate2(bundle, tmp_path / "exported")
    assert not list(tmp_path.iterdir())


def test_all_that_cannot_be_exported_is_reported(save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = save(RecurrentConfig(dim=6, encoder_dim=5, decoder_dim=7))
    monkeypatch.setattr(exporting, "vocabulary_of", lambda tokenizer: ["<pad>", "", ""])
    with pytest.raises(InputError) as told:
        export_ctranslate2(bundle, tmp_path / "exported")
    assert 'model.kind = "recurrent": CTranslate2 export supports encoder-decoder Transformers only' in str(told.value)
    for side in ("source", "target"):
        assert f"the {side} tokenizer leaves 2 of its 3 ids without a token" in str(told.value)


def test_a_recurrence_cannot_be_exported(save: Save, tmp_path: Path) -> None:
    bundle = save(TransformerConfig(**SMALL, decoder_recurrence="ssru"))
    with pytest.raises(InputError, match=r"model\.decoder_recurrence = 'ssru': CTranslate2 runs 'none' only"):
        export_ctranslate2(bundle, tmp_path / "exported")


def test_sentences_of_ones_own_are_compared(save: Save, tmp_path: Path) -> None:
    bundle = save(CONFIGS["rotary"])
    export = export_ctranslate2(bundle, tmp_path / "exported", texts=["The dog sleeps.", " ", "the cat " * 50])
    assert export.parity.sentences == 2
    with pytest.raises(InputError, match="the text is blank"):
        export_ctranslate2(bundle, tmp_path / "other", texts=["", " "])


def test_a_folder_that_exists_is_left_alone(save: Save, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists; remove it or choose another folder"):
        export_ctranslate2(save(CONFIGS["rotary"]), tmp_path)


def test_without_the_library_one_line_says_how_to_install_it(
    save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(InputError, match=r"needs ctranslate2, .* pip install 'transduce\[export\]'"):
        export_ctranslate2(save(CONFIGS["rotary"]), tmp_path / "exported")


def test_a_damaged_export_is_named(save: Save, tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    export_ctranslate2(save(CONFIGS["rotary"]), folder)
    weights = folder / "model.bin"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    with pytest.raises(CheckpointError, match=r"model\.bin has changed since it was saved"):
        ExportedModel.load(folder)
    facts = msgspec.json.decode((folder / "export.json").read_bytes())
    for other in (1, 99):
        (folder / "export.json").write_bytes(msgspec.json.encode(facts | {"format": other}))
        with pytest.raises(CheckpointError, match=f"has format {other}, .* export the model again"):
            ExportedModel.load(folder)
    (folder / "export.json").write_text("{}", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"export\.json is damaged"):
        ExportedModel.load(folder)


def test_an_export_keeps_the_quality_of_its_model(tiny_run: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_run / "model", tmp_path / "model")
    small_quality().save(tmp_path / "model")
    export_ctranslate2(tmp_path / "model", tmp_path / "exported")
    models = (Translator.load(tmp_path / name, device="cpu", engine="auto") for name in ("model", "exported"))
    ours, theirs = (model.translate([source for source, _ in PAIRS[:5]]) for model in models)
    assert [each.faults for each in ours] == [each.faults for each in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one.quality is not None and other.quality is not None
        assert one.quality.edit == pytest.approx(other.quality.edit, abs=2e-3)
