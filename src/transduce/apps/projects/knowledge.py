"""Memory, terms and learned model of a project, for translations outside its server, such as those of files."""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from docsegments.memory import Memory
from docsegments.segment import Segment
from docsegments.text.placeholders import plain_segment
from transduce.apps.projects.phrase_snapshots import PhraseSnapshot, current_phrases, is_phrase_based
from transduce.apps.projects.project import ADAPTERS, Project
from transduce.apps.projects.project_settings import LearningSettings
from transduce.apps.projects.project_store import ConfirmedSegment
from transduce.apps.projects.project_terms import with_forms
from transduce.apps.projects.snapshots import Snapshot, current_snapshot
from transduce.base.errors import InputError
from transduce.bundle.bundle_config import BundleConfig, read_config
from transduce.bundle.model_bundle import EXPORT, find_bundle, identity, why_not_trainable
from transduce.corpora.directions import Direction
from transduce.inference.engines.exported import Model
from transduce.text.glossary import Entry


@dataclass(frozen=True)
class Knowledge:
    """All that a project knows at a moment, for one model."""

    folder: Path
    direction: Direction
    pairs: list[tuple[str, str]]
    """Sources and translations that people confirmed or gave."""
    in_context: dict[tuple[str, str], tuple[str, str]]
    """Those of them that are after a known source; see ProjectMemory."""
    entries: list[Entry]
    """Entries of the glossary, with the forms that the pairs have."""
    snapshot: Snapshot | PhraseSnapshot | None
    """The newest state of what the model has learned; None if that is nothing."""

    @staticmethod
    def read(folder: str | Path, model: str | Path) -> "Knowledge":
        """Reads a project's folder, also while a server has it open.

        Args:
            folder: the project's folder.
            model: a run's or a model's folder.

        Raises what `Project.open` raises, and InputError for an exported model or other languages than the project's.
        """
        with closing(Project.open(folder)) as project:
            pairs, in_context = project.memory.pairs(), project.memory.in_context()
            entries = project.store.terms()
            direction = Direction(project.source, project.target)
            settings, segments = project.settings.learning, project.store.segments()
        bundle = find_bundle(Path(model))
        if (bundle / EXPORT).exists() and not is_phrase_based(bundle):
            raise InputError(f"a project teaches a model as it was trained; {why_not_trainable(bundle)}")
        _check_direction(Path(folder), direction, read_config(bundle))
        snapshot = current_state(Path(folder) / ADAPTERS, bundle, settings, segments)
        return Knowledge(Path(folder), direction, pairs, in_context, with_forms(entries, pairs), snapshot)

    @cached_property
    def memory(self) -> Memory:
        """The pairs as a memory for documents."""
        of_any = Memory.of(map(_segments, self.pairs))
        return replace(of_any, in_context={key: _segments(pair) for key, pair in self.in_context.items()})

    @property
    def content(self) -> str:
        """Hash of all that translations depend on."""
        learned = None if self.snapshot is None else self.snapshot.key
        return hashlib.sha256(
            msgspec.json.encode([self.pairs, list(self.in_context.items()), self.entries, learned])
        ).hexdigest()

    def describe(self) -> str:
        """Describes on one line what there is."""
        learned = (
            "has learned nothing yet" if self.snapshot is None else f"has learned {self.snapshot.position:,} segments"
        )
        return f"{self.folder}: {len(self.pairs):,} translations, {len(self.entries):,} terms; the model {learned}"

    def taught(self, model: Model) -> Model:
        """Returns the model with what the project has taught it; the model itself if that is nothing.

        Args:
            model: the model as it was loaded, before it was made ready for a precision.
        """
        return model if self.snapshot is None else self.snapshot.taught(model)


def _segments(pair: tuple[str, str]) -> tuple[Segment, Segment]:
    return plain_segment(pair[0]), plain_segment(pair[1])


def current_state(
    adapters: Path, bundle: Path, settings: LearningSettings, segments: Sequence[ConfirmedSegment]
) -> Snapshot | PhraseSnapshot | None:
    """Returns what a model has learned from a project's segments, see `current_snapshot`."""
    if is_phrase_based(bundle):
        return current_phrases(adapters, bundle, settings, segments)
    return current_snapshot(adapters, identity(bundle), settings, segments)


def _check_direction(folder: Path, direction: Direction, config: BundleConfig) -> None:
    """Raises InputError for a model that does not translate in a project's direction."""
    if config.languages is not None:
        config.find_direction(direction.target, direction.source)
    elif (own := Direction(config.source, config.target)) != direction:
        raise InputError(
            f"{folder} is from {direction.source} to {direction.target}, and the model from {own.source} to "
            f"{own.target}; use a model of the project's languages"
        )
