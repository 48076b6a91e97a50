"""Translation as a task: what a run and the verbs ask of it; see tasks/task.py."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from transduce.bundle import ModelBundle
from transduce.config import to_tree
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.catalogue.files import cache_folder
from transduce.corpora.splits import Splits, open_splits
from transduce.data.batching import TrainingData
from transduce.data.store import open_store
from transduce.data.subword_dropout import SubwordDropoutData
from transduce.evaluation.metrics import score_bleu
from transduce.inference.translator import Translator
from transduce.tasks.inputs import Input, corpus_input, tokenizer_inputs
from transduce.tasks.objectives import check_objective, next_token_objective
from transduce.tasks.task import Measure, Prepared, Rate, Tell
from transduce.tasks.translation.measure import measure_translations
from transduce.tasks.translation.preparation import prepare
from transduce.tasks.translation.settings import TranslationConfig
from transduce.tasks.translation.validation import TranslationValidator, build_validator, metrics_of, probe_texts
from transduce.text.bpe_dropout import BpeDropout, BpeMerges
from transduce.text.tokenizer import TokenizerConfig, Tokenizers
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
        weights = [entry.weight for entry in self.splits.train]
        plain = TrainingData(numbers.stores, weights, numbers.bundle.special, config.batching, config.seed)
        data = _with_subword_dropout(plain, config.tokenizer, numbers.bundle.tokenizers)
        needs = [need // processes.count for need in data.largest(config.training.accumulate).needs]
        validator = build_validator(config, self.splits, numbers.bundle, numbers.validation, needs)
        objective = next_token_objective(config.training, teacher_forcing)
        return Prepared(numbers.bundle, data, objective, validator)

    def validator(self, bundle: ModelBundle) -> TranslationValidator:
        """See Experiment."""
        store = open_store(self.splits.validation, bundle.tokenizers, None, cache_folder())
        return build_validator(self.config, self.splits, bundle, store)

    def test(self, bundle: ModelBundle, processes: Processes) -> dict[str, Any] | None:
        """BLEU, its signature and the search."""
        pairs = list(self.splits.test or ())
        if not pairs:
            return None
        search = self.config.search
        folds_case = (self.config.tokenizer.target or self.config.tokenizer).folds_case
        translations = Translator(bundle).translate([pair.source for pair in pairs], search)
        bleu = score_bleu([t.text for t in translations], [pair.target for pair in pairs], folds_case)
        return {"bleu": bleu.score, "signature": bleu.signature, "search": to_tree(search)}

    def measure(self, metric: str | None) -> Measure:
        """See Experiment; BLEU is usual."""
        return measure_translations(self.config, self.splits.test or self.splits.validation, metric or "bleu")


def _with_subword_dropout(
    plain: TrainingData, config: TokenizerConfig, tokenizers: Tokenizers
) -> TrainingData | SubwordDropoutData:
    """The data as they are, or segmented anew in each epoch where the settings of a side ask for it."""
    rates = [(side or config).dropout for side in (config.source, config.target)]
    source, target = (
        BpeDropout(BpeMerges(tokenizer), rate) if rate else None
        for tokenizer, rate in zip((tokenizers.source, tokenizers.target), rates, strict=True)
    )
    return plain if source is None and target is None else SubwordDropoutData(plain, source, target)


class TranslationTask:
    """See Task."""

    config = TranslationConfig

    def check(self, config: TranslationConfig) -> None:
        """Raise ConfigError for a metric that there is not, or settings that exclude each other."""
        metrics_of(config)
        check_objective(config.training, config.model)

    def open(self, config: TranslationConfig, folder: Path, progress: Progress | None = None) -> TranslationExperiment:
        """See Task."""
        return TranslationExperiment(config, folder, open_splits(config.data, folder, progress))

    def describe_test(self, test: dict[str, Any]) -> str:
        """BLEU with its signature."""
        return f"test BLEU {test['bleu']:.1f} ({test['signature']})"


TRANSLATION = TranslationTask()
