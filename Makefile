# Everything from nothing but Python 3.11 or newer and make: each target builds what it needs first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

BENCHMARKS := augment batch_optimisation budgeted_tuning chaos cluster costly_feedback dashboard defaults \
	early_readings importance objectives overhead parallel past pruning simulation sklearn_search sub_sampling \
	worker_threads

# What works on every system: no worker processes, no commands, no server.
PORTABLE := tests/core tests/spaces tests/samplers tests/schedulers tests/methods tests/models tests/views tests/plots

.PHONY: help setup demo test test-failed test-ray test-integrations test-portable test-lowest coverage lint types bench \
	docs results release-check clean

help:
	@echo "make demo    tune a real model on a budget, in about a minute"
	@echo "make setup   build .venv with what the tests need"
	@echo "make test    run the tests"
	@echo "make test-integrations  install the heavy extras and run the tests that need them"
	@echo "make test-lowest        run the tests with the oldest dependencies that are allowed"
	@echo "make coverage           measure which lines the tests run"
	@echo "make lint    check style and formatting"
	@echo "make types   check types"
	@echo "make bench   run the benchmarks in their quick form"
	@echo "make results render the result pages from the measured data"
	@echo "make docs    build the documentation as a site, into build/site"
	@echo "make release-check      build the package, install the wheel alone and run the README with it"
	@echo "make clean   remove what was built"

setup: $(VENV)/.test

demo: $(VENV)/.core
	$(BIN)/shoestring demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal

# What failed in the last run, one at a time; that nothing is known to have failed is a failure too.
test-failed: $(VENV)/.test
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none

test-ray: $(VENV)/.ray
	$(BIN)/python -m pytest tests/executors/test_ray.py

# What needs heavy frameworks; make test skips these tests with a line that says so.
test-integrations: $(VENV)/.integrations
	$(BIN)/python -m pytest tests/executors/test_ray.py tests/integrations tests/test_examples.py

test-portable: $(VENV)/.test
	$(BIN)/python -m pytest $(PORTABLE)

# Only where pip can be given the oldest versions: they have no wheels for every version of Python.
test-lowest:
	$(PYTHON) -m venv build/lowest
	build/lowest/bin/python -m pip install --quiet --constraint constraints-lowest.txt --editable ".[test]"
	build/lowest/bin/python -m pytest -p no:cacheprovider $(PORTABLE) tests/objectives tests/running tests/test_study.py \
		tests/test_sklearn.py tests/test_readme.py

coverage: $(VENV)/.dev
	$(BIN)/python -m coverage run -m pytest -p no:cacheprovider
	$(BIN)/python -m coverage report

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests benchmarks examples

types: $(VENV)/.dev
	$(BIN)/mypy
	$(BIN)/mypy --implicit-reexport -p benchmarks

# Two at a time, in less than 10 minutes on two cores; what each prints is in build/bench too.
bench: $(VENV)/.dev
	mkdir -p build/bench
	printf '%s\n' $(BENCHMARKS) | xargs -P 2 -I NAME sh -c '$(BIN)/python benchmarks/NAME.py --quick \
		> build/bench/NAME.txt 2>&1; status=$$?; cat build/bench/NAME.txt; exit $$status'

docs: $(VENV)/.docs
	$(BIN)/python docs/site_pages.py

results: $(VENV)/.test
	$(BIN)/python benchmarks/render.py

release-check: $(VENV)/.release
	rm -rf build/dist build/wheel
	$(BIN)/python -m build --quiet --outdir build/dist
	$(BIN)/python -m twine check --strict build/dist/*
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt build/dist/*.whl
	build/wheel/bin/python tests/programs/readme_from_wheel.py

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

$(VENV)/.ray: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[test,ray]"
	touch $@ $(VENV)/.test $(VENV)/.core

$(VENV)/.integrations: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[test,integrations]"
	touch $@ $(VENV)/.test $(VENV)/.core

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[dev]"
	touch $@ $(VENV)/.test $(VENV)/.core

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[docs,plots]"
	touch $@ $(VENV)/.core

$(VENV)/.release: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[release]"
	touch $@ $(VENV)/.core
