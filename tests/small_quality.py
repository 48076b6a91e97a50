"""A model of quality for tests, which is learned from numbers drawn at random."""

import numpy as np

from small_corpus import small_corpus
from transduce.inference.quality.alarms import Alarms
from transduce.inference.quality.confidence import FEATURES, UNSEEN, Training
from transduce.inference.quality.known_texts import KnownTexts
from transduce.inference.quality.quality_model import QualityModel
from transduce.inference.quality.regression import EditRegression
from transduce.inference.quality.word_translations import word_translations

PAIRS = [(pair.source, pair.target) for pair in small_corpus()]


def small_quality() -> QualityModel:
    """Estimates that rise with the first feature, and alarms by correct pairs."""
    draw = np.random.default_rng(2)
    features = draw.normal(size=(200, len(FEATURES)))
    features[:, UNSEEN] = 0.0
    rates = np.clip(0.4 + 0.1 * features[:, 0] + 0.05 * draw.normal(size=200), 0, 1)
    words = (word.lower() for source, _ in PAIRS for word in source.rstrip(".").split())
    training = Training(KnownTexts.of(words), KnownTexts.of([]), word_translations(PAIRS))
    return QualityModel(EditRegression.fit(features, rates), training, Alarms.of(PAIRS, training.translations))
