"""Nests all settings into one, and wires a run together: text to tokens to batches to a trained model."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from transduce.analysis.plots import plot_training_curves
from transduce.bundle import PROBES, BundleConfig, ModelBundle, best_bundle, load_weights, read_tokenizers
from transduce.config import Settings, convert, flatten, override, read_toml, to_toml, to_tree
from transduce.data.batch import Batch, make_batch
from transduce.data.batching import BatchingConfig, TrainingData, plan_batches
from transduce.data.store import TokenStore, open_store
from transduce.errors import CheckpointError, ConfigError, DataError, InputError
from transduce.evaluation.evaluate import measure_loss
from transduce.evaluation.metrics import exact_match, score_bleu
from transduce.files import write_text
from transduce.inference.translator import Translator
from transduce.models.families import ModelConfig, build_model
from transduce.objectives.translation import Translation
from transduce.search.beam import Beam
from transduce.text.datasets import DataConfig, Splits, open_splits
from transduce.text.download import announce
from transduce.text.library import cache_folder
from transduce.text.overlap import find_overlaps
from transduce.text.tokenizer import TokenizerConfig, Tokenizers, train_tokenizers
from transduce.training.averaging import average_weights
from transduce.training.checkpoint import (
    CheckpointConfig,
    Checkpoints,
    best_checkpoints,
    latest_checkpoint,
    whole_checkpoints,
)
from transduce.training.distributed import Processes, join_processes, local_device
from transduce.training.observers import JsonLog, Observer
from transduce.training.optimizer import OptimizerConfig
from transduce.training.tensorboard import TensorBoard
from transduce.training.trainer import Trainer, TrainingConfig, ValidationConfig

VALIDATION_TOKENS = 4096
PATH_KEYS = {"train", "validation", "test", "files", "file", "start_from"}
PROBE_CHARACTERS = 200  # longer validation pairs are not made part of a probe


class ExperimentConfig(Settings, frozen=True):
    """All settings of a run."""

    data: DataConfig
    """What is learned from."""
    model: ModelConfig
    """What learns."""
    training: TrainingConfig
    """How long and how."""
    seed: int = 1
    """Decides initial weights, order of data, and dropout."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    """How text becomes tokens."""
    batching: BatchingConfig = BatchingConfig()
    """How large a batch is."""
    optimizer: OptimizerConfig = OptimizerConfig()
    """How weights move."""
    checkpoint: CheckpointConfig = CheckpointConfig()
    """What is kept, and when."""
    validation: ValidationConfig = ValidationConfig()
    """When the model is validated."""
    search: Beam = Beam()
    """How the test set is translated when training ends."""

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError("seed must be at least 0")


@dataclass(frozen=True)
class Recipe:
    """An experiment's settings and where they come from."""

    name: str
    config: ExperimentConfig
    folder: Path
    """Relative paths in the settings start here."""


@dataclass(frozen=True)
class RunResult:
    """What a finished run leaves."""

    run: Path
    model: Path
    updates: int
    seconds: float
    """Over all resumes, validation counted."""
    validation: dict[str, float]
    """Of the kept model: loss in nats per real target token, perplexity, and BLEU if it was asked for."""
    test: dict[str, Any] | None
    """BLEU on the test set, its signature and the search, if the data have one."""

    def to_dict(self) -> dict[str, Any]:
        """What `transduce train --json` prints."""
        facts = {
            "run": str(self.run),
            "model": str(self.model),
            "updates": self.updates,
            "seconds": self.seconds,
            "validation": self.validation,
        }
        return facts | ({"test": self.test} if self.test else {})


@dataclass(frozen=True)
class Average:
    """The mean of several checkpoints."""

    model: Path
    checkpoints: list[str]
    """Names of those averaged."""
    validation: dict[str, float]
    """Its loss in nats per real target token, perplexity, and BLEU if the run asked for it."""

    def to_dict(self) -> dict[str, Any]:
        """What `transduce average --json` prints."""
        return {"model": str(self.model), "checkpoints": self.checkpoints, "validation": self.validation}


def recipes() -> list[str]:
    """Names of the built-in recipes."""
    folder = resources.files("transduce.recipes")
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def describe_recipe(name: str) -> str:
    """The comment that a built-in recipe begins with, on one line."""
    text = (resources.files("transduce.recipes") / f"{name}.toml").read_text(encoding="utf-8")
    return " ".join(line.strip("# ") for line in takewhile(lambda line: line.startswith("#"), text.splitlines()))


def load_recipe(name_or_file: str, overrides: Sequence[str] = ()) -> Recipe:
    """A built-in recipe by its name, or a TOML file, with `key=value` changes."""
    if name_or_file.endswith(".toml"):
        path = Path(name_or_file)
    elif name_or_file in recipes():
        path = Path(str(resources.files("transduce.recipes") / f"{name_or_file}.toml"))
    else:
        raise ConfigError(
            f"no recipe '{name_or_file}'; there are {', '.join(recipes())}; a file of your own must end in .toml"
        )
    tree = override(read_toml(path), overrides)
    origin = str(path) if name_or_file.endswith(".toml") else name_or_file
    return Recipe(path.stem, convert(tree, ExperimentConfig, origin), path.parent)


def train(
    recipe: Recipe | ExperimentConfig | str,
    out: Path | None = None,
    resume: bool = False,
    observers: Sequence[Observer] = (),
    tell: Callable[[str], None] = lambda line: None,
    device: str = "cpu",
) -> RunResult:
    """Train a model as a recipe says, and keep the best in `out/model`.

    Args:
        recipe: a recipe, its name or file, or settings (whose relative paths start from the working folder).
        out: the run's folder, `runs/NAME` unless given; it must be new unless the run is resumed.
        resume: go on from the newest checkpoint, if there is one.
        observers: hear of every report and validation, beside the log file.
        tell: is given a line for what happens before training.
        device: where the model trains, as torch names it.

    Raises ConfigError, DataError or CheckpointError for what does not fit, FloatingPointError for a loss that is not
    finite, and Interrupted after Ctrl-C or SIGTERM, with everything saved.
    """
    if isinstance(recipe, str):
        recipe = load_recipe(recipe)
    elif isinstance(recipe, ExperimentConfig):
        recipe = Recipe("experiment", recipe, Path())
    run = out or Path("runs") / recipe.name
    place = local_device(torch.device(device))
    with join_processes(place) as processes:
        return _train(recipe, run, resume, processes, observers, tell if processes.is_first else _say_nothing, place)


def _train(
    recipe: Recipe,
    run: Path,
    resume: bool,
    processes: Processes,
    observers: Sequence[Observer],
    tell: Callable[[str], None],
    device: torch.device,
) -> RunResult:
    config = recipe.config
    recorded = _record(recipe, run)
    if processes.is_first:
        _check_folder(run, recorded, resume)
    checkpoint = processes.from_first(lambda: latest_checkpoint(run) if resume else None)
    torch.manual_seed(config.seed)
    splits = open_splits(config.data, recipe.folder, announce(tell))
    prepared = _prepare(recipe, splits, checkpoint, processes, tell)
    if processes.is_first:
        run.mkdir(parents=True, exist_ok=True)
        write_text(run / "experiment.toml", to_toml(recorded))
    else:
        torch.manual_seed(config.seed + processes.rank)  # the same weights so far; other chances of dropout from here
    trainer = _build_trainer(run, config, splits, prepared, processes, device)
    if checkpoint is not None:
        is_same = trainer.resume(checkpoint)
        tell(f"resuming after update {trainer.position.update:,}")
        if not is_same:
            tell("with another number of processes than before: the run will not be bit for bit what it was to be")
    if trainer.why_done:
        tell(f"nothing is left to train: {trainer.why_done}")
    parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    shared = f", {processes.count} processes" if processes.count > 1 else ""
    tell(f"model: {parameters:,} parameters, {trainer.precision}, on {device}{shared}")
    if processes.is_first:
        JsonLog.cut_after(run / "log.jsonl", trainer.position.update)
        board = TensorBoard(run / "tensorboard", trainer.position.update)
        trainer.observers = [JsonLog(run / "log.jsonl"), board, *observers]
    try:
        trainer.run()
    finally:
        for observer in trainer.observers:
            observer.close()
    return processes.from_first(lambda: _finish(run, trainer, splits, config))


def average(run: Path, last: int | None = None, best: int | None = None, out: Path | None = None) -> Average:
    """Average the weights of a run's last or best checkpoints into a model of its own, and validate it.

    Args:
        run: a run's folder.
        last: how many of the newest checkpoints; all that the run has kept unless this or `best` is given.
        best: how many of those with the lowest validation loss.
        out: the new model's folder, `RUN/average` unless given.

    Raises InputError where the run keeps fewer checkpoints or `out` exists, CheckpointError for a damaged one.
    """
    out = out or run / "average"
    if out.exists():
        raise InputError(f"{out} exists; remove it or choose another folder with --out")
    chosen = _choose_checkpoints(run, last, best)
    recipe = Recipe(run.name, convert(read_toml(run / "experiment.toml"), ExperimentConfig, str(run)), run)
    bundle = ModelBundle.load(chosen[-1] / "bundle")
    load_weights(bundle.model, average_weights([path / "bundle" / "weights.safetensors" for path in chosen]))
    splits = open_splits(recipe.config.data, recipe.folder)
    store = open_store(splits.validation, bundle.tokenizers, None, cache_folder())
    scores = _validator(recipe.config, splits, bundle, store)(bundle.model)
    names = [path.name for path in chosen]
    bundle.with_history(average_of=names, validation=scores).save(out, _probe_texts(splits))
    return Average(out, names, scores)


def _choose_checkpoints(run: Path, last: int | None, best: int | None) -> list[Path]:
    if last is not None and best is not None:
        raise InputError("give either the last or the best checkpoints to average")
    whole = whole_checkpoints(run)
    if not whole:
        raise InputError(f"{run} has no checkpoints to average; expected the folder of a run")
    found = whole[-last:] if last else best_checkpoints(run, best) if best else whole
    if len(found) < (last or best or 1):
        kind = "last" if last else "best"
        raise InputError(
            f"{run} has only {len(found)} of the {last or best} {kind} checkpoints; how many a run keeps is set by "
            f"checkpoint.keep_{kind}"
        )
    return sorted(found)


@dataclass(frozen=True)
class _Prepared:
    """A model before its first update, and its data as numbers."""

    bundle: ModelBundle
    stores: list[TokenStore]
    validation: TokenStore


def _prepare(
    recipe: Recipe, splits: Splits, checkpoint: Path | None, processes: Processes, tell: Callable[[str], None]
) -> _Prepared:
    config = recipe.config
    start = None
    if config.training.start_from is not None:
        start = ModelBundle.load(recipe.folder / config.training.start_from)
        if start.config.model != config.model:
            raise ConfigError(
                f"training.start_from: {_first_difference(start.config.model, config.model, 'model.')}; "
                "the model's settings must be those of the bundle"
            )
    if start is not None:
        tokenizers, tokenizer_config = start.tokenizers, start.config.tokenizer
    else:
        tokenizer_config = config.tokenizer
        if checkpoint is not None:
            tokenizers = read_tokenizers(checkpoint / "bundle", tokenizer_config)
        else:
            tokenizers = processes.from_first(lambda: _make_tokenizers(recipe, splits))
    tell(f"vocabulary: {len(tokenizers.source):,} source and {len(tokenizers.target):,} target tokens")
    cache = cache_folder()
    with processes.first_goes_ahead():
        stores = [open_store(c.corpus, tokenizers, config.data.max_tokens, cache) for c in splits.train]
        validation = open_store(splits.validation, tokenizers, None, cache)
    for entry, store in zip(splits.train, stores, strict=True):
        tell(f"training data: {len(store):,} pairs from {entry.corpus.name}")
        for reason, dropped in store.dropped.items():
            tell(f"  left out: {dropped.count:,} {reason}, such as:")
            for example in dropped.examples:
                tell(f"    {example}")
    if checkpoint is None and processes.is_first:
        _tell_overlaps(splits, tell)
    if start is not None:
        model = start.model
    else:
        model = build_model(config.model, len(tokenizers.source), len(tokenizers.target))
    for entry, store in zip(splits.train, stores, strict=True):
        _check_lengths(entry.corpus.name, store, model)
    _check_lengths(splits.validation.name, validation, model)
    bundle = ModelBundle(
        BundleConfig(
            format=1,
            source=config.data.source,
            target=config.data.target,
            model=config.model,
            tokenizer=tokenizer_config,
            longest_source=max(int(store.source.lengths.max()) for store in stores),
        ),
        model,
        tokenizers,
    )
    return _Prepared(bundle, stores, validation)


def _make_tokenizers(recipe: Recipe, splits: Splits) -> Tokenizers:
    def side(name: str) -> Iterator[str]:
        return (getattr(pair, name) for entry in splits.train for pair in entry.corpus)

    return train_tokenizers(recipe.config.tokenizer, side("source"), side("target"), recipe.folder)


def _tell_overlaps(splits: Splits, tell: Callable[[str], None]) -> None:
    """Held-out sentences that are trained on make scores look better than they are."""
    for overlap in find_overlaps((entry.corpus for entry in splits.train), splits.held_out):
        if overlap.examples:
            tell(f"{overlap.describe()}, such as:")
            for example in overlap.examples:
                tell(f"    {example}")


def _check_lengths(name: str, store: TokenStore, model: nn.Module) -> None:
    """A learned table of positions ends somewhere, and no pair may reach beyond it."""
    for side, limit in (("source", model.source_limit), ("target", model.target_limit)):
        lengths = getattr(store, side).lengths + 1
        if limit is not None and lengths.max() > limit:
            number = int(lengths.argmax()) + 1
            raise DataError(
                f"{name}: the {side} of pair {number:,} has {lengths.max()} tokens with its end, but "
                f"model.max_positions = {limit}; raise it, or leave long training pairs out with data.max_tokens"
            )


def _build_trainer(
    run: Path, config: ExperimentConfig, splits: Splits, prepared: _Prepared, processes: Processes, device: torch.device
) -> Trainer:
    bundle = prepared.bundle
    model = bundle.model.to(device)
    probe_texts = _probe_texts(splits)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    facts = {"data": _describe_data(config.data), "parameters": parameters, "seed": config.seed}

    def write_bundle(folder: Path) -> None:
        position = trainer.position
        history = {"updates": position.update, "epochs": position.epoch, "seconds": round(position.seconds, 1)}
        kept = replace(bundle, model=trainer.kept)
        kept.with_history(**facts, **history, validation=position.scores).save(folder, probe_texts)

    trainer = Trainer(
        model,
        Translation(config.training.label_smoothing),
        TrainingData(
            prepared.stores, [entry.weight for entry in splits.train], bundle.special, config.batching, config.seed
        ),
        _validator(config, splits, bundle, prepared.validation),
        Checkpoints(run, config.checkpoint, write_bundle),
        [],
        config.training,
        config.optimizer,
        config.validation,
        processes,
    )
    return trainer


def _finish(run: Path, trainer: Trainer, splits: Splits, config: ExperimentConfig) -> RunResult:
    """The best checkpoint's bundle becomes the run's model, with its score on the test set, if there is one."""
    position = trainer.position
    model = run / "model"
    best = ModelBundle.load(best_bundle(run), trainer.device)
    test = _recorded_test(model, best)
    if test is None and splits.test is not None:
        pairs = list(splits.test)
        folds_case = (config.tokenizer.target or config.tokenizer).folds_case
        translations = Translator(best).translate([pair.source for pair in pairs], config.search)
        bleu = score_bleu([t.text for t in translations], [pair.target for pair in pairs], folds_case)
        test = {"bleu": bleu.score, "signature": bleu.signature, "search": to_tree(config.search)}
    plot_training_curves(run / "log.jsonl", run / "curves.png")
    best.with_history(**({"test": test} if test else {})).save(model, _probe_texts(splits))
    return RunResult(run, model, position.update, position.seconds, position.scores, test)


def _recorded_test(model: Path, best: ModelBundle) -> dict[str, Any] | None:
    """The test scores of a model that was finished before, if it is the best one still."""
    try:
        before = ModelBundle.load(model).history
    except CheckpointError:
        return None
    return before.get("test") if before["updates"] == best.history["updates"] else None


def _validator(
    config: ExperimentConfig, splits: Splits, bundle: ModelBundle, store: TokenStore
) -> Callable[[nn.Module], dict[str, float]]:
    plan = plan_batches(
        store.source.lengths + 1, store.target.lengths + 1, BatchingConfig(target_tokens=VALIDATION_TOKENS)
    )

    wants_exact_match = config.validation.exact_match or config.data.is_generated

    def batch(pairs: NDArray[np.int64]) -> Batch:
        return make_batch([store.source[i] for i in pairs], [store.target[i] for i in pairs], bundle.special)

    def validate(model: nn.Module) -> dict[str, float]:
        scores = measure_loss(model, (batch(pairs) for pairs in plan))
        if config.validation.bleu or wants_exact_match:
            pairs = list(splits.validation)
            translations = Translator(replace(bundle, model=model)).translate([p.source for p in pairs], Beam(size=1))
            outputs, references = [t.text for t in translations], [p.target for p in pairs]
            folds_case = (config.tokenizer.target or config.tokenizer).folds_case
            if config.validation.bleu:
                scores["bleu"] = score_bleu(outputs, references, folds_case).score
            if wants_exact_match:
                scores["exact_match"] = exact_match(outputs, references, folds_case)
        return scores

    return validate


def _probe_texts(splits: Splits) -> list[tuple[str, str]]:
    pairs = ((pair.source, pair.target) for pair in splits.validation)
    short = (pair for pair in pairs if all(0 < len(side.strip()) <= PROBE_CHARACTERS for side in pair))
    return list(islice(short, PROBES))


def _describe_data(config: DataConfig) -> str:
    if config.dataset is not None:
        return config.dataset
    entries = [config.train] if isinstance(config.train, str) else config.train or []
    return ", ".join(entry if isinstance(entry, str) else str(entry.files) for entry in entries)


def _check_folder(run: Path, config: ExperimentConfig, resume: bool) -> None:
    """A run never writes over another; a resumed one keeps its settings, but for its length."""
    kept = run / "experiment.toml"
    if not run.exists() or all(path.name.startswith(".") for path in run.iterdir()):  # nothing, or just begun
        return
    if not resume:
        raise ConfigError(f"{run} exists; add --resume to go on with it, or choose another folder with --out")
    if not kept.exists():
        raise CheckpointError(f"{run} is not the folder of a run: it has no experiment.toml")
    before = convert(read_toml(kept), ExperimentConfig, str(kept))
    lengths = {"updates": config.training.updates, "epochs": config.training.epochs}
    before = msgspec.structs.replace(before, training=msgspec.structs.replace(before.training, **lengths))
    if before != config:
        raise ConfigError(f"{run} was begun with other settings: {_first_difference(before, config)}")


def _record(recipe: Recipe, run: Path) -> ExperimentConfig:
    """The settings with file names relative to the run's folder, where they stand as a recipe that repeats the run."""

    def moved(value: Any) -> Any:
        if isinstance(value, str):
            return value if Path(value).is_absolute() else os.path.relpath(recipe.folder / value, run)
        if isinstance(value, dict):
            return value | {key: moved(value[key]) for key in PATH_KEYS & value.keys()}
        return [moved(item) for item in value] if isinstance(value, list) else value

    tree = to_tree(recipe.config)
    for table in ("data", "training", "tokenizer"):
        tree[table] = moved(tree[table])
    for side in {"source", "target"} & tree["tokenizer"].keys():
        tree["tokenizer"][side] = moved(tree["tokenizer"][side])
    return convert(tree, ExperimentConfig, recipe.name)


def _first_difference(before: Settings, now: Settings, prefix: str = "") -> str:
    old, new = flatten(to_tree(before), prefix), flatten(to_tree(now), prefix)
    key = next(key for key in old | new if old.get(key) != new.get(key))
    return f"{key} was {old.get(key, 'not set')}, now it is {new.get(key, 'not set')}"


def _say_nothing(line: str) -> None:
    pass
