"""The report as people use it, in a real browser: colours, profiles, the address, headings."""

import re

import numpy as np
import pandas as pd
import pytest
from browsing import column, download, number, settle, slide
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs

from clustertrust import CAKE, _palette
from clustertrust.reasons import first_threshold
from clustertrust.report import build_report, write_report
from clustertrust.report.profiles import effect_sizes, moments_of, share_differences

PIXEL = """([left, top]) => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 2000;
  canvas.getContext("2d").drawImage(document.querySelector("#scatter canvas"), 0, 0);
  return [...canvas.getContext("2d").getImageData(left, top, 1, 1).data].slice(0, 3);
}"""


@pytest.fixture(scope="module")
def used(flowers, tmp_path_factory):
    cake = CAKE(3, random_state=0).fit(flowers)
    file = tmp_path_factory.mktemp("use") / "iris.html"
    cake.report(file, flowers)
    return cake, file


def rgb(color):
    return [int(color[at : at + 2], 16) for at in (1, 3, 5)]


# The first threshold


def test_the_first_threshold_is_half_of_the_median():
    assert first_threshold([0.2, 0.8, 0.4]) == 0.2
    assert first_threshold([1.0] * 5) == 0.5
    assert first_threshold([0.0, 0.0, 0.9]) == 0.0
    assert first_threshold([np.nan, 0.5, 0.9]) == 0.35  # rounded down, and 0.7 / 2 is not 0.34
    assert first_threshold([np.nan]) == 0.5
    scores = np.random.default_rng(0).random(999)
    assert first_threshold(scores) == pytest.approx(np.median(scores) / 2, abs=0.01)


def test_well_separated_clusters_are_kept_at_first():
    """In many columns silhouettes are low: a threshold of 0.5 drops most points of clear blobs."""
    X, _ = make_blobs(300, centers=4, n_features=60, cluster_std=6.0, random_state=0)
    cake = CAKE(4, random_state=0).fit(X)
    assert (cake.scores_ > 0.5).mean() < 0.5
    contents = build_report(cake.to_frame())
    assert (cake.scores_ > contents["threshold"]).mean() > 0.95
    assert contents["threshold"] == first_threshold(cake.scores_)
    assert "half" in contents["threshold_origin"]
    assert build_report(cake.to_frame(), threshold=0.5)["threshold_origin"] == ""


# Profiles


@pytest.mark.parametrize("kind", ["dense", "sparse", "missing"])
def test_effect_sizes_are_cohens(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(1e6 if kind == "dense" else 0, 1, (90, 4)) * [1, 2, 0.1, 1]
    codes = rng.integers(-1, 3, 90)
    X[codes == 1, 0] += 3
    if kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    found, inside, outside = effect_sizes(
        moments_of(sparse.csr_matrix(X) if kind == "sparse" else X, codes, 3)
    )
    for cluster in range(3):
        for j in range(4):
            a, b = X[codes == cluster, j], X[(codes >= 0) & (codes != cluster), j]
            a, b = a[~np.isnan(a)], b[~np.isnan(b)]
            pooled = ((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / (
                len(a) + len(b) - 2
            )
            assert found[cluster, j] == pytest.approx(
                (a.mean() - b.mean()) / np.sqrt(pooled), rel=1e-6
            )
            assert (inside[cluster, j], outside[cluster, j]) == pytest.approx((a.mean(), b.mean()))


def test_effects_of_constant_columns_are_finite():
    X = np.array([[1.0, 5.0], [1.0, 5.0], [2.0, 5.0], [2.0, 5.0]])
    found, _, _ = effect_sizes(moments_of(X, np.array([0, 0, 1, 1]), 2))
    assert_allclose(found, [[-99, 0], [99, 0]])
    contents = build_report(pd.DataFrame({"label": [0, 0, 1, 1], "score": 0.5}), X)
    assert [name for name, *_ in contents["profiles"]["columns"][0]] == ["column 0"]


def test_shares_of_categories():
    column = pd.Series(["a", "a", "b", None, "b", "c"])
    names, inside, outside = share_differences(column, np.array([0, 0, 0, 0, 1, -1]), 2)
    assert names == ["a", "b"]  # c belongs to no cluster
    assert_allclose(inside, [[2 / 3, 1 / 3], [0, 1]])
    assert_allclose(outside, [[0, 1], [2 / 3, 1 / 3]])


def test_a_column_of_yes_and_no_sets_a_cluster_apart_once():
    member = pd.Series(["yes", "no"]).repeat(20).to_numpy()
    X = pd.DataFrame({"member": (member == "yes") * 1.0, "age": np.arange(40.0) % 7})
    table = pd.DataFrame({"label": (member == "yes") * 1, "score": 0.5})
    own = pd.DataFrame({"member": member, "age": X["age"]})
    profiles = build_report(table, X, original=own)["profiles"]
    assert [name for name, *_ in profiles["columns"][0]] == ["age"]
    assert sorted(entry[:3] for entry in profiles["categories"][1]) == [
        ["member", "no", 0.0],
        ["member", "yes", 1.0],
    ]


def test_a_chosen_cluster_has_a_profile(visit, used, flowers):
    cake, file = used
    page = visit(file)
    assert page.locator("#profile-title").inner_text() == "What sets each cluster apart"
    assert page.locator("#profile dt").all_inner_texts() == ["0", "1", "2"]
    page.locator("#profile").get_by_role("button", name="2", exact=True).click()
    settle(page)
    assert page.locator("#profile-title").inner_text() == "What sets cluster 2 apart"
    effect, inside, outside = effect_sizes(moments_of(flowers.to_numpy(), cake.labels_, 3))
    order = np.argsort(-np.abs(effect[2]))
    rows = [row.inner_text().split("\t") for row in page.locator("#profile tbody tr").all()]
    assert [row[0] for row in rows] == flowers.columns[order].tolist()
    for row, j in zip(rows, order, strict=True):
        numbers = [float(cell.replace("−", "-").replace("+", "")) for cell in row[1:]]
        assert numbers[:2] == pytest.approx([inside[2, j], outside[2, j]], rel=0.01)
        assert numbers[2] == pytest.approx(effect[2, j], abs=0.051)


# Colours


def test_points_take_the_colour_of_what_is_chosen(visit, tmp_path):
    X = pd.DataFrame({"x": [0.0, 1.0, 0.0, 1.0], "y": [0.0, 0.0, 1.0, 1.0]})
    frame = pd.DataFrame(
        {
            "label": ["a", "b", "a", "b"],
            "score": [0.1, 0.6, 0.9, 0.8],
            "stability": [0.2, 1.0, 1.0, 1.0],
            "geometry": [0.0, 0.5, 0.9, 0.8],
        }
    )
    file = tmp_path / "report.html"
    write_report(file, frame, X)
    page = visit(file)
    box = page.locator("#scatter canvas[tabindex]").bounding_box()

    def colors():
        settle(page)
        places = [(0, 0), (1, 0), (0, 1), (1, 1)]
        at = [
            [
                round(56 + (x + 0.03) / 1.06 * (box["width"] - 66)),
                round(8 + (1.03 - y) / 1.06 * (box["height"] - 48)),
            ]
            for x, y in places
        ]
        return [page.evaluate(PIXEL, place) for place in at]

    def legend():
        return page.locator("#legend").inner_text().split("\n")

    page.locator("#colour").select_option("cluster")
    first, second = rgb(_palette.CATEGORIES[0]), rgb(_palette.CATEGORIES[1])
    assert colors() == [first, second, first, second]
    assert legend() == ["cluster", "a", "b"]
    page.locator("#colour").select_option("reason")
    found = colors()
    assert found[1] == found[2] == found[3] == rgb(_palette.CATEGORIES[0])  # core
    assert found[0] == rgb(_palette.CATEGORIES[2])
    assert legend() == ["reason", "core", "boundary"]
    slide(page, 0.7)  # reasons follow the threshold
    assert colors()[1] == rgb(_palette.CATEGORIES[1])
    page.locator("#colour").select_option(label="x")
    low, high = rgb(_palette.NUMBERS[0]), rgb(_palette.NUMBERS[-1])
    assert colors() == [low, high, low, high]
    assert legend() == ["x", "0", "1"]
    page.locator("#colour").select_option("part:stability")
    assert colors() == [low, high, high, high]
    page.locator("#colour").select_option("score")
    settle(page)
    assert "kept" in legend()


def test_one_palette(visit, used):
    page = visit(used[1])
    found = page.evaluate(
        "['kept', 'dropped', 'category-3'].map("
        "(name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim())"
    )
    assert found == [_palette.LIGHT["kept"], _palette.LIGHT["dropped"], _palette.CATEGORIES[3]]
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    stops = [to_hex(colormaps["viridis"](j / 8)) for j in range(9)]
    for ours, theirs in zip(_palette.NUMBERS, stops, strict=True):
        assert_allclose(rgb(ours), rgb(theirs), atol=2)


@pytest.mark.parametrize(
    ("colors", "card"), [(_palette.LIGHT, "#ffffff"), (_palette.DARK, "#191f28")]
)
def test_letters_and_points_can_be_seen(colors, card):
    def luminance(color):
        parts = np.array(rgb(color)) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    def contrast(color):
        light, dark = sorted((luminance(color), luminance(card)), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    assert min(contrast(colors[name]) for name in ("kept-text", "dropped-text")) >= 4.5
    # Between two stops of a ramp the contrast lies between theirs.
    points = ("kept", "kept-soft", "dropped", "dropped-soft", "unscored")
    assert min(contrast(colors[name]) for name in points) >= 3


# Machado, Oliveira and Fernandes (2009): what linear RGB becomes without one kind of cone
SIMULATIONS = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


@pytest.mark.parametrize("colors", [_palette.LIGHT, _palette.DARK])
@pytest.mark.parametrize("simulation", SIMULATIONS)
def test_kept_and_dropped_differ_for_every_eye(colors, simulation):
    """In CIE Lab a distance of 2 is just seen; kept and dropped are at least 65 apart."""

    def lab(color):
        parts = np.array(rgb(color)) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        seen = np.clip(np.array(SIMULATIONS[simulation]) @ linear, 0, 1)
        to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
        xyz = np.array(to_xyz) @ seen / [0.9505, 1, 1.089]
        f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
        return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])

    # The ramp of plots: what is low differs from what is high, step by step.
    ramp = _palette.LIGHT_SCORES if colors is _palette.LIGHT else _palette.DARK_SCORES
    assert min(np.linalg.norm(lab(a) - lab(b)) for a, b in zip(ramp, ramp[2:], strict=False)) > 30
    for kept in ("kept", "kept-soft"):
        for dropped in ("dropped", "dropped-soft"):
            assert np.linalg.norm(lab(colors[kept]) - lab(colors[dropped])) > 65


# The address


def test_the_address_survives_a_reload(visit, used):
    cake, file = used
    page = visit(file)
    assert "#" not in page.url
    slide(page, 0.61)
    page.locator("#clusters").get_by_role("button", name="2", exact=True).click()
    page.locator("#colour").select_option("cluster")
    page.locator("#points tbody button").first.click()
    settle(page)
    name = page.locator("#point h2").inner_text()
    before = page.locator("#listed").inner_text(), number(page, "#kept")
    page.reload()
    page.wait_for_selector("body.ready")
    settle(page)
    assert page.locator("#number").input_value() == "0.61"
    assert (page.locator("#listed").inner_text(), number(page, "#kept")) == before
    assert before[0] == f"{(cake.labels_ == 2).sum()} points in cluster 2"
    assert page.locator("#point h2").inner_text() == name
    assert page.locator("#colour").input_value() == "cluster"


def test_a_view_and_the_review_survive_a_reload(visit, used):
    page = visit(used[1])
    page.locator("#zoom-in").click()
    page.locator("#zoom-in").click()
    settle(page)
    page.locator("#in-view").click()
    page.wait_for_selector("#clear")
    before = page.locator("#listed").inner_text()
    assert before.endswith("in view")
    page.reload()
    page.wait_for_selector("#clear")
    assert page.locator("#listed").inner_text() == before
    assert set(download(page, "#download-table")["flower"])
    page.locator("#review-open").click()
    settle(page)  # the address is written with the next frame
    page.reload()
    page.wait_for_selector("body.ready")
    assert page.locator("#review").is_visible()
    page.keyboard.press("Escape")
    settle(page)
    assert "review" not in page.url


def test_nonsense_in_the_address_is_ignored(visit, used):
    page = visit(used[1])
    kept = number(page, "#kept")
    for words in ("threshold=x&cluster=9&point=9999", "lasso=7,1,2&colour=nothing", "view=a,b&x=%"):
        page.evaluate("(words) => { location.hash = words; }", words)
        page.reload()
        page.wait_for_selector("body.ready")
        assert number(page, "#kept") == kept
        assert page.locator("#clear").count() == 0


# Said once, and where it belongs


def test_the_heading_follows_the_selection(visit, used):
    page = visit(used[1])

    def heading():
        settle(page)
        return page.locator("#points-title").inner_text()

    assert heading() == "Dropped points, the most ambiguous first"
    page.locator("#show").select_option("kept")
    assert heading() == "Kept points, the most ambiguous first"
    page.locator("#clusters").get_by_role("button", name="1", exact=True).click()
    assert heading() == "Points in cluster 1, the most ambiguous first"
    page.locator('#points th[data-key="score"] button').click()
    assert heading() == "Points in cluster 1, the surest first"
    page.locator('#points th[data-key="geometry"] button').click()
    assert heading() == "Points in cluster 1, by geometry"


def test_where_nothing_is_dropped_the_table_has_all_points(visit, tmp_path):
    write_report(tmp_path / "sure.html", pd.DataFrame({"label": [0, 1, 1], "score": 0.9}))
    page = visit(tmp_path / "sure.html")
    assert page.locator("#points-title").inner_text() == "All points, the most ambiguous first"
    assert len(column(page, "id")) == 3


def test_what_says_nothing_is_not_repeated(visit, used, tmp_path):
    cake, file = used
    page = visit(file)
    page.locator("#show").select_option("all")
    errors = dict(zip(column(page, "id"), column(page, "standard_error"), strict=True))
    frame = cake.to_frame()
    for name, text in errors.items():
        expected = frame.loc[name, "standard_error"]
        assert text == (f"{max(expected, 0.001):.3f}" if expected > 0 else "")
    votes = dict(zip(column(page, "id"), column(page, "votes"), strict=True))
    for name, text in votes.items():
        assert (text == "all") == (frame.loc[name, "consensus_strength"] == 1)
    assert page.locator("#reasons dt").count() == len(
        set(page.locator("#reasons dt").all_inner_texts())
    )
    # Where no run disagrees anywhere, the columns are not there.
    agreed = frame.assign(standard_error=0.0, consensus_strength=1.0, margin=1.0)
    write_report(tmp_path / "agreed.html", agreed)
    page.goto((tmp_path / "agreed.html").as_uri())
    page.wait_for_selector("body.ready")
    there = page.locator("#points th").evaluate_all("(all) => all.map((th) => th.dataset.key)")
    assert not {"standard_error", "votes"} & set(there)


def test_a_boundary_with_all_votes_speaks_of_distances(visit, tmp_path):
    frame = pd.DataFrame(
        {
            "label": [0, 0, 0, 1],
            "score": [0.0, 0.0, 0.0, 0.9],
            "stability": [1.0, 0.905, 0.5, 1.0],
            "geometry": [0.0, 0.0, 0.0, 0.9],
            "silhouette_mean": [-0.1, -0.1, 0.0, 0.9],
            "silhouette_std": [0.0, 0.0, 0.1, 0.0],
            "consensus_strength": [1.0, 0.95, 0.5, 1.0],
            "rival": [1, 1, 1, 0],
            "margin": [1.0, 0.9, 0.0, 1.0],
        }
    )
    file = tmp_path / "report.html"
    write_report(file, frame)
    page = visit(file)
    shown = dict(zip(column(page, "id"), column(page, "reason"), strict=True))
    assert shown == {
        "0": "Boundary between 0 and 1, by distance",
        "1": "Boundary between 0 and 1, by distance",
        "2": "Boundary between 0 and 1",
    }
    texts = []
    for name in "012":
        page.locator("#points").get_by_role("button", name=name, exact=True).click()
        texts.append(page.locator("#point .why").inner_text())
        page.keyboard.press("Escape")
    assert texts[0].endswith("all votes are for 0, but 1 lies about as near.")
    assert texts[1].endswith("95% of the votes are for 0, but another cluster lies about as near.")
    assert "50% and 50% of the votes" in texts[2]


def test_the_plane_is_as_large_as_what_it_shows(visit, used, tmp_path):
    tall = visit(used[1]).locator("#plane").bounding_box()["height"]
    X, _ = make_blobs(60, centers=2, random_state=0)
    flat = CAKE(2, random_state=0).fit(X)
    assert (flat.stability_ == 1).all()
    flat.report(tmp_path / "flat.html", X)
    page = visit(tmp_path / "flat.html")
    assert page.locator("#plane").bounding_box()["height"] < 0.7 * tall
    plane = build_report(flat.to_frame())["view"]
    assert_allclose([plane["low"][1], plane["high"][1]], [0.9, 1.0])
    assert re.match("geometry", plane["names"][0])


# The user's own columns


def test_categories_colour_points_and_set_clusters_apart(visit, used, flowers, tmp_path):
    cake, _ = used
    species = np.take(load_iris().target_names, load_iris().target)
    own = pd.DataFrame(
        {"species": species, "width": flowers.iloc[:, 3].astype(str), "name": flowers.index},
        index=flowers.index,
    )
    cake.report(tmp_path / "own.html", original=own)
    page = visit(tmp_path / "own.html")
    choices = page.locator("#colour option").all_inner_texts()
    assert "species" in choices
    assert not {"width", "name"} & set(choices)  # numbers, and as many names as points
    page.locator("#colour").select_option(label="species")
    settle(page)
    assert page.locator("#legend").inner_text().split("\n") == [
        "species",
        *load_iris().target_names,
    ]
    page.locator("#clusters").get_by_role("button", name="1", exact=True).click()
    settle(page)
    rows = [row.inner_text().split("\t") for row in page.locator("#profile tbody tr").all()]
    inside = (species[cake.labels_ == 1] == "virginica").mean()
    outside = (species[cake.labels_ != 1] == "virginica").mean()
    shares = [f"{100 * share:.0f}%" for share in (inside, outside)]
    assert ["species: virginica", *shares] in [row[:3] for row in rows]
    assert not any(row[0].startswith(("width", "name")) for row in rows)
