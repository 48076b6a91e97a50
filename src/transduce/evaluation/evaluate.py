"""Scoring translations: a translator's of a test set, or finished ones."""

import time
from collections.abc import Sequence
from dataclasses import replace

from docsegments.extras import check_installed
from transduce.base.errors import InputError
from transduce.evaluation.bleu_tokenizers import BleuTokenizer
from transduce.evaluation.metric import Scoring, Texts, check_aligned
from transduce.evaluation.metrics import STANDARD, MetricName, metrics_by_key
from transduce.evaluation.references import References
from transduce.evaluation.score_table import Scores
from transduce.evaluation.translations import score_bleu_variants
from transduce.inference.request import sources_in_context
from transduce.inference.translator import Translator
from transduce.search.choices import DecisionRule


def evaluate(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    search: DecisionRule | None = None,
    lowercase: bool = False,
    tokenize: BleuTokenizer = "auto",
    all_bleu: bool = False,
    metrics: Sequence[MetricName] = (),
    documents: Sequence[str] = (),
) -> Scores:
    """Translates the sources and scores them; see `evaluate_outputs`. A model that reads context reads it from the same
    document: `documents` names that of each source (default: all are from one, but for blank ones, which divide it)."""
    metrics_by_key(metrics)  # before the long work
    check_installed("train", "sacrebleu")
    if not hasattr(translator, "translate"):
        raise InputError(
            f"a {type(translator).__name__} does not translate, but transduce.evaluate needs a Translator; language "
            "models are measured by the command `transduce evaluate`, and line by line by transduce.Scorer"
        )
    check_aligned("sources", sources, References.of(references))
    started = time.perf_counter()
    context = translator.bundle.config.context if isinstance(translator, Translator) else None
    requests = sources if context is None else sources_in_context(sources, context, documents)
    translations = translator.translate(requests, search)
    seconds = time.perf_counter() - started
    outputs = [translation.text for translation in translations]
    scores = evaluate_outputs(outputs, references, lowercase, tokenize, all_bleu, metrics, sources)
    return replace(scores, seconds=seconds, translations=translations)


def evaluate_outputs(
    outputs: Sequence[str],
    references: Sequence[str],
    lowercase: bool = False,
    tokenize: BleuTokenizer = "auto",
    all_bleu: bool = False,
    metrics: Sequence[MetricName] = (),
    sources: Sequence[str] | None = None,
) -> Scores:
    """Scores detokenised translations from any system.

    Several references of each sentence are one `References`. `metrics` are further ones beside BLEU, chrF and TER:
    names, or functions of outputs and references (see `find_metric`); some need the sources. Raises DataError unless
    there are as many references, InputError for a metric that is unknown, lacks something, or returns no numbers.
    """
    scores = Scores.of(
        Texts(outputs, references, sources),
        "translations",
        [*STANDARD, *metrics],
        "sentences",
        Scoring(lowercase, tokenize),
    )
    return replace(scores, all_bleu=score_bleu_variants(outputs, references)) if all_bleu else scores
