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
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

// guest is a workload in a state that v0.1 doesn't know. As an app it is a Deployment under v0.1.
type guest struct {
	*app
	unknown
	run *run
}

func newGuest(r *run, state unknown) (*guest, error) {
	objects, err := manifests.Decode(strings.NewReader(strings.ReplaceAll(state.manifest, "NAME", state.name)))
	if err != nil {
		return nil, err
	}
	object := objects[0]
	return &guest{app: &app{Workload: workloadOf(r.lab, object.GroupVersionKind(), object), object: object}, unknown: state, run: r}, nil
}

// hasPods reports whether the guest replaces its pods with each release.
func (g *guest) hasPods() bool { return g.Kind.Group == "apps" }

// objectsBeside returns the objects beside the guest, as YAML.
func (g *guest) objectsBeside() string {
	return strings.NewReplacer("NAME", g.Name, "KIND", g.Kind.GroupKind().String()).Replace(g.beside)
}

// begin makes the first release.
func (g *guest) begin(ctx context.Context) error {
	if g.starts {
		return nil
	}
	state := "Success"
	if !g.hasPods() {
		state = ""
	}
	return g.inTurn(ctx, (*app).create, g.shows(1, state))
}

// arrive makes the release that comes to the state.
func (g *guest) arrive(ctx context.Context) error {
	switch {
	case g.starts:
		return g.inTurn(ctx, (*app).create, g.shows(1, g.unknown.state))
	case g.fails:
		return g.inTurn(ctx, patched(`{"spec":{"template":{"metadata":{"labels":{"test":"bad"},"annotations":{"local.altershield.io/ready-after":"10s"}}}}}`),
			g.shows(2, g.unknown.state), g.isHeld)
	}
	return g.inTurn(ctx, release("second"), g.shows(2, g.unknown.state))
}

// shows waits until the newest record is of this release and shows a state.
func (g *guest) shows(number int64, state string) step {
	return func(_ *app, ctx context.Context) error {
		return g.Awaits(ctx, fmt.Sprintf("release %d with the state %q", number, state), func(_ context.Context, now lab.Seen) error {
			record := now.Record
			if record.Spec.Release != number || !strings.Contains(stateOf(record), state) {
				return fmt.Errorf("it is at release %d with the state %s", record.Spec.Release, stateOf(record))
			}
			return nil
		})
	}
}

// stateOf returns the status of a record, and what its release waits for.
func stateOf(record *appv1alpha1.ChangeWorkload) string {
	state := string(record.Status.Status)
	for _, name := range []string{appv1alpha1.ConditionPaced, appv1alpha1.ConditionFrozen} {
		if found := meta.FindStatusCondition(record.Status.Conditions, name); found != nil && found.Status == metav1.ConditionTrue {
			state += ", " + name + " " + found.Reason
		}
	}
	if record.Status.BreakGlass != nil {
		state += ", BreakGlass"
	}
	return state
}

// isHeld waits until the operator holds the rollout.
func (g *guest) isHeld(_ *app, ctx context.Context) error {
	return g.Awaits(ctx, "a rollout that is held", func(_ context.Context, now lab.Seen) error {
		if _, held := now.GetAnnotations()[appv1alpha1.AnnotationHeld]; !held {
			return errors.New("it isn't")
		}
		return nil
	})
}

// stay checks what has become of the guest under v0.1, after a way back that printed this, and releases it once more.
func (g *guest) stay(ctx context.Context, said string) error {
	isDeployment := g.Kind.Kind == "Deployment"
	switch {
	case g.fails && isDeployment:
		return g.inTurn(ctx, suspended(2), pausedIs(true), (*app).denied,
			patched(`{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},
				"spec":{"template":{"metadata":{"labels":{"test":"again"},"annotations":{"local.altershield.io/ready-after":null}}}}}`),
			verified(3), pausedIs(false))
	case g.fails: // as docs/install.md says: first a repair, then the command
		return g.inTurn(ctx, release("again"), g.resume(said), g.runs("again"))
	case !g.hasPods():
		return g.inTurn(ctx, g.isFree)
	case isDeployment:
		return g.inTurn(ctx, g.isFree, g.runs("second"), verified(2), release("again"), verified(3))
	}
	return g.inTurn(ctx, g.isFree, g.runs("second"), release("again"), g.runs("again"))
}

// resume runs the command that was printed about the guest.
func (g *guest) resume(said string) step {
	return func(_ *app, ctx context.Context) error {
		command := regexp.MustCompile(`(?m)^  (kubectl -n leaving .* ` + g.Name + ` .*)$`).FindStringSubmatch(said)
		if command == nil {
			return fmt.Errorf("no command resumes it: %s", said)
		}
		_, err := g.run.bash(ctx, command[1], "")
		return err
	}
}

// runs waits until all pods are of a release and ready.
func (g *guest) runs(note string) step {
	return func(_ *app, ctx context.Context) error { return g.run.runs(ctx, g.ObjectKey, note) }
}

// isFree waits until nothing holds the guest back.
func (g *guest) isFree(_ *app, ctx context.Context) error {
	return lab.Until(ctx, patience, "nothing that holds it back", func(ctx context.Context) error {
		object, err := g.Present(ctx)
		if err != nil {
			return err
		}
		for _, key := range []string{appv1alpha1.AnnotationHeld, appv1alpha1.AnnotationHeldFrom, appv1alpha1.AnnotationPaced, appv1alpha1.AnnotationFrozen} {
			if value, found := object.GetAnnotations()[key]; found {
				return fmt.Errorf("it has the annotation %s=%s", key, value)
			}
		}
		for _, field := range []string{"paused", "suspend"} {
			if held, _, _ := unstructured.NestedBool(object.Object, "spec", field); held {
				return fmt.Errorf("its spec.%s is true", field)
			}
		}
		return nil
	})
}
