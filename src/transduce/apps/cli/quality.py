"""Estimates of quality for `transduce translate --quality`."""

from collections.abc import Callable, Sequence

from transduce.apps.projects.edits import Edited
from transduce.apps.projects.quality import LEAST, QualityEstimator
from transduce.inference.translator import Translator


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
    else:
        tell(
            f"quality: {estimator.count:,} past edits of machine translations are too few to learn from; {LEAST} are "
            "needed, so there are no estimates"
        )
    return estimator
