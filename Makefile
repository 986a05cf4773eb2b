# Everything a fresh machine with Python 3.11 and make needs; each target installs what it uses.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: run test check bench soak seed-map clean

$(VENV)/.core: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing pi-fabric into $(VENV)"
	@$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "installing the test and check tools into $(VENV)"
	@$(PIP) install -c constraints.txt -e '.[test,check]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@echo "installing the benchmark peers into $(VENV)"
	@$(PIP) install -c constraints.txt -e '.[bench]'
	@touch $@

run: $(VENV)/.core  ## the main example, end to end
	$(BIN)/pi-fabric run examples/adaptive_thinking.py --allow write --progress

test: $(VENV)/.dev  ## every test, at most six minutes on two cores
	$(BIN)/python -m pytest -m "not soak" -n 2 --dist loadfile

check: $(VENV)/.dev  ## lint, format, types, import order
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/architecture/test_import_order.py

bench: $(VENV)/.bench  ## side-by-side ratios into benchmarks/results
	$(BIN)/python -m benchmarks

soak: $(VENV)/.dev  ## long fault loops and fuzzing, in full
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -m soak

seed-map: $(VENV)/.dev  ## docs/seed-map.md from tests/seeds
	$(BIN)/python -m tests.seeds

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
