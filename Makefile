# AlterShield Operator. `make help` lists the targets.

SHELL := /bin/sh
.DEFAULT_GOAL := help

IMG ?= altershield-operator:latest
export MANAGER_ARGS ?=
# How long Gomega waits where a test doesn't say: tests must not depend on how fast the machine is.
export GOMEGA_DEFAULT_EVENTUALLY_TIMEOUT ?= 30s
SERVER ?=
HOSTS ?=
GOVULNDB ?=
PKG ?=
DEMO_ARGS ?=
SOAK_ARGS ?=
E2E_ARGS ?=
FAULTS_ARGS ?=
UPGRADE_ARGS ?=
GITOPS_ARGS ?=
BENCH_ARGS ?=
NODES ?= 2
FUZZTIME ?= 60s
FUZZ ?=
# The kustomization that deploy, build-installer and deployYaml take, such as config/overlays/cert-manager.
CONFIG ?= config/default
# The version that the manager reports. Lazy, so that git only runs for a build.
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

# The race detector needs a C compiler. Without one the tests run without it and print a note.
HAVE_CC := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo yes)
TEST_ENV := $(if $(HAVE_CC),CGO_ENABLED=1,CGO_ENABLED=0)
RACE := $(if $(HAVE_CC),-race)

# The suites that run the built manager on a control plane, in PROCS processes with a control plane each.
SYSTEM := ./controllers ./webhooks/servingcert
without_system = $(filter-out $(SYSTEM:./%=\%/%),$(shell go list $(1)))
PROCS ?= 2
GINKGO = go tool ginkgo --procs=$(PROCS) --timeout=75m

# Control planes, the compiler and the linker allocate much: with rarer garbage collections the specs need a third less CPU time.
test test-unit test-compile test-oldest test-full coverage: export GOGC ?= 400

##@ The two commands

.PHONY: demo
demo: build ## Run the documented walkthrough on its own cluster and check every step.
	go run ./hack/demo --manager bin/manager $(DEMO_ARGS)

.PHONY: demo-svg
demo-svg: build assets ## Record the demo as docs/demo.svg, with asciinema 2 and svg-term on the PATH.
	asciinema rec --quiet --overwrite --cols 100 --rows 30 --command 'echo "$$ make demo"; $(MAKE) -s demo' bin/demo.cast
	awk -v scenes="0 2 3 4 5 6 7 8 9" -v width=98 -f hack/demo/pace.awk bin/demo.cast >bin/paced.cast
	svg-term --in bin/paced.cast --out docs/demo.svg --window --no-cursor

.PHONY: test
test: test-unit ## Run all but the slow tests: unit and component tests, and system tests on a control plane.
	CGO_ENABLED=0 $(GINKGO) --label-filter='!slow' $(SYSTEM)

.PHONY: test-unit
test-unit: assets ## Run the unit and component tests.
	@mkdir -p bin
	CGO_ENABLED=0 go test -short -vet=off -timeout 15m -coverprofile bin/coverage.out $(call without_system,./...)

.PHONY: coverage
coverage: test-unit ## Run the unit and component tests, and fail if they cover less than 95% of the decision code (hack/coverage.yaml).
	@CGO_ENABLED=0 $(TOOL) go-test-coverage --config hack/coverage.yaml

.PHONY: test-compile
test-compile: ## Compile the tests and all that they need, without linking programs, so that `make test` finds a warm cache.
	@CGO_ENABLED=0 go list -export -test ./... >/dev/null

.PHONY: test-oldest
test-oldest: ## Run the system tests of `make test` on the oldest tested Kubernetes, 1.33.
	programs=$$(go run ./hack/local assets --kubernetes=1.33) && \
		KUBEBUILDER_ASSETS=$$programs CGO_ENABLED=0 $(GINKGO) --label-filter='!slow' $(SYSTEM)

.PHONY: test-full
test-full: assets ## Run all tests, with the race detector where there is a C compiler, and test-oldest.
	$(if $(HAVE_CC),,@echo "No C compiler: the tests run without the race detector.")
	$(TEST_ENV) go test $(RACE) -p 1 -timeout 60m $(call without_system,./...)
	$(TEST_ENV) $(GINKGO) $(RACE) $(SYSTEM)
	@$(MAKE) test-oldest

##@ Local cluster

.PHONY: up
up: build $(if $(SERVER),build-server) ## Start a control plane, fake nodes and the operator in the background. SERVER=1 adds a test server, MANAGER_ARGS="..." flags.
	@go run ./hack/local up --manager bin/manager $(if $(SERVER),--server bin/altershield) --manager-args "$$MANAGER_ARGS"

.PHONY: series
series: ## Run a Prometheus at 127.0.0.1:9090 with series of the pods of `make up`, until Ctrl-C.
	@CGO_ENABLED=0 go run ./hack/series

.PHONY: down
down: ## Stop the cluster of `make up` and remove its data.
	@go run ./hack/local down

.PHONY: assets
assets: ## Build etcd, Kubernetes and KWOK into setup-envtest's store, once. The first build takes minutes.
	@go run ./hack/local assets

##@ Real nodes

.PHONY: node
node: build-node modules ## Open a shell with a cluster of real nodes, on Linux as root; NODES=2. The cluster ends with the shell.
	@bin/node --nodes=$(NODES) -- sh -c '"$${SHELL:-/bin/sh}" || true' # the exit code of the last command in the shell doesn't count

.PHONY: e2e
e2e: build-node modules ## Test an installation on a cluster of real nodes, on Linux as root: CONTRIBUTING.md, "Real nodes".
	CGO_ENABLED=0 go test -c -tags e2e -o bin/e2e.test ./hack/e2e
	E2E_ROOT=$(CURDIR) bin/node --nodes=2 -- bin/e2e.test -ginkgo.v -ginkgo.no-color -ginkgo.fail-fast -ginkgo.label-filter='!many && !judge && !autoscale' $(E2E_ARGS)

# The shell beside the cluster has no module proxy, and no network for what the suite needs of other projects.
.PHONY: modules
modules:
	@go mod download
	@cd hack/image && go mod download
	@go run ./hack/e2e/supplies/cmd

.PHONY: build-node
build-node: ## Build bin/node, which runs a command with a cluster of real nodes: bin/node -- <command>.
	@CGO_ENABLED=0 go build -trimpath -o bin/node ./hack/node

##@ Measurements and fault injection

.PHONY: bench
bench: build build-plugin ## Measure the cost of the operator: ratios to native, CPU, memory, writes. BENCH_ARGS="--full" measures everything.
	@go run ./hack/bench --manager bin/manager --commit "$(COMMIT)" $(BENCH_ARGS)

.PHONY: faults
faults: build ## Run scenarios with faults: each write fails once, the manager is killed at each write, its watches lag or lose events. FAULTS_ARGS="--sample=10" for a tenth.
	go run ./hack/faults --manager bin/manager $(FAULTS_ARGS)

.PHONY: upgrade
upgrade: build ## Upgrade from an earlier version with Deployments in all states of a release, and go back. UPGRADE_ARGS="--from=9de4dbe".
	go run ./hack/upgrade --manager bin/manager $(UPGRADE_ARGS)

.PHONY: gitops
gitops: build ## Have Argo CD, Flux and Helm apply releases that fail, are parked, rolled back and repaired. GITOPS_ARGS="--tool=helm --scene=stuck".
	go run ./hack/gitops --manager bin/manager $(GITOPS_ARGS)

.PHONY: ecosystem
ecosystem: build ## Have cert-manager issue, renew and replace the operator's certificate, and the Prometheus operator take config/prometheus.
	go run ./hack/ecosystem --manager bin/manager

# Without -trimpath it shares the compiled packages of the tests.
.PHONY: soak
soak: assets ## Run a random actor beside the operator and check invariants. SOAK_ARGS="--duration=30m --seed=...": 30 minutes.
	$(if $(HAVE_CC),,@echo "No C compiler: the manager runs without the race detector.")
	@$(TEST_ENV) go build $(RACE) -o bin/manager-soak .
	go run ./hack/soak --manager bin/manager-soak $(SOAK_ARGS)

# `go test` fuzzes one target of one package at a time.
.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME, one after another; FUZZ="regexp" for some of them. Failing inputs are kept in testdata/fuzz.
	@targets=$$(git grep -oE '^func Fuzz[A-Za-z0-9]*' -- '*_test.go' | sed 's/:func / /' | grep -E ' .*($(FUZZ))') || \
		{ echo "No fuzz target has a name like $(FUZZ)."; exit 1; }; \
	echo "$$targets" | while read -r file target; do \
		echo "=== $$target in $$(dirname "$$file")"; \
		CGO_ENABLED=0 go test "./$$(dirname "$$file")" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -parallel 2 || exit 1; \
	done

##@ Development

# gRPC's tracing imports html/template, which makes the linker keep every method: a fifth of the binary.
.PHONY: build
build: ## Build the manager into bin/manager.
	@CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags "$(LDFLAGS)" -o bin/manager .

.PHONY: build-plugin
build-plugin: ## Build the kubectl plugin into bin/kubectl-altershield.
	@CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags "-s -w $(LDFLAGS)" -o bin/kubectl-altershield ./cmd/kubectl-altershield

.PHONY: plugin-archives
plugin-archives: ## Pack the kubectl plugin of VERSION for each platform into bin/plugin, with checksums and a manifest for krew.
	@CGO_ENABLED=0 go run ./hack/krew --version "$(VERSION)" --commit "$(COMMIT)" --epoch "$(SOURCE_DATE_EPOCH)"

.PHONY: page
page: build-page ## Build the page of kubectl altershield dashboard from its sources, into what the plugin embeds.
	@bin/page

# The bundler and the browser's driver are in a module of their own.
.PHONY: build-page
build-page:
	@CGO_ENABLED=0 go build -C hack/page -o $(CURDIR)/bin/page .

.PHONY: build-server
build-server: ## Build the AlterShield test server into bin/altershield.
	@CGO_ENABLED=0 go build -trimpath -o bin/altershield ./hack/altershield/cmd

.PHONY: certs
certs: ## Create a certificate in certs/ to debug a manager on this machine. HOSTS="name,address" for more than localhost.
	@go run ./hack/local certs --dir certs --hosts "$(HOSTS)"

.PHONY: generate
generate: ## Generate deep copies, CRDs, RBAC, webhook configurations, docs/permissions.md, docs/verbs.md, the tables of docs/reference.md, and the chart's copies of manifests.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt crd rbac:roleName=manager-role webhook \
		paths=./apis/... paths=./controllers/... paths=./webhooks/... paths=./routers/... paths=./runnable/... \
		output:crd:artifacts:config=config/crd/bases \
		output:rbac:artifacts:config=config/rbac \
		output:webhook:artifacts:config=config/webhook
	{ $(KUSTOMIZE) build config/default && echo --- && cat config/uninstall/role.yaml && echo --- && cat config/components/pod-deletion/role.yaml && echo --- && cat config/components/job-creation/role.yaml; } | \
		go run ./hack/permissions --out docs/permissions.md apis controllers routers runnable webhooks config/rbac config/uninstall config/components/pod-deletion config/components/job-creation
	CGO_ENABLED=0 go run -tags grpcnotrace . -h 2>&1 | CGO_ENABLED=0 go run ./hack/docs --schema docs/schemas/release-export.json --verbs docs docs/reference.md docs/zh/reference.md
	$(KUSTOMIZE) build config/crd >config/chart/files/crds.yaml
	$(KUSTOMIZE) build config/admission-policy >config/chart/files/admission-policy.yaml
	$(KUSTOMIZE) build config/gates >config/chart/files/gates.yaml
	cp config/uninstall/role.yaml config/chart/files/uninstall-role.yaml
	cp config/components/pod-deletion/role.yaml config/chart/files/pod-deletion.yaml
	cp config/components/job-creation/role.yaml config/chart/files/job-creation.yaml
	cp config/rbac/role.yaml config/prometheus/rules.yaml config/prometheus/dashboard*.json config/chart/files/

.PHONY: fmt
fmt: ## Format the code.
	gofmt -w $$(git ls-files '*.go')

.PHONY: vet
vet: ## Run go vet.
	go vet ./...
	cd hack/image && go vet ./...
	cd hack/page && go vet ./...

.PHONY: lint
lint: ## Run golangci-lint, built from its pinned Go module.
	CGO_ENABLED=0 $(GOLANGCI_LINT) run
	cd hack/image && CGO_ENABLED=0 go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint run
	cd hack/page && CGO_ENABLED=0 go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint run

# Without service discovery for clouds promtool builds in half the time; "go tool" takes no tags. -count=1, as Go doesn't notice
# changes of files outside the module.
.PHONY: check-alerts
check-alerts: ## Check and test the alert rules with promtool, built from its pinned Go module, and check the dashboard.
	cd hack/tools/promtool && CGO_ENABLED=0 go build -tags remove_all_sd -o ../../../bin/promtool github.com/prometheus/prometheus/cmd/promtool
	cd hack/tools/promtool && CGO_ENABLED=0 go test -count=1 ./...

.PHONY: judge
judge: ## Judge 120 bad and 120 good releases, as series in a real Prometheus, and print how well that went: docs/metrics.md.
	@CGO_ENABLED=0 go run ./hack/judge

.PHONY: judge-nodes
judge-nodes: build-node modules ## Judge 60 bad and 60 good releases on real nodes, on Linux as root, and print how well that went. E2E_ARGS="-judge.part=60" for one of each class.
	CGO_ENABLED=0 go test -c -tags e2e -o bin/e2e.test ./hack/e2e
	E2E_ROOT=$(CURDIR) bin/node --nodes=2 -- bin/e2e.test -ginkgo.v -ginkgo.no-color -ginkgo.timeout=3h -ginkgo.label-filter=judge $(E2E_ARGS)

.PHONY: autoscale-nodes
autoscale-nodes: build-node modules ## Have HorizontalPodAutoscalers scale workloads on real nodes, by metrics-server, between releases and in the middle of them, on Linux as root.
	CGO_ENABLED=0 go test -c -tags e2e -o bin/e2e.test ./hack/e2e
	E2E_ROOT=$(CURDIR) bin/node --nodes=2 -- bin/e2e.test -ginkgo.v -ginkgo.no-color -ginkgo.label-filter=autoscale $(E2E_ARGS)

# The packages of npm, which check the page and aren't in it, stay outside the work tree.
PAGE_TOOLS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/altershield-operator/page-tools
PAGE_SOURCES = cmd/kubectl-altershield/dashboard/page

.PHONY: check-page
check-page: build-page $(if $(shell command -v npm),check-page-types) ## Check that the page's committed bundle is what the sources give, its size, and, where npm is, its types.
	@bin/page --check

.PHONY: check-page-types
check-page-types: page-tools
	@"$(PAGE_TOOLS)/node_modules/.bin/tsc" --project $(PAGE_SOURCES)

.PHONY: page-tools
page-tools:
	@cmp -s $(PAGE_SOURCES)/package-lock.json "$(PAGE_TOOLS)/package-lock.json" || { \
		mkdir -p "$(PAGE_TOOLS)" && cp $(PAGE_SOURCES)/package.json $(PAGE_SOURCES)/package-lock.json "$(PAGE_TOOLS)" && \
		npm ci --silent --no-audit --no-fund --prefix "$(PAGE_TOOLS)" || { rm -f "$(PAGE_TOOLS)/package-lock.json"; exit 1; }; }

.PHONY: test-page
test-page: $(if $(shell command -v npm),page-tools) ## Test the page in a real browser: Debian's chromium on the PATH; with npm, also its accessibility by axe-core.
	cd hack/page && PAGE_TOOLS="$(PAGE_TOOLS)" CGO_ENABLED=0 go test -count=1 -timeout 20m ./...

.PHONY: page-images
page-images: ## Take the screenshots in docs/images, in a real browser. Needs a Chinese font, as fonts-noto-cjk.
	cd hack/page && PAGE_IMAGES=$(CURDIR)/docs/images CGO_ENABLED=0 go test -count=1 -run '^TestImages$$' ./browser

.PHONY: check-image
check-image: ## Test the image builder.
	cd hack/image && CGO_ENABLED=0 go test -count=1 ./...

.PHONY: tidy
tidy: ## Tidy go.mod, and those of hack/image and hack/page.
	go mod tidy
	cd hack/image && go mod tidy
	cd hack/page && go mod tidy

.PHONY: verify
verify: tidy generate fmt vet lint licenses sbom check-alerts check-image check-page ## Regenerate, format, vet, lint, check licences, alerts, the image and the page; fail if that leaves the work tree dirty, or if Git has a large file.
	@large=$$(git ls-tree -r -l HEAD | awk '$$4 > 1048576'); if [ -n "$$large" ]; then \
		echo "Files of more than 1 MiB don't belong in Git:"; echo "$$large"; exit 1; fi
	@dirty=$$(git status --porcelain); if [ -n "$$dirty" ]; then \
		echo "The work tree is dirty. Commit what was generated or formatted:"; echo "$$dirty"; git --no-pager diff | head -100; exit 1; fi

##@ Supply chain

.PHONY: vulncheck
vulncheck: ## Report known vulnerabilities that PKG, by default the manager, calls. The database is vuln.go.dev, or GOVULNDB.
	$(GOVULNCHECK) $(if $(GOVULNDB),-db $(GOVULNDB)) $(or $(PKG),.)

# The image must hold the licence texts, with Apache-2.0 the NOTICE files too. Changed files under MPL-2.0 must be published.
# GOFLAGS and CGO_ENABLED are those of `make build`.
ALLOWED_LICENSES ?= Apache-2.0,BSD-2-Clause,BSD-3-Clause,ISC,MIT,MPL-2.0
GO_LICENSES = CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -tags=grpcnotrace" $(TOOL) go-licenses --logtostderr=false --stderrthreshold=ERROR --log_file=/dev/null

# go-licenses copies neither the licence of the standard library nor the second one of a package with two.
.PHONY: licenses
licenses: ## Check the licences of the modules linked into the manager and the plugin, and copy the manager's texts and notices to bin/third-party-licenses.
	@$(GO_LICENSES) check . ./cmd/kubectl-altershield --allowed_licenses=$(ALLOWED_LICENSES)
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

# A separate module, as nothing else needs its dependencies.
.PHONY: build-image
build-image:
	@CGO_ENABLED=0 go build -C hack/image -o $(CURDIR)/bin/image .

.PHONY: image
image: build-image ## Build the image IMG for all PLATFORMS without a container engine, into bin/altershield-operator.tar (an OCI layout).
	@$(IMAGE) --tag $(IMG) --output bin/altershield-operator.tar

.PHONY: image-push
image-push: build-image ## Build the image IMG for all PLATFORMS and push it to its registry. INSECURE=1 for plain HTTP.
	@$(IMAGE) --push $(IMG) $(if $(INSECURE),--insecure)

##@ Cluster of the current kubeconfig

.PHONY: deploy
deploy: overlay ## Install the operator with the image IMG.
	$(KUBECTL) apply -k bin/deploy
	@echo "Wait for the rollout: kubectl -n altershieldoperator-system rollout status deployment altershieldoperator-controller-manager"

.PHONY: build-installer
build-installer: overlay ## Write all objects, with the image IMG, into bin/install.yaml.
	@$(KUBECTL) kustomize bin/deploy >bin/install.yaml
	@echo "Apply it with: kubectl apply -f bin/install.yaml"

.PHONY: deployYaml
deployYaml: build-installer ## Alias of build-installer: the name in the documents.

# IMG is set in a separate kustomization, so that no tracked file changes.
.PHONY: overlay
overlay:
	@mkdir -p bin/deploy
	@printf '%s\n' 'resources: [../../$(CONFIG)]' 'patches:' \
		'- target: {kind: Deployment, name: altershieldoperator-controller-manager}' \
		'  patch: "- {op: replace, path: /spec/template/spec/containers/0/image, value: $(IMG)}"' >bin/deploy/kustomization.yaml

.PHONY: install
install: ## Install only the CRDs.
	$(KUBECTL) apply -k config/crd

.PHONY: uninstall
uninstall: build ## Remove the CRDs with all their objects: records, settings, policies and freezes.
	@bin/manager uninstall --records-only

.PHONY: undeploy
undeploy: build ## Remove the operator and list what remains. Workloads keep running.
	@bin/manager uninstall

##@ Help

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z0-9_-]+:.*##/ {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
