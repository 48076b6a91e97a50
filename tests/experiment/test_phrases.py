"""Phrases in a run: learned alone or beside a neural model, and used by all that translates."""

from pathlib import Path

import pytest

import transduce
from small_corpus import small_corpus
from transduce.cli.main import app, run
from transduce.errors import ConfigError, InputError
from transduce.inference.engines.exported import ExportedModel

TINY = {
    "training.updates": 2,
    "model": {"dim": 8, "heads": 1, "feed_forward_dim": 8, "encoder_layers": 1, "decoder_layers": 1},
    "batching.target_tokens": 256,
    "search.size": 1,
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for side in ("source", "target"):
        lines = [getattr(pair, side) for pair in small_corpus()]
        Path(f"mine.{side[:2]}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ["mine.so", "mine.ta"]


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
    with pytest.raises(InputError, match="without required phrases"):
        translator.translate(transduce.Request("I need it.", required=("das",)))
    with pytest.raises(InputError, match="use the original model"):
        translator.score(("a", "b"))


def test_the_better_model_is_kept(files: list[str]) -> None:
    lines: list[str] = []
    result = transduce.train(files, "run", overrides=TINY, tell=lines.append)
    assert any("kept the phrases" in line for line in lines)
    assert isinstance(ExportedModel.load(result.model), ExportedModel)
    assert result.validation["chrf"] > 20
    assert transduce.load("run/neural").translate("What does Anna open?").text != "Was öffnet Anna?"
    more = transduce.train(files, "run", resume=True, overrides=TINY | {"training.updates": 3}, tell=lines.append)
    assert (more.updates, Path("run/model/phrases.safetensors").exists()) == (3, True)


def test_phrases_learn_from_one_corpus(files: list[str]) -> None:
    Path("two.toml").write_text(
        f"""
[data]
train = [{{ files = {files} }}, {{ files = {files} }}]
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
    with pytest.raises(ConfigError, match="one direction from one corpus"):
        transduce.train("two.toml", "run")
