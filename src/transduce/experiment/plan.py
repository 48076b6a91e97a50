"""Plans a run on GPUs: counts parameters, memory, launches and time before anything is trained."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from transduce.config import Changes
from transduce.errors import ConfigError
from transduce.experiment.assumed_run import AssumedRun, assume_run
from transduce.experiment.recipe import Recipe, find_recipe
from transduce.models.heads import EncoderModel
from transduce.models.interface import Decoder
from transduce.models.named_parts import EMBEDDINGS, parameters_of
from transduce.ranges import MemoryInGiB, Processes, SentenceLength, number_of
from transduce.task_table import find_task
from transduce.tasks.settings import ExperimentConfig
from transduce.training.checkpoint import Checkpoints
from transduce.training.distributed import Processes as OneProcess
from transduce.training.estimate import describe_duration
from transduce.training.gpu_work import CountedGpu, Counts
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
from transduce.training.optimizer import check_parts, learned_parameters
from transduce.training.trainer import Trainer

MIB = 2**20
LARGE, ATTEMPTS = 8, 3
"""The multiple of a batch beyond which memory is taken to grow evenly, and batches that are tried within it."""


@dataclass(frozen=True)
class Memory:
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
    """Tokens of the largest part that fits, of sentence pairs those of the target; 0 if none does."""
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
    """Tokens of an update of all processes, of sentence pairs those of the target."""
    operations: int
    """Multiplications and additions of an update's matrix products and attention on a GPU, forward and backward."""
    launches: int
    """Kernels that the host starts in an update."""
    waits: dict[str, int]
    """Times that the host waits for the GPU in an update, by operator and line."""
    attention: dict[str, int]
    """Calls of fused attention by operator."""
    memory: Memory
    fit: Fit
    gpu: str
    """The GPU whose figures give the time."""
    seconds: Seconds
    """Seconds of an update."""
    updates_of_an_epoch: int | None
    updates: int | None
    """Updates of the run; None if it is measured in epochs of data of unknown size."""
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
        waits = ", ".join(f"{count} x {name}" for name, count in self.waits.items())
        several, parts = "s" * (self.gpus > 1), "s" * (self.parts > 1)
        facts = {
            "parameters": f"{sum(self.parameters.values()):,}: {of_model}",
            "update": f"{self.tokens:,} tokens on {self.gpus} GPU{several}, in {self.parts} part{parts} on each",
            "operations": f"{self.operations / 1e12:,.2f} x 10^12 on each GPU, forward and backward",
            "launches": f"{self.launches:,}",
            "waits": f"{sum(self.waits.values())}{waits and f': {waits}'}",
            "memory": f"{memory.total / MIB:,.0f} MiB on each GPU at the peak: {each}",
            "largest part": f"{fit.tokens:,} tokens in {fit.gib:g} GiB; training.accumulate = {fit.accumulate} fits",
            "seconds": (
                f"{seconds.total:.3g} an update on {self.gpu}, bound by {seconds.bound}: matrix products "
                f"{seconds.products:.3g}, memory traffic {seconds.traffic:.3g}, launches {seconds.launches:.3g}, "
                f"exchange of gradients {seconds.exchange:.3g}"
            ),
            "epoch": _duration(seconds.total, self.updates_of_an_epoch),
            "run": _duration(seconds.total, self.updates),
            "assumed": "; ".join(self.assumed),
        }
        if fit.accumulate is None:
            facts["largest part"] = f"none fits in {fit.gib:g} GiB; choose a smaller model, or a GPU with more memory"
        return facts

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce plan --json`."""
        time = asdict(self.seconds) | {"update": self.seconds.total, "bound": self.seconds.bound}
        return asdict(self) | {"seconds": time, "memory": asdict(self.memory) | {"total": self.memory.total}}


def plan(
    recipe: Recipe[Any] | ExperimentConfig | str | Path,
    *,
    overrides: Changes = (),
    gpus: int = 1,
    gpu: GpuName = "h100",
    memory: float | None = None,
    length: int = 32,
) -> TrainingPlan:
    """Counts what a recipe's training needs of GPUs, without one, and without its data.

    Args:
        recipe: a recipe, its name, its file, a run's folder, or settings.
        overrides: settings to change, as `train` takes them.
        gpus: processes that share each batch, with a GPU each.
        gpu: the GPU whose published figures give the time.
        memory: GiB of a GPU, if they are not those of `gpu`.
        length: tokens of each sentence of a sentence pair.

    Raises ConfigError for settings that do not fit, and for models whose work only their data determine.
    """
    if gpu not in GPUS:
        raise ConfigError(f"gpu: no figures of '{gpu}'; there are those of {', '.join(GPUS)}")
    device = GPUS[gpu]
    gib = device.memory if memory is None else memory
    _check("gpus", gpus, Processes)
    _check("memory", gib, MemoryInGiB)
    _check("length", length, SentenceLength)
    known = find_recipe(recipe, overrides)
    config = known.config
    find_task(config.task).check(config)
    with torch.random.fork_rng([]):
        run = assume_run(config, known.folder, length)
        check_parts(config.optimizer, run.model)
        own = replace(run, rows=-(-run.rows // gpus))
        try:
            trainer, update = count_update(config, own)
            gradients = _bytes(learned_parameters(own.model))
            peaks = {own.rows: update.peak} if config.training.accumulate in (1, "auto") else {}
            fit = _fit(config, own, gib, gradients, peaks)
            parts = _parts(config, fit)
            if config.training.accumulate == "auto" and parts > 1:
                trainer, update = count_update(_with_parts(config, parts), own)
        except (NotImplementedError, RuntimeError) as error:
            line = next(iter(str(error).splitlines()), type(error).__name__)
            raise ConfigError(
                f"{known.name}: the work of this model cannot be counted before its data are known ({line}); plan is "
                "for Transformers without an adaptive softmax"
            ) from error
    parts = min(parts, own.rows)
    launches = update.work.launches.total()
    return TrainingPlan(
        recipe=known.name,
        gpus=gpus,
        parameters=_parameters(own.model),
        parts=parts,
        tokens=run.rows * run.tokens,
        operations=update.operations,
        launches=launches,
        waits=dict(update.work.waits),
        attention={name: count for name, count in update.work.launches.items() if _attends(name)},
        memory=_memory(trainer, update, gradients if parts > 1 else 0),
        fit=fit,
        gpu=device.title,
        seconds=seconds_of(device, update.operations, update.traffic, launches, gradients, gpus),
        updates_of_an_epoch=run.updates_of_an_epoch,
        updates=config.training.updates or _in_epochs(config.training.epochs, run.updates_of_an_epoch),
        assumed=_assumptions(config, run, device),
    )


def _check(name: str, value: float, range_: Any) -> None:
    """Raises ConfigError for an argument out of its range."""
    number = number_of(range_)
    if number is not None and (problem := number.problem(value)):
        raise ConfigError(f"{name} {problem}, but is {value}")


def count_update(config: ExperimentConfig, run: AssumedRun) -> tuple[Trainer, Counts]:
    """Counts the second update on a GPU that is none; the first also makes what later ones find."""
    training = msgspec.structs.replace(config.training, compile=False, activation_checkpointing=False)
    if training.precision == "auto":
        training = msgspec.structs.replace(training, precision="bfloat16")
    gpu, rows = CountedGpu(run.vocabulary), np.arange(run.rows)
    with gpu.entered() as counts:
        for tensor in chain(run.model.parameters(), run.model.buffers()):
            gpu.hold(tensor, counts)
        trainer = Trainer(
            run.model,
            run.objective,
            run.data(),
            _never,
            Checkpoints(Path(), config.checkpoint, _never),
            [],
            training,
            config.optimizer,
            config.validation,
            OneProcess(),
        )
        trainer.update(rows)
    with gpu.entered() as counts:
        trainer.update(rows)
    return trainer, counts


def _never(*_: object) -> Any:
    raise AssertionError("nothing is validated or saved")


def _memory(trainer: Trainer, update: Counts, gradients: int) -> Memory:
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
    return Memory(weights, copied, optimizer, gradients, update.logits, rest)


def _attends(operator: str) -> bool:
    """Returns True for fused attention, forward."""
    return ("attention" in operator or "attn" in operator) and not operator.endswith("_backward")


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors)


def _fit(config: ExperimentConfig, run: AssumedRun, gib: float, gradients: int, peaks: dict[int, int]) -> Fit:
    """Returns the largest part that fits, alone if all rows of a process do, else beside gradients of other parts.

    Peaks of memory by the number of rows are those already counted; it adds others.
    """
    alone = _with_parts(config, 1)

    def peak(rows: int) -> int:
        if rows not in peaks:
            peaks[rows] = count_update(alone, replace(run, rows=rows))[1].peak
        return peaks[rows]

    rows = _most_rows(peak, usable(gib), run.rows)
    if rows >= run.rows:
        return Fit(gib, rows * run.tokens, 1)
    rows = _most_rows(peak, usable(gib) - gradients, run.rows)
    return Fit(gib, rows * run.tokens, -(-run.rows // rows) if rows else None)


def _parts(config: ExperimentConfig, fit: Fit) -> int:
    """Returns the number of parts of a batch: as set, or as a run's memory check would choose it."""
    if config.training.accumulate != "auto":
        return config.training.accumulate
    return int(2 ** ((fit.accumulate or 1) - 1).bit_length())


def _with_parts(config: ExperimentConfig, parts: int) -> ExperimentConfig:
    return msgspec.structs.replace(config, training=msgspec.structs.replace(config.training, accumulate=parts))


def _most_rows(peak: Callable[[int], int], limit: float, first: int) -> int:
    """Returns nearly the most rows with a peak within a limit, by lines through the two nearest peaks; 0 if none is."""
    known = [(peak(rows), rows) for rows in (first, LARGE * first)]
    for _ in range(ATTEMPTS):
        (low, fewer), (high, more) = sorted(sorted(known, key=lambda point: abs(point[0] - limit))[:2])
        rows = max(int(fewer + (limit - low) * (more - fewer) / max(high - low, 1)), 1)
        if rows > LARGE * first:  # beyond these, memory grows along this line
            return rows
        known.append((peak(rows), rows))
    return max((rows for size, rows in known if size <= limit), default=0)


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


def _duration(seconds: float, updates: int | None) -> str:
    if updates is None:
        return "unknown before the data are read"
    return f"{updates:,} updates, {describe_duration(seconds * updates)}, without validation"


def _assumptions(config: ExperimentConfig, run: AssumedRun, gpu: Gpu) -> list[str]:
    """Returns what is neither counted nor set."""
    lines = [f"{run.rows:,} {run.row} in a batch", f"{run.vocabulary:,} tokens in the vocabulary"]
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


def _in_epochs(epochs: int | None, updates: int | None) -> int | None:
    return None if epochs is None or updates is None else epochs * updates
