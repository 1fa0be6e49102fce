# Everything runs in .venv, which is made once and made again only when the
# files that describe it change. Needs Python 3.11 or newer with pip, and make.

PYTHON ?= python3
PORT   ?= 8501
BIN    := .venv/bin
# Set, every start would translate all it imports anew.
export PYTHONDONTWRITEBYTECODE :=

READY     := .venv/.ready
READY_DEV := .venv/.ready-dev
INPUTS    := pyproject.toml setup.py constraints.txt scripts/set_up.sh

.PHONY: help app test test-fast lint format bench trust torture users audit sbom reproduce docs constraints clean

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

app: $(READY) ## the app, on http://127.0.0.1:8501 (PORT=... for another port)
	@$(BIN)/imop app --port $(PORT)

test: lint ## lint, then every test
	@sh scripts/ensure_chromium.sh
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

test-fast: $(READY_DEV) ## the tests to run while working, a minute and a half
	$(BIN)/pytest -n auto --dist loadfile -m "not slow and not browser and not packaging"

lint: $(READY_DEV) ## formatting, rules, spelling, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY_DEV) ## put the formatting right
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY_DEV) ## measure: results in benchmarks/results, their page docs/benchmarks.md
	@$(BIN)/imop bench --out benchmarks/results --page docs/benchmarks.md
	@for file in benchmarks/bench_*.py; do $(BIN)/python "$$file" || exit 1; done

trust: $(READY_DEV) ## how estimates hold in conditions as they are: hours; goes on where it stopped
	@$(BIN)/python -m imop_benchmarks.trust --workers 2 --page docs/trust.md

torture: $(READY_DEV) ## kills, damage, nasty calls: half an hour; figures and docs/reliability.md
	@$(BIN)/python -m imop_benchmarks.torture --record benchmarks/results/reliability.json \
	  --page docs/reliability.md

users: $(READY_DEV) ## eight people at once: some minutes; waits, failures, memory
	@$(BIN)/python -m imop_benchmarks.users --record benchmarks/results/reliability.json \
	  --page docs/reliability.md

audit: $(READY_DEV) ## known holes in what we depend on, where a database can be reached
	@$(BIN)/python scripts/audit.py

sbom: $(READY_DEV) ## what the image is made of, with digests and licences: artifacts/sbom.json
	@$(BIN)/python scripts/sbom.py --out artifacts/sbom.json

reproduce: $(READY_DEV) ## the paper's experiments: results/reproduce, their pages in docs
	@$(BIN)/imop reproduce all --page docs/reproduction.md \
	  --record benchmarks/results/reproduction.json
	@$(BIN)/imop reproduce portfolio-table --page docs/portfolio_table.md \
	  --record benchmarks/results/portfolio_table.json
	@$(BIN)/imop reproduce gap-regret --page docs/gap_regret.md \
	  --record benchmarks/results/gap_regret.json
	@$(BIN)/imop reproduce resource-allocation --page docs/resource_allocation.md \
	  --record benchmarks/results/resource_allocation.json

docs: $(READY_DEV) ## the documentation as a site, in site/: without network, links checked
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "Open site/index.html."

constraints: $(READY_DEV) ## pin the newest versions that fit together
	@echo uv | $(BIN)/uv pip compile pyproject.toml - --extra dev --universal \
	  --python-version 3.11 --upgrade --no-annotate --no-header --no-emit-index-url \
	  --no-emit-find-links --quiet --output-file constraints.txt
	@echo setuptools | $(BIN)/uv pip compile pyproject.toml - --extra team --extra cluster \
	  --constraint constraints.txt \
	  --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links --quiet --output-file constraints-image.txt

clean: ## remove the environment and everything that was built
	rm -rf .venv build dist artifacts site *.egg-info .pytest_cache .mypy_cache .ruff_cache \
	  .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The development environment contains the other one.
$(READY_DEV): $(INPUTS)
	@PYTHON="$(PYTHON)" sh scripts/set_up.sh dev
	@touch $(READY) $(READY_DEV)

$(READY): $(INPUTS)
	@PYTHON="$(PYTHON)" sh scripts/set_up.sh
	@touch $(READY)
