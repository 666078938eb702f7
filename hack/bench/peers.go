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
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// peerGrace is how long a peer gets to end.
const peerGrace = 10 * time.Second

// peer is another operator for releases, built from its Go module. It runs as the cluster's administrator.
type peer struct {
	name string
	// module is pinned; pkg is its program, crds the kustomization of its kinds.
	module, pkg, crds string
	// source is where the module is, program what was built of it.
	source, program string
}

func argoRollouts() *peer {
	return &peer{name: "Argo Rollouts", module: "github.com/argoproj/argo-rollouts@v1.8.3", pkg: "./cmd/rollouts-controller", crds: "manifests/crds"}
}

// build downloads the module and builds its program in dir.
func (p *peer) build(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("build %s: %w", p.module, err)
	}
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", p.module)
	download.Dir = os.TempDir() // so that it is not added to a module
	output, err := download.Output()
	if err != nil {
		return fmt.Errorf("download %s: %w\n%s", p.module, err, output)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		return fmt.Errorf("download %s: %w", p.module, err)
	}
	p.source, p.program = module.Dir, filepath.Join(dir, filepath.Base(p.pkg))
	build := exec.CommandContext(ctx, "go", "build", "-C", p.source, "-o", p.program, p.pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", p.module, err, output)
	}
	return nil
}

// install makes the peer's kinds known.
func (p *peer) install(ctx context.Context, l *lab.Lab) error {
	return l.Plane.Install(ctx, filepath.Join(p.source, p.crds), cluster.WebhookEndpoint{})
}

// start starts the peer, as it is shipped but for the election of a leader.
func (p *peer) start(l *lab.Lab) (*process.Process, error) {
	argv := []string{p.program, "--kubeconfig=" + l.Plane.Kubeconfig(), "--leader-elect=false"}
	for _, flag := range []string{"--metricsport=", "--healthzPort="} {
		port, err := cluster.FreePort()
		if err != nil {
			return nil, err
		}
		argv = append(argv, flag+strconv.Itoa(port))
	}
	return process.Start(process.Spec{Dir: filepath.Dir(l.Plane.Kubeconfig()), Name: filepath.Base(p.program), Argv: argv})
}

// during runs the peer while something is done, in place of the operator.
func (p *peer) during(ctx context.Context, l *lab.Lab, do func(*process.Process) error) error {
	if err := (setup{}).prepare(ctx, l); err != nil {
		return err
	}
	running, err := p.start(l)
	if err != nil {
		return err
	}
	defer func() { _ = running.Stop(context.WithoutCancel(ctx), peerGrace) }() // it is killed where it doesn't end
	if err := l.Quiet(ctx); err != nil {
		return err
	}
	if err := do(running); err != nil {
		return running.Failure(err)
	}
	return nil
}

// fill creates the fleet of the peer.
func (p *peer) fill(ctx context.Context, l *lab.Lab, rolled fleet) error {
	if err := p.install(ctx, l); err != nil {
		return err
	}
	if err := l.Namespace(ctx, rolled.namespace, false); err != nil {
		return err
	}
	return p.during(ctx, l, func(*process.Process) error {
		_, err := rolled.create(ctx, l, false)
		return err
	})
}

// round measures a roll of the fleet, and what the peer uses for it.
func (p *peer) round(ctx context.Context, l *lab.Lab, rolled fleet, note string) (sample, error) {
	var result sample
	err := p.during(ctx, l, func(running *process.Process) error {
		before, err := running.Usage()
		if err != nil {
			return err
		}
		if result, err = measure(ctx, l, func() (times, error) { return rolled.roll(ctx, l, false, note) }); err != nil {
			return err
		}
		result.used, err = running.Usage()
		result.used.CPU -= before.CPU
		return err
	})
	return result, err
}

// rolloutOf is a Rollout of Argo Rollouts for the pods of a Deployment. It has no steps, so that it rolls as a Deployment does.
func rolloutOf(deployment *appsv1.Deployment) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
	if err != nil {
		return nil, fmt.Errorf("make a Rollout: %w", err)
	}
	delete(fields, "status")
	rollout := &unstructured.Unstructured{Object: fields}
	rollout.SetAPIVersion("argoproj.io/v1alpha1")
	rollout.SetKind("Rollout")
	return rollout, unstructured.SetNestedMap(fields, map[string]any{"canary": map[string]any{}}, "spec", "strategy")
}

// sawRollout takes note of what a Rollout of Argo Rollouts looks like now.
func (p *progress) sawRollout(rollout *unstructured.Unstructured) {
	note, _, _ := unstructured.NestedString(rollout.Object, "spec", "template", "metadata", "annotations", "note")
	observed, _, _ := unstructured.NestedString(rollout.Object, "status", "observedGeneration")
	phase, _, _ := unstructured.NestedString(rollout.Object, "status", "phase")
	desired, _, _ := unstructured.NestedInt64(rollout.Object, "spec", "replicas")
	if note != p.note || observed != strconv.FormatInt(rollout.GetGeneration(), 10) || phase != "Healthy" {
		return
	}
	for _, field := range []string{"replicas", "updatedReplicas", "availableReplicas"} {
		if count, _, _ := unstructured.NestedInt64(rollout.Object, "status", field); count != desired {
			return
		}
	}
	p.rolled[rollout.GetName()] = ""
}
