"""Snapshots of learning: files that can be lost, and are then made again from the confirmed segments."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor

from transduce.files import new_file
from transduce.nn.low_rank import DOWN, UP
from transduce.tensor_files import save_tensors

ENDING = ".safetensors"
KEPT = "kept."
"""Prefix of tensors of the state at the last check, to which a group that is undone returns."""


@dataclass(frozen=True)
class Snapshot:
    """The state after some segments, from which learning goes on bit for bit."""

    position: int
    """Number of segments seen."""
    key: str
    """Hash of all that the state is a function of."""
    model: str
    """Hash of the model that learns, see `transduce.bundle.identity`."""
    scale: float
    """Factor of the product of the adapter's matrices."""
    facts: str
    """JSON of what is no tensor."""
    tensors: dict[str, Tensor]

    @property
    def adapter(self) -> dict[str, Tensor]:
        """Matrices `down` and `up` of each adapted layer, by name."""
        names = [name for name in self.tensors if name.endswith((f".{DOWN}", f".{UP}"))]
        return {name: self.tensors[name] for name in names if not name.startswith(KEPT)}


class Snapshots:
    """A folder of snapshots, named by their position and key; one process writes it."""

    def __init__(self, folder: Path, every: int) -> None:
        """Opens a folder; snapshots at multiples of `every` are kept longer than the newest."""
        self.folder = folder
        self.every = every
        self.damaged: list[str] = []
        """Names of files that were damaged when they were read, and left out."""

    def newest(self, keys: Sequence[str]) -> Snapshot | None:
        """Returns the snapshot after the most segments whose key is `keys[position]`, and removes damaged ones; None
        without any."""
        paths = self._files()
        for position in range(len(keys) - 1, 0, -1):
            path = self.path(position, keys[position])
            if path in paths:
                snapshot = read_snapshot(path)
                if snapshot is not None and snapshot.key == keys[position]:
                    return snapshot
                path.unlink(missing_ok=True)
                self.damaged.append(path.name)
        return None

    def write(self, snapshot: Snapshot, keys: Sequence[str]) -> Path:
        """Writes a snapshot, atomically and durably, and removes those that are no longer needed: of segments that were
        taken back, and most older ones, whose distances double with age."""
        self.folder.mkdir(exist_ok=True)
        path = self.path(snapshot.position, snapshot.key)
        described = {"facts": snapshot.facts, "key": snapshot.key, "position": str(snapshot.position)}
        described |= {"model": snapshot.model, "scale": repr(snapshot.scale)}
        described["sha256"] = _checksum(described, snapshot.tensors)
        with new_file(path) as new:
            save_tensors(snapshot.tensors, new, described)
        last = snapshot.position // self.every
        kept = {path}
        for number in range(1, last + 1):
            distance = 2 ** max(0, (last - number).bit_length() - 2)
            if number % distance == 0:
                kept.add(self.path(number * self.every, keys[number * self.every]))
        for old in self._files() - kept:
            old.unlink(missing_ok=True)
        return path

    def path(self, position: int, key: str) -> Path:
        """Returns the file of a snapshot."""
        return self.folder / f"{position:07d}-{key[:16]}{ENDING}"

    def _files(self) -> set[Path]:
        return set(self.folder.glob(f"*-*{ENDING}"))


def last_snapshot(folder: Path, model: str) -> Snapshot | None:
    """Returns the undamaged snapshot after the most segments that a model has learned; None without any."""
    for path in sorted(folder.glob(f"*-*{ENDING}"), reverse=True):
        snapshot = read_snapshot(path)
        if snapshot is not None and snapshot.model == model:
            return snapshot
    return None


def read_snapshot(path: Path) -> Snapshot | None:
    """Reads a snapshot; None if it is missing or damaged."""
    try:
        with safe_open(path, "pt") as file:
            described = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        checksum = described.pop("sha256", "")
        if checksum != _checksum(described, tensors):
            return None
        about = int(described["position"]), described["key"], described["model"], float(described["scale"])
        return Snapshot(*about, described["facts"], tensors)
    except (OSError, SafetensorError, KeyError, ValueError):
        return None


def _checksum(described: dict[str, str], tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name, text in sorted(described.items()):
        digest.update(f"{name}={len(text)}:{text}".encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}={tensor.dtype}{list(tensor.shape)}".encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()
