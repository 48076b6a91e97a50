"""Plans a run on GPUs: counts parameters, memory and operations of its own update, before anything is trained."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from transduce.base.config import Changes
from transduce.base.errors import ConfigError
from transduce.base.ranges import MemoryInGiB, number_of
from transduce.base.ranges import Processes as ProcessCount
from transduce.data.planned import Epoch, PlannedData, Rows, split_evenly
from transduce.experiment.building import build_trainer, open_experiment, prepare
from transduce.experiment.recipe import Recipe, find_recipe
from transduce.models.families import PhrasesConfig
from transduce.models.heads import EncoderModel
from transduce.models.interface import Decoder
from transduce.models.named_parts import EMBEDDINGS, parameters_of
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.tasks.task import Experiment, Prepared, Tell
from transduce.training.distributed import ALONE
from transduce.training.estimate import describe_duration
from transduce.training.gpu_work import GPU, CountedGpu, Counts
from transduce.training.hardware import (
    CUDA_GIB,
    GPUS,
    LAUNCH,
    LOST,
    SHARE_OF_BANDWIDTH,
    SHARE_OF_PEAK,
    Gpu,
    GpuName,
    Seconds,
    seconds_of,
    usable,
)
from transduce.training.optimizer import learned_parameters
from transduce.training.trainer import Trainer

MIB = 2**20
LARGE, ATTEMPTS = 8, 3
"""The multiple of a batch beyond which memory is taken to grow evenly, and batches that are tried within it."""


@dataclass(frozen=True)
class GpuMemory:
    """Bytes of a process on its GPU at the moment of an update that needs most."""

    weights: int
    """Weights in float32, and their moving average if there is one."""
    working_copy: int
    """Weights in the precision of forward and backward passes; 0 if that is float32."""
    optimizer: dict[str, int]
    """State of the optimiser by kind, as PyTorch names it."""
    gradients: int
    """Gradients in float32 of earlier parts; they come after the peak where a batch has one part."""
    logits: int
    """Tensors as wide as the vocabulary that exist at once."""
    activations: int
    """All else, most of it kept for the backward pass of the largest part."""

    @property
    def total(self) -> int:
        """All bytes of tensors."""
        optimizer = sum(self.optimizer.values())
        return self.weights + self.working_copy + optimizer + self.gradients + self.logits + self.activations


@dataclass(frozen=True)
class Fit:
    """The largest part of a batch for a GPU's memory."""

    gib: float
    """Memory of the GPU."""
    tokens: int
    """Tokens of the largest part that fits, of both sides of sentence pairs; 0 if none does."""
    accumulate: int | None
    """The least `training.accumulate` with which the recipe's batch fits; None if no part does."""


@dataclass(frozen=True)
class TrainingPlan:
    """The needs of a recipe on each GPU, which are counted, and the time that published figures give for them."""

    recipe: str
    gpus: int
    parameters: dict[str, int]
    """Number of weights by part; one that two parts share is in the first."""
    parts: int
    """Parts of a batch that a process works through one after another."""
    tokens: int
    """Tokens of the largest batch of an epoch, of both sides of sentence pairs, padding included where it is
    computed."""
    operations: int
    """Multiplications and additions of an update's matrix products and attention on a GPU, forward and backward."""
    launches: int
    """Kernels that the host starts in an update."""
    memory: GpuMemory
    fit: Fit
    gpu: str
    """The GPU whose figures give the time."""
    seconds: Seconds
    """Seconds of an update."""
    updates_of_an_epoch: int
    updates: int | None
    """Updates of the run; None if it has minutes."""
    assumed: list[str]
    """The assumptions behind the figures, in sentences."""

    def describe(self) -> dict[str, str]:
        """Describes the plan, fact by fact."""
        memory, fit, seconds = self.memory, self.fit, self.seconds
        of_model = ", ".join(f"{name} {count:,}" for name, count in self.parameters.items())
        optimizer = {f"optimiser's {name}": size for name, size in memory.optimizer.items()}
        of_memory = {"weights": memory.weights, "working copy": memory.working_copy, **optimizer}
        of_memory |= {"gradients": memory.gradients, "logits": memory.logits, "activations": memory.activations}
        each = ", ".join(f"{name} {size / MIB:,.0f}" for name, size in of_memory.items() if size >= MIB / 2)
        several, parts = "s" * (self.gpus > 1), "s" * (self.parts > 1)
        facts = {
            "parameters": f"{sum(self.parameters.values()):,}: {of_model}",
            "update": f"{self.tokens:,} tokens at most, on {self.gpus} GPU{several} in {self.parts} part{parts} each",
            "operations": f"{self.operations / 1e12:,.2f} x 10^12 on each GPU, forward and backward",
            "launches": f"{self.launches:,}",
            "memory": f"{memory.total / MIB:,.0f} MiB on each GPU at the peak: {each}",
            "largest part": f"{fit.tokens:,} tokens in {fit.gib:g} GiB; training.accumulate = {fit.accumulate} fits",
            "seconds": (
                f"{seconds.total:.3g} an update on {self.gpu}, bound by {seconds.bound}: matrix products "
                f"{seconds.products:.3g}, memory traffic {seconds.traffic:.3g}, launches {seconds.launches:.3g}, "
                f"exchange of gradients {seconds.exchange:.3g}"
            ),
            "epoch": _duration(seconds.total, self.updates_of_an_epoch),
            "run": _duration(seconds.total, self.updates) if self.updates else "as many updates as its minutes allow",
            "assumed": "; ".join(self.assumed),
        }
        if fit.accumulate is None:
            facts["largest part"] = f"none fits in {fit.gib:g} GiB; choose a smaller model, or a GPU with more memory"
        return facts

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce plan --json`."""
        time = asdict(self.seconds) | {"update": self.seconds.total, "bound": self.seconds.bound}
        return asdict(self) | {"seconds": time, "memory": asdict(self.memory) | {"total": self.memory.total}}


@dataclass(frozen=True)
class _Run:
    """A run whose model has shapes and no numbers, and batches of its data."""

    config: ExperimentConfig
    experiment: Experiment
    prepared: Prepared
    epoch: Epoch[Any]
    rows: Rows
    """The rows of an epoch, those of its largest batch first."""
    largest: int
    """The number of rows of that batch."""

    def tokens_of(self, rows: Rows, parts: int) -> int:
        """Returns the tokens of some rows in so many parts, with the padding that is computed."""
        return sum(map(self.epoch.tokens, self.epoch.split(rows, parts)))

    def peak_of_part(self, rows: int) -> int:
        """Returns the most bytes that an update of so many rows needs as one part, whatever its budget."""
        epoch = replace(self.epoch, split=split_evenly)
        whole = replace(self.prepared, data=PlannedData(lambda _: epoch))
        _, counts = replace(self, prepared=whole).count_update(rows, 1)
        return counts.peak

    def count_update(self, rows: int, parts: int) -> tuple[Trainer, Counts]:
        """Counts the second update of a GPU that is none, with this many rows in so many parts; the first update also
        makes what later ones find."""
        settings: dict[str, Any] = {"accumulate": parts, "compile": False, "activation_checkpointing": False}
        if self.config.training.precision == "auto":
            settings["precision"] = "bfloat16"
        if self.config.training.minutes is not None:
            settings |= {"minutes": None, "updates": 2}
        training = msgspec.structs.replace(self.config.training, **settings)
        config = msgspec.structs.replace(self.config, training=training)
        bundle = replace(self.prepared.bundle, model=_shapes_of(self.prepared.bundle.model))
        gpu = CountedGpu(len(bundle.tokenizers.target))
        with gpu.entered() as counts:
            for tensor in chain(bundle.model.parameters(), bundle.model.buffers()):
                gpu.hold(tensor, counts)
            trainer = build_trainer(Path(), config, self.experiment, replace(self.prepared, bundle=bundle), ALONE, GPU)
            trainer.update(self.rows[:rows])
        with gpu.entered() as counts:
            trainer.update(self.rows[:rows])
        return trainer, counts


def plan(
    recipe: Recipe[Any] | ExperimentConfig | str | Path,
    *,
    overrides: Changes = (),
    gpus: int = 1,
    gpu: GpuName = "h100",
    memory: float | None = None,
    tell: Tell = lambda line: None,
) -> TrainingPlan:
    """Counts what a recipe's training needs of GPUs, without one: an update of the largest batch of its data is made on
    tensors that have shapes and no numbers.

    Args:
        recipe: a recipe, its name, its file, a run's folder, or settings.
        overrides: settings to change, as `train` takes them.
        gpus: processes that share each batch, with a GPU each.
        gpu: the GPU whose published figures give the time.
        memory: GiB of a GPU, if they are not those of `gpu`.
        tell: receives lines on the progress of reading the data, as `train` does.

    Raises ConfigError or DataError for settings and data that do not fit, and ConfigError for models whose work depends
    on numbers.
    """
    if gpu not in GPUS:
        raise ConfigError(f"gpu: no figures of '{gpu}'; there are those of {', '.join(GPUS)}")
    device = GPUS[gpu]
    gib = device.memory if memory is None else memory
    _check("gpus", gpus, ProcessCount)
    _check("memory", gib, MemoryInGiB)
    known = find_recipe(recipe, overrides)
    if isinstance(getattr(known.config, "model", None), PhrasesConfig):
        raise ConfigError(f"{known.name}: phrases are learned without a GPU; there is nothing to plan")
    with torch.random.fork_rng([]):
        run = _open(known.config, open_experiment(known, tell), tell)
        try:
            return _plan(known.name, run, gpus, device, gib)
        except (NotImplementedError, RuntimeError) as error:
            line = next(iter(str(error).splitlines()), type(error).__name__)
            raise ConfigError(
                f"{known.name}: the work of this model depends on numbers, so shapes do not tell it ({line}); plan "
                "is for Transformers without an adaptive softmax"
            ) from error


def _open(config: ExperimentConfig, experiment: Experiment, tell: Tell) -> _Run:
    prepared = prepare(config, experiment, tell)
    epoch = prepared.data.epoch(0)
    batches = sorted(epoch.batches, key=epoch.tokens, reverse=True)
    return _Run(config, experiment, prepared, epoch, np.concatenate(batches), len(batches[0]))


def _plan(name: str, run: _Run, gpus: int, device: Gpu, gib: float) -> TrainingPlan:
    config, rows = run.config, -(-run.largest // gpus)
    accumulate = config.training.accumulate
    parts = 1 if accumulate == "auto" else accumulate
    trainer, update = run.count_update(rows, parts)
    gradients = _bytes(learned_parameters(trainer.model))
    fit = _fit(run, rows, gib, gradients)
    if accumulate == "auto" and (fit.accumulate or 1) > 1:
        parts = int(2 ** ((fit.accumulate or 1) - 1).bit_length())  # as a run's memory check would choose
        trainer, update = run.count_update(rows, parts)
    parts = min(parts, rows)
    epoch = len(run.epoch.batches)
    return TrainingPlan(
        recipe=name,
        gpus=gpus,
        parameters=_parameters(trainer.model),
        parts=parts,
        tokens=run.tokens_of(run.rows[: run.largest], parts * gpus),
        operations=update.operations,
        launches=update.launches,
        memory=_memory(trainer, update, gradients if parts > 1 else 0),
        fit=fit,
        gpu=device.title,
        seconds=seconds_of(device, update.operations, update.traffic, update.launches, gradients, gpus),
        updates_of_an_epoch=epoch,
        updates=None if config.training.minutes is not None else trainer.updates,
        assumed=_assumptions(config, device),
    )


def _check(name: str, value: float, range_: Any) -> None:
    """Raises ConfigError for an argument out of its range."""
    number = number_of(range_)
    if number is not None and (problem := number.problem(value)):
        raise ConfigError(f"{name} {problem}, but is {value}")


def _memory(trainer: Trainer, update: Counts, gradients: int) -> GpuMemory:
    """Divides the memory of an update at its peak, at which there are some bytes of gradients."""
    kept, at_work = trainer.model, trainer.gradients.at_work
    averaged = _bytes(trainer.average.model.parameters()) if trainer.average else 0
    optimizer: dict[str, int] = {}
    for state in (state for each in trainer.optimizers for state in each.state.values()):
        for name, value in state.items():
            optimizer[name] = optimizer.get(name, 0) + (value.nbytes if isinstance(value, Tensor) else 0)
    weights = _bytes(chain(kept.parameters(), kept.buffers())) + averaged
    copied = 0 if at_work is kept else _bytes(chain(at_work.parameters(), at_work.buffers()))
    rest = update.peak - weights - copied - sum(optimizer.values()) - gradients - update.logits
    return GpuMemory(weights, copied, optimizer, gradients, update.logits, rest)


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors)


def _fit(run: _Run, rows: int, gib: float, gradients: int) -> Fit:
    """Returns the largest part that fits, alone if all rows of a process do, else beside gradients of other parts."""
    peak, most = cache(run.peak_of_part), len(run.rows)
    fitting = min(_most_rows(peak, usable(gib), rows, most), most)
    if fitting < rows:
        fitting = _most_rows(peak, usable(gib) - gradients, rows, most)
    tokens = run.epoch.tokens(run.rows[:fitting]) if fitting else 0
    return Fit(gib, tokens, -(-rows // fitting) if fitting else None)


def _most_rows(peak: Callable[[int], int], limit: float, first: int, most: int) -> int:
    """Returns nearly the most rows with a peak within a limit, by lines through the two nearest peaks; 0 if none is."""
    largest = min(LARGE * first, most)
    known = [(peak(rows), rows) for rows in {first, largest if largest > first else max(first // 2, 1)}]
    for _ in range(ATTEMPTS if len(known) > 1 else 0):
        (low, fewer), (high, more) = sorted(sorted(known, key=lambda point: abs(point[0] - limit))[:2])
        rows = max(int(fewer + (limit - low) * (more - fewer) / max(high - low, 1)), 1)
        if rows > largest:  # beyond these, memory grows along this line
            return rows
        known.append((peak(rows), rows))
    return max((rows for size, rows in known if size <= limit), default=0)


def _shapes_of(model: nn.Module) -> nn.Module:
    """Returns a model of the same shapes without numbers; what parts share stays shared."""
    with torch.no_grad():
        made: dict[int, Any] = {id(tensor): tensor.to("meta") for tensor in model.buffers()}
        for parameter in model.parameters():
            made[id(parameter)] = nn.Parameter(parameter.to("meta"), parameter.requires_grad)
    return copy.deepcopy(model, made)


def _parameters(model: nn.Module) -> dict[str, int]:
    """Returns the number of parameters by part: embeddings, encoder, decoder, output."""
    counts: dict[str, int] = {}
    known: set[int] = set()
    heads: list[nn.Module] = [module.output for module in model.modules() if isinstance(module, Decoder)]
    heads += [model.head] if isinstance(model, EncoderModel) and model.head is not None else []
    of_parts = {EMBEDDINGS: parameters_of(model, EMBEDDINGS, "plan")}
    of_parts["output"] = [parameter for head in heads for parameter in head.parameters()]
    of_parts |= {name: list(part.parameters()) for name, part in model.named_children() if part not in heads}
    for name, parameters in of_parts.items():
        new = {id(parameter): parameter.numel() for parameter in parameters if id(parameter) not in known}
        known |= new.keys()
        counts[name] = sum(new.values())
    output = counts.pop("output")
    return counts | {"output": output}


def _duration(seconds: float, updates: int) -> str:
    return f"{updates:,} updates, {describe_duration(seconds * updates)}, without validation"


def _assumptions(config: ExperimentConfig, gpu: Gpu) -> list[str]:
    """Returns what is neither counted nor set."""
    lines = ["all batches as large as the largest"]
    if config.training.precision == "auto":
        lines.append("bfloat16")
    if config.training.compile:
        lines.append("layers that are not compiled: training.compile starts fewer kernels")
    if config.training.activation_checkpointing:
        lines.append(
            "activations that are kept: training.activation_checkpointing keeps less, for a third more operations"
        )
    return [
        *lines,
        f"{SHARE_OF_PEAK:.0%} of the published {gpu.peak / 1e12:,.0f} TFLOP/s, {SHARE_OF_BANDWIDTH:.0%} of "
        f"{gpu.bandwidth / 1e9:,.0f} GB/s, {LAUNCH * 1e6:g} microseconds a launch",
        f"{CUDA_GIB} GiB for CUDA, and {LOST:.0%} of the rest lost to fragmentation",
    ]
