"""From labelled texts to a classifier: trained, fine-tuned, resumed, measured, and asked."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import tomli_w
import torch

import transduce
from transduce.apps.cli.main import app
from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
from transduce.base.errors import DataError, InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.labelled_text import LabelColumns, labelled_corpus
from transduce.experiment.recipe import load_recipe
from transduce.inference.classifier import Classification, Classifier, Rating
from transduce.models.heads import ClassHeadConfig
from transduce.tasks.classification import CLASSIFICATION
from transduce.tasks.task import Wanted

ANIMALS = ("dog", "cat", "cow", "hen", "fox")
GOOD, BAD = ("fine", "lovely", "good"), ("awful", "dull", "bad")
TEXTS = [
    (f"the {animal} is {word} today" if i % 2 else f"a {word} {animal}", "up" if word in GOOD else "down")
    for i, animal in enumerate(ANIMALS)
    for word in (*GOOD, *BAD)
]
SETTINGS: dict[str, Any] = {
    "task": "classification",
    "data": {"train": "train.tsv", "validation": "test.tsv", "test": "test.tsv"},
    "tokenizer": {"kind": "words", "min_frequency": 1},
    "model": {"kind": "bert", "layers": 2, "dim": 24, "heads": 3, "max_positions": 16, "dropout": 0.0},
    "batching": {"examples": 8, "max_tokens": 12},
    "training": {"updates": 60, "precision": "float32", "report_every": 10, "label_smoothing": 0.0},
    "optimizer": {"learning_rate": 0.01, "schedule": {"kind": "linear", "warmup": 5}},
    "checkpoint": {"every_updates": 20},
    "validation": {"every_updates": 20, "best_by": "accuracy"},
}


def table(rows: list[tuple[str, ...]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def changed(**tables: dict[str, Any]) -> dict[str, Any]:
    return SETTINGS | {name: SETTINGS.get(name, {}) | table for name, table in tables.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classification")
    (folder / "train.tsv").write_text(table(TEXTS * 3), encoding="utf-8")
    (folder / "test.tsv").write_text(table(TEXTS[::4]), encoding="utf-8")
    (folder / "tiny.toml").write_text(tomli_w.dumps(SETTINGS), encoding="utf-8")
    pairs = [
        (f"{one} sleeps", f"{other} sleeps", str(1.5 + i + j))
        for i, one in enumerate(ANIMALS)
        for j, other in enumerate(ANIMALS)
    ]
    (folder / "pairs.tsv").write_text(table([("a", "b", "how"), *pairs * 4]), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    transduce.train(folder / "tiny.toml", folder / "run")
    return folder / "run"


def test_a_classifier_learns_a_rule_and_predicts_classes_with_probabilities(run: Path) -> None:
    classifier = transduce.load(run)
    assert isinstance(classifier, Classifier)
    found = classifier.classify(["the dog is lovely today", "a dull fox"])
    assert [str(one) for one in found] == ["up", "down"]
    first = classifier.classify("the dog is lovely today")
    assert isinstance(first, Classification)
    assert first.label == "up"
    assert sum(first.probabilities.values()) == pytest.approx(1)
    assert first.probability == max(first.probabilities.values())


def test_batched_is_one_by_one(run: Path) -> None:
    classifier = Classifier.load(run)
    texts = [text for text, _ in TEXTS]
    together = classifier.classify(texts)
    for text, found in zip(texts, together, strict=True):
        alone = classifier.classify(text)
        assert isinstance(alone, Classification) and isinstance(found, Classification)
        assert alone.probabilities == pytest.approx(found.probabilities, abs=1e-5)


def test_a_text_that_is_too_long_is_cut_and_reported(run: Path) -> None:
    classifier = Classifier.load(run)
    long, short = classifier.classify(["a lovely dog" + " and dog" * 20, "a lovely dog"])
    assert long.truncated and not short.truncated


def test_the_history_has_the_test_and_evaluate_finds_the_same(
    run: Path, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    test = ModelBundle.load(run).history["test"]
    assert test["accuracy"] == 1.0
    app(["evaluate", str(run), "--json", "--confusion", str(folder / "confusion.png")])
    facts = json.loads(capsys.readouterr().out)
    assert facts["scores"]["accuracy"]["score"] == test["accuracy"]
    assert facts["confusion"]["labels"] == ["down", "up"]
    assert np.sum(facts["confusion"]["counts"]) == facts["texts"] == len(TEXTS[::4])
    assert (folder / "confusion.png").stat().st_size > 1000


def test_a_resumed_run_is_the_uninterrupted_one(run: Path, folder: Path) -> None:
    again = folder / "again"
    settings = {"optimizer.schedule.updates": 60}  # the run's length, by default
    transduce.train(folder / "tiny.toml", again, overrides={**settings, "training.updates": 30})
    transduce.train(folder / "tiny.toml", again, overrides={**settings, "training.updates": 60}, resume=True)
    straight = folder / "straight"
    transduce.train(folder / "tiny.toml", straight, overrides=settings)
    one, other = (ModelBundle.load(best).model.state_dict() for best in (again, straight))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_score_is_learned_of_pairs(folder: Path) -> None:
    data = {"train": "pairs.tsv", "validation": "pairs.tsv", "test": "pairs.tsv"}
    columns = {"text": "a", "second": "b", "label": "how"}
    settings = changed(data=data | columns, validation={"best_by": "pearson"}, training={"updates": 150})
    (folder / "pairs.toml").write_text(tomli_w.dumps({"predict": "score"} | settings), encoding="utf-8")
    result = transduce.train(folder / "pairs.toml", folder / "pairs")
    assert result.test is not None and result.test["pearson"] > 0.9
    classifier = Classifier.load(folder / "pairs")
    lowest, highest = classifier.classify([("dog sleeps", "dog sleeps"), ("fox sleeps", "fox sleeps")])
    assert isinstance(lowest, Rating) and isinstance(highest, Rating)
    assert lowest.score == pytest.approx(1.5, abs=1)
    assert highest.score == pytest.approx(9.5, abs=1)
    with pytest.raises(InputError, match="pairs of texts"):
        classifier.classify("dog sleeps")


@pytest.mark.parametrize("name", ["own.tsv", "own.jsonl"])
def test_a_model_of_pairs_outside_a_run_is_measured_on_a_file(
    name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = changed(
        data={"train": "pairs.tsv", "validation": "pairs.tsv", "test": "pairs.tsv", "text": "a", "second": "b"},
        validation={"best_by": "loss"},
    )
    settings["data"]["label"] = "how"
    overrides = {"training.updates": 1}
    (folder / "outside.toml").write_text(tomli_w.dumps({"predict": "score"} | settings), encoding="utf-8")
    transduce.train(folder / "outside.toml", tmp_path / "run", overrides=overrides)
    shutil.copytree(tmp_path / "run" / "model", tmp_path / "model")
    rows = [(f"{one} sleeps", "dog sleeps", str(i)) for i, one in enumerate(ANIMALS)]
    (tmp_path / "own.tsv").write_text(table(rows), encoding="utf-8")
    objects = [json.dumps({"text": one, "second": other, "label": float(label)}) for one, other, label in rows]
    (tmp_path / "own.jsonl").write_text("\n".join(objects), encoding="utf-8")
    app(["evaluate", str(tmp_path / "model"), "--reference", str(tmp_path / name), "--json"])
    facts = json.loads(capsys.readouterr().out)
    scores = [one.score for one in Classifier.load(tmp_path / "model").classify([row[:2] for row in rows])]  # type: ignore[misc, union-attr]
    expected = np.square(np.array(scores) - np.arange(len(rows))).mean()
    assert facts["texts"] == len(rows)
    assert facts["scores"]["squared_error"]["score"] == pytest.approx(expected, rel=1e-4)


def test_a_model_goes_on_from_another_whose_settings_it_takes(run: Path, folder: Path) -> None:
    settings = {key: value for key, value in SETTINGS.items() if key not in ("model", "tokenizer")}
    settings["training"] = settings["training"] | {"start_from": str(run), "updates": 1}
    settings["optimizer"] = {"learning_rate": 1e-9}
    (folder / "more.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    transduce.train(folder / "more.toml", folder / "more")
    before, after = ModelBundle.load(run), ModelBundle.load(folder / "more")
    assert after.config.model == before.config.model
    assert after.tokenizers.target.content == before.tokenizers.target.content
    for name, tensor in before.model.state_dict().items():  # the head too, since the classes are the same
        torch.testing.assert_close(after.model.state_dict()[name], tensor, atol=1e-6, rtol=0)


def test_classes_are_predicted_from_the_mean_of_all_tokens_and_no_pooler_is_kept(run: Path, folder: Path) -> None:
    tables = {key: value for key, value in SETTINGS.items() if key not in ("model", "tokenizer")}
    tables["training"] = tables["training"] | {"start_from": str(run)}
    (folder / "mean.toml").write_text(tomli_w.dumps({"pooling": "mean"} | tables), encoding="utf-8")
    result = transduce.train(folder / "mean.toml", folder / "mean")
    assert result.test is not None and result.test["accuracy"] == 1.0
    bundle = ModelBundle.load(folder / "mean")
    assert isinstance(bundle.config.head, ClassHeadConfig) and bundle.config.head.pooling == "mean"
    assert not any("pooler" in name for name in bundle.model.state_dict())
    with pytest.raises(
        InputError, match=r"head\.pooling is 'mean', where BertForSequenceClassification reads the pooler"
    ):
        export_huggingface(folder / "mean", folder / "exported")


def test_frozen_parts_stay_and_lower_layers_learn_less(run: Path, folder: Path) -> None:
    before = ModelBundle.load(run).model.state_dict()

    def moved(name: str, **optimizer: Any) -> dict[str, float]:
        overrides = {
            "training": {"start_from": str(run), "updates": 1},
            "optimizer": {"kind": "adamw", "learning_rate": 1e-3, "schedule": {"kind": "constant"}, **optimizer},
        }
        transduce.train(folder / "tiny.toml", folder / name, overrides=overrides)
        after = ModelBundle.load(folder / name).model.state_dict()
        return {name: float((after[name] - before[name]).abs().max()) for name in before}

    frozen = moved("frozen", frozen=["embeddings", "encoder.embedding", "layers.0"])
    assert all((move == 0) == ("embedding" in name or "layers.0" in name) for name, move in frozen.items())
    decayed = moved("decayed", layer_decay=0.5)
    for place, name in enumerate(
        ("embedding.norm.bias", "layers.0.feed_forward.inner.bias", "layers.1.feed_forward.inner.bias")
    ):
        assert decayed[f"encoder.{name}"] == pytest.approx(1e-3 * 0.5 ** (3 - place), rel=0.05)
    assert decayed["head.output.bias"] == pytest.approx(1e-3, rel=0.05)


def test_the_command_gives_a_line_for_each_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "texts").write_text("a lovely fox\n\na bad cow\n", encoding="utf-8")
    app(["classify", str(run), str(tmp_path / "texts")])
    first, blank, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["label"], blank, last["label"]) == ("up", None, "down")
    (tmp_path / "texts.jsonl").write_text('{"text": "a lovely fox"}\n', encoding="utf-8")
    app(["classify", str(run), str(tmp_path / "texts.jsonl"), "-o", str(tmp_path / "out")])
    assert json.loads((tmp_path / "out").read_text()) == first


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not json", "line 1 is not JSON"),
        ("[1]", "is not a JSON object"),
        ('{"txt": "a"}', "no text under 'text'"),
        ('{"text": null}', "line 1 has null under 'text'; expected a text in quotation marks"),
    ],
)
def test_an_object_without_a_text_is_reported(run: Path, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "texts.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        app(["classify", str(run), str(tmp_path / "texts.jsonl")])


def test_models_are_compared_on_the_same_texts(
    run: Path, folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    short = tmp_path / "short"
    transduce.train(folder / "tiny.toml", short, overrides={"training.updates": 1})
    app(["compare", str(run), str(short), "--json", "-q"])
    baseline, other = json.loads(capsys.readouterr().out)["systems"]
    assert other["accuracy"]["score"] < baseline["accuracy"]["score"]
    assert other["against_baseline"]["accuracy"]["difference"] < 0


def test_classes_are_counted_in_one_order_whatever_the_models(run: Path, folder: Path) -> None:
    bundle = ModelBundle.load(run)
    head = msgspec.structs.replace(bundle.config.head, labels=("up", "down"))
    swapped = replace(bundle, config=msgspec.structs.replace(bundle.config, head=head))
    data = CLASSIFICATION.test_data(Wanted(swapped.config, None, folder, str(folder / "test.tsv")))
    found = CLASSIFICATION.score(swapped, data)  # which is always wrong now
    labels = [label for _, label in TEXTS[::4]]
    assert found.outcome.labels == ["down", "up"]
    assert found.outcome.confusion.tolist() == [[0, labels.count("down")], [labels.count("up"), 0]]
    assert found.counts["accuracy"].score == 0


def test_models_of_different_classes_are_not_compared(run: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "three.tsv").write_text(table([*TEXTS, ("a dog", "neither")]), encoding="utf-8")
    overrides = {"training.updates": 1, "data.train": "three.tsv"}
    transduce.train(folder / "tiny.toml", tmp_path / "three", overrides=overrides)
    with pytest.raises(InputError, match=r"three predicts the classes down, neither, up, but .* down, up; they must"):
        app(["compare", str(run), str(tmp_path / "three"), "-q"])


def test_a_blank_text_gives_null(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "texts.jsonl").write_text('{"text": " "}\n{"text": "a lovely fox", "note": ""}\n', encoding="utf-8")
    app(["classify", str(run), str(tmp_path / "texts.jsonl")])
    blank, told = map(json.loads, capsys.readouterr().out.splitlines())
    assert (blank, told["label"]) == (None, "up")


def test_lines_are_objects_where_the_file_name_says_jsonl(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "made.jsonl.d"
    folder.mkdir()
    (folder / "texts").write_text("a lovely fox\n", encoding="utf-8")
    app(["classify", str(run), str(folder / "texts")])
    assert json.loads(capsys.readouterr().out)["label"] == "up"


def test_files_named_beside_a_built_in_recipe_start_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for changes in (
        {"training.start_from": "here"},
        {"training": {"start_from": "here"}},
        ["training.start_from=here"],
    ):
        assert load_recipe("sst2", changes).config.training.start_from == str(tmp_path / "here")


def test_runs_and_a_sweep_tell_accuracies(
    run: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["sweep", str(folder / "tiny.toml"), "training.updates=1,2", "-q", "--out", str(tmp_path / "swept")]
    app(command)
    told = capsys.readouterr().out
    assert "accuracy of" in told
    assert "perplexity" not in told
    app(["runs", str(tmp_path / "swept")])
    table = capsys.readouterr().out
    assert "accuracy" in table
    assert "BLEU" not in table


def test_only_translators_are_combined_or_compiled(run: Path) -> None:
    for call in (lambda: transduce.load(run, run), lambda: transduce.load(run, compile=True)):
        with pytest.raises(InputError):
            call()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "b"}', "line 1 has no label under 'label'"),
        ('{"text": 3, "label": "up"}', "line 1 has 3 under 'text'; expected a text"),
    ],
)
def test_an_object_that_is_no_labelled_text_is_named(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        list(labelled_corpus(tmp_path / "bad.jsonl", LabelColumns()))
