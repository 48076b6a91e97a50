"""Learning, at the end of training, how good a model's translations are, from pairs that it was not trained on."""

from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np

from docsegments.orthography.words import word_texts
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.corpus import SentencePair
from transduce.evaluation.edit_rate import edit_rate
from transduce.inference.quality.confidence import Training
from transduce.inference.quality.known_texts import KnownTexts
from transduce.inference.quality.quality_model import QualityModel
from transduce.inference.quality.word_translations import word_translations
from transduce.inference.request import in_context
from transduce.inference.translator import Translator
from transduce.tasks.task import Tell
from transduce.tasks.translation.translation_task import MOST_COUNTED, TranslationExperiment

FEWEST_PAIRS = 100
"""Validation pairs that are needed."""
MOST_PAIRS = 500
"""Validation pairs that are translated, at most: these are spread over the whole set."""
MOST_CORRECT = 2_000
"""Validation pairs that set the limits of alarms, at most."""
MOST_ALIGNED = 30_000
"""Training pairs from which word translations are learned, at most: these are spread over all."""


def save_quality(experiment: object, bundle: ModelBundle, folder: Path, tell: Tell) -> None:
    """Learns the quality of an experiment's model, and saves it with the model in a folder; of one that does not
    translate there is none."""
    if isinstance(experiment, TranslationExperiment) and (quality := learn_quality(experiment, bundle, tell)):
        quality.save(folder)


def learn_quality(experiment: TranslationExperiment, bundle: ModelBundle, tell: Tell) -> QualityModel | None:
    """Translates validation pairs, and returns what they tell of the model's quality; reports it, or why there is none.

    None for a model of several directions, generated data, fewer than 100 pairs, or without the package rapidfuzz.
    """
    splits, data = experiment.splits, experiment.config.data
    held_out = list(splits.validation)
    few = len(held_out) < FEWEST_PAIRS
    if few or bundle.config.languages is not None or data.is_generated or find_spec("rapidfuzz") is None:
        needs = f"{FEWEST_PAIRS} validation pairs that are not generated, one direction, and the package rapidfuzz"
        tell(f"quality: translations get no estimates, which need {needs}")
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
    targets = Counter(pair.target for pair in learned_from())
    step = max(1, -(-targets.total() // MOST_ALIGNED))
    aligned = [(pair.source, pair.target) for pair in islice(learned_from(), 0, None, step)]
    training = Training(KnownTexts.of(words), KnownTexts.of(targets, least=2), word_translations(aligned))
    correct = [(pair.source, pair.target) for pair in held_out[:: 1 + len(held_out) // MOST_CORRECT]]
    quality = QualityModel.learn(bundle, pairs, outputs, training, correct)
    if quality is not None:
        rate = quality.regression.intercept
        tell(f"quality: learned from {len(pairs):,} validation pairs, in which {rate:.0%} of the words need editing")
    return quality
