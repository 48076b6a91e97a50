"""How well answers agree with people's, as SQuAD measures it: exact match, and F1 of words (Rajpurkar et al. 2016)."""

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

from transduce.evaluation.measured import LabelMetric
from transduce.evaluation.metrics import SentenceCounts

ANSWER_METRICS: Mapping[str, LabelMetric] = {
    "f1": LabelMetric("F1"),
    "exact_match": LabelMetric("exact match"),
}
ARTICLES = re.compile(r"\b(a|an|the)\b")
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def count_answers(told: Sequence[str], truth: Sequence[Sequence[str]]) -> dict[str, SentenceCounts]:
    """What each of ANSWER_METRICS counts, of an answer to each question, "" for none; of several true answers the one
    that is told best counts."""
    scores = {
        "f1": [max(word_f1(one, true) for true in each or [""]) for one, each in zip(told, truth, strict=True)],
        "exact_match": [
            float(any(normalized(one) == normalized(true) for true in each or [""]))
            for one, each in zip(told, truth, strict=True)
        ],
    }
    return {name: SentenceCounts.of_sentence_scores(of_questions, "") for name, of_questions in scores.items()}


def word_f1(told: str, true: str) -> float:
    """F1 of the words of two answers, as bags; of two without words 1 if both are, else 0."""
    one, other = normalized(told).split(), normalized(true).split()
    if not one or not other:
        return float(one == other)
    common = sum((Counter(one) & Counter(other)).values())
    return 2 * common / (len(one) + len(other))


def normalized(answer: str) -> str:
    """In lower case, without punctuation, articles and superfluous spaces."""
    return " ".join(ARTICLES.sub(" ", answer.lower().translate(WITHOUT_PUNCTUATION)).split())
