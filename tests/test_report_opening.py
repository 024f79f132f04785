"""What a page says first: verdict, next steps, columns, suspected labels, names and rows to look at."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browsing import column, download, settle, violations
from command import run
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from unpacking import unpack

from clustertrust import CAKE, audit, choose_k, confidence
from clustertrust.reasons import NO_STRUCTURE, WEAK_STRUCTURE, Cut, cut
from clustertrust.report import build_report, details, write_report
from clustertrust.report.cards import category_bars, number_bars
from clustertrust.report.examples import center_distances
from clustertrust.report.opening import above_chance, audit_verdict, next_steps
from clustertrust.report.profiles import moments_of
from clustertrust.tables import TablePreparer

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
    "WjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="module")
def people():
    """A table with numbers, categories, gaps, names, texts and pictures; and its clusters."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 40)
    table = pd.DataFrame(
        {
            "person": [f"P{i:03d}" for i in range(120)],
            "age": np.round(rng.normal([30, 50, 70], 4, (120, 3))[np.arange(120), codes], 1),
            "income": rng.normal([1.0, 9.0, 4.0], 0.6, (120, 3))[np.arange(120), codes],
            "note": [f"{HOSTILE} a longer note on person number {i}" for i in range(120)],
            "photo": PIXEL,
            "plan": np.array(["basic", "plus", "pro"])[codes],
        }
    )
    table.loc[[3, 50], "income"] = np.nan
    table.loc[7, "plan"] = "plus"
    return table


@pytest.fixture(scope="module")
def mixed(people, tmp_path_factory):
    preparer = TablePreparer(id="person", drop=["photo"]).fit(people)
    X = preparer.transform(people)
    cake = CAKE(3, n_runs=5, random_state=0).fit(X)
    frame = cake.to_frame().set_axis(pd.Index(people["person"], name="person"), axis=0)
    numbers = people[["age", "income"]].fillna(people["income"].mean())
    file = tmp_path_factory.mktemp("opening") / "mixed.html"
    options = {"original": people, "plan": preparer.plan_, "chance": 0.3}
    options |= {"null_scores": np.linspace(0, 0.4, 50), "threshold": 0.87}
    write_report(file, frame, numbers.set_axis(frame.index), **options)
    return cake, frame, file, build_report(frame, numbers.set_axis(frame.index), **options)


# The dict, without a browser


@pytest.mark.parametrize(
    ("wrong", "said"), [(0, "No label looks wrong."), (1, "1 of 1,200 labels looks wrong.")]
)
def test_an_audit_says_how_many_labels_look_wrong(wrong, said):
    assert audit_verdict(wrong, 1200) == said


def test_steps_name_what_is_wrong():
    scores, codes = np.array([0.9, 0.8, 0.1, np.nan]), np.array([0, 0, 1, -1])
    check = [{"name": "id2", "role": "check"}, {"name": "age", "role": "clustered"}]

    def steps(share, cards=(), **audit):
        at = Cut(0.5, "chance", 0.5, share)
        audit = {"rows": [], "doubtful": []} | audit if audit else None
        found = next_steps(at, scores, codes, ["a", "b"], list(cards), audit)
        return [(step["to"], step["text"]) for step in found]

    clear = steps(0.6)
    assert [to for to, _ in clear] == ["clusters", "review"]
    assert clear[0][1].startswith("Cluster b holds one row")
    assert clear[1][1].startswith("Review 3 rows by hand")
    none = steps(0.05, check)
    assert [to for to, _ in none] == ["columns", "", "clusters"]
    assert "id2" in none[0][1]
    assert "choose-k" in none[1][1]
    looked_at = steps(0.6, rows=[0, 2])
    assert looked_at[0] == ("suspects", "Look at the 2 rows whose label looks wrong.")
    assert looked_at[1][1] == "Cluster b holds one row: check whether its name is misspelt."
    both = steps(0.6, doubtful=["a", "b"])[0]
    assert both == ("suspects", "Read the verdicts on a and b: they may not be separate clusters.")


def test_bars_hold_every_value_once():
    rng = np.random.default_rng(0)
    for values in (
        rng.normal(size=500),
        rng.pareto(1.0, 400) * 1e6,
        1.7e9 + rng.integers(0, 900, 300),
        np.array([1e300, -1e300, 0.0, np.nan]),
        rng.integers(0, 5, 60).astype(float),
    ):
        bars = number_bars(values)
        there = np.isfinite(values)
        assert (bars.codes[there] < len(bars.texts)).all()
        assert (bars.codes[~there] == 255).all()
        assert len(set(bars.texts)) == len(bars.texts)
        order = np.argsort(values[there], kind="stable")
        assert (np.diff(bars.codes[there][order]) >= 0).all()  # as the values go up, so do the bars
    assert number_bars(np.array([np.nan, np.inf])) is None
    few = number_bars(np.array([3.0, 1.0, 1.0, np.nan]))
    assert (few.texts, few.codes.tolist()) == (["1", "3"], [1, 0, 0, 255])
    names = category_bars(pd.Series(["b", "a", "b", None, ""]))
    assert (names.texts, names.codes.tolist()) == (["b", "a"], [0, 1, 0, 255, 255])


def test_cards_count_each_cluster_as_pandas_does(mixed, people):
    cake, _, _, contents = mixed
    cards = {card["name"]: card for card in contents["cards"]}
    assert next(iter(cards)) == "plan"  # what a person should check comes first
    assert cards["plan"]["used"]
    assert "plan" in cards["plan"]["option"]
    assert contents["steps"][0]["to"] == "columns"
    assert {name: card["role"] for name, card in cards.items()} == {
        "age": "clustered",
        "income": "clustered",
        "plan": "check",  # with three values in three clusters it may be the known answer
        "person": "names",
        "note": "ignored",
        "photo": "ignored",
    }
    assert cards["income"]["missing"] == 2
    assert "standard deviation" in cards["age"]["scale"]
    assert cards["photo"]["bars"] is None
    plan = cards["plan"]["bars"]
    counts = unpack(plan["counts"])
    expected = pd.crosstab(cake.labels_, people["plan"])[plan["texts"]].to_numpy()
    assert_array_equal(counts[:3, :-1], expected)
    codes = unpack(plan["codes"])
    assert [plan["texts"][code] for code in codes] == people["plan"].tolist()
    age = cards["age"]["bars"]
    lows = np.array([float(text.split(" to ")[0]) for text in age["texts"]])
    assert (lows[unpack(age["codes"])] <= people["age"]).all()


def test_the_picture_has_both_distributions(mixed):
    _, frame, _, contents = mixed
    shares = contents["score_shares"]
    counts, _ = np.histogram(frame["score"], bins=40, range=(0, 1))
    assert_allclose(shares["data"], counts / 120, atol=1e-6)
    assert sum(shares["null"][:16]) > 0.95  # up to 0.4
    assert contents["structure"] == "clear"
    assert build_report(frame)["score_shares"] is None
    with pytest.raises(ValueError, match="null_scores has shape"):
        build_report(frame, null_scores=[[0.1]])


@pytest.mark.parametrize("scaled", [False, True])
def test_typical_rows_are_nearest_to_the_centre(scaled):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 3)) * [1, 10, 0.1], rng.integers(-1, 2, 60)
    Z = X / X.std(axis=0) if scaled else X
    expected = np.full(60, np.nan)
    for code in (0, 1):
        expected[codes == code] = np.linalg.norm(
            Z[codes == code] - Z[codes == code].mean(axis=0), axis=1
        )
    for data in (X, sparse.csr_matrix(X)):
        found = center_distances(data, codes, moments_of(data, codes, 2), scaled=scaled)
        assert_allclose(found, expected, rtol=1e-8)
    frame = pd.DataFrame({"label": codes, "score": rng.random(60)})
    frame["label"] = frame["label"].where(codes >= 0)
    rows = build_report(frame, X)["examples"][0]
    nearest = np.linalg.norm(X - X[codes == 0].mean(axis=0), axis=1)
    nearest[codes != 0] = np.inf
    assert rows["typical"] == np.argsort(nearest)[:5].tolist()
    assert not set(rows["typical"]) & set(rows["far"])
    assert frame.loc[rows["doubtful"], "score"].is_monotonic_increasing


def test_names_are_checked(mixed):
    _, frame, _, _ = mixed
    assert build_report(frame, names={0: " young ", 1: ""})["names"] == {"0": "young"}
    with pytest.raises(ValueError, match="names='9' is not a cluster"):
        build_report(frame, names={9: "x"})


def test_large_tables_take_numbers_from_the_values(monkeypatch, visit, tmp_path):
    """A page of 100,000 points has room for 12 MB: numbers are stored once, rare texts left out."""
    monkeypatch.setattr(details, "BYTES", 0)
    monkeypatch.setattr(details, "LEAST_BYTES", 3000)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    own = X.assign(kind=np.repeat(["x", "y"], 150), text=[rng.bytes(40).hex() for _ in range(300)])
    frame = pd.DataFrame({"label": np.repeat([0, 1], 150), "score": 0.9})
    contents = build_report(frame, X, original=own)
    assert [column["name"] for column in contents["original"]] == ["a", "b", "kind"]
    assert [column.get("value") for column in contents["original"]] == [0, 1, None]
    assert "hold 3 of the 4 columns of your table" in contents["notes"][-1]
    write_report(tmp_path / "large.html", frame, X, original=own)
    found = download(visit(tmp_path / "large.html"), "#download")
    assert_allclose(found[["a", "b"]], X, rtol=1e-6)
    assert found["kind"].tolist() == own["kind"].tolist()


def test_texts_of_a_wide_table_are_kept(visit, tmp_path):
    """Of more columns than a page holds, those that were not clustered come first."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 80))).add_prefix("e")
    own = X.assign(text=[f"a paragraph on the subject number {i}" for i in range(60)])
    frame = pd.DataFrame({"label": np.repeat([0, 1], 30), "score": np.linspace(0.1, 0.9, 60)})
    names = [column["name"] for column in build_report(frame, X, original=own)["original"]]
    assert names == [*X.columns[:49], "text"]
    write_report(tmp_path / "wide.html", frame, X, original=own, threshold=0.5)
    page = visit(tmp_path / "wide.html")
    assert page.locator("#profile-title").inner_text() == "What each cluster is about"
    assert page.locator("#profile .quote").count() == 4
    first = page.locator("#points tbody tr").first
    assert first.locator(".quote").inner_text() == own["text"][0]


@given(
    arrays(float, 40, elements=st.floats(0, 1)),
    arrays(int, 40, elements=st.integers(-1, 3)),
    st.floats(0, 1),
)
def test_where_the_data_are_clear_some_cluster_is(scores, codes, chance):
    scores[codes < 0] = np.nan
    at = cut(scores, None, chance, codes)
    shares = above_chance(at, scores, codes, 4)
    assert_allclose(
        shares,
        [np.mean(scores[codes == j] > chance) if (codes == j).any() else 0 for j in range(4)],
        atol=1e-6,
    )
    least = {"none": -1, "weak": NO_STRUCTURE, "clear": WEAK_STRUCTURE}[at.structure]
    assert max(shares) > least
    assert above_chance(cut(scores), scores, codes, 4) is None


@pytest.mark.parametrize(
    ("kept", "said", "kinds"),
    [
        (33, "Clear structure: 33% ", ["Clear clusters"]),
        (20, "Weak structure: 20% ", ["Weak clusters"]),
        (8, "No structure: ", []),
    ],
)
def test_words_for_clusters_agree_with_the_verdict(visit, tmp_path, kept, said, kinds):
    score = np.where(np.arange(300) % 100 < kept, 0.8, 0.2)
    frame = pd.DataFrame({"label": np.repeat([0, 1, 2], 100), "score": score})
    write_report(tmp_path / "page.html", frame, np.arange(600.0).reshape(300, 2), chance=0.5)
    page = visit(tmp_path / "page.html")
    assert page.locator("#verdict").inner_text().startswith(said)
    assert page.locator("#soundness dt").all_inner_texts() == kinds or not kinds
    assert page.locator("#soundness").is_visible() == bool(kinds)


def test_clusters_without_a_row_are_not_counted(visit, tmp_path):
    """Each run has another row of its own in the third cluster."""
    X = make_blobs(30, centers=[[0, 0], [9, 9]], random_state=0)[0]
    runs = [np.where(np.arange(30) == r, 2, X[:, 0] > 4.5) for r in range(5)]
    confidence(X, runs).report(tmp_path / "page.html", X)
    page = visit(tmp_path / "page.html")
    assert " · 2 clusters · " in page.locator("#facts").inner_text()
    assert page.locator("#profile dt").all_inner_texts() == ["0", "1"]
    assert "no columns to compare" not in page.locator("#profile").inner_text()
    confidence(X, runs).report(tmp_path / "bare.html")
    bare = visit(tmp_path / "bare.html")
    assert bare.locator("#profile dd").all_inner_texts() == ["there are no columns to compare"] * 2
    page.locator(".settings summary").click()
    assert "clusters without a point\n2\n" in page.locator("#settings").inner_text()


def test_a_rare_cluster_is_named_below_the_verdict(visit, tmp_path):
    score = np.r_[np.full(40, 0.9), np.full(600, 0.1)]
    frame = pd.DataFrame(
        {"label": np.r_[np.zeros(40, int), np.repeat([1, 2], 300)], "score": score}
    )
    write_report(tmp_path / "page.html", frame, np.arange(1280.0).reshape(640, 2), chance=0.4)
    page = visit(tmp_path / "page.html")
    verdict = page.locator("#verdict").inner_text()
    assert verdict.endswith(" 6% of the rows score above chance (0.4), but in 1 cluster most do.")
    assert page.locator("#soundness dd").first.inner_text().startswith("0")
    assert page.locator("#soundness dt").first.inner_text() == "Clear clusters"
    page.get_by_text("How to read this page").click()
    assert "at least 10 points, most of them above chance, is weak" in page.locator(
        "main"
    ).inner_text().replace("\n", " ")


def test_clusters_of_one_row_are_told_apart(visit, tmp_path):
    frame = pd.DataFrame({"label": [0, 1, *[2] * 20], "score": [0.0, 0.0, *[0.9] * 20]})
    write_report(tmp_path / "single.html", frame, np.arange(44.0).reshape(22, 2), threshold=0.5)
    page = visit(tmp_path / "single.html")
    kinds = page.locator("#soundness")
    assert kinds.locator("dt").all_inner_texts() == ["Mostly kept", "Single rows"]
    assert kinds.locator("dd").nth(1).locator("button").all_inner_texts() == ["0", "1"]
    assert page.locator("#steps li").first.inner_text() == (
        "Clusters 0 and 1 hold one row each: look at them, or use fewer clusters."
    )
    page.locator("#soundness button").last.click()
    settle(page)
    assert "This cluster is a single row" in page.locator("#profile").inner_text()


def test_a_page_without_columns_says_nothing_of_them(visit, tmp_path):
    labels = np.arange(20) // 10
    found = confidence(np.arange(20.0)[:, None], np.column_stack([labels, labels]))
    found.report(tmp_path / "own.html")
    page = visit(tmp_path / "own.html")
    card = page.locator("#columns-card")
    assert card.locator("h2").inner_text() == "Reasons"
    assert card.locator(".hint").first.inner_text().startswith("Wide bars: all points;")
    assert page.locator("#verdict").inner_text().startswith("Not tested for structure: ")


def test_the_page_of_choose_k_counts_a_single_point(tmp_path):
    X = load_iris().data
    profile = choose_k(X, range(2, 4), CAKE(n_runs=3, random_state=0), null=None)
    labels = {k: KMeans(k, n_init=1, random_state=0).fit(X).labels_ for k in (2, 3)}
    sizes = np.array([1, 2])
    replace(profile, weakest_points=sizes).report(tmp_path / "k.html", view=X[:, :2], labels=labels)
    page = (tmp_path / "k.html").read_text(encoding="utf-8")
    assert "(1 point)" in page
    assert "(2 points)" in page


def test_the_page_of_choose_k(visit, tmp_path):
    X = load_iris().data
    profile = choose_k(X, range(2, 5), CAKE(n_runs=3, random_state=0), null=None)
    labels = {k: KMeans(k, n_init=1, random_state=0).fit(X).labels_ for k in (2, 3)}
    profile.report(tmp_path / "k.html", view=X[:, :2], labels=labels, title=HOSTILE)
    page = visit(tmp_path / "k.html", ready="h1")
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator("#verdict").inner_text() == profile.verdict()
    assert "never 1" in page.locator("#gate").inner_text()
    bars = page.locator(".wide rect:has(title)")
    assert bars.evaluate_all("(all) => all.map((bar) => bar.getAttribute('class'))") == [
        "best" if k == profile.best else "plausible" if k in profile.plausible else "other"
        for k in (2, 3, 4)
    ]
    heights = bars.evaluate_all("(all) => all.map((bar) => bar.height.baseVal.value)")
    assert_allclose(np.array(heights) / sum(heights), profile.probability, atol=0.002)
    for picture, k in zip(page.locator("figure").all(), (2, 3), strict=True):
        sizes = [group.locator("circle").count() for group in picture.locator("g").all()]
        assert sizes == np.bincount(labels[k]).tolist()
    assert violations(page) == []
    # On a phone another chart is shown, whose letters are as large.
    page.set_viewport_size({"width": 390, "height": 844})
    assert not bars.first.is_visible()
    heights = page.locator(".narrow text").evaluate_all(
        "(all) => all.map((text) => text.getBoundingClientRect().height)"
    )
    assert min(heights) > 11
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    with pytest.raises(ValueError, match="belong together"):
        profile.report(tmp_path / "k.html", view=X[:, :2])


def test_the_command_writes_both_pages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    load_iris(as_frame=True).data.to_csv("iris.csv", index=False)
    Path("names.json").write_text('{"0": "small"}')
    for typed in (
        "choose-k iris.csv --k 2:4 --runs 3 --no-null --report k.html",
        "score iris.csv -k 3 --runs 3 --out s.csv --report first.html --names names.json",
        "report s.csv --data iris.csv --names names.json --out second.html",
    ):
        done = run(*typed.split())
    page = Path("k.html").read_text(encoding="utf-8")
    assert page.count("<figure>") >= 2  # there is something to compare
    assert "<script" not in page
    for file in ("first.html", "second.html"):
        assert '"names":{"0":"small"}' in Path(file).read_text(encoding="utf-8")
    assert '"score_shares":{"data":' in Path("first.html").read_text(encoding="utf-8")
    # Scores in a file do not say what data without clusters reach.
    assert "For a verdict on the page, add --chance" in done.output
    second = Path("second.html").read_text(encoding="utf-8")
    assert '"verdict":"Not tested for structure' in second
    assert "--resample 0.8" in second  # an option of `score`, which made the scores
    typed = "score iris.csv -k 3 --runs 3 --json"
    said = json.loads(run(*typed.split()).stdout)
    again = f"report s.csv --data iris.csv --chance {said['chance']} --out third.html"
    assert "no verdict" not in run(*again.split()).output
    verdict = json.dumps(said["verdict"], ensure_ascii=False)
    assert f'"verdict":{verdict}' in Path("third.html").read_text(encoding="utf-8")


# In a browser, as a person uses it


def test_verdict_columns_and_filters(visit, mixed, people):
    cake, frame, file, _ = mixed
    page = visit(file)
    assert page.locator("#verdict").inner_text().startswith("Clear structure: ")
    assert page.locator("#picture svg").is_visible()
    assert page.locator("#facts").inner_text().startswith("120 points · 3 columns clustered · 3 ")
    # By what scores above chance, wherever the threshold is
    kept = frame.assign(kept=frame["score"] > 0.3).groupby("label")["kept"].mean()
    kinds = {"Clear clusters": kept > 0.3, "Weak clusters": (kept > 0.1) & (kept <= 0.3)}
    kinds["No clearer than chance"] = kept <= 0.1
    kinds = {kind: which for kind, which in kinds.items() if which.any()}
    assert page.locator("#soundness dt").all_inner_texts() == list(kinds)
    for named, which in zip(page.locator("#soundness dd").all(), kinds.values(), strict=True):
        shares = kept[which].sort_values(ascending=False, kind="stable")
        assert named.locator("button").all_inner_texts() == shares.index.map(str).tolist()
        assert [
            float(text.strip(" \xa0%")) for text in named.locator("small").all_inner_texts()
        ] == [int(100 * share + 0.5) for share in shares]
    assert page.locator("#columns-said").inner_text().startswith("1 to check, 2 clustered")
    assert not page.locator("#chosen").is_visible()
    card = page.locator('.column[data-column="plan"]')
    card.get_by_role("button", name="plus").click()
    page.locator("#clusters").get_by_role("button", name="0", exact=True).click()
    settle(page)
    # The line that says it is in sight wherever a person has scrolled to.
    page.locator("#points-title").scroll_into_view_if_needed()
    box = page.locator("#chosen").bounding_box()
    assert 0 <= box["y"] < page.viewport_size["height"] - box["height"]
    grey, coloured = (page.locator(f"#histogram rect{kinds}") for kinds in (".all", ":not(.all)"))
    assert grey.count() > 1
    assert coloured.count() == 1  # the only point of both filters
    chosen = (people["plan"] == "plus") & (cake.labels_ == 0)
    listed = page.locator("#listed").inner_text()
    assert listed == "1 point in cluster 0, with plan plus"
    assert sorted(column(page, "id")) == sorted(people["person"][chosen])
    # The column itself still shows what else could be chosen in this cluster.
    shown = card.get_by_role("button", name="pro").get_attribute("aria-label")
    inside = ((people["plan"] == "pro") & (cake.labels_ == 0)).sum()
    assert shown == f"pro: {(people['plan'] == 'pro').sum()}, {inside} of the selected"
    page.reload()  # the address has all filters
    page.wait_for_selector("#clear")
    assert page.locator("#listed").inner_text() == listed
    page.get_by_role("button", name="Clear: in cluster 0").click()
    settle(page)
    all_plus = f"{(people['plan'] == 'plus').sum()} points with plan plus"
    assert page.locator("#chosen b").inner_text() == all_plus
    why = page.locator('.column[data-column="Why kept or dropped"]')
    why.get_by_role("button", name="core").press("Enter")
    settle(page)
    both = ((people["plan"] == "plus").to_numpy() & (frame["score"] > 0.87)).sum()
    assert page.locator("#chosen b").inner_text() == f"{both} points with plan plus, that are core"
    page.locator("#clear").click()
    settle(page)
    assert not page.locator("#chosen").is_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Review 30 rows").click()
    assert page.locator("#review-progress").inner_text() == "0 of 30 answered"
    assert page.locator("#review-card img").get_attribute("src") == PIXEL
    assert violations(page) == []


def test_clusters_get_names_and_a_row_its_panel(visit, mixed, people):
    cake, _, file, _ = mixed
    page = visit(file)
    shown = page.locator("#profile dd").evaluate_all(
        "(all) => all.map((one) => one.querySelectorAll('img').length)"
    )
    assert shown == [4, 4, 4]  # pictures of typical rows
    page.locator("#clusters").get_by_role("button", name="1", exact=True).click()
    page.locator("#cluster-name").fill(HOSTILE)
    page.locator("#cluster-name").press("Enter")
    settle(page)
    assert page.locator("#profile-title").inner_text() == f"What sets cluster {HOSTILE} apart"
    assert "Typical rows" in page.locator("#profile").inner_text()
    assert page.locator("#profile .rows img").first.get_attribute("src") == PIXEL
    assert "Nearest rival" in page.locator("#profile").inner_text()
    with page.expect_download() as waiting:
        page.locator("#save-names").click()
    saved = json.loads(waiting.value.path().read_text(encoding="utf-8"))
    assert saved == {"1": HOSTILE}
    rows = download(page, "#download-table")
    assert set(rows["label_name"]) == {HOSTILE}
    assert set(rows["label"]) == {1}
    page.reload()  # kept in the browser
    page.wait_for_selector("#clear")
    assert f"in cluster {HOSTILE}" in page.locator("#listed").inner_text()
    page.locator("#profile .rows button").first.click()
    panel = page.locator("#point")
    name = panel.locator("h2").inner_text().split()[-1]
    row = people.set_index("person").loc[name]
    own = cake.labels_[people["person"] == name][0]
    share = (people["plan"][cake.labels_ == own] == row["plan"]).mean()
    lines = [line.inner_text().split("\t") for line in panel.locator(".values tbody tr").all()]
    plan = next(line for line in lines if line[0] == "plan")
    assert plan[1:3] == [row["plan"], f"{round(100 * share)}%"]
    # Of the two means, the nearer one stands out.
    means = people["age"].groupby(cake.labels_).mean()
    rival = int(panel.locator("p b").nth(1).inner_text())
    nearer = min((own, rival), key=lambda label: abs(row["age"] - means[label]))
    bold = panel.locator("tr", has_text="age").locator(".nearer").inner_text()
    assert float(bold) == pytest.approx(means[nearer], abs=0.05)
    assert "Not clustered: note" in panel.inner_text()
    assert row["note"] in panel.inner_text()
    assert panel.locator("img").get_attribute("src") == PIXEL
    assert page.title() != "owned"
    assert violations(page) == []


def test_an_audit_begins_with_suspected_labels(visit, tmp_path):
    iris = load_iris(as_frame=True)
    labels = np.take(iris.target_names, iris.target)
    labels[[3, 60]] = ["virginica", "setosa"]
    labels = pd.Series(labels, dtype=object)
    labels[100] = None
    found = audit(iris.data, labels, n_runs=10, random_state=0)
    own = iris.data.assign(species=labels, photo=PIXEL)
    found.report(tmp_path / "audit.html", iris.data, original=own)
    page = visit(tmp_path / "audit.html")
    suspects = page.locator("#suspects tbody tr").all()
    assert len(suspects) == found.issues.sum()
    assert page.title() == "Which of these labels can be trusted?"
    assert page.locator("#suspects img").count() == len(suspects)
    rows = {cells[0]: cells[1:3] for cells in (row.inner_text().split("\t") for row in suspects)}
    assert rows["3"] == ["virginica", "setosa"]
    assert rows["60"] == ["setosa", "versicolor"]
    n = found.issues.sum()
    assert page.locator("#verdict").inner_text() == f"{n} of 149 labels look wrong."
    assert str(found.wrong_labels) in page.locator("#suspects-said").inner_text()
    said = page.locator("#verdicts").inner_text().lower()
    assert all(str(verdict) in said for verdict in found.verdicts)
    # What the page explains is an audit.
    page.locator("summary", has_text="How to read").click()
    reading = page.locator("details.card").first.inner_text()
    assert "The labels were given" in reading
    assert "clustered many times" not in reading
    titles = page.locator("#points th").all_inner_texts()
    dropped = page.locator("#points tbody tr", has_text="setosa").first.locator("td")
    cells = dict(
        zip([title.split()[0] for title in titles], dropped.all_inner_texts(), strict=True)
    )
    assert (cells["Point"], cells["Cluster"], cells["Suggested"]) == ("3", "virginica", "setosa")
    dropped.first.locator("button").click()
    settle(page)
    panel = page.locator("#point").inner_text()
    assert "setosa is suggested instead." in panel
    assert "clearly belong" not in page.locator("body").inner_text()
    assert "Its spread" not in panel
    page.keyboard.press("Escape")
    page.locator("#show").select_option("unscored")
    assert "virginica" in page.locator("#points tbody").inner_text()  # suggested
    assert "it has no label" in page.locator("#reasons").inner_text()
    saved = download(page, "#suspects-download").set_index("id")
    assert saved["suggested"].to_dict() == {int(i): suggested for i, (_, suggested) in rows.items()}
    assert saved["issue"].all()
    # The label itself sets no cluster apart.
    assert "species" not in page.locator("#profile").inner_text()
    page.set_viewport_size({"width": 390, "height": 844})
    assert violations(page) == []


def tab_to(page, found, key="Tab", most=150):
    """Press Tab until the element in focus satisfies a condition; each on the way has a ring."""
    for _ in range(most):
        page.keyboard.press(key)
        state = page.evaluate(
            f"""() => {{
              const at = document.activeElement, look = getComputedStyle(at), box = at.getBoundingClientRect();
              const over = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
              const free = over === null || at.contains(over) || over.contains(at);  // not below the bar
              const seen = free && box.bottom > 0 && box.top < innerHeight && look.outlineStyle !== "none";
              return [({found})(at), seen, at.outerHTML.slice(0, 100)];
            }}"""
        )
        assert state[1], state[2]
        if state[0]:
            return
    raise AssertionError(f"Tab does not reach {found}")


def test_the_page_by_keyboard_alone(visit, mixed, people):
    _, frame, file, _ = mixed
    page = visit(file)
    tab_to(page, "(at) => at.closest('[data-column=plan]') && at.textContent.includes('plus')")
    page.keyboard.press("Enter")
    settle(page)
    n_plus = (people["plan"] == "plus").sum()
    assert page.locator("#chosen b").inner_text() == f"{n_plus} points with plan plus"
    tab_to(page, "(at) => at.id === 'clear'", "Shift+Tab")
    page.keyboard.press("Enter")
    settle(page)
    assert page.evaluate("document.activeElement.id") == "slider"  # near the line that has gone
    tab_to(page, "(at) => at.closest('#clusters') && at.textContent === '2'")
    page.keyboard.press("Enter")
    settle(page)
    tab_to(page, "(at) => at.id === 'cluster-name'")
    page.keyboard.type("the third")
    page.keyboard.press("Enter")
    settle(page)
    assert page.locator("#profile-title").inner_text() == "What sets cluster the third apart"
    tab_to(page, "(at) => at.closest('#points tbody')")
    name = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    assert page.locator("#point-title").inner_text().endswith(name)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == name  # back where it was opened
    tab_to(page, "(at) => at.closest('#columns')", "Shift+Tab")
    page.locator("#show").focus()
    tab_to(page, "(at) => at.id === 'download-table'")
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    rows = pd.read_csv(waiting.value.path())
    assert set(rows["label_name"]) == {"the third"}
    assert len(rows) == (frame["label"] == 2).sum()
