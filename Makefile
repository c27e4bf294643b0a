SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

BINARY := bin/chequer
GO     := go
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
CACHE  := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/chequer/bin

# Packages that are tested without the race detector, which makes tests several times slower:
#   internal/e2e, cmd/chequer   start the program in a process of its own, which the detector does not cover
#   internal/bench              measures performance
#   internal/keys, money, proof, receipt, views: pure functions without goroutines, many vectors
NORACE := ./internal/e2e/... ./cmd/... ./internal/bench/... ./internal/keys/... ./internal/money/... ./internal/proof/... ./internal/receipt/... ./views/...
# SQLite is C translated to Go. It and the translated C library are compiled without the race detector: they
# synchronize as C does, and the detector makes them about seven times slower. The driver, modernc.org/sqlite, is
# checked as every other package is.
SQLITE := modernc.org/sqlite/lib modernc.org/libc modernc.org/memory
RACE   := -race $(foreach package,$(SQLITE),-gcflags='$(package)=-race=false -d=checkptr=0')
# Packages of rules and parsers. The tests of each take about two seconds.
QUICK  := ./internal ./internal/money/... ./internal/invoice/... ./internal/merchant/... ./internal/config/... ./internal/signature/... ./internal/seal/... ./internal/evm ./internal/sweep/plan ./internal/sweep/sign ./internal/sweep/offline \
          ./internal/api/... ./internal/locale/... ./internal/caller/... ./internal/guard/... ./internal/rates/... ./internal/chain ./internal/requestlog/... ./views/...

.PHONY: help build run dev generate verify lint setup quick test race e2e bench nightly clean

help: ## List the targets
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

dev: ## Start the demo shop and restart it whenever a source, template, style or script changes
	@$(GO) tool templ generate -watch -path . -open-browser=false -cmd "$(GO) run ./cmd/chequer demo" \
		-watch-pattern '(.+\.go$$)|(.+\.templ$$)|(.+_templ\.txt$$)|(.+/(static|catalogue)/.+$$)'

generate: ## Regenerate the generated files
	$(GO) tool templ generate -path views
	$(GO) generate ./static

verify: lint ## Run the linters, and check generated files, go.mod and known vulnerabilities
	@echo "generated files"; $(GO) tool templ generate -path views >/dev/null 2>&1 && $(GO) generate ./static \
		&& test -z "$$(git status --porcelain -- views static)" \
		|| { git status --short -- views static; echo "run make generate and commit"; exit 1; }
	@echo "language"; $(GO) test -run TestLanguage ./internal
	@echo "go.mod"; $(GO) mod tidy -diff
	@echo "govulncheck"; internal/e2e/vulncheck.sh

lint: ## Run gofmt, go vet, staticcheck and golangci-lint
	@echo "gofmt"; test -z "$$(gofmt -l cmd internal static views web)" || { gofmt -l cmd internal static views web; exit 1; }
	@echo "go vet"; $(GO) vet ./...
	@echo "staticcheck"; $(GO) tool staticcheck ./...
	@internal/e2e/fetch.sh lint
	@echo "golangci-lint"; if [ -x $(CACHE)/golangci-lint ]; then $(CACHE)/golangci-lint run ./...; else test -z "$$CI" && echo "skipped: golangci-lint is not installed"; fi

setup: ## Install the programs that the tests need; without root, list the missing ones
	@internal/e2e/fetch.sh

quick: ## Run the tests of rules and parsers, in under half a minute
	$(GO) test -short $(QUICK)

test: ## Run make setup, then every test
	@echo "make setup: installing the programs that the tests need"; internal/e2e/fetch.sh
	@$(MAKE) --no-print-directory race
	$(GO) test -timeout 40m $(NORACE)

race: ## Run every test except those of NORACE under the race detector
	$(GO) test $(RACE) -short -timeout 30m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(NORACE))")

e2e: setup ## Run the whole program in a real browser
	$(GO) test -timeout 20m -count=1 ./internal/e2e/...

bench: ## Measure performance; BENCH_FOR=5s is the time of each load, BENCH_STORED=100000 the most stored invoices, BENCH_PAGES=2000 the open pages, BENCH_POSTGRES=URL adds PostgreSQL
	$(GO) test -run '^$$' -bench . -benchtime 1x -timeout 0 ./internal/bench
	$(GO) test -run '^$$' -bench . ./internal/invoice ./internal/storage ./internal/keys ./internal/monero ./internal/watcher ./internal/chain/ethereum/quorum ./views

# Systems besides this one for which releases are built; see .goreleaser.yaml.
SYSTEMS := linux/arm64 darwin/arm64 windows/amd64

nightly: test ## Run the slow tests too, and build for other systems
	@for system in $(SYSTEMS); do echo "build for $$system"; \
		CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/} $(GO) build -o /dev/null ./cmd/chequer || exit 1; done
	$(GO) test ./internal/sale ./internal/storage/...
	E2E_NIGHTLY=on $(GO) test ./internal/invoice
	@internal/e2e/fetch.sh nightly
	internal/e2e/image.sh
	E2E_NIGHTLY=on $(GO) test -count=1 -v -run 'Chaos|Lighthouse|WebKit|Monero' ./internal/e2e
	E2E_NIGHTLY=on $(GO) test -timeout 60m -count=1 -v -run Soak ./internal/e2e
	E2E_NIGHTLY=on $(GO) test -count=1 -run Geth ./internal/chain/ethereum/quorum
	E2E_NIGHTLY=on $(GO) test -timeout 30m -count=1 ./internal/chain/lightning/lndtest
	E2E_NIGHTLY=on $(GO) test -timeout 30m -count=1 ./internal/chain/monero/monerotest
	E2E_NIGHTLY=on $(GO) test -timeout 60m -count=1 -run real_daemon ./internal/chain/monero/daemon
	for target in money:FuzzParse keys:FuzzParse server:FuzzCreate server:FuzzAuth rates:FuzzKraken chain/monero/daemon:FuzzAnswer monero:FuzzReadExtra monero:FuzzParseTransaction client/foreign:FuzzClient_returns_only_valid_values keys:FuzzParseDescriptor sweep/plan:FuzzRead sweep/plan:FuzzReadSigned evm:FuzzParseTransaction; do \
		$(GO) test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime 60s -fuzzminimizetime 100x ./internal/$${target%:*} || exit 1; done

clean: ## Remove the built program; data is kept
	rm -rf bin
