# AlterShield Operator. `make help` lists the targets.

SHELL := /bin/sh
.DEFAULT_GOAL := help

IMG ?= altershield-operator:latest
export MANAGER_ARGS ?=
SERVER ?=
HOSTS ?=
GOVULNDB ?=
PKG ?=
DEMO_ARGS ?=
SOAK_ARGS ?=
E2E_ARGS ?=
FAULTS_ARGS ?=
BENCH_ARGS ?=
NODES ?= 2
FUZZTIME ?= 60s
FUZZ ?=
# The kustomization that deploy, build-installer and deployYaml take, such as config/overlays/cert-manager.
CONFIG ?= config/default
# What the manager says about itself. Lazy: only a build asks git.
VERSION ?= $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS = -X main.version=$(VERSION) -X main.commit=$(COMMIT)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
PLATFORMS ?= linux/amd64,linux/arm64
CONTAINER_TOOL ?= docker
KUBECTL ?= $(shell command -v kubectl || go run ./hack/local kubectl-path)

TOOL := go tool -modfile=hack/tools/go.mod
GOVULNCHECK := go tool -modfile=hack/tools/govulncheck/go.mod govulncheck
KUSTOMIZE := go tool -modfile=hack/tools/kustomize/go.mod kustomize
CONTROLLER_GEN := $(TOOL) controller-gen
GOLANGCI_LINT := $(TOOL) golangci-lint

# The race detector needs a C compiler. Without one the tests run all the same, and say so.
HAVE_CC := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo yes)
TEST_ENV := $(if $(HAVE_CC),CGO_ENABLED=1,CGO_ENABLED=0)
RACE := $(if $(HAVE_CC),-race)

# The suites that run the built manager on a control plane. They run in PROCS processes, each with a control plane of its own.
SYSTEM := ./controllers ./webhooks/servingcert
PROCS ?= 2
GINKGO = go tool ginkgo --procs=$(PROCS) --timeout=75m

##@ The two commands

.PHONY: demo
demo: build ## Play the documented walkthrough on a cluster of its own and check every step.
	go run ./hack/demo --manager bin/manager $(DEMO_ARGS)

.PHONY: demo-svg
demo-svg: build assets ## Record the demo as docs/demo.svg, with asciinema 2 and svg-term on the PATH.
	asciinema rec --quiet --overwrite --cols 100 --rows 30 --command 'echo "$$ make demo"; $(MAKE) -s demo' bin/demo.cast
	awk -v scenes="0 2 3 4 5 6 7 8 9" -v width=98 -f hack/demo/pace.awk bin/demo.cast >bin/paced.cast
	svg-term --in bin/paced.cast --out docs/demo.svg --window --no-cursor

.PHONY: test
test: assets ## Run the tests but for the slow ones: unit and component tests with the race detector, and the system on a control plane.
	$(if $(HAVE_CC),,@echo "No C compiler: the tests run without the race detector.")
	$(TEST_ENV) go test $(RACE) -short -vet=off -timeout 15m ./...
	CGO_ENABLED=0 $(GINKGO) --label-filter='!slow' $(SYSTEM)

.PHONY: test-compile
test-compile: ## Compile what the tests need, so that `make test` finds a warm cache.
	$(TEST_ENV) go build $(RACE) ./...
	CGO_ENABLED=0 go build ./...

.PHONY: test-full
test-full: assets ## Run all tests, with the race detector where there is a C compiler.
	$(if $(HAVE_CC),,@echo "No C compiler: the tests run without the race detector.")
	$(TEST_ENV) go test $(RACE) -p 1 -timeout 60m $(filter-out $(SYSTEM:./%=\%/%),$(shell go list ./...))
	$(TEST_ENV) $(GINKGO) $(RACE) $(SYSTEM)

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

##@ Real nodes

.PHONY: node
node: build-node modules ## Open a shell beside a cluster with real nodes, on Linux as root; NODES=2. The cluster ends with the shell.
	@bin/node --nodes=$(NODES) -- sh -c '"$${SHELL:-/bin/sh}" || true' # what the last command in it came to says nothing

.PHONY: e2e
e2e: build-node modules ## Install the operator on a cluster with real nodes and live with it, on Linux as root: CONTRIBUTING.md, "Real nodes".
	$(TEST_ENV) go test $(RACE) -c -tags e2e -o bin/e2e.test ./hack/e2e
	E2E_ROOT=$(CURDIR) bin/node --nodes=2 -- bin/e2e.test -ginkgo.v -ginkgo.no-color -ginkgo.fail-fast $(E2E_ARGS)

# There is no module proxy beside the cluster.
.PHONY: modules
modules:
	@go mod download
	@cd hack/image && go mod download

.PHONY: build-node
build-node: ## Build bin/node, which runs a command beside a cluster with real nodes: bin/node -- <command>.
	@CGO_ENABLED=0 go build -trimpath -o bin/node ./hack/node

##@ Measured, and broken on purpose

.PHONY: bench
bench: build ## Measure what the operator costs: ratios to native, CPU, memory, writes. BENCH_ARGS="--full" measures everything.
	@go run ./hack/bench --manager bin/manager --commit "$(COMMIT)" $(BENCH_ARGS)

.PHONY: faults
faults: build ## Play scenarios while every write fails once, the manager is killed at each, and what it sees is late or lost. FAULTS_ARGS="--sample=10" for a tenth.
	go run ./hack/faults --manager bin/manager $(FAULTS_ARGS)

# Not trimmed: so it shares what the tests have compiled.
.PHONY: soak
soak: assets ## Let a random actor live with the operator and check what must always hold. SOAK_ARGS="--duration=30m --seed=...": 30 minutes.
	$(if $(HAVE_CC),,@echo "No C compiler: the manager runs without the race detector.")
	@$(TEST_ENV) go build $(RACE) -o bin/manager-soak .
	go run ./hack/soak --manager bin/manager-soak $(SOAK_ARGS)

# `go test` fuzzes one target of one package at a time.
.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME, one after another; FUZZ="regexp" for some of them. What breaks one is kept in testdata/fuzz.
	@targets=$$(git grep -oE '^func Fuzz[A-Za-z0-9]*' -- '*_test.go' | sed 's/:func / /' | grep -E ' .*($(FUZZ))') || \
		{ echo "No fuzz target has a name like $(FUZZ)."; exit 1; }; \
	echo "$$targets" | while read -r file target; do \
		echo "=== $$target in $$(dirname "$$file")"; \
		CGO_ENABLED=0 go test "./$$(dirname "$$file")" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -parallel 2 || exit 1; \
	done

.PHONY: coverage
coverage: assets ## Run the unit and component tests and fail where they reach less than 95% of what decides (hack/coverage.yaml); the rest is shown.
	@mkdir -p bin
	@CGO_ENABLED=0 go test -short -coverprofile bin/coverage.out ./apis/... ./controllers/... ./routers/... ./runnable/... ./webhooks/...
	@CGO_ENABLED=0 $(TOOL) go-test-coverage --config hack/coverage.yaml

##@ Development

# Without gRPC's traces nothing needs html/template, for which the linker would keep every method there is: a fifth of the program.
.PHONY: build
build: ## Build the manager into bin/manager.
	@CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags "$(LDFLAGS)" -o bin/manager .

.PHONY: build-server
build-server: ## Build the AlterShield test server into bin/altershield.
	@CGO_ENABLED=0 go build -trimpath -o bin/altershield ./hack/altershield/cmd

.PHONY: certs
certs: ## Make a certificate in certs/ for a manager that is debugged on this machine. HOSTS="name,address" for more than localhost.
	@go run ./hack/local certs --dir certs --hosts "$(HOSTS)"

.PHONY: generate
generate: ## Generate deep copies, CRDs, RBAC, webhook configurations, docs/permissions.md and the tables of docs/reference.md from the code, and copy to the Helm chart what it takes over.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt crd rbac:roleName=manager-role webhook \
		paths=./apis/... paths=./controllers/... paths=./webhooks/... paths=./routers/... paths=./runnable/... \
		output:crd:artifacts:config=config/crd/bases \
		output:rbac:artifacts:config=config/rbac \
		output:webhook:artifacts:config=config/webhook
	{ $(KUSTOMIZE) build config/default && echo --- && cat config/uninstall/role.yaml; } | \
		go run ./hack/permissions --out docs/permissions.md apis controllers routers runnable webhooks config/rbac config/uninstall
	CGO_ENABLED=0 go run -tags grpcnotrace . -h 2>&1 | CGO_ENABLED=0 go run ./hack/docs docs/reference.md docs/zh/reference.md
	$(KUSTOMIZE) build config/crd >config/chart/files/crds.yaml
	$(KUSTOMIZE) build config/admission-policy >config/chart/files/admission-policy.yaml
	cp config/uninstall/role.yaml config/chart/files/uninstall-role.yaml
	cp config/rbac/role.yaml config/prometheus/rules.yaml config/prometheus/dashboard.json config/chart/files/

.PHONY: fmt
fmt: ## Format the code.
	gofmt -w $$(git ls-files '*.go')

.PHONY: vet
vet: ## Run go vet.
	go vet ./...
	cd hack/image && go vet ./...

.PHONY: lint
lint: ## Run golangci-lint, built from its pinned Go module.
	CGO_ENABLED=0 $(GOLANGCI_LINT) run
	cd hack/image && CGO_ENABLED=0 go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint run

# Without the clients of the clouds promtool is built in half of the time; "go tool" takes no tags. Go doesn't notice that files
# outside of a module have changed: no cached result.
.PHONY: check-alerts
check-alerts: ## Check and test the alert rules with promtool, built from its pinned Go module, and check the dashboard.
	cd hack/tools/promtool && CGO_ENABLED=0 go build -tags remove_all_sd -o ../../../bin/promtool github.com/prometheus/prometheus/cmd/promtool
	cd hack/tools/promtool && CGO_ENABLED=0 go test -count=1 ./...

.PHONY: check-image
check-image: ## Test what builds the image.
	cd hack/image && CGO_ENABLED=0 go test -count=1 ./...

.PHONY: tidy
tidy: ## Tidy go.mod, and that of hack/image.
	go mod tidy
	cd hack/image && go mod tidy

.PHONY: verify
verify: tidy generate fmt vet lint licenses sbom check-alerts check-image ## Regenerate, format, vet, lint, check licences, alerts and the image; fail if that leaves the work tree dirty.
	@dirty=$$(git status --porcelain); if [ -n "$$dirty" ]; then \
		echo "The work tree is dirty. Commit what was generated or formatted:"; echo "$$dirty"; git --no-pager diff | head -100; exit 1; fi

##@ Supply chain

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities that PKG, the manager unless told otherwise, calls. Asks vuln.go.dev, or GOVULNDB.
	$(GOVULNCHECK) $(if $(GOVULNDB),-db $(GOVULNDB)) $(or $(PKG),.)

# What others' code asks for: its text goes with the program, with Apache-2.0 a NOTICE file too; a changed file under MPL-2.0 has to
# be published. GOFLAGS and CGO_ENABLED are those of `make build`.
ALLOWED_LICENSES ?= Apache-2.0,BSD-2-Clause,BSD-3-Clause,ISC,MIT,MPL-2.0
GO_LICENSES = CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -tags=grpcnotrace" $(TOOL) go-licenses --logtostderr=false --stderrthreshold=ERROR --log_file=/dev/null

# Two texts that go-licenses doesn't copy: of the standard library, and the second one of a package with two.
.PHONY: licenses
licenses: ## Check the licences of all that is linked into the manager, and copy their texts and notices to bin/third-party-licenses.
	@$(GO_LICENSES) check . --allowed_licenses=$(ALLOWED_LICENSES)
	@$(GO_LICENSES) save . --force --save_path=bin/third-party-licenses
	@mkdir bin/third-party-licenses/std && cp "$$(go env GOROOT)/LICENSE" bin/third-party-licenses/std
	@cp "$$(go list -m -f '{{.Dir}}' go.yaml.in/yaml/v2)/LICENSE.libyaml" bin/third-party-licenses/go.yaml.in/yaml/v2

.PHONY: sbom
sbom: build ## Write the manager's bill of materials (CycloneDX) to bin/sbom.cdx.json.
	@CGO_ENABLED=0 $(TOOL) cyclonedx-gomod bin -json -std -version "$(VERSION)" -output bin/sbom.cdx.json bin/manager

##@ Image

DOCKER_STAMP = --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) --build-arg SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH)
IMAGE = SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) bin/image --version $(VERSION) --commit $(COMMIT) --platforms $(PLATFORMS)

.PHONY: docker-build
docker-build: ## Build the image IMG with docker (or CONTAINER_TOOL=podman).
	$(CONTAINER_TOOL) build $(DOCKER_STAMP) -t $(IMG) .

.PHONY: docker-push
docker-push: ## Push the image IMG with docker.
	$(CONTAINER_TOOL) push $(IMG)

.PHONY: docker-buildx
docker-buildx: ## Build the image IMG for all PLATFORMS with a BuildKit builder (docker buildx create --use) and push it.
	$(CONTAINER_TOOL) buildx build --platform $(PLATFORMS) $(DOCKER_STAMP) \
		--output type=image,name=$(IMG),push=true,rewrite-timestamp=true .

# A module of its own: nothing else needs what it is built from.
.PHONY: build-image
build-image:
	@CGO_ENABLED=0 go build -C hack/image -o $(CURDIR)/bin/image .

.PHONY: image
image: build-image ## Build the image IMG for all PLATFORMS without a container engine, into bin/altershield-operator.tar (an OCI layout).
	@$(IMAGE) --tag $(IMG) --output bin/altershield-operator.tar

.PHONY: image-push
image-push: build-image ## The same, pushed to its registry. INSECURE=1 for one that speaks plain HTTP.
	@$(IMAGE) --push $(IMG) $(if $(INSECURE),--insecure)

##@ Cluster of the current kubeconfig

.PHONY: deploy
deploy: overlay ## Install the operator with the image IMG.
	$(KUBECTL) apply -k bin/deploy
	@echo "Wait until it is there: kubectl -n altershieldoperator-system rollout status deployment altershieldoperator-controller-manager"

.PHONY: build-installer
build-installer: overlay ## Write all objects, with the image IMG, into bin/install.yaml.
	@$(KUBECTL) kustomize bin/deploy >bin/install.yaml
	@echo "Apply it with: kubectl apply -f bin/install.yaml"

.PHONY: deployYaml
deployYaml: build-installer ## The same, by its name in the documents.

# IMG goes into a kustomization of its own: no file that git tracks changes with it.
.PHONY: overlay
overlay:
	@mkdir -p bin/deploy
	@printf '%s\n' 'resources: [../../$(CONFIG)]' 'patches:' \
		'- target: {kind: Deployment, name: altershieldoperator-controller-manager}' \
		'  patch: "- {op: replace, path: /spec/template/spec/containers/0/image, value: $(IMG)}"' >bin/deploy/kustomization.yaml

.PHONY: install
install: ## Install the CRDs alone.
	$(KUBECTL) apply -k config/crd

.PHONY: uninstall
uninstall: build ## Remove the CRDs, and with them all ChangeWorkloads, ChangePods and OpsConfigInfos.
	@bin/manager uninstall --records-only

.PHONY: undeploy
undeploy: build ## Remove the operator and list what it leaves. Workloads run on.
	@bin/manager uninstall

##@ Help

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z0-9_-]+:.*##/ {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
