/*
Copyright 2026 The AlterShield Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package assets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/traas-stack/altershield-operator/hack/local/gomodule"
)

const (
	// progressEvery is the interval between two lines of progress of a build.
	progressEvery = 10 * time.Second
	// scratchPrefix is the prefix of the folders in which programs are built.
	scratchPrefix = ".build-"
	// fluxModules is the beginning of the import paths of Flux's controllers, whose main packages are at the root of their modules.
	fluxModules = "github.com/fluxcd/"
	// prometheusOperatorModule is the module of the Prometheus operator.
	prometheusOperatorModule = "github.com/prometheus-operator/prometheus-operator"
)

// program is a program of the control plane or of a node, with its build.
type program struct {
	name string
	// module is the folder under hack/controlplane whose go.mod pins the source.
	module string
	// pkg is the import path of the main package.
	pkg string
	// tags are build tags, separated by commas.
	tags string
	// variables are set by the linker.
	variables []string
	// takes is about how long the first build takes on a small machine.
	takes string
}

// kubernetes returns a command of Kubernetes; the long builds share most of their packages with the first one.
func kubernetes(version, name, takes string) program {
	const variable = "k8s.io/component-base/version."
	minor := minorOf(version)
	return program{name: name, module: "kubernetes-" + minor, pkg: "k8s.io/kubernetes/cmd/" + name, takes: takes, variables: []string{
		variable + "gitVersion=v" + version,
		variable + "gitMajor=1",
		variable + "gitMinor=" + strings.TrimPrefix(minor, "1."),
		variable + "gitTreeState=clean",
	}}
}

// controlPlane returns the programs of a control plane of a version of Kubernetes.
func controlPlane(version string) []program {
	return []program{
		{name: Etcd, module: "etcd", pkg: "go.etcd.io/etcd/server/v3", takes: "half a minute"},
		kubernetes(version, APIServer, "3 to 6 minutes"),
		kubernetes(version, ControllerManager, "1 to 2 minutes"),
		kubernetes(version, Scheduler, "10 seconds"),
		kubernetes(version, Kubectl, "half a minute"),
	}
}

// kwok returns KWOK, which simulates fake nodes.
func kwok() program {
	return program{name: KWOK, module: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", takes: "a minute"}
}

// node returns the programs of real nodes; crane is their registry.
func node() []program {
	return []program{
		kubernetes(newest, Kubelet, "1 to 2 minutes"),
		kubernetes(newest, KubeProxy, "10 seconds"),
		containerd(Containerd, "a minute"),
		containerd(Shim, "10 seconds"),
		containerd(Ctr, "10 seconds"),
		{name: Crane, module: "crane", pkg: "github.com/google/go-containerregistry/cmd/crane", takes: "10 seconds"},
	}
}

// flux returns the controllers of Flux that apply what is in Git.
func flux() []program {
	return []program{
		{name: KustomizeController, module: "flux", pkg: fluxModules + KustomizeController, takes: "5 minutes"},
		{name: SourceController, module: "flux", pkg: fluxModules + SourceController, takes: "5 minutes"},
	}
}

// FluxDefinitions returns the kustomizations of the CustomResourceDefinitions of Flux's controllers, which are in their modules.
func FluxDefinitions(ctx context.Context) (folders []string, err error) {
	for _, p := range flux() {
		source, err := sourceOf(ctx, p.module, p.pkg)
		if err != nil {
			return nil, err
		}
		folders = append(folders, filepath.Join(source, "config", "crd"))
	}
	return folders, nil
}

// Helm builds Helm, which takes minutes the first time, and returns its path. It runs in the root of the repository.
func Helm(ctx context.Context) (program string, err error) {
	build := exec.CommandContext(ctx, "go", "tool", "-n", "-modfile=hack/tools/helm/go.mod", "helm")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	path, err := build.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("building helm: %w", err)
	}
	return strings.TrimSpace(string(path)), nil
}

// ArgoCDDefinitions returns the folder of the CustomResourceDefinitions of Argo CD.
func ArgoCDDefinitions(ctx context.Context) (string, error) {
	source, err := sourceOf(ctx, "argocd", "github.com/argoproj/argo-cd/v3")
	return filepath.Join(source, "manifests", "crds"), err
}

// CertManagerSource returns the folder of cert-manager's module, whose name ends with the version.
func CertManagerSource(ctx context.Context) (string, error) {
	return sourceOf(ctx, "cert-manager", "github.com/cert-manager/cert-manager")
}

// PrometheusOperatorSource does the same for the Prometheus operator.
func PrometheusOperatorSource(ctx context.Context) (string, error) {
	return sourceOf(ctx, "prometheus-operator", prometheusOperatorModule)
}

// sourceOf returns the folder of a module that is pinned in a folder of hack/controlplane.
func sourceOf(ctx context.Context, folder, module string) (string, error) {
	sources, err := sourcesDir(ctx)
	if err != nil {
		return "", err
	}
	return gomodule.Download(ctx, filepath.Join(sources, folder), module)
}

// containerd returns a command of containerd, without the snapshotters that need C libraries or kernel modules.
func containerd(name, takes string) program {
	const module = "github.com/containerd/containerd/v2/"
	return program{name: name, module: "containerd", pkg: module + "cmd/" + name, takes: takes,
		tags: "no_btrfs,no_devmapper,no_zfs", variables: []string{module + "version.Version=v" + containerdVersion}}
}

// build builds the missing programs; only the holder of the store's lock may call it.
func (a Assets) build(ctx context.Context, out io.Writer, wanted []program) error {
	missing := a.missing(wanted)
	if len(missing) == 0 {
		return nil // the previous holder of the lock has built everything
	}
	sources, err := sourcesDir(ctx)
	if err != nil {
		return err
	}
	abandoned, err := filepath.Glob(filepath.Join(a.Dir, scratchPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range abandoned {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove an interrupted build: %w", err)
		}
	}
	fmt.Fprintf(out, "building %d programs from Go modules into %s (once)\n", len(missing), a.Dir)
	for i, p := range missing {
		label := fmt.Sprintf("[%d/%d] %s", i+1, len(missing), p.name)
		if err := a.buildOne(ctx, out, label, filepath.Join(sources, p.module), p); err != nil {
			return err
		}
	}
	return nil
}

// buildOne builds a program in another folder and moves it into place when it is complete.
func (a Assets) buildOne(ctx context.Context, out io.Writer, label, source string, p program) error {
	fmt.Fprintf(out, "%s: building, takes about %s the first time\n", label, p.takes)
	begin := time.Now()
	scratch, err := os.MkdirTemp(a.Dir, scratchPrefix)
	if err != nil {
		return fmt.Errorf("create a folder to build in: %w", err)
	}
	defer os.RemoveAll(scratch)
	built := filepath.Join(scratch, p.name)
	if err := a.compile(ctx, out, label, goBuild(ctx, source, built, p)); err != nil {
		return err
	}
	info, err := os.Stat(built)
	if err != nil {
		return fmt.Errorf("find the built %s: %w", p.name, err)
	}
	if err := os.Rename(built, a.Path(p.name)); err != nil {
		return fmt.Errorf("put %s into the store: %w", p.name, err)
	}
	fmt.Fprintf(out, "%s: done, %d MB in %s\n", label, info.Size()>>20, time.Since(begin).Round(time.Second))
	return nil
}

// compile runs a build and prints progress.
func (a Assets) compile(ctx context.Context, out io.Writer, label string, cmd *exec.Cmd) error {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run go: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil {
				return fmt.Errorf("%s: %w; finished builds are kept, run the command again to continue", label, ctx.Err())
			}
			if err != nil {
				return fmt.Errorf("%s: %w\n%s\nfailed command: %s\nIf modules couldn't be downloaded, check GOPROXY (go env GOPROXY) "+
					"and run the command again; or set KUBEBUILDER_ASSETS to a folder that has the programs",
					label, err, strings.TrimSpace(output.String()), cmd)
			}
			return nil
		case <-tick.C:
			fmt.Fprintf(out, "%s: building, %s so far\n", label, time.Since(begin).Round(time.Second))
		}
	}
}

// goBuild returns the command that builds a program.
func goBuild(ctx context.Context, source, target string, p program) *exec.Cmd {
	ldflags := "-s -w"
	for _, variable := range p.variables {
		ldflags += " -X " + variable
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-C", source, "-trimpath", "-tags", p.tags, "-ldflags", ldflags, "-o", target, p.pkg)
	// The caller's settings for other builds must not affect this one; without cgo no C compiler is needed.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	return cmd
}

// sourcesDir returns the folder hack/controlplane of the current module.
func sourcesDir(ctx context.Context) (string, error) {
	gomod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("ask go for the module's folder: %w", err)
	}
	dir := filepath.Join(filepath.Dir(strings.TrimSpace(string(gomod))), "hack", "controlplane")
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("find the modules to build from (run this inside the repository): %w", err)
	}
	return dir, nil
}
