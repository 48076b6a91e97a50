"""A run trains, resumes as if it had never stopped, and refuses what does not fit."""

import dataclasses
import io
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from safetensors.torch import load_file

import transduce
from file_server import FileServer
from transduce.base.errors import ConfigError, DataError, InputError
from transduce.base.files import locked
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.splits import open_splits
from transduce.experiment import average, describe_recipe, load_recipe, recipes
from transduce.experiment.recipe import recipe_of
from transduce.search.beam import Beam


def run_log(run: Path) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in (run / "log.jsonl").read_bytes().splitlines()]


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model" / "weights.safetensors")


def test_a_run_leaves_model_log_best_and_settings(tiny_run: Path) -> None:
    for name in (
        "experiment.toml",
        "log.jsonl",
        "best.json",
        "curves.png",
        "tensorboard",
        "model/config.toml",
        "model/README.md",
    ):
        assert (tiny_run / name).exists()
    reports = [line for line in run_log(tiny_run) if "loss" in line]
    assert [line["update"] for line in reports] == [5, 10, 15, 20, 25, 30]
    assert {"learning_rate", "target_tokens_per_second"} <= reports[0].keys()
    assert float(reports[-1]["loss"]) < float(reports[0]["loss"])
    assert [line["update"] for line in run_log(tiny_run) if "validation" in line] == [10, 20, 30]


def test_the_model_kept_is_the_one_of_lowest_validation_loss(tiny_run: Path) -> None:
    losses = {line["update"]: line["validation"]["loss"] for line in run_log(tiny_run) if "validation" in line}
    best = msgspec.json.decode((tiny_run / "best.json").read_bytes())
    assert int(best["checkpoint"]) == min(losses, key=lambda update: losses[update])
    assert best["validation"]["loss"] == min(losses.values())
    assert ModelBundle.load(tiny_run).history["updates"] == int(best["checkpoint"])


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "best"), [("bleu", max), ("ter", min)])
def test_the_model_kept_is_the_best_by_the_metric_that_is_asked_for(
    recipe_file: Path, tmp_path: Path, metric: str, best: Any
) -> None:
    changes = [f"validation.best_by={metric}", "training.updates=40", "optimizer.learning_rate=0.05"]
    transduce.train(load_recipe(str(recipe_file), changes), tmp_path / "run")
    scores = [line for line in run_log(tmp_path / "run") if "validation" in line]
    kept = best(scores, key=lambda line: line["validation"][metric])
    known = msgspec.json.decode((tmp_path / "run" / "best.json").read_bytes())
    assert known == {"checkpoint": f"{kept['update']:06d}", "validation": kept["validation"]}
    lowest = min(scores, key=lambda line: line["validation"]["loss"])
    assert metric == "ter" or lowest["update"] != kept["update"], "the two would agree anyway: change the run"


def test_the_same_seed_gives_the_same_model(tiny_run: Path, recipe_file: Path, tmp_path: Path) -> None:
    transduce.train(load_recipe(str(recipe_file)), tmp_path / "again")
    for name, tensor in weights(tiny_run).items():
        assert torch.equal(tensor, weights(tmp_path / "again")[name]), name


@pytest.mark.slow
def test_sigterm_saves_and_exits_130(recipe_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "transduce",
        "train",
        str(recipe_file),
        "training.updates=100000",
        "--out",
        str(run),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    threading.Timer(120, process.kill).start()
    while process.poll() is None and not list(run.glob("checkpoints/*/progress.json")):
        time.sleep(0.05)
    process.terminate()
    _, errors = process.communicate()
    assert process.returncode == 130
    assert "--resume" in errors
    assert "Traceback" not in errors
    assert ModelBundle.load(run)


def test_an_existing_run_is_not_written_over(tiny_run: Path, recipe_file: Path) -> None:
    before = (tiny_run / "log.jsonl").read_bytes()
    with pytest.raises(
        ConfigError, match=r"exists; resume it \(resume\), replace it \(overwrite\), or choose another folder"
    ):
        transduce.train(load_recipe(str(recipe_file)), tiny_run)
    assert (tiny_run / "log.jsonl").read_bytes() == before


def test_a_finished_run_goes_on_to_a_better_model(recipe_file: Path, tmp_path: Path) -> None:
    losses = []
    for updates in (10, 30):
        recipe = load_recipe(str(recipe_file), [f"training.updates={updates}"])
        losses.append(transduce.train(recipe, tmp_path / "run", resume=True).validation["loss"])
        assert ModelBundle.load(tmp_path / "run").history["validation"]["loss"] == losses[-1]
    assert losses[1] < losses[0]


def test_a_change_takes_the_place_of_the_setting_it_is_instead_of() -> None:
    changes = ["training.updates=20", "batching.target_tokens=500", "validation.every_updates=5"]
    config = load_recipe("multi30k-words", changes).config
    assert (config.training.updates, config.training.epochs) == (20, None)
    assert (config.batching.target_tokens, config.batching.sentences) == (500, None)
    assert (config.validation.every_updates, config.validation.every_epochs) == (5, None)
    with pytest.raises(ConfigError, match="one of updates, epochs and minutes"):
        load_recipe("multi30k-words", ["training.updates=20", "training.epochs=2"])


def test_two_never_train_in_one_folder(tiny_run: Path, recipe_file: Path) -> None:
    kept = (tiny_run / "log.jsonl").read_bytes()
    with locked(tiny_run), pytest.raises(InputError, match="another process is working in"):
        transduce.train(load_recipe(str(recipe_file), ["training.updates=40"]), tiny_run, resume=True)
    assert (tiny_run / "log.jsonl").read_bytes() == kept


def test_what_fails_before_training_leaves_no_folder(recipe_file: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="training text yields only"):
        transduce.train(load_recipe(str(recipe_file), ["tokenizer.size=100000"]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_default_vocabulary_that_the_text_does_not_fill_is_reported(recipe_file: Path, tmp_path: Path) -> None:
    told: list[str] = []
    recipe = load_recipe(str(recipe_file), ["tokenizer.kind=bpe", "training.updates=1"])
    transduce.train(recipe, tmp_path / "run", tell=told.append)
    (line,) = (line for line in told if line.startswith("vocabulary: "))
    assert line.endswith("all that the training text yields of the 8,000 that are the default")


def test_a_recipe_with_training_files_alone_validates_and_tests_on_a_part_of_them(
    corpus: Path, recipe_file: Path, tmp_path: Path
) -> None:
    recipe = load_recipe(str(recipe_file), ["training.updates=2"])
    data = DataConfig(train=["train.en", "train.de"], source="en", target="de", validation_share=0.1, test_share=0.1)
    alone = dataclasses.replace(recipe, config=msgspec.structs.replace(recipe.config, data=data))
    told: list[str] = []
    result = transduce.train(alone, tmp_path / "run", tell=told.append)
    assert result.test is not None
    assert sum(line.startswith(("training data: ", "validation data: ", "test data: ")) for line in told) == 3
    again = load_recipe(str(tmp_path / "run" / "experiment.toml"))  # as `evaluate` reads it
    drawn, redrawn = (open_splits(each.config.data, each.folder) for each in (alone, again))
    assert drawn.test is not None
    assert redrawn.test is not None
    assert list(drawn.test) == list(redrawn.test)


def test_accumulated_parts_make_the_same_update(recipe_file: Path, tmp_path: Path) -> None:
    still = ["model.dropout=0.0", "training.updates=6", "optimizer.learning_rate=1e-5"]
    for parts in (1, 3):
        recipe = load_recipe(str(recipe_file), [*still, f"training.accumulate={parts}"])
        transduce.train(recipe, tmp_path / str(parts))
    for name, tensor in weights(tmp_path / "1").items():
        torch.testing.assert_close(tensor, weights(tmp_path / "3")[name], atol=1e-4, rtol=1e-4)


def test_bfloat16_trains_beside_float32_masters(tiny_run: Path, recipe_file: Path, tmp_path: Path) -> None:
    result = transduce.train(load_recipe(str(recipe_file), ["training.precision=bfloat16"]), tmp_path / "run")
    assert weights(tmp_path / "run")["decoder.norm.weight"].dtype == torch.float32
    exact = msgspec.json.decode((tiny_run / "best.json").read_bytes())["validation"]["loss"]
    assert result.validation["loss"] == pytest.approx(exact, abs=0.1)


def test_training_starts_from_a_bundle(tiny_run: Path, recipe_file: Path, tmp_path: Path) -> None:
    start = f"training.start_from={tiny_run}"
    recipe = load_recipe(str(recipe_file), [start, "training.updates=1", "optimizer.learning_rate=1e-9"])
    result = transduce.train(recipe, tmp_path / "run")
    before = msgspec.json.decode((tiny_run / "best.json").read_bytes())["validation"]["loss"]
    assert result.validation["loss"] == pytest.approx(before, abs=1e-3)
    with pytest.raises(ConfigError, match=r"model\.heads was 3, now it is 2"):
        transduce.train(load_recipe(str(recipe_file), [start, "model.heads=2"]), tmp_path / "other")


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_checkpoint(
    recipe_file: Path, tmp_path: Path
) -> None:
    recipe = load_recipe(
        str(recipe_file),
        ["optimizer.learning_rate=1e30", "training.clip_norm=0", "optimizer.schedule={kind='constant', warmup=0}"],
    )
    with pytest.raises(FloatingPointError, match="not finite at update"):
        transduce.train(recipe, tmp_path / "run")


def test_the_advice_to_lower_the_rate_and_resume_can_be_followed(recipe_file: Path, tmp_path: Path) -> None:
    too_high = ["optimizer.learning_rate=1e30", "training.clip_norm=0", "training.report_every=1"]
    with pytest.raises(FloatingPointError, match=r"lower optimizer\.learning_rate"):
        transduce.train(
            load_recipe(str(recipe_file), [*too_high, "optimizer.schedule={kind='constant'}"]), tmp_path / "run"
        )
    mended = load_recipe(str(recipe_file), ["optimizer.learning_rate=0.001"])
    with pytest.raises(ConfigError, match="exists; resume it"):
        transduce.train(mended, tmp_path / "run")
    transduce.train(mended, tmp_path / "run", resume=True)
    assert [line["update"] for line in run_log(tmp_path / "run") if "loss" in line] == [5, 10, 15, 20, 25, 30]


def test_a_run_that_goes_on_may_change_how_it_learns_and_reports_each_change(recipe_file: Path, tmp_path: Path) -> None:
    transduce.train(load_recipe(str(recipe_file), ["training.updates=10"]), tmp_path / "run")
    changes = {
        "training.updates": "20",
        "training.clip_norm": "0.5",
        "training.accumulate": "2",
        "training.report_every": "2",
        "optimizer.learning_rate": "0.0007",
        "optimizer.schedule.kind": "constant",
        "optimizer.schedule.warmup": "3",
        "validation.every_updates": "4",
        "validation.patience": "9",
        "checkpoint.keep_last": "3",
    }
    recipe = load_recipe(str(recipe_file), [f"{key}={value}" for key, value in changes.items()])
    told: list[str] = []
    transduce.train(recipe, tmp_path / "run", resume=True, tell=told.append)
    assert {line.split()[0] for line in told if ", now it is " in line} == changes.keys()
    assert "training.clip_norm was 1.0, now it is 0.5" in told
    assert "optimizer.learning_rate was not set, now it is 0.0007" in told
    later = [line for line in run_log(tmp_path / "run") if line["update"] > 10]
    assert [line["update"] for line in later if "loss" in line] == [12, 14, 16, 18, 20]
    assert {line["learning_rate"] for line in later if "loss" in line} == {0.0007}
    assert [line["update"] for line in later if "validation" in line] == [12, 16, 20]
    assert load_recipe(str(tmp_path / "run" / "experiment.toml")).config.training.clip_norm == 0.5


@pytest.mark.parametrize(
    "change", ["model.dim=12", "seed=7", "optimizer.kind=adamw", "validation.best_by=bleu", "batching.target_tokens=99"]
)
def test_a_run_that_goes_on_refuses_to_become_another_and_names_the_setting(
    tiny_run: Path, recipe_file: Path, change: str
) -> None:
    before = (tiny_run / "experiment.toml").read_bytes()
    with pytest.raises(ConfigError, match=rf"started with different settings: {change.partition('=')[0]} was "):
        transduce.train(load_recipe(str(recipe_file), ["training.clip_norm=2", change]), tiny_run, resume=True)
    assert (tiny_run / "experiment.toml").read_bytes() == before


@pytest.mark.parametrize("resume", [False, True])
def test_a_run_that_failed_before_it_learned_anything_begins_anew_with_mended_settings(
    recipe_file: Path, tmp_path: Path, resume: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def beyond_memory(*arguments: object) -> None:
        raise ConfigError("batches beyond the memory")

    with monkeypatch.context() as patch, pytest.raises(ConfigError, match="beyond the memory"):
        patch.setattr("transduce.training.trainer.Trainer._check_memory", beyond_memory)
        transduce.train(load_recipe(str(recipe_file), ["model.feed_forward_dim=50"]), tmp_path / "run")
    assert (tmp_path / "run" / "experiment.toml").exists()
    mended = load_recipe(str(recipe_file), ["model.feed_forward_dim=20", "training.updates=2"])
    assert transduce.train(mended, tmp_path / "run", resume=resume).updates == 2


def test_patience_ends_a_run(recipe_file: Path, tmp_path: Path) -> None:
    overrides = ["optimizer.learning_rate=1e-12", "validation.patience=2", "training.updates=10000"]
    result = transduce.train(
        load_recipe(str(recipe_file), [*overrides, "validation.every_updates=3"]), tmp_path / "run"
    )
    assert result.updates < 100


def test_each_validation_logs_what_becomes_of_the_same_few_sentences(
    recipe_file: Path, tmp_path: Path, corpus: Path
) -> None:
    run = tmp_path / "run"
    transduce.train(load_recipe(str(recipe_file), ["validation.samples=3", "training.updates=20"]), run)
    logged = [line["samples"] for line in run_log(run) if "samples" in line]
    assert len(logged) == len([line for line in run_log(run) if "validation" in line])
    shown = [[(sample["source"], sample["reference"]) for sample in samples] for samples in logged]
    sides = [(corpus / f"dev.{language}").read_text(encoding="utf-8").splitlines() for language in ("en", "de")]
    assert shown == [list(zip(*sides, strict=True))[:3]] * len(logged)
    last = transduce.load(run / "checkpoints" / f"{run_log(run)[-1]['update']:06d}" / "bundle")
    outputs = [found.text for found in last.translate([source for source, _ in shown[0]], Beam(size=1))]
    assert [sample["output"] for sample in logged[-1]] == outputs


def test_a_metric_that_there_is_not_is_reported_before_the_run_begins(recipe_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"validation.metrics: no metric 'blue'; there are bleu, chrf"):
        transduce.train(load_recipe(str(recipe_file), ["validation.metrics=['blue']"]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_each_recipe_ships_and_says_what_it_does() -> None:
    assert {"multi30k", "multi30k-words", "quickstart", "copy", "reverse", "quotes", "tatoeba-fra-eng"} <= set(
        recipes()
    )
    for name in recipes():
        assert load_recipe(name).config.training
        assert describe_recipe(name)


@pytest.mark.slow
def test_a_moving_average_is_what_is_validated_and_kept(recipe_file: Path, tmp_path: Path) -> None:
    last_only = ["validation.every_updates=1000", "checkpoint.every_updates=1000", "optimizer.learning_rate=1e-2"]
    last_only += ["optimizer.schedule={kind='constant'}"]
    losses = {}
    for decay in (None, 0.05, 0.95):
        changes = [f"training.moving_average={decay}"] if decay else []
        result = transduce.train(load_recipe(str(recipe_file), [*last_only, *changes]), tmp_path / str(decay))
        losses[decay] = result.validation["loss"]
    assert losses[0.05] == pytest.approx(losses[None], abs=0.02)  # follows the weights closely
    assert losses[0.95] > losses[None] + 0.02  # lags behind while the loss falls fast


def test_an_average_of_checkpoints_is_a_model_that_is_validated(recipe_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    changes = ["checkpoint={every_updates=5, keep_last=4}", "validation.every_updates=1000"]
    transduce.train(load_recipe(str(recipe_file), changes), run)
    told: list[str] = []
    result = average(run, last=3, tell=told.append)
    assert [line.partition(",")[0] for line in told] == ["quality: translations get no estimates"]
    assert result.checkpoints == ["000020", "000025", "000030"]
    files = [run / "checkpoints" / name / "bundle" / "weights.safetensors" for name in result.checkpoints]
    expected = torch.stack([load_file(file)["decoder.norm.weight"] for file in files]).mean(0)
    averaged = ModelBundle.load(result.model)
    torch.testing.assert_close(averaged.model.decoder.norm.weight.data, expected)
    assert averaged.history["validation"] == result.validation
    assert average(run, out=tmp_path / "all").checkpoints == ["000015", "000020", "000025", "000030"]
    assert average(run, best=1, out=tmp_path / "best").checkpoints == ["000030"]
    with pytest.raises(InputError, match="exists; remove it"):
        average(run, last=3)
    with pytest.raises(InputError, match=r"only 4 of the 9 last checkpoints; .* checkpoint\.keep_last"):
        average(run, last=9, out=tmp_path / "nine")
    with pytest.raises(InputError, match="no checkpoints to average"):
        average(tmp_path, out=tmp_path / "none")


def test_a_plateau_reduces_the_rate_and_the_log_says_so(recipe_file: Path, tmp_path: Path) -> None:
    changes = [
        "optimizer.learning_rate=3",
        "optimizer.schedule={kind='plateau', patience=1}",
        "validation.every_updates=2",
    ]
    transduce.train(load_recipe(str(recipe_file), [*changes, "training.report_every=1"]), tmp_path / "run")
    rates = [line["learning_rate"] for line in run_log(tmp_path / "run") if "loss" in line]
    worse = [line for line in run_log(tmp_path / "run") if line.get("best") is False and line["update"] < 30]
    assert worse, "with this rate some validation must be worse than the one before"
    assert rates[-1] == 3 * 0.5 ** len(worse)


def test_a_runs_settings_are_a_recipe_that_repeats_it(recipe_file: Path, tmp_path: Path) -> None:
    first, again = tmp_path / "deep" / "first", tmp_path / "again"
    transduce.train(load_recipe(str(recipe_file), ["training.updates=10"]), first)
    assert str(tmp_path) not in (first / "experiment.toml").read_text()
    transduce.train(load_recipe(str(first / "experiment.toml")), again)
    for name, tensor in weights(first).items():
        assert torch.equal(tensor, weights(again)[name]), name


def test_cleaning_and_overlap_are_reported_when_training_begins(
    recipe_file: Path, corpus: Path, tmp_path: Path
) -> None:
    lines = (corpus / "train.en").read_text(encoding="utf-8").splitlines()
    (tmp_path / "leak.en").write_text(f"{lines[0]}\n", encoding="utf-8")
    (tmp_path / "leak.de").write_text("anders\n", encoding="utf-8")
    leak = f"data.test=['{tmp_path}/leak.en', '{tmp_path}/leak.de']"
    short = ["training.updates=1", "search.max_ratio=0", "search.max_extra=2", leak]
    told: list[str] = []
    transduce.train(load_recipe(str(recipe_file), short), tmp_path / "leaking", tell=told.append)
    assert any("of 1 pairs" in line and "1 sources, 0 targets and 0 whole pairs" in line for line in told)
    assert any(line.strip() == f"{lines[0]} | anders" for line in told)

    told.clear()
    steps = "data.cleaning=[{kind='length', max_words=12}, {kind='overlap', of='either'}]"
    transduce.train(load_recipe(str(recipe_file), [*short, steps]), tmp_path / "clean", tell=told.append)
    assert any("with a side not of 1 to 12 words, such as:" in line for line in told)
    assert not any("are in the training data too" in line for line in told)
    with pytest.raises(ConfigError, match=r"data\.cleaning was .* now it is"):
        transduce.train(load_recipe(str(recipe_file), short), tmp_path / "clean", resume=True)


def tiny(*overrides: str) -> list[str]:
    """Settings that make any recipe's model small."""
    sizes = ["encoder_layers=1", "decoder_layers=1", "dim=32", "heads=2", "feed_forward_dim=32"]
    return [*(f"model.{size}" for size in sizes), "training.precision=float32", *overrides]


def test_generated_tasks_are_validated_by_exact_match(tmp_path: Path) -> None:
    sizes = ["data.sequences={train=60, validation=9, test=5}", "training.updates=2", "checkpoint.every_updates=2"]
    result = transduce.train(load_recipe("copy", tiny(*sizes)), tmp_path / "run")
    assert 0 <= result.validation["exact_match"] <= 1


def test_quotes_are_known_by_heart(tmp_path: Path) -> None:
    sizes = ["model.key_dim=5", "model.value_dim=7", "optimizer.learning_rate=1e-2", "training.epochs=60"]
    sizes += ["batching.sentences=6", "validation.every_epochs=60"]
    result = transduce.train(load_recipe("quotes", tiny(*sizes)), tmp_path / "run")
    assert result.validation["exact_match"] == 1


WMT_LINES = {
    "europarl-v7": ["Resumption of the session\tWiederaufnahme der Sitzungsperiode", "Yes.\tJa."],
    "commoncrawl": ["One two three four .\tEins zwei drei vier .", "one two three\t" + "lang " * 9],
    "news-commentary-v9": ["What a fine day it is .\tWas für ein schöner Tag es ist ."],
}


def serve_wmt(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """WMT14 in the archives and formats of its makers, but small."""
    from transduce.corpora.catalogue.registry import DATASETS

    def sides(lines: list[str], form: str = "{}") -> dict[str, str]:
        pairs = [line.split("\t") for line in lines]
        return {lang: "".join(form.format(pair[i]) + "\n" for pair in pairs) for i, lang in enumerate(("en", "de"))}

    texts = {}
    for corpus, lines in WMT_LINES.items():
        many = [f"{i} {line.replace(chr(9), f'{chr(9)}{i} ')}" for line in lines for i in range(40)]
        folder = "" if corpus == "commoncrawl" else "training/"
        texts |= {f"{folder}{corpus}.de-en.{language}": text for language, text in sides(many).items()}
    segments = sides(["This is a test .\tDies ist ein Test .", "A &amp; B\tA &amp; B"], '<seg id="1">{}</seg>')
    for language, text in segments.items():
        kind = "src" if language == "en" else "ref"
        texts |= {
            f"test/newstest2013-src.{language}.sgm": text,
            f"test-full/newstest2014-deen-{kind}.{language}.sgm": text,
        }
    remotes = []
    for remote in DATASETS["wmt14-en-de"].remotes:
        name = remote.address.rsplit("/", 1)[-1]
        with tarfile.open(server.folder / name, "w:gz") as archive:
            for place in [*remote.keep.values(), "training/other.cs-en.cs"]:
                content = texts.get(place, "jiné\n").encode()
                member = tarfile.TarInfo(place)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        remotes.append(dataclasses.replace(remote, address=f"{server.address}/{name}", checksum=None))
    changed = dataclasses.replace(DATASETS["wmt14-en-de"], remotes=tuple(remotes))
    monkeypatch.setitem(DATASETS, "wmt14-en-de", changed)


def test_the_wmt14_recipe_runs_from_download_to_bleu(
    file_server: FileServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    serve_wmt(file_server, monkeypatch)
    file_server.drops = [100, 50]
    told: list[str] = []
    few = ["tokenizer.size=330", "training.updates=2", "batching.target_tokens=300", "search.max_extra=3"]
    few += ["model.key_dim=8", "model.value_dim=8", "checkpoint.every_updates=2"]
    result = transduce.train(load_recipe("wmt14-en-de-base", tiny(*few)), tmp_path / "run", tell=told.append)
    assert sum("downloading" in line for line in told) == 5
    assert any("training data: 120 pairs from wmt14-en-de train" in line for line in told)
    for reason in ("40 with a side not of 3 to 150 words", "40 with more than 2 times the words"):
        assert any(reason in line for line in told)
    assert result.test is not None
    assert result.test["search"]["size"] == 4
    served = len(file_server.asked)
    transduce.train(load_recipe("wmt14-en-de-base", tiny(*few)), tmp_path / "again")
    assert len(file_server.asked) == served


def test_a_run_in_a_folder_that_is_called_like_a_recipe_is_the_run(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reverse").mkdir()
    (tmp_path / "reverse" / "experiment.toml").write_bytes((tiny_run / "experiment.toml").read_bytes())
    monkeypatch.chdir(tmp_path)
    found = recipe_of(Path("reverse"))
    assert found is not None and found.config.data.dataset is None
