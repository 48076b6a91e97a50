"""Snapshots of learning: files that can be lost, and are then made again from the confirmed segments."""

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import msgspec
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from transduce.apps.projects.lessons import LearningProgress
from transduce.apps.projects.project_settings import LearningSettings
from transduce.apps.projects.project_store import ConfirmedSegment
from transduce.base.files import new_file
from transduce.base.tensor_files import save_tensors
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.corpus import SentencePair
from transduce.inference.engines.exported import Model
from transduce.nn.low_rank import DOWN, UP

FORMAT = 5
"""Number of the way of learning; another one learns everything again."""
ENDING = ".safetensors"
KEPT = "kept."
"""Prefix of tensors of the state at the last check, to which a group that is undone returns."""
Confirmed = ConfirmedSegment | SentencePair
"""A segment that a person confirmed: its source and target are learned."""


@dataclass(frozen=True)
class Snapshot:
    """The state after some segments, from which learning goes on bit for bit."""

    position: int
    """Number of segments seen."""
    key: str
    """Hash of all that the state is a function of: the last of `segment_keys`."""
    first: str
    """Hash of all that the state before the first segment is a function of."""
    model: str
    """Hash of the model and the settings by which it learns, see `model_key`."""
    scale: float
    """Factor of the product of the adapter's matrices."""
    facts: str
    """JSON of what is not a tensor."""
    tensors: dict[str, Tensor]

    def progress(self) -> LearningProgress:
        """Returns the record of what was learned."""
        return msgspec.json.decode(self.facts, type=LearningProgress)

    @property
    def adapter(self) -> dict[str, Tensor]:
        """Matrices `down` and `up` of each adapted layer, by name."""
        names = [name for name in self.tensors if name.endswith((f".{DOWN}", f".{UP}"))]
        return {name: self.tensors[name] for name in names if not name.startswith(KEPT)}

    def taught(self, model: Model) -> Model:
        """Returns a model, as it was loaded, with what was learned."""
        assert isinstance(model, ModelBundle)
        return with_adapter(model, self.adapter, self.scale)


class Snapshots:
    """A folder of snapshots, named by their position and key; one process writes it."""

    def __init__(self, folder: Path, every: int) -> None:
        """Opens a folder; snapshots at multiples of `every` are kept longer than the newest."""
        self.folder = folder
        self.every = every

    def newest(self, keys: Sequence[str]) -> Snapshot | None:
        """Returns the snapshot after the most segments whose key is `keys[position]`, None without any; removes damaged
        ones, and those of segments that were taken back."""
        paths = self._files() & {self.path(position, key) for position, key in enumerate(keys)}
        for stale in self._files() - paths:
            stale.unlink(missing_ok=True)
        for position in range(len(keys) - 1, 0, -1):
            path = self.path(position, keys[position])
            if path in paths:
                snapshot = read_snapshot(path)
                if snapshot is not None and snapshot.key == keys[position]:
                    return snapshot
                path.unlink(missing_ok=True)
        return None

    def write(self, snapshot: Snapshot, keys: Sequence[str]) -> None:
        """Writes a snapshot, atomically and durably, and removes those that are no longer needed: of segments that were
        taken back, and most older ones, whose distances double with age."""
        self.folder.mkdir(exist_ok=True)
        path = self.path(snapshot.position, snapshot.key)
        described = {"facts": snapshot.facts, "key": snapshot.key, "position": str(snapshot.position)}
        described |= {"first": snapshot.first, "model": snapshot.model, "scale": repr(snapshot.scale)}
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

    def path(self, position: int, key: str) -> Path:
        """Returns the file of a snapshot."""
        return self.folder / f"{position:07d}-{key[:16]}{ENDING}"

    def _files(self) -> set[Path]:
        return set(self.folder.glob(f"*-*{ENDING}"))


def with_adapter(bundle: ModelBundle, adapter: Mapping[str, Tensor], scale: float) -> ModelBundle:
    """Returns a bundle whose linear layers have the adapter in their weights (Hu et al. 2021, section 4.1); all other
    weights are those of the given one, which stays as it is.

    Args:
        bundle: a model as it was loaded, before it was made ready for a precision.
        adapter: matrices `down` [rank, inputs] and `up` [outputs, rank] of each layer, by name.
        scale: factor of their product.
    """
    shared = {id(tensor): tensor for tensor in chain(bundle.model.parameters(), bundle.model.buffers())}
    model = copy.deepcopy(bundle.model, shared)
    for name, down in adapter.items():
        layer, _, kind = name.rpartition(".")
        if kind == DOWN:
            linear: nn.Linear = model.get_submodule(layer)  # type: ignore[assignment]
            product = scale * adapter[f"{layer}.{UP}"] @ down
            weight = linear.weight + product.to(linear.weight.device)  # W + s B A
            linear.weight = nn.Parameter(weight.detach(), requires_grad=False)
    return replace(bundle, model=model)


def model_key(model: str, settings: LearningSettings) -> str:
    """Returns a hash of a model, by its identity, and of all settings by which it learns."""
    values = {**settings.retired, **msgspec.to_builtins(settings), "enabled": True, "general": (), "snapshot_every": 0}
    content = {"format": FORMAT, "torch": str(torch.__version__), "model": model, "settings": values}
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()


def segment_keys(first: str, segments: Sequence[Confirmed]) -> list[str]:
    """Returns the key of the state after each number of segments; `first` is that after none."""
    keys = [first]
    for segment in segments:
        texts = msgspec.json.encode([keys[-1], segment.source, segment.target])
        keys.append(hashlib.sha256(texts).hexdigest())
    return keys


def current_snapshot(
    folder: Path, model: str, settings: LearningSettings, segments: Sequence[Confirmed]
) -> Snapshot | None:
    """Returns the state that a project's translations use, in its server and of files: the one after the most segments
    of all that were confirmed and not taken back. None without any, and where learning is switched off.

    `model` is the `transduce.bundle.model_bundle.identity` of the model that translates.
    """
    wanted = model_key(model, settings)
    for path in sorted(folder.glob(f"*-*{ENDING}"), reverse=True) if settings.enabled else ():
        snapshot = read_snapshot(path)
        if snapshot is None or snapshot.model != wanted or snapshot.position > len(segments):
            continue
        if segment_keys(snapshot.first, segments[: snapshot.position])[-1] == snapshot.key:
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
        keys = described["key"], described["first"], described["model"]
        return Snapshot(int(described["position"]), *keys, float(described["scale"]), described["facts"], tensors)
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
