"""The number of updates that fit into a run's minutes."""

import time

SMOOTH = 50  # updates over which their time is averaged
RESERVE, VALIDATIONS = 0.06, 5.0  # kept for the final test: this share of the time, or so many validations


class Pace:
    """Plans the updates of a run that must have ended at a time, from how long its updates take.

    Args:
        ends: when the run must have ended, its final test included, by `time.monotonic`.
    """

    def __init__(self, ends: float) -> None:
        self._ends = ends
        self._reserve = RESERVE * max(ends - time.monotonic(), 0.0)
        self._seconds_per_update = 0.0
        self._trained = self._paused = 0.0

    def expect(self, seconds_per_update: float) -> None:
        """Takes an estimate of the seconds that an update takes, before the first."""
        self._seconds_per_update = seconds_per_update

    def made(self, seconds: float) -> None:
        """Takes the seconds of an update."""
        self._trained += seconds
        self._seconds_per_update += (seconds - self._seconds_per_update) / SMOOTH

    def paused(self, seconds: float) -> None:
        """Takes the seconds of validating and saving after an update."""
        self._paused += seconds
        self._reserve = max(self._reserve, VALIDATIONS * seconds)

    def updates(self, made: int) -> int:
        """Returns the number of updates of the whole run, of which some are made: at least one."""
        pauses = 1 + self._paused / max(self._trained, 1e-9) if self._paused else 1.0
        left = (self._ends - self._reserve - time.monotonic()) / max(self._seconds_per_update * pauses, 1e-9)
        return max(made + max(int(left), 0), 1)
