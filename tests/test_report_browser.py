"""The report in a real browser, offline: what a person clicks does what Python computes."""

import re
import time

import numpy as np
import pandas as pd
import pytest
from browsing import column, download, number, settle, slide, violations
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_blobs

from clustertrust import CAKE, confidence
from clustertrust.report import write_report

HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
)


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    """A fitted estimator and its report."""
    X = load_iris(as_frame=True).data
    cake = CAKE(3, random_state=0).fit(
        X.set_axis(pd.Index([f"flower {i}" for i in range(len(X))], name="flower"))
    )
    file = tmp_path_factory.mktemp("report") / "iris.html"
    cake.report(file, title="Iris", threshold=0.5)
    return cake, file


def lasso(page, corners):
    """Draw around shares of the scatter."""
    box = page.locator("#scatter").bounding_box()
    (left, top), *others = [
        (box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in corners
    ]
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in others:
        page.mouse.move(x, y, steps=3)
    page.mouse.up()
    page.wait_for_selector("#clear")


def test_the_slider_moves_everything_to_what_python_computes(visit, iris):
    cake, file = iris
    page = visit(file)
    assert page.locator("h1").inner_text() == "Iris"
    boundary = float(cake.scores_[20])  # a score that is its own threshold: not kept
    for threshold in (0.5, 0.8, 0, 1, 0.31, boundary):
        if threshold == boundary:
            page.locator("#number").fill(repr(threshold))
            settle(page)
        else:
            slide(page, threshold)
        kept = cake.scores_ > threshold
        assert (number(page, "#kept"), number(page, "#dropped")) == (kept.sum(), (~kept).sum())
        for cluster in range(3):
            cells = page.locator(f'#clusters tr[data-cluster="{cluster}"] td').all_inner_texts()
            members = cake.labels_ == cluster
            assert (cells[0], int(cells[1])) == (str(cluster), members.sum())
            assert int(cells[2].split()[0]) == (members & kept).sum()
            assert cells[3] == f"{cake.scores_[members].mean():.2f}"
        assert page.locator("#listed").inner_text().startswith(f"{(~kept).sum()} point")
    slide(page, 0.4)
    heights = dict.fromkeys(("kept", "dropped"), 0.0)
    for name in heights:
        rects = page.locator(f"#histogram rect.{name}")
        heights[name] = sum(rects.evaluate_all("(all) => all.map((r) => r.height.baseVal.value)"))
    # 0.4 is the border of a bin, so the area of each colour is the number of its points.
    expected = (cake.scores_ > 0.4).sum() / (cake.scores_ <= 0.4).sum()
    assert heights["kept"] / heights["dropped"] == pytest.approx(expected, rel=0.02)
    # Inside a bar the threshold splits it: the part below is not drawn as kept.
    fullest = np.histogram(cake.scores_, 25, (0, 1))[0].argmax()
    slide(page, round((fullest + 0.5) / 25, 2))
    cut = float(page.locator("#histogram line.cut").get_attribute("x1"))
    sides = "(all) => all.map(({ x, y, width }) => [x, y, width].map((one) => one.baseVal.value))"
    below = page.locator("#histogram rect.dropped").evaluate_all(sides)[-1]
    above = page.locator("#histogram rect.kept").evaluate_all(sides)[0]
    assert below[0] + below[2] == pytest.approx(cut)
    assert above[0] == pytest.approx(cut)
    assert above[1] == pytest.approx(below[1])


def test_the_table_sorts_pages_and_searches(visit, iris):
    cake, file = iris
    page = visit(file)
    frame = cake.to_frame()
    worst = frame.sort_values(["score", "stability"], kind="stable")
    assert column(page, "id") == worst.index[:25].tolist()
    page.locator("#next").click()
    assert column(page, "id") == worst[worst["score"] <= 0.5].index[25:50].tolist()
    page.locator("#show").select_option("all")
    for key in ("geometry", "score", "standard_error"):
        page.locator(f'#points th[data-key="{key}"] button').click()
        shown = np.array([text or 0 for text in column(page, key)], dtype=float)
        assert shown == pytest.approx(np.sort(frame[key])[:25], abs=5e-4)
        page.locator(f'#points th[data-key="{key}"] button').click()
        assert (
            page.locator(f'#points th[data-key="{key}"]').get_attribute("aria-sort") == "descending"
        )
        assert np.array(column(page, key), dtype=float) == pytest.approx(
            np.sort(frame[key])[::-1][:25], abs=5e-4
        )
    page.locator('#points th[data-key="label"] button').click()
    assert (
        column(page, "id")
        == frame.sort_values(["label", "score", "stability"], kind="stable").index[:25].tolist()
    )
    page.locator('#points th[data-key="id"] button').click()
    assert column(page, "id")[:3] == ["flower 0", "flower 1", "flower 2"]  # 2 before 10
    page.locator("#search").fill("FLOWER 14")
    assert sorted(column(page, "id")) == sorted(name for name in frame.index if "flower 14" in name)
    page.locator("#search").fill("flower 50")
    assert column(page, "votes")[0].split("\n")[-1] == "1: 55%, 2: 45%"
    assert column(page, "reason") == ["Boundary between 1 and 2"]
    assert "does not clearly belong" in page.locator("#reasons").inner_text()  # once, below
    page.locator("#search").fill("")
    # What the page says follows the threshold, and so does a search for it.
    for threshold in (0.3, 0.8):
        slide(page, threshold)
        table = cake.to_frame(threshold)
        for reason in ("core", "stable but isolated", "boundary", "fringe"):
            page.locator("#search").fill(f"{reason}:")
            assert page.locator("#listed").inner_text().split()[0] == str(
                (table["reason"] == reason).sum()
            )
            shown = [text for text in column(page, "reason") if text]
            assert all(text.lower().startswith(reason) for text in shown)
    slide(page, 0.5)
    page.locator("#search").fill("nobody")
    assert page.locator("#points tbody").inner_text() == "No such points."


def test_the_download_holds_the_kept_rows(visit, iris):
    cake, file = iris
    page = visit(file)
    slide(page, 0.62)
    found = download(page, "#download").set_index("flower")
    expected = cake.to_frame(0.62).query("score > 0.62").astype({"reason": object})
    pd.testing.assert_frame_equal(found, expected, rtol=1e-6, check_dtype=False)
    assert (found["score"] == expected["score"]).all()  # to the last bit
    page.locator("#search").fill("flower 1")
    listed = download(page, "#download-table")
    below = cake.to_frame().query("score <= 0.62")
    assert set(listed["flower"]) == {name for name in below.index if "flower 1" in name}
    told = cake.to_frame(0.62)["reason"].astype(str)
    assert listed.set_index("flower")["reason"].to_dict() == told[listed["flower"]].to_dict()


def test_clusters_lassos_and_views_select(visit, iris):
    cake, file = iris
    page = visit(file)
    page.locator("#clusters").get_by_role("button", name="1", exact=True).click()
    page.wait_for_selector("#clear")
    assert (
        page.locator("#listed").inner_text() == f"{(cake.labels_ == 1).sum()} points in cluster 1"
    )
    assert set(column(page, "label")) == {"1"}
    page.locator("#clear").click()
    page.wait_for_selector("#clear", state="detached")
    page.locator("#lasso").click()
    # Cluster 0 lies apart on the left.
    lasso(page, [(0.05, 0.02), (0.35, 0.02), (0.35, 0.9), (0.05, 0.9)])
    assert page.locator("#listed").inner_text() == "50 points in the lasso"
    assert (
        page.locator("#chosen")
        .inner_text()
        .startswith("50 points in the lasso: 50 kept, 0 not; all in cluster 0")
    )
    assert sorted(download(page, "#download-table")["flower"]) == sorted(
        f"flower {i}" for i in range(50)
    )
    page.keyboard.press("Escape")
    page.wait_for_selector("#clear", state="detached")
    # The same without a pointer: zoom in by keys, then select what is in view.
    page.locator("#scatter canvas[tabindex]").focus()
    for key in ["+"] * 4 + ["ArrowLeft"] * 16:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_selector("#clear")
    assert 0 < int(page.locator("#listed").inner_text().split()[0]) < 50
    assert set(column(page, "label")) == {"0"}


def test_a_point_is_explained(visit, iris):
    cake, file = iris
    page = visit(file)
    assert not page.locator("#point").is_visible()
    page.get_by_role("button", name="flower 50").press("Enter")
    text = page.locator("#point").inner_text()
    assert page.evaluate("document.activeElement.id") == "point-title"
    assert cake.explain(50)._verdict() in text
    assert "Cluster 1, rival 2" in text
    row = page.locator("#point .values tbody tr").first.inner_text().split("\t")
    means = load_iris(as_frame=True).data.groupby(cake.labels_).mean()["sepal length (cm)"]
    assert row[0] == "sepal length (cm)"
    assert np.array(row[1:], dtype=float) == pytest.approx([7.0, means[1], means[2]], abs=0.005)
    page.keyboard.press("Escape")
    assert not page.locator("#point").is_visible()
    assert page.evaluate("document.activeElement.textContent") == "flower 50"


def test_percentages_of_one_whole_add_up(visit, tmp_path):
    """Each rounded alone, 133 and 67 of 200 gave 67 and 34%, and 4, 1 and 1 of 6 runs 67, 17, 17."""
    table = pd.DataFrame({"label": [0] * 100 + [1] * 100, "score": [0.9] * 133 + [0.1] * 67})
    table["rival"], table["consensus_strength"], table["margin"] = 2, 4 / 6, 3 / 6
    table["stability"], table["geometry"] = 0.4, 0.5
    table["reason"] = "boundary"
    votes = pd.DataFrame([[4 / 6, 1 / 6, 1 / 6]] * 100 + [[1 / 6, 4 / 6, 1 / 6]] * 100)
    write_report(tmp_path / "r.html", table, votes=votes, threshold=0.5)
    page = visit(tmp_path / "r.html")
    shares = [page.locator(f"#{name}-share").inner_text() for name in ("kept", "dropped")]
    assert shares in (["67%", "33%"], ["66%", "34%"])
    page.locator("#points tbody tr").first.get_by_role("button").first.click()
    listed = page.locator("#points tbody tr .shares").first.inner_text()
    for text in (listed, page.locator("#point").inner_text().split("Votes of the runs")[1]):
        found = [int(share) for share in re.findall(r"(\d+)%", text)][:3]
        assert sorted(found, reverse=True) == [67, 17, 16]


def test_the_users_own_columns_are_shown_searched_and_downloaded(visit, tmp_path):
    table = pd.DataFrame({"label": [0, 1, 1], "score": [0.9, 0.7, 0.6]}, index=["a", "b", "c"])
    own = pd.DataFrame({"city": ["Oslo", HOSTILE, None], "score": ["x", "y", "z"]})
    write_report(tmp_path / "r.html", table, original=own)
    page = visit(tmp_path / "r.html")
    found = download(page, "#download").set_index("id")
    assert found["city"].fillna("").tolist() == ["Oslo", HOSTILE, ""]
    assert found["score_input"].tolist() == ["x", "y", "z"]
    assert_allclose(found["score"], table["score"])
    assert page.title() != "owned"


def test_a_third_component_is_shown(visit, tmp_path):
    X = load_iris(as_frame=True).data
    cake = CAKE(3, fusion="refined", random_state=0).fit(X)
    cake.report(tmp_path / "refined.html", X)
    page = visit(tmp_path / "refined.html")
    worst = int(column(page, "id")[0])
    assert column(page, "persistence")[0] == f"{cake.persistence_[worst]:.3f}"
    page.locator("#points tbody tr").first.get_by_role("button").first.click()
    assert "Persistence" in page.locator("#point").inner_text()


def test_second_opinions_are_told(visit, tmp_path):
    table = pd.DataFrame({"label": [0, 0, 1, 1], "score": [0.1, 0.9, 0.8, 0.7]})
    table["second_opinions"], table["second_choice"] = [0.25, 1.0, 1.0, 1.0], [1, 0, 1, 1]
    write_report(tmp_path / "combined.html", table, threshold=0.5)
    page = visit(tmp_path / "combined.html")
    assert column(page, "second_opinions") == ["0.250"]
    page.get_by_role("button", name="0", exact=True).last.click()
    told = "Other methods: 25% of their runs give it this cluster; most of them choose 1."
    assert told in page.locator("#point").inner_text()


def test_the_pointer_finds_points_and_clusters(visit, tmp_path):
    X = [[0.0, 10.0], [1.0, 10.0], [0.0, 20.0], [1.0, 20.0], [0.4, 12.0]]
    frame = pd.DataFrame(
        {"label": list("aabbb"), "score": [0.1, 0.6, 0.9, 0.8, 0.3]}, index=list("vwxyz")
    )
    file = tmp_path / "report.html"
    write_report(file, frame, X)
    page = visit(file)
    page.locator("#scatter").scroll_into_view_if_needed()
    box = page.locator("#scatter canvas[tabindex]").bounding_box()

    def place(x, y):  # margins of the plot, and a window that is a little larger than the data
        left = box["x"] + 56 + (x + 0.03) / 1.06 * (box["width"] - 66)
        return left, box["y"] + 8 + (1.03 - y) / 1.06 * (box["height"] - 48)

    for name, spot in zip("vxyz", [(0, 0), (0, 1), (1, 1), (0.4, 0.2)], strict=True):
        page.mouse.move(*place(*spot))
        assert page.locator("#tip b").inner_text() == name
        page.mouse.click(*place(*spot))
        assert page.locator("#point h2").inner_text() == f"id {name}"
        page.keyboard.press("Escape")
    page.mouse.move(*place(0.7, 0.7))
    assert not page.locator("#tip").is_visible()
    page.mouse.click(*place(0.4, 1))  # the name of cluster b, at the middle of its points
    page.wait_for_selector("#clear")
    assert page.locator("#listed").inner_text() == "3 points in cluster b"
    # A step in a colour: the point at 0.6 turns from blue to orange as the threshold reaches it.
    colour = f"""() => {{
      const canvas = document.createElement("canvas"); // a copy: to read twice from one canvas makes Chromium complain
      canvas.width = canvas.height = 2000;
      canvas.getContext("2d").drawImage(document.querySelector("#scatter canvas"), 0, 0);
      const [left, top] = {[round(place(1, 0)[0] - box["x"]), round(place(1, 0)[1] - box["y"])]};
      return [...canvas.getContext("2d").getImageData(left, top, 1, 1).data];
    }}"""
    page.locator("#clear").click()
    slide(page, 0.59)
    red, _, blue, _ = page.evaluate(colour)
    assert blue > red
    slide(page, 0.6)
    red, _, blue, _ = page.evaluate(colour)
    assert red > blue


def test_hostile_text_does_nothing(visit, tmp_path):
    n = 30
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "label": [HOSTILE, "=b"] * 15,
            "score": rng.random(n),
            "stability": rng.random(n),
            "geometry": rng.random(n),
            "rival": ["=b", HOSTILE] * 15,
        },
        index=pd.Index([f'{HOSTILE}, "{i}"\n' for i in range(n)], name=HOSTILE),
    )
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=[HOSTILE, "b", "c"])
    votes = pd.DataFrame({HOSTILE: rng.random(n), "=b": rng.random(n)})
    file = tmp_path / "hostile.html"
    write_report(file, frame, X, votes=votes, settings={HOSTILE: HOSTILE}, title=HOSTILE)
    page = visit(file)
    assert page.locator("h1").inner_text() == HOSTILE
    page.locator("#points tbody button").first.click()
    assert HOSTILE in page.locator("#point").inner_text()
    page.locator("#clusters tbody button").first.click()
    page.locator("summary").last.click()
    assert HOSTILE in page.locator("#settings").inner_text()
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert page.title() == HOSTILE
    slide(page, 0)
    found = download(page, "#download")
    assert found[HOSTILE].tolist() == frame.index.tolist()
    assert found["label"].tolist() == frame["label"].tolist()


def test_points_without_score_or_cluster(visit, tmp_path):
    runs = np.array(
        [[0, 0, 0, 1, 1, 1, -1, -1], [0, 0, 1, 1, 1, 1, 1, -1], [0, 0, 0, 1, 1, 1, -1, -1]]
    ).T
    X = np.array([[0.0, 0], [1, 0], [2, 1], [5, 1], [6, 0], [7, 0], [9, 9], [3, 3]])
    with pytest.warns(UserWarning, match="fewer than two runs"):
        result = confidence(X, runs)
    file = tmp_path / "report.html"
    result.report(file, X, threshold=0.5)
    page = visit(file)
    kept = result.scores > 0.5
    unscored = np.isnan(result.scores)
    assert unscored.sum() == 2
    assert number(page, "#kept") == kept.sum()
    assert number(page, "#dropped") == (~kept & ~unscored).sum()
    assert number(page, "#unscored") == 2
    assert page.locator('#clusters tr[data-cluster="none"] td').all_inner_texts()[1] == str(
        (result.labels < 0).sum()
    )
    assert page.locator("#listed").inner_text().startswith(f"{(~kept & ~unscored).sum()} point")
    page.locator("#show").select_option("unscored")
    assert column(page, "score") == ["–", "–"]
    page.locator("#show").select_option("all")
    assert column(page, "score")[-2:] == ["–", "–"]  # sorted last, up or down
    page.locator('#points th[data-key="score"] button').click()
    assert column(page, "score")[-2:] == ["–", "–"]
    listed = download(page, "#download-table").sort_values("id")
    assert listed["label"].tolist() == result.to_frame()["label"].tolist()
    assert np.isnan(listed["score"]).sum() == 2


def test_a_table_of_labels_and_scores_is_enough(visit, tmp_path):
    file = tmp_path / "report.html"
    write_report(
        file, pd.DataFrame({"label": ["a", "b", "b"], "score": [0.9, 0.2, 0.4]}), threshold=0.5
    )
    page = visit(file)
    assert (number(page, "#kept"), number(page, "#dropped")) == (1, 2)
    assert not page.locator("#plane-card").is_visible()
    assert column(page, "id") == ["1", "2"]
    assert download(page, "#download").to_dict("list") == {
        "id": [0],
        "label": ["a"],
        "score": [0.9],
    }


@pytest.mark.parametrize(
    "how", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}]
)
def test_dark_and_narrow(chromium, iris, how):
    with chromium.new_context(offline=True, **how) as context:
        page = context.new_page()
        page.goto(iris[1].as_uri())
        page.wait_for_selector("body.ready")
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, background[4:-1].split(","))) < 150) == ("color_scheme" in how)
        assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
        for card in page.locator(".card:visible, .clusters .scroll").all():
            assert card.evaluate("(card) => card.scrollWidth <= card.clientWidth + 1"), (
                card.inner_text()[:60]
            )
        assert violations(page) == []
        # Both plots have points: pixels of more than the card's own colour.
        colours = page.locator(".plot canvas:first-child").evaluate_all(
            """(all) => all.map((canvas) => {
              const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
              return new Set(new Uint32Array(data.buffer)).size;
            })"""
        )
        assert len(colours) == 2
        assert min(colours) > 10


def test_a_hundred_thousand_points_and_more(visit, tmp_path):
    n = 120_000
    X, labels = make_blobs(n, centers=8, n_features=2, random_state=0)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "label": labels,
            "score": rng.random(n),
            "stability": rng.random(n),
            "geometry": rng.random(n),
        }
    )
    file = tmp_path / "report.html"
    write_report(file, frame, X)
    assert file.stat().st_size < 8e6
    begin = time.perf_counter()
    page = visit(file)
    assert time.perf_counter() - begin < 20  # about 1 s on an idle machine
    assert "show 100,000 of 120,000 points" in page.locator(".scatter").inner_text()
    slide(page, 0.7)
    kept = frame["score"] > 0.7
    assert number(page, "#kept") == kept.sum()
    assert column(page, "id") == [str(i) for i in frame["score"].sort_values().index[:25]]
    found = download(page, "#download").set_index("id")
    assert (found.pop("reason") == "core").all()
    pd.testing.assert_frame_equal(
        found, frame[kept], rtol=1e-6, check_dtype=False, check_names=False
    )
    # Twenty steps across the scatter with a frame each: slow drawing would take far longer than
    # this.
    box = page.locator("#scatter canvas[tabindex]").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    page.mouse.down()
    begin = time.perf_counter()
    for step in range(20):
        page.mouse.move(box["x"] + 300 + 5 * step, box["y"] + 200)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
    page.mouse.up()
    assert time.perf_counter() - begin < 20


@pytest.mark.parametrize("size", [3.0, 12.0, 13.0, 30.0, 130.0, 0.7, 0.03])
def test_ticks_say_where_they_are(chromium, tmp_path, size):
    X = np.random.default_rng(0).uniform(-size / 2, size / 2, (40, 2))
    file = tmp_path / "report.html"
    confidence(X, [np.arange(40) % 2, np.arange(40) % 2]).report(file, X)
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.add_init_script(
        "window.drawn = []; const canvases = []; const draw = "
        "CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {"
        "  if (!canvases.includes(this.canvas)) canvases.push(this.canvas);"
        "  if (this.textAlign === 'right') window.drawn.push([canvases.indexOf(this.canvas), "
        "text]);"
        "  return draw.call(this, text, x, y); };"
    )
    page.goto(file.as_uri())
    page.wait_for_selector("body.ready")
    drawn = page.evaluate("window.drawn")
    page.close()
    assert {canvas for canvas, _ in drawn} == {0, 1}
    for canvas in (0, 1):
        numbers = [float(text.replace("−", "-")) for where, text in drawn if where == canvas]
        last = (
            numbers[::-1][: numbers[::-1].index(numbers[-1], 1)]
            if numbers.count(numbers[-1]) > 1
            else numbers
        )
        assert len(last) > 2
        assert_allclose(np.diff(last, 2), 0, atol=1e-9)  # steps are equal: 2.5 is not written as 3
