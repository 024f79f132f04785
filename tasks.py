"""What developers and the workflows run, on any system: python tasks.py TASK, or make TASK.

Each task sets up its own virtual environment, and again when what it depends on has changed.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PROJECT = ROOT / "pyproject.toml"
BIN = "Scripts" if os.name == "nt" else "bin"
# Of `make test-plain` and its kin: files that import no extra at their top. What needs an extra is
# skipped. Chosen by file, since a marker deselects a test only after its file has been imported.
CORE = [
    "tests/test_answers_deciding.py",
    "tests/test_auditing.py",
    "tests/test_chance.py",
    "tests/test_ensemble.py",
    "tests/test_estimator.py",
    "tests/test_estimator_arguments.py",
    "tests/test_files.py",
    "tests/test_matching.py",
    "tests/test_opinions.py",
    "tests/test_preparer.py",
    "tests/test_report.py",
    "tests/test_results.py",
    "tests/test_table_doubts.py",
    "tests/test_tables.py",
    "tests/cli/test_cli.py",
    "tests/cli/test_cli_answers.py",
]
PLAIN_ENV = {"CLUSTERTRUST_REQUIRE_ALL": "", "PYTHONPATH": ""}
# One test process per core: threads of BLAS in each would wait for one another.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
ROOMS = ("benchmarks", "experiments")
SUMS = ROOT / "experiments" / "SHA256SUMS"
TASKS = {}


def task(function):
    """Let `python tasks.py` run a function; its docstring is the help."""
    TASKS[function.__name__.replace("_", "-")] = function
    return function


def run(program, *words, cwd=ROOT, **env):
    """Run a program and stop where it fails."""
    done = subprocess.run([program, *map(str, words)], cwd=cwd, env=os.environ | env)
    if done.returncode:
        sys.exit(done.returncode)


def pytest(python, *words, **env):
    """Run tests in as many processes as there are cores."""
    words = ("-m", "pytest", "-n", "auto", "--dist", "loadgroup", *words)
    run(python, *words, **(ONE_THREAD | env))


# Environments


def python_of(folder):
    return ROOT / folder / BIN / ("python.exe" if os.name == "nt" else "python")


def is_fresh(stamp, *sources):
    """Return whether a stamp is there and younger than all it depends on."""
    return stamp.exists() and all(
        path.stat().st_mtime <= stamp.stat().st_mtime for path in sources if path.exists()
    )


def environment(folder, *install, stamp="installed", sources=(PROJECT,)):
    """Return the Python of a virtual environment into which something is installed."""
    python, stamp = python_of(folder), ROOT / folder / stamp
    if not python.exists():
        run(sys.executable, "-m", "venv", folder)
    if not is_fresh(stamp, *sources):
        run(python, "-m", "pip", "install", "--quiet", *install)
        stamp.touch()
    return python


def full():
    """Return the Python that has every extra and the tools."""
    python = environment(".venv", "--editable", ".[test]", stamp="installed-for-tests")
    (ROOT / ".venv" / "installed").touch()
    return python


def as_users_do(folder, *install):
    """Return a Python with the package installed as users do, not as editable.

    That also tests what is in the wheel. The package is installed again when a source has changed,
    its dependencies when pyproject.toml has.
    """
    environment(folder, *install, ".[core-test]", stamp="dependencies")
    sources = [path for path in (ROOT / "src").rglob("*") if "__pycache__" not in path.parts]
    again = ("--force-reinstall", "--no-deps", ".")
    return environment(folder, *again, sources=[*sources, ROOT / folder / "dependencies"])


def core(python, *words):
    """Run tests without extras: the core, unless others are named."""
    words = words or CORE
    pytest(python, "-q", "-r", "fE", "-p", "no:cacheprovider", *words, **PLAIN_ENV)


# Use and test


@task
def demo():
    """Score 150 flowers and explain one."""
    python = environment(".venv", "--editable", ".")
    run(python, "-m", "clustertrust", "demo")


@task
def test():
    """Everything that a change must pass."""
    for step in (lint, test_plain, test_lowest, test_full):
        step()


@task
def lint():
    """Check style and types."""
    python = full()
    run(python, "-m", "ruff", "check")
    run(python, "-m", "ruff", "format", "--check")
    run(python, "-m", "mypy")


@task
def test_full():
    """All tests, with every extra."""
    python = full()
    chromium()
    pytest(python)


@task
def test_plain():
    """The core of the tests with what users get: the newest of everything, and no extra."""
    core(as_users_do(".venv-plain", "--upgrade", "--upgrade-strategy", "eager"))


@task
def test_lowest():
    """The core of the tests with the oldest versions that pyproject.toml allows."""
    if sys.version_info >= (3, 13):
        print("The lowest versions of the dependencies need Python 3.11 or 3.12: not tested here.")
        return
    floors = ROOT / "build" / "floors.txt"
    floors.parent.mkdir(exist_ok=True)
    lowest = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    floors.write_text("\n".join(one.replace(">=", "==") for one in lowest), encoding="utf-8")
    core(as_users_do(".venv-lowest", "--constraint", floors))


@task
def test_pre():
    """The core of the tests with pre-releases of the dependencies."""
    core(as_users_do(".venv-pre", "--pre", "--upgrade", "--upgrade-strategy", "eager"))


@task
def test_without_numba():
    """A part of the core of the tests on the plain NumPy kernels."""
    python = as_users_do(".venv-without-numba")
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "numba", "llvmlite")
    files = ["tests/test_estimator.py", "tests/test_auditing.py", "tests/test_results.py"]
    core(python, "-W", "ignore:Numba cannot be imported", *files)


@task
def build():
    """Build the source distribution and the wheel, and check what the package page will show."""
    tools = environment(".venv-build", "build", "pyroma", "twine")
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    run(tools, "-m", "build", "--quiet")
    run(tools, "-m", "twine", "check", "--strict", *(ROOT / "dist").iterdir())
    # 10 once the authors have an e-mail address, which is all that pyroma misses.
    run(tools, "-m", "pyroma", "--min", "8", ".")
    for path in sorted((ROOT / "dist").iterdir()):
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")


@task
def check_files():
    """Check workflows, forms, citation and conda recipe, which only others' machines read."""
    tools = environment(".venv-files", "check-jsonschema>=0.31", "py-rattler-build", "zizmor")
    for schema, paths in {
        "github-workflows": (ROOT / ".github" / "workflows").glob("*.yml"),
        "github-issue-forms": [".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/idea.yml"],
        "dependabot": [".github/dependabot.yml"],
        "readthedocs": [".readthedocs.yaml"],
        "citation-file-format": ["CITATION.cff"],
    }.items():
        run(tools, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *paths)
    run(tools.with_name("zizmor"), "--offline", "--quiet", ".github")
    render = "Stage0Recipe.from_file('conda/recipe.yaml').render()"
    run(tools, "-c", f"from rattler_build import Stage0Recipe; {render}")


@task
def check_tag(tag):
    """Stop unless a tag such as v0.2.0 names the version of the package."""
    text = (ROOT / "src" / "clustertrust" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'__version__ = "(.+)"', text)[1]
    if tag != f"v{version}":
        sys.exit(f"The tag {tag} does not name version {version}.")


@task
def constraints():
    """Write the versions of .venv to constraints.txt, for an environment like ours."""
    frozen = (full(), "-m", "pip", "freeze", "--exclude-editable")
    lines = subprocess.run(frozen, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    head = "# python tasks.py constraints: versions that passed, on Linux with Python 3.11\n"
    (ROOT / "constraints.txt").write_text(head + lines, encoding="utf-8")


@task
def test_sdist():
    """Unpack the source distribution, and install and test it from there."""
    build()
    folder = ROOT / "build" / "sdist"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(next((ROOT / "dist").glob("*.tar.gz")), folder)
    (unpacked,) = folder.iterdir()
    run(sys.executable, "tasks.py", "test-plain", cwd=unpacked)


@task
def test_neighbours():
    """Neighbours: those of `make test`, and the heavy ones (MLflow, R by reticulate)."""
    python = environment(".venv-neighbours", "--editable", ".[core-test,neighbours]")
    core(python, "tests/test_neighbours.py", "tests/neighbours.py")


@task
def test_types():
    """A program of a user under `mypy --strict` and pyright, and the package on other systems."""
    # basedpyright is pyright with its own Node.js: it installs without a second registry.
    python = environment(
        ".venv-types", "--editable", ".[plot]", "basedpyright", "mypy", "pandas-stubs"
    )
    program = "tests/typed_program.py"
    run(python, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", program)
    run(python, "-m", "basedpyright", "--level", "error", "--pythonpath", python, program)
    run(python, program)
    # What a system has not, the types know.
    for system in ("darwin", "win32"):
        run(python, "-m", "mypy", "--platform", system)


@task
def test_portable():
    """Whatever is printed or committed, under the settings of other processors; takes long."""
    run(full(), "tests/portable.py")


@task
def test_fuzz(seconds="3600"):
    """Random damage to files and arguments for some seconds."""
    run(full(), "-m", "fuzz", seconds, PYTHONPATH=os.pathsep.join(("tests", "src")))


@task
def test_faults():
    """Every step at which a disk can fail, and every allocation of the readers; takes long."""
    pytest(full(), "-q", "tests/test_faults_steps.py", CLUSTERTRUST_ALL_FAULTS="1")


@task
def test_gpu():
    """The tests of the GPU, with a Python that has CuPy."""
    files = ("tests/test_gpu.py", "tests/test_gpu_dask.py")
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu", *files)
    run(sys.executable, *words, PYTHONPATH="src")


@task
def test_emulated():
    """The tests of the GPU with its CUDA sources compiled for the CPU; needs g++."""
    files = ("tests/test_gpu.py", "tests/test_gpu_dask.py")
    pytest(full(), "-q", *files, CLUSTERTRUST_EMULATE_CUDA="1")


@task
def chromium():
    """Install the browser of the tests where it is missing and we may."""
    if any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        return
    if sys.platform == "linux" and os.geteuid() == 0 and shutil.which("apt-get"):
        run("apt-get", "update", "-qq")
        run("apt-get", "install", "-qq", "--yes", "chromium")
    else:
        print("Chromium is missing and cannot be installed here: its tests will be skipped.")


# Pages, figures, results


@task
def docs():
    """Build the pages; the notebooks read real data from ../shared/data, else from OpenML."""
    built, data = "docs/_build/html", ROOT.parent / "shared" / "data"
    if data.is_dir():
        os.environ.setdefault("CLUSTERTRUST_DATA", str(data))
    # As on Read the Docs: the pages' own extra must be enough.
    python = environment(".venv-docs", "--editable", ".[docs]")
    run(python, "-m", "sphinx", "-W", "--keep-going", "-b", "html", "docs", built)
    print(f"Open {built}/index.html")


@task
def bench(*words):
    """Run the quick benchmarks; bench-full runs all."""
    run(full(), "-m", "benchmarks", *words)


@task
def bench_full():
    """Run all benchmarks."""
    bench("--full")


def results():
    """Return the committed files of results with their hashes, as lines of sha256sum."""
    files = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.csv"))
    files = [path for path in files if "quick" not in path.parts]
    digest = hashlib.sha256
    return [
        f"{digest(path.read_bytes()).hexdigest()}  {path.relative_to(ROOT).as_posix()}"
        for path in files
    ]


@task
def hashes():
    """Write the hashes of the committed results to experiments/SHA256SUMS."""
    SUMS.write_text("\n".join(results()) + "\n", encoding="utf-8")


@task
def reproduce():
    """Check as many committed numbers of the paper as ten minutes allow, and say which.

    Before that it says which files of results differ from those that were released.
    """
    released = SUMS.read_text(encoding="utf-8").splitlines()
    changed = sorted({line.split()[1] for line in set(results()) ^ set(released)})
    told = f"Results: {len(released)} files released, {len(changed)} differ."
    print(told, *changed, sep="\n  ", flush=True)
    run(full(), "-m", "experiments", "all", "--check", "--minutes", "10")


@task
def reproduce_all():
    """Run all experiments of the paper: with the authors' versions, then with ours.

    The former with NumPy's AVX2 sort. It says how long it will take, and can be stopped and
    resumed. What is committed is not run again, except for the runtime tables and figure.
    """
    pins = "experiments/paper/requirements-printed.txt"
    printed = environment(
        ".venv-printed", "--requirement", pins, "--editable", ".", sources=(PROJECT, ROOT / pins)
    )
    newer = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
    words = ("-m", "experiments", "all", "--protocol", "printed")
    run(printed, *words, NPY_DISABLE_CPU_FEATURES=newer)
    run(full(), "-m", "experiments", "all")


@task
def clean():
    """Remove environments and what was built."""
    for pattern in (".venv*", "build", "dist", "docs/_build"):
        for folder in ROOT.glob(pattern):
            shutil.rmtree(folder)


def main():
    """Run a task with its arguments, or list what there is."""
    name, *words = sys.argv[1:] or ["help"]
    if name not in TASKS:
        width = max(map(len, TASKS))
        for known, function in TASKS.items():
            print(f"{known:{width}}  {function.__doc__.splitlines()[0]}")
        sys.exit(0 if name == "help" else f"tasks.py: {name!r} is not a task")
    TASKS[name](*words)


if __name__ == "__main__":
    main()
