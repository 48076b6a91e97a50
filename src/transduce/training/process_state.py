"""The state that differs between processes: random generators, counts since the last report, and what the last batch
hands the next."""

import re
import time

import torch
from torch import Tensor


class Tally:
    """Sums of this process since the last report, kept as tensors so that nothing waits for them."""

    def __init__(self, device: torch.device) -> None:
        self.plain = torch.zeros((), device=device)
        self.tokens = torch.zeros((), dtype=torch.int64, device=device)
        self.started = time.monotonic()
        self.paused = 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the last report, without pauses."""
        return time.monotonic() - self.started - self.paused


def process_state(tally: Tally, carried: dict[str, Tensor] | None) -> dict[str, Tensor]:
    """Returns this process's state, with what the last batch carries to the next, as tensors by their names."""
    device = tally.plain.device
    own = {
        "random": torch.get_rng_state(),
        "plain": tally.plain.cpu(),
        "tokens": tally.tokens.cpu(),
        "seconds": torch.tensor(tally.seconds),
    }
    if device.type == "cuda":
        own["random_cuda"] = torch.cuda.get_rng_state(device)
    return own | {f"carried.{name}": value.cpu().contiguous() for name, value in (carried or {}).items()}


def load_process_state(tensors: dict[str, Tensor], rank: int, tally: Tally) -> dict[str, Tensor] | None:
    """Loads the state of a process from tensors of all, whose names end in the rank; returns what the last batch
    carried to the next."""
    device = tally.plain.device
    torch.set_rng_state(tensors[f"random.{rank}"])
    if device.type == "cuda" and f"random_cuda.{rank}" in tensors:
        torch.cuda.set_rng_state(tensors[f"random_cuda.{rank}"], device)
    tally.plain = tensors[f"plain.{rank}"].to(device)
    tally.tokens = tensors[f"tokens.{rank}"].to(device)
    tally.paused = -float(tensors[f"seconds.{rank}"])
    carried = {key.split(".")[1]: value for key, value in tensors.items() if re.fullmatch(rf"carried\..*\.{rank}", key)}
    return {name: value.to(device) for name, value in carried.items()} or None
