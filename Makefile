# Each target does its own set-up in .venv; all that is needed is Python 3.11 or newer and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint clean

demo: .venv/installed
	$(BIN)/python -m clustertrust

test: lint
	$(BIN)/python -m pytest -n auto

lint: .venv/installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
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
