"""Scores, and some known assignments → the probability that an assignment is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from clustertrust._types import Floats
from clustertrust._validation.arguments import check_choice, check_scores, warn_user
from clustertrust._validation.rows import check_same_length
from clustertrust.calibration.checks import check_correct, check_weights

ProbabilityOf = Callable[[Floats], Floats]

# From this many labels on, "auto" is isotonic
ENOUGH = 200
# Largest score whose square is still a number
_LARGEST = 1e150


@dataclass(frozen=True)
class Sigmoid:
    """1 / (1 + exp(-(a + b s)))."""

    a: float
    b: float

    def __call__(self, s: Floats) -> Floats:
        """Return the probabilities of these scores."""
        return np.asarray(expit(self.a + self.b * s))


def logistic(s: Floats, right: Floats, weights: Floats) -> ProbabilityOf:
    """P = 1 / (1 + exp(-(a + b s))), b ≥ 0, by maximum likelihood with Platt's targets.

    The targets are (N₊ + 1) / (N₊ + 2) instead of 1 and 1 / (N₋ + 2) instead of 0, N the weighted
    numbers of right and wrong labels. So a few labels that are all right, or perfectly separated by
    score, give no probability of 1. b < 0 would reverse the ranking; then b is 0.
    """
    weights = weights * (len(s) / weights.sum())
    n_right, n_wrong = (weights * right).sum(), (weights * (1 - right)).sum()
    target = np.where(right > 0, (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2))
    # The same problem, better conditioned
    middle, scale = s.mean(), s.std() or 1.0
    x = (s - middle) / scale

    def loss(parameters: Floats) -> tuple[float, Floats]:
        a, b = parameters
        margin = a + b * x
        value = weights @ (np.logaddexp(0.0, margin) - target * margin)
        slope = weights * (expit(margin) - target)
        return float(value), np.array([slope.sum(), slope @ x])

    options = {"ftol": 1e-14, "gtol": 1e-9}
    optimum = minimize(
        loss,
        [0.0, 0.0],
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None), (0.0, None)],
        options=options,
    )
    a, b = optimum.x
    return Sigmoid(float(a - b * middle / scale), float(b / scale))


def isotonic(s: Floats, right: Floats, weights: Floats) -> ProbabilityOf:
    """Return the non-decreasing curve of least squares: linear between its steps, flat beyond."""
    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    curve: ProbabilityOf = model.fit(s, right, sample_weight=weights).predict
    return curve


METHODS: dict[str, Callable[[Floats, Floats, Floats], ProbabilityOf]] = {
    "isotonic": isotonic,
    "logistic": logistic,
}


class Calibrator(BaseEstimator):
    """Turn scores into probabilities that the assignment is right.

    The curve is learnt from points whose class is known.

    Parameters
    ----------
    method : {"auto", "logistic", "isotonic"}
        "logistic": a curve with two parameters; a few dozen labels are enough. "isotonic": any
        non-decreasing curve; it needs hundreds of labels, and gives 0 or 1 where all nearby labels
        are wrong or right. "auto": logistic below 200 labels, isotonic from there on. Over the
        paper's data sets, logistic had the smaller mean Brier score with 50 labels and isotonic
        with 200, though not on every set.

    Attributes
    ----------
    method_ : the method used
    n_labels_ : number of labels it was fitted on

    Notes
    -----
    Neither curve falls, so the ranking of the points stays the same, except for new ties. Labels
    may be chosen by score, for example the least sure first: that changes the number of labels at a
    score, not the share that is right. The curve holds for points of the same clustering, and is
    unreliable beyond the labelled scores.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin
    Classifiers (1999) 61-74. B. Zadrozny and C. Elkan, "Transforming classifier scores into
    accurate multiclass probability estimates", KDD (2002) 694-699.

    Examples
    --------
    >>> from clustertrust.calibration import Calibrator
    >>> right = [False, False, True, False, True, True]
    >>> calibrator = Calibrator().fit([0.1, 0.2, 0.3, 0.6, 0.7, 0.9], right)
    >>> calibrator.method_, calibrator.predict([0.0, 0.5, 1.0]).round(2).tolist()
    ('logistic', [0.23, 0.52, 0.8])
    """

    def __init__(self, method: str = "auto") -> None:
        self.method = method

    def fit(self, scores: Any, correct: Any, sample_weight: Any = None) -> Calibrator:
        """Learn the curve.

        Parameters
        ----------
        scores : (n,) numbers, higher is surer; NaN: the point is left out
        correct : (n,) booleans, None or NaN where not known: the point is left out
        sample_weight : (n,) numbers of at least 0, optional
            How many points each label represents. Not needed if labels were chosen by score.

        Returns
        -------
        Calibrator
            This calibrator, fitted.
        """
        check_choice("method", self.method, [*METHODS, "auto"])
        values, right = check_scores(scores), check_correct(correct)
        check_same_length("scores", values, "correct", right)
        weights = check_weights(sample_weight, len(values))
        used = ~np.isnan(values) & ~np.isnan(right) & (weights > 0)
        if not used.any():
            raise ValueError(
                "No point has both a score and a known value in correct; give at least one label."
            )
        values, right = values[used], right[used]
        if np.abs(values).max() > _LARGEST:
            raise ValueError(
                f"scores of labelled points go up to {np.abs(values).max():.3g}; give finite "
                "numbers, such as CAKE scores or ranks."
            )
        self.n_labels_ = int(used.sum())
        chosen = "isotonic" if self.n_labels_ >= ENOUGH else "logistic"
        self.method_ = chosen if self.method == "auto" else self.method
        self._curve = METHODS[self.method_](values, right, weights[used])
        ends = self._curve(np.array([values.min(), values.max()]))
        if values.min() < values.max() and 0 < right.mean() < 1 and np.ptp(ends) < 1e-6:
            warn_user(
                f"Among these {self.n_labels_} labels, higher scores are not right more often, so "
                f"every point gets the probability {ends[0]:.3f}. Label more points, or use "
                "another score."
            )
        return self

    def predict(self, scores: Any) -> Floats:
        """Return the probability that each assignment is right.

        Parameters
        ----------
        scores : (n,) numbers, as in the fit

        Returns
        -------
        (n,) array in [0, 1], NaN where the score is NaN
        """
        check_is_fitted(self, "method_")
        values = check_scores(scores)
        scored = ~np.isnan(values)
        out = np.full(len(values), np.nan)
        if scored.any():
            out[scored] = self._curve(values[scored])
        return out
