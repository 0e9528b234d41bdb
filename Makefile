# `make help` lists the targets.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
RUN_STAMP := $(VENV)/.base-$(shell sha256sum requirements/base.txt | cut -c1-16)
TEST_STAMP := $(VENV)/.test-$(shell sha256sum requirements/test.txt | cut -c1-16)
NETBIRD_STAMP := .venv-netbird/.installed-$(shell sha256sum requirements/netbird.txt | cut -c1-16)
OIDC_STAMP := .venv-oidc/.installed-$(shell sha256sum requirements/oidc.txt | cut -c1-16)
DOCS_STAMP := .venv-docs/.installed-$(shell sha256sum requirements/docs.txt | cut -c1-16)
OTEL_STAMP := .venv-otel/.installed-$(shell cat requirements/base.txt requirements/otel.txt | sha256sum | cut -c1-16)
JOBS ?= auto
# Slow tests wait more than others: for servers that start, are frozen or come back.
SLOW_JOBS ?= $(shell expr $$(nproc) + 1)

.PHONY: help environments run migrate test test-sqlite test-postgresql test-slow check lint bench pictures openapi dist deb docs protos lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(PY):
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): | $(PY)
	@echo "Installing the locked dependencies ..."
	@$(PIP) install --require-hashes -r requirements/base.txt
	@touch $@

$(TEST_STAMP): | $(PY)
	@echo "Installing the locked dependencies of the tests ..."
	@$(PIP) install --require-hashes -r requirements/test.txt
	@touch $@ $(RUN_STAMP)

$(NETBIRD_STAMP):
	@echo "Installing the real client used by the end-to-end test ..."
	@$(PYTHON) -m venv .venv-netbird
	@.venv-netbird/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/netbird.txt
	@touch $@

$(OIDC_STAMP):
	@echo "Installing the OpenID Connect provider used by the sign-in tests ..."
	@$(PYTHON) -m venv .venv-oidc
	@.venv-oidc/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/oidc.txt
	@touch $@

$(OTEL_STAMP):
	@echo "Installing the optional tracing packages for their test ..."
	@$(PYTHON) -m venv .venv-otel
	@.venv-otel/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/base.txt
	@.venv-otel/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/otel.txt
	@touch $@

$(DOCS_STAMP):
	@echo "Installing what makes the documentation site ..."
	@$(PYTHON) -m venv .venv-docs
	@.venv-docs/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/docs.txt
	@touch $@

environments: $(TEST_STAMP) $(NETBIRD_STAMP) $(OIDC_STAMP) $(OTEL_STAMP) $(DOCS_STAMP) ## all that tests need, side by side with -j

run: $(RUN_STAMP) ## start the service with demo data (DEMO=0: without)
	@exec $(PY) manage.py run $(if $(filter 0,$(DEMO)),,--demo) $(ARGS)

migrate: $(RUN_STAMP) ## bring the database to the newest schema
	@$(PY) manage.py migrate --verbosity 0

test: test-sqlite test-postgresql ## the suite on SQLite and on a throwaway PostgreSQL

test-sqlite: $(TEST_STAMP) $(NETBIRD_STAMP) $(OIDC_STAMP)
	env -u SVC_DATABASE_URL $(PY) -m pytest -n $(JOBS) --dist worksteal $(ARGS)

# CI=true makes PostgreSQL mandatory; elsewhere its absence is said and passed over.
test-postgresql: $(TEST_STAMP) $(NETBIRD_STAMP) $(OIDC_STAMP)
	scripts/postgres $(if $(filter true,$(CI)),,--keep-going-without) $(PY) -m pytest -n $(JOBS) --dist worksteal $(ARGS)

test-slow: $(TEST_STAMP) $(NETBIRD_STAMP) $(OIDC_STAMP) $(OTEL_STAMP) $(DOCS_STAMP) ## what takes seconds or more: browsers, servers, kills, soak, full counts
	env -u SVC_DATABASE_URL $(PY) -m pytest -n $(SLOW_JOBS) --dist worksteal -m slow --timeout 900 $(ARGS)
	scripts/postgres $(if $(filter true,$(CI)),,--keep-going-without) $(PY) -m pytest -n $(SLOW_JOBS) --dist worksteal -m slow --timeout 900 $(ARGS)
	scripts/postgres $(if $(filter true,$(CI)),,--keep-going-without) $(PY) -m pytest -n 0 tests/events/test_replica.py

check: $(TEST_STAMP) ## formatting, lint, layers, dead code, lines, types, migrations, OpenAPI, templates
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" scripts/check

lint: check ## the same as check

bench: $(TEST_STAMP) ## print the speed ratios on both databases
	@missed=0; $(PY) -m benchmarks $(ARGS) || missed=1; \
	scripts/postgres --keep-going-without --as-deployed $(PY) -m benchmarks $(ARGS) || missed=1; \
	exit $$missed

pictures: $(TEST_STAMP) ## take the documentation's pictures of the admin site anew (needs Chromium)
	SCREENSHOTS=docs/images $(PY) -m pytest -n 0 -m slow -k pictures_of_the_documentation tests/e2e/test_daily_tasks.py

openapi: $(TEST_STAMP) ## write openapi.yaml from the code
	$(PY) manage.py spectacular --validate --fail-on-warn --file openapi.yaml

dist: $(TEST_STAMP) ## build a release of what is committed into dist/: wheel, sdist, bill of materials
	$(PY) scripts/dist

deb: $(TEST_STAMP) ## add a Debian package of the same commit to dist/ (needs Debian)
	$(PY) scripts/deb

docs: $(DOCS_STAMP) ## make the documentation site in build/docs, which needs no server
	@.venv-docs/bin/python scripts/docs

protos: $(TEST_STAMP) ## compile the .proto files of the peer protocol
	$(PY) scripts/protos

# Extras are kept: without them pip 23 takes the newest release in place of the pinned one.
LOCK = $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-strip-extras --no-emit-index-url --no-emit-find-links --no-header --no-annotate

lock: $(TEST_STAMP) ## compile the lock files from requirements/*.in
	@$(LOCK) requirements/base.in requirements/test.in -o requirements/test.txt
	@for name in base netbird oidc docs; do \
	  $(LOCK) requirements/$$name.in -o requirements/$$name.txt || exit 1; \
	done
	@# Installed beside the run-time set, so it must agree with it.
	@$(LOCK) -c requirements/base.txt requirements/otel.in -o requirements/otel.txt

clean: ## remove environments and caches; keeps var/ (your data)
	rm -rf $(VENV) .venv-netbird .venv-oidc .venv-otel .venv-docs .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* build *.egg-info
