"""Heavy neighbours, in an environment of their own: make test-neighbours."""

import os
import shutil
import subprocess
import sys

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


# Rows as lists, which reticulate of any version converts: before 1.38 it does not know NumPy 2.
R = """
suppressPackageStartupMessages(library(reticulate))
ct <- import("clustertrust", convert = FALSE)
rows <- lapply(seq_len(nrow(iris)), function(i) as.list(as.numeric(iris[i, 1:4])))
cake <- ct$CAKE(n_clusters = 3L, n_runs = 4L, random_state = 0L)$fit(rows)
values <- function(array) unlist(py_to_r(array$tolist()))
write.csv(data.frame(label = values(cake$labels_), score = values(cake$scores_)), row.names = FALSE)
"""


def test_r_gets_the_same_scores_by_reticulate(tmp_path):
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("R is not installed")
    script = tmp_path / "scores.R"
    script.write_text(R)
    found = subprocess.run(
        [rscript, str(script)],
        env=os.environ | {"RETICULATE_PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    if "there is no package called" in found.stderr:
        pytest.skip("reticulate is not installed")
    assert found.returncode == 0, found.stderr
    lines = [line.split(",") for line in found.stdout.splitlines()[1:]]
    table = pd.DataFrame(lines, columns=["label", "score"]).astype(float)
    # Two flowers differ between R's copy of the data and scikit-learn's, so the means are compared.
    assert len(table) == 150
    here = CAKE(3, n_runs=4, random_state=0).fit(FLOWERS.to_numpy())
    assert_allclose(table["score"].mean(), here.scores_.mean(), atol=0.02)
