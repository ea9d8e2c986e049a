# The few commands. Everything happens inside .venv; only Python 3.11 or newer is needed to begin.
#
#   make demo    run the quickstart on real data, print its speed-ups
#   make lab     open the notebooks in JupyterLab
#   make test    linters, types, front end, all tests
#   make bench   side-by-side benchmarks        make fuzz   a long random search for wrong results
#   make clean   remove what these commands made

.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv
# Absolute, because recipes change folders; first on the path, because npm's scripts look for `node` there.
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# An environment that is active in the caller's shell is not the one these commands run in.
unexport VIRTUAL_ENV
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
JOBS ?= 2

.PHONY: help demo lab test lint lint-python lint-extension chromium bench fuzz notebooks package clean

help:
	@sed -n 's/^#   //p' Makefile

# ---- the environment: one folder, a stamp for what is in it ----

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "workbench needs Python 3.11 or newer (python3 is older, or missing)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# An editable install builds the front end too, where it changed, and brings its own Node to do it.
SOURCES := pyproject.toml extension/package.json $(shell find extension/src -type f)

$(VENV)/ready-demo: $(SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[lab,notebooks]"
	@touch $@

$(VENV)/ready-test: $(SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[lab,notebooks,test]"
	@touch $@ $(VENV)/ready-demo

$(VENV)/ready-bench: $(VENV)/ready-test
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	@touch $@

# ---- use it ----

demo: $(VENV)/ready-demo
	@$(BIN)/python notebooks/run.py notebooks/01-quickstart.ipynb

lab: $(VENV)/ready-demo
	$(BIN)/jupyter lab --notebook-dir=notebooks 01-quickstart.ipynb

# ---- check it ----

# Nothing is printed after pytest, so that the last line of the output is its summary.
test: $(VENV)/ready-test lint chromium
	@WORKBENCH_CACHE_DIR=$$(mktemp -d) $(BIN)/python -m pytest -q -n $(JOBS) --dist loadgroup

lint: lint-python lint-extension

lint-python: $(VENV)/ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

lint-extension: $(VENV)/ready-test
	@test -d extension/node_modules || (cd extension && npm ci --no-audit --no-fund)
	cd extension && npm run --silent lint && npm test --silent

# The browser tests skip, with their reason, where there is no Chromium and none can be installed.
chromium:
	@if [ -z "$$WORKBENCH_CHROMIUM" ] && ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core) >/dev/null 2>&1 \
	      || echo "chromium could not be installed: the browser tests will be skipped"; \
	  else echo "no chromium: the browser tests will be skipped (install it, or set WORKBENCH_CHROMIUM to its path)"; fi; fi

bench: $(VENV)/ready-bench
	$(BIN)/python -m tests.benchmarks
	$(BIN)/python -m tests.benchmarks --sweep --json build/benchmarks/sweep.json
	$(BIN)/python -m tests.benchmarks --memory --only temporaries --json build/benchmarks/memory.json

# For example: make fuzz EXAMPLES=100000
EXAMPLES ?= 20000
fuzz: $(VENV)/ready-test
	$(BIN)/python -m tests.fuzz --examples $(EXAMPLES)

package: $(VENV)/ready-test
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) dist build demo .pytest_cache .ruff_cache .hypothesis extension/node_modules extension/lib \
	  workbench/labextension workbench/notebook/static tests/browser/screenshots
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
