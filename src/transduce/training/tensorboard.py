"""Curves of a run for TensorBoard."""

from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from transduce.training.observers import Report
from transduce.training.trackers import report_values


class TensorBoard:
    """Writes curves for `tensorboard --logdir`; a resumed run removes points that it will write again."""

    def __init__(self, folder: Path, resumed_after: int) -> None:
        self._writer = SummaryWriter(folder, purge_step=resumed_after + 1 if resumed_after else None)

    def report(self, report: Report) -> None:
        """Writes a point of each training curve."""
        for name, value in report_values(report).items():
            self._writer.add_scalar(name, value, report.update)

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """Writes a point of each validation score's curve."""
        for name, value in scores.items():
            self._writer.add_scalar(f"validation/{name}", value, update)
        self._writer.flush()

    def close(self) -> None:
        """Writes what is left."""
        self._writer.close()
