"""What a run's validation measures, and which of its sentences a bundle is probed with."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from torch import nn

from transduce.bundle import ModelBundle
from transduce.data.batch import Batch, make_batch
from transduce.data.batching import BatchingConfig, plan_batches
from transduce.data.store import TokenStore
from transduce.evaluation.evaluate import measure_loss
from transduce.evaluation.metrics import exact_match, score_bleu
from transduce.experiment.recipe import ExperimentConfig
from transduce.inference.translator import Translator
from transduce.probe import PROBES
from transduce.search.beam import Beam
from transduce.text.corpus import ParallelCorpus
from transduce.text.datasets import Splits

VALIDATION_TOKENS = 4096
PROBE_CHARACTERS = 200  # of a side; longer validation pairs are made part of a probe only if all are longer


def build_validator(
    config: ExperimentConfig, splits: Splits, bundle: ModelBundle, store: TokenStore
) -> Callable[[nn.Module], dict[str, float]]:
    """A function from a model to its scores on the validation data: loss, perplexity, and what else was asked for."""
    plan = plan_batches(
        store.source.lengths + 1, store.target.lengths + 1, BatchingConfig(target_tokens=VALIDATION_TOKENS)
    )

    asked = config.validation
    wants_bleu = asked.bleu or asked.best_by == "bleu"
    wants_exact_match = asked.exact_match or asked.best_by == "exact_match" or config.data.is_generated

    def batch(pairs: NDArray[np.int64]) -> Batch:
        return make_batch([store.source[i] for i in pairs], [store.target[i] for i in pairs], bundle.special)

    def validate(model: nn.Module) -> dict[str, float]:
        scores = measure_loss(model, (batch(pairs) for pairs in plan))
        if wants_bleu or wants_exact_match:
            pairs = list(splits.validation)
            translations = Translator(replace(bundle, model=model)).translate([p.source for p in pairs], Beam(size=1))
            outputs, references = [t.text for t in translations], [p.target for p in pairs]
            folds_case = (config.tokenizer.target or config.tokenizer).folds_case
            if wants_bleu:
                scores["bleu"] = score_bleu(outputs, references, folds_case).score
            if wants_exact_match:
                scores["exact_match"] = exact_match(outputs, references, folds_case)
        return scores

    return validate


def probe_texts(splits: Splits) -> list[tuple[str, str]]:
    """A few short validation pairs; where there is none, the beginnings of the shortest."""
    short = (pair for pair in _texts(splits.validation) if _longer_side(pair) <= PROBE_CHARACTERS)
    return list(islice(short, PROBES)) or [
        (_beginning(source), _beginning(target))
        for source, target in heapq.nsmallest(PROBES, _texts(splits.validation), key=_longer_side)
    ]


def _texts(corpus: ParallelCorpus) -> Iterator[tuple[str, str]]:
    """The pairs with text on both sides."""
    return ((pair.source, pair.target) for pair in corpus if pair.source.strip() and pair.target.strip())


def _longer_side(pair: tuple[str, str]) -> int:
    return max(len(side.strip()) for side in pair)


def _beginning(text: str) -> str:
    """Whole words, or characters of a text without spaces, up to the length of a probe."""
    text = text.strip()
    if len(text) <= PROBE_CHARACTERS:
        return text
    first, *rest = text[: PROBE_CHARACTERS + 1].rsplit(maxsplit=1)
    return first if rest else text[:PROBE_CHARACTERS]
