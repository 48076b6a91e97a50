"""What a project gives to translations outside its server, such as those of files: memory, terms, what was learned."""

import hashlib
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from transduce.bundle import ModelBundle, identity
from transduce.bundle_config import BundleConfig
from transduce.corpora.directions import Direction
from transduce.documents.memory import Memory
from transduce.documents.text.placeholders import plain_segment
from transduce.errors import InputError
from transduce.inference.engines.exported import Model
from transduce.projects.adapted import with_adapter
from transduce.projects.project import ADAPTERS, Project
from transduce.projects.snapshots import Snapshot, last_snapshot
from transduce.projects.terms import with_forms
from transduce.text.glossary import Entry


@dataclass(frozen=True)
class Knowledge:
    """All that a project knows at a moment."""

    folder: Path
    direction: Direction
    pairs: list[tuple[str, str]]
    """Sources and translations that people confirmed or gave."""
    entries: list[Entry]
    """Entries of the glossary, with the forms that the pairs have."""

    @staticmethod
    def read(folder: str | Path) -> "Knowledge":
        """Reads a project's folder, also while a server has it open; raises as `Project.open` does."""
        with closing(Project.open(folder)) as project:
            pairs, entries = project.memory.pairs(), project.store.terms()
            return Knowledge(Path(folder), Direction(project.source, project.target), pairs, with_forms(entries, pairs))

    @cached_property
    def memory(self) -> Memory:
        """The pairs as a memory for documents."""
        return Memory.of((plain_segment(source), plain_segment(target)) for source, target in self.pairs)

    @property
    def content(self) -> str:
        """Hash of all that translations depend on."""
        adapters = sorted(path.name for path in (self.folder / ADAPTERS).glob("*"))
        return hashlib.sha256(msgspec.json.encode([self.pairs, self.entries, adapters])).hexdigest()

    def check(self, config: BundleConfig, to: str | None = None, from_: str | None = None) -> None:
        """Raises InputError for other languages than the project's, asked for or a model's."""
        source, target = self.direction.source, self.direction.target
        if to not in (None, target) or from_ not in (None, source):
            raise InputError(f"{self.folder} is from {source} to {target}; leave other languages out, or the project")
        if config.languages is not None:
            config.find_direction(target, source)
        elif (config.source, config.target) != (source, target):
            raise InputError(
                f"{self.folder} is from {source} to {target}, and the model from {config.source} to {config.target}; "
                "use a model of the project's languages"
            )

    def describe(self, bundle: ModelBundle) -> str:
        """Describes on one line what there is for a model."""
        snapshot = self._learned(bundle)
        learned = "has learned nothing yet" if snapshot is None else f"has learned {snapshot.position:,} segments"
        return f"{self.folder}: {len(self.pairs):,} translations, {len(self.entries):,} terms; the model {learned}"

    def taught(self, model: Model) -> Model:
        """Returns a model with what the project has taught it; the model itself if that is nothing.

        Args:
            model: one in PyTorch as it was loaded, before it was made ready for a precision.

        Raises InputError for an exported model.
        """
        if not isinstance(model, ModelBundle):
            raise InputError("a project cannot teach an exported model; use the one that it was exported from")
        snapshot = self._learned(model)
        return model if snapshot is None else with_adapter(model, snapshot.adapter, snapshot.scale)

    def _learned(self, bundle: ModelBundle) -> Snapshot | None:
        return None if bundle.folder is None else last_snapshot(self.folder / ADAPTERS, identity(bundle.folder))
