"""Pages say what is true: their code runs and prints what they show, links lead somewhere, Sphinx
builds them.
"""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import click
import pandas as pd
import pytest
from structure import reference_names

import clustertrust
from clustertrust import CAKE, align_labels, displays
from clustertrust.cli import cli
from clustertrust.distances.graph_shares import N_NEIGHBORS, N_STEPS
from clustertrust.ensemble.clusterers import CLUSTERERS, names_by_distance
from clustertrust.files.formats import FORMATS
from clustertrust.fusion import FUSIONS
from clustertrust.geometry.auto import EXACT_POINTS
from clustertrust.geometry.measuring import GEOMETRIES
from clustertrust.k_profile.combine import HELD
from clustertrust.reasons import NO_STRUCTURE, WEAK_STRUCTURE
from clustertrust.report.contents import PLANNED_RANDOM
from clustertrust.report.material import MOST_DRAWN
from clustertrust.scoring.convergence import FEWEST_RUNS, MOST_RUNS
from clustertrust.streaming.stream import SAMPLE_POINTS
from clustertrust.tables.kinds import MOST_CATEGORIES
from clustertrust.tables.rows import DRAWN, HEAD

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FILES = ROOT.parent / "shared" / "data"
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts),
]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
TEXTS = [*PAGES, CONTRIBUTING, ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md"]

# Pages include tables and pictures of both folders, which the source distribution leaves out, as it
# does docs/images.
needs_a_checkout = pytest.mark.skipif(
    not ((ROOT / "benchmarks").exists() and (ROOT / "experiments").exists()),
    reason="benchmarks/ and experiments/ are not here, only in a checkout",
)

# Blocks that are for reading alone. A new one is a decision: change the number here.
NOT_RUN = {"console": 11, "marked": 2}


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


blocks = load("docs_blocks", DOCS / "blocks.py")


def called(path):
    return str(path.relative_to(ROOT))


def with_code(page):
    return any(block.is_run for block in blocks.blocks_of(page.read_text()))


@pytest.mark.printed
@pytest.mark.filterwarnings("ignore:The set_bad function")  # scanpy draws with it
@pytest.mark.skipif(sys.platform == "win32", reason="the shell blocks of the pages are for bash")
@pytest.mark.parametrize(
    "page", [page for page in [*PAGES, CONTRIBUTING] if with_code(page)], ids=called
)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    if "datasets.load(" in page.read_text():
        if not FILES.is_dir():
            pytest.skip(f"the page reads real data, and {FILES} is not there")
        monkeypatch.setenv("CLUSTERTRUST_DATA", str(FILES))
    try:
        differences = blocks.run_page(page, tmp_path)
    finally:
        plt.close("all")
    told = [
        f"{called(page)}:{d.block.line} says\n{d.block.body}and this is printed:\n{d.printed}"
        for d in differences
    ]
    assert not told, "\n".join(
        [*told, f"`python docs/blocks.py {called(page)}` writes it into the page."]
    )


def test_blocks_that_are_not_run_are_counted():
    found = [block for page in PAGES for block in blocks.blocks_of(page.read_text())]
    counted = {
        "console": sum(block.language == "console" for block in found),
        "marked": sum(block.language in blocks.RUN and not block.is_run for block in found),
    }
    assert counted == NOT_RUN
    assert sum(block.is_run for block in found) > 50


def test_no_block_escapes_the_runner():
    kinds = {"python", "sh", "text", "console"} | {
        f"{{{name}}}" for name in ("image", "include", "literalinclude")
    }
    kinds |= {"{toctree}", "{eval-rst}", "{code-cell}", "r", ""}  # R: tests/neighbours.py
    for page in PAGES:
        fences = re.findall(r"^\s*(?:```+|~~~+|:::+)(\S*)", page.read_text(), re.MULTILINE)
        assert set(fences) <= kinds, page
        run_or_read = {"python", "sh", "text", "console", "{code-cell}", "r"}
        opened = sum(kind in run_or_read for kind in fences)
        assert opened == len(blocks.blocks_of(page.read_text())), page


def test_the_runner_sees_what_is_wrong(tmp_path):
    def page(text):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.md"
        path.write_text(text)
        folder = path.with_suffix("")
        folder.mkdir()
        return path, folder

    right = "```python\nx = 1\nprint(x)\n```\n\n```text\n1\n```\n\n```sh\necho $((1 + 1))\n```\n\n```text\n2\n```\n"
    assert blocks.run_page(*page(right)) == []
    wrong = blocks.run_page(*page(right.replace("\n1\n```", "\n3\n```")))
    assert [difference.printed for difference in wrong] == ["1\n"]
    with pytest.raises(AssertionError, match=r"md:2 fails(.|\n)*NameError"):
        blocks.run_page(*page("```python\nprint(y)\n```\n"))
    with pytest.raises(AssertionError, match="ends with 3"):
        blocks.run_page(*page("```sh\nexit 3\n```\n"))
    with pytest.raises(AssertionError, match=r"ends with 2:\n(.|\n)*none\.csv"):
        blocks.run_page(*page("```sh\nclustertrust score none.csv -k 3\n```\n"))
    piped = "clustertrust score none.csv 2> log.txt || grep -c Error log.txt"
    assert blocks.run_page(*page(f"```sh\n{piped}\n```\n\n```text\n1\n```\n")) == []
    with pytest.raises(AssertionError, match="no block before"):
        blocks.run_page(*page("```text\n1\n```\n"))
    marked, folder = page("<!-- not run: no such thing -->\n\n```python\nnothing\n```\n")
    assert blocks.run_page(marked, folder) == []
    stale, _ = page(right.replace("\n1\n```", "\n3\n```"))
    assert blocks.update(stale) == 1
    assert stale.read_text() == right


@pytest.mark.parametrize(
    ("told", "printed", "same"),
    [
        ("score 0.472 of 150\n", "score 0.473 of 150", True),
        ("score 0.472 of 150\n", "score 0.474 of 150", False),
        ("0.6119849454593494", "0.6119849454593501", True),
        ("0.6119849454593494", "0.6119849554593494", False),
        ("150 points", "151 points", False),
        ("150 points", "150 dots", False),
        ("a  \nb", "a\nb\n", True),
    ],
)
def test_what_counts_as_the_same_output(told, printed, same):
    assert blocks.says(told, printed) is same


# Links


def slug(heading):
    """The anchor of a heading, as GitHub and myst-parser make it."""
    words = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).strip().lower())
    return words.replace(" ", "-")


def prose(path):
    """A page without its code."""
    return re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(path):
    text = prose(path)
    included = re.search(r"^```\{include\} (\S+)$", path.read_text(), re.MULTILINE)
    if included:
        text += prose(path.parent / included[1])
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def targets(path):
    text = prose(path)
    found = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(
        r'(?:href|src|srcset)="([^"]+)"', text
    )
    found += re.findall(
        r"^```\{(?:image|literalinclude|include)\} (\S+)$", path.read_text(), re.MULTILINE
    )
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def broken(path):
    for target in targets(path):
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        if not there.exists():
            yield f"{called(path)}: {target} is not there"
        elif anchor and (there.suffix != ".md" or anchor not in anchors(there)):
            yield f"{called(path)}: {target} has no such heading"


@needs_a_checkout
def test_links_between_pages_resolve():
    assert [problem for path in TEXTS for problem in broken(path)] == []
    assert sum(len(targets(path)) for path in TEXTS) > 80


def test_broken_links_are_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "# One `word`, two\n[a](page.md#one-word-two) [b](#no) [c](other.md) "
        "[d](https://example.org)\n"
    )
    assert list(broken(page)) == [
        "page.md: #no has no such heading",
        "page.md: other.md is not there",
    ]


@needs_a_checkout
def test_every_page_is_in_the_menu_and_every_picture_is_shown():
    menus = {
        (path.parent / f"{entry}.md").resolve()
        for path in [DOCS / "index.md", *DOCS.glob("*/index.md")]
        for menu in re.findall(
            r"^```\{toctree\}\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL
        )
        for entry in re.findall(r"^[\w/]+$", menu, re.MULTILINE)
    }
    assert set(PAGES) - menus == {ROOT / "README.md", DOCS / "index.md"}
    shown = {(path.parent / target).resolve() for path in PAGES for target in targets(path)}
    assert set((DOCS / "images").iterdir()) - shown == set()
    assert set((ROOT / "examples").glob("*.py")) - shown == set()


# Pictures


def test_the_drawing_of_the_framework(tmp_path, monkeypatch):
    framework = load("plot_framework", ROOT / "examples" / "plot_framework.py")
    monkeypatch.setattr(framework, "DOCS", tmp_path)
    framework.main()
    drawn = (tmp_path / "images" / "framework.svg").read_text()
    words = {element.text for element in ElementTree.fromstring(drawn).iter() if element.text}  # noqa: S314
    assert {"Data", "Ensemble", "Stability c", "Geometry S̃", "Fusion"} <= words
    assert "prefers-color-scheme: dark" in drawn
    X, cake = framework.fitted()
    reference, renamed, other = (cake.ensemble_.labels[:, r] for r in framework.shown(cake))
    assert (renamed != reference).mean() > 0.5  # other names,
    assert (align_labels(reference, renamed) == reference).mean() > 0.9  # the same clusters,
    assert (align_labels(reference, other) == reference).mean() < 0.9  # and a run that differs
    assert drawn.count("<circle") == 5 * len(X) + 5  # data, three runs, scores, and the key


def test_the_picture_of_the_readme(tmp_path, monkeypatch):
    trust = load("plot_trust", ROOT / "examples" / "plot_trust.py")
    monkeypatch.setattr(trust, "DOCS", tmp_path)
    trust.main()
    for look in ("light", "dark"):
        assert (tmp_path / "images" / f"trust-{look}.png").read_bytes().startswith(b"\x89PNG")
    for page in (ROOT / "README.md", DOCS / "index.md"):
        assert f"{len(trust.data())} points" in page.read_text()


def test_pictures_are_described_and_fit_a_page():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        described = re.findall(r'!\[([^\]]*)\]\(|^:alt: (.*)$|<img [^>]*alt="([^"]*)"', text, re.M)
        for words in ("".join(found) for found in described):
            assert len(words.split()) >= 4, (page, words)
        assert text.count("```{image}") == text.count("\n:alt: "), page
    for picture in (DOCS / "images").glob("*.png"):
        width = int.from_bytes(picture.read_bytes()[16:20], "big")
        assert 900 <= width <= 1500, (picture.name, width)  # letters can be read at 740 px


def test_the_readme_stays_under_two_screens():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 90
    assert lines.index("```python") < 20  # what it does, a picture, and code come first


@pytest.mark.parametrize(
    "page", [*sorted((DOCS / "howto").glob("*.md")), DOCS / "report.md"], ids=called
)
def test_a_guide_fits_two_screens(page):
    text = re.sub(r"!\[.*?\]", "", page.read_text())  # words in place of pictures are not seen
    assert len(text.split()) <= 940  # what was measured belongs to docs/evidence


# What pages repeat from elsewhere


def test_the_figures_of_fuzzing_are_the_recorded_ones():
    recorded = pd.read_csv(ROOT / "tests" / "fuzz" / "figures.csv")
    page = " ".join((DOCS / "faults.md").read_text().split())
    lines = recorded[recorded["target"] == "commands"].iloc[0]
    assert f"typed {lines['inputs']:,} random command lines" in page
    assert f"{lines['accepted']:,} were accepted and {lines['refused']:,} refused" in page
    assert lines["finds"] == 0
    recorded = recorded.drop(lines.name)
    assert (
        f"took {recorded['seconds'].sum() / 60:.0f} minutes: {recorded['inputs'].sum():,}" in page
    )
    assert f"of which {recorded['accepted'].sum():,} were accepted" in page
    assert recorded["finds"].sum() == 0
    assert "It found no fault." in page


def page_text(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_pages_list_the_formats_of_the_code():
    (row,) = [line for line in page_text("cli.md").splitlines() if line.startswith("| **Formats**")]
    text = re.sub(r"`\.csv`, `\.tsv` \(both also `\.gz`, `\.bz2`, `\.xz`\)", "", row)
    assert text != row
    packed = {
        f"{name}{suffix}" for name in (".csv", ".tsv") for suffix in ("", ".gz", ".bz2", ".xz")
    }
    listed = packed | set(re.findall(r"`(\.[a-z0-9.]+)`", text))
    assert listed == {suffix for format in FORMATS.values() for suffix in format.suffixes}
    (sentence,) = re.findall(
        r"^(.*) files can be read and written\.", page_text("quickstart.md"), re.MULTILINE
    )
    assert [name.lower() for name in re.split(r", | and ", sentence)] == list(FORMATS)
    help_of_score = cli.get_command(click.Context(cli), "score").help
    assert set(FORMATS) <= set(re.findall(r"\w+", help_of_score.lower()))
    blocks = [name for name, format in FORMATS.items() if format.blocks is not None]
    (sentence,) = re.findall(r"the path of a (.*?) file,", page_text("howto/large.md"), re.DOTALL)
    assert sorted(re.split(r", | or ", sentence.lower())) == sorted(blocks)


def test_pages_list_the_clusterers_that_take_distances():
    (listed,) = re.findall(
        r"Supported clusterers: (.*?), scikit-learn's", page_text("howto/distances.md"), re.DOTALL
    )
    assert sorted(re.findall(r"`([a-z-]+)`", listed)) == names_by_distance()
    (listed,) = re.findall(
        r"^The runs of (.*?) use the metric too", page_text("howto/geometry.md"), re.M | re.S
    )
    assert sorted(re.findall(r"`([a-z-]+)`", listed)) == names_by_distance()


def test_the_page_on_plots_names_every_display():
    names = {name for name in displays.__all__ if name.endswith("Display")}
    assert names == set(re.findall(r"\b[A-Z]\w+Display\b", page_text("plots.md")))


def test_the_page_on_installing_lists_the_extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) ?\|$", page_text("install.md"), re.MULTILINE)
    assert {name for name, _ in rows} == extras.keys() - {"core-test", "docs", "neighbours", "test"}
    for name, brings in rows:
        packages = {re.match(r"[\w-]+", need)[0] for need in extras[name]}
        told = set(re.findall(r"[\w-]+", re.sub(r"\(.*?\)", "", brings)))
        if name == "all":  # of the rows above it
            order = [row for row, _ in rows]
            (parts,) = re.findall(r"\[(.*)\]", extras["all"][0])
            assert set(parts.split(",")) == set(order[: order.index("all")])
        else:
            assert packages <= told, name


def test_pages_do_not_say_what_was_once_true():
    assert "Nothing is guessed" not in page_text("cli.md")
    assert "that of most runs" not in page_text("howto/audit.md")
    assert "its usual meaning" not in page_text("howto/graph.md")


def test_the_readme_compares_answers_with_both_scores():
    rows = re.findall(r"^\| (\w+) \| .*$", page_text("evidence/answers.md"), re.MULTILINE)
    assert {"harmonic", "refined", "learned"} <= set(rows)
    means = {
        name: re.search(
            rf"^\| {name} \|[^|]+\|[^|]+\| ([\d.]+) ",
            page_text("evidence/answers.md"),
            re.MULTILINE,
        )[1]
        for name in ("harmonic", "refined", "learned")
    }
    (told,) = re.findall(
        r"With 50\s+answers the mean AUROC.*?\n- ",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    for mean in means.values():
        assert f"{float(mean):.2f}" in told
    for word, mean in zip(("harmonic", "refined", "50 answers"), means.values(), strict=True):
        row = re.search(rf"^\| [^|]*{word}[^|]*\|[^|]*\| ([\d.]+) \|", page_text("why.md"), re.M)
        assert row[1] == f"{float(mean):.2f}", word


def test_pages_quote_the_sentence_of_the_guide():
    (kept,) = re.findall(
        r"^(Of the \d+ rows kept, .* confidence); ", page_text("howto/answers.md"), re.MULTILINE
    )
    pages = [ROOT / "README.md", DOCS / "index.md", DOCS / "why.md"]
    for page in pages:
        assert kept.lower() in " ".join(page.read_text(encoding="utf-8").split()).lower(), page


AS_IN_THE_CODE = [
    ("options.md", f"up to {EXACT_POINTS:,} rows"),
    ("howto/geometry.md", f"exact silhouettes up to {EXACT_POINTS:,} points"),
    ("howto/large.md", f"exact silhouettes up to {EXACT_POINTS:,} points"),
    ("howto/large.md", f"random sample of {SAMPLE_POINTS:,} rows"),
    ("howto/dask.md", f"the sample of {SAMPLE_POINTS:,} rows"),
    (
        "howto/graph.md",
        f"its {N_NEIGHBORS} nearest neighbours, and random walks of {N_STEPS} steps",
    ),
    ("howto/columns.md", f"up to {MOST_CATEGORIES} distinct values"),
    ("howto/columns.md", f"the first {HEAD:,} rows, the last row, and {DRAWN:,} rows drawn"),
    ("report.md", f"more than {MOST_DRAWN:,} points"),
    ("report.md", f"{PLANNED_RANDOM} points by default"),
    *(
        (
            page,
            " and ".join(
                f"{low:.0%} to {high:.0%} of {sets}" for sets, (low, high) in HELD.items()
            ),
        )
        for page in ("howto/choose_k.md", "cli.md")
    ),
]


@pytest.mark.parametrize(("page", "words"), AS_IN_THE_CODE)
def test_pages_have_the_numbers_of_the_code(page, words):
    assert words in " ".join(page_text(page).split())


def test_pages_repeat_the_auroc_of_the_evidence():
    evidence = page_text("evidence/ranking.md")
    means = dict(
        re.findall(
            r"^\| (silhouette|harmonic|refined|combined)[^|]*\|[^|]+\|[^|]+\| ([\d.]+) \|",
            evidence.partition("<!-- begin opinions -->")[2],
            re.MULTILINE,
        )
    )
    assert len(means) == 4
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"as a silhouette does (mean AUROC {means['harmonic']})" in readme
    assert (
        f"from other methods](docs/howto/ranking.md#add-second-opinions): {means['combined']}."
        in readme
    )
    why = page_text("why.md")
    for word, mean in means.items():
        (row,) = re.findall(rf"^\| [^|]*{word}[^|]* \| ([\d.]+) \|", why, re.MULTILINE)
        assert row == mean, word
    real = re.findall(
        r"^\| (?:harmonic|combined)[^|]*\|[^|]+\| ([\d.]+) \|",
        evidence.partition("<!-- begin opinions -->")[2],
        re.MULTILINE,
    )
    gain = float(real[1]) - float(real[0])
    assert f"on the 25 real sets the gain is {gain:.2f}" in page_text("howto/ranking.md")
    rows = pd.read_csv(ROOT / "experiments/research/opinions/results/opinions.csv")
    judged = rows.dropna(subset="harmonic")
    numbers = judged.select_dtypes("number").assign(group=judged["group"]).groupby("group").mean()
    gains = numbers["combined"] - numbers["harmonic"]
    everywhere = judged["harmonic"].mean()
    said = " ".join(evidence.split())
    assert f"does as well ({means['silhouette']} and {means['harmonic']})" in said
    guide = " ".join(page_text("howto/ranking.md").split())
    assert f"with {means['silhouette']}, ranks as well" in guide
    assert f"add {judged['combined'].mean() - everywhere:.3f} to the paper's score" in said
    assert f"persistence alone {judged['refined'].mean() - everywhere:.3f}." in said
    assert f"gain more ({gains['generated']:.3f}) than real ones ({gains['real']:.3f})" in said
    rivals = judged[["fcm", "gmm", "lof", "hdbscan"]].mean()
    assert f"mean AUROC of {rivals.max():.3f}." in said
    wide = rows[rows["d"] > 100].sort_values("d")
    times = wide["seconds_combined"] / wide["seconds_harmonic"]
    told = "{:.0f} and {:.0f} times on the held-out sets with {} and {} columns".format(
        *times, *wide["d"]
    )
    assert told in guide


def as_printed(cell):
    return cell


def as_percent(cell):
    return f"{100 * float(cell):.2g}%"


def to_two_digits(cell):
    return f"{float(cell):.2f}"


# What a guide says, the table on the page of evidence, and the rows and columns of its figures.
QUOTED = [
    (
        "howto/graph.md",
        "(mean AUROC {}, against {}), but {} of the wrong labels score above 0.8 ({} by straight",
        "graph.md",
        "begin graph level",
        as_printed,
        [("graph", 3), ("exact", 3), ("graph", 4), ("exact", 4)],
    ),
    (
        "howto/reading.md",
        "{} of the core points were right, and {} of the boundary points",
        "reading.md",
        "begin reasons",
        as_printed,
        [("core", 2), ("boundary", 2)],
    ),
    (
        "howto/clusterer.md",
        "{} of the labels were right; with k-means alone, {} ",
        "ranking.md",
        "## Labels of mixed runs",
        as_printed,
        [("k-means and mixtures, 80 %", 4), ("k-means", 4)],
    ),
    (
        "howto/ranking.md",
        "mean AUROC {} (`refined`) and {} (`combined`), against {} (`harmonic`",
        "ranking.md",
        "begin opinions",
        as_printed,
        [("refined", 3), ("combined", 3), ("harmonic (the paper)", 3)],
    ),
    (
        "howto/ranking.md",
        "Of the 50 sets, {} lose.",
        "ranking.md",
        "begin opinions",
        lambda cell: cell.replace(" : ", " gain and "),
        [("combined", 4)],
    ),
    (
        "howto/answers.md",
        "data sets is {}; without any it is {}.",
        "answers.md",
        "begin answers-auroc",
        to_two_digits,
        [("learned", 3), ("harmonic", 3)],
    ),
    (
        "howto/topics.md",
        "`accept=0.5` reassigned {} of the outliers",
        "topics.md",
        "begin outliers",
        as_percent,
        [("accept=0.5", 1)],
    ),
    (
        "howto/topics.md",
        "and {} of these wrongly",
        "topics.md",
        "begin outliers",
        as_percent,
        [("accept=0.5", 2)],
    ),
    (
        "compare.md",
        "on 31 data sets (AUROC {}; theirs at most {})",
        "audit.md",
        "begin rivals further",
        str,
        [("audit", 1), ("cleanlab, forest", 1)],
    ),
    (
        "howto/anndata.md",
        "an AUROC of {}; a silhouette of the same labels reaches {}. The threshold kept {} of the "
        "cells, of which {} were right",
        "anndata.md",
        "begin counts",
        as_printed,
        [("default", 1), ("default", 2), ("default", 5), ("default", 6)],
    ),
    (
        "howto/topics.md",
        "(AUROC {}, with k-medoids {})",
        "topics.md",
        "begin recipes",
        as_printed,
        [
            ("50 components, k-means, cosine | combined", 6),
            ("50 components, k-medoids, cosine | combined", 6),
        ],
    ),
    (
        "howto/audit.md",
        "cleanlab and Datalab achieved this on at most {}, and",
        "audit.md",
        "begin rivals further",
        lambda cell: cell.split()[0],
        [("cleanlab, forest", 2)],
    ),
    (
        "howto/calibration.md",
        "at most {} of the draws broke the promise",
        "calibration.md",
        "begin guarantee",
        lambda cell: as_percent(cell.split()[0]),
        [("random", 2)],
    ),
    (
        "howto/audit.md",
        "On {} sets with planted errors, all unseen in development, its ranking was the best or",
        "audit.md",
        "begin rivals further",
        as_printed,
        [("audit", 2)],
    ),
    (
        "howto/audit.md",
        "{} of clean labels are flagged",
        "audit.md",
        "begin rivals further",
        lambda cell: f"{float(cell.strip('%')):.0f}%",
        [("audit", 4)],
    ),
]


@pytest.mark.parametrize(("page", "sentence", "evidence", "table", "form", "cells"), QUOTED)
def test_guides_quote_the_figures_of_the_evidence(page, sentence, evidence, table, form, cells):
    text = page_text(f"evidence/{evidence}").partition(table)[2]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    figures = {row[0]: row for row in reversed(rows)}  # of equal names, the first below the mark
    figures |= {" | ".join(row[:2]): row for row in reversed(rows)}
    expected = sentence.format(*(form(figures[name][column]) for name, column in cells))
    assert expected in " ".join(page_text(page).split()).replace(" %", "%")


def test_readme_and_guide_repeat_how_often_choose_k_is_right():
    rows = page_text("evidence/choose_k.md").partition("## How often it was right")[2]
    right = {}
    for kind, share in re.findall(r"^\| (\d+ [^|]*) \| (\d+) %", rows, re.MULTILINE):
        named = [name for name in ("generated", "overlap", "real") if name in kind]
        right.setdefault(named[0], []).append(int(share))
    generated, real = (
        f"{min(right[name])} to {max(right[name])}" for name in ("generated", "real")
    )
    assert (generated, right["overlap"], real) == ("89 to 100", [50], "26 to 40")
    for page in (ROOT / "README.md", DOCS / "howto" / "choose_k.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        assert (
            f"right on {generated}% of generated sets with gaps between clusters, on half" in text
        )
        assert "quarter to two fifths of real tables, whose classes often form no clusters" in text


def test_why_repeats_what_the_threshold_keeps_of_noise():
    noise = pd.read_csv(ROOT / "experiments/research/chance/results/chance_noise.csv")
    six = noise[noise["kind"].isin(["ball", "box", "correlated", "gaussian", "likert", "t3"])]
    kept = six[six["fusion"] == "harmonic"][["kept_chance", "kept_median"]].mean()
    (told,) = re.findall(
        r"it keeps (\d+)% of the rows;.*?would keep (\d+)%", page_text("why.md"), re.DOTALL
    )
    assert [int(share) for share in told] == [round(100 * share) for share in kept]
    limits = " ".join(page_text("evidence/reading.md").split()).replace(" %", "%")
    own = six[six["fusion"] == "harmonic"]["kept_chance"]
    assert f"on {len(own)} draws of noise, of six kinds" in limits
    few = (own <= NO_STRUCTURE).mean()
    told = f"keeps {own.mean():.0%} of the points on average, and at most 10% in {few:.0%} of"
    assert told in limits
    small = pd.read_csv(ROOT / "experiments/research/chance/results/chance_few.csv")
    rare = small[(small["n"] == 500) & (small["kept_chance"] <= NO_STRUCTURE)]
    assert f"in {(rare['structure'] != 'none').sum()} of {len(rare)} other draws" in limits
    small = small[(small["fusion"] == "harmonic") & (small["n"] <= 100)]
    kept_of = small.groupby("n")["kept_chance"].mean()
    low, high = (f"{100 * share:.0f}" for share in (kept_of.min(), kept_of.max()))
    assert f"of 10, 30 and 100 points it keeps {low} to {high}% (" in limits
    clear = (noise["kept_chance"] > WEAK_STRUCTURE).groupby([noise["fusion"], noise["kind"]]).mean()
    shares = [clear["harmonic", kind] for kind in ("ring segment", "log-normal", "exponential")]
    assert shares[0] == 1
    assert f"log-normal columns {shares[1]:.0%} are" in limits
    assert f"exponential columns {shares[2]:.0%}." in limits
    hull = pd.read_csv(ROOT / "experiments/research/chance/results/hull.csv")
    of_sets = hull[hull["group"] == "sets"]
    ring = hull[hull["kind"] == "ring segment"]
    two, three = ring[["kept_two", "kept_three"]].mean()
    assert f"would keep {three:.0%} of the parts of a ring instead of {two:.0%}" in limits
    two, three = of_sets[["kept_two", "kept_three"]].mean()
    assert f"{three:.0%} of the points of development sets instead of {two:.0%}" in limits
    tails = clear["harmonic, mixtures", "t3"]
    assert f"takes the tails, and {tails:.0%} are called clear" in limits


def test_ideas_repeat_what_the_standard_errors_hold():
    sets = pd.read_csv(ROOT / "experiments/research/errors/results/errors.csv")
    (share,) = {f"{sets[score].mean():.0%}" for score in ("coverage", "combined")}
    ideas = " ".join(page_text("ideas.md").split()).replace(" %", "%")
    assert f"hold {share} of the scores after 800, on average over {len(sets)} data sets" in ideas


def options_of(command):
    return {
        flag
        for option in command.params
        for flag in (*option.opts, *option.secondary_opts)
        if flag.startswith("--")
    } | {"--help", "--version"}


def test_the_page_on_the_command_line_has_every_command():
    headings = re.findall(r"^## ([a-z-]+)$", page_text("cli.md"), re.MULTILINE)
    assert sorted(headings) == sorted(cli.list_commands(click.Context(cli)))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=called)
def test_commands_and_options_on_pages_exist(page):
    """In code and in `code`; the options of other programs are those after their names."""
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    every = {flag for command in commands.values() for flag in options_of(command)}
    others = re.compile(r"(pip install|python -m|python|dask-ssh|make) .*")
    for code in re.findall(
        r"^```(?:sh|console)\n.*?^```$|`[^`\n]+`", page.read_text(), re.M | re.S
    ):
        for line in code.replace("\\\n", " ").splitlines():
            typed = re.search(r"\bclustertrust ([a-z][a-z-]+)(?: (.*))?$", line.strip("`"))
            if typed and typed[1] in commands:
                known = options_of(commands[typed[1]])
            else:
                assert typed is None or "=" in line or typed[1] == "import", line
                known = every
                line = others.sub("", line)
            assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", line)) <= known, line


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("howto/clusterer.md", CLUSTERERS),
        ("gallery.md", CLUSTERERS),
        ("options.md", FUSIONS.keys() - {"product", "refined"}),
        ("glossary.md", FUSIONS),
        ("howto/geometry.md", GEOMETRIES.keys() - {"auto"}),
    ],
)
def test_pages_name_every_choice(page, names):
    told = set(re.findall(r'`"?([a-z-]+)"?`', page_text(page)))
    assert set(names) - told - set(re.findall(r'="([a-z-]+)"', page_text(page))) == set()


def test_the_reference_lists_the_names_of_the_package():
    table = page_text("api/index.md").partition("The others come")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(clustertrust.__all__)


def test_pages_and_docstring_name_the_range_of_automatic_runs():
    runs = f"{FEWEST_RUNS} to {MOST_RUNS:,}"
    assert f'"auto": {runs}, until' in CAKE.__doc__
    assert f"({runs}) until" in " ".join(page_text("howto/clusterer.md").split())


def test_contributors_find_every_module_on_the_map():
    rows = re.findall(r"^\| (`.+?) \|", CONTRIBUTING.read_text(), re.MULTILINE)
    told = set(re.findall(r"`(\w+)`", " ".join(rows)))
    source = ROOT / "src" / "clustertrust"
    modules = {
        path.stem
        for path in source.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert {name for name in modules if not name.startswith("_")} == told


# Sphinx


class Requests(HTMLParser):
    """What a browser would fetch for a page, from elsewhere."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        fetched = [attributes.get("src"), attributes.get("srcset")]
        if tag == "link" and attributes.get("rel") not in {
            "canonical",
            "index",
            "search",
            "next",
            "prev",
        }:
            fetched.append(attributes.get("href"))
        self.found += [url for url in fetched if url and re.match(r"(https?:)?//", url)]


in_one_process = pytest.mark.xdist_group("pages")  # which builds them once


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    missing = [
        name
        for name in ("sphinx", "myst_nb", "furo", "numpydoc")
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        pytest.skip(f'the pages need {", ".join(missing)}: pip install "clustertrust[docs]"')
    folder = tmp_path_factory.mktemp("html")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"}
    # The test of each page runs its cells.
    command = ["-m", "sphinx", "-W", "--keep-going", "-q", "-D", "nb_execution_mode=off"]
    command += ["-b", "html", "-d", str(folder / ".doctrees")]
    done = subprocess.run(
        [sys.executable, *command, str(DOCS), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


@needs_a_checkout
@in_one_process
def test_sphinx_builds_every_page_without_a_warning(built):
    assert [
        page
        for page in PAGES[1:]
        if not (built / page.relative_to(DOCS).with_suffix(".html")).exists()
    ] == []


@needs_a_checkout
@in_one_process
def test_built_pages_fetch_nothing_from_elsewhere(built):
    fetched = {}
    for page in built.rglob("*.html"):
        requests = Requests()
        requests.feed(page.read_text())
        fetched |= {page.name: requests.found} if requests.found else {}
    assert fetched == {}
    styles = "".join(path.read_text() for path in built.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", styles) == []


def test_requests_to_elsewhere_are_seen():
    requests = Requests()
    requests.feed(
        '<script src="https://a/b.js"></script><link rel="stylesheet" href="//c"><a href="https://d">'
    )
    assert requests.found == ["https://a/b.js", "//c"]


@needs_a_checkout
def test_public_names_are_on_the_built_pages(built):
    shown = "".join(page.read_text() for page in (built / "api").glob("*.html"))
    assert [name for name in reference_names() if f'id="{name}"' not in shown] == []
