# `make demo` and `make test` do their own set-up: a virtual environment in .venv with the versions
# pinned in constraints.txt. Another interpreter: `make demo PYTHON=/path/to/python3.12`.

# Every version pinned in constraints.txt has a wheel for these.
OLDEST := 3, 11
NEWEST := 3, 14

# The first of these that runs (a name on the PATH may be a stub) and whose version fits.
fits = $(1) -c 'import sys; sys.exit(not ($(OLDEST)) <= sys.version_info[:2] <= ($(NEWEST)))' 2>/dev/null
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	if $(call fits,$$p); then echo $$p; break; fi; done)

VENV := .venv
READY := $(VENV)/.ready
DOCS := $(VENV)/.docs
RUN := $(VENV)/bin/python -m

.PHONY: help demo test fuzz faults audit-deps lint format golden docs release clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    train HDP beside an MLP on a synthetic graph, under a minute"
	@echo "make test    lint, type-check and run the tests"
	@echo "make fuzz    read a million damaged files, for a night"
	@echo "make faults  kill, fill, freeze and damage things as often as docs/faults.md says, and write it"
	@echo "make audit-deps  look for known holes in the pinned dependencies"
	@echo "make lint    ruff and mypy only"
	@echo "make format  let ruff format the code and mend what it can"
	@echo "make golden  write the golden losses anew, after a change that is meant to alter results"
	@echo "make docs    build the site of the docs into site/, and check its links"
	@echo "make release build wheel and sdist into dist/, and try the wheel in an empty environment"
	@echo "make clean   remove everything make has made, $(VENV) included"

demo: $(READY)
	$(VENV)/bin/heterophily demo

test: lint
	$(RUN) pytest --numprocesses 2 --dist worksteal

fuzz: $(READY)
	HETEROPHILY_FUZZ=100 $(RUN) pytest --numprocesses auto --dist worksteal \
		tests/reading/test_damage.py tests/faults/test_fuzz.py

faults: $(READY)
	rm -f benchmarks/faults.json
	HETEROPHILY_FAULTS=full HETEROPHILY_FAULTS_OUT=benchmarks/faults.json $(RUN) pytest --numprocesses 0 \
		tests/faults --ignore tests/faults/test_fuzz.py
	$(VENV)/bin/python benchmarks/write_faults.py

# In an environment of its own: the checker must not change what it checks.
audit-deps: $(READY)
	$(RUN) venv --clear $(VENV)/audit
	$(VENV)/audit/bin/pip install --quiet --disable-pip-version-check pip-audit
	$(VENV)/audit/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip

lint: $(READY)
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(RUN) mypy

format: $(READY)
	$(RUN) ruff format .
	$(RUN) ruff check --fix .

golden: $(READY)
	$(RUN) tests.golden.write

# Nothing is fetched while it builds: every page is made from this clone.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict --quiet
	$(RUN) docs.site.check site

$(DOCS): $(READY)
	$(RUN) pip install --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

# What users get: the wheel alone, in an environment that has nothing else, must pass the doctor and run the demo.
release: $(READY)
	$(RUN) pip install --disable-pip-version-check -c constraints.txt build
	rm -rf dist build/release
	$(RUN) build
	$(RUN) venv build/release
	build/release/bin/python -m pip install --disable-pip-version-check -c constraints.txt dist/*.whl
	cd build/release && bin/heterophily doctor && bin/heterophily demo
	@ls -l dist

clean:
	rm -rf $(VENV) build dist site demo-output *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A .venv that works is kept and brought up to date; a broken one (its Python is gone) is made anew.
$(READY): pyproject.toml constraints.txt
	@if ! $(call fits,$(VENV)/bin/python); then \
		python="$(PYTHON)"; \
		if [ -z "$$python" ] || ! $(call fits,"$$python"); then \
			found=$$("$${python:-python3}" --version 2>/dev/null || echo none); \
			echo "heterophily needs Python 3.11 or newer (constraints.txt pins versions for 3.11 to 3.14); found: $$found." >&2; \
			echo "Install one of these, or name it: make PYTHON=/path/to/python3.13" >&2; \
			exit 1; \
		fi; \
		echo "making $(VENV) with $$("$$python" --version) and installing into it; this takes a few minutes"; \
		"$$python" -m venv --clear $(VENV) || { \
			echo "that Python cannot make virtual environments; on Debian or Ubuntu: apt install python3-venv" >&2; \
			exit 1; \
		}; \
	fi
	$(RUN) pip install --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
