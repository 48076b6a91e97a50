"""Estimates of how much editing translations need: the model's own, refined by what people made of earlier ones.

The confidence is that of the served model without what it learned: an adapter that has learned a correction finds the
corrected machine translation improbable, which new translations are not.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from docsegments.extras import require
from docsegments.orthography.joining import join_sentences
from transduce.apps.projects.edits import Edited, PastEdit
from transduce.apps.projects.project import Project
from transduce.bundle.model_bundle import ModelBundle
from transduce.evaluation.edit_rate import ReliabilityBin, edit_rate, reliability_of
from transduce.inference.quality.confidence import FEATURES, Features, confidence_features
from transduce.inference.quality.quality_estimate import QualityEstimate
from transduce.inference.quality.quality_model import QualityModel, estimate_by
from transduce.inference.quality.regression import FEWEST, EditRegression
from transduce.inference.sentence_model import LineTranslator
from transduce.inference.translation import Translation
from transduce.inference.translator import Translator

MOST = 1000
"""The latest edits, which alone are learned from: a log of any length is refitted as fast."""
STEP = 100
"""Edits by which the first that is learned from moves on."""
PAIRS_AT_ONCE = 50
"""Pairs that the model reads at a time; others that share it have their turn in between."""
SOON_READ = 10
"""The most new segments of a project that a request waits for."""
SIMILARITY = "similarity to earlier sources"

Run = Callable[[Callable[[], Any]], Any]
"""Runs work that needs the model for itself."""


@dataclass(frozen=True)
class _Fit:
    """A regression fitted to a log of edits, with the numbers that it was fitted to."""

    keys: Sequence[PastEdit] = ()
    """Edits of the log, with those that are left out."""
    sources: Sequence[str] = ()
    features: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, len(FEATURES) + 1)))
    """Features of each edit, the similarity last."""
    regression: EditRegression | None = None


class QualityEstimator:
    """Estimates the edit rate of translations by a linear regression on past edits, from the model's confidence.

    The confidence is that of one model, which need not be the one that translated. The same edits in the same order
    give the same estimates. Its methods may be called from several threads; estimates do not wait for what is being
    learned.
    """

    def __init__(self, bundle: ModelBundle, run: Run = lambda work: work()) -> None:
        """Makes an estimator that knows what the bundle tells of itself; `run` runs work that needs the model for
        itself."""
        self.bundle = bundle
        self._own = None if bundle.folder is None else QualityModel.load(bundle.folder)
        self._prior = None if self._own is None else self._own.regression
        self._run = run
        self._learning = threading.Lock()
        self._known: dict[PastEdit, tuple[Features, float] | None] = {}
        self._fit = _Fit(regression=self._prior)

    @property
    def count(self) -> int:
        """Number of the edits that are learned from."""
        return len(self._fit.sources)

    @property
    def learned_from(self) -> int:
        """Number of the translations that intervals rest on: edits, or the bundle's own; 0 without estimates."""
        return 0 if self._fit.regression is None else len(self._fit.regression.errors)

    def unread(self, edits: Sequence[Edited]) -> int:
        """Counts the edits of a log that the model has not read yet."""
        return sum(key not in self._known for key in _latest(edits))

    def learn(self, edits: Sequence[Edited]) -> None:
        """Fits a log of edits, the latest last, in place of the one before; the model reads only those that are new.

        Edits without a machine translation, and those too long for the model, are left out.
        """
        keys = _latest(edits)
        with self._learning:
            before = self._fit
            if keys == before.keys:
                return
            self._read([key for key in dict.fromkeys(keys) if key not in self._known])
            self._known = {key: self._known[key] for key in keys}
            kept = [(key.source, known) for key in keys if (known := self._known[key]) is not None]
            sources = [source for source, _ in kept]
            same = _alike(sources, before.sources)
            likeness = before.features[:same, -1].tolist()
            likeness += [similarity(sources[i], sources[:i]) for i in range(same, len(sources))]
            rows = [np.append(features, like) for (_, (features, _)), like in zip(kept, likeness, strict=True)]
            features = np.array(rows).reshape(len(rows), len(FEATURES) + 1)
            rates = np.array([rate for _, (_, rate) in kept])
            is_enough = len(rows) >= FEWEST
            regression = EditRegression.fit(features, rates, self._prior) if is_enough else self._prior
            self._fit = _Fit(keys, sources, features, regression)

    def estimate(self, pairs: Sequence[tuple[str, str]]) -> list[QualityEstimate | None]:
        """Returns the estimate of each source and its translation.

        After fewer than 30 edits these are the bundle's own, None if it has none. None also for a pair that is blank or
        too long for the model.
        """
        if self._fit.regression is None:
            return [None] * len(pairs)
        both = zip(pairs, self.features_of(pairs), strict=True)
        return [None if features is None else self.estimate_from(source, features) for (source, _), features in both]

    def estimate_from(self, source: str, features: Features) -> QualityEstimate | None:
        """Returns the estimate of a translation of these features; None if nothing is known."""
        fit = self._fit
        if fit.regression is None:
            return None
        return estimate_by(fit.regression, np.append(features, similarity(source, fit.sources)))

    def features_of(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Features | None]:
        """Yields the features of each pair but the similarity; None for one that is blank or too long."""
        for begin in range(0, len(pairs), PAIRS_AT_ONCE):
            training = None if self._own is None else self._own.training
            work = partial(confidence_features, self.bundle, pairs[begin : begin + PAIRS_AT_ONCE], training)
            yield from self._run(work)

    def reliability(self) -> list[ReliabilityBin]:
        """Returns past translations in groups of equal size, in the order of their estimates; none with too few."""
        regression = self._fit.regression
        if regression is None or regression is self._prior:
            return []
        rates = regression.held_out + regression.errors
        return reliability_of(regression.held_out_estimates(), rates.round(9).tolist())

    def weights(self) -> Mapping[str, float]:
        """Returns by how much a standard deviation of each feature changes the estimate, the greatest first."""
        if (regression := self._fit.regression) is None:
            return {}
        named = zip((*FEATURES, SIMILARITY), (regression.slopes() * regression.scales).tolist(), strict=False)
        return dict(sorted(named, key=lambda item: -abs(item[1])))

    def _read(self, keys: Sequence[PastEdit]) -> None:
        features = self.features_of([(key.source, key.machine) for key in keys])
        for key, row in zip(keys, features, strict=True):
            self._known[key] = None if row is None else (row, edit_rate(key.machine, key.target))


def learned_quality(translator: Translator, edits: Sequence[Edited], tell: Callable[[str], None]) -> QualityEstimator:
    """Returns an estimator that has learned past edits, and reports how good it is.

    Raises InputError for an ensemble or an exported model.
    """
    estimator = QualityEstimator(translator.single_model())
    estimator.learn(edits)
    if bins := estimator.reliability():
        count = sum(each.count for each in bins)
        covered = sum(each.covered * each.count for each in bins) / count
        tell(f"quality: learned from {count:,} past edits, {100 * covered:.0f} % of which were within their intervals")
    elif estimator.learned_from:
        tell(f"quality: the model's own estimates; {FEWEST} past edits of machine translations would refine them")
    else:
        tell(
            f"quality: {estimator.count:,} past edits of machine translations are too few to learn from; {FEWEST} are "
            "needed, so there are no estimates"
        )
    return estimator


class ProjectQuality:
    """Estimates for the translations of projects, each refined by its project's confirmed segments.

    A long log is read in a thread of its own, during which estimates are those of before, or None.
    """

    def __init__(self, translator_of: Callable[[Project], LineTranslator | None]) -> None:
        """Makes it of a function that returns the translator of a project's languages, without what was learned."""
        self._translator_of = translator_of
        self._lock = threading.Lock()
        self._estimators: WeakKeyDictionary[Project, QualityEstimator] = WeakKeyDictionary()
        self._revisions: WeakKeyDictionary[Project, int] = WeakKeyDictionary()
        self._threads: WeakKeyDictionary[Project, threading.Thread] = WeakKeyDictionary()

    def __call__(self, project: Project, source: str, translations: Sequence[Translation]) -> QualityEstimate | None:
        """Returns the estimate for a segment; None with too few confirmed segments, or for an exported model."""
        estimator = self.estimator(project)
        if estimator is None:
            return None
        text = join_sentences([translation.text for translation in translations], project.target)
        return estimator.estimate([(source, text)])[0]

    def reliability(self, project: Project) -> Sequence[ReliabilityBin]:
        """Returns past translations of a project by their estimates; none with too few, or for an exported model."""
        estimator = self.estimator(project)
        return [] if estimator is None else estimator.reliability()

    def wait(self, project: Project) -> None:
        """Waits until what is being learned of a project is learned."""
        if (thread := self._threads.get(project)) is not None:
            thread.join()

    def estimator(self, project: Project) -> QualityEstimator | None:
        """Returns what was learned from a project's segments, brought up to date; None for an exported model."""
        translator = self._translator_of(project)
        if translator is None or not isinstance(translator.bundle, ModelBundle):
            return None
        bundle, revision = translator.bundle, project.store.revision()
        with self._lock:
            estimator = self._estimators.get(project)
            if estimator is None or estimator.bundle is not bundle:
                for other, known in [*self._estimators.items()]:  # models that are no longer served go
                    if getattr(self._translator_of(other), "bundle", None) is not known.bundle:
                        del self._estimators[other]
                estimator = self._estimators[project] = QualityEstimator(bundle, translator.exclusively)
                self._revisions.pop(project, None)
            if self._revisions.get(project) == revision:
                return estimator
        segments = project.store.segments()
        if estimator.unread(segments) <= SOON_READ:
            self._learn(project, estimator, segments, revision)
            return estimator
        with self._lock:
            thread = self._threads.get(project)
            if thread is None or not thread.is_alive():
                work = partial(self._learn, project, estimator, segments, revision)
                thread = self._threads[project] = threading.Thread(target=work, daemon=True, name="quality")
                thread.start()
        return estimator

    def _learn(self, project: Project, estimator: QualityEstimator, segments: Sequence[Edited], revision: int) -> None:
        with suppress(CancelledError):  # the model is being replaced, or the server ends
            estimator.learn(segments)
            with self._lock:
                if self._estimators.get(project) is estimator:
                    self._revisions[project] = revision


def _latest(edits: Sequence[Edited]) -> list[PastEdit]:
    """Returns the latest edits that have a machine translation; the first of them changes once in `STEP` edits, so that
    similarities to those before stay."""
    keys = [PastEdit(e.source, e.machine, e.target) for e in edits if e.source.strip() and e.machine.strip()]
    return keys[max(0, -(-(len(keys) - MOST) // STEP) * STEP) :]


def _alike(first: Sequence[str], second: Sequence[str]) -> int:
    """Counts the texts at the beginning of both that are the same."""
    return next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def similarity(source: str, others: Sequence[str]) -> float:
    """Returns the similarity to the most similar of other texts, 0 to 1; 0 without others."""
    if not others:
        return 0.0
    process, fuzz = require("rapidfuzz.process", "documents"), require("rapidfuzz.fuzz", "documents")
    match = process.extractOne(source, others, scorer=fuzz.ratio)
    return 0.0 if match is None else match[1] / 100
