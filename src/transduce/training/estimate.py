"""Estimate of a run's duration before its first update."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from statistics import fmean, median

import numpy as np
import torch

from transduce.base.devices import OnDevice
from transduce.data.planned import Epoch, Rows
from transduce.training.distributed import Part, Processes
from transduce.training.gradients import Gradients

Parts = Callable[[Rows], Sequence[Part]]
"""Returns the parts of a batch that one process works through, one after another."""

SAMPLE = 20  # batches that are measured
ENOUGH = 2.0  # seconds of forward and backward after which no further part is tried
MAX_PARTS = 12
WRONG = 2.0  # factor by which an estimate may be wrong before it is corrected
LONG = 4 * 3600.0  # seconds


@dataclass(frozen=True)
class Estimate:
    """The estimated duration of the remaining updates, without validation and saving."""

    update: int
    """Number of updates made before."""
    updates: int
    """Number of updates that the run is to make."""
    seconds_per_update: float
    device: str = "cpu"
    """The kind of device, as torch names it."""
    fits: bool = False
    """True if there are as many updates as fit into the run's minutes."""

    @property
    def seconds(self) -> float:
        """Seconds from now to the last update."""
        return (self.updates - self.update) * self.seconds_per_update

    def describe(self) -> str:
        """Describes the estimate on one line."""
        return (
            f"about {describe_duration(self.seconds)}: {self.updates - self.update:,} updates of about "
            f"{self.seconds_per_update:.2f} s, validation not counted"
        )

    @property
    def advice(self) -> str | None:
        """Advice if the run will take many hours on a CPU, else None."""
        if self.fits or self.seconds < LONG or self.device != "cpu":
            return None
        return (
            f"{describe_duration(self.seconds)} is long: train a smaller model (model.dim, model.encoder_layers, "
            "model.decoder_layers), make fewer updates (training.updates), or train on a GPU"
        )

    def correction(self, seconds_per_update: float, update: int) -> str | None:
        """Returns a line if updates prove at least twice as slow or as fast as estimated, else None."""
        foreseen = self.seconds_per_update
        if not foreseen or foreseen / WRONG < seconds_per_update < foreseen * WRONG:
            return None
        if self.fits:
            return f"an update takes {seconds_per_update:.2f} s, not {foreseen:.2f} s as foreseen; the plan follows"
        line = (
            f"an update takes {seconds_per_update:.2f} s, not {foreseen:.2f} s as foreseen: about "
            f"{describe_duration((self.updates - update) * seconds_per_update)} are left"
        )
        if seconds_per_update < foreseen:
            return line
        return f"{line}; if other programs use this machine, end them, or make fewer updates (training.updates)"


def describe_duration(seconds: float) -> str:
    """Returns seconds in a readable unit."""
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 1.5 * length:
            number = seconds / length
            return f"{number:.1f} {unit}" if number < 10 and unit != "minutes" else f"{number:,.0f} {unit}"
    return f"{seconds:.0f} seconds"


def seconds_per_update(gradients: Gradients, epoch: Epoch[OnDevice], parts: Parts, processes: Processes) -> float:
    """Returns the seconds of an update, from typical parts of an epoch's batches, taken forward and backward and
    discarded.

    Weights and random generators stay as they are, so the optimiser's step is not timed: it takes about a hundredth of
    an update, Muon's a tenth to a fifth. All processes measure equally many parts.
    """
    last = len(epoch.batches) - 1
    sample = [parts(epoch.batches[i]) for i in np.linspace(0, last, min(SAMPLE, last + 1), dtype=int)]
    tokens_of_an_update = fmean(sum(epoch.tokens(part.rows) for part in of_batch) for of_batch in sample)
    device = next(gradients.model.parameters()).device
    measured = []
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        batches = [*sample[:1], *sample[:0:-1]]  # the first, the last, and those between
        for part in islice(chain.from_iterable(batches), MAX_PARTS):
            seconds = _time(gradients, epoch.make(part.rows).to(device))
            measured.append((seconds, epoch.tokens(part.rows)))
            (is_enough,) = processes.agree(sum(seconds for seconds, _ in measured[1:]) > ENOUGH)
            if is_enough:
                break
    timed = measured[1:] or measured  # the first part includes setup
    return tokens_of_an_update * median(seconds / tokens for seconds, tokens in timed)  # a single part may be disturbed


def _time(gradients: Gradients, batch: OnDevice) -> float:
    began = time.perf_counter()
    loss = gradients.add(batch, gradients.most_carried(batch))
    float(loss.plain.detach())  # a GPU is waited for
    if loss.plain.device.type == "cuda":
        torch.cuda.synchronize(loss.plain.device)
    seconds = time.perf_counter() - began
    gradients.forget()
    return seconds
