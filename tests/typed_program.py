"""A program of a user, for `mypy --strict` and pyright: make test-types."""

from pathlib import Path

import numpy as np
import pandas as pd

from clustertrust import CAKE, Confidence, Explanation, ParameterError, Runs, audit
from clustertrust import confidence as score
from clustertrust.geometry import Exact


def main(folder: Path) -> pd.DataFrame:
    """Score, explain, store and judge."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(30, 2)), rng.normal(5, size=(30, 2))])
    cake: CAKE = CAKE(2, n_runs=Runs(4), geometry=Exact(), random_state=0).fit(X)
    why: Explanation = cake.explain(3)
    result: Confidence = cake.confidence_
    labels = cake.predict(X[:5])
    cake.save(folder / "cake.model")
    again: CAKE = CAKE.load(folder / "cake.model")
    assert (again.predict(X[:5]) == labels).all()
    runs = np.column_stack([cake.labels_, cake.labels_])
    small: Confidence = score(X, runs)
    given = audit(X, cake.labels_, n_runs=4, random_state=0)
    try:
        CAKE(2, fusion="sum").fit(X)
    except ParameterError as error:
        parameter: str = error.parameter
        print(parameter, given.scores.mean() > 0.5, len(small.scores), str(why)[:8])
    table: pd.DataFrame = result.to_frame()
    return table


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        print(main(Path(name)).shape)
