"""Phrases in a run: learned alone or beside a neural model, and used by all that translates."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import transduce
from small_corpus import small_corpus
from transduce.apps.cli.main import app, run
from transduce.base.config import flatten
from transduce.base.errors import ConfigError, DataError, InputError
from transduce.bundle.model_card import PARTS
from transduce.corpora.language_detector import detector_of
from transduce.experiment import sweep
from transduce.inference.engines.exported import ExportedModel, open_model
from transduce.phrases.phrase_model import PhraseModel

TINY: dict[str, Any] = {
    "phrases": True,
    "training.updates": 2,
    "model": {"dim": 8, "heads": 1, "feed_forward_dim": 8, "encoder_layers": 1, "decoder_layers": 1},
    "batching.target_tokens": 256,
    "search": {"size": 1, "max_ratio": 0.0, "max_extra": 5},
    "validation.samples": 0,
}
FILES = ["mine.so", "mine.ta"]


def write_files(folder: Path) -> None:
    for side in ("source", "target"):
        lines = [getattr(pair, side) for pair in small_corpus()]
        (folder / f"mine.{side[:2]}").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    return FILES


@pytest.fixture(scope="module")
def told() -> list[str]:
    """What the trainings of `folder` say."""
    return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, told: list[str]) -> Path:
    """The files, and beside them runs of phrases alone, and of phrases beside a neural model."""
    folder = tmp_path_factory.mktemp("phrases")
    write_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        transduce.train(FILES, "alone", overrides={"model.kind": "phrases"}, tell=told.append)
        transduce.train(FILES, "run", overrides=TINY, tell=told.append)
    return folder


@pytest.fixture
def trained(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of a copy of `folder`, in which the test works."""
    monkeypatch.chdir(shutil.copytree(folder, tmp_path / "copy"))
    return FILES


@pytest.mark.parametrize("model", [{"model.kind": "phrases"}, {**TINY, "phrases": False}])
def test_a_model_keeps_what_tells_a_language_that_only_it_knows(
    files: list[str], model: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    transduce.train(files, "run", overrides={**model, "data.source": "qqx", "data.target": "de"})
    (profile,) = open_model("run").history["detection"].items()
    assert profile[0] == "qqx"
    (found,) = detector_of((profile[1],)).detect(["What does Anna open?"], {"qqx": 4.0, "de": 4.0})
    assert next(iter(found)) == "qqx"
    assert run(lambda: app(["info", "run"])) == 0
    shown = capsys.readouterr().out
    assert "qqx" in shown and profile[1][:20] not in shown


def test_two_files_become_a_phrase_based_translator(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(lambda: app(["train", *files, "model.kind=phrases", "--out", "run"])) == 0
    assert "phrases:" in capsys.readouterr().err
    translator = transduce.load("run")
    assert isinstance(translator, transduce.Translator)
    known, blank, number = translator.translate(["What does Anna open?", "", "42"])
    assert (known.text, blank.text, number.text) == ("Was öffnet Anna?", "", "42")
    assert len(translator.translate("I need your newspaper.", transduce.Beam(n_best=3)).n_best) == 3
    for verb in (["info", "run"], ["evaluate", "run", "--source", *files[:1], "--reference", *files[1:]]):
        assert run(lambda verb=verb: app(verb)) == 0
    with pytest.raises(InputError, match="use the original model"):
        translator.score(("a", "b"))
    history = ExportedModel.load(Path("run/model")).history
    assert PARTS in history, "the parts of a test are apart from its score"
    assert PARTS not in history["test"]


@pytest.mark.slow
@pytest.mark.usefixtures("trained")
def test_phrases_hold_what_is_asked_for_and_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    translator = transduce.load("alone")
    assert isinstance(translator, transduce.Translator)
    Path("terms.tsv").write_text("newspaper\tGazette|Gazetten\n", encoding="utf-8")
    Path("in.txt").write_text("I need your newspaper.\nWhat does Anna open?\n", encoding="utf-8")
    assert run(lambda: app(["translate", "alone", "in.txt", "--glossary", "terms.tsv"])) == 0
    shown = capsys.readouterr()
    assert "Gazette" in shown.out.splitlines()[0] and "lacks" not in shown.err
    one, two = translator.translate(
        [
            transduce.Request("I need it.", required=("das",)),
            transduce.Request("I need it.", prefix="Wir", banned=("es",)),
        ]
    )
    assert (one.satisfied, one.unsatisfied) == (["das"], [])
    assert two.text.startswith("Wir ") and not two.violated
    with pytest.raises(InputError, match="without sampling;"):
        translator.translate("I need it.", transduce.Sampling())


@pytest.mark.slow
def test_the_better_model_is_kept(trained: list[str], told: list[str]) -> None:
    assert any("kept the phrases" in line for line in told)
    model = ExportedModel.load(Path("run/model"))
    assert model.history["validation"]["chrf"] > 20
    neural = transduce.load("run/neural")
    assert neural.translate("What does Anna open?").text != "Was öffnet Anna?"
    assert model.history["test"]["bleu"] > 10 and "test" not in neural.bundle.history, "only what is kept is tested"
    assert any(line.startswith("phrases:") for line in told)
    lines: list[str] = []
    more = transduce.train(trained, "run", resume=True, overrides=TINY | {"training.updates": 3}, tell=lines.append)
    assert not any(line.startswith("phrases:") for line in lines), "they are not learned again"
    assert (more.updates, Path("run/model/phrases.safetensors").exists()) == (3, True)


@pytest.mark.slow
def test_what_only_neural_models_do_names_the_neural_model(
    trained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("few.tsv").write_text("I need it.\tIch brauche es.\n", encoding="utf-8")
    for folder, other in (("run", "use run/neural"), ("alone", "train a neural model")):
        for command in (
            ["export", folder, "-o", "out"],
            ["merge", folder, "-o", "out"],
            ["shortlist", folder],
            ["score", folder, "--pairs", "few.tsv"],
            ["translate", folder, trained[0], "--engine", "ctranslate2"],
            ["train", *trained, f"training.start_from={folder}", "--out", "more"],
        ):
            assert run(lambda command=command: app(command)) == 2, command
            (error,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("transduce: ")]
            assert "is a phrase-based model" in error and other in error, (command, error)


@pytest.mark.slow
def test_sweeps_of_few_pairs_compare_neural_models_and_phrases_where_they_are_swept(files: list[str]) -> None:
    overrides = [f"{key}={value}" for key, value in flatten(TINY).items() if "model" not in key and key != "phrases"]
    small = {key: value for key, value in TINY["model"].items() if key == "dim"} | {"dropout": 0}
    overrides += [f"model.{key}={value}" for key, value in small.items()]
    lines: list[str] = []
    swept = sweep(files, {"training.updates": ["1", "2"]}, overrides=overrides, out="updates", tell=lines.append)
    assert not any("phrases" in line for line in lines)
    assert all((cell.trained[0].run / "model" / "weights.safetensors").exists() for cell in swept.cells)
    short = [override for override in overrides if not override.startswith("model.")]
    kinds = sweep(files, {"model.kind": ["transformer", "phrases"]}, overrides=short, out="kinds")
    neural, phrases = (cell.mean("score") for cell in kinds.cells)
    assert neural is not None and phrases is not None and phrases > neural + 10


@pytest.mark.slow
def test_phrases_learn_from_all_corpora_of_one_direction(files: list[str]) -> None:
    Path("two.toml").write_text(
        f"""
[data]
train = [{{ files = {files} }}, {{ files = ["more.so", "more.ta"] }}]
validation = {files}
source = "so"
target = "ta"
[model]
kind = "phrases"
[training]
epochs = 1
""",
        encoding="utf-8",
    )
    for side, words in (("so", "glorp"), ("ta", "zwamp")):
        Path(f"more.{side}").write_text(f"{words}\n" * 3, encoding="utf-8")
    transduce.train("two.toml", "run")
    assert transduce.load("run").translate("glorp").text == "Zwamp"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": {"kind": "phrases"}, "training.start_from": "other"}, "starts from no other model"),
        (
            {"model": {"kind": "phrases"}, "data.context.before": 1, "data.dataset": "multi30k"},
            "phrases read no context",
        ),
        ({"phrases": True, "data.dataset": "multi30k", "data.context.before": 1}, "phrases read no context"),
        (
            {"phrases": True, "data.dataset": "multi30k", "data.directions": ["en-de", "de-en"]},
            "learned for one direction",
        ),
        ({"model": {"kind": "phrases", "dim": 3}}, "unknown key 'dim'; there are no others"),
    ],
)
def test_settings_that_phrases_do_not_have_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(
        '[data]\ndataset = "grammar"\n[model]\nkind = "transformer"\n[training]\nupdates = 1\n', encoding="utf-8"
    )
    with pytest.raises(ConfigError, match=words):
        transduce.train("own.toml", "run", overrides=settings)


@pytest.mark.slow
def test_text_of_the_target_language_is_learned_from(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for name, lines in (("more.ta", ["Anna öffnet das Zwamp."] * 3), ("other.txt", ["Zwamp zwamp zwampelt."])):
        Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["train", *files, "model.kind=phrases", "--mono", "more.ta", "--mono", "other.txt", "--out", "run"]
    assert run(lambda: app(command)) == 0
    assert "translations and 4 lines of ta" in capsys.readouterr().err
    model = PhraseModel.load(Path("run/model"))
    assert len(model.texts) == len(model.sources) + 4
    assert {"Zwamp", "zwampelt"} <= set(model.target.words)
    again = model.with_pairs([("glorp", "zwamp")])
    assert len(again.texts) == len(model.texts) + 1
    recorded = [each["name"] for each in json.loads(Path("run/inputs.json").read_bytes())]
    assert sum(name.endswith(("more.ta", "other.txt")) for name in recorded) == 2
    recipe = Path("run/experiment.toml").read_text(encoding="utf-8")
    assert "monolingual = [" in recipe and "more.ta" in recipe
    transduce.train("run/experiment.toml", "again")  # its paths start from the run's folder
    assert PhraseModel.load(Path("again/model")).texts == model.texts


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"data.monolingual": "more.so", "model.kind": "phrases"}, ConfigError, "more.so is in so by its name"),
        ({"data.monolingual": "no.ta", "model.kind": "phrases"}, DataError, "no.ta: cannot be opened"),
        ({"data.monolingual": "more.ta", "phrases": False}, ConfigError, "is for phrase-based models; leave it out"),
    ],
)
def test_text_that_cannot_be_learned_from_is_one_line(
    files: list[str], settings: dict[str, Any], error: type[Exception], words: str
) -> None:
    for name in ("more.so", "more.ta"):
        Path(name).write_text("zwamp\n", encoding="utf-8")
    with pytest.raises(error, match=words):
        transduce.train(files, "run", overrides=settings)
