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
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// lockLength is longer than any run.
const lockLength = time.Hour

func ofFreezes() []scenario {
	one := func(spec *appv1alpha1.ChangeFreezeSpec) { spec.Thaw.Concurrent = 1 }
	return []scenario{
		// A freeze parks a release until it is deleted, another one holds the next release on its way, and a third passes by a BreakGlass.
		{name: "freeze", play: inTurn(
			createSlowly, verified(1),
			lock("parks", appv1alpha1.FreezeFinish), secondRelease, frozen(2), unlock("parks"), verified(2),
			slowRelease, ready(1), replaced, checked(1), lock("holds", appv1alpha1.FreezeHold), frozen(3),
			breakGlass, change("the fourth release", `{"spec":{"template":{"metadata":{"annotations":null}}}}`), verified(4))},
		// A freeze parks the releases of two workloads until it is deleted. They go on one after the other.
		{name: "thaw", play: inTurn(
			createDeployment, verified(1), beside(createDeployment), beside(verified(1)),
			lock("parks", appv1alpha1.FreezeFinish, one), secondRelease, frozen(2), beside(secondRelease), beside(frozen(2)), unlock("parks"),
			verified(2), beside(verified(2)), thawedInTurn)},
	}
}

// thawedInTurn returns an error if both releases were on their way at a time. Which of them is first depends on when they were parked.
func thawedInTurn(ctx context.Context, s *stage) error {
	own, err := s.current(ctx)
	if err != nil {
		return err
	}
	other, err := s.beside().current(ctx)
	if err != nil {
		return err
	}
	return expect(wentOnAfter(own.record, other.record) || wentOnAfter(other.record, own.record),
		"both releases were on their way: their records have %+v and %+v", own.record.Status.Conditions, other.record.Status.Conditions)
}

// wentOnAfter reports whether the freeze of a release ended when another release was verified, or later.
func wentOnAfter(record, other *appv1alpha1.ChangeWorkload) bool {
	thawed := meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionFrozen)
	verified := meta.FindStatusCondition(other.Status.Conditions, appv1alpha1.ConditionVerified)
	return verified != nil && thawed != nil && !thawed.LastTransitionTime.Before(&verified.LastTransitionTime)
}

// createSlowly creates a Deployment that replaces one pod after another.
func createSlowly(ctx context.Context, s *stage) error {
	return s.created(ctx, lab.Deployment(s.namespace, workloadName, heldReplicas))
}

// lock freezes the namespace, and waits until the operator knows.
func lock(name string, running appv1alpha1.FreezeRunning, edits ...func(*appv1alpha1.ChangeFreezeSpec)) step {
	return func(ctx context.Context, s *stage) error {
		freeze := &appv1alpha1.ChangeFreeze{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
			Spec:       appv1alpha1.ChangeFreezeSpec{Expires: &metav1.Duration{Duration: lockLength}, Running: running},
		}
		for _, edit := range edits {
			edit(&freeze.Spec)
		}
		return s.createReady(ctx, freeze, func() bool { return freeze.Status.Active })
	}
}

func unlock(name string) step {
	return func(ctx context.Context, s *stage) error {
		return s.write(ctx, "the end of the freeze "+name, func(ctx context.Context) error {
			return client.IgnoreNotFound(s.Kube.Delete(ctx, &appv1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}))
		})
	}
}

// frozen waits until a release waits for the end of a freeze.
func frozen(release int64) step {
	return awaits(fmt.Sprintf("the freeze of release %d", release), func(_ context.Context, s seen) error {
		paused := s.kind.Rollout(s.object).Paused
		return expect(s.record.Spec.Release == release && decide.IsFrozen(s.record) && paused,
			"it is at release %d, paused %t, and its record has %+v", s.record.Spec.Release, paused, s.record.Status.Conditions)
	})
}

// breakGlass lets one release pass.
func breakGlass(ctx context.Context, s *stage) error {
	return s.created(ctx, &appv1alpha1.BreakGlass{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "inc-7"},
		Spec: appv1alpha1.BreakGlassSpec{
			Reason: "INC-7", Workloads: []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps", Name: workloadName}},
			Overrides: []appv1alpha1.BreakGlassOverride{appv1alpha1.OverrideFreeze}, For: metav1.Duration{Duration: lockLength},
		},
	})
}
