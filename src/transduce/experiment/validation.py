"""What a run's validation measures, and which of its sentences a bundle is probed with."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from torch import nn

from transduce.bundle import PROBES, ModelBundle
from transduce.data.batch import Batch, make_batch
from transduce.data.batching import BatchingConfig, plan_batches
from transduce.data.store import TokenStore
from transduce.evaluation.evaluate import measure_loss
from transduce.evaluation.metrics import exact_match, score_bleu
from transduce.experiment.recipe import ExperimentConfig
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.text.datasets import Splits

VALIDATION_TOKENS = 4096
PROBE_CHARACTERS = 200  # longer validation pairs are not made part of a probe


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
    """A few short validation pairs."""
    pairs = ((pair.source, pair.target) for pair in splits.validation)
    short = (pair for pair in pairs if all(0 < len(side.strip()) <= PROBE_CHARACTERS for side in pair))
    return list(islice(short, PROBES))
