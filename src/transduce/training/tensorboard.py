"""TensorBoard's view of a run."""

from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from transduce.training.observers import Report
from transduce.training.trackers import report_values


class TensorBoard:
    """Writes curves for `tensorboard --logdir`; what a resumed run will write again is struck out."""

    def __init__(self, folder: Path, resumed_after: int) -> None:
        self._writer = SummaryWriter(folder, purge_step=resumed_after + 1 if resumed_after else None)

    def report(self, report: Report) -> None:
        """A point on each of the training curves."""
        for name, value in report_values(report).items():
            self._writer.add_scalar(name, value, report.update)

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """A point on each validation score's curve."""
        for name, value in scores.items():
            self._writer.add_scalar(f"validation/{name}", value, update)
        self._writer.flush()

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()
