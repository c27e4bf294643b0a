SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

BINARY := bin/chequer
GO     := go
# Packages with goroutines of their own: tested with the race detector.
RACE   := ./internal/invoice/... ./internal/storage/... ./internal/watcher/... ./internal/webhook/... ./internal/merchant/... ./internal/rates/... \
          ./internal/server/... ./internal/client/... ./internal/chain/simnet/... ./internal/chain/bitcoin ./internal/chain/bitcoin/light ./internal/chain/bitcoin/node ./internal/chain/ethereum/... ./internal/app/... ./internal/convert/... ./internal/exchange/... ./web/...

.PHONY: help build run generate verify test race e2e fetch bench lint nightly clean

help: ## Say what can be made
	@grep -hE '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9]+):.*## /  make \1|/' | column -t -s '|'

build: ## Build the program as bin/chequer
	@test -x $(BINARY) || echo "Building for the first time: fetching modules and compiling takes a minute or more. Later builds take seconds."
	@mkdir -p bin
	@$(GO) build -v -o $(BINARY) ./cmd/chequer 2>&1 | { fetched=0; compiled=0; \
		while IFS= read -r line; do \
			case "$$line" in \
				"go: downloading"*) fetched=$$((fetched+1));; \
				*" "*|"#"*) printf '%s\n' "$$line"; continue;; \
				*) compiled=$$((compiled+1));; \
			esac; \
			if [ -t 1 ]; then printf '\r  %d modules fetched, %d packages compiled ' $$fetched $$compiled; \
			elif [ $$(((fetched+compiled) % 50)) -eq 0 ]; then echo "  $$fetched modules fetched, $$compiled packages compiled"; fi; \
		done; if [ -t 1 ] && [ $$((fetched+compiled)) -gt 0 ]; then echo; fi; }

run: build ## Start the demo shop; Ctrl-C stops it
	@exec $(BINARY) demo

generate: ## Write the generated files again
	$(GO) tool templ generate -path views

verify: lint ## Check that generated files are fresh and nothing is suspicious
	@echo "generated files"; $(GO) tool templ generate -path views >/dev/null 2>&1 && test -z "$$(git status --porcelain -- views)" \
		|| { git status --short -- views; echo "run make generate and commit"; exit 1; }
	@echo "go.mod"; $(GO) mod tidy -diff
	@echo "govulncheck"; internal/e2e/vulncheck.sh

lint: ## Look for faults that the compiler lets through
	@echo "gofmt"; test -z "$$(gofmt -l cmd internal static views web)" || { gofmt -l cmd internal static views web; exit 1; }
	@echo "go vet"; $(GO) vet ./...
	@echo "staticcheck"; $(GO) tool staticcheck ./...

fetch: ## Install what the tests need and this machine lacks
	@internal/e2e/fetch.sh

test: fetch race ## Run every test
	$(GO) test -timeout 20m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(RACE))")

race: ## Run the packages with goroutines under the race detector
	$(GO) test -race -short $(RACE)

e2e: fetch ## Run the whole program in a real browser
	$(GO) test -timeout 20m -count=1 ./internal/e2e/...

bench: ## Measure, each figure beside a baseline of the same run
	$(GO) run ./internal/bench
	$(GO) test -run '^$$' -bench . ./internal/invoice ./internal/storage ./internal/keys ./internal/watcher ./internal/chain/ethereum/quorum

nightly: test ## Run the slow tests too
	$(GO) test ./internal/storage
	@internal/e2e/fetch.sh nightly
	E2E_NIGHTLY=on $(GO) test -count=1 -v -run 'Chaos|Lighthouse' ./internal/e2e
	E2E_NIGHTLY=on $(GO) test -count=1 -run Geth ./internal/chain/ethereum/quorum
	for target in money:FuzzParse keys:FuzzParse server:FuzzCreate server:FuzzAuth rates:FuzzKraken client:FuzzClient_shows_only_what_is_fit keys:FuzzParseDescriptor; do \
		$(GO) test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime 60s ./internal/$${target%:*} || exit 1; done

clean: ## Remove what was built; data stays
	rm -rf bin
