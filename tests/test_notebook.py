"""In a notebook: progress without a terminal, a fitted estimator as HTML, points by their names."""

import base64
import io
import sys
import types
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.datasets import load_wine

from clustertrust import CAKE, _progress
from clustertrust._progress import progress


@pytest.fixture(scope="module")
def wines():
    data = load_wine(as_frame=True).data
    data = (data - data.mean()) / data.std()
    return data.set_axis([f"wine-{i:03d}" for i in range(1, 179)], axis=0)


@pytest.fixture(scope="module")
def cake(wines):
    return CAKE(3, n_runs=5, random_state=0).fit(wines)


# Progress


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests move by hand, and standard error without a terminal."""
    monkeypatch.setattr(_progress, "sys", types.SimpleNamespace(modules=sys.modules))
    monkeypatch.setattr(_progress, "time", Clock())
    return _progress.time


def work(clock, seconds, total, **more):
    def results():
        for i in range(total):
            clock.now += seconds
            yield i

    _progress.sys.stderr = io.StringIO()
    done = list(progress(results(), total, "runs", **({"verbose": True} | more)))
    assert done == list(range(total))
    return _progress.sys.stderr.getvalue().splitlines()


def test_slow_work_prints_lines(clock):
    lines = work(clock, 0.7, 20)
    assert lines[0] == "runs: 2 of 20"  # after a second
    assert lines[-1] == "runs: 20 of 20"
    assert 3 <= len(lines) <= 8  # ever fewer
    assert lines == sorted(set(lines), key=lambda line: int(line.split()[1]))


def test_quick_work_prints_nothing(clock):
    assert work(clock, 0.01, 20) == []


def test_progress_is_not_shown_unless_asked_for(clock):
    assert work(clock, 2.0, 3, verbose=False) == []


def test_a_notebook_has_its_own_bar(clock, monkeypatch):
    bars = []

    class Bar:
        def __init__(self, total, desc):
            self.total, self.desc, self.n, self.closed = total, desc, 0, False
            bars.append(self)

        def update(self, n):
            self.n += n

        def close(self):
            self.closed = True

    shell = types.SimpleNamespace(get_ipython=lambda: object())
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    for name in ("tqdm", "ipywidgets"):
        module = types.ModuleType(name)
        module.__spec__ = types.SimpleNamespace()
        monkeypatch.setitem(sys.modules, name, module)
    notebook = types.ModuleType("tqdm.notebook")
    notebook.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm.notebook", notebook)
    assert work(clock, 2.0, 7, size=lambda result: 10) == []
    (bar,) = bars
    assert (bar.total, bar.desc, bar.n, bar.closed) == (7, "runs", 70, True)
    # Without widgets the bar cannot be drawn: lines.
    monkeypatch.delitem(sys.modules, "ipywidgets")
    monkeypatch.setattr(
        _progress.importlib.util, "find_spec", lambda name: None if name == "ipywidgets" else 1
    )
    assert work(clock, 2.0, 7)[-1] == "runs: 7 of 7"
    # And a program that only has IPython installed is no notebook.
    shell.get_ipython = lambda: None
    assert not _progress.in_notebook()


def test_a_fit_tells_its_progress_without_a_terminal(wines, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(_progress, "FIRST_LINE", 0.0)
    CAKE(3, n_runs=4, random_state=0, verbose=True).fit(wines)
    assert sys.stderr.getvalue().splitlines()[-1] == "runs: 4 of 4"


# A fitted estimator


class Cells(HTMLParser):
    """The rows of the tables on a page, and the tags that were opened and not closed."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.open, self.bars = [], [], 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        # Notebooks without trust take these out.
        assert tag not in ("script", "svg", "link")
        if tag == "img":
            kind, _, picture = dict(attributes)["src"].partition(";base64,")
            assert kind == "data:image/svg+xml"
            self.bars += base64.b64decode(picture).count(b"<rect ")
        if tag == "tr":
            self.rows.append([])
        if tag not in ("br", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1].append(text)


def test_a_fitted_estimator_shows_its_scores(cake):
    page = cake._repr_mimebundle_()["text/html"]
    plain = sklearn.clone(cake)._repr_mimebundle_()["text/html"]
    assert "Histogram of the scores" in page
    assert "Histogram" not in plain  # not fitted: scikit-learn's box alone
    assert cake._repr_html_().count("Histogram of the scores") == 1
    shown = Cells(page[page.index('<div style="display:flex') :])
    assert shown.open == []
    assert shown.rows[0] == ["cluster", "points", "mean score", "kept"]
    threshold, verdict = cake.confidence_.cut().threshold, cake.confidence_.cut().verdict
    assert f"<b>{verdict}</b>" in page
    for row, label in zip(shown.rows[1:], range(3), strict=True):
        scores = cake.scores_[cake.labels_ == label]
        kept = f"{(scores > threshold).mean():.0%}"
        assert row == [str(label), str(len(scores)), f"{scores.mean():.2f}", kept]
    counts = np.histogram(cake.scores_, bins=25, range=(0, 1))[0]
    # A bar that holds the threshold has two colours.
    split = counts[int(25 * threshold)] > 0 and 25 * threshold % 1 > 1e-9
    assert shown.bars == (counts > 0).sum() + split
    assert page.endswith(cake.confidence_._repr_html_())
    with sklearn.config_context(display="text"):
        assert "text/html" not in cake._repr_mimebundle_()


def test_audits_and_profiles_show_themselves(wines):
    from clustertrust import CAKE, audit, choose_k

    names = np.where(np.arange(len(wines)) % 2, "<b>", "x")
    found = audit(wines, names, n_runs=4, classifier=None, random_state=0)
    shown = Cells(found._repr_html_())
    assert shown.open == []
    assert f"Labels that look wrong: {found.wrong_labels}" in found._repr_html_()
    # It asks about labels, not about structure.
    assert "structure" not in found._repr_html_()
    said = [row[-1] for row in shown.rows]
    assert [str(verdict) for verdict in found.verdicts] == said[said.index("verdict") + 1 :][:2]
    # It begins with the suspected rows, the least trusted first.
    frame = found.to_frame()
    worst = frame[frame["issue"]].sort_values("score", kind="stable")
    assert len(worst) > 5
    assert [row[:3] for row in shown.rows[1:6]] == [
        [str(name), row["label"], row["suggested"]] for name, row in worst.head(5).iterrows()
    ]
    assert shown.rows[6][0] == f"and {len(worst) - 5} more"
    profile = choose_k(wines, range(2, 5), CAKE(n_runs=3, random_state=0), null=None)
    shown = Cells(profile._repr_html_())
    assert (shown.open, shown.bars) == ([], 3)
    assert profile.verdict() in profile._repr_html_()


def test_plans_and_learned_scores_show_themselves(cake, wines):
    from clustertrust import ask, learn
    from clustertrust.tables import TablePreparer

    table = wines.assign(**{"<i>": "same"})
    plan = TablePreparer().fit(table).plan_
    shown = Cells(plan._repr_html_())
    assert shown.open == []
    assert "<i>" not in plan._repr_html_()
    assert sorted(row[0] for row in shown.rows[1:]) == sorted(table.columns)
    assert "13 of 14 columns are clustered" in plan._repr_html_()
    answers = ask(cake, 40).answered(right=np.arange(40) % 10 > 0)
    learned = learn(cake, answers)
    shown = Cells(learned._repr_html_())
    assert shown.open == []
    assert "40 answers about 178 points" in learned._repr_html_()
    assert [row[0] for row in shown.rows[1:]] == ["0", "1", "2"]


def test_names_of_clusters_are_escaped(wines):
    from clustertrust import confidence
    from clustertrust._notebook import confidence_html

    runs = np.where(wines.iloc[:, [0, 1, 2]] > 0, "<img src=x>", "b")
    page = confidence_html(confidence(wines, runs))
    assert "<img src=x" not in page
    assert "&lt;img src=x&gt;" in page


# Points by their names


def test_explain_by_the_name_of_the_row(cake):
    assert cake.explain("wine-070") == cake.explain(69)
    shown = cake.explain("wine-070")._repr_html_().replace("<br>", "\n")
    assert str(cake.explain("wine-070")) in shown
    assert cake.confidence_.explain("wine-001").point == 0


def test_names_that_are_not_there(cake, wines):
    with pytest.raises(ValueError, match=r"point='wine-70' is not the name of a row.*'wine-0?\d\d"):
        cake.explain("wine-70")
    twice = CAKE(2, n_runs=3, random_state=0).fit(wines.set_axis(["a", "b"] * 89, axis=0))
    with pytest.raises(ValueError, match=r"'a' names 89 rows, at positions \[0, 2, 4\] and more"):
        twice.explain("a")
    bare = CAKE(2, n_runs=3, random_state=0).fit(wines.to_numpy())
    with pytest.raises(TypeError, match="the rows of X have no names"):
        bare.explain("wine-070")
    with pytest.raises(TypeError, match=r"point=1\.5 must be an integer"):
        cake.explain(1.5)


def test_names_of_other_types(wines):
    days = pd.date_range("2026-01-01", periods=178, name="day")
    cake = CAKE(2, n_runs=3, random_state=0).fit(wines.set_axis(days, axis=0))
    assert cake.explain(pd.Timestamp("2026-01-03")).point == 2
    pairs = pd.MultiIndex.from_product([range(89), ["x", "y"]])
    cake = CAKE(2, n_runs=3, random_state=0).fit(wines.set_axis(pairs, axis=0))
    assert cake.explain((1, "x")).point == 2
    numbers = CAKE(2, n_runs=3, random_state=0).fit(wines.set_axis(range(1000, 1178), axis=0))
    assert numbers.explain(5).point == 5  # an integer is a position
