# The short form of tasks.py, which also runs where there is no make. All that is needed is Python 3.11 or newer.
PYTHON ?= python3
SECONDS ?= 3600
TASKS := demo test lint test-full test-plain test-lowest test-pre test-without-numba test-sdist test-neighbours test-types \
	test-portable test-faults test-gpu test-emulated chromium build check-files docs bench bench-full reproduce reproduce-all hashes constraints clean

.PHONY: $(TASKS) test-fuzz

$(TASKS):
	@$(PYTHON) tasks.py $@

test-fuzz:
	@$(PYTHON) tasks.py $@ $(SECONDS)
