# make run: set up and run the study `quick`.   make test: set up and check everything.   make help: the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
CORES ?= $(shell getconf _NPROCESSORS_ONLN)
BIN := .venv/bin
DIST ?= dist
# Studies whose reports `make demo` shows, with commas between them.
DEMO ?= quick,torus-or-mesh,load-latency-small,faults
# Our programs in Rust: a workspace of packet and flow, and caminos, whose versions caminos-lib fixes.
WORKSPACES := engines engines/caminos
PROGRAMS := engines/target/release/fabricstudy-packet engines/target/release/fabricstudy-flow \
  engines/caminos/target/release/fabricstudy-caminos
SOURCES := $(shell find engines -name target -prune -o -name sst -prune -o -type f -print)
# In the folder of a workspace, so that its Cargo.lock and rustfmt.toml are found; all commands share its target/.
EACH_WORKSPACE = for folder in $(WORKSPACES); do (cd $$folder && $(1)) || exit; done
# The tests hold all of a program: clippy reads them while it compiles them, over the dependencies that are built, once
# and in a fifth of the time, since the code of the project is not optimised.
CLIPPY = $(shell clippy-driver --version >/dev/null 2>&1 && echo "RUSTC_WORKSPACE_WRAPPER='$(CURDIR)/tools/clippy.sh'")
TESTED = $(CLIPPY) cargo test --workspace --release --locked --quiet --config profile.release.opt-level=0 \
  --config 'profile.release.package."*".opt-level=3'
# Our own interpreter first, so that the rules' `python` is it.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Images of containers often set the last one; then each process compiles all that it imports.
unexport PYTHONPATH VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

# With its C library inside the front end also runs where that of the system is older than here; a second whole build.
# The package index takes only wheels that declare on which systems their programs run.
STATICALLY = RUSTFLAGS='-C target-feature=+crt-static' CARGO_BUILD_TARGET=$$(rustc -vV | sed -n 's/^host: //p') \
  FABRICSTUDY_PLATFORM=manylinux2014_$$(uname -m)

.PHONY: run test test-fast lint bench setup lock documents docs demo wheel clean help
run: setup  ## set up, run the study `quick` and write its report
	fabricstudy run quick --cores $(CORES)
	@echo "Next: . .venv/bin/activate; snakemake --cores $(CORES) --config study=NAME"

setup:  ## virtual environment and our programs in Rust, at once
	@$(MAKE) --no-print-directory -j2 .venv/.ready $(PROGRAMS)

.venv/.ready: requirements.lock pyproject.toml setup.py
	@PYTHON=$(PYTHON) sh tools/prerequisites.sh
	$(PYTHON) -m venv .venv
# uv takes a seventh of pip's processor time; pip is for where uv is not to be had, or does not find the index.
	awk '/^[a-z]/ {wanted = /^uv==/} wanted' requirements.lock > .venv/uv.lock
	$(BIN)/python -m pip install --quiet --require-hashes --requirement .venv/uv.lock && \
	  $(BIN)/uv pip install --python $(BIN)/python --quiet --system-certs --require-hashes --requirement requirements.lock || \
	  $(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(PROGRAMS): $(SOURCES)
	@PYTHON=$(PYTHON) sh tools/prerequisites.sh
	cd $(firstword $(subst /target, ,$@)) && cargo build --release --locked
	touch $@

test: lint  ## set up, then linters, type check and all tests
	$(call EACH_WORKSPACE,$(TESTED))
# One process more than cores: one of them waits for Slurm most of the time.
	python -m pytest -n $$(($(CORES) + 1)) --dist loadfile --no-loadscope-reorder

test-fast: setup  ## only tests that take less than about ten seconds
	python -m pytest -n $(CORES) --dist loadfile --no-loadscope-reorder -m "not slow"

lint: setup  ## ruff, type check, spelling, rustfmt, clippy, snakefmt and snakemake --lint
	ruff check .
	ruff format --check .
	codespell README.md CHANGELOG.md CONTRIBUTING.md docs configs workflow src tools
	mypy
	snakefmt --check Snakefile workflow
	snakemake --lint
	@if cargo fmt --version >/dev/null 2>&1; then $(call EACH_WORKSPACE,cargo fmt --check); \
	else echo "skipped: cargo fmt is not there (rustup component add rustfmt; Debian: apt-get install rustfmt)"; fi
	@$(call EACH_WORKSPACE,said=$$(cargo build --release --locked --quiet 2>&1); [ -z "$$said" ] || { echo "$$said"; exit 1; })
	@[ -n "$(CLIPPY)" ] || echo "skipped: clippy is not there (rustup component add clippy; Debian: apt-get install rust-clippy)"
	$(call EACH_WORKSPACE,$(TESTED) --no-run)

bench: setup  ## print figures: planning, analysis, overhead, phit size
	python -m benches

lock: setup  ## resolve the Python dependencies again
	uv pip compile pyproject.toml --group development --universal --python-version 3.11 --generate-hashes --upgrade \
	  --no-emit-index-url --no-emit-find-links --no-header --output-file requirements.lock
	python tools/conda_environment.py

documents: setup  ## write docs/reference.md, docs/schema/study.json, the manual page and the badges from the code
	python -m fabricstudy.study.document
	python tools/man_page.py
	python tools/badges.py

docs: setup  ## build the pages of docs/ into site/; any warning fails
	mkdocs build --strict

demo: setup  ## build the pages and the reports of DEMO into demo/, a site for any host (an hour of a core; DEMO=quick: minutes)
	fabricstudy run $(DEMO) --cores $(CORES)
	FABRICSTUDY_REPORTS=$(DEMO) mkdocs build --strict --site-dir demo
	@echo "Open demo/index.html in a browser, or put demo/ on any web server, which the search needs."

wheel: setup  ## build a wheel with workflow, studies and programs into dist/; STATIC=1: for any Linux
	rm -rf build
	$(if $(STATIC),$(STATICALLY)) python -m pip wheel . --quiet --no-deps --no-build-isolation --wheel-dir $(DIST)

clean:  ## remove what the project made, results included
	rm -rf .venv results reports artifact site demo build dist logs benchmarks .snakemake engines/target engines/*/target

help:
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | column -t -s "$$(printf '\t')"
