"""Review mode of the report in a real browser: what a person answers is what the file holds."""

import io

import numpy as np
import pandas as pd
import pytest
from browsing import download
from command import run
from scipy.stats import norm
from sklearn.datasets import make_blobs
from unpacking import unpack

from clustertrust import CAKE
from clustertrust._palette import CATEGORIES
from clustertrust.report import build_report, write_report
from clustertrust.report.pictures import pack_pictures

STORED = "Object.keys(localStorage).filter((key) => key.startsWith('clustertrust-answers-')).length"


@pytest.fixture(scope="module")
def reviewed(flowers, tmp_path_factory):
    """A fitted estimator, its report, and the questions in their order."""
    cake = CAKE(3, random_state=0).fit(flowers)
    file = tmp_path_factory.mktemp("review") / "iris.html"
    cake.report(file, flowers)
    return cake, file, questions(build_report(cake.to_frame(), flowers))


def questions(contents):
    """Names of the points that the page asks about at first."""
    asked = contents["questions"]
    random = unpack(asked["random"])[: asked["planned"][0]].tolist()
    others = [i for i in unpack(asked["uncertain"]).tolist() if i not in random]
    return random + others[: asked["planned"][1]]


def review(page):
    page.locator("#review-open").press("Enter")
    page.wait_for_selector("#review:not([hidden])")
    return page


def asked_about(page):
    return page.locator("#review-title b").first.inner_text()


def wilson(right, n):
    """Wilson's interval, by solving its quadratic equation (scipy has none of its own to import
    without a test object).
    """
    z = norm.ppf(0.975)
    roots = np.roots([n + z**2, -(2 * right + z**2), right**2 / n])
    return sorted(roots.real)


# What is asked


def test_questions_start_with_one_random_order_of_the_scored_points():
    rng = np.random.default_rng(1)
    scores = rng.random(5000)
    scores[::7] = np.nan
    frame = pd.DataFrame({"label": rng.integers(0, 3, 5000), "score": scores})
    asked = build_report(frame)["questions"]
    random, uncertain = unpack(asked["random"]), unpack(asked["uncertain"])
    assert asked["of"] == np.isfinite(scores).sum()
    assert np.isfinite(scores[random]).all()
    assert len(set(random.tolist())) == len(random) == 1000
    # A simple random sample: its mean position and score are those of all scored points, within
    # four standard errors.
    for values in (np.arange(5000), scores):
        there = values[np.isfinite(scores)]
        assert abs(values[random].mean() - there.mean()) < 4 * there.std() / np.sqrt(1000)
    # Uncertain: the lowest score of each cluster, then the second lowest of each, …
    for place in range(20):
        at = uncertain[3 * place : 3 * place + 3]
        lowest = [np.sort(scores[frame["label"] == k])[place] for k in range(3)]
        assert sorted(scores[at]) == pytest.approx(sorted(lowest))
    again = build_report(frame, threshold=0.9)
    assert again["questions"] == asked
    assert again["fingerprint"] == build_report(frame)["fingerprint"]
    other = frame.assign(label=frame["label"][::-1].to_numpy())
    assert build_report(other)["fingerprint"] != again["fingerprint"]


def test_points_asked_about_are_drawn_among_many(monkeypatch):
    monkeypatch.setattr("clustertrust.report.material.MOST_DRAWN", 5000)
    scores = np.random.default_rng(0).random(20_000)
    contents = build_report(pd.DataFrame({"label": np.arange(20_000) % 4, "score": scores}))
    drawn = unpack(contents["drawn"])
    assert len(drawn) == len(set(drawn.tolist())) == 5000
    for kind in ("random", "uncertain"):
        assert np.isin(unpack(contents["questions"][kind]), drawn).all()
    assert np.isin(np.argsort(scores)[:500], drawn).all()


# Answering


def test_keys_answer_undo_and_reach_the_file(visit, reviewed):
    cake, file, order = reviewed
    page = review(visit(file))
    names = cake.to_frame().index
    assert page.evaluate("document.activeElement.id") == "review-title"
    assert asked_about(page) == names[order[0]]
    assert page.locator("#review-kind").inner_text() == "drawn at random"
    other = [next(k for k in (0, 1, 2) if k != cake.labels_[i]) for i in order]
    for key in ("r", "w", "s", "R"):
        page.keyboard.press(key)
    page.keyboard.press(str(other[4]))  # a digit names the cluster that it should have been
    page.keyboard.press(str(cake.labels_[order[5]]))  # its own: right
    page.keyboard.press("w")
    page.keyboard.press("u")
    assert asked_about(page) == names[order[6]]
    page.keyboard.press("o")
    page.keyboard.press("Escape")  # out of the list of clusters alone
    assert page.locator("#review").is_visible()
    assert page.evaluate("document.activeElement.id") == "answer-other"
    page.keyboard.press("o")  # a list of clusters, its rival first in focus
    rival = cake.confidence_.rival[order[6]]
    assert page.evaluate("document.activeElement.textContent") == str(rival)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "review-title"
    assert page.locator("#review-progress").inner_text() == "7 of 100 answered"
    found = download(page, "#review-download")
    columns = ["row", "flower", "answer", "should_be", "label", "asked", "inclusion", "round"]
    assert found.columns.tolist() == columns
    assert found["row"].tolist() == order[:7]
    assert found["flower"].tolist() == names[order[:7]].tolist()
    assert found["answer"].tolist() == [
        "right",
        "wrong",
        "skip",
        "right",
        "wrong",
        "right",
        "wrong",
    ]
    assert found["label"].tolist() == cake.labels_[order[:7]].tolist()
    should = found["should_be"]
    assert should[[4, 6]].tolist() == [other[4], rival]
    assert should.drop([4, 6]).isna().all()
    assert (found["asked"] == "random").all()
    assert found["inclusion"].to_numpy() == pytest.approx(7 / 150)
    assert (found["round"] == 1).all()


def test_the_estimate_is_wilsons_over_the_random_answers(visit, reviewed):
    _, file, order = reviewed
    page = review(visit(file))
    assert not page.locator("#review-range").is_visible()
    for key in "rrwrrrrrrsr":
        page.keyboard.press(key)
    low, high = wilson(9, 10)
    text = page.locator("#review-estimate").inner_text().replace("\u00a0", " ")
    assert text.startswith("90% right: 9 of 10 drawn at random; 95% interval ")
    assert f"interval {100 * low:.0f}% to {100 * high:.0f}%; 1 skipped" in text
    # Uncertain points teach the score; they are no sample, and do not count here.
    page.locator("#plan-random").fill("11")
    page.locator("#plan-random").press("Enter")
    assert page.locator("#review-kind").inner_text() == "uncertain"
    page.locator("#review-title").focus()
    page.keyboard.press("w")
    assert page.locator("#review-estimate").inner_text().replace("\u00a0", " ") == text
    found = download(page, "#review-download")
    assert found["asked"].tolist() == ["random"] * 11 + ["learn"]
    assert found["inclusion"].isna().tolist() == [False] * 11 + [True]
    assert found["row"].iloc[-1] not in order[:11]


def test_answers_survive_a_reload_and_belong_to_their_page(visit, reviewed, flowers, tmp_path):
    cake, file, order = reviewed
    page = review(visit(file))
    for key in "rws":
        page.keyboard.press(key)
    page.reload()
    page.wait_for_selector("body.ready")
    assert page.evaluate(STORED) == 1
    if not page.locator("#review").is_visible():
        assert page.locator("#review-open").inner_text() == "Continue the review (3 answered)"
        review(page)
    assert asked_about(page) == cake.to_frame().index[order[3]]
    page.keyboard.press("u")  # what was said before the reload can be taken back
    assert asked_about(page) == cake.to_frame().index[order[2]]
    assert download(page, "#review-download")["answer"].tolist() == ["right", "wrong"]
    # The same points in other clusters are other questions; the same ones in a new file are not.
    moved = tmp_path / "again.html"
    cake.report(moved, flowers, threshold=0.3, title="Again")
    page.goto(moved.as_uri())
    page.wait_for_selector("body.ready")
    assert "2 answered" in page.locator("#review-open").inner_text()
    CAKE(4, random_state=0).fit(flowers).report(moved, flowers)
    page.reload()
    page.wait_for_selector("body.ready")
    assert page.locator("#review-open").inner_text() == "Review points by hand"


def test_skipped_points_can_be_asked_again(visit, reviewed):
    _, file, order = reviewed
    page = review(visit(file))
    for plan, value in (("#plan-uncertain", "0"), ("#plan-random", "3")):
        page.locator(plan).fill(value)
        page.locator(plan).press("Enter")
    page.locator("#review-title").focus()
    for key in "srs":
        page.keyboard.press(key)
    assert page.locator("#review-title").inner_text() == "All questions are answered"
    assert page.locator("#answer-right").is_disabled()
    cells = np.array([row.inner_text().split("\t") for row in page.locator(".answers tr").all()])
    assert cells[0].tolist() == ["cluster", "right", "wrong", "skipped"]
    assert cells[1:, 1:].astype(int).sum(axis=0).tolist() == [1, 0, 2]
    page.locator("#review-again").click()
    page.keyboard.press("w")
    page.keyboard.press("r")
    assert page.locator("#review-title").inner_text() == "All questions are answered"
    found = download(page, "#review-download")
    assert dict(zip(found["row"], found["answer"], strict=True)) == dict(
        zip(order[:3], ["wrong", "right", "right"], strict=True)
    )
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator("#review-clear").click()
    assert page.locator("#review-progress").inner_text() == "0 of 3 answered"
    assert page.locator("#review-download").is_disabled()


def test_a_question_shows_values_beside_the_means(visit, reviewed, flowers):
    cake, file, order = reviewed
    page = review(visit(file))
    row = order[0]
    lines = {
        cells[0]: cells[1:]
        for cells in (
            line.inner_text().split("\t") for line in page.locator("#review-card tbody tr").all()
        )
    }
    assert set(lines) == set(flowers.columns)
    means = flowers.groupby(cake.labels_).mean()
    own, rival = cake.labels_[row], cake.confidence_.rival[row]
    contrast = (means.loc[own] - means.loc[rival]).abs() / flowers.std(ddof=0)
    assert list(lines) == contrast.sort_values(ascending=False).index.tolist()
    for name, cells in lines.items():
        numbers = [float(cell.replace("−", "-")) for cell in cells[:3]]
        expected = [flowers[name].iloc[row], means[name][own], means[name][rival]]
        assert numbers == pytest.approx(expected, rel=0.01)
    # The map: its cluster and its rival in colours of their own, the third cluster in neither.
    assert page.locator("#review-legend .key").all_inner_texts() == [str(own), str(rival)]
    colors = page.locator("#review-map canvas").first.evaluate(
        """(canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return [...new Set(new Uint32Array(data.buffer))].map((v) => [v & 255, (v >> 8) & 255, (v >> 16) & 255]);
        }"""
    )
    for color in CATEGORIES[:2]:
        assert [int(color[at : at + 2], 16) for at in (1, 3, 5)] in colors
    assert [int(CATEGORIES[2][at : at + 2], 16) for at in (1, 3, 5)] not in colors
    runs = page.locator("#review-card .runs")
    assert not runs.locator(".score").is_visible()  # the score is there, and does not sway
    runs.locator("summary").click()
    assert runs.locator(".score").inner_text() == f"{cake.scores_[row]:.3f}"
    assert "clustertrust decide scores.csv answers.csv" in page.locator("#review").inner_text()


def test_review_on_a_phone_by_touch(visit, reviewed):
    _, file, order = reviewed
    page = visit(file, viewport={"width": 390, "height": 760}, has_touch=True)
    page.locator("#review-open").tap()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in ("right", "wrong", "other", "skip"):  # within reach of a thumb, without scrolling
        box = page.locator(f"#answer-{name}").bounding_box()
        assert box["y"] + box["height"] <= 760
        assert box["height"] >= 44
    page.locator("#answer-right").tap()
    page.locator("#answer-other").tap()
    page.locator("#review-clusters button:not([hidden])").first.tap()
    page.locator("#answer-skip").tap()
    page.locator("#answer-undo").tap()
    found = download(page, "#review-download")
    assert found["answer"].tolist() == ["right", "wrong"]
    assert found["row"].tolist() == order[:2]
    page.locator("#review-close").tap()
    assert page.locator("main").is_visible()


def test_a_browser_that_stores_nothing_says_so(visit, reviewed):
    _, file, _ = reviewed
    page = visit(file)
    page.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"
    )
    page.reload()
    page.wait_for_selector("body.ready")
    review(page)
    page.keyboard.press("r")
    assert "Download them" in page.locator("#review-stored").inner_text()
    assert download(page, "#review-download")["answer"].tolist() == ["right"]


def test_stored_text_that_is_not_ours_is_ignored(visit, reviewed):
    _, file, _ = reviewed
    page = visit(file)
    review(page)
    page.keyboard.press("r")
    (key,) = page.evaluate("Object.keys(localStorage)")
    for stored in ("nonsense", '{"history": [[7000, "right", null]], "plan": ["x", -4]}', "[]"):
        page.evaluate("([key, value]) => localStorage.setItem(key, value)", [key, stored])
        page.reload()
        page.wait_for_selector("body.ready")
        if not page.locator("#review").is_visible():
            review(page)
        assert page.locator("#review-progress").inner_text().startswith("0 of ")


def test_review_at_a_hundred_thousand_points(visit, tmp_path):
    n = 120_000
    X, labels = make_blobs(n, centers=8, n_features=4, random_state=0)
    rng = np.random.default_rng(0)
    names = [f"cluster {k}" for k in "abcdefgh"]
    frame = pd.DataFrame({"label": np.take(names, labels), "score": rng.random(n)})
    file = tmp_path / "large.html"
    write_report(file, frame, X)
    order = questions(build_report(frame, X))
    page = review(visit(file))
    for key in "rrwr":
        page.keyboard.press(key)
    page.keyboard.press("8")  # clusters with longer names have keys by their order
    shown = page.locator("#review-card tbody tr").first.inner_text().split("\t")
    column = int(shown[0].removeprefix("column "))
    assert float(shown[1].replace("−", "-")) == pytest.approx(X[order[5], column], rel=0.01)
    found = download(page, "#review-download")
    assert found["row"].tolist() == order[:5]
    assert found["inclusion"].to_numpy() == pytest.approx(5 / n)
    last = (labels[order[4]] == 7, "cluster h")
    assert found["answer"].iloc[4] == ("right" if last[0] else "wrong")
    assert last[0] or found["should_be"].iloc[4] == last[1]


def test_hostile_names_are_text(visit, tmp_path):
    hostile = '<img src=x onerror="document.title=1">, "quoted"\nline'
    frame = pd.DataFrame(
        {"label": [hostile, "b"] * 6, "score": np.linspace(0, 1, 12), "rival": ["b", hostile] * 6},
        index=pd.Index([f"{hostile} {i}" for i in range(12)], name=hostile),
    )
    file = tmp_path / "hostile.html"
    write_report(file, frame, pd.DataFrame({hostile: range(12), "y": 0.0, "z": 1.0}))
    page = review(visit(file))
    page.keyboard.press("o")
    page.keyboard.press("Enter")
    assert page.locator("img").count() == 0
    found = download(page, "#review-download")
    assert found[hostile].tolist() == [frame.index[found["row"][0]]]
    assert {found["label"][0], found["should_be"][0]} == {hostile, "b"}


# The point as a person knows it


def png(color, size=8):
    """A picture of one colour."""
    from matplotlib.image import imsave

    file = io.BytesIO()
    imsave(file, np.full((size, size, 3), color, dtype=np.uint8), format="png")
    return file.getvalue()


def test_pictures_and_texts_are_shown(visit, flowers, tmp_path):
    cake = CAKE(3, random_state=0).fit(flowers)
    folder = tmp_path / "pictures"
    folder.mkdir()
    paths = [f"pictures/{i}.png" for i in range(150)]
    for i in range(150):
        (tmp_path / paths[i]).write_bytes(png(i))
    story = [
        f"<b>flower {i}</b> was found by a path in the wood, in the shade of an oak."
        for i in range(150)
    ]
    own = pd.DataFrame({"photo": paths, "story": story, "site": ["north", "south"] * 75})
    own = own.set_axis(flowers.index, axis=0)
    file = tmp_path / "own.html"
    write_report(file, cake.to_frame(), flowers, original=own, folder=tmp_path)
    order = questions(build_report(cake.to_frame(), flowers))
    for path in folder.iterdir():
        path.unlink()  # the page holds them
    page = review(visit(file))
    for i in order[:2]:
        picture = page.locator("#review-card img")
        assert (
            picture.evaluate(
                "async (image) => { await image.decode(); return image.naturalWidth; }"
            )
            == 8
        )
        assert picture.get_attribute("alt") == f"photo of flower {i}"
        text = page.locator("#review-card").inner_text()
        assert story[i] in text
        assert f"site\n{own['site'].iloc[i]}" in text
        assert paths[i] not in text
        page.keyboard.press("r")


def test_what_is_no_picture_is_not_embedded(tmp_path, monkeypatch):
    (tmp_path / "right.png").write_bytes(png(7))
    (tmp_path / "secret.png").write_text("not a picture")
    large = np.random.default_rng(0).integers(0, 256, (700, 700, 3), dtype=np.uint8)
    from matplotlib.image import imsave

    imsave(tmp_path / "large.png", large)
    entries = [
        "right.png",
        "secret.png",
        "missing.png",
        "large.png",
        "//other/x.png",
        None,
        "a\0.png",
    ]
    table = pd.DataFrame({"photo": entries})
    packed = pack_pictures(table, [np.arange(7)], tmp_path)
    assert packed["column"] == "photo"
    assert set(packed["of"]) == {"0", "3"}
    assert packed["of"]["0"].startswith("data:image/png;base64,")
    assert packed["of"]["3"].startswith("data:image/jpeg;base64,")  # made smaller
    assert len(packed["of"]["3"]) < 300_000 < (tmp_path / "large.png").stat().st_size
    monkeypatch.setattr("clustertrust.report.pictures.MOST_BYTES", 10)
    assert pack_pictures(table, [np.arange(7)], tmp_path) is None
    assert pack_pictures(pd.DataFrame({"x": [1.0], "y": ["text"]}), [np.arange(1)], None) is None


# Which row an answer is about


def test_rows_are_those_of_the_file_of_scores(visit, tmp_path):
    n = 40
    frame = pd.DataFrame({"label": np.arange(n) % 2, "score": np.linspace(0, 1, n)})
    places = np.arange(n) * 3 + 1  # others were left out
    named = frame.set_axis(pd.Index([f"p{i}" for i in range(n)], name="point"), axis=0)
    write_report(tmp_path / "named.html", named, rows=places)
    write_report(tmp_path / "counted.html", frame.set_axis(pd.Index(places, name="row"), axis=0))
    write_report(tmp_path / "unknown.html", named, rows=np.full(n, -1))
    for name, head in (("named", ["row", "point"]), ("counted", ["row"]), ("unknown", ["point"])):
        page = review(visit(tmp_path / f"{name}.html"))
        page.keyboard.press("r")
        found = download(page, "#review-download")
        assert found.columns[: len(head) + 1].tolist() == [*head, "answer"]
        first = questions(build_report(frame))[0]
        if "row" in head:
            assert found["row"].tolist() == [places[first]]
        if "point" in head:
            assert found["point"].tolist() == [f"p{first}"]
    with pytest.raises(ValueError, match=r"rows must be 40 integers.*\(3,\)"):
        build_report(frame, rows=[1, 2, 3])


def test_from_the_page_to_the_decision(visit, folder):
    """What the page downloads is what `clustertrust decide` reads, row by row."""
    X, truth = make_blobs(240, centers=[[0, 0], [4, 0], [2, 3]], random_state=0)
    table = pd.DataFrame(X, columns=["x", "y"]).assign(who=[f"p{i}" for i in range(240)])
    table.loc[7, "x"] = np.nan  # a row that is left out: places in files and pages differ
    table.to_csv("data.csv", index=False)
    run("score", "data.csv", "-k", "3", "--runs", "5", "--id", "who", "--drop-missing",
        "--out", "scores.csv", "--report", "report.html")  # fmt: skip
    scores = pd.read_csv("scores.csv")
    names = pd.crosstab(scores["label"], truth).idxmax(axis=1)
    page = review(visit(folder / "report.html"))
    right = {}
    for _ in range(100):
        who = asked_about(page)
        row = int(who[1:])
        right[row] = bool(names[scores.loc[row, "label"]] == truth[row])
        page.keyboard.press("r" if right[row] else "w")
    with page.expect_download() as waiting:
        page.locator("#review-download").click()
    waiting.value.save_as("answers.csv")
    answers = pd.read_csv("answers.csv")
    assert dict(zip(answers["row"], answers["answer"] == "right", strict=True)) == right
    assert max(right) > 7
    done = run("decide", "scores.csv", "answers.csv", "--risk", "0.2", "--out", "kept.csv")
    assert "100 answers used" in done.stdout
    kept = pd.read_csv("kept.csv")
    at = kept["who"].str[1:].astype(int).to_numpy()
    wrong = scores.loc[at, "label"].map(names).to_numpy() != truth[at]
    assert len(kept) > 100
    assert wrong.mean() < 0.2


def test_columns_that_would_sway_a_person_are_not_asked_with(visit, flowers, tmp_path):
    cake = CAKE(3, n_runs=3, random_state=0).fit(flowers)
    own = pd.DataFrame({"petals": "five", "verdict": "wrong"}, index=flowers.index)
    file = tmp_path / "again.html"
    write_report(file, cake.to_frame(), flowers, original=own, unasked=["verdict"])
    page = visit(file)
    page.locator("#points tbody button, #points tbody a").first.click()
    assert "verdict" in page.locator("body").inner_text()  # the report itself shows it
    page.keyboard.press("Escape")
    text = review(page).locator("#review").inner_text()
    assert "five" in text
    assert "verdict" not in text
    with pytest.raises(ValueError, match=r"unasked=\['what'\]: original has no such column"):
        build_report(cake.to_frame(), original=own, unasked=["what"])
