"""A run that is stopped from outside."""

import os
import signal

from transduce.training.observers import Observer


class Stop(Observer):
    """An observer that asks for a stop as Ctrl-C does."""

    def __init__(self, update: int) -> None:
        self.update = update

    def report(self, report: object) -> None:
        if report.update == self.update:  # type: ignore[attr-defined]
            os.kill(os.getpid(), signal.SIGINT)
