"""distill and backtranslate as commands: one that is killed goes on, and prints what the stages counted."""

import inspect
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import transduce as package
from transduce.apps.cli.main import app
from transduce.experiment import Selection, translated_shards
from transduce.experiment.distillation import DEFAULT_BEAM

Command = Callable[..., tuple[int, str, str]]
SMALL = ("training.updates=4", "tokenizer.kind=bytes", "checkpoint.every_updates=2", "validation.every_updates=2")


@pytest.fixture
def common(corpus: Path, recipe_file: Path) -> tuple[object, ...]:
    """Options of both verbs: files to validate on, a recipe, and no translation that is too bad."""
    return (*SMALL, "--recipe", recipe_file, "--validation", corpus / "dev.en", corpus / "dev.de", "--drop-worst", 0)


@pytest.mark.slow
def test_a_command_distills_and_prints_its_figures(
    transduce: Command, sure_model: Path, corpus: Path, tmp_path: Path, common: tuple[object, ...]
) -> None:
    words = ("distill", sure_model, f"{corpus}/train.en,{corpus}/train.de", *common, "--out", tmp_path / "out")
    words += ("--step", "length min_words=1", "--test", corpus / "test.en", corpus / "test.de")
    status, output, errors = transduce(*words, "--json")
    assert status == 0, errors
    found = json.loads(output)
    assert found["pairs"]["translated"] == sum(1 for _ in (corpus / "train.en").open())
    assert set(found["comparison"]) == {"test_set", "teacher", "student", "difference"}
    status, output, errors = transduce(*words, "--quiet")
    assert (status, errors) == (0, "")
    assert output.startswith(f"kept {found['pairs']['kept']:,} of {found['pairs']['translated']:,} translations\n")
    assert "BLEU on " in output
    assert f"translate {tmp_path}/out/run" in output
    status, *_ = transduce("translate", tmp_path / "out/run", corpus / "test.en", "--quiet")
    assert status == 0


def test_a_command_translates_back(
    transduce: Command, sure_model: Path, corpus: Path, tmp_path: Path, recipe_file: Path
) -> None:
    more = tmp_path / "more.en"
    more.write_text((corpus / "test.en").read_text(encoding="utf-8"), encoding="utf-8")
    status, output, errors = transduce(
        *("backtranslate", sure_model, more, *SMALL, "--recipe", recipe_file, "--drop-worst", 0),
        *("--validation", corpus / "dev.de", corpus / "dev.en", "--pairs", f"{corpus}/train.de,{corpus}/train.en"),
        *("--out", tmp_path / "out", "--sample", "--temperature", 0.5, "--tag", "<BT>"),
    )
    assert status == 0, errors
    assert "true pairs beside them" in output
    assert "cleaning: removed are" in errors and "training data: " in errors


def test_an_interruption_says_how_to_go_on(
    transduce: Command,
    sure_model: Path,
    corpus: Path,
    tmp_path: Path,
    common: tuple[object, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopping(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(translated_shards, "_translate", stopping)
    words = ("distill", sure_model, f"{corpus}/train.en,{corpus}/train.de", *common, "--out", tmp_path / "out", "-q")
    told = "transduce: interrupted; what is finished is saved; repeat the command to continue\n"
    assert transduce(*words) == (130, "", told)


@pytest.mark.slow
def test_a_command_that_is_killed_goes_on(
    start: Callable[..., Any],
    transduce: Command,
    sure_model: Path,
    corpus: Path,
    tmp_path: Path,
    common: tuple[object, ...],
) -> None:
    words = ("distill", sure_model, f"{corpus}/train.en,{corpus}/train.de", *common, "--step", "length min_words=1")
    words += ("training.updates=8", "--out")
    for file in ("translations/pairs-00000.jsonl.zst", "run/checkpoints/000002"):
        process = start(*words, tmp_path / "killed")
        while not (tmp_path / "killed" / file).exists():
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "killed/run/model").exists()
    for name in ("killed", "whole"):
        status, _, errors = transduce(*words, tmp_path / name)
        assert status == 0, errors
    for file in ("translations/pairs-00000.jsonl.zst", "data/translated.jsonl.zst", "run/model/weights.safetensors"):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_defaults_are_those_of_the_functions() -> None:
    verbs: dict[str, Any] = app.all_commands()
    for verb, function in (("distill", package.distill), ("backtranslate", package.backtranslate)):
        defaults = {option.name: option.default for option in verbs[verb].params}
        for name, parameter in inspect.signature(function).parameters.items():
            if name in ("recipe", "pairs_weight", "tag", "device", "precision"):
                assert defaults[name] == parameter.default
        assert defaults["drop_worst"] == Selection().drop_worst
    assert {option.name: option.default for option in verbs["distill"].params}["beam_size"] == DEFAULT_BEAM
