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

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

// fluxSystem has the objects of Flux.
const fluxSystem = "flux-system"

// startFlux starts the two controllers of Flux.
func (s *stage) startFlux(ctx context.Context, out io.Writer) error {
	programs, err := assets.EnsureFlux(ctx, out)
	if err != nil {
		return err
	}
	definitions, err := assets.FluxDefinitions(ctx)
	if err != nil {
		return err
	}
	for _, folder := range definitions {
		if err := s.lab.Plane.Install(ctx, folder, cluster.WebhookEndpoint{}); err != nil {
			return err
		}
	}
	storage := filepath.Join(s.dir, "artifacts")
	if err := os.Mkdir(storage, 0o700); err != nil {
		return fmt.Errorf("starting Flux: %w", err)
	}
	if err := s.lab.Namespace(ctx, fluxSystem, false); err != nil {
		return err
	}
	kubeconfig, err := s.account(ctx, "flux")
	if err != nil {
		return err
	}
	port, err := cluster.FreePort()
	if err != nil {
		return err
	}
	artifacts := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for name, flags := range map[string][]string{
		assets.SourceController:    {"--storage-path=" + storage, "--storage-addr=" + artifacts, "--storage-adv-addr=" + artifacts},
		assets.KustomizeController: {},
	} {
		argv := append([]string{programs.Path(name), "--metrics-addr=0", "--health-addr=127.0.0.1:0", "--concurrent=10"}, flags...)
		if err := s.lab.Start(name, argv, "KUBECONFIG="+kubeconfig, "RUNTIME_NAMESPACE="+fluxSystem); err != nil {
			return err
		}
	}
	return nil
}

// kustomization is an app that Flux applies every few seconds.
type kustomization struct {
	repository
	// extra is further fields of the Kustomization.
	extra string
}

func (k *kustomization) begin(ctx context.Context) error {
	if err := k.repository.begin(ctx); err != nil {
		return err
	}
	return k.apply(ctx, fmt.Appendf(nil, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: %[2]s}
spec: {interval: 3s, url: %[3]q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: %[2]s}
spec: {interval: 3s, path: ./, prune: true, targetNamespace: %[4]s, sourceRef: {kind: GitRepository, name: %[1]s}%[5]s}
`, k.name, fluxSystem, k.url(), namespace, k.extra))
}

func (k *kustomization) present(ctx context.Context) (*unstructured.Unstructured, error) {
	return k.lab.Object(ctx, schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}, fluxSystem, k.name)
}

func (k *kustomization) shows(ctx context.Context) (outcome, error) {
	present, err := k.present(ctx)
	if err != nil {
		return outcome{}, err
	}
	return ofKustomization(present, k.head)
}

// ofKustomization returns what a Kustomization shows of a commit, the condition Ready.
func ofKustomization(kustomization *unstructured.Unstructured, commit string) (outcome, error) {
	ready := lab.ConditionOf(kustomization, "Ready")
	says := fmt.Sprintf("Ready=%s %s: %s", ready["status"], ready["reason"], ready["message"])
	ok, want := ready["status"] == "True", "main@sha1:"+commit
	// Flux writes the commit that it begins with before its conditions: for a moment they are those of the commit before.
	if tried, _, _ := unstructured.NestedString(kustomization.Object, "status", "lastAttemptedRevision"); tried != want || ok && !strings.HasSuffix(says, want) {
		return outcome{}, fmt.Errorf("the commit that Flux tried last is %s, and it shows %s", tried, says)
	}
	return outcome{ok: ok, says: says}, nil
}

// again returns how often Flux has reconciled what is in Git now, as it does by itself.
func (k *kustomization) again(ctx context.Context) (int64, error) {
	present, err := k.present(ctx)
	if err != nil {
		return 0, err
	}
	return reconciliations(present), nil
}

func reconciliations(kustomization *unstructured.Unstructured) int64 {
	history, _, _ := unstructured.NestedSlice(kustomization.Object, "status", "history")
	if len(history) == 0 {
		return 0
	}
	newest, _ := history[0].(map[string]any)
	count, _, _ := unstructured.NestedInt64(newest, "totalReconciliations")
	return count
}
