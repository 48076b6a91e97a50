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

import transduce
from transduce.apps.exchange import argos
from transduce.apps.exchange.argos import export_argos, import_argos
from transduce.base.errors import CheckpointError, InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam
from transduce.text.tokenizer_settings import TokenizerConfig
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def repacked(package: Path, new: Path, **files: bytes | None) -> Path:
    """Write a package with other files in it; None leaves one out."""
    with zipfile.ZipFile(package) as old, zipfile.ZipFile(new, "w") as archive:
        for entry in old.infolist():
            name = entry.filename.partition("/")[2]
            content = files.pop(name, old.read(entry))
            if content is not None:
                archive.writestr(entry.filename, content)
        for name, content in files.items():
            archive.writestr(name, content or b"")
    return new


@pytest.fixture(scope="module")
def package(make: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ctranslate2")
    file = tmp_path_factory.mktemp("packages") / "en-de.argosmodel"
    export_argos(make(), file)
    return file


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"kind": "sentencepiece", "size": 100, "normalize": "NFKC"}], ids=str)
def test_a_package_is_translated_with_at_once_and_when_it_is_imported(
    options: dict[str, Any], make: Make, tmp_path: Path, corpus: Path
) -> None:
    """The vocabulary of a model of SentencePiece has two tokens more than that."""
    model, package, search = make(**options), tmp_path / "en-de.argosmodel", Beam(size=1, max_ratio=0, max_extra=7)
    export_argos(model, package)
    translator = Translator.load(model, engine="pytorch")
    lines = (corpus / "test.en").read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if len(translator.encode([line])[0]) == 1]  # ours are not divided at their length
    expected = [each.text for each in translator.translate(lines, search)]
    assert lines and [each.text for each in transduce.load(package).translate(lines, search)] == expected
    certificate = import_argos(package, tmp_path / "model")
    assert (certificate.source, certificate.target, certificate.quantization) == ("en", "de", "float32")
    assert certificate.identical == certificate.sentences
    imported = Translator.load(tmp_path / "model")
    assert [each.text for each in imported.translate(lines, search)] == expected
    with zipfile.ZipFile(package) as archive:
        archive.extractall(tmp_path / "installed")
    (installed,) = (tmp_path / "installed").iterdir()
    assert [each.text for each in Translator.load(installed).translate(lines, search)] == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"metadata.json": None}, "has no metadata.json"),
        ({"metadata.json": b"{}"}, "is no language"),
        ({"metadata.json": b'{"from_code": "en", "to_code": "de", "type": "sbd"}'}, "only packages that translate"),
        ({"metadata.json": b'{"from_code": "en", "to_code": "de", "target_prefix": "__x__"}'}, "several languages"),
        ({"sentencepiece.model": None}, "has no sentencepiece.model"),
        ({"sentencepiece.model": b"\xff\xff"}, "sentencepiece.model"),
        ({"model/shared_vocabulary.json": b'["a"]'}, "vocabulary has 1 pieces, but the model has"),
        ({"model/shared_vocabulary.json": None}, "no vocabulary of its source"),
        ({"model/model.bin": b"\x02\0\0\0"}, "has version 2"),
        ({"../outside": b"x"}, "outside of its folder"),
        ({"zeros": None}, "which no model is"),
    ],
    ids=str,
)
def test_a_package_that_cannot_be_used_is_one_line(
    files: dict[str, bytes | None], words: str, package: Path, tmp_path: Path
) -> None:
    bad = repacked(package, tmp_path / "bad.argosmodel", **files)
    if "zeros" in str(files):
        with zipfile.ZipFile(bad, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("more", bytes(2**27))
    with pytest.raises((InputError, CheckpointError), match=words) as caught:
        import_argos(bad, tmp_path / "model")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "model").exists()


def test_sizes_in_a_model_that_are_not_true_are_refused(package: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        whole = archive.read("translate-en_de/model/model.bin")
    for content in (whole[: len(whole) // 2], whole[:40] + b"\xff" * 8 + whole[48:]):
        bad = repacked(package, tmp_path / "bad.argosmodel", **{"model/model.bin": content})
        with pytest.raises(CheckpointError, match="no model of CTranslate2, or damaged"):
            import_argos(bad, tmp_path / "model")
