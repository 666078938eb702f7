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
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// step is something that a user does, or sees.
type step func(*app, context.Context) error

// state is a state of a release in which an upgrade finds a Deployment.
type state struct {
	name string
	// outside reports that its namespace hasn't opted in.
	outside bool
	// moves reports that the release goes on during the upgrade.
	moves bool
	// prepare brings a Deployment to the state, begin starts what is under way when the upgrade begins.
	prepare, begin []step
	// after is what is seen after the upgrade with nobody's help, then what users do next, end what comes of it.
	after, then, end []step
	// releases is the number of its releases then.
	releases int64
}

func states() []state {
	const late = `{"spec":{"template":{"metadata":{"annotations":{"local.altershield.io/ready-after":"3600s"}}}}}`
	first := []step{(*app).create, verified(1)}
	halfway := plus(first, patched(late), (*app).waits)
	const repair = `{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},"spec":{"template":{"metadata":{"labels":{"test":"repaired"}}}}}`
	const goBack = `{"metadata":{"annotations":{"altershield.defense.antgroup.com/rollback":"true"}}}`
	return []state{
		{
			name: "verified", prepare: first, after: []step{verified(1)},
			then: []step{release("second")}, end: []step{verified(2)}, releases: 2,
		},
		{
			name: "gone-back", prepare: plus(first, release("second"), verified(2), patched(goBack), verified(3)), after: []step{verified(3)},
			then: []step{release("third")}, end: []step{verified(4)}, releases: 4,
		},
		{
			name: "failed", prepare: []step{failNext, (*app).create, suspended(1)}, after: []step{suspended(1), (*app).denied},
			then: []step{patched(repair)}, end: []step{verified(2)}, releases: 2,
		},
		{
			name: "failed-by-hand", prepare: plus(first, judged(appv1alpha1.VerdictUnpass), suspended(1)), after: []step{suspended(1), (*app).denied},
			then: []step{judged(appv1alpha1.VerdictPass)}, end: []step{verified(1)}, releases: 1,
		},
		{
			name:    "held",
			prepare: plus(halfway, (*app).readyOne, judged(appv1alpha1.VerdictUnpass), suspended(2), pausedIs(true)),
			after:   []step{suspended(2), pausedIs(true), (*app).denied},
			then:    []step{judged(appv1alpha1.VerdictPass), (*app).readyOne}, end: []step{verified(2), pausedIs(false)}, releases: 2,
		},
		{
			name: "rolling", prepare: halfway, after: []step{(*app).waits},
			then: []step{(*app).readyOne, (*app).readyOne}, end: []step{verified(2)}, releases: 2,
		},
		{
			name: "paused", prepare: plus(halfway, patched(`{"spec":{"paused":true}}`)), after: []step{(*app).waits, pausedIs(true)},
			then: []step{patched(`{"spec":{"paused":false}}`), (*app).readyOne, (*app).readyOne}, end: []step{verified(2)}, releases: 2,
		},
		{
			name: "checked", moves: true, prepare: first, begin: []step{release("second")}, after: []step{verified(2)},
			then: []step{release("third")}, end: []step{verified(3)}, releases: 3,
		},
		{
			name: "stuck", moves: true, prepare: first, begin: []step{stuck}, after: []step{verified(3)},
			then: []step{release("third")}, end: []step{verified(4)}, releases: 4,
		},
		{
			name: "outside", outside: true, prepare: []step{(*app).create}, after: []step{unrecorded},
			then: []step{release("second")}, end: []step{unrecorded}, releases: 0,
		},
	}
}

func plus(steps []step, more ...step) []step { return slices.Concat(steps, more) }

// release makes a release whose pods are ready at once.
func release(note string) step {
	return patched(fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{"test":%q},"annotations":{"local.altershield.io/ready-after":null}}}}}`, note))
}

func stuck(a *app, ctx context.Context) error { return a.Lab.ReleaseStuck(ctx, a.Namespace, a.Name) }

// patched changes the workload like kubectl patch --type=merge.
func patched(content string) step {
	return func(a *app, ctx context.Context) error {
		return a.write(ctx, func(ctx context.Context) error { return a.Patch(ctx, content) })
	}
}

func verified(number int64) step {
	return func(a *app, ctx context.Context) error {
		return a.reaches(ctx, number, appv1alpha1.ChangeWorkloadSuccess)
	}
}

func suspended(number int64) step {
	return func(a *app, ctx context.Context) error {
		return a.reaches(ctx, number, appv1alpha1.ChangeWorkloadSuspend)
	}
}

func judged(verdict appv1alpha1.Verdict) step {
	return func(a *app, ctx context.Context) error { return a.Judge(ctx, verdict) }
}

// failNext makes AlterShield Server fail the next check of a batch.
func failNext(a *app, _ context.Context) error {
	a.Lab.Server.AddRule(altershield.Rule{
		Name: "error rate", Message: "5xx above 1%", Deployment: a.Namespace + "/" + a.Name,
		Stage: altershield.StagePost, Verdict: altershield.VerdictFail, Remaining: 1,
	})
	return nil
}

func pausedIs(paused bool) step {
	return func(a *app, ctx context.Context) error {
		return a.Awaits(ctx, fmt.Sprintf("paused to be %t", paused), func(_ context.Context, now lab.Seen) error {
			if found, _, _ := unstructured.NestedBool(now.Object, "spec", "paused"); found != paused {
				return errors.New("it isn't")
			}
			return nil
		})
	}
}

// unrecorded checks that the operator keeps away from a Deployment of a namespace that hasn't opted in.
func unrecorded(a *app, ctx context.Context) error {
	if _, err := a.Now(ctx); err == nil {
		return errors.New("its release is recorded, although its namespace hasn't opted in")
	}
	deployment := lab.Deployment(a.Namespace, a.Name, replicas)
	if err := a.Lab.Kube.Get(ctx, a.ObjectKey, deployment); err != nil {
		return err
	}
	if version, stamped := deployment.Spec.Template.Labels[appv1alpha1.LabelVersion]; stamped {
		return fmt.Errorf("it has version %s, although its namespace hasn't opted in", version)
	}
	return nil
}
