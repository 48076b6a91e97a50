"""Ridge regression of edit rates, with intervals of what similar estimates were wrong by."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from transduce.apps.projects.translation_facts import EditEstimate

Numbers = NDArray[np.float64]

PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Penalties of squared weights that are tried."""
COVERAGE = 0.8
"""Share of the translations whose edit rate is to be within the interval."""
NEIGHBOURS = 50
"""Past estimates, those most like a new one, whose errors give its interval."""


@dataclass(frozen=True)
class EditRegression:
    """A linear model of edit rates, with the errors that it makes on rows that it has not seen."""

    means: Float[np.ndarray, " features"]
    scales: Float[np.ndarray, " features"]
    lowest: Float[np.ndarray, " features"]
    highest: Float[np.ndarray, " features"]
    """Range of each feature among the rows, to which new ones are limited: beyond it nothing was learned."""
    weights: Float[np.ndarray, " features"]
    """Change of the rate for one standard deviation of each feature."""
    intercept: float
    """Mean rate of the rows."""
    held_out: Float[np.ndarray, " rows"]
    """Estimate of each row by a fit without it, not limited to 0 to 1, in ascending order."""
    errors: Float[np.ndarray, " rows"]
    """True rate minus that estimate, in the same order."""

    @staticmethod
    def fit(features: Float[np.ndarray, "rows features"], rates: Float[np.ndarray, " rows"]) -> "EditRegression":
        """Fits rates to standardised features (Hoerl and Kennard 1970), by the penalty of least held-out error.

        Fits without each row need not be made: with the hat matrix H, the error of row i is (y_i - Hy_i) / (1 - H_ii)
        (Allen 1974).
        """
        means, scales = features.mean(0), features.std(0)
        scales = np.where(scales > 1e-9 * (1 + np.abs(means)), scales, 1.0)  # a constant feature has no weight
        intercept = float(rates.mean())
        left, values, right = np.linalg.svd((features - means) / scales, full_matrices=False)
        projected = left.T @ (rates - intercept)
        trials = []
        for penalty in PENALTIES:
            shrunk = values**2 / (values**2 + penalty)  # [features]
            hat = left**2 @ shrunk + 1 / len(rates)  # its diagonal; 1 / rows is the intercept's  [rows]
            errors = (rates - intercept - left @ (shrunk * projected)) / (1 - hat)
            trials.append((float((errors**2).mean()), penalty, errors))
        _, penalty, errors = min(trials, key=lambda trial: trial[0])
        weights = right.T @ (values / (values**2 + penalty) * projected)
        order = np.argsort(rates - errors, kind="stable")
        lowest, highest = features.min(0), features.max(0)
        return EditRegression(
            means, scales, lowest, highest, weights, intercept, (rates - errors)[order], errors[order]
        )

    def estimate(self, features: Float[np.ndarray, " features"]) -> EditEstimate:
        """Returns the estimate for one translation, in thousandths.

        The interval is conformal (Vovk et al. 2005; Barber et al. 2021): it leaves out as many of the largest and
        smallest held-out errors as coverage allows, among those of the estimates nearest to this one.
        """
        within = np.clip(features, self.lowest, self.highest)
        raw = float((within - self.means) / self.scales @ self.weights) + self.intercept
        return _within(raw, self._errors_near(raw))

    def held_out_estimates(self) -> list[EditEstimate]:
        """Returns the estimate of each row by the others, in the order of `held_out`."""
        return [
            _within(float(raw), self._errors_near(float(raw), without=row)) for row, raw in enumerate(self.held_out)
        ]

    def _errors_near(self, raw: float, without: int | None = None) -> Numbers:
        distances = np.abs(self.held_out - raw)
        if without is not None:
            distances[without] = np.inf
        most = len(distances) - (without is not None)
        return np.sort(self.errors[np.argsort(distances, kind="stable")[: min(NEIGHBOURS, most)]])


def _within(raw: float, errors: Numbers) -> EditEstimate:
    outside = max(1, math.floor((len(errors) + 1) * (1 - COVERAGE) / 2))  # rank, from 1, of the bound among errors
    edit, low, high = np.clip([raw, raw + errors[outside - 1], raw + errors[-outside]], 0, 1).round(9).tolist()
    edit = round(edit, 3)
    return EditEstimate(edit, min(math.floor(1000 * low) / 1000, edit), max(math.ceil(1000 * high) / 1000, edit))
