# Two commands are all a newcomer needs: make demo, make test. Both set themselves up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check docs bench fuzz mutants clean

demo: $(VENV)/.demo
	@$(BIN)/foveal demo

# What was compiled once is kept: a run of all tests starts hundreds of processes.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 4 --dist worksteal -m "not untraced" --cov --cov-report=term
	$(BIN)/pytest -n 4 --dist worksteal -m untraced

fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fuzz

mutants: $(VENV)/.dev
	$(BIN)/python tools/mutants.py

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks --output build/benchmarks/report.md

clean:
	rm -rf $(VENV) foveal-demo site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Foveal needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.demo package.json
	$(BIN)/python -m pip install --quiet --no-compile --group dev
	@sh tools/system_packages.sh
	@touch $@
