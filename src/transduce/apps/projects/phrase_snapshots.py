"""What a project teaches a phrase-based model: one that is learned anew, in seconds, with the confirmed segments."""

import hashlib
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from transduce.apps.projects.lessons import Learned, LearningProgress, Lesson
from transduce.apps.projects.project_settings import LearningSettings
from transduce.apps.projects.snapshots import Confirmed, segment_keys
from transduce.base.files import new_folder, remove
from transduce.base.verification import checksums
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import EXPORT, model_content
from transduce.inference.engines.exported import ExportedModel, Model
from transduce.inference.translator import Translator
from transduce.models.families import PhrasesConfig
from transduce.phrases.phrase_model import PhraseModel

FORMAT = 1
"""Number of the way of learning; another one learns everything again."""
KEPT = 2
"""Newest models that are kept, since one may be opened while the next is learned."""
ENDING, PROGRESS = ".phrases", "progress.json"


@dataclass(frozen=True)
class PhraseSnapshot:
    """A folder with the model after some segments, which can be lost, and is then made again."""

    folder: Path

    @property
    def key(self) -> str:
        """All that the model is a function of, as the folder's name says."""
        return self.folder.name

    @property
    def position(self) -> int:
        """The number of segments that were learned."""
        return int(self.folder.name[:7])

    def progress(self) -> LearningProgress:
        """Reads the record of what was learned."""
        return msgspec.json.decode((self.folder / PROGRESS).read_bytes(), type=LearningProgress)

    def taught(self, model: Model) -> Model:
        """Returns the model that was learned, in place of a served one."""
        return ExportedModel.load(self.folder)


def is_phrase_based(folder: Path) -> bool:
    """Returns True for the folder of a phrase-based model."""
    return isinstance(read_config(folder).model, PhrasesConfig)


def current_phrases(
    folder: Path, model: Path, settings: LearningSettings, segments: Sequence[Confirmed]
) -> PhraseSnapshot | None:
    """Returns the state of a model in a folder after the most segments of all that were confirmed and not taken back.

    None without any, and where learning is switched off.
    """
    paths = _paths(folder, model, segments) if settings.enabled else []
    return next((PhraseSnapshot(path) for path in reversed(paths[1:]) if path.is_dir()), None)


def learn_phrases(folder: Path, model: Path, settings: LearningSettings, segments: Sequence[Confirmed]) -> Learned:
    """Learns from all segments of a project, and keeps the model in a folder; each new segment is translated before."""
    known, paths = current_phrases(folder, model, settings, segments), _paths(folder, model, segments)
    position, lessons = (0, []) if known is None else (known.position, known.progress().lessons)
    if position < len(segments):
        began, served = time.monotonic(), ExportedModel.load(model)
        before = served if known is None else ExportedModel.load(known.folder)
        sources = [segment.source for segment in segments[position:]]
        static, adapted = (Translator(each).translate(sources) for each in (served, before))
        learned = PhraseModel.load(model).with_pairs([(each.source, each.target) for each in segments])
        seconds = (time.monotonic() - began) / len(sources)
        both = zip(static, adapted, strict=True)
        lessons += [Lesson("learned", one.text, other.text, seconds=seconds) for one, other in both]
        _write(paths[-1], served, learned, LearningProgress(lessons))
    for stale in sorted({*folder.glob(f"*{ENDING}")} - {*paths[1:]}) + [
        path for path in paths[1:-KEPT] if path.exists()
    ]:
        remove(stale)
    return Learned(paths[-1].name, {}, lessons, [])


def _paths(folder: Path, model: Path, segments: Sequence[Confirmed]) -> list[Path]:
    """Returns the folder of the state after each number of segments."""
    first = hashlib.sha256(msgspec.json.encode([FORMAT, model_content(model)])).hexdigest()
    keys = enumerate(segment_keys(first, segments))
    return [folder / f"{position:07d}-{key[:16]}{ENDING}" for position, key in keys]


def _write(path: Path, served: ExportedModel, model: PhraseModel, progress: LearningProgress) -> None:
    """Writes a model as the served one is written."""
    path.parent.mkdir(exist_ok=True)
    with new_folder(path) as new:
        for file in served.folder.iterdir():
            if file.is_file() and file.name != EXPORT:
                shutil.copyfile(file, new / file.name)
        model.save(new)
        (new / PROGRESS).write_bytes(msgspec.json.encode(progress))
        export = msgspec.structs.replace(served.export, sha256=checksums(new))
        (new / EXPORT).write_bytes(msgspec.json.encode(export))
