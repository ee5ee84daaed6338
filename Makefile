# Everything from nothing but Python 3.11 or newer and make: each target builds what it needs first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

BENCHMARKS := augment batch_optimisation budgeted_tuning costly_feedback defaults overhead simulation sub_sampling

.PHONY: help setup demo test lint types bench results clean

help:
	@echo "make demo    tune a real model on a budget, in about a minute"
	@echo "make setup   build .venv with what the tests need"
	@echo "make test    run the tests"
	@echo "make lint    check style and formatting"
	@echo "make types   check types"
	@echo "make bench   run the benchmarks in their quick form"
	@echo "make results render the result pages from the measured data"
	@echo "make clean   remove what was built"

setup: $(VENV)/.test

demo: $(VENV)/.core
	$(BIN)/shoestring demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests benchmarks examples

types: $(VENV)/.dev
	$(BIN)/mypy

bench: $(VENV)/.dev
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py --quick || exit 1; done

results: $(VENV)/.test
	$(BIN)/python benchmarks/render.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

# The stamps: an installation is repeated only when what it depends on has changed.
$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) .
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[test]"
	touch $@ $(VENV)/.core

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[dev]"
	touch $@ $(VENV)/.test $(VENV)/.core
