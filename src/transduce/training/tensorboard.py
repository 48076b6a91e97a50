"""TensorBoard's view of a run."""

from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from transduce.training.observers import Report


class TensorBoard:
    """Writes curves for `tensorboard --logdir`; what a resumed run will write again is struck out."""

    def __init__(self, folder: Path, resumed_after: int) -> None:
        self._writer = SummaryWriter(folder, purge_step=resumed_after + 1 if resumed_after else None)

    def report(self, report: Report) -> None:
        """A point on each of the training curves."""
        values = {
            "loss": report.loss,
            "learning_rate": report.learning_rate,
            "gradient_norm": report.gradient_norm,
            "target_tokens_per_second": report.target_tokens_per_second,
        }
        for name, value in values.items():
            self._writer.add_scalar(f"training/{name}", value, report.update)

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """A point on each validation score's curve."""
        for name, value in scores.items():
            self._writer.add_scalar(f"validation/{name}", value, update)
        self._writer.flush()

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()
