# Each target does its own set-up in .venv; all that is needed is Python 3.11 or newer and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench bench-full clean

demo: .venv/installed
	$(BIN)/python -m clustertrust

test: lint
	$(BIN)/python -m pytest -n auto

bench: .venv/installed-for-tests
	$(BIN)/python -m benchmarks

bench-full: .venv/installed-for-tests
	$(BIN)/python -m benchmarks --full

lint: .venv/installed-for-tests
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/installed-for-tests: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@ .venv/installed

clean:
	rm -rf .venv build dist
