# Needs Python 3.11 or newer, make and the package registry; nothing else, and nothing installed beforehand.

PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
UV_VERSION := 0.13.9

BIN := .venv/bin
UV := $(BIN)/uv
OLDEST := .venv-oldest
# What a saver owes LangGraph; these run against the oldest supported release too.
CHECKPOINTER_TESTS := tests/adapters tests/conformance
# Kills of a writer process per durability mode in `make faults`; `make test` does 60.
KILLS ?= 1000
# Arguments for pytest and the benchmark: make test ARGS="-k prune -x"
ARGS ?=

export UV_PYTHON_DOWNLOADS := never
export UV_HTTP_TIMEOUT := 180
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help install chat test test-newest test-oldest check faults bench format docs lock clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

install: .venv/.installed ## everything into .venv: all extras, the tools, the demo model's weights

$(UV): Makefile
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it, or say make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "[install] a virtual environment in .venv, from $$($(PYTHON) --version)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet uv==$(UV_VERSION)
	@touch $(UV)

# --inexact: uv and pip live in the same environment and are not in the lock file.
.venv/.installed: $(UV) pyproject.toml uv.lock
	@echo "[install] packages of uv.lock (the first time a download of about 200 MB, 90 of them the demo model's weights)"
	@$(UV) sync --locked --all-extras --all-groups --inexact
	@touch $@

chat: install ## hold a conversation that survives restarts (make chat ARGS="--thread work")
	@$(BIN)/threadkeep chat $(ARGS)

test: test-newest test-oldest ## everything, against the newest and the oldest supported LangGraph

test-newest: install
	$(BIN)/pytest $(ARGS)

test-oldest: $(OLDEST)/.installed ## the checkpointer's tests against langgraph 1.2.11
	$(OLDEST)/bin/pytest $(CHECKPOINTER_TESTS) -m "not model" -p no:cacheprovider $(ARGS)

$(OLDEST)/.installed: .venv/.installed requirements/oldest.txt
	@echo "[test-oldest] packages of requirements/oldest.txt into $(OLDEST)"
	@$(UV) venv --quiet --allow-existing --python $(BIN)/python $(OLDEST)
	@$(UV) pip sync --quiet --python $(OLDEST) requirements/oldest.txt
	@$(UV) pip install --quiet --python $(OLDEST) --no-deps --editable .
	@touch $@

check: install ## lint, format, types, import directions, file sizes, docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m checks

faults: install ## kill a writer KILLS times per durability mode, and every other way to break a disk
	$(BIN)/pytest tests/faults --kills $(KILLS) $(ARGS)

bench: install ## measure beside LangGraph's savers and a floor that stores nothing
	$(BIN)/python -m bench $(ARGS)

format: install ## apply the formatter and the fixes ruff is sure of
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install ## write the command reference in docs/cli.md from the commands
	$(BIN)/python -m checks.commands

lock: $(UV) ## resolve uv.lock and requirements/oldest.txt anew
	$(UV) lock --upgrade
	$(UV) pip compile pyproject.toml --group test --constraint requirements/oldest.in --exclude-newer 2026-08-12 \
		--universal --python-version 3.11 --no-annotate --quiet --output-file requirements/oldest.txt \
		--custom-compile-command "make lock"

clean: ## remove what the other targets made; conversations stay
	rm -rf .venv .venv-oldest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
