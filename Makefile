# AlterShield Operator. `make help` lists the targets.

SHELL := /bin/sh
.DEFAULT_GOAL := help

IMG ?= altershield-operator:latest
export MANAGER_ARGS ?=
SERVER ?=
VERSION ?= dev
COMMIT ?= unknown
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
GOVULNDB ?=
PKG ?=
DEMO_ARGS ?=

TOOL := go tool -modfile=hack/tools/go.mod
GOVULNCHECK := go tool -modfile=hack/tools/govulncheck/go.mod govulncheck
KUSTOMIZE := go tool -modfile=hack/tools/kustomize/go.mod kustomize
CONTROLLER_GEN := $(TOOL) controller-gen
GOLANGCI_LINT := $(TOOL) golangci-lint

# The race detector needs a C compiler. Without one the tests run all the same, and say so.
HAVE_CC := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo yes)
TEST_ENV := $(if $(HAVE_CC),CGO_ENABLED=1,CGO_ENABLED=0)
RACE := $(if $(HAVE_CC),-race)

##@ The two commands

.PHONY: demo
demo: build ## Play the documented walkthrough on a cluster of its own and check every step.
	go run ./hack/demo --manager bin/manager $(DEMO_ARGS)

.PHONY: test
test: assets ## Run all tests, with the race detector where there is a C compiler.
	$(if $(HAVE_CC),,@echo "No C compiler: the tests run without the race detector.")
	$(TEST_ENV) go test $(RACE) -run '^$$' ./... >/dev/null
	$(TEST_ENV) go test $(RACE) -p 1 -timeout 75m ./...

##@ A cluster to play with

.PHONY: up
up: build $(if $(SERVER),build-server) ## Start a control plane, fake nodes and the operator in the background. SERVER=1 adds a test server, MANAGER_ARGS="..." flags.
	@go run ./hack/local up --manager bin/manager $(if $(SERVER),--server bin/altershield) --manager-args "$$MANAGER_ARGS"

.PHONY: down
down: ## Stop what `make up` started and remove its data.
	@go run ./hack/local down

.PHONY: assets
assets: ## Build etcd, Kubernetes and KWOK into setup-envtest's store, once; minutes the first time.
	@go run ./hack/local assets

##@ Development

.PHONY: build
build: ## Build the manager into bin/manager.
	@CGO_ENABLED=0 go build -trimpath -o bin/manager .

.PHONY: build-server
build-server: ## Build the AlterShield test server into bin/altershield.
	@CGO_ENABLED=0 go build -trimpath -o bin/altershield ./hack/altershield/cmd

.PHONY: generate
generate: ## Generate deep copies, CRDs, RBAC, webhook configurations and docs/permissions.md from the code.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt crd rbac:roleName=manager-role webhook \
		paths=./apis/... paths=./controllers/... paths=./webhooks/... paths=./routers/... paths=./runnable/... \
		output:crd:artifacts:config=config/crd/bases \
		output:rbac:artifacts:config=config/rbac \
		output:webhook:artifacts:config=config/webhook
	$(KUSTOMIZE) build config/default | \
		go run ./hack/permissions --out docs/permissions.md apis controllers routers runnable webhooks config/rbac

.PHONY: fmt
fmt: ## Format the code.
	gofmt -w $$(git ls-files '*.go')

.PHONY: vet
vet: ## Run go vet.
	go vet ./...

.PHONY: lint
lint: ## Run golangci-lint, built from its pinned Go module.
	CGO_ENABLED=0 $(GOLANGCI_LINT) run

.PHONY: tidy
tidy: ## Tidy go.mod.
	go mod tidy

.PHONY: verify
verify: tidy generate fmt vet lint licenses ## Regenerate, format, vet, lint and check licences; fail if that leaves the work tree dirty.
	@dirty=$$(git status --porcelain); if [ -n "$$dirty" ]; then \
		echo "The work tree is dirty. Commit what was generated or formatted:"; echo "$$dirty"; git --no-pager diff | head -100; exit 1; fi

##@ Supply chain

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities that PKG, the manager unless told otherwise, calls. Asks vuln.go.dev, or GOVULNDB.
	$(GOVULNCHECK) $(if $(GOVULNDB),-db $(GOVULNDB)) $(or $(PKG),.)

.PHONY: licenses
licenses: build ## Check the licences of all that is linked into the manager, and write their texts to bin/third-party-licenses.txt.
	@go run ./hack/supplychain licenses --out bin/third-party-licenses.txt

.PHONY: sbom
sbom: build ## Write the manager's bill of materials (CycloneDX) to bin/sbom.cdx.json.
	@go run ./hack/supplychain sbom --out bin/sbom.cdx.json --version "$(VERSION)" --commit "$(COMMIT)" --date "$(SOURCE_DATE_EPOCH)"

##@ Image and cluster

.PHONY: docker-build
docker-build: ## Build the image IMG.
	docker build -t $(IMG) .

.PHONY: install
install: ## Install the CRDs into the cluster of the current kubeconfig.
	kubectl apply -k config/crd

.PHONY: uninstall
uninstall: ## Remove the CRDs, and with them all ChangeWorkloads, ChangePods and OpsConfigInfos.
	kubectl delete --ignore-not-found -k config/crd

##@ Help

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z_-]+:.*##/ {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
