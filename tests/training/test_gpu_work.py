"""The work of a GPU in training, counted on a counterfeit one: launches, waits, and the kernels of attention."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from torch import nn

import transduce
from fake_cuda import Work, fake_cuda
from transduce.nn import losses
from transduce.tasks.translation.translation_validation import TranslationValidator
from transduce.training.distributed import Processes
from transduce.training.estimate import Estimate
from transduce.training.observers import Observer
from transduce.training.trainer import Trainer
from transduce.training.validation import Validation

UPDATES = 2  # the first also pays for what is made once


class EnoughError(Exception):
    """Ends a training from within."""


class Counting(Observer):
    """Keeps the work of each update."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.launches: list[int] = []
        self.waits: list[list[str]] = []
        self.attentions: list[dict[str, int]] = []

    def updated(self, update: int) -> None:
        self.launches.append(sum(self.work.launches.values()))
        self.waits.append(sorted(self.work.waits))
        self.attentions.append(dict(self.work.attentions))
        self.work.clear()
        if update == UPDATES:
            raise EnoughError


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for part, count in (("train", 350), ("valid", 20)):
        sides: list[list[str]] = [[], []]
        for number in range(count):
            words = [f"w{number * step % 97}" for step in range(3, 3 + number % 113)]
            sides[0].append(" ".join(words) + ".")
            sides[1].append(" ".join(reversed(words)) + " x.")
        for language, lines in zip(("en", "de"), sides, strict=True):
            (tmp_path / f"{part}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def counted(recipe: str, folder: Path, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Trains for a few updates; the checks before the first are made by tests of their own."""
    monkeypatch.setattr(Trainer, "_check_memory", lambda self: None)
    monkeypatch.setattr(Trainer, "estimate", lambda self: Estimate(0, 100, 1.0))
    often = {f"{name}.every_updates": 100 for name in ("validation", "checkpoint")}
    settings = {"training.report_every": 100, "training.updates": 100, **often, **changes}
    with fake_cuda() as work:
        counting = Counting(work)
        with pytest.raises(EnoughError):
            transduce.train(recipe, folder / "run", overrides=settings, device="cuda:0", observers=[counting])
    return counting


def of_translation(
    files: Path, names: Sequence[str] = ("train", "validation"), max_tokens: int = 150
) -> dict[str, Any]:
    paths = {name: [str(files / f"{name[:5]}.{side}") for side in ("en", "de")] for name in names}
    return {
        "data": {"dataset": None, **paths, "source": "en", "target": "de", "max_tokens": max_tokens, "cleaning": []}
    }


@pytest.mark.slow
def test_a_translation_model_waits_for_nothing_and_computes_no_padding(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as many chunks of logits as of a batch eight times as large and 37,000 tokens in the vocabulary
    monkeypatch.setattr(losses, "LOGITS_OF_GPU", losses.LOGITS_OF_GPU // 8 * 300 // 37_000)
    monkeypatch.setattr(losses, "PROJECTED_AT_ONCE", losses.PROJECTED_AT_ONCE // 8)
    changes = of_translation(files) | {
        "tokenizer.size": 300,
        "batching.target_tokens": 25000 // 8,
        "model.dim": 16,
        "model.heads": 2,
        "model.key_dim": 8,
        "model.value_dim": 8,
        "model.feed_forward_dim": 16,
    }
    found = counted("wmt14-en-de-base", files, changes, monkeypatch)
    assert found.waits[1:] == [[]] * (UPDATES - 1)
    assert found.attentions[1:] == [{"flash": 18}] * (UPDATES - 1)
    assert max(found.launches[1:]) <= 1600


@pytest.mark.slow
def test_a_recurrent_model_waits_for_nothing(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = of_translation(files, max_tokens=40) | {"tokenizer.size": 300, "batching.target_tokens": 600}
    changes |= {f"model.{name}": 8 for name in ("dim", "encoder_dim", "decoder_dim")}
    found = counted("multi30k-rnn", files, changes, monkeypatch)
    assert found.waits[1:] == [[]] * (UPDATES - 1)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
def test_validation_computes_in_the_precision_of_training(
    precision: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[dict[str, float]] = []
    validate = TranslationValidator.__call__

    def remember(self: TranslationValidator, model: nn.Module, processes: Processes) -> Validation:
        assert {str(parameter.dtype) for parameter in model.parameters()} == {f"torch.{precision}"}
        measured.append(dict(validate(self, model, processes).scores))
        return Validation({"loss": 1.0}, 1.0)

    monkeypatch.setattr(TranslationValidator, "__call__", remember)
    monkeypatch.setattr(Trainer, "_save", lambda self, cost: None)
    changes = {f"model.{name}": 8 for name in ("dim", "encoder_dim", "decoder_dim")}
    changes |= of_translation(files, max_tokens=20)
    changes |= {"tokenizer.size": 300, "batching.target_tokens": 200, "validation.samples": 0}
    counted(
        "multi30k-rnn", files, changes | {"training.precision": precision, "validation.every_updates": 1}, monkeypatch
    )
    assert math.isfinite(measured[0]["loss"])


@pytest.fixture
def text(tmp_path: Path) -> dict[str, Any]:
    for name, lines in (("train", 700), ("valid", 20)):
        sentences = (
            " ".join(f"w{number * step % 53}" for step in range(2, 5 + number % 17)) + "." for number in range(lines)
        )
        (tmp_path / f"{name}.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    paths = {"train": str(tmp_path / "train.txt"), "validation": str(tmp_path / "valid.txt")}
    narrow = {"model.dim": 32, "model.heads": 4, "model.feed_forward_dim": 32}
    return {"data": {"dataset": None, **paths, "language": "en"}, **narrow}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "changes", "kernel"),
    [
        ("shakespeare", {}, {"flash": 4}),
        ("ptb-xl", {}, {}),  # its scores have a part that depends on distance, which no fused kernel adds
        ("bible-bert", {"tokenizer.size": 80, "model.attention_dropout": 0.0}, {"flash": 4}),
        ("bible-bert", {"tokenizer.size": 80, "batching.examples": 9}, {"masked": 4}),  # with dropout of weights
    ],
)
def test_a_model_of_texts_waits_for_nothing(
    recipe: str,
    changes: dict[str, Any],
    kernel: dict[str, int],
    text: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = counted(recipe, tmp_path, text | changes, monkeypatch)
    assert found.waits[1:] == [[]] * (UPDATES - 1)
    assert kernel in found.attentions[1:]
    assert max(found.launches[1:]) <= 1000
