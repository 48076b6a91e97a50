"""Options of the verbs that work through the files of a corpus, and what runs them."""

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from transduce.apps.cli.fields import Help
from transduce.base import ranges
from transduce.base.errors import InputError

if TYPE_CHECKING:
    from transduce.apps.cluster.workers import Workers

Ray = Annotated[str | None, Help(metavar="[ADDRESS]", bare="auto")]


@dataclass(frozen=True)
class ShardOptions:
    """Options for the files that a command reads and writes, and for the number of its processes."""

    source_column: str | None = None
    """The source's column: its name, or its number from 1 (default: source)."""
    target_column: str | None = None
    """The target's column (default: target)."""
    ending: str | None = None
    """Ending of the files to write: .tsv, .jsonl (and .gz, .xz, .zst) or .parquet (default: those of the input)."""
    processes: ranges.Processes | None = None
    """Processes (default: one for each core)."""
    ray: Ray = None
    """Run on a cluster of Ray: its address, auto (default) for the one of this machine, or local to start one here. All
    machines need Transduce and the same folders."""

    @property
    def reading(self) -> dict[str, Any]:
        """The parameters of a job; raises InputError for only one column."""
        if (self.source_column is None) != (self.target_column is None):
            raise InputError("--source-column and --target-column go together")
        columns = None
        if self.source_column is not None and self.target_column is not None:
            columns = [int(name) if name.isdecimal() else name for name in (self.source_column, self.target_column)]
        return {"columns": columns, "ending": self.ending}

    def workers(self) -> "AbstractContextManager[Workers]":
        """Starts what runs the tasks; raises InputError for a number of processes on a cluster."""
        if self.ray is not None and self.processes is not None:
            raise InputError("--processes is for this machine; leave it out with --ray")
        return started_workers(self.ray, self.processes or os.cpu_count() or 1)


def started_workers(ray: str | None, processes: int) -> "AbstractContextManager[Workers]":
    """Starts processes of this machine, or opens the cluster with this address."""
    from transduce.apps.cluster.workers import LocalWorkers, RayWorkers

    return nullcontext(LocalWorkers(processes)) if ray is None else RayWorkers(ray)
