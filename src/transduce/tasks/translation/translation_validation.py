"""Validation of translation runs, and the sentences that a bundle is probed with."""

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from torch import nn

from transduce.base.errors import ConfigError, InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.bundle.probe import PROBES
from transduce.corpora.context_settings import ContextConfig
from transduce.corpora.corpus import ParallelCorpus, sides_of
from transduce.corpora.directions import Direction
from transduce.corpora.splits import Splits
from transduce.data.batch import Batch, make_batch, with_marks
from transduce.data.parts import Fits, batches_by_length, buckets, needs, within
from transduce.data.planned import Plan
from transduce.data.sentence_pairs import BOTH_SIDES, SMALLER_BATCHES, BatchingConfig, largest_of
from transduce.data.store import TokenStore
from transduce.evaluation.loss import log_probabilities_of, mean_loss, measure_loss, sum_losses
from transduce.evaluation.metric import Metric, Scoring, Texts
from transduce.evaluation.metrics import find_metric, metric_key
from transduce.inference.batched_search import TOKENS_AT_ONCE
from transduce.inference.engines.choice import pytorch_of
from transduce.inference.request import in_context
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.tasks.translation.translation_settings import TranslationConfig
from transduce.training.distributed import ALONE, Processes
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Sample, Validation

GREEDY = Beam(size=1, keep_numbers="off")
OWN_SCORES = {"loss", "perplexity"}
PROBE_CHARACTERS = 200  # of a side; longer validation pairs are made part of a probe only if all are longer
SMALLER_PARTS = f"raise training.accumulate, or {SMALLER_BATCHES}"
UNKNOWN_NEEDS = BatchingConfig().fits  # if the needs of training are unknown


def build_validator(
    config: TranslationConfig,
    splits: Splits,
    bundle: ModelBundle,
    stores: Mapping[Direction | None, TokenStore],
    needs: Sequence[int] | None = None,
) -> "TranslationValidator | DirectionsValidator":
    """Returns a run's validator, whose parts need at most `needs` by the measures of `data.parts.needs`."""
    if not splits.directions:
        return _validator_of(config, splits, bundle, stores[None], needs)
    return DirectionsValidator(
        {
            direction: _validator_of(config, of_direction, bundle.directed(direction), stores[direction], needs)
            for direction, of_direction in splits.directions.items()
        },
        metric_key(config.validation.best_by),
    )


def usual_needs(most: Sequence[int]) -> tuple[int, ...]:
    """Returns the needs of a batch of the default size, by the measures of `data.parts.needs`, but no more than
    `most`."""
    tokens = BatchingConfig().budget
    of_tokens = (BOTH_SIDES * tokens, tokens, BOTH_SIDES * tokens)  # of the source, of the target, of both
    return *map(min, most[: len(of_tokens)], of_tokens), *most[len(of_tokens) :]


def _validator_of(
    config: TranslationConfig, splits: Splits, bundle: ModelBundle, store: TokenStore, needs: Sequence[int] | None
) -> "TranslationValidator":
    return TranslationValidator(
        bundle,
        store,
        splits.validation,
        UNKNOWN_NEEDS if needs is None else within(needs),
        TOKENS_AT_ONCE if needs is None else min(TOKENS_AT_ONCE, needs[0]),
        metrics_of(config),
        metric_key(config.validation.best_by),
        probe_texts(splits, config.validation.samples),
        bundle.config.tokenizer.of_target.folds_case,
        config.data.context,
    )


def metrics_of(config: TranslationConfig) -> dict[str, Metric]:
    """Returns the metrics that validation reports beside the loss; raises ConfigError for an unknown one."""
    asked = config.validation
    wanted = [*(("metrics", name) for name in asked.metrics), ("best_by", asked.best_by)]
    if config.data.is_generated:
        wanted.append(("metrics", "exact_match"))
    by_key: dict[str, Metric] = {}
    for setting, name in wanted:
        try:
            if name != "loss":
                by_key[metric_key(name)] = find_metric(name, others=["loss"] if setting == "best_by" else [])
            if by_key.keys() & OWN_SCORES:
                raise InputError(f"a metric '{metric_key(name)}' would hide the model's own; give it another name")
        except InputError as error:
            raise ConfigError(f"validation.{setting}: {error}") from None
    return by_key


@dataclass(frozen=True)
class TranslationValidator:
    """Validates a model by loss and perplexity, and by metrics of its translations."""

    bundle: ModelBundle
    store: TokenStore
    pairs: ParallelCorpus
    fits: Fits
    tokens_at_once: int
    """Source tokens that are translated together, padding included."""
    metrics: Mapping[str, Metric]
    """Metrics, by name, that all pairs are translated for."""
    best_by: str
    """The name of the score that selects the best model."""
    sampled: Sequence[tuple[str, str]]
    """Pairs whose translations are shown each time."""
    folds_case: bool
    """True if metrics score case-insensitively."""
    context: ContextConfig | None = None
    """The sentences before the sources that are read, as in training."""

    def __call__(self, model: nn.Module, processes: Processes = ALONE) -> Validation:
        """See Validator."""
        losses = sum_losses(log_probabilities_of(model, map(self._batch, processes.share(self._plan))))
        scores = mean_loss(processes.gather_shares(list(losses)))
        if not math.isfinite(scores["loss"]):  # nothing can be translated, and the run will end
            return Validation(scores, scores["loss"])
        translator = self._translator(model)
        if self.metrics:
            pairs = list(self.pairs)
            sources, references = sides_of(pairs)
            requests = in_context(pairs, self.context)
            own = [translation.text for translation in translator.translate(processes.share(requests), GREEDY)]
            texts = Texts(processes.gather_shares(own), references, sources)
        if not processes.is_first:
            return Validation(scores, scores["loss"])
        if self.metrics:
            how = Scoring(lowercase=self.folds_case)
            scores |= {name: metric.score(texts, how) for name, metric in self.metrics.items()}
        rises = self.best_by != "loss" and self.metrics[self.best_by].higher_is_better
        translations = translator.translate([source for source, _ in self.sampled], GREEDY)
        samples = [Sample(*pair, shown.text) for pair, shown in zip(self.sampled, translations, strict=True)]
        return Validation.by(self.best_by, scores, rises, samples)

    def trials(self, model: nn.Module) -> list[MemoryTrial]:
        """Returns the validation steps that need most memory."""
        trials = [self._loss_trial(model, pairs) for pairs in self._largest]
        if self.metrics:
            step, remedy = "translating the validation data", f"{SMALLER_PARTS}, or do without validation.metrics"
            trials.append(MemoryTrial(step, remedy, lambda: self._translate_largest(model.eval())))
        return trials

    @cached_property
    def _plan(self) -> Plan:
        return buckets(*self._lengths, self.fits)

    @property
    def _lengths(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        marks = len(self.bundle.marks.source)
        return self.store.source.lengths + 1 + marks, self.store.target.lengths + 1

    @cached_property
    def _largest(self) -> Plan:
        source, target = self._lengths
        of_each = [needs(len(pairs), int(source[pairs].max()), int(target[pairs].max())) for pairs in self._plan]
        return largest_of(self._plan, of_each).parts

    def _batch(self, pairs: NDArray[np.int64]) -> Batch:
        store, marks = self.store, self.bundle.marks.source
        sources = [with_marks(store.source[i], marks) for i in pairs]
        return make_batch(sources, [store.target[i] for i in pairs], self.bundle.special)

    def _loss_trial(self, model: nn.Module, pairs: NDArray[np.int64]) -> MemoryTrial:
        (source, target), rows = (int(lengths[pairs].max()) for lengths in self._lengths), len(pairs)
        if rows == 1:
            batch = f"a validation pair of {source:,} source and {target:,} target tokens"
            remedy = "shorten it, or leave it out of the validation data"
        else:
            batch = f"a validation batch, {rows:,} pairs of {rows * (source + target):,} tokens with padding,"
            remedy = SMALLER_PARTS
        return MemoryTrial(batch, remedy, lambda: measure_loss(model.eval(), [self._batch(pairs)]))

    def _translator(self, model: nn.Module) -> Translator:
        return Translator(replace(self.bundle, model=model), tokens_at_once=self.tokens_at_once)

    def _translate_largest(self, model: nn.Module) -> None:
        """Translates the shortest lines, most of which fit into one batch, and as many of the longest."""
        translator, requests = self._translator(model), in_context(self.pairs, self.context)
        lengths = [max(map(len, pieces), default=0) + 1 for pieces in translator.encode(requests)]
        batches = batches_by_length(lengths, self.tokens_at_once)
        engine = pytorch_of(translator.engine)
        assert engine is not None, "it has a bundle"
        workers = engine.workers(GREEDY)
        chosen = {i for batch in (*batches[:workers], *batches[-workers:]) for i in batch}
        translator.translate([requests[i] for i in chosen], GREEDY)


@dataclass(frozen=True)
class DirectionsValidator:
    """Validates a model of several directions, each alone and together.

    Its loss is the mean over the tokens of all directions; its metrics are means over directions.
    """

    each: Mapping[Direction, TranslationValidator]
    best_by: str

    def __call__(self, model: nn.Module, processes: Processes = ALONE) -> Validation:
        """See Validator."""
        validations = {direction: validator(model, processes) for direction, validator in self.each.items()}
        tokens = [int((validator.store.target.lengths + 1).sum()) for validator in self.each.values()]
        each = {direction: validation.scores for direction, validation in validations.items()}
        loss = float(np.average([scores["loss"] for scores in each.values()], weights=tokens))
        scores = {"loss": loss, "perplexity": math.exp(min(loss, 700))}
        if not (math.isfinite(loss) and processes.is_first):
            return Validation(scores, loss)
        metrics = next(iter(self.each.values())).metrics
        scores |= {name: fmean(values[name] for values in each.values()) for name in metrics}
        names = ("loss", *metrics)
        scores |= {f"{name}/{direction}": values[name] for name in names for direction, values in each.items()}
        rises = self.best_by != "loss" and metrics[self.best_by].higher_is_better
        samples = [sample for validation in validations.values() for sample in validation.samples]
        return Validation.by(self.best_by, scores, rises, samples)

    def trials(self, model: nn.Module) -> list[MemoryTrial]:
        """Returns the validation steps that need most memory."""
        return [trial for validator in self.each.values() for trial in validator.trials(model)]


def probe_texts(splits: Splits, count: int = PROBES) -> list[tuple[str, str]]:
    """Returns a few short validation pairs, of the first direction if there are several; else the beginnings of the
    shortest."""
    splits = next(iter(splits.directions.values()), splits)
    short = (pair for pair in _texts(splits.validation) if _longer_side(pair) <= PROBE_CHARACTERS)
    return list(islice(short, count)) or [
        (_beginning(source), _beginning(target))
        for source, target in heapq.nsmallest(count, _texts(splits.validation), key=_longer_side)
    ]


def _texts(corpus: ParallelCorpus) -> Iterator[tuple[str, str]]:
    """Yields the pairs with text on both sides."""
    return ((pair.source, pair.target) for pair in corpus if pair.source.strip() and pair.target.strip())


def _longer_side(pair: tuple[str, str]) -> int:
    return max(len(side.strip()) for side in pair)


def _beginning(text: str) -> str:
    """Returns a text's first whole words, or characters if it has no spaces, up to the length of a probe."""
    text = text.strip()
    if len(text) <= PROBE_CHARACTERS:
        return text
    first, *rest = text[: PROBE_CHARACTERS + 1].rsplit(maxsplit=1)
    return first if rest else text[:PROBE_CHARACTERS]
