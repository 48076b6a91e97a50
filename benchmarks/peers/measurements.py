"""Runs systems one after the other, round after round, and keeps what each measured: what is kept is not done again."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peers.environments import NotInstalledError, interpreter

BENCHMARKS = Path(__file__).parents[1]


@dataclass(frozen=True)
class System:
    """One row of a table."""

    name: str
    environment: str
    """Its key in environments.py, or "transduce"."""
    worker: str
    """The module that is run there with the job; its last line of output is a JSON object."""
    job: dict[str, Any] = field(default_factory=dict)
    """What it is told beside what all are told."""

    @property
    def file(self) -> str:
        """Its name as part of a file's."""
        return self.name.lower().replace(" ", "-")

    def is_chosen(self, names: Sequence[str] | None) -> bool:
        """True if its name begins with one of these, or there are none; what all are compared with always is."""
        asked = ["Transduce", *names] if names else [""]
        return any(self.name.lower().startswith(name.lower()) for name in asked)


@dataclass(frozen=True)
class Measurements:
    """What a system measured, in the order of rounds, or why it did not."""

    rounds: dict[int, dict[str, Any]]
    reason: str | None = None


class OtherSettingsError(Exception):
    """A folder holds measurements of another kind."""


def measure(
    systems: Sequence[System], repeats: int, folder: Path, shared: Mapping[str, Any]
) -> dict[str, Measurements]:
    """Run each system once a round with the shared job and its own, unless the folder has that round already.

    A system that cannot be installed or fails is left out from then on, with the reason. Raises OtherSettingsError if
    the folder was begun with another shared job.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept, job = folder / "job.json", json.dumps(shared, indent=1)
    if kept.exists() and kept.read_text(encoding="utf-8") != job:
        raise OtherSettingsError(f"{folder} holds measurements with other settings; remove it, or choose another --out")
    kept.write_text(job, encoding="utf-8")
    left_out: set[str] = set()
    for number in range(1, repeats + 1):
        for system in systems:
            file = folder / f"{system.file}.{number}.json"
            if file.exists() or system.name in left_out:
                continue
            reason = folder / f"{system.file}.reason"
            reason.unlink(missing_ok=True)
            try:
                found = run(system, shared)
            except (NotInstalledError, FailedError) as error:
                reason.write_text(str(error), encoding="utf-8")
                left_out.add(system.name)
                print(f"round {number}, {system.name}: {error}", file=sys.stderr, flush=True)
                continue
            file.write_text(json.dumps(found), encoding="utf-8")
            shown = ", ".join(f"{key} {value}" for key, value in found.items() if isinstance(value, (int, float, str)))
            print(f"round {number}, {system.name}: {shown}", file=sys.stderr, flush=True)
    return read(systems, folder)


def read(systems: Sequence[System], folder: Path) -> dict[str, Measurements]:
    """What is kept in a folder of the systems, those left out that were never tried."""
    found = {}
    for system in systems:
        files = {int(file.suffixes[-2][1:]): file for file in folder.glob(f"{system.file}.*.json")}
        rounds = {number: json.loads(files[number].read_text(encoding="utf-8")) for number in sorted(files)}
        reason = folder / f"{system.file}.reason"
        if rounds or reason.exists():
            told = reason.read_text(encoding="utf-8") if reason.exists() else None
            found[system.name] = Measurements(rounds, told)
    return found


class FailedError(Exception):
    """A system's worker ended with an error, which the message tells."""


def run(system: System, shared: Mapping[str, Any]) -> dict[str, Any]:
    """One measurement, in a process of its own; raises NotInstalledError or FailedError."""
    job = {**shared, **system.job}
    threads = str(job["threads"])
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "0"}
    command = [str(interpreter(system.environment)), "-m", f"peers.{system.worker}", json.dumps(job)]
    done = subprocess.run(command, cwd=BENCHMARKS, env=environment, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        raise FailedError(f"failed: {errors[-1].strip() if errors else f'it ended with {done.returncode}'}")
    found: dict[str, Any] = json.loads(lines[-1])
    return found


@dataclass(frozen=True)
class Spread:
    """The middle and the ends of what was measured several times."""

    median: float
    least: float
    most: float

    @staticmethod
    def of(values: Sequence[float]) -> "Spread":
        """Of at least one value."""
        return Spread(statistics.median(values), min(values), max(values))

    def show(self, form: str) -> str:
        """Such as "1,310 (1,290 to 1,350)"; the median alone where the ends look the same."""
        median, least, most = (format(value, form) for value in (self.median, self.least, self.most))
        return median if least == most else f"{median} ({least} to {most})"


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Spread | None:
    """How many times theirs ours is, over the rounds that both have; None if there is none."""
    ratios = [ours[number] / theirs[number] for number in sorted(ours.keys() & theirs.keys())]
    return Spread.of(ratios) if ratios else None
