# Everything a developer types. Each target makes the environments it needs first (see scripts/environments.py).
.DEFAULT_GOAL := help
.PHONY: help run sam-local test lint format bench clean build validate deploy openapi vendor screenshots

WITH = sh scripts/bootstrap
MACHINE = $(if $(filter aarch64 arm64,$(shell uname -m)),arm64,x86_64)
PYTEST = python -m pytest -n 3 --dist loadscope --durations 15

help: ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 12

run: ## the whole stack on this machine; PORT, DATA_DIR, DEMO=0 and RUN_DB_URL are taken from the environment
	@$(WITH) stack lambda restate -- python -m local

sam-local: ## the same functions built, in Docker, behind sam local; RUNTIME=3.13, and what make run takes but SQLite
	@$(WITH) stack -- python -m local.docker
	@mkdir -p build/sam-local
	@$(WITH) stack -- env WORK_DIR=build/sam-local ARCHITECTURE=$(MACHINE) sh scripts/build
	@$(WITH) stack restate -- python -m local --sam --runtime $(or $(RUNTIME),3.13) \
		--template build/sam-local/.aws-sam/build/template.yaml

test: ## every test on the newest Python, and the unit and store tests on an older one when there is one
	@$(WITH) dev stack lambda runtime audit node chromium -- $(PYTEST)
	@sh scripts/test-other-python

lint: ## style, types and the architecture's import rules
	@$(WITH) dev -- ruff check .
	@$(WITH) dev -- ruff format --check .
	@$(WITH) dev -- mypy
	@$(WITH) dev -- env PYTHONPATH=layers/meridian lint-imports
	@$(WITH) dev node -- node_modules/.bin/tsc -p tsconfig.json
	@$(WITH) dev node -- python scripts/vendor_console.py --check

format: ## lets ruff format and mend what it can
	@$(WITH) dev -- ruff check --fix .
	@$(WITH) dev -- ruff format .

bench: ## the ratios of speed, as a table and as JSON
	@$(WITH) dev stack runtime restate -- env PYTHONPATH=layers/meridian python -m tests.benchmarks

build: ## what is deployed, under .aws-sam/build, with bytecode; RUNTIME=3.13 and ARCHITECTURE=arm64
	@$(WITH) stack -- sh scripts/build

validate: ## the template by the rules of CloudFormation
	@$(WITH) stack -- env SAM_CLI_TELEMETRY=0 sam validate --lint

deploy: build ## builds and deploys, asking for the parameters
	@$(WITH) stack -- sam deploy --guided

openapi: ## the OpenAPI documents in docs/, from the functions' routes
	@$(WITH) dev -- env PYTHONPATH=layers/meridian python -m scripts.openapi

vendor: ## the console's libraries, from the npm packages, and its sample events
	@$(WITH) dev node -- python scripts/vendor_console.py

screenshots: ## the pictures of the console in docs/screenshots, on a stack of their own
	@$(WITH) dev stack lambda restate chromium -- env PYTHONPATH=layers/meridian:. python -m scripts.screenshots

clean: ## removes what the Makefile made; the data under ~/.meridian stay
	rm -rf .venvs node_modules .aws-sam build .pytest_cache .mypy_cache .ruff_cache .hypothesis
