"""A model that reads the sentences before: what it learns from them, and that every way of translating gives them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomli_w

import transduce
from pronoun_corpus import PEOPLE, documents, settings, trained, write_table
from transduce.apps.cli.main import app
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2
from transduce.base.errors import ConfigError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.context_settings import ContextConfig
from transduce.corpora.corpus import SentencePair
from transduce.evaluation.context_gain import context_gain
from transduce.experiment import load_recipe, train
from transduce.inference.model_documents import DocumentTranslator
from transduce.inference.request import Request, in_context
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.text.tokenizer_settings import BREAK

GREEDY = Beam(size=1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("context"))


@pytest.fixture(scope="module")
def translator(run: Path) -> Translator:
    return Translator.load(run, engine="pytorch")


def pronoun(translator: Translator, *before: str) -> str:
    return translator.translate(Request("dann ruft", before=before), GREEDY).text


def test_the_sentence_before_tells_who_is_meant(translator: Translator) -> None:
    for person, meant in PEOPLE.items():
        assert pronoun(translator, f"{person} kommt") == f"then {meant} calls"
    assert pronoun(translator, "anna kommt", "hans kommt") == "then he calls", "the nearest counts"


def test_validation_and_test_read_documents_as_training_does(run: Path) -> None:
    assert ModelBundle.load(run).history["validation"]["exact_match"] > 0.95


def test_an_evaluation_reads_documents_as_training_does(translator: Translator) -> None:
    pairs = [(pair, str(number)) for number, lines in enumerate(documents(10, 3)) for pair in lines]
    sources, references = [source for (source, _), _ in pairs], [target for (_, target), _ in pairs]
    names = [document for _, document in pairs]
    scores = transduce.evaluate(translator, sources, references, GREEDY, metrics=["exact_match"], documents=names)
    assert scores.to_dict()["exact_match"] > 0.9


def test_an_evaluation_tells_what_context_brings(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side in (0, 1):  # a blank line ends a document
        lines = ["".join(f"{pair[side]}\n" for pair in lines) for lines in documents(10, 3)]
        (tmp_path / f"test.{side}").write_text("\n".join(lines), encoding="utf-8")
    command = ["evaluate", str(run), "--source", str(tmp_path / "test.0"), "--reference", str(tmp_path / "test.1")]
    app([*command, "--json"])
    context = json.loads(capsys.readouterr().out)["context"]
    assert context["bits"] > 0.2 > 0 > context["bits_of_others"]
    app(command)
    assert f"context makes a reference {context['bits']:.3f} bits likelier" in capsys.readouterr().out


def test_context_brings_nothing_where_there_is_none_and_too_long_pairs_are_left_out(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = translator.bundle
    assert isinstance(bundle, ModelBundle)
    gain = context_gain(bundle, [Request("dann ruft"), Request("anna kommt")], ["then he calls", "anna comes"])
    assert gain is not None and gain.bits == gain.bits_of_others == 0
    monkeypatch.setattr(type(bundle.model), "source_limit", 6)
    long = Request("kommt " * 9)
    assert context_gain(bundle, [long, *[Request("anna kommt")] * 2], ["comes", *["anna comes"] * 2]) is not None
    assert context_gain(bundle, [long, Request("anna kommt")], ["comes", "anna comes"]) is None


def test_a_sentence_without_context_is_a_translation_too(translator: Translator) -> None:
    assert pronoun(translator) in {"then he calls", "then she calls"}
    assert translator.translate("anna kommt", GREEDY).text == "anna comes"


def test_other_documents_and_more_sentences_than_it_reads_change_nothing(translator: Translator) -> None:
    pairs = [SentencePair("anna kommt", "", "1"), SentencePair("dann ruft", "", "2"), SentencePair("", "", "2")]
    context = translator.bundle.config.context
    assert [request.before for request in in_context(pairs, context)] == [(), (), ()]
    far = ["otto kommt", "otto kommt", "anna kommt", "dann lacht"]
    assert translator.encode([Request("dann ruft", before=tuple(far))]) == translator.encode(
        [Request("dann ruft", before=tuple(far[-2:]))]
    )


def test_context_is_cut_at_what_the_model_reads_and_breaks_are_never_written(translator: Translator) -> None:
    long = " ".join(["kommt"] * 9)
    assert translator.encode([Request("dann ruft", before=(long,))]) == translator.encode(["dann ruft"])
    ids = translator.encode([Request("dann ruft", before=("anna kommt",))])[0][0]
    mark = translator.bundle.tokenizers.source.marks[BREAK]
    assert ids.count(mark) == 1
    assert list(translator.bundle.tokenizers.source.without_context(ids)) == translator.encode(["dann ruft"])[0][0]
    assert BREAK not in translator.translate(Request("dann ruft", before=("anna kommt",)), Beam(size=4)).text


def test_together_equals_one_by_one_with_details_of_the_sentence_alone(translator: Translator) -> None:
    pairs = [SentencePair(*pair, str(number)) for number, lines in enumerate(documents(5, 3)) for pair in lines]
    requests = in_context(pairs, translator.bundle.config.context)
    together = translator.translate_chunk(requests, Beam(size=2), with_details=True)
    for request, found in zip(requests, together, strict=True):
        assert found.text == translator.translate(request, Beam(size=2)).text
        assert found.details is not None and found.details.source_words == request.text.split()
        assert all(i < len(request.text.split()) for i, _ in found.details.alignment or ())
    look = translator.look(Request("dann ruft", before=("anna kommt",)))
    assert look.alignment is not None and look.alignment.source_words == ["dann", "ruft"]  # type: ignore[union-attr]


def test_context_does_not_lengthen_outputs(translator: Translator) -> None:
    search = Beam(size=1, min_ratio=1.0, max_ratio=1.0, max_extra=0)
    found = translator.translate(Request("dann ruft", before=("anna kommt", "dann lacht")), search)
    assert len(found.text.split()) <= 3


def test_a_document_gives_each_segment_those_before_it(translator: Translator) -> None:
    page = "<p>anna kommt</p><p>dann ruft</p><p>otto kommt</p><p>dann ruft</p>"
    found = DocumentTranslator(translator, GREEDY).translate_html(page)
    assert found == "<p>anna comes</p><p>then she calls</p><p>otto comes</p><p>then he calls</p>"


def test_an_exported_model_reads_the_same_context(run: Path, tmp_path: Path) -> None:
    export_ctranslate2(run, tmp_path / "exported")
    exported = Translator.load(tmp_path / "exported")
    for person, meant in PEOPLE.items():
        assert pronoun(exported, f"{person} kommt") == f"then {meant} calls"


def test_scorers_and_training_read_what_translation_reads(translator: Translator) -> None:
    bundle, before = translator.bundle, [(f"{person} kommt",) for person in PEOPLE]
    assert isinstance(bundle, ModelBundle)
    requests = [Request("dann ruft", before=each) for each in before]
    assert bundle.read(["dann ruft"] * len(before), before) == [ids for (ids,) in translator.encode(requests)]


def write_adaptation(run: Path, folder: Path, asks_for_context: bool, **data: Any) -> Path:
    """Writes a recipe that adapts a model to other documents."""
    write_table(folder / "train.tsv", 60, 5)
    write_table(folder / "valid.tsv", 30, 6)
    later = settings(5, **data) | {"training": {"updates": 5, "start_from": str(run)}}
    del later["model"], later["tokenizer"]
    if not asks_for_context:
        del later["data"]["context"]
    (folder / "later.toml").write_text(tomli_w.dumps(later))
    return folder / "later.toml"


def test_an_adapted_model_reads_context_as_the_model_does(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write_adaptation(run, tmp_path, False, general_validation="valid.tsv", test="valid.tsv")
    known = ModelBundle.load(run).config.context
    assert load_recipe(recipe).config.data.context == known
    assert load_recipe(recipe, ["data.context.dropout=0"]).config.data.context == ContextConfig(before=2, dropout=0)
    adapted = ModelBundle.load(train(load_recipe(recipe), tmp_path / "adapted").model)
    assert adapted.config.context == known
    lines = [msgspec.json.decode(line) for line in (tmp_path / "adapted" / "log.jsonl").read_bytes().splitlines()]
    first, *_ = [line["validation"] for line in lines if "validation" in line]
    for name in ("loss", "exact_match"):
        assert first[name] == pytest.approx(first[f"general_{name}"]), "the same text, read alike"
    assert first["exact_match"] > 0.95
    assert adapted.history["validation"]["exact_match"] > 0.95
    app(["evaluate", str(tmp_path / "adapted"), "--json", "--metric", "exact_match"])
    assert msgspec.json.decode(capsys.readouterr().out)["exact_match"] > 0.95


def test_settings_made_by_hand_ask_for_the_context_of_the_model_they_start_from(run: Path, tmp_path: Path) -> None:
    recipe = load_recipe(write_adaptation(run, tmp_path, True))
    config = msgspec.structs.replace(recipe.config, data=msgspec.structs.replace(recipe.config.data, context=None))
    with pytest.raises(ConfigError, match=r"the model reads the sentences before; set data.context"):
        train(replace(recipe, config=config), tmp_path / "adapted")


def test_a_model_without_context_cannot_learn_it_later(run: Path, tmp_path: Path) -> None:
    write_table(tmp_path / "train.tsv", 20, 1)
    write_table(tmp_path / "valid.tsv", 5, 2)
    plain = settings(2)
    del plain["data"]["context"]
    (tmp_path / "plain.toml").write_text(tomli_w.dumps(plain))
    train(load_recipe(tmp_path / "plain.toml"), tmp_path / "plain")
    later = settings(2) | {"training": {"updates": 2, "start_from": str(tmp_path / "plain")}}
    del later["model"], later["tokenizer"]
    (tmp_path / "later.toml").write_text(tomli_w.dumps(later))
    with pytest.raises(ConfigError, match=r"the model reads no context; leave data.context out"):
        train(load_recipe(tmp_path / "later.toml"), tmp_path / "later")
