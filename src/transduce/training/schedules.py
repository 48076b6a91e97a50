"""Learning-rate schedules; each gives the fraction of the peak rate at an update."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transduce.base.config import Settings
from transduce.base.errors import ConfigError, InputError
from transduce.base.plugins import Registry, check_takes, made_of
from transduce.base.ranges import NonNegativeInt, PositiveFloat, PositiveInt, Share, ShareWithin, Width

LONGEST_WARMUP = 4000  # Vaswani et al. 2017
WARMUP_SHARE = 0.1  # of a shorter run


class Constant(Settings, frozen=True, tag_field="kind", tag="constant"):
    """The same rate throughout, after a linear warm-up."""

    warmup: NonNegativeInt = 0
    """Warm-up updates."""

    def factor(self, update: int, updates: int) -> float:
        """Returns the share of the peak rate at an update, counted from 1, of a run of `updates`."""
        return _rising(update, self.warmup)


class InverseSquareRoot(Settings, frozen=True, tag_field="kind", tag="inverse_square_root"):
    """Linear warm-up, then decay with the square root of the update (Vaswani et al. 2017, eq. 3)."""

    warmup: PositiveInt | None = None
    """Warm-up updates (default: 4,000, or a tenth of the updates of a shorter run)."""

    def factor(self, update: int, updates: int) -> float:
        """Returns the share of the peak rate at an update, counted from 1, of a run of `updates`."""
        warmup = _warmup(self.warmup or None, updates)
        return min(update / warmup, (warmup / update) ** 0.5)


class Noam(Settings, frozen=True, tag_field="kind", tag="noam"):
    """The schedule of Vaswani et al. 2017, eq. 3, which sets the rate from the model's width; learning_rate must not be
    set."""

    dim: Width
    """The model's width."""
    multiplier: PositiveFloat = 1.0
    """Factor of the rate: 1 in the paper; 2 in the Tensor2Tensor code and the tutorials that follow it."""
    warmup: PositiveInt = 4000
    """Warm-up updates."""

    @property
    def highest(self) -> float:
        """The rate at the end of the warm-up."""
        return self.multiplier * (self.dim * self.warmup) ** -0.5

    def factor(self, update: int, updates: int) -> float:
        """Returns the share of the highest rate at an update, counted from 1, of a run of `updates`."""
        return min(update / self.warmup, (self.warmup / update) ** 0.5)


class Linear(Settings, frozen=True, tag_field="kind", tag="linear"):
    """Linear warm-up, then linear decay to zero: for a run of known length."""

    warmup: NonNegativeInt = 0
    """Warm-up updates."""
    updates: PositiveInt | None = None
    """Updates until the rate is zero (default: the length of the run)."""

    def _check_together(self) -> None:
        _check_span(self.warmup, self.updates)

    def factor(self, update: int, updates: int) -> float:
        """Returns the share of the peak rate at an update, counted from 1, of a run of `updates`."""
        return min(_rising(update, self.warmup), _left(update, self.warmup, self.updates or updates))


class WarmupStableDecay(Settings, frozen=True, tag_field="kind", tag="wsd"):
    """Linear warm-up, the same rate, then linear decay to zero (Hu et al. 2024, section 4): a finished run can be
    prolonged from the last checkpoint before its decay, as if it had been planned so."""

    warmup: NonNegativeInt | None = None
    """Warm-up updates (default: a tenth of the updates, at most 4,000)."""
    decay: ShareWithin = 0.3
    """Share of the updates, the last ones, in which the rate falls."""

    def factor(self, update: int, updates: int) -> float:
        """Returns the share of the peak rate at an update, counted from 1, of a run of `updates`."""
        return min(_rising(update, _warmup(self.warmup, updates)), _left(update, self._stable(updates), updates))

    def is_falling(self, update: int, updates: int) -> bool:
        """Returns True if the decay has begun at an update, counted from 1, of a run of `updates`."""
        return update > self._stable(updates)

    def _stable(self, updates: int) -> int:
        """Returns the number of updates before the decay."""
        return updates - max(round(self.decay * updates), 1)


class Cosine(Settings, frozen=True, tag_field="kind", tag="cosine"):
    """Linear warm-up, then half a cosine down (Loshchilov and Hutter 2017, without restarts)."""

    warmup: NonNegativeInt = 0
    """Warm-up updates."""
    updates: PositiveInt | None = None
    """Updates until the rate is lowest (default: the length of the run)."""
    lowest: Share = 0.0
    """Final learning rate, as a fraction of the peak rate."""

    def _check_together(self) -> None:
        _check_span(self.warmup, self.updates)

    def factor(self, update: int, updates: int) -> float:
        """Returns the share of the peak rate at an update, counted from 1, of a run of `updates`."""
        left = _left(update, self.warmup, self.updates or updates)
        falling = self.lowest + (1 - self.lowest) * (1 - math.cos(math.pi * left)) / 2
        return min(_rising(update, self.warmup), falling)


class Plateau(Settings, frozen=True, tag_field="kind", tag="plateau"):
    """The same rate after a linear warm-up, reduced whenever validations have stopped improving."""

    warmup: NonNegativeInt = 0
    """Warm-up updates."""
    reduction: ShareWithin = 0.5
    """Factor applied to the learning rate at each reduction."""
    patience: PositiveInt = 2
    """Validations without improvement before each reduction."""

    def factor(self, update: int, updates: int) -> float:
        """Returns the share of the peak rate before any reduction."""
        return _rising(update, self.warmup)


Schedule = Constant | InverseSquareRoot | Noam | Linear | WarmupStableDecay | Cosine | Plateau
BY_NAME: dict[str, Callable[[], Schedule]] = {
    "constant": Constant,
    "inverse_square_root": InverseSquareRoot,
    "linear": Linear,
    "wsd": WarmupStableDecay,
    "cosine": Cosine,
    "plateau": Plateau,
}
"""Schedules that a name alone can choose."""


@dataclass(frozen=True)
class OwnSchedule:
    """A schedule from a user's function."""

    name: str
    function: Callable[[int, int], float]

    def factor(self, update: int, updates: int) -> float:
        """Returns the share of the peak rate at an update, counted from 1, of a run of `updates`."""
        share = self.function(update, updates)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < math.inf:
            raise ConfigError(
                f"schedule '{self.name}' gave {share!r} at update {update:,} of {updates:,}; expected a share of the "
                "learning rate, a number from 0"
            )
        return float(share)


def _own_schedule(name: str, given: Any) -> OwnSchedule:
    """Makes a schedule from a function of update and updates, or from an object with such a method `factor`."""
    made = made_of("schedule", name, given)
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
"""Schedules of the user's own; the built-in ones are tables of settings, see Schedule."""


def why_never_high(schedule: object, updates: int | None) -> str:
    """Returns that a run of `updates` ends before the learning rate is as high as it was set; "" if it does not."""
    warmup = getattr(schedule, "warmup", None)
    if warmup is None or updates is None or warmup < updates:
        return ""
    return (
        f"the learning rate rises for {warmup:,} updates, but training ends after {updates:,}; lower "
        "optimizer.schedule.warmup, or train longer"
    )


def _check_span(warmup: int, updates: int | None) -> None:
    if updates is not None and updates <= warmup:
        raise ValueError("warmup must be below updates")


def _warmup(asked: int | None, updates: int) -> int:
    return min(LONGEST_WARMUP, max(round(WARMUP_SHARE * updates), 1)) if asked is None else asked


def _rising(update: int, warmup: int) -> float:
    return min(1.0, update / warmup) if warmup else 1.0


def _left(update: int, warmup: int, updates: int) -> float:
    """Returns a share that falls from 1 at the end of the warm-up to just above 0 at the last update, which still
    changes weights."""
    return min(max((updates + 1 - update) / max(updates + 1 - warmup, 1), 0.0), 1.0)
