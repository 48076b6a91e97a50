"""The card of an exported model tells the hub what the bundle knows, and nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpt2_folder import write_gpt2
from transduce.apps.exchange.huggingface.card import check_license, hub_card
from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.directions import Direction, LanguageTokens
from transduce.models.heads import WordHeadConfig

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


@pytest.fixture(scope="module")
def bundle(tiny_run: Path) -> ModelBundle:
    return ModelBundle.load(tiny_run)


def _read(card: str) -> Any:
    """The card as the hub's own library reads it."""
    return pytest.importorskip("huggingface_hub").ModelCard(card).data


def test_scores_are_in_the_model_index_with_their_signature(bundle: ModelBundle) -> None:
    test = {"bleu": 31.25, "signature": SIGNATURE, "search": {"size": 4, "length_penalty": 0.6}}
    told = replace(bundle, history={"data": "Multi30k, task 1: 'de'", "test": test})
    data = _read(hub_card(told, "MarianMTModel", "cc-by-4.0"))
    assert (data.language, data.license, data.library_name) == (["en", "de"], "cc-by-4.0", "transformers")
    (result,) = data.eval_results
    assert (result.metric_type, result.metric_value, result.metric_name) == ("bleu", 31.25, "BLEU")
    assert result.metric_args == {"signature": SIGNATURE}
    assert (result.task_type, result.dataset_name) == ("translation", "Multi30k, task 1: 'de'")
    assert (result.dataset_type, result.dataset_split) == ("multi30k-task-1-de", "test")


def test_the_tests_own_scores_are_those_of_the_run(bundle: ModelBundle) -> None:
    (result,) = _read(hub_card(bundle, "MarianMTModel", None)).eval_results
    assert result.metric_value == bundle.history["test"]["bleu"]
    assert result.metric_args["signature"] == bundle.history["test"]["signature"]


def test_scores_of_the_general_text_are_none_of_the_data_that_a_model_was_adapted_to(bundle: ModelBundle) -> None:
    test = {"bleu": 31.25, "general_bleu": 12.5, "signature": SIGNATURE}
    told = replace(bundle, history={"data": "mine.de, mine.en", "test": test})
    (result,) = _read(hub_card(told, "MarianMTModel", None)).eval_results
    assert (result.metric_type, result.metric_value) == ("bleu", 31.25)


def test_a_model_of_many_languages_names_them_all(bundle: ModelBundle) -> None:
    languages = LanguageTokens.of([Direction("deu_Latn", "pt_BR"), Direction("pt_BR", "en")], "decoder")
    config = msgspec.structs.replace(bundle.config, source="many", target="many", languages=languages)
    card = hub_card(replace(bundle, config=config), "M2M100ForConditionalGeneration", None)
    assert sorted(_read(card).language) == ["deu", "en", "pt"]


def test_what_is_not_known_is_left_out(bundle: ModelBundle) -> None:
    config = msgspec.structs.replace(bundle.config, source="source", target="no")
    card = hub_card(replace(bundle, config=config, history={}), "MarianMTModel", None)
    data = _read(card)
    assert data.license is None and data.eval_results is None and data.language == ["no"]
    front = card.split("---")[1]
    assert "license" not in front and "model-index" not in front and "datasets" not in front


def test_several_scores_and_their_interval_are_written(bundle: ModelBundle) -> None:
    config = msgspec.structs.replace(bundle.config, task="classification", source="en", target="en")
    test = {"accuracy": 0.875, "macro_f1": 0.8125, "interval": [0.75, 0.9375], "texts": 40}
    data = _read(hub_card(replace(bundle, config=config, history={"data": "sst2", "test": test}), "Bert", None))
    assert [(one.metric_type, one.metric_value) for one in data.eval_results] == [
        ("accuracy", 0.875),
        ("macro_f1", 0.8125),
    ]
    assert data.eval_results[0].metric_args == {"interval": [0.75, 0.9375]}
    assert (data.language, data.pipeline_tag) == (["en"], "text-classification")


def test_an_encoder_predicts_words_only_with_its_head(bundle: ModelBundle) -> None:
    heads = {"fill-mask": WordHeadConfig(), "feature-extraction": None}
    for pipeline, head in heads.items():
        config = msgspec.structs.replace(bundle.config, task="encoder", head=head)
        assert _read(hub_card(replace(bundle, config=config), "Bert", None)).pipeline_tag == pipeline


def test_an_export_has_a_card(tmp_path: Path) -> None:
    write_gpt2(tmp_path / "gpt2")
    import_huggingface(tmp_path / "gpt2", tmp_path / "model")
    export_huggingface(tmp_path / "model", tmp_path / "out", "mit")
    data = _read((tmp_path / "out" / "README.md").read_text(encoding="utf-8"))
    assert (data.license, data.pipeline_tag, data.tags) == ("mit", "text-generation", ["transduce"])
    with pytest.raises(InputError, match="expected an identifier of the hub"):
        export_huggingface(tmp_path / "model", tmp_path / "other", "The MIT License")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("license", ["", "MIT", "a b", "-x", "mit\nx: y"])
def test_a_licence_that_is_no_identifier_is_refused(license: str) -> None:
    with pytest.raises(InputError, match="expected an identifier of the hub"):
        check_license(license)
