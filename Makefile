# Each target does its own set-up in .venv; all that is needed is Python 3.11 or newer and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-gpu test-portable test-fuzz chromium lint bench bench-full docs reproduce clean

demo: .venv/installed
	$(BIN)/clustertrust demo

test: lint chromium
	$(BIN)/python -m pytest -n auto --dist loadgroup

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

clean:
	rm -rf .venv .venv-printed build dist docs/_build
