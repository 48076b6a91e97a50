"""Learning, at the end of training, how good a model's translations are, from pairs that it was not trained on."""

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice

import numpy as np

from docsegments.orthography.words import word_texts
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.corpus import SentencePair
from transduce.evaluation.edit_rate import edit_rate
from transduce.inference.quality.confidence import Training
from transduce.inference.quality.known_texts import KnownTexts
from transduce.inference.quality.quality_model import QualityModel
from transduce.inference.request import in_context
from transduce.inference.translator import Translator
from transduce.tasks.task import Tell
from transduce.tasks.translation.translation_task import MOST_COUNTED, TranslationExperiment

FEWEST_PAIRS = 100
"""Validation pairs that are needed."""
MOST_PAIRS = 500
"""Validation pairs that are translated, at most: these are spread over the whole set."""


def learn_quality(experiment: TranslationExperiment, bundle: ModelBundle, tell: Tell) -> QualityModel | None:
    """Translates validation pairs, and returns what they tell of the model's quality.

    None for a model of several directions, generated data, fewer than 100 pairs, or without the package rapidfuzz.
    """
    splits, data = experiment.splits, experiment.config.data
    held_out = list(splits.validation)
    few = len(held_out) < FEWEST_PAIRS
    if few or bundle.config.languages is not None or data.is_generated or find_spec("rapidfuzz") is None:
        return None
    requests = in_context(held_out, data.context)
    chosen = np.linspace(0, len(held_out) - 1, min(MOST_PAIRS, len(held_out))).round().astype(int).tolist()
    pairs = [(held_out[place].source, held_out[place].target) for place in chosen]
    translated = Translator(bundle).translate([requests[place] for place in chosen], experiment.config.search)
    outputs = [(each.text, edit_rate(each.text, target)) for each, (_, target) in zip(translated, pairs, strict=True)]

    def learned_from() -> Iterator[SentencePair]:
        for entry in splits.train:
            yield from islice(entry.corpus, MOST_COUNTED)

    words = (word.lower() for pair in learned_from() for word in word_texts(pair.source))
    training = Training(KnownTexts.of(words), KnownTexts.of((pair.target for pair in learned_from()), least=2))
    quality = QualityModel.learn(bundle, pairs, outputs, training)
    if quality is not None:
        rate = quality.regression.intercept
        tell(f"quality: learned from {len(pairs):,} validation pairs, in which {rate:.0%} of the words need editing")
    return quality
