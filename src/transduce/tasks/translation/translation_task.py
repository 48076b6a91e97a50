"""The task of translation; see tasks/task.py."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import msgspec

from docsegments.extras import check_installed
from transduce.base.config import to_tree
from transduce.base.errors import ConfigError, DataError
from transduce.bundle.model_bundle import ModelBundle
from transduce.bundle.model_card import PARTS
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.context_settings import ContextConfig
from transduce.corpora.corpus import ParallelCorpus, SentencePair, TextCorpus, sides_of
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.directions import Direction
from transduce.corpora.formats import text_file
from transduce.corpora.splits import Splits, open_splits
from transduce.data.context import in_context as read_in_context
from transduce.data.store import TokenStore, open_store
from transduce.evaluation.breakdown import by_length, by_word_frequency
from transduce.evaluation.metric import PLAIN, Scoring, SentenceCounts, Texts
from transduce.evaluation.metrics import STANDARD, MetricName
from transduce.evaluation.score_table import Scores
from transduce.evaluation.translations import bleu_note, count_bleu, score_bleu
from transduce.inference.engines.exported import Model
from transduce.inference.request import in_context
from transduce.inference.translator import Translator
from transduce.models.families import PhrasesConfig
from transduce.objectives.next_token import NextToken
from transduce.search.beam import Beam
from transduce.tasks.task import (
    Input,
    Prepared,
    Rate,
    Tell,
    TestData,
    Validator,
    corpus_input,
    tokenizer_inputs,
)
from transduce.tasks.translation.corpus_sampling import in_own_direction, training_data
from transduce.tasks.translation.preparation import prepare, validation_corpora
from transduce.tasks.translation.translation_settings import TranslationConfig
from transduce.tasks.translation.translation_validation import build_validator, metrics_of, probe_texts, usual_needs
from transduce.tasks.two_texts import GENERAL, check_weight, validate_both
from transduce.training.distributed import Processes

MOST_COUNTED = 1_000_000
"""Maximum pairs of each corpus whose words are counted to find rare ones."""


@dataclass(frozen=True)
class TestPairs:
    """The test pairs of each direction, and the search that translates them."""

    corpora: Mapping[Direction, ParallelCorpus]
    name: str
    search: Beam
    context: ContextConfig | None = None
    """The sentences before the sources that are read."""

    def content(self) -> str:
        """Returns a hash that changes when the pairs do."""
        return " ".join(corpus.content() for corpus in self.corpora.values())

    def __iter__(self) -> Iterator[SentencePair]:
        return (pair for corpus in self.corpora.values() for pair in corpus)


def translate_pairs(bundle: Model, pairs: TestPairs) -> dict[Direction, Texts]:
    """Translates the pairs of each direction that has any."""
    check_installed("train", "sacrebleu")
    translator, texts = Translator(bundle), {}
    for direction, corpus in pairs.corpora.items():
        if read := list(corpus):
            sources, references = sides_of(read)
            is_many = bundle.config.languages is not None
            directed = translator.directed(direction.target, direction.source) if is_many else translator
            outputs = [
                translation.text for translation in directed.translate(in_context(read, pairs.context), pairs.search)
            ]
            texts[direction] = Texts(outputs, references, sources)
    return texts


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
        """Training data come last: filters on them may depend on held-out data, whose changes are reported first."""
        splits = self.splits
        held_out = [("data.validation", splits.validation), ("data.test", splits.test)]
        held_out += [("data.general_validation", splits.general_validation), ("data.general_test", splits.general_test)]
        training = [(f"data.train {number}", entry.corpus) for number, entry in enumerate(self.splits.train, 1)]
        named = [(setting, corpus) for setting, corpus in held_out + training if corpus is not None]
        files = list(tokenizer_inputs(self.config.tokenizer, self.folder))
        files += [corpus_input(f"data.monolingual {n}", text) for n, text in enumerate(self.monolingual, 1)]
        return [*files, *(corpus_input(setting, corpus) for setting, corpus in named)]

    @cached_property
    def monolingual(self) -> list[TextCorpus]:
        """The text of the target language; DataError for a file that cannot be opened."""
        return [text_file(self.folder / file) for file in self.config.data.monolingual_files]

    @cached_property
    def examples(self) -> list[tuple[str, str]]:
        """A few short validation pairs."""
        return probe_texts(self.splits)

    def prepare(self, checkpoint: Path | None, processes: Processes, teacher_forcing: Rate, tell: Tell) -> Prepared:
        """See Experiment."""
        config = self.config
        numbers = prepare(config, self.folder, self.splits, checkpoint, processes, tell)
        data = training_data(config, self.splits, numbers)
        parts = config.training.accumulate
        most = data.largest(processes.count if parts == "auto" else parts, processes.count).needs
        most = usual_needs(most) if parts == "auto" else most  # the same however many parts will fit
        validator = self._validator(numbers.bundle, numbers.validation, numbers.general, most)
        objective = NextToken(config.training.label_smoothing, teacher_forcing)
        size = f"{sum(map(len, numbers.stores)):,} sentence pairs"
        return Prepared(numbers.bundle, data, objective, validator, size, is_adapted=numbers.is_adapted)

    def validator(self, bundle: ModelBundle) -> Validator:
        """See Experiment."""
        bundle = in_own_direction(self.config, self.splits, bundle)
        context, tokenizers, general = self.config.data.context, bundle.tokenizers, self.splits.general_validation

        def opened(corpus: ParallelCorpus) -> TokenStore:
            return read_in_context(open_store(corpus, tokenizers, None, cache_folder()), context, tokenizers)

        stores = {direction: opened(corpus) for direction, corpus in validation_corpora(self.splits).items()}
        return self._validator(bundle, stores, None if general is None else opened(general))

    def _validator(
        self,
        bundle: ModelBundle,
        stores: Mapping[Direction | None, TokenStore],
        general: TokenStore | None,
        needs: Sequence[int] | None = None,
    ) -> Validator:
        config, splits = self.config, self.splits
        of_general = None
        if splits.general_validation and general:
            without_samples = msgspec.structs.replace(
                config, validation=msgspec.structs.replace(config.validation, samples=0)
            )
            known = replace(splits, validation=splits.general_validation)
            of_general = build_validator(without_samples, known, bundle, {None: general}, needs)
        return validate_both(build_validator(config, splits, bundle, stores, needs), of_general, config.validation)

    def test(self, bundle: Model, processes: Processes) -> dict[str, Any] | None:
        """Returns BLEU, its signature and the search; with several directions their mean and each; BLEU on general text
        too, if there is one."""
        data, search = self.config.data, self.config.search
        translated = translate_pairs(
            bundle, TestPairs(held_out(self.splits, data, "test"), "test", search, data.context)
        )
        if not translated:
            return None
        lowercase = bundle.config.tokenizer.of_target.folds_case
        counts = {name: count_bleu(of.outputs, of.references, lowercase) for name, of in translated.items()}
        scores = {name: counted.summary() for name, counted in counts.items()}
        (direction, first), *_ = scores.items()
        mean = fmean(score.score for score in scores.values())
        facts: dict[str, Any] = {"bleu": mean, "signature": first.signature, "search": to_tree(search)}
        if self.splits.directions:
            facts["directions"] = {str(name): score.score for name, score in scores.items()}
        else:
            facts |= {"interval": list(first.interval), "sentences": len(counts[direction].counts)}
            if note := bleu_note(counts[direction]):
                facts["note"] = note
        if general := self.splits.general_test:
            known = TestPairs({Direction(data.source, data.target): general}, general.name, search, data.context)
            for of in translate_pairs(bundle, known).values():
                facts[f"{GENERAL}bleu"] = score_bleu(of.outputs, of.references, lowercase).score
        if not self.splits.directions and not data.is_generated:
            facts[PARTS] = self._parts(translated[direction], counts[direction], lowercase)
        return facts

    def _parts(self, texts: Texts, counts: SentenceCounts, lowercase: bool) -> dict[str, Any]:
        """Returns scores of the only direction's test set by parts, for the model card."""
        training = (pair.target for entry in self.splits.train for pair in islice(entry.corpus, MOST_COUNTED))
        return {
            "lengths": [
                {"at_least": part.at_least, "at_most": part.at_most, "sentences": part.sentences, "bleu": part.bleu[""]}
                for part in by_length(texts.sources or (), {"": counts})
            ],
            "words": [
                {"at_least": part.at_least, "at_most": part.at_most, "words": part.words, "recall": part.recall[""]}
                for part in by_word_frequency(texts.references, {"": texts.outputs}, training, lowercase)
            ],
        }

    @property
    def tested(self) -> TestData:
        """See Experiment; of several directions their texts together."""
        data, splits = self.config.data, self.splits
        corpora = held_out(splits, data, "test") or held_out(splits, data, "validation")
        texts = TestPairs(corpora, (splits.test or splits.validation).name, self.config.search, data.context)
        return TestData(texts, "sentences", "translations", self.config.tokenizer.of_target.folds_case)


MORE_PAIRS = (
    "more pairs help most (`transduce data forecast` says how much, `transduce data next` which): of short sentences "
    "much alike, 300 gave BLEU 20, 1,000 gave 27, 10,000 gave 34, and other text needs many times more; with few pairs "
    "start from a trained model (training.start_from=MODEL), or add text of the target language by `transduce "
    "backtranslate`"
)
MEANINGS = (
    (30.0, "BLEU from 30 on: most is understood, of text like this"),
    (20.0, f"BLEU of 20 to 30: the gist is clear, details are often wrong; {MORE_PAIRS}"),
    (10.0, f"BLEU of 10 to 20: the gist can be guessed at; {MORE_PAIRS}"),
    (0.0, f"BLEU below 10: this is not a translator yet; {MORE_PAIRS}"),
)
"""From which BLEU on it means what, by a common reading, and what would help."""


def held_out(splits: Splits, data: DataConfig, part: Literal["test", "validation"]) -> dict[Direction, ParallelCorpus]:
    """Returns the test or validation pairs of each direction that has any."""
    directions = splits.directions or {Direction(data.source, data.target): splits}
    corpora = ((name, each.test if part == "test" else each.validation) for name, each in directions.items())
    return {name: corpus for name, corpus in corpora if corpus is not None}


class TranslationTask:
    """See Task."""

    config = TranslationConfig

    def check(self, config: TranslationConfig) -> None:
        """Raises ConfigError for an unknown metric, a weight without a general text, or settings that exclude each
        other."""
        metrics_of(config)
        check_weight(config.validation, config.data.general_validation is not None)
        if config.data.directions and (config.phrases or isinstance(config.model, PhrasesConfig)):
            raise ConfigError("phrases are learned for one direction; leave out data.directions, or learn no phrases")
        if config.data.monolingual and not (config.phrases or isinstance(config.model, PhrasesConfig)):
            raise ConfigError(
                "data.monolingual is for phrase-based models; leave it out, or set phrases = true to learn one besides "
                "(a neural model learns from such text by `transduce backtranslate`)"
            )
        if config.data.context is not None and (config.phrases or isinstance(config.model, PhrasesConfig)):
            raise ConfigError("phrases read no context; leave out data.context, or learn no phrases")
        if config.training.start_from and isinstance(config.model, PhrasesConfig):
            raise ConfigError('model.kind = "phrases" starts from no other model; leave out training.start_from')

    def open(self, config: TranslationConfig, folder: Path, progress: Progress | None = None) -> TranslationExperiment:
        """See Task."""
        return TranslationExperiment(config, folder, open_splits(config.data, folder, progress))

    def score(
        self, bundle: Model, data: TestData, metrics: Sequence[MetricName] = (), scoring: Scoring = PLAIN
    ) -> Scores:
        """See Task; BLEU, chrF and TER are usual."""
        assert isinstance(data.texts, TestPairs)
        translated = translate_pairs(bundle, data.texts).values()
        if not translated:
            raise DataError(f"{data.texts.name} has no pairs to test with")
        sides = zip(*((each.outputs, each.references, each.sources or ()) for each in translated), strict=True)
        texts = Texts(*(list(chain.from_iterable(side)) for side in sides))
        return Scores.of(texts, "translations", metrics or STANDARD, data.unit, scoring)

    def describe_test(self, test: dict[str, Any]) -> str:
        """Describes BLEU with its interval and signature, and what such a score means."""
        each = ", ".join(f"{direction} {score:.1f}" for direction, score in test.get("directions", {}).items())
        mean = each and f", the mean of {each}"
        general = f", {test[f'{GENERAL}bleu']:.1f} on the general text" if f"{GENERAL}bleu" in test else ""
        likely = ""
        if "interval" in test:
            low, high = test["interval"]
            likely = f", with 95 % certainty {low:.1f} to {high:.1f} of {test['sentences']:,} sentences"
        meaning = test.get("note") or next(meaning for least, meaning in MEANINGS if test["bleu"] >= least)
        return f"test BLEU {test['bleu']:.1f}{mean}{likely}{general} ({test['signature']})\n{meaning}"


TRANSLATION = TranslationTask()
