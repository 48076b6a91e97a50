"""A plan counts the needs of a recipe on GPUs, by its own data and before anything is trained."""

import random
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomli_w
import torch

from fake_cuda import Work, fake_cuda
from small_corpus import small_corpus
from transduce.base.errors import ConfigError
from transduce.base.task_table import find_task
from transduce.experiment.building import build_trainer, prepare
from transduce.experiment.machine import operations_of_a_token
from transduce.experiment.recipe import find_recipe
from transduce.experiment.training_plan import plan
from transduce.models.transformer import TransformerConfig
from transduce.training.distributed import ALONE
from transduce.training.gpu_work import GPU
from transduce.training.hardware import GPUS, seconds_of, usable
from transduce.training.optimizer import inner_matrices

ATTEMPTS = plan.__globals__["ATTEMPTS"]
SMALL = {"encoder_layers": 1, "decoder_layers": 2, "dim": 16, "heads": 2, "feed_forward_dim": 24}
ENCODER = {"kind": "transformer-encoder", "layers": 1, "dim": 16, "heads": 2, "feed_forward_dim": 20}
READING = {"tokenizer": {"kind": "words", "min_frequency": 1}, "batching": {"examples": 6}, "model": ENCODER}
KINDS: dict[str, dict[str, Any]] = {
    "translation": {},
    "float32": {"training": {"precision": "float32"}},
    "language": {
        "task": "language",
        "data": {"train": "train.en", "validation": "dev.en", "language": "en"},
        "model": {"kind": "causal-transformer", "layers": 1, "dim": 16, "heads": 2, "feed_forward_dim": 20},
        "batching": {"window": 12, "target_tokens": 48},
    },
    "xl": {
        "task": "language",
        "data": {"train": "train.en", "validation": "dev.en", "language": "en"},
        "model": {"kind": "transformer-xl", "layers": 1, "dim": 16, "heads": 2, "feed_forward_dim": 20, "memory": 12},
        "batching": {"window": 12, "target_tokens": 48},
    },
    "xlnet": {
        "task": "language",
        "data": {"train": "train.en", "validation": "dev.en", "language": "en"},
        "model": {"kind": "xlnet", "layers": 1, "dim": 16, "heads": 2, "feed_forward_dim": 20, "memory": 12},
        "batching": {"window": 12, "target_tokens": 48},
    },
    "classes": {"task": "classification", "data": {"train": "marks.tsv", "language": "en"}, **READING},
    "scores": {
        "task": "classification",
        "predict": "score",
        "pooling": "mean",
        "data": {"train": "words.tsv", "language": "en"},
        **READING,
    },
    "tags": {"task": "tagging", "data": {"train": "tags.conll", "language": "en"}, **READING},
}


@pytest.fixture(autouse=True)
def tries_no_other_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for the largest part that fits is most of a plan's time; one test has it whole."""
    monkeypatch.setitem(plan.__globals__, "ATTEMPTS", 0)


@pytest.fixture(scope="module")
def folder(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small texts for each task."""
    folder = tmp_path_factory.mktemp("plans")
    for file in corpus.glob("*.??"):
        (folder / file.name).write_bytes(file.read_bytes())
    texts = [pair.source for pair in small_corpus(120)]
    (folder / "marks.tsv").write_text("".join(f"{text}\t{text[-1]}\n" for text in texts), encoding="utf-8")
    (folder / "words.tsv").write_text("".join(f"{text}\t{len(text.split())}\n" for text in texts), encoding="utf-8")
    tagged = ("".join(f"{word} {'B-x' if len(word) > 5 else 'O'}\n" for word in text.split()) for text in texts)
    (folder / "tags.conll").write_text("\n".join(tagged), encoding="utf-8")
    return folder


def recipe(folder: Path, kind: str = "translation", **changes: Any) -> Path:
    """A file of settings that train something small on the folder's texts."""
    tree: dict[str, Any] = {
        "data": {"train": ["train.en", "train.de"], "validation": ["dev.en", "dev.de"], "source": "en", "target": "de"},
        "tokenizer": {"kind": "words", "min_frequency": 1},
        "model": {"kind": "transformer", **SMALL, "tie": "none"},
        "batching": {"target_tokens": 300},
        "training": {"updates": 20, "accumulate": 1},
        "optimizer": {"learning_rate": 1e-3},
    }
    if "data" in KINDS[kind]:
        tree = {name: tree[name] for name in ("tokenizer", "training", "optimizer")}
    for name, table in [*KINDS[kind].items(), *changes.items()]:
        tree[name] = (
            tree.get(name, {}) | table if isinstance(table, dict) and name not in ("model", "batching") else table
        )
    path = folder / f"{kind}-{random.getrandbits(40)}.toml"
    path.write_text(tomli_w.dumps(tree), encoding="utf-8")
    return path


def counted_with_numbers(path: Path) -> Work:
    """The work of the second update of the largest batch, with real numbers, on the counterfeit GPU of the tests."""
    known = find_recipe(path)
    config = known.config
    prepared = prepare(config, experiment := find_task(config.task).open(config, known.folder), lambda line: None)
    epoch = prepared.data.epoch(0)
    rows = max(epoch.batches, key=epoch.tokens)
    with fake_cuda() as work:
        trainer = build_trainer(Path(), config, experiment, prepared, ALONE, GPU)
        trainer.update(rows)
        work.clear()
        trainer.update(rows)
    return work


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["translation", "language", "xl"])
def test_launches_are_those_of_tensors_with_numbers(folder: Path, kind: str) -> None:
    path = recipe(folder, kind, training={"precision": "bfloat16"})
    # but for copies of what both kernels of attention lay out differently
    assert plan(path).launches == pytest.approx(counted_with_numbers(path).launches.total(), rel=0.05)


@pytest.mark.slow
def test_memory_is_what_the_allocator_gives_tensors_with_numbers(folder: Path) -> None:
    model = {"kind": "transformer", "encoder_layers": 2, "decoder_layers": 2, "dim": 64, "heads": 4}
    model["attention_dropout"] = 0.0  # with it a processor keeps weights of attention, which a GPU never does
    path = recipe(folder, model=model, training={"precision": "bfloat16"})
    with torch.profiler.profile(profile_memory=True) as profile:
        counted_with_numbers(path)
    events = sorted(profile.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    sizes = list(accumulate(event.nbytes() for event in events if event.name() == "[memory]"))
    memory = plan(path).memory
    assert 0.8 * memory.total <= max(sizes) <= 1.6 * memory.total


@pytest.mark.slow
def test_parameters_and_what_is_kept_for_each_are_exact(folder: Path) -> None:
    path = recipe(
        folder,
        optimizer={"kind": "muon"},
        training={"moving_average": 0.99, "accumulate": 2},
        model={"kind": "transformer", **SMALL, "tie": "all"},
        tokenizer={"shared": True},
    )
    planned, known = plan(path), find_recipe(path)
    experiment = find_task(known.config.task).open(known.config, known.folder)
    model = prepare(known.config, experiment, lambda line: None).bundle.model
    count = sum(parameter.numel() for parameter in model.parameters())
    matrices = sum(matrix.numel() for matrix in inner_matrices(model))
    assert sum(planned.parameters.values()) == count
    assert planned.parameters["embeddings"] % 16 == 0 and planned.parameters["output"] == 0  # shared
    assert planned.memory.weights == 2 * 4 * count  # and their average
    assert planned.memory.working_copy == 2 * count
    assert planned.memory.gradients == 4 * count  # of two parts
    assert planned.memory.optimizer["exp_avg"] == planned.memory.optimizer["exp_avg_sq"] == 4 * (count - matrices)
    assert planned.memory.optimizer["momentum"] == 4 * matrices


def test_operations_are_six_for_each_weight_and_token_and_a_little_for_attention(folder: Path) -> None:
    model = {"kind": "transformer", **SMALL, "dim": 128, "feed_forward_dim": 256, "tie": "all"}
    path = recipe(folder, model=model, tokenizer={"shared": True}, training={"precision": "float32"})
    planned, known = plan(path), find_recipe(path)
    assert isinstance(known.config.model, TransformerConfig)
    vocabulary = planned.parameters["embeddings"] // 128
    of_weights = planned.tokens / 2 * operations_of_a_token(known.config.model, vocabulary)
    assert 0.9 * of_weights < planned.operations < 1.2 * of_weights  # sources are not as long as targets


@pytest.mark.thorough
def test_the_largest_part_that_fits_does_fit_and_little_more_would(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(plan.__globals__, "usable", lambda gib: gib * 2**20)
    path = recipe(folder, batching={"target_tokens": 1200})
    one = plan(path)
    monkeypatch.setitem(plan.__globals__, "ATTEMPTS", ATTEMPTS)
    memory = 0.8 * one.memory.total / 2**20
    fit = plan(path, memory=memory).fit
    assert fit.accumulate is not None and fit.accumulate > 1  # gradients of other parts take some of the memory
    assert 0 < fit.tokens < one.tokens
    automatic = recipe(folder, batching={"target_tokens": 1200}, training={"accumulate": "auto"})
    assert plan(automatic).parts == 1 < plan(automatic, memory=memory).parts
    monkeypatch.setitem(plan.__globals__, "usable", lambda gib: 1000)
    assert plan(path).fit.accumulate is None


def test_parts_that_keep_their_weights_have_no_gradients(folder: Path) -> None:
    planned = plan(recipe(folder, optimizer={"frozen": ["encoder"]}, training={"accumulate": 2}))
    learned = sum(count for name, count in planned.parameters.items() if name != "encoder")
    assert planned.memory.gradients == planned.memory.optimizer["exp_avg"] < 4 * learned


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"gpu": "h900"}, "no figures of 'h900'; there are those of a100"),
        ({"gpus": 0}, "gpus must be from 1 to 1,024, but is 0"),
        ({"memory": 0.5}, "memory must be from 1 to 1,024, but is 0.5"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(arguments: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        plan("multi30k", **arguments)


@pytest.mark.slow
def test_a_plan_says_what_it_leaves_out(folder: Path) -> None:
    left_out = {"compile": True, "activation_checkpointing": True}
    plain, planned = plan(recipe(folder)), plan(recipe(folder, training=left_out))
    assert planned.launches == plain.launches
    for setting in left_out:
        assert setting in "; ".join(planned.assumed) and setting not in "; ".join(plain.assumed)


def test_a_plan_changes_no_random_numbers(folder: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    plan(recipe(folder, "xlnet"))
    assert torch.equal(torch.rand(2), expected)


@pytest.mark.slow
def test_gpus_share_a_batch_and_exchange_gradients(folder: Path) -> None:
    path = recipe(folder, batching={"sentences": 12})
    one, two = (plan(path, gpus=count) for count in (1, 2))
    assert two.operations < one.operations
    assert one.seconds.exchange == 0 < two.seconds.exchange


def test_what_takes_longest_bounds_an_update() -> None:
    gpu = GPUS["h100"]
    assert seconds_of(gpu, 10**15, 10**9, 100, 0, 1).bound == "matrix products"
    assert seconds_of(gpu, 10**12, 10**12, 100, 0, 1).bound == "memory traffic"
    host = seconds_of(gpu, 10**9, 10**6, 1000, 0, 1)
    assert host.bound == "launches" and host.total == host.launches
    assert 0 < usable(2) < 2 * 2**30


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_task_is_planned_by_its_own_data(folder: Path, kind: str) -> None:
    planned = plan(recipe(folder, kind))
    assert min(planned.operations, planned.launches, planned.memory.activations, planned.updates_of_an_epoch) > 0
    assert planned.updates == 20
    assert msgspec.json.encode(planned.to_dict()) and planned.describe()["memory"]


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("translation", {"kind": "recurrent", "dim": 16, "encoder_dim": 16, "decoder_dim": 16}),
        ("language", {"kind": "recurrent-language", "dim": 16, "layers": 1}),
        ("xl", KINDS["xl"]["model"] | {"cutoffs": [20, 50]}),
    ],
)
def test_a_model_whose_work_depends_on_numbers_is_refused(folder: Path, kind: str, model: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"depends on numbers, so shapes do not tell it .*plan is for Transformers"):
        plan(recipe(folder, kind, model=model, training={"label_smoothing": 0.0}))


@pytest.mark.slow
def test_a_run_of_minutes_has_no_number_of_updates(folder: Path) -> None:
    path = recipe(folder)
    planned, timed = plan(path), plan(path, overrides={"training.updates": None, "training.minutes": 5})
    assert (planned.updates, timed.updates) == (20, None)
    assert timed.describe()["run"] == "as many updates as its minutes allow"
    assert timed.operations == planned.operations


def test_phrases_have_nothing_to_plan(folder: Path) -> None:
    with pytest.raises(ConfigError, match="phrases are learned without a GPU"):
        plan(recipe(folder, model={"kind": "phrases"}))
