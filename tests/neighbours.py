"""Heavy neighbours, in an environment of their own: make test-neighbours."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from clustertrust import CAKE

pytestmark = pytest.mark.filterwarnings("default")  # theirs are not ours
FLOWERS = load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def cake():
    return CAKE(3, n_runs=4, random_state=0).fit(FLOWERS.to_numpy())


def test_mlflow_logs_a_model_as_a_pyfunc(cake, tmp_path):
    mlflow = pytest.importorskip("mlflow")
    cake.save(tmp_path / "cake.model")

    class Trust(mlflow.pyfunc.PythonModel):
        def load_context(self, context):
            self.cake = CAKE.load(context.artifacts["cake"])

        def predict(self, context, model_input, params=None):
            X = np.asarray(model_input)
            return pd.DataFrame(
                {"label": self.cake.predict(X), "score": self.cake.score_samples(X)}
            )

    folder = tmp_path / "logged"
    mlflow.pyfunc.save_model(
        folder, python_model=Trust(), artifacts={"cake": str(tmp_path / "cake.model")}
    )
    found = mlflow.pyfunc.load_model(str(folder)).predict(FLOWERS)
    assert_array_equal(found["label"], cake.predict(FLOWERS.to_numpy()))
    assert_array_equal(found["score"], cake.score_samples(FLOWERS.to_numpy()))


PAGE = Path(__file__).parents[1] / "docs" / "howto" / "r.md"
# Rows as lists, which reticulate of any version converts: before 1.38 it does not know NumPy 2.
AS_LISTS = """
suppressPackageStartupMessages(library(reticulate))
ct <- import("clustertrust", convert = FALSE)
rows <- lapply(seq_len(nrow(iris)), function(i) as.list(as.numeric(iris[i, 1:4])))
cake <- ct$CAKE(n_clusters = 3L, random_state = 0L)$fit(rows)
values <- function(array) unlist(py_to_r(array$tolist()))
iris$label <- values(cake$labels_)
iris$score <- values(cake$scores_)
"""


def in_r(code, folder):
    """Run R code and return what it prints; skip the test if there is no R."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("R is not installed")
    script = folder / "code.R"
    script.write_text(code, encoding="utf-8")
    env = os.environ | {"RETICULATE_PYTHON": sys.executable}
    found = subprocess.run([rscript, str(script)], env=env, capture_output=True, text=True)
    if "there is no package called" in found.stderr:
        pytest.skip("reticulate is not installed")
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.parametrize("way", ["as lists", "of the page"])
def test_r_gets_the_same_scores_by_reticulate(way, tmp_path):
    code = AS_LISTS
    if way == "of the page":
        version = in_r('cat(as.character(packageVersion("reticulate")))', tmp_path)
        if tuple(map(int, version.split(".")[:2])) < (1, 38):
            pytest.skip(f"reticulate {version} does not know NumPy 2")
        code = PAGE.read_text(encoding="utf-8").partition("```r\n")[2].partition("```")[0]
        code = "\n".join(line for line in code.splitlines() if "py_install" not in line)
    told = in_r(f'{code}\nwrite.csv(iris, "{tmp_path}/iris.csv", row.names = FALSE)', tmp_path)
    assert ("150 points, 3 clusters, 20 runs" in told) == (way == "of the page")
    table = pd.read_csv(tmp_path / "iris.csv")
    # Two flowers differ between R's copy of the data and scikit-learn's.
    here = CAKE(3, random_state=0).fit(table.iloc[:, :4].to_numpy())
    assert_array_equal(table["label"], here.labels_)
    assert_allclose(table["score"], here.scores_, atol=1e-12)
