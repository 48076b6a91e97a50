"""The schedule of teacher forcing."""

from transduce.config import Settings
from transduce.ranges import NonNegativeInt, PositiveInt, Share


class TeacherForcing(Settings, frozen=True):
    """The probability with which each token that the decoder reads is the true one, else its own last prediction
    (scheduled sampling, Bengio et al. 2015); below 1, the decoder runs token by token, which is slower."""

    first: Share = 1.0
    """Initial probability, 0 to 1."""
    last: Share = 1.0
    """Probability at the end of the linear change."""
    after: NonNegativeInt = 0
    """Updates before the probability begins to change."""
    updates: PositiveInt | None = None
    """Updates until the change is complete (default: the length of the run)."""

    def _check_together(self) -> None:
        if self.updates is not None and self.updates <= self.after:
            raise ValueError("after must be below updates")

    def rate(self, update: int, updates: int) -> float:
        """Returns the probability at an update, counted from 1, of a run of `updates`."""
        span = (self.updates or updates) - self.after
        passed = min(max((update - self.after) / max(span, 1), 0.0), 1.0)
        return self.first + (self.last - self.first) * passed
