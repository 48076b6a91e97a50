"""Ridge regression of edit rates, with intervals of what similar estimates were wrong by."""

import math
from dataclasses import dataclass
from typing import Optional

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from transduce.inference.quality.quality_estimate import WORK, QualityEstimate

Numbers = NDArray[np.float64]

FEWEST = 30
"""The fewest rows that a regression is fitted to."""
PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Penalties of squared weights that are tried."""
COVERAGE = 0.9
"""Share of the translations whose edit rate is to be within the interval."""
NEIGHBOURS = 100
"""Past estimates, those most like a new one, whose errors give its interval."""
EDGE = 0.005
"""Share of the rows below the range of a feature, and above it."""


@dataclass(frozen=True)
class EditRegression:
    """A linear model of edit rates, with the errors that it makes on rows that it has not seen."""

    means: Float[np.ndarray, " features"]
    scales: Float[np.ndarray, " features"]
    lowest: Float[np.ndarray, " features"]
    highest: Float[np.ndarray, " features"]
    """Range of each feature among nearly all rows, to which new ones are limited: beyond it nothing was learned."""
    weights: Float[np.ndarray, " features"]
    """Change of the rate for one standard deviation of each feature."""
    intercept: float
    """Mean rate of the rows; with a prior, mean difference from its estimates."""
    held_out: Float[np.ndarray, " rows"]
    """Estimate of each row by a fit without it, not limited to 0 to 1, in ascending order."""
    errors: Float[np.ndarray, " rows"]
    """True rate minus that estimate, in the same order."""
    prior: Optional["EditRegression"] = None
    """A regression of the first features, to whose estimates this one adds."""

    @staticmethod
    def fit(
        features: Float[np.ndarray, "rows features"],
        rates: Float[np.ndarray, " rows"],
        prior: Optional["EditRegression"] = None,
    ) -> "EditRegression":
        """Fits rates to standardised features (Hoerl and Kennard 1970), by the penalty of least held-out error; with a
        prior, fits what its estimates of these rows are wrong by.

        Fits without each row need not be made: with the hat matrix H, the error of row i is (y_i - Hy_i) / (1 - H_ii)
        (Allen 1974).
        """
        wanted = rates if prior is None else rates - prior.predict(features)
        means, scales = features.mean(0), features.std(0)
        scales = np.where(scales > 1e-9 * (1 + np.abs(means)), scales, 1.0)  # a constant feature has no weight
        intercept = float(wanted.mean())
        left, values, right = np.linalg.svd((features - means) / scales, full_matrices=False)
        projected = left.T @ (wanted - intercept)
        trials = []
        for penalty in PENALTIES:
            shrunk = values**2 / (values**2 + penalty)  # [features]
            hat = left**2 @ shrunk + 1 / len(rates)  # its diagonal; 1 / rows is the intercept's  [rows]
            errors = (wanted - intercept - left @ (shrunk * projected)) / (1 - hat)
            trials.append((float((errors**2).mean()), penalty, errors))
        _, penalty, errors = min(trials, key=lambda trial: trial[0])
        weights = right.T @ (values / (values**2 + penalty) * projected)
        order = np.argsort(rates - errors, kind="stable")
        lowest, highest = np.quantile(features, [EDGE, 1 - EDGE], axis=0)
        of_rows = (rates - errors)[order], errors[order]
        return EditRegression(means, scales, lowest, highest, weights, intercept, *of_rows, prior)

    def predict(self, features: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, " rows"]:
        """Returns the expected rates, not limited to 0 to 1; features beyond the regression's own are ignored."""
        own = features[:, : len(self.means)]
        own = np.minimum(np.maximum(own, self.lowest), self.highest)
        raw: Numbers = (own - self.means) / self.scales @ self.weights + self.intercept
        return raw if self.prior is None else raw + self.prior.predict(features)

    def slopes(self) -> Float[np.ndarray, " features"]:
        """Returns the change of the rate for a change of each feature by 1."""
        slopes = self.weights / self.scales
        if self.prior is not None:
            slopes[: len(self.prior.weights)] += self.prior.slopes()
        return slopes

    def interval(self, raw: float, without: int | None = None) -> tuple[float, float]:
        """Returns the interval around an expected rate, not limited to 0 to 1.

        The interval is conformal (Vovk et al. 2005; Barber et al. 2021): it leaves out as many of the largest and
        smallest held-out errors as coverage allows, among those of the estimates nearest to this one.
        """
        return self._bounds(raw, self._errors_near(raw, without))

    @staticmethod
    def _bounds(raw: float, errors: Numbers) -> tuple[float, float]:
        outside = max(1, math.floor((len(errors) + 1) * (1 - COVERAGE) / 2))  # rank, from 1, of the bound among errors
        return raw + float(errors[outside - 1]), raw + float(errors[-outside])

    def estimate(self, features: Float[np.ndarray, " features"]) -> QualityEstimate:
        """Returns the estimate for one translation, in thousandths."""
        return self._estimate(float(self.predict(features[None])[0]))

    def held_out_estimates(self) -> list[QualityEstimate]:
        """Returns the estimate of each row by the others, in the order of `held_out`."""
        return [self._estimate(float(raw), row) for row, raw in enumerate(self.held_out)]

    def _estimate(self, raw: float, without: int | None = None) -> QualityEstimate:
        errors = self._errors_near(raw, without)
        edit, low, high = (round(min(max(each, 0.0), 1.0), 9) for each in (raw, *self._bounds(raw, errors)))
        edit = round(edit, 3)
        low, high = min(math.floor(1000 * low) / 1000, edit), max(math.ceil(1000 * high) / 1000, edit)
        work = float((raw + errors > WORK).mean())
        return QualityEstimate(edit, low, high, round(work, 3))

    def _errors_near(self, raw: float, without: int | None = None) -> Numbers:
        """Returns the errors of the estimates nearest to one, in ascending order."""
        distances = np.abs(self.held_out - raw)
        if without is not None:
            distances[without] = np.inf
        most = len(distances) - (without is not None)
        return np.sort(self.errors[np.argsort(distances, kind="stable")[: min(NEIGHBOURS, most)]])
