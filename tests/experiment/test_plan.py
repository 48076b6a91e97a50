"""A plan counts the needs of a recipe on GPUs before anything is trained."""

from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from fake_cuda import Work, fake_cuda
from transduce.bundle import ModelBundle
from transduce.bundle_config import FORMAT, BundleConfig
from transduce.errors import ConfigError
from transduce.experiment.assumed_run import assume_run
from transduce.experiment.machine import operations_of_a_token
from transduce.experiment.plan import count_update, plan
from transduce.experiment.recipe import load_recipe
from transduce.models.families import build_model
from transduce.models.transformer import TransformerConfig
from transduce.text.tokenizer import SideConfig, TokenizerConfig, Tokenizers
from transduce.text.tokenizer_training import train_tokenizer
from transduce.training.checkpoint import Checkpoints
from transduce.training.distributed import Processes
from transduce.training.hardware import GPUS, seconds_of, usable
from transduce.training.optimizer import inner_matrices
from transduce.training.trainer import Trainer

NARROW = {
    "model.dim": 16,
    "model.heads": 2,
    "model.feed_forward_dim": 24,
    "tokenizer.size": 300,
    "batching.target_tokens": 600,
}
ATTEMPTS = plan.__globals__["ATTEMPTS"]
WMT = "wmt14-en-de-base"
WMT_NARROW = NARROW | {"model.key_dim": 8, "model.value_dim": 8}


@pytest.fixture(autouse=True)
def tries_no_other_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for the largest part that fits is most of a plan's time; one test has it whole."""
    monkeypatch.setitem(plan.__globals__, "ATTEMPTS", 0)


def never(model: Any) -> Any:
    raise AssertionError


def trainer_of(config: Any, model: Any, run: Any) -> Trainer:
    checkpoints = Checkpoints(Path(), config.checkpoint, lambda folder: None)
    settings = (config.training, config.optimizer, config.validation)
    return Trainer(model, run.objective, run.data(), never, checkpoints, [], *settings, Processes())


def counted_with_numbers(recipe: str, changes: dict[str, Any]) -> Work:
    """The work of the second update of the same batch, with real numbers, on the counterfeit GPU of the tests."""
    known = load_recipe(recipe, changes)
    config = known.config
    run = assume_run(config, known.folder, 32)
    with fake_cuda() as work:
        model = build_model(config.model, run.vocabulary, run.vocabulary).to(torch.device("cuda", 0))
        trainer = trainer_of(config, model, run)
        trainer.update(np.arange(run.rows))
        work.clear()
        trainer.update(np.arange(run.rows))
    return work


@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        (WMT, WMT_NARROW | {"model.encoder_layers": 2, "model.decoder_layers": 1}),
        ("multi30k", NARROW | {"model.encoder_layers": 1, "model.decoder_layers": 2, "training.accumulate": 2}),
        ("shakespeare", {"model.dim": 32, "model.heads": 4, "model.feed_forward_dim": 32, "model.layers": 2}),
        ("ptb-xl", NARROW | {"model.layers": 2, "batching.window": 12}),
    ],
)
def test_launches_and_waits_are_those_of_tensors_with_numbers(recipe: str, changes: dict[str, Any]) -> None:
    known = load_recipe(recipe, changes)
    planned = count_update(known.config, assume_run(known.config, known.folder, 32))[1].work
    work = counted_with_numbers(recipe, changes)
    # but for copies of what both kernels of attention lay out differently
    assert planned.launches.total() == pytest.approx(work.launches.total(), rel=0.01)
    assert planned.waits == work.waits


@pytest.mark.slow
def test_an_update_of_the_wmt_recipe_has_as_many_launches_as_the_documentation_says() -> None:
    planned = plan(WMT)
    page = (Path(__file__).parents[2] / "docs/performance.md").read_text(encoding="utf-8")
    assert f"| {WMT} | {planned.launches:,} | {sum(planned.waits.values())} |" in page


@pytest.mark.slow
def test_memory_is_what_the_allocator_gives_tensors_with_numbers() -> None:
    changes = {
        "training.accumulate": 1,
        "batching.target_tokens": 1024,
        "model.encoder_layers": 2,
        "model.decoder_layers": 2,
        "model.attention_dropout": 0.0,  # with it a processor keeps weights of attention, which a GPU never does
    }
    known = load_recipe("multi30k", changes)
    run = assume_run(known.config, known.folder, 32)
    with fake_cuda(), torch.profiler.profile(profile_memory=True) as profile:
        model = build_model(known.config.model, run.vocabulary, run.vocabulary).to(torch.device("cuda", 0))
        trainer = trainer_of(known.config, model, run)
        for _ in range(2):
            trainer.update(np.arange(run.rows))
    events = sorted(profile.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    sizes = list(accumulate(event.nbytes() for event in events if event.name() == "[memory]"))
    memory = plan("multi30k", overrides=changes).memory
    kept = memory.weights + memory.working_copy + sum(memory.optimizer.values())
    assert sizes[-1] == pytest.approx(kept, rel=0.01)
    assert memory.total <= max(sizes) <= 1.5 * memory.total


def test_parameters_and_what_is_kept_for_each_are_exact() -> None:
    changes = {"optimizer.kind": "muon", "training.moving_average": 0.99, "tokenizer.size": 700}
    changes |= {"model.encoder_layers": 1, "model.decoder_layers": 1, "training.accumulate": 2}
    planned = plan("multi30k", overrides=changes)
    config = load_recipe("multi30k", changes).config
    model = build_model(config.model, 700, 700)
    count = sum(parameter.numel() for parameter in model.parameters())
    matrices = sum(matrix.numel() for matrix in inner_matrices(model))
    assert sum(planned.parameters.values()) == count
    assert planned.parameters["embeddings"] == 700 * 256 and planned.parameters["output"] == 0  # shared
    assert planned.memory.weights == 2 * 4 * count  # and their average
    assert planned.memory.working_copy == 2 * count
    assert planned.memory.gradients == 4 * count  # of two parts
    assert planned.memory.optimizer["exp_avg"] == planned.memory.optimizer["exp_avg_sq"] == 4 * (count - matrices)
    assert planned.memory.optimizer["momentum"] == 4 * matrices


def test_operations_are_six_for_each_weight_and_token_and_a_little_for_attention() -> None:
    changes = {"model.encoder_layers": 1, "model.decoder_layers": 2, "training.accumulate": 1}
    planned, config = plan("multi30k", overrides=changes), load_recipe("multi30k", changes).config.model
    assert isinstance(config, TransformerConfig)
    of_weights = planned.tokens * operations_of_a_token(config, 8000)
    assert of_weights < planned.operations < 1.05 * of_weights


@pytest.mark.slow
def test_the_largest_part_that_fits_does_fit_and_little_more_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plan.__globals__, "ATTEMPTS", ATTEMPTS)
    changes = NARROW | {"model.dim": 512, "model.encoder_layers": 1, "model.decoder_layers": 1}
    changes |= {"training.accumulate": 1, "batching.target_tokens": 20_000, "model.feed_forward_dim": 512}
    fit = plan("multi30k", overrides=changes, memory=1.4).fit
    assert fit.accumulate is not None and fit.accumulate > 1  # gradients of other parts take some of the memory
    chosen = plan("multi30k", overrides=changes | {"training.accumulate": "auto"}, memory=1.4).parts
    assert fit.accumulate <= chosen < 2 * fit.accumulate and chosen.bit_count() == 1  # as a run's check would choose
    planned = plan("multi30k", overrides=changes | {"batching.target_tokens": fit.tokens})
    gradients = 4 * sum(planned.parameters.values())
    assert 0.9 * usable(1.4) < planned.memory.total + gradients <= usable(1.4)
    assert plan("multi30k", overrides=changes, memory=1).fit.accumulate is None


def test_parts_that_keep_their_weights_have_no_gradients() -> None:
    changes = NARROW | {"model.encoder_layers": 1, "model.decoder_layers": 1, "optimizer.frozen": ["encoder"]}
    planned = plan("multi30k", overrides=changes)
    learned = planned.parameters["decoder"]  # the embeddings are a part of the encoder too
    assert planned.memory.gradients == planned.memory.optimizer["exp_avg"] == 4 * learned


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"gpu": "h900"}, "no figures of 'h900'; there are those of a100"),
        ({"gpus": 0}, "gpus must be from 1 to 1,024, but is 0"),
        ({"memory": 0.5}, "memory must be from 1 to 1,024, but is 0.5"),
        ({"length": 1}, "length must be from 2 to 100,000, but is 1"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(arguments: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        plan("multi30k", **arguments)


def test_a_plan_says_what_it_leaves_out() -> None:
    changes = NARROW | {"model.encoder_layers": 1, "model.decoder_layers": 1, "training.accumulate": 1}
    left_out = {"training.compile": True, "training.activation_checkpointing": True}
    plain, planned = plan("multi30k", overrides=changes), plan("multi30k", overrides=changes | left_out)
    assert planned.launches == plain.launches
    for setting in left_out:
        assert setting in "; ".join(planned.assumed) and setting not in "; ".join(plain.assumed)


def test_a_plan_changes_no_random_numbers() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    plan("ptb-xlnet", overrides=TINY)
    assert torch.equal(torch.rand(2), expected)


def test_gpus_share_a_batch_and_exchange_gradients() -> None:
    changes = NARROW | {"model.encoder_layers": 1, "model.decoder_layers": 1, "training.accumulate": 1}
    del changes["batching.target_tokens"]
    one, two = (plan("multi30k", overrides=changes | {"batching.sentences": 12}, gpus=count) for count in (1, 2))
    assert (two.tokens, two.launches) == (one.tokens, one.launches)
    assert two.operations == pytest.approx(one.operations / 2)
    assert one.seconds.exchange == 0 < two.seconds.exchange


def test_what_takes_longest_bounds_an_update() -> None:
    gpu = GPUS["h100"]
    assert seconds_of(gpu, 10**15, 10**9, 100, 0, 1).bound == "matrix products"
    assert seconds_of(gpu, 10**12, 10**12, 100, 0, 1).bound == "memory traffic"
    host = seconds_of(gpu, 10**9, 10**6, 1000, 0, 1)
    assert host.bound == "launches" and host.total == host.launches


TINY = {"model.layers": 1, "model.dim": 16, "model.heads": 2, "model.feed_forward_dim": 20}
SHALLOW = {"model.encoder_layers": 1, "model.decoder_layers": 1, "training.accumulate": 1}
TINY_BERT = {"model": {"kind": "bert", "size": "tiny", "max_positions": 256}}


@pytest.mark.parametrize(
    ("recipe", "changes", "row"),
    [
        ("shakespeare-xl", TINY, "windows of 64 tokens"),
        ("ptb-xlnet", TINY, "windows of 70 tokens"),
        ("bible-bert", {"model.size": "tiny"}, "rows of 128 tokens"),
        ("sst2", TINY_BERT, "rows of 128 tokens"),
        ("sick-relatedness", TINY_BERT, "rows of"),
        ("wnut17", TINY_BERT, "rows of"),
        ("squad", TINY_BERT, "rows of 256 tokens"),
        ("quickstart", SHALLOW | {"training.r_drop": 5.0}, "sentence pairs of 32 tokens a side"),
        ("quickstart", SHALLOW | {"training.precision": "float32"}, "sentence pairs of 32 tokens a side"),
    ],
)
def test_each_kind_of_transformer_is_planned(recipe: str, changes: dict[str, Any], row: str) -> None:
    planned = plan(recipe, overrides=changes)
    assert row in planned.assumed[0]
    assert not planned.waits
    assert min(planned.operations, planned.launches, planned.memory.activations) > 0
    assert msgspec.json.encode(planned.to_dict()) and planned.describe()["memory"]


@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        ("multi30k-rnn", {}),
        ("ptb-lstm", {}),
        ("wikitext103-xl-base", TINY | {"model.cutoffs": [50, 90], "tokenizer.size": 200}),
    ],
)
def test_a_model_whose_work_its_data_determine_is_refused(recipe: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"cannot be counted before its data are known .*plan is for Transformers"):
        plan(recipe, overrides=changes)


def test_a_model_to_start_from_brings_its_vocabulary(tmp_path: Path) -> None:
    torch.manual_seed(1)
    config = load_recipe("reverse").config.model
    tokenizer = train_tokenizer(SideConfig(kind="words"), ["a b c d e f"] * 2)
    settings = BundleConfig(
        format=FORMAT,
        task="translation",
        source="x",
        target="y",
        model=config,
        tokenizer=TokenizerConfig(kind="words"),
        longest_source=9,
    )
    model = build_model(config, len(tokenizer), len(tokenizer))
    ModelBundle(settings, model, Tokenizers(tokenizer, tokenizer)).save(tmp_path / "model", [("a b", "b a")])
    planned = plan("reverse", overrides={"training.start_from": str(tmp_path / "model")})
    assert sum(planned.parameters.values()) == sum(parameter.numel() for parameter in model.parameters())
    assert f"{len(tokenizer)} tokens in the vocabulary" in planned.assumed
