"""What pages repeat from the recorded figures, and what a benchmark is for."""

import re
from pathlib import Path

import pandas as pd
from benchmarks import common
from benchmarks.__main__ import FULL

ROOT = Path(__file__).parents[2]


def test_speed_in_the_readme_is_as_recorded():
    recorded = pd.to_numeric(
        pd.read_csv(ROOT / "benchmarks" / "results.csv")["ratio"], errors="coerce"
    ).dropna()
    rounded = {f"{ratio:,.0f}" for ratio in recorded} | {
        f"{float(f'{ratio:.3g}'):,.0f}" for ratio in recorded
    }
    table = re.search(
        r"\| times faster \|\n\|[- |]+\n((?:\|.+\n)+)", (ROOT / "README.md").read_text()
    )[1]
    told = [
        number for row in table.splitlines() for number in re.findall(r"[\d,]+", row.split("|")[-2])
    ]
    assert len(told) >= 7
    assert [number for number in told if number not in rounded] == []


def recorded(benchmark, name):
    """The figure of a benchmark and what it is compared with first, as recorded."""
    table = pd.read_csv(ROOT / "benchmarks" / "results.csv")
    ours, theirs = table.columns[2], table.columns[4]
    row, *_ = table[(table["benchmark"] == benchmark) & (table.iloc[:, 1] == name)].to_dict(
        "records"
    )
    return float(row[ours]), float(row[theirs])


def test_figures_that_pages_repeat_are_the_recorded_ones():
    fit = "CAKE.fit, rms, n=1,000,000, d=20, k=10, R=20"
    units = ("CPU seconds", "GiB in all")
    seconds, gib = (recorded("million", f"{fit}: {unit}")[0] for unit in units)
    for page in ("README.md", "docs/howto/large.md"):
        text = " ".join((ROOT / page).read_text().split())
        assert f"{seconds:.1f} seconds of CPU time and {gib:.1f} GiB" in text, page
    stability = recorded("stability", "stability, n=10,000, k=10, R=20")
    exact = recorded("score", "exact score, given ensemble, n=10,000, d=20, k=10, R=20")
    told = f"20 runs {exact[1] / exact[0]:.0f} times faster, stability {stability[1] / stability[0]:.0f} times"
    assert told in (ROOT / "docs" / "compare.md").read_text()
    cells, leiden = recorded(
        "leiden", "default score of 50,000 cells with their graph, 20 runs of Leiden: CPU"
    )
    told = f"Scoring 50,000 cells took {cells / leiden:.0f} times as long as one `sc.tl.leiden`"
    assert told in " ".join((ROOT / "docs" / "howto" / "anndata.md").read_text().split())
    times = [
        recorded("opinions", f'fit with fusion="combined", n={n:,}, d=20, k=10, R=20: CPU')
        for n in (500, 2_000, 100_000)
    ]
    small, middle, large = (f"{combined / harmonic:.1f}" for combined, harmonic in times)
    told = f"took {small} times as long as with `harmonic` for 500 points, {middle} times for 2,000 and {large} times for 100,000"
    assert told in " ".join((ROOT / "docs" / "howto" / "ranking.md").read_text().split())
    fashion, _ = recorded("fashion", "exact score, Fashion-MNIST 60,000 × 784, R=20")
    assert round(fashion / 60) == 1
    assert "60,000 images of 784 pixels took a minute" in (ROOT / "docs/howto/large.md").read_text()
    minutes, _ = recorded("plan", "n=10^9, 5 passes, 64 cores: minutes by the model")
    assert round(4 * minutes) == 4 * 5 + 1
    for page in ("docs/howto/dask.md", "docs/evidence/dask.md"):
        assert "about 5¼ minutes on 64 cores" in " ".join((ROOT / page).read_text().split())
    last, second = recorded("soak", "1000 models: MiB held in the last quarter")
    told = f"{last:.0f} MiB held in the last quarter, {second:.0f} in the second"
    assert told in (ROOT / "docs" / "faults.md").read_text()


def test_times_on_a_gpu_are_the_recorded_ones():
    table = pd.read_csv(ROOT / "benchmarks" / "gpu.csv").set_index("work")["seconds"]
    page = (ROOT / "docs" / "howto" / "gpu.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| ([\d.]+)(?: and ([\d.]+))? \|$", page, re.MULTILINE)
    told = [float(number) for row in rows for number in row if number]
    dask = "exact score, 300,000 × 20, Dask array of 3 blocks"
    assert told == [round(seconds, 2) for seconds in [*table.iloc[:9], table[dask]]]
    cuda, cpu = (table[f"choose_k 2 to 12, n = 2,000, {device}"] for device in ("cuda", "cpu"))
    assert f"took {cuda:.0f} s with the GPU and {cpu:.0f} s on" in " ".join(page.split())
    whole = table["whole fit, exact, 1,000,000 × 20, R = 20"]
    assert f"take {whole:.1f} seconds, all runs included" in " ".join(
        (ROOT / "README.md").read_text().split()
    )


def test_the_tables_of_benchmarks_are_the_recorded_ones():
    page = (ROOT / "benchmarks" / "README.md").read_text()
    assert page.partition("<!-- tables -->\n\n")[2] == common.tables(common.read())
    assert page.count("\n| ") - page.count("\n| benchmark |") - page.count("\n| --- ") == sum(
        len(rows) for rows in common.read().values()
    )


def test_every_benchmark_supports_one_claim():
    assert sorted(common.BENCHMARKS) == sorted(FULL)
    assert common.claim_of("score", "exact score, n=30,000: MiB above the data") == "Memory"
    assert common.claim_of("soak", "1000 models: MiB held in the last quarter") == "Endurance"
