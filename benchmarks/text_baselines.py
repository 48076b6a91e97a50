"""What simple systems reach on the data sets of the text encoders: the most frequent answer, and bags of words.

    pip install scikit-learn
    python benchmarks/text_baselines.py

Logistic and ridge regression read TF-IDF of words and pairs of words; of two texts, those of each, of the words that
both have, and of those that one has. The tagger gives each word the tag that it has most often in training. Questions
are answered by the sentence of the passage that shares most words with them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge

from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.example_sets import open_labelled, open_questions, open_tagged
from transduce.corpora.labelled_text import LabelColumns, LabelledText
from transduce.corpora.tagged_sentences import TagColumns
from transduce.evaluation.labels import PredictedClasses
from transduce.evaluation.metric import SentenceCounts, Texts
from transduce.evaluation.metrics import METRICS, count_all
from transduce.experiment.recipe import load_recipe

SENTENCES = re.compile(r"(?<=[.!?])\s+")
Counts = dict[str, SentenceCounts]


def main() -> None:
    """Print one table."""
    print("| recipe | test | baseline | scores |\n| --- | --- | --- | --- |")
    for recipe in ("sst2", "sick-entailment"):
        show(recipe, classes(*labelled(recipe)))
    show("sick-relatedness", scores(*labelled("sick-relatedness")))
    show("wnut17", tags())
    show("squad", answers())


def show(recipe: str, found: dict[str, Counts]) -> None:
    """A row for each baseline."""
    test = test_of(load_recipe(recipe).config.data.dataset)
    for baseline, counts in found.items():
        told = ", ".join(f"{name} {one.score:.4f}" for name, one in counts.items())
        print(f"| {recipe} | {test} | {baseline} | {told} |", flush=True)


def labelled(recipe: str) -> tuple[list[LabelledText], list[LabelledText]]:
    """The training and the test examples of a recipe."""
    data = load_recipe(recipe).config.data
    columns = LabelColumns(data.text, data.second, data.label)
    train, test = (list(open_labelled(data.dataset, part, columns)) for part in ("train", test_of(data.dataset)))
    return train, test


def test_of(dataset: str) -> str:
    """Which split of a data set is its test."""
    return str(find_dataset(dataset).test)


def classes(train: list[LabelledText], test: list[LabelledText]) -> dict[str, Counts]:
    """The most frequent class, and a logistic regression."""
    names = sorted({one.label for one in train})
    truth, learned = (np.array([names.index(one.label) for one in some]) for some in (test, train))
    shares = np.bincount(learned) / len(learned)
    read, wanted = features(train, test)
    model = LogisticRegression(C=10.0, max_iter=2000).fit(read, learned)
    told = {"majority class": np.tile(shares, (len(test), 1)), "bag of words": model.predict_proba(wanted)}
    return {name: count_all(METRICS["classes"], PredictedClasses(names, each, truth)) for name, each in told.items()}


def scores(train: list[LabelledText], test: list[LabelledText]) -> dict[str, Counts]:
    """The mean score, which has no correlation with anything, and a ridge regression."""
    truth, learned = (np.array([float(one.label) for one in some]) for some in (test, train))
    read, wanted = features(train, test)
    told = {"mean": np.full(len(test), learned.mean()), "bag of words": Ridge().fit(read, learned).predict(wanted)}
    return {name: count_all(METRICS["numbers"], Texts(each.tolist(), truth.tolist())) for name, each in told.items()}


def features(train: Sequence[LabelledText], test: Sequence[LabelledText]) -> tuple[Any, Any]:
    """Sparse matrices [texts, features]."""
    sides = [lambda one: one.first]
    if train[0].second is not None:
        sides += [lambda one: one.second, shared, different]
    made = []
    for side in sides:
        vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
        made.append((vectorizer.fit_transform(map(side, train)), vectorizer.transform(map(side, test))))
    columns = [[overlaps(some) for some in (train, test)]] if len(sides) > 1 else []
    return tuple(hstack([each[place] for each in (*made, *columns)]).tocsr() for place in (0, 1))


def shared(one: LabelledText) -> str:
    """The words of both texts."""
    return " ".join(sorted(set(one.first.split()) & set((one.second or "").split())))


def different(one: LabelledText) -> str:
    """The words of one of them alone."""
    return " ".join(sorted(set(one.first.split()) ^ set((one.second or "").split())))


def overlaps(pairs: Sequence[LabelledText]) -> NDArray[np.float64]:
    """The share of the words of two texts that both have: [pairs, 1]."""
    words = [(set(one.first.split()), set((one.second or "").split())) for one in pairs]
    return np.array([[len(first & second) / len(first | second)] for first, second in words])


def tags() -> dict[str, Counts]:
    """No entity anywhere, and each word's most frequent tag."""
    train, test = (list(open_tagged("wnut17", part, TagColumns())) for part in ("train", test_of("wnut17")))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in train:
        for word, tag in zip(one.words, one.tags, strict=True):
            counts[word.lower()][tag] += 1
    usual = {word: found.most_common(1)[0][0] for word, found in counts.items()}
    told = {
        "majority tag (O)": [["O"] * len(one.words) for one in test],
        "each word's most frequent tag": [[usual.get(word.lower(), "O") for word in one.words] for one in test],
    }
    truth = [one.tags for one in test]
    return {name: count_all(METRICS["tags"], Texts(each, truth)) for name, each in told.items()}


def answers() -> dict[str, Counts]:
    """The passage's first words, and its sentence most like the question."""
    test = list(open_questions("squad", test_of("squad")))
    told = {
        "the first three words": [" ".join(one.passage.split()[:3]) for one in test],
        "sentence of most shared words": [most_alike(one.question, one.passage) for one in test],
    }
    truth = [[answer.text for answer in one.answers] for one in test]
    return {name: count_all(METRICS["answers"], Texts(each, truth)) for name, each in told.items()}


def most_alike(question: str, passage: str) -> str:
    """The first of the sentences that share most words with the question."""
    asked = set(question.lower().split())
    return max(SENTENCES.split(passage), key=lambda sentence: len(asked & set(sentence.lower().split())))


if __name__ == "__main__":
    main()
