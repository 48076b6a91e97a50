"""Times the updates of any trainer after its first few; knows no toolkit, so that every environment can import it."""

import json
import time


class Finished(Exception):  # noqa: N818  # no error: the way out of a trainer that would go on
    """All updates to be timed are made."""


class Stopwatch:
    """Counts updates and their real target tokens, and stops the trainer that reports them.

    Args:
        warm_up: updates that are not timed.
        updates: updates that are timed after them.
    """

    def __init__(self, warm_up: int, updates: int) -> None:
        self.warm_up = warm_up
        self.updates = updates
        self.made = 0
        self.target_tokens = 0
        self.seconds = 0.0
        self._started = 0.0

    def update(self, target_tokens: int) -> None:
        """An update with so many target tokens, end tokens counted and padding not, is made; raises Finished."""
        self.made += 1
        if self.made == self.warm_up:
            self._started = time.perf_counter()
        elif self.made > self.warm_up:
            self.target_tokens += target_tokens
        if self.made == self.warm_up + self.updates:
            self.seconds = time.perf_counter() - self._started
            raise Finished

    def report(self, **facts: str | float) -> None:
        """Print what was measured, with facts of the toolkit, as the last line of standard output."""
        found = {"seconds": self.seconds, "target_tokens": self.target_tokens, "updates": self.updates}
        print(json.dumps(found | facts), flush=True)
