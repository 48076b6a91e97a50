"""How often the decoder reads the true tokens while it learns."""

from transduce.config import Settings
from transduce.ranges import NonNegativeInt, PositiveInt, Share


class TeacherForcing(Settings, frozen=True):
    """The probability with which each token that the decoder reads is the true one, else its own last prediction
    (scheduled sampling, Bengio et al. 2015); below 1, the decoder runs token by token, which is slower."""

    first: Share = 1.0
    """The probability as training begins, 0 to 1."""
    last: Share = 1.0
    """The probability at the end of the linear change."""
    after: NonNegativeInt = 0
    """Updates before it begins to change."""
    updates: PositiveInt | None = None
    """Updates until it has changed; the length of the run unless given."""

    def _check_together(self) -> None:
        if self.updates is not None and self.updates <= self.after:
            raise ValueError("after must be below updates")

    def rate(self, update: int, updates: int) -> float:
        """The probability at an update, counted from 1, of a run of so many."""
        span = (self.updates or updates) - self.after
        passed = min(max((update - self.after) / max(span, 1), 0.0), 1.0)
        return self.first + (self.last - self.first) * passed
