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
	"path/filepath"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/gomodule"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// peerGrace is how long a peer may take to exit.
const peerGrace = 10 * time.Second

// peerTimeout is how long the rollouts of a peer may take together; some never complete.
const peerTimeout = 150 * time.Second

// peer is another operator for releases, built from its Go module. It runs as cluster administrator.
type peer struct {
	name string
	// module is its pinned module, pkg its main package, config the kustomization of its objects in the cluster.
	module, pkg, config string
	// flags are its arguments, with %d for a port; env is its environment, with %d for the port of its webhooks.
	flags, env []string
	// kind is what it rolls out.
	kind kind
	// source is the folder of the module, program the built program, webhooks the port of its webhooks.
	source, program string
	webhooks        int
}

func argoRollouts() *peer {
	return &peer{
		name: "Argo Rollouts", module: "github.com/argoproj/argo-rollouts@v1.8.3", pkg: "./cmd/rollouts-controller", config: "manifests/crds",
		flags: []string{"--leader-elect=false", "--metricsport=%d", "--healthzPort=%d"},
		kind: kind{
			GroupVersionKind: schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"}, objects: argoRollout,
		},
	}
}

func kruiseRollouts() *peer {
	return &peer{
		name: "Kruise Rollouts", module: "github.com/openkruise/rollouts@v0.6.0", pkg: ".", config: "config/default",
		flags: []string{"--feature-gates=AdvancedDeployment=true", "--metrics-bind-address=127.0.0.1:%d", "--health-probe-bind-address=127.0.0.1:%d"},
		env:   []string{"WEBHOOK_HOST=127.0.0.1", "WEBHOOK_PORT=%d"},
		kind:  kind{GroupVersionKind: deployments().GroupVersionKind, objects: kruiseRollout},
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
	dir := filepath.Dir(l.Plane.Kubeconfig())
	argv := []string{p.program, "--kubeconfig=" + l.Plane.Kubeconfig()}
	for _, flag := range p.flags {
		port, err := cluster.FreePort()
		if err != nil {
			return nil, err
		}
		argv = append(argv, strings.Replace(flag, "%d", strconv.Itoa(port), 1))
	}
	env := []string{"WEBHOOK_CERT_DIR=" + filepath.Join(dir, filepath.Base(p.program))}
	for _, variable := range p.env {
		env = append(env, strings.Replace(variable, "%d", strconv.Itoa(p.webhooks), 1))
	}
	return process.Start(process.Spec{Dir: dir, Name: filepath.Base(p.program), Argv: argv, Env: env})
}

// during runs the peer instead of the operator while do runs.
func (p *peer) during(ctx context.Context, l *lab.Lab, do func(*process.Process) error) error {
	if err := (setup{}).prepare(ctx, l); err != nil {
		return err
	}
	running, err := p.start(l)
	if err != nil {
		return err
	}
	defer func() { _ = running.Stop(context.WithoutCancel(ctx), peerGrace) }() // kills it if it doesn't exit
	if err := l.Quiet(ctx); err != nil {
		return err
	}
	if err := do(running); err != nil {
		return running.Failure(err)
	}
	return nil
}

func (p *peer) fill(ctx context.Context, l *lab.Lab, rolled fleet) error {
	if err := p.install(ctx, l); err != nil {
		return err
	}
	return p.during(ctx, l, func(*process.Process) error {
		_, err := rolled.create(ctx, l, false)
		return err
	})
}

// round measures a roll of the fleet, and the resources that the peer uses for it.
func (p *peer) round(ctx context.Context, l *lab.Lab, rolled fleet, note string) (sample, error) {
	var result sample
	err := p.during(ctx, l, func(running *process.Process) error {
		before, err := running.Usage()
		if err != nil {
			return err
		}
		var used process.Usage
		result, err = measure(ctx, l, func() (times, error) {
			took, err := rolled.roll(ctx, l, false, note)
			if err != nil {
				return took, err
			}
			if used, err = running.Usage(); err != nil || took.missing == 0 {
				return took, err
			}
			return took, running.Stop(ctx, peerGrace) // otherwise it would continue
		})
		result.used = used
		result.used.CPU -= before.CPU
		return err
	})
	return result, err
}

// argoRollout returns a Rollout instead of a Deployment. Without steps it rolls out like a Deployment.
func argoRollout(k kind, deployment *appsv1.Deployment) ([]client.Object, error) {
	rollout, err := k.like(deployment)
	if err != nil {
		return nil, err
	}
	return []client.Object{rollout}, unstructured.SetNestedMap(rollout.Object, map[string]any{"canary": map[string]any{}}, "spec", "strategy")
}

// kruiseRollout returns a Deployment and its Rollout with one step.
func kruiseRollout(_ kind, deployment *appsv1.Deployment) ([]client.Object, error) {
	rollout := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"workloadRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment.Name},
		"strategy": map[string]any{"canary": map[string]any{
			"steps": []any{map[string]any{"replicas": "100%", "pause": map[string]any{"duration": int64(0)}}},
		}},
	}}}
	rollout.SetAPIVersion("rollouts.kruise.io/v1beta1")
	rollout.SetKind("Rollout")
	rollout.SetNamespace(deployment.Namespace)
	rollout.SetName(deployment.Name)
	return []client.Object{deployment, rollout}, nil
}
