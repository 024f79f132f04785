# Each target does its own set-up in .venv; all that is needed is Python 3.11 or newer and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-full test-plain test-lowest test-gpu test-portable test-fuzz chromium lint bench bench-full docs reproduce clean

demo: .venv/installed
	$(BIN)/clustertrust demo

test: lint test-plain test-lowest test-full

test-full: chromium .venv/installed-for-tests
	$(BIN)/python -m pytest -n auto --dist loadgroup

# What users get, which .venv is not: there the extras for tests hold back some packages, and others are always at hand.
# Plain has the newest of everything and no extra, lowest the oldest versions that pyproject.toml allows. What needs an extra
# is skipped in both. Chosen by file, since a marker deselects a test only after its file has been imported.
CORE := $(addprefix tests/, test_answers_deciding.py test_auditing.py test_chance.py test_ensemble.py test_estimator.py \
	test_estimator_arguments.py test_files.py test_matching.py test_opinions.py test_preparer.py test_report.py \
	test_results.py test_table_doubts.py test_tables.py cli/test_cli.py cli/test_cli_answers.py)
RUN_CORE := -m pytest -q -r fE -p no:cacheprovider -n auto --dist loadgroup $(CORE)

test-plain: .venv-plain/installed
	CLUSTERTRUST_REQUIRE_ALL= PYTHONPATH= .venv-plain/bin/python $(RUN_CORE)

# The oldest versions have wheels for Python 3.11 and 3.12 only.
test-lowest:
	@if $(PYTHON) -c "import sys; sys.exit(sys.version_info >= (3, 13))"; then $(MAKE) run-lowest; \
		else echo "The lowest versions of the dependencies need Python 3.11 or 3.12: not tested with this one."; fi

.PHONY: run-lowest
run-lowest: .venv-lowest/installed
	CLUSTERTRUST_REQUIRE_ALL= PYTHONPATH= .venv-lowest/bin/python $(RUN_CORE)

# Everything that is printed or committed, compared again under the settings of other processors. It takes long;
# `make test` has the quick part.
test-portable: .venv/installed-for-tests
	$(BIN)/python tests/portable.py

# Random damage to files and arguments for SECONDS; `make test` has the quick part.
SECONDS ?= 3600
test-fuzz: .venv/installed-for-tests
	PYTHONPATH=tests:src $(BIN)/python -m fuzz $(SECONDS)

# On a machine with an NVIDIA GPU and CuPy, with the Python that has them: make test-gpu PYTHON=python3
test-gpu:
	PYTHONPATH=src $(PYTHON) -m pytest -q -p no:cacheprovider -m gpu tests/test_gpu.py

# The browser tests drive Debian's Chromium; it is installed where it is missing and we may.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -qq --yes chromium; } \
		|| echo "Chromium is missing and cannot be installed here: the browser tests will be skipped."

bench: .venv/installed-for-tests
	$(BIN)/python -m benchmarks

bench-full: .venv/installed-for-tests
	$(BIN)/python -m benchmarks --full

docs: .venv/installed-for-tests
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# The authors' versions and numpy's AVX2 sort first, then the current versions. It says how long it will take, shows how far it
# is, and can be stopped and resumed. What is committed is not run again, but for the runtime tables and figure.
reproduce: .venv/installed-for-tests .venv-printed/installed
	NPY_DISABLE_CPU_FEATURES="AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL" \
		.venv-printed/bin/python -m experiments all --protocol printed
	$(BIN)/python -m experiments all

lint: .venv/installed-for-tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/installed-for-tests: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@ .venv/installed

.venv-printed/installed: pyproject.toml experiments/paper/requirements-printed.txt
	$(PYTHON) -m venv .venv-printed
	.venv-printed/bin/python -m pip install --quiet --requirement experiments/paper/requirements-printed.txt --editable .
	touch $@

# Both are installed as users do, not as editable: that also tests what is in the wheel, and each keeps its own cache of compiled
# kernels. So the package is installed again when a source has changed; its dependencies when pyproject.toml has.
SOURCES := $(shell find src -type f -not -path '*/__pycache__/*')

.venv-plain/dependencies: pyproject.toml
	$(PYTHON) -m venv .venv-plain
	.venv-plain/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager ".[core-test]"
	touch $@

.venv-lowest/dependencies: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) -c "import tomllib; print(*(d.replace('>=', '==') for d in \
		tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']), sep='\n')" > .venv-lowest/floors.txt
	.venv-lowest/bin/python -m pip install --quiet --constraint .venv-lowest/floors.txt ".[core-test]"
	touch $@

.venv-plain/installed .venv-lowest/installed: %/installed: %/dependencies $(SOURCES)
	$*/bin/python -m pip install --quiet --force-reinstall --no-deps .
	touch $@

clean:
	rm -rf .venv .venv-plain .venv-lowest .venv-printed build dist docs/_build
