"""The stages of a distillation or a back-translation: translations, files to train on, and the training itself.

Each is a folder (see `transduce.base.stages`); the last is a run.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import msgspec

from docsegments.extras import TRAINING, check_installed
from transduce.base.config import to_tree
from transduce.base.errors import ConfigError, DataError, InputError
from transduce.base.files import new_folder, write_text
from transduce.base.ranges import CorpusWeight, Minutes, Number
from transduce.base.reprs import shown_by
from transduce.base.stages import Stage, alone_in, has_files
from transduce.base.task_table import find_task
from transduce.base.verification import read_json
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import find_bundle, model_content
from transduce.corpora.cleaning import cleaning_filters
from transduce.corpora.corpus import ParallelCorpus, check_not_empty
from transduce.corpora.data_settings import CorpusConfig, DataConfig
from transduce.corpora.directions import Direction
from transduce.corpora.pair_files import write_pairs
from transduce.evaluation.metric import Score
from transduce.evaluation.significance import Difference, compare_counts
from transduce.evaluation.translations import count_bleu
from transduce.experiment.recipe import Recipe, record
from transduce.experiment.run import RunResult, train
from transduce.experiment.synthetic_pairs import (
    Selection,
    SyntheticPairs,
    choose_steps,
    pair_of,
    write_synthetic_pairs,
    write_true_pairs,
)
from transduce.experiment.synthetic_texts import GivenTexts, languages_of_direction
from transduce.experiment.translated_shards import TextPart, read_translations, translate_part
from transduce.inference.engines.choice import EngineName
from transduce.inference.engines.engine_table import is_firefox
from transduce.inference.engines.inference_precision import InferencePrecision
from transduce.inference.translator import Translator
from transduce.tasks.translation.translation_settings import TranslationConfig
from transduce.training.observers import Observer

TRANSLATIONS = "translations"
FIGURES = "figures.json"
REPORT = "report.json"
ENDING = ".jsonl.zst"

WEIGHT, MINUTES = Number(*get_args(CorpusWeight)), Number(*get_args(Minutes))

Tell = Callable[[str], None]


@dataclass(frozen=True)
class StudentComparison:
    """BLEU of teacher and student on the same sentences."""

    test_set: str
    """The name of the test set, or of the validation data if there is none."""
    teacher: Score
    student: Score
    difference: Difference
    """The student's score minus the teacher's."""

    def describe(self) -> str:
        """Describes both scores on one line."""
        low, high = self.difference.interval
        return (
            f"BLEU on {self.test_set}: student {self.student.score:.1f}, teacher {self.teacher.score:.1f}, difference "
            f"{self.difference.difference:+.1f} [{low:+.1f}, {high:+.1f}] ({self.student.signature})"
        )


@shown_by(lambda result: {"run": result.run.run, "kept": result.pairs.kept, "translated": result.pairs.translated})
@dataclass(frozen=True, repr=False)
class SyntheticRun:
    """The result of a distillation or a back-translation."""

    run: RunResult
    """The training on the pairs that were made."""
    pairs: SyntheticPairs
    comparison: StudentComparison | None
    """The scores of student and teacher; None for a back-translation, whose models have two directions."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce distill --json`."""
        facts: dict[str, Any] = {"training": self.run.to_dict(), "pairs": msgspec.to_builtins(self.pairs)}
        return facts | ({} if self.comparison is None else {"comparison": msgspec.to_builtins(self.comparison)})

    def describe(self) -> str:
        """Returns a line for each figure, for people."""
        lines = self.pairs.describe()
        if self.comparison is not None:
            return "\n".join([*lines, self.comparison.describe()])
        test = find_task(self.run.task).describe_test(self.run.test) if self.run.test else None
        return "\n".join([*lines, *([test] if test else [])])


@dataclass(frozen=True)
class Stages:
    """All that the stages in a folder need."""

    folder: Path
    models: list[Path]
    direction: Direction
    """The direction of the model that translates."""
    texts: GivenTexts
    parts: list[TextPart]
    selection: Selection
    pairs_weight: float
    recipe: Recipe[TranslationConfig]
    name: str
    """The name of the new model in lines on the progress."""
    device: str
    precision: InferencePrecision
    """The precision of the models that translate."""
    minutes: float | None
    """The time that all stages may take, in place of the recipe's number of updates."""
    is_back_translation: bool = False
    tag: str = ""
    """The word before the source of each pair that is back-translated; none if empty."""

    def run(self, observers: Sequence[Observer], tell: Tell) -> SyntheticRun:
        """Runs the stages that are not finished; see `distill`."""
        began = time.monotonic()
        check_installed("train", *TRAINING)  # before hours of translating
        if not sum(part.sentences for part in self._learned_parts):
            raise DataError("there is nothing to translate: the texts have no sentences")
        if problem := WEIGHT.problem(self.pairs_weight):
            raise ConfigError(f"pairs_weight {problem}, but is {self.pairs_weight}")
        check_not_empty(self.texts.validation)
        self._translations.is_begun()  # or an error, before models are opened
        if not self._translations.folder.is_dir() and has_files(self.folder):
            raise InputError(f"{self.folder} holds other files; choose another folder (out)")
        is_missing = any(not file.exists() for part in self.parts for file in self._shards(part))
        recipe = self._recipe()
        translator = self._translator().directed(self.direction.target, self.direction.source) if is_missing else None
        with alone_in(self.folder), self._translations.begun():
            if translator is not None:
                for part in self.parts:
                    translate_part(part, self._translations.folder, translator, self.selection.metric, tell)
            del translator
            pairs = self._make_data(tell)
            left = None if self.minutes is None else self.minutes - (time.monotonic() - began) / 60
            if left is not None and MINUTES.problem(left):
                raise InputError("translating took all of the minutes; repeat it with more: what is translated stays")
            tell(f"training the {self.name} in {self._run_folder}")
            trained = train(
                recipe,
                self._run_folder,
                resume=True,
                observers=observers,
                tell=tell,
                device=self.device,
                minutes=left,
            )
            comparison = None if self.is_back_translation else self._compare(trained.model)
            result = SyntheticRun(trained, pairs, comparison)
            write_text(self.folder / REPORT, msgspec.json.format(msgspec.json.encode(result.to_dict())).decode())
        return result

    @cached_property
    def _translations(self) -> Stage:
        searches = {part.name: {"kind": type(part.search).__name__, **to_tree(part.search)} for part in self.parts}
        settings = {
            "models": [model_content(model) for model in self.models],
            "languages": str(self.direction),
            "search": searches,
            "metric": self.selection.metric,
            "precision": self.precision,
        }
        return Stage(self.folder / TRANSLATIONS, settings, self.texts.contents())

    @cached_property
    def _data(self) -> Stage:
        folder = self.folder / "data"
        settings = {
            "drop_worst": self.selection.drop_worst,
            "cleaning": self.selection.cleaning,
            "pairs_weight": self.pairs_weight,
            "tag": self.tag,
        }
        return replace(
            self._translations,
            folder=folder,
            settings={**self._translations.settings, **settings},
            advice=f"remove {folder} and {self._run_folder} to make them again",
        )

    @property
    def _run_folder(self) -> Path:
        return self.folder / "run"

    @property
    def _learned(self) -> Direction:
        """The direction of the new model."""
        return self.direction.reversed if self.is_back_translation else self.direction

    @property
    def _learns_true_pairs(self) -> bool:
        return self.pairs_weight > 0 and len(self.texts.pairs) > 0

    @property
    def _learned_parts(self) -> list[TextPart]:
        return [part for part in self.parts if part.name != "test"]

    def _shards(self, part: TextPart) -> list[Path]:
        return part.shards(self._translations.folder)

    def _make_data(self, tell: Tell) -> SyntheticPairs:
        """Writes the files to train on, unless they are there; returns their figures."""
        if self._data.is_begun():
            pairs = read_json(self._data.folder / FIGURES, SyntheticPairs, self._data.advice)
        else:
            with new_folder(self._data.folder) as new:
                pairs = self._write_data(new, tell)
                write_text(new / FIGURES, msgspec.json.encode(pairs).decode())
                self._data.record(new)
        for line in pairs.describe():
            tell(line)
        return pairs

    def _write_data(self, folder: Path, tell: Tell) -> SyntheticPairs:
        shards = [file for part in self._learned_parts for file in self._shards(part)]
        steps = self.selection.cleaning
        if steps is None:
            made = (pair_of(each, self.is_back_translation) for each in read_translations(shards))
            steps = choose_steps(made, languages_of_direction(self._learned), tell)
        filters = cleaning_filters(steps, list(self._held_out.values()))
        pairs = write_synthetic_pairs(
            folder / f"translated{ENDING}", shards, filters, self.selection, self.is_back_translation, self.tag
        )
        if self._learns_true_pairs:
            kept, dropped = write_true_pairs(folder / f"pairs{ENDING}", self.texts.pairs, filters)
            pairs = replace(pairs, true_pairs=kept, dropped_true_pairs=dropped)
        for name, corpus in self._held_out.items():
            write_pairs([folder / f"{name}{ENDING}"], corpus)
        return pairs

    @property
    def _held_out(self) -> dict[str, ParallelCorpus]:
        named = {"validation": self.texts.validation, "test": self.texts.test}
        return {name: corpus for name, corpus in named.items() if corpus is not None}

    def _recipe(self) -> Recipe[TranslationConfig]:
        """Returns the new model's recipe, with the data that are made here."""
        config, run = record(self.recipe, self._run_folder), self._run_folder

        def file(name: str) -> str:
            return os.path.relpath(self._data.folder / f"{name}{ENDING}", run)

        source, target = languages_of_direction(self._learned)
        corpora: list[str | CorpusConfig] = [CorpusConfig(files=file("translated"))]
        if self._learns_true_pairs:
            corpora.append(CorpusConfig(files=file("pairs"), weight=self.pairs_weight))
        data = DataConfig(
            train=corpora,
            source=source,
            target=target,
            validation=file("validation"),
            test=None if self.texts.test is None else file("test"),
            max_tokens=config.data.max_tokens,
        )
        return Recipe(self.recipe.name, msgspec.structs.replace(config, data=data), run)

    def _translator(self) -> Translator:
        """Opens the models that translate, by an engine that gives log-probabilities and searches by beams."""
        of_firefox = len(self.models) == 1 and is_firefox(find_bundle(self.models[0]))
        engine: EngineName = "pytorch" if of_firefox else "auto"
        return Translator.load(*self.models, device=self.device, precision=self.precision, engine=engine)

    def _compare(self, student: Path) -> StudentComparison:
        """Scores student and teacher on the test set."""
        (test,) = (part for part in self.parts if part.name == "test")
        taught = [each.translation for each in read_translations(self._shards(test))]
        sources, references = zip(*test.read(), strict=True)
        translator = Translator.load(student, device=self.device)
        learned = [each.text for each in translator.translate(sources, self.recipe.config.search)]
        teacher, of_student = read_config(find_bundle(self.models[0])), translator.bundle.config
        folds_case = teacher.tokenizer.of_target.folds_case or of_student.tokenizer.of_target.folds_case
        first, second = (count_bleu(outputs, references, folds_case) for outputs in (taught, learned))
        difference = compare_counts(second.counts, first.counts, second.score_rows)
        return StudentComparison(self.texts.tested.name, first.summary(), second.summary(), difference)
