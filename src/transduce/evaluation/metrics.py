"""The table of metrics, by what they measure, and how metrics are found by name or made of functions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from transduce.base.errors import InputError
from transduce.base.plugins import Registry, name_of, short_name
from transduce.evaluation import labels, perplexity
from transduce.evaluation.metric import PLAIN, Metric, Scoring, SentenceCounts, metric_of
from transduce.evaluation.translations import count_bleu, count_chrf, count_comet, count_exact_matches, count_ter

Measured = Literal["translations", "lines", "classes", "numbers", "tags", "answers"]
"""The kinds of output that metrics score: translations, lines that a language model predicts, predicted classes,
numbers or tags of texts, or answers to questions."""

METRICS: Mapping[Measured, Mapping[str, Metric]] = {
    "translations": {
        "bleu": Metric(
            "BLEU",
            lambda texts, how: count_bleu(texts.outputs, texts.references, how.lowercase, how.tokenize),
        ),
        "chrf": Metric("chrF", lambda texts, how: count_chrf(texts.outputs, texts.references, how.lowercase)),
        "ter": Metric(
            "TER",
            lambda texts, how: count_ter(texts.outputs, texts.references, how.lowercase),
            higher_is_better=False,
        ),
        "exact_match": Metric("exact match", count_exact_matches, digits=4),
        "comet": Metric("COMET", count_comet, digits=4),
    },
    "lines": {
        "bits_per_character": Metric("bits per character", perplexity.count_bits, higher_is_better=False, digits=3),
        "word_perplexity": Metric("perplexity per word", perplexity.count_perplexity, higher_is_better=False),
    },
    "classes": {
        "accuracy": Metric("accuracy", labels.count_right_classes, digits=4),
        "macro_f1": Metric("macro F1", labels.count_macro_f1, digits=4),
        "matthews": Metric("Matthews", labels.count_matthews, digits=4),
        "calibration_error": Metric(
            "calibration error", labels.count_calibration_error, higher_is_better=False, digits=4
        ),
    },
    "numbers": {
        "pearson": Metric("Pearson", labels.count_pearson, digits=4),
        "spearman": Metric("Spearman", labels.count_spearman, digits=4),
        "squared_error": Metric("mean squared error", labels.count_squared_errors, higher_is_better=False, digits=4),
    },
    "tags": {
        "entity_f1": Metric("entity F1", labels.count_entity_f1, digits=4),
        "entity_precision": Metric("entity precision", labels.count_entity_precision, digits=4),
        "entity_recall": Metric("entity recall", labels.count_entity_recall, digits=4),
        "tag_accuracy": Metric("tag accuracy", labels.count_right_tags, digits=4),
    },
    "answers": {
        "f1": Metric("F1", labels.count_answer_f1, digits=4),
        "exact_match": Metric("exact match", labels.count_right_answers, digits=4),
    },
}
"""The named metrics; by default trainings are compared by the first of each kind."""

TITLES = {name: metric.title for table in METRICS.values() for name, metric in table.items()}
"""The metrics' names in tables."""

STANDARD = ("bleu", "chrf", "ter")
"""Metrics of translations that `evaluate` and `compare` always report."""

REGISTRIES: Mapping[Measured, Registry[Metric]] = {
    measured: Registry("metric", "transduce.metrics", metric_of, table) for measured, table in METRICS.items()
}

MetricName = str | Metric | Callable[..., Any]
"""A metric by name; or itself; or a function of outputs and references, and of sources if it takes three lists, which
returns a number for each example, or one for all."""


def find_metric(metric: MetricName, measured: Measured = "translations", others: Sequence[str] = ()) -> Metric:
    """Returns the metric of that name, or made of that object; InputError, which also lists `others`, if there is none.

    A name is one of METRICS, of an entry point of the group `transduce.metrics` of an installed package, or of a
    function given before. An attribute `higher_is_better` of a function is its direction. Language models have no
    outputs that a function could score.
    """
    if isinstance(metric, Metric):
        return metric
    if measured == "lines" and metric not in METRICS["lines"]:
        raise InputError(
            f"no metric '{metric_key(metric)}' of language models; there are {', '.join(METRICS['lines'])}"
        )
    try:
        return REGISTRIES[measured].find(metric)
    except InputError as error:
        if others and str(error).startswith("no metric"):
            raise InputError(f"{error}, {', '.join(others)}") from None
        raise


def metric_key(metric: MetricName) -> str:
    """Returns the name of a metric's scores: its own, without the module of a function."""
    return metric.title if isinstance(metric, Metric) else short_name(name_of(metric))


def metrics_by_key(metrics: Sequence[MetricName], measured: Measured = "translations") -> dict[str, Metric]:
    """Returns metrics by the names of their scores; InputError for two of the same name."""
    by_key: dict[str, Metric] = {}
    for metric in metrics:
        key, made = metric_key(metric), find_metric(metric, measured)
        if by_key.setdefault(key, made) is not made:
            raise InputError(f"two metrics are called '{key}'; give one of them another name")
    return by_key


def count_all(metrics: Mapping[str, Metric], outcome: Any, scoring: Scoring = PLAIN) -> dict[str, SentenceCounts]:
    """Returns the counts of each metric in an outcome, by name."""
    return {name: metric.count(outcome, scoring) for name, metric in metrics.items()}
