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

// Package assets finds the programs of a local control plane and of real nodes, and builds missing ones from Go modules.
package assets

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/traas-stack/altershield-operator/hack/local/lock"
)

// Names of the programs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
	KWOK              = "kwok"

	Kubelet    = "kubelet"
	KubeProxy  = "kube-proxy"
	Containerd = "containerd"
	Shim       = "containerd-shim-runc-v2"
	Ctr        = "ctr"
	Crane      = "crane"

	SourceController    = "source-controller"
	KustomizeController = "kustomize-controller"

	ArgoCD = "argocd"

	CertManager = "cert-manager"

	PrometheusOperator         = "prometheus-operator"
	PrometheusAdmissionWebhook = "prometheus-admission-webhook"
)

// The versions of Kubernetes, those of hack/controlplane/kubernetes-<minor>/go.mod; they name folders in the store.
const (
	newest = "1.36.3"
	oldest = "1.33.13"
)

// containerdVersion is the version that nodes report, that of hack/controlplane/containerd/go.mod.
const containerdVersion = "2.2.1"

// Assets is a folder with all the programs.
type Assets struct {
	Dir string
}

// Path returns the path of a program.
func (a Assets) Path(name string) string { return filepath.Join(a.Dir, name) }

// missing returns the programs that don't exist.
func (a Assets) missing(wanted []program) []program {
	var missing []program
	for _, p := range wanted {
		info, err := os.Stat(a.Path(p.name))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			missing = append(missing, p)
		}
	}
	return missing
}

// Ensure finds the programs of a control plane with fake nodes. It returns the folder $KUBEBUILDER_ASSETS if it has all of them,
// otherwise setup-envtest's own store, after building the missing ones, which takes minutes and prints its progress to out. It is
// safe for concurrent use by several processes.
func Ensure(ctx context.Context, out io.Writer) (Assets, error) {
	return ensure(ctx, out, append(controlPlane(newest), kwok()))
}

// EnsureMinor does the same for a minor version of Kubernetes, such as 1.33, but only looks into the store; without one it is Ensure.
func EnsureMinor(ctx context.Context, out io.Writer, minor string) (Assets, error) {
	if minor == "" {
		return Ensure(ctx, out)
	}
	for _, version := range []string{newest, oldest} {
		if minorOf(version) == minor {
			return ensureStored(ctx, out, version, append(controlPlane(version), kwok()))
		}
	}
	return Assets{}, fmt.Errorf("no module of hack/controlplane builds Kubernetes %s: choose %s or %s", minor, minorOf(oldest), minorOf(newest))
}

// EnsureNode does the same with the programs of a control plane with real nodes.
func EnsureNode(ctx context.Context, out io.Writer) (Assets, error) {
	return ensure(ctx, out, append(controlPlane(newest), node()...))
}

// EnsureFlux does the same with Flux's controllers.
func EnsureFlux(ctx context.Context, out io.Writer) (Assets, error) {
	return ensure(ctx, out, flux())
}

// EnsureArgoCD does the same with the parts of Argo CD that apply what is in Git, in one program.
func EnsureArgoCD(ctx context.Context, out io.Writer) (Assets, error) {
	return ensure(ctx, out, []program{{name: ArgoCD, module: "argocd", pkg: ".", takes: "10 minutes"}})
}

// EnsureCertManager does the same with cert-manager, whose main package is ours, as its own ones are in no module of a version.
func EnsureCertManager(ctx context.Context, out io.Writer) (Assets, error) {
	return ensure(ctx, out, []program{{name: CertManager, module: "cert-manager", pkg: ".", takes: "3 minutes"}})
}

// EnsurePrometheusOperator does the same with the Prometheus operator and the webhook that validates its objects.
func EnsurePrometheusOperator(ctx context.Context, out io.Writer) (Assets, error) {
	return ensure(ctx, out, []program{
		{name: PrometheusOperator, module: "prometheus-operator", pkg: prometheusOperatorModule + "/cmd/operator", takes: "3 minutes"},
		{name: PrometheusAdmissionWebhook, module: "prometheus-operator", pkg: prometheusOperatorModule + "/cmd/admission-webhook", takes: "half a minute"},
	})
}

func ensure(ctx context.Context, out io.Writer, wanted []program) (Assets, error) {
	given := Assets{Dir: os.Getenv("KUBEBUILDER_ASSETS")}
	if given.Dir != "" && len(given.missing(wanted)) == 0 {
		dir, err := filepath.Abs(given.Dir)
		if err != nil {
			return Assets{}, fmt.Errorf("find $KUBEBUILDER_ASSETS: %w", err)
		}
		return Assets{Dir: dir}, nil
	}
	return ensureStored(ctx, out, newest, wanted)
}

func ensureStored(ctx context.Context, out io.Writer, version string, wanted []program) (Assets, error) {
	dir, err := storeDir(version, runtime.GOOS, runtime.GOARCH, os.Getenv)
	if err != nil {
		return Assets{}, err
	}
	store := Assets{Dir: dir}
	if len(store.missing(wanted)) == 0 {
		return store, nil
	}
	if err := os.MkdirAll(store.Dir, 0o755); err != nil {
		return Assets{}, fmt.Errorf("create the store of control plane programs: %w", err)
	}
	release, err := lock.Acquire(ctx, filepath.Join(store.Dir, ".lock"), func() {
		fmt.Fprintln(out, "another command is building the control plane; waiting for it")
	})
	if err != nil {
		return Assets{}, err
	}
	defer release()
	if err := store.build(ctx, out, wanted); err != nil {
		return Assets{}, fmt.Errorf("build the control plane: %w", err)
	}
	return store, nil
}

// minorOf returns the minor version of a version: 1.33 of 1.33.13.
func minorOf(version string) string { return version[:strings.LastIndex(version, ".")] }

// storeDir returns the folder where setup-envtest keeps the programs of a version for a platform.
func storeDir(version, goos, goarch string, getenv func(string) string) (string, error) {
	home := getenv("HOME")
	var base string
	switch {
	case goos == "darwin" && home != "":
		base = filepath.Join(home, "Library", "Application Support", "io.kubebuilder.envtest")
	case goos != "darwin" && getenv("XDG_DATA_HOME") != "":
		base = filepath.Join(getenv("XDG_DATA_HOME"), "kubebuilder-envtest")
	case goos != "darwin" && home != "":
		base = filepath.Join(home, ".local", "share", "kubebuilder-envtest")
	default:
		return "", fmt.Errorf("no folder for the control plane programs: set HOME, or KUBEBUILDER_ASSETS to a folder that has them")
	}
	return filepath.Join(base, "k8s", version+"-"+goos+"-"+goarch), nil
}
