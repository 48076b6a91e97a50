"""A package for Argos Translate tokenizes, translates and writes as the model it was made from, or there is none."""

import json
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from transduce.bundle import ModelBundle
from transduce.errors import CheckpointError, InputError
from transduce.exchange import argos
from transduce.exchange.argos import export_argos
from transduce.models.families import build_model
from transduce.models.transformer import TransformerConfig
from transduce.text.tokenizer import TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizers

Make = Callable[..., Path]


@pytest.fixture(scope="module")
def make(tiny_run: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Writes a bundle with random weights and tokenizers of these settings."""
    pytest.importorskip("sentencepiece")
    bundle = ModelBundle.load(tiny_run)
    sides = [(corpus / f"train.{language}").read_text(encoding="utf-8").splitlines() for language in ("en", "de")]

    def write(source: str = "en", target: str = "de", **options: Any) -> Path:
        torch.manual_seed(1)
        tokenizer = TokenizerConfig(**({"kind": "bpe", "size": 360} | options))
        tokenizers = train_tokenizers(tokenizer, *sides)
        tie = "all" if tokenizer.shared else "none"
        config = TransformerConfig(
            encoder_layers=1, decoder_layers=2, dim=12, heads=3, feed_forward_dim=17, norm="pre", tie=tie
        )
        model = build_model(config, len(tokenizers.source), len(tokenizers.target))
        described = msgspec.structs.replace(
            bundle.config, model=config, tokenizer=tokenizer, source=source, target=target
        )
        folder = tmp_path_factory.mktemp("bundles") / "model"
        made = replace(bundle, config=described, model=model.eval(), tokenizers=tokenizers)
        made.save(folder, [("The dog sleeps.", "Der Hund schläft.")])
        return folder

    return write


@pytest.mark.parametrize("options", [{}, {"shared": False}, {"kind": "unigram", "lowercase": True}], ids=str)
def test_a_package_has_the_models_tokens_and_greedy_outputs(
    options: dict[str, Any], make: Make, tmp_path: Path, corpus: Path
) -> None:
    lines = (corpus / "test.en").read_text(encoding="utf-8").splitlines()
    certificate = export_argos(make(**options), tmp_path / "en-de.argosmodel", texts=[*lines, "", "Ａ 北京 x  y"])
    assert certificate.sentences == len(lines) + 1
    assert certificate.parity.identical == certificate.parity.sentences == certificate.sentences
    with zipfile.ZipFile(tmp_path / "en-de.argosmodel") as package:
        names = {name.split("/", 1)[1] for name in package.namelist()}
        assert {"metadata.json", "sentencepiece.model", "README.md", "model/model.bin", "model/config.json"} <= names
        assert json.loads(package.read("translate-en_de/metadata.json"))["to_name"] == "German"
        assert json.loads(package.read("translate-en_de/certificate.json"))["identical"] == certificate.identical


def test_argos_translate_translates_as_was_compared(
    make: Make, tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "ARGOS_PACKAGES_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    translate = pytest.importorskip("argostranslate.translate")
    package = pytest.importorskip("argostranslate.package")
    monkeypatch.setattr(translate, "MiniSBDSentencizer", _OneSentence)  # the real one downloads a model
    export_argos(make(), tmp_path / "en-de.argosmodel")
    package.install_from_path(tmp_path / "en-de.argosmodel")
    (installed,) = package.get_installed_packages()
    lines = (corpus / "test.en").read_text(encoding="utf-8").splitlines()
    expected = argos._translate(installed.package_path, lines, "auto")
    assert [translate.translate(line, "en", "de") for line in lines] == expected
    assert len(set(expected)) > 3


class _OneSentence:
    def __init__(self, package: Any) -> None: ...

    def split_sentences(self, text: str) -> list[str]:
        return [text]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"kind": "wordpiece", "size": 500}, "its source tokenizer: WordPiece is an algorithm"),
        ({"kind": "words", "size": None}, "WordLevel is an algorithm that SentencePiece does not have"),
        ({"source": "source"}, r"its languages are not known \('source'\)"),
    ],
    ids=str,
)
def test_a_model_that_argos_translate_cannot_run_is_refused_with_the_reason(
    options: dict[str, Any], told: str, make: Make, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told):
        export_argos(make(**options), tmp_path / "x.argosmodel")
    assert not list(tmp_path.iterdir())


def test_names_of_packages_are_kept_to(make: Make, tmp_path: Path) -> None:
    model = make()
    with pytest.raises(InputError, match=r"name it new\.argosmodel"):
        export_argos(model, tmp_path / "new")
    (tmp_path / "x.argosmodel").write_text("kept")
    with pytest.raises(InputError, match="exists; remove it"):
        export_argos(model, tmp_path / "x.argosmodel")
    assert (tmp_path / "x.argosmodel").read_text() == "kept"


def test_other_tokens_or_another_text_are_no_package(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, written = make(), argos.write_sentencepiece
    other = ModelBundle.load(make(size=350)).tokenizers.source
    monkeypatch.setattr(argos, "write_sentencepiece", lambda tokenizer: written(other))
    with pytest.raises(CheckpointError, match="is not written: SentencePiece divides") as error:
        export_argos(model, tmp_path / "x.argosmodel")
    theirs, ours = str(error.value).partition(" into ")[2].partition(";")[0].split(", the model's tokenizer into ")
    assert theirs != ours
    monkeypatch.setattr(argos, "write_sentencepiece", written)
    monkeypatch.setattr(argos, "_write", lambda processor, pieces: "another text")
    with pytest.raises(CheckpointError, match="Argos Translate would write"):
        export_argos(model, tmp_path / "x.argosmodel")
    assert not list(tmp_path.iterdir())


def test_without_sentencepiece_it_says_what_to_install(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(InputError, match=r"needs sentencepiece, .* pip install 'transduce\[export\]'"):
        export_argos(make(), tmp_path / "x.argosmodel")


def test_a_sentence_splitter_goes_along_where_argos_translate_looks_for_it(make: Make, tmp_path: Path) -> None:
    bundle = make()
    (tmp_path / "en.onnx").write_bytes(b"a model")
    (tmp_path / "stanza-en").mkdir()
    (tmp_path / "stanza-en" / "resources.json").write_text("{}")
    for splitter, inside in (("en.onnx", "minisbd/en.onnx"), ("stanza-en", "stanza/resources.json")):
        file = tmp_path / f"{splitter}.argosmodel"
        export_argos(bundle, file, splitter=tmp_path / splitter)
        with zipfile.ZipFile(file) as package:
            assert f"translate-en_de/{inside}" in package.namelist()
    for wrong in (tmp_path / "none.onnx", tmp_path):
        with pytest.raises(InputError, match="is no sentence splitter"):
            export_argos(bundle, tmp_path / "wrong.argosmodel", splitter=wrong)
    assert not (tmp_path / "wrong.argosmodel").exists()
