"""Learning-rate schedules; each gives the fraction of the peak rate at an update."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transduce.config import Settings
from transduce.errors import ConfigError, InputError
from transduce.plugins import Registry, check_takes, made_of
from transduce.ranges import NonNegativeInt, PositiveFloat, PositiveInt, Share, ShareWithin, Width

LONGEST_WARMUP = 4000  # Vaswani et al. 2017
WARMUP_SHARE = 0.1  # of a shorter run


class Constant(Settings, frozen=True, tag_field="kind", tag="constant"):
    """The same rate throughout, after a linear warm-up."""

    warmup: NonNegativeInt = 0
    """Updates until the rate is reached."""

    def factor(self, update: int, updates: int) -> float:
        """Share of the learning rate at an update, counted from 1, of a run of so many."""
        return _rising(update, self.warmup)


class InverseSquareRoot(Settings, frozen=True, tag_field="kind", tag="inverse_square_root"):
    """Linear warm-up, then decay with the square root of the update (Vaswani et al. 2017, eq. 3)."""

    warmup: PositiveInt | None = None
    """Updates until the rate is reached; 4,000 unless given, or a tenth of the updates of a shorter run."""

    def factor(self, update: int, updates: int) -> float:
        """Share of the learning rate at an update, counted from 1, of a run of so many."""
        warmup = self.warmup or min(LONGEST_WARMUP, max(round(WARMUP_SHARE * updates), 1))
        return min(update / warmup, (warmup / update) ** 0.5)


class Noam(Settings, frozen=True, tag_field="kind", tag="noam"):
    """The schedule of Vaswani et al. 2017, eq. 3, which sets the rate from the model's width; do not set
    learning_rate."""

    dim: Width
    """The model's width."""
    multiplier: PositiveFloat = 1.0
    """1 in the paper; 2 in the Tensor2Tensor code and the tutorials that follow it."""
    warmup: PositiveInt = 4000
    """Warm-up updates."""

    @property
    def highest(self) -> float:
        """The rate at the end of the warm-up."""
        return self.multiplier * (self.dim * self.warmup) ** -0.5

    def factor(self, update: int, updates: int) -> float:
        """Share of the highest rate at an update, counted from 1, of a run of so many."""
        return min(update / self.warmup, (self.warmup / update) ** 0.5)


class Linear(Settings, frozen=True, tag_field="kind", tag="linear"):
    """Linear warm-up, then linear decay to zero: for a run whose length is known."""

    warmup: NonNegativeInt = 0
    """Updates until the rate is reached."""
    updates: PositiveInt | None = None
    """Updates until the rate is zero; the length of the run unless given."""

    def _check_together(self) -> None:
        _check_span(self.warmup, self.updates)

    def factor(self, update: int, updates: int) -> float:
        """Share of the learning rate at an update, counted from 1, of a run of so many."""
        return min(_rising(update, self.warmup), _left(update, self.warmup, self.updates or updates))


class Cosine(Settings, frozen=True, tag_field="kind", tag="cosine"):
    """Linear warm-up, then half a cosine down (Loshchilov and Hutter 2017, without restarts)."""

    warmup: NonNegativeInt = 0
    """Updates until the rate is reached."""
    updates: PositiveInt | None = None
    """Updates until the rate is lowest; the length of the run unless given."""
    lowest: Share = 0.0
    """Final learning rate, as a fraction of the peak rate."""

    def _check_together(self) -> None:
        _check_span(self.warmup, self.updates)

    def factor(self, update: int, updates: int) -> float:
        """Share of the learning rate at an update, counted from 1, of a run of so many."""
        left = _left(update, self.warmup, self.updates or updates)
        falling = self.lowest + (1 - self.lowest) * (1 - math.cos(math.pi * left)) / 2
        return min(_rising(update, self.warmup), falling)


class Plateau(Settings, frozen=True, tag_field="kind", tag="plateau"):
    """The same rate after a linear warm-up, reduced whenever validations have stopped getting better."""

    warmup: NonNegativeInt = 0
    """Updates until the rate is reached."""
    reduction: ShareWithin = 0.5
    """Factor applied to the learning rate at each reduction."""
    patience: PositiveInt = 2
    """Validations without improvement before each reduction."""

    def factor(self, update: int, updates: int) -> float:
        """Share of the learning rate before any reduction."""
        return _rising(update, self.warmup)


Schedule = Constant | InverseSquareRoot | Noam | Linear | Cosine | Plateau
BY_NAME: dict[str, Callable[[], Schedule]] = {
    "constant": Constant,
    "inverse_square_root": InverseSquareRoot,
    "linear": Linear,
    "cosine": Cosine,
    "plateau": Plateau,
}
"""Those that their names say enough of."""


@dataclass(frozen=True)
class OwnSchedule:
    """A schedule that is a function of somebody's own."""

    name: str
    function: Callable[[int, int], float]

    def factor(self, update: int, updates: int) -> float:
        """Share of the learning rate at an update, counted from 1, of a run of so many."""
        share = self.function(update, updates)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < math.inf:
            raise ConfigError(
                f"schedule '{self.name}' gave {share!r} at update {update:,} of {updates:,}; expected a share of the "
                "learning rate, a number from 0"
            )
        return float(share)


def _own_schedule(name: str, found: Any) -> OwnSchedule:
    """The schedule that is made of a function of update and updates, or of an object with such a method `factor`."""
    made = made_of("schedule", name, found)
    function = getattr(made, "factor", made)
    check_takes("schedule", name, function, ("update", "updates"), "a function of an update and the run's updates")
    schedule = OwnSchedule(name, function)
    try:
        for update in (1, 50, 100):
            schedule.factor(update, 100)
    except ConfigError as error:
        raise InputError(str(error)) from None
    return schedule


SCHEDULES: Registry[OwnSchedule] = Registry("schedule", "transduce.schedules", _own_schedule, others=tuple(BY_NAME))
"""Schedules of one's own: those built in are tables of settings, see Schedule."""


def _check_span(warmup: int, updates: int | None) -> None:
    if updates is not None and updates <= warmup:
        raise ValueError("warmup must be below updates")


def _rising(update: int, warmup: int) -> float:
    return min(1.0, update / warmup) if warmup else 1.0


def _left(update: int, warmup: int, updates: int) -> float:
    """From 1 at the end of the warm-up to nearly 0 at the last update, which still moves the weights."""
    return min(max((updates + 1 - update) / max(updates + 1 - warmup, 1), 0.0), 1.0)
