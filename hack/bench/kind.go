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
	_ "embed"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/gomodule"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// kind is a kind of workloads, each with the spec and the counts of a Deployment.
type kind struct {
	schema.GroupVersionKind
	// title names it in figures.
	title string
	// webhooks are the paths of its webhooks.
	webhooks []string
	// complete returns what is created instead of a workload with the spec of a Deployment, nil for just that.
	complete func(workload *unstructured.Unstructured) []client.Object
}

func deployments() kind {
	return kind{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), title: "Deployments",
		webhooks: []string{"/mutate-apps-v1-deployment", "/validate-apps-v1-deployment"},
	}
}

// gadgets returns the declared kind.
func gadgets() kind {
	return kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "bench.example.com", Version: "v1", Kind: "Gadget"}, title: "declared kind",
		webhooks: []string{"/mutate-kind", "/validate-kind"},
	}
}

// namespace returns the namespace of workloads of the kind.
func (k kind) namespace() string { return strings.ToLower(k.Kind) + "s" }

// empty returns a workload without content.
func (k kind) empty() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(k.GroupVersionKind)
	return object
}

// list returns an empty list of workloads.
func (k kind) list() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
	return list
}

// like returns a workload with the spec of a Deployment. The API server drops the fields that the kind doesn't have.
func (k kind) like(deployment *appsv1.Deployment) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
	if err != nil {
		return nil, fmt.Errorf("creating a %s: %w", k.Kind, err)
	}
	delete(fields, "status")
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(k.GroupVersionKind)
	return object, nil
}

// create creates a workload with the spec of a Deployment.
func (k kind) create(ctx context.Context, kube client.Client, deployment *appsv1.Deployment) error {
	workload, err := k.like(deployment)
	if err != nil {
		return err
	}
	objects := []client.Object{workload}
	if k.complete != nil {
		objects = k.complete(workload)
	}
	for _, object := range objects {
		if err := kube.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %s/%s: %w", object, deployment.Namespace, deployment.Name, err)
		}
	}
	return nil
}

const (
	// peerGrace is how long a peer may take to exit.
	peerGrace = 10 * time.Second
	// peerTimeout is how long the rollouts of a peer may take together; some never complete.
	peerTimeout = 150 * time.Second
)

// peer is another operator for releases, built from its Go module. It runs as cluster administrator.
type peer struct {
	name string
	// module is its pinned module, pkg its main package, config the kustomization of its objects in the cluster.
	module, pkg, config string
	// flags are its arguments.
	flags []string
	// kind is what it rolls out.
	kind kind
	// source is the folder of the module, program the built program, webhooks the port of its webhooks.
	source, program string
	webhooks        int
}

func argoRollouts() *peer {
	return &peer{
		name: "Argo Rollouts", module: "github.com/argoproj/argo-rollouts@v1.8.3", pkg: "./cmd/rollouts-controller", config: "manifests/crds",
		flags: []string{"--leader-elect=false", "--metricsport=0", "--healthzPort=0"},
		kind: kind{
			GroupVersionKind: schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"}, complete: argoRollout,
		},
	}
}

func kruiseRollouts() *peer {
	return &peer{
		name: "Kruise Rollouts", module: "github.com/openkruise/rollouts@v0.6.0", pkg: ".", config: "config/default",
		flags: []string{"--feature-gates=AdvancedDeployment=true", "--metrics-bind-address=0", "--health-probe-bind-address=0"},
		kind:  kind{GroupVersionKind: deployments().GroupVersionKind, complete: kruiseRollout},
	}
}

// build downloads the module and builds its program into dir.
func (p *peer) build(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("building %s: %w", p.module, err)
	}
	p.program = filepath.Join(dir, strings.ToLower(strings.ReplaceAll(p.name, " ", "-")))
	p.source, err = gomodule.Build(ctx, p.module, p.pkg, p.program)
	return err
}

// install installs the objects of the peer in the cluster. It sets the CA bundle of its webhooks itself.
func (p *peer) install(ctx context.Context, l *lab.Lab) (err error) {
	if p.webhooks, err = cluster.FreePort(); err != nil {
		return err
	}
	return l.Plane.Install(ctx, filepath.Join(p.source, p.config), cluster.WebhookEndpoint{Port: p.webhooks})
}

// start starts the peer in its shipped configuration, without leader election.
func (p *peer) start(l *lab.Lab) (*process.Process, error) {
	dir, name := filepath.Dir(l.Plane.Kubeconfig()), filepath.Base(p.program)
	return process.Start(process.Spec{
		Dir: dir, Name: name, Argv: append([]string{p.program, "--kubeconfig=" + l.Plane.Kubeconfig()}, p.flags...),
		Env: []string{"WEBHOOK_HOST=127.0.0.1", "WEBHOOK_PORT=" + strconv.Itoa(p.webhooks), "WEBHOOK_CERT_DIR=" + filepath.Join(dir, name)},
	})
}

// argoRollout adds the strategy of a Rollout. Without steps it rolls out like a Deployment.
func argoRollout(rollout *unstructured.Unstructured) []client.Object {
	_ = unstructured.SetNestedMap(rollout.Object, map[string]any{"canary": map[string]any{}}, "spec", "strategy") // which it has
	return []client.Object{rollout}
}

// kruiseRollout adds a Rollout with one step to a Deployment.
func kruiseRollout(deployment *unstructured.Unstructured) []client.Object {
	rollout := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"workloadRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment.GetName()},
		"strategy": map[string]any{"canary": map[string]any{
			"steps": []any{map[string]any{"replicas": "100%", "pause": map[string]any{"duration": int64(0)}}},
		}},
	}}}
	rollout.SetAPIVersion("rollouts.kruise.io/v1beta1")
	rollout.SetKind("Rollout")
	rollout.SetNamespace(deployment.GetNamespace())
	rollout.SetName(deployment.GetName())
	return []client.Object{deployment, rollout}
}
