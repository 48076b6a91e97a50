"""Translation as a task: what a run and the verbs ask of it; see tasks/task.py."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from transduce.bundle import ModelBundle
from transduce.config import to_tree
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.catalogue.files import cache_folder
from transduce.corpora.corpus import ParallelCorpus
from transduce.corpora.directions import Direction
from transduce.corpora.splits import Splits, open_splits
from transduce.data.store import open_store
from transduce.evaluation.metrics import Score, score_bleu
from transduce.inference.translator import Translator
from transduce.objectives.next_token import NextToken
from transduce.tasks.inputs import Input, corpus_input, tokenizer_inputs
from transduce.tasks.task import Measure, Prepared, Rate, Tell, Validator
from transduce.tasks.translation.measure import measure_translations
from transduce.tasks.translation.preparation import prepare, validation_corpora
from transduce.tasks.translation.sampling import in_own_direction, training_data
from transduce.tasks.translation.settings import TranslationConfig
from transduce.tasks.translation.validation import build_validator, metrics_of, probe_texts
from transduce.training.distributed import Processes


@dataclass(frozen=True)
class TranslationExperiment:
    """The corpora of a run; see Experiment."""

    config: TranslationConfig
    folder: Path
    splits: Splits

    @property
    def name(self) -> str:
        """See Experiment."""
        data = self.config.data
        if data.dataset is not None:
            return data.dataset
        entries = [data.train] if isinstance(data.train, str) else data.train or []
        return ", ".join(entry if isinstance(entry, str) else str(entry.files) for entry in entries)

    @property
    def inputs(self) -> list[Input]:
        """Training data come last: filters on them may hold a hash of what is held out, whose change is told first."""
        held_out = [("data.validation", self.splits.validation), ("data.test", self.splits.test)]
        training = [(f"data.train {number}", entry.corpus) for number, entry in enumerate(self.splits.train, 1)]
        named = [(setting, corpus) for setting, corpus in held_out + training if corpus is not None]
        files = tokenizer_inputs(self.config.tokenizer, self.folder)
        return [*files, *(corpus_input(setting, corpus) for setting, corpus in named)]

    @cached_property
    def examples(self) -> list[tuple[str, str]]:
        """A few short validation pairs."""
        return probe_texts(self.splits)

    def prepare(self, checkpoint: Path | None, processes: Processes, teacher_forcing: Rate, tell: Tell) -> Prepared:
        """See Experiment."""
        config = self.config
        numbers = prepare(config, self.folder, self.splits, checkpoint, processes, tell)
        data = training_data(config, self.splits, numbers)
        needs = [need // processes.count for need in data.largest(config.training.accumulate).needs]
        validator = build_validator(config, self.splits, numbers.bundle, numbers.validation, needs)
        objective = NextToken(config.training.label_smoothing, teacher_forcing)
        return Prepared(numbers.bundle, data, objective, validator)

    def validator(self, bundle: ModelBundle) -> Validator:
        """See Experiment."""
        bundle = in_own_direction(self.config, self.splits, bundle)
        stores = {
            direction: open_store(corpus, bundle.tokenizers, None, cache_folder())
            for direction, corpus in validation_corpora(self.splits).items()
        }
        return build_validator(self.config, self.splits, bundle, stores)

    def test(self, bundle: ModelBundle, processes: Processes) -> dict[str, Any] | None:
        """BLEU, its signature and the search; of several directions the mean, and each one's."""
        search, translator = self.config.search, Translator(in_own_direction(self.config, self.splits, bundle))
        folds_case = (self.config.tokenizer.target or self.config.tokenizer).folds_case
        found: dict[Direction | None, Score] = {}
        for direction, corpus in _tests(self.splits).items():
            if pairs := list(corpus):
                own = translator if direction is None else translator.directed(direction.target, direction.source)
                outputs = [found.text for found in own.translate([pair.source for pair in pairs], search)]
                found[direction] = score_bleu(outputs, [pair.target for pair in pairs], folds_case)
        if not found:
            return None
        first, mean = next(iter(found.values())), fmean(one.score for one in found.values())
        each = {str(direction): one.score for direction, one in found.items() if direction is not None}
        told = {"bleu": mean, "signature": first.signature, "search": to_tree(search)}
        return told | ({"directions": each} if each else {})

    def measure(self, metric: str | None) -> Measure:
        """See Experiment; BLEU is usual."""
        return measure_translations(self.config, self.splits, metric or "bleu")


def _tests(splits: Splits) -> dict[Direction | None, ParallelCorpus]:
    """The test sets of each direction; None stands for the only one."""
    if not splits.directions:
        return {} if splits.test is None else {None: splits.test}
    return {direction: own.test for direction, own in splits.directions.items() if own.test is not None}


class TranslationTask:
    """See Task."""

    config = TranslationConfig

    def check(self, config: TranslationConfig) -> None:
        """Raise ConfigError for a metric that there is not."""
        metrics_of(config)

    def open(self, config: TranslationConfig, folder: Path, progress: Progress | None = None) -> TranslationExperiment:
        """See Task."""
        return TranslationExperiment(config, folder, open_splits(config.data, folder, progress))

    def describe_test(self, test: dict[str, Any]) -> str:
        """BLEU with its signature."""
        each = ", ".join(f"{direction} {score:.1f}" for direction, score in test.get("directions", {}).items())
        return f"test BLEU {test['bleu']:.1f}{each and f', the mean of {each}'} ({test['signature']})"


TRANSLATION = TranslationTask()
