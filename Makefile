# Two commands do everything: `make demo` and `make test`. Each sets up what it needs in .venv.

PYTHON ?= python3
VENV ?= .venv
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(SCRIPTS)
# Compiled modules are kept, whatever the environment says: many tests start processes.
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/pytest

.PHONY: demo test quick test-oldest fuzz lint docs package benchmark clean

demo: $(VENV)/.table
	$(BIN)/skatter demo --out demo
	@echo "(skatter is in $(BIN); this puts it on the path: . $(BIN)/activate)"

# One BLAS thread for each worker: two pools of threads on the same cores stand in each other's way.
# Neighbours stay on one worker, and share their fixtures, until another worker has nothing left.
WORKERS := --numprocesses auto --dist worksteal
test: lint
	$(PYTEST) $(WORKERS)

# While you write: the core, and the contract of one method (METHOD=tca for another).
METHOD ?= sca
CORE := $(addprefix tests/test_, domains.py scatter.py objective.py spaces.py sca.py)
quick: lint
	$(PYTEST) $(WORKERS) --quiet $(CORE)
	$(PYTEST) $(WORKERS) --quiet tests/contract -k "[$(METHOD)] or [$(METHOD)-"

# The lowest versions that pyproject.toml allows.
test-oldest:
	$(MAKE) VENV=$(VENV)-oldest $(VENV)-oldest/.oldest
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(VENV)-oldest/$(SCRIPTS)/pytest $(WORKERS)

# 10,000 forged models, 10,000 mutated tables, 2,000 stores and moments; SKATTER_SEED=1 gives others.
fuzz: $(VENV)/.test
	SKATTER_FUZZ=10000 $(PYTEST) tests/fuzz

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

PACKAGED := $(abspath $(VENV)-package)/$(SCRIPTS)
# Wheel and sdist, and the wheel installed from its file into an environment of its own.
package: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv --clear $(VENV)-package
	$(PACKAGED)/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[table]"
	cd dist && $(PACKAGED)/skatter --version && $(PACKAGED)/skatter demo --out "$$(mktemp -d)"

benchmark: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[torch]"
	$(BIN)/python benchmarks/speed.py --out benchmarks/results
	$(BIN)/python benchmarks/tuning.py --out benchmarks/results
	$(BIN)/python benchmarks/rivals.py --out benchmarks/results
	$(BIN)/python benchmarks/surf.py --out benchmarks/results
	$(BIN)/python benchmarks/successors.py --out benchmarks/results
	$(BIN)/python benchmarks/generalization.py speed --out benchmarks/results
	$(BIN)/python benchmarks/generalization.py accuracy --out benchmarks/results
	$(BIN)/python benchmarks/maps.py --out benchmarks/results --docs docs
	$(BIN)/python benchmarks/streaming.py --out benchmarks/results --image docs/images/streaming.png
	$(BIN)/python benchmarks/peers.py --out benchmarks/results --image docs/images/peers.png
	$(BIN)/python benchmarks/criteria.py --out benchmarks/results --docs docs/choosing.md
	$(BIN)/python benchmarks/regression.py --out benchmarks/results --docs docs
	$(BIN)/python benchmarks/label_splines.py --out benchmarks/results
	$(BIN)/python benchmarks/self_training.py --out benchmarks/results
	$(BIN)/python benchmarks/ablation.py --out benchmarks/results --docs docs/self-training.md
	$(BIN)/python benchmarks/ablation.py --out benchmarks/results --draw docs/images/ablation.png
	$(BIN)/python benchmarks/unseen.py run --suites tables-unseen dg-office-surf dg-office-effnet dg-pacs
	$(BIN)/python benchmarks/unseen.py pack
	$(BIN)/python benchmarks/unseen.py fit
	$(BIN)/python benchmarks/unseen.py report --docs docs/generalization.md
	$(BIN)/python benchmarks/defaults.py --out benchmarks/results --docs docs/defaults.md
	$(BIN)/python benchmarks/large.py --out benchmarks/results --docs docs/scale.md
	$(BIN)/python benchmarks/classifiers_behind.py
	$(BIN)/python benchmarks/skada_bench.py --out benchmarks/results
	$(BIN)/python benchmarks/trust.py run --suites tables table1 table2 amazon-400 office-effnet
	$(BIN)/python benchmarks/trust.py run --suites tables --metrics "balanced accuracy"
	$(BIN)/python benchmarks/trust.py pack
	$(BIN)/python benchmarks/trust.py reverse
	$(BIN)/python benchmarks/trust.py fit
	$(BIN)/python benchmarks/trust.py report --docs docs/trust.md
	$(BIN)/python benchmarks/hedged_numbers.py run
	$(BIN)/python benchmarks/hedged_numbers.py pack
	$(BIN)/python benchmarks/hedged_numbers.py fit
	$(BIN)/python benchmarks/hedged_numbers.py report --docs docs/numbers.md
	$(BIN)/python benchmarks/asking.py --out benchmarks/results
	$(BIN)/python benchmarks/paper.py

# An environment knows what it holds by a stamp, renewed when the requirements change.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "skatter needs Python 3.11 or newer; say which: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.table $(VENV)/.docs $(VENV)/.test: $(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

$(VENV)/.oldest: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --resolution lowest-direct --editable ".[test]"
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-package dist demo docs/_build docs/auto_examples docs/generated .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
