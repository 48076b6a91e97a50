"""How well entities are found: F1 of whole entities, exact in words and kind, as the scorer of CoNLL counts them."""

from collections.abc import Mapping, Sequence

import numpy as np

from transduce.corpora.tagged import entities_of
from transduce.evaluation.measured import LabelMetric
from transduce.evaluation.metrics import SentenceCounts

TAG_METRICS: Mapping[str, LabelMetric] = {
    "entity_f1": LabelMetric("entity F1"),
    "entity_precision": LabelMetric("entity precision"),
    "entity_recall": LabelMetric("entity recall"),
    "tag_accuracy": LabelMetric("tag accuracy"),
}


def count_tags(told: Sequence[Sequence[str]], truth: Sequence[Sequence[str]]) -> dict[str, SentenceCounts]:
    """What each of TAG_METRICS counts, of the tags of each sentence."""
    entities, words = [], []
    for tags, true_tags in zip(told, truth, strict=True):
        found, true = set(entities_of(tags)), set(entities_of(true_tags))
        entities.append((len(found & true), len(found), len(true)))
        words.append((sum(one == other for one, other in zip(tags, true_tags, strict=True)), len(tags)))
    of_entities, of_words = (np.array(counts, dtype=np.float64) for counts in (entities, words))
    return {
        "entity_f1": SentenceCounts(of_entities, lambda sums: 2 * sums[0] / max(sums[1] + sums[2], 1.0), ""),
        "entity_precision": SentenceCounts(of_entities, lambda sums: sums[0] / max(sums[1], 1.0), ""),
        "entity_recall": SentenceCounts(of_entities, lambda sums: sums[0] / max(sums[2], 1.0), ""),
        "tag_accuracy": SentenceCounts(of_words, lambda sums: sums[0] / max(sums[1], 1.0), ""),
    }
