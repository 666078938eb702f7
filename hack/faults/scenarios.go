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
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// scenario is a sequence of actions of users in a namespace, with the states to wait for.
type scenario struct {
	name string
	// kind is the kind of the workload, which is chosen with the scenario if it is a Deployment, or is declared: a WebApp.
	kind     workload.Kind
	declared bool
	// group is the name of its group.
	group string
	// measured reports whether checks look at metrics of the pods.
	measured bool
	// looks reports whether checks look at the pods for a minute.
	looks bool
	play  step
	// troubles may strike at its moment; apart reports that no other faults apply to it.
	troubles []trouble
	apart    bool
	// objects are objects without a namespace, or other namespaces, that faults apply to, in place of those in the namespace. Its runs are alone.
	objects []string
}

// scenarios returns all of them. Each group is played on a control plane of its own.
func scenarios() (all []scenario) {
	for _, group := range []struct {
		name      string
		scenarios []scenario
	}{
		{"deployments", slices.Concat(ofDeployments(), ofReceivers())},
		{"checks", ofChecks()},
		{"policies", ofPolicies()},
		{"kinds", ofRollouts()},
		{serverGroup, ofServer()},
	} {
		for _, scenario := range group.scenarios {
			scenario.group = group.name
			all = append(all, scenario)
		}
	}
	return all
}

// ofDeployments returns the scenarios of plain releases.
func ofDeployments() []scenario {
	const neverStarts = `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`
	return []scenario{
		// The documented one: a release passes, a verdict by hand suspends it, the next one is denied, a repair is admitted.
		{name: "walkthrough", troubles: []trouble{
			{"past-records", pastOf("changeworkloads", "changepods")}, {"past-changepods", pastOf("changepods")},
		}, play: inTurn(createDeployment, verified(1), remember, failed(1), suspended(1), moment, denied, repair, verified(2))},
		// A release whose pods never start.
		{name: "stuck", play: inTurn(createStuckAfter(stuckSoon), verified(1), change(neverStarts), verified(3))},
		// A verified release goes back to the previous one on request.
		{name: "rollback", play: inTurn(createDeployment, verified(1), secondRelease, verified(2), requestRollback, verified(3))},
		// The pods of a release take some time to start.
		{name: "late", apart: true, troubles: []trouble{
			{"stale-pods", stalePods}, {"apiserver-away", apiServerAway}, {"manager-away", managerAway},
		}, play: inTurn(createStuckAfter(stuckLate), verified(1), change(neverStarts), pending, moment, runPods, ready(replicas), verified(2))},
		// A release fails while half of the pods are replaced, and is held, of a Deployment whose template a webhook completes. It is rolled back
		// on request.
		{name: "held", apart: true, troubles: []trouble{{"unaware-client", unawareClient}}, play: inTurn(
			createInjected, verified(1), slowRelease, ready(1), failed(1), suspended(2), held,
			change(fmt.Sprintf(`{"metadata":{"labels":{%s}}}`, repairing)),
			moment, askToGoBack, verified(3))},
	}
}

// ofPolicies returns the scenarios of freezes and of steps.
func ofPolicies() []scenario {
	return []scenario{
		// A freeze parks a release until it is deleted, another one holds the next release on its way, and a third passes by a BreakGlass.
		{name: "freeze", play: inTurn(
			createSlowly, verified(1),
			lock("parks", freeze{Running: appv1alpha1.FreezeFinish}), secondRelease, frozen(2), unlock("parks"), verified(2),
			slowRelease, ready(1), replaced, checked(1), lock("holds", freeze{Running: appv1alpha1.FreezeHold}), frozen(3),
			breakGlass, change(`{"spec":{"template":{"metadata":{"annotations":null}}}}`), verified(4))},
		// A freeze parks the releases of two workloads until it is deleted. They go on one after the other.
		{name: "thaw", play: inTurn(
			createDeployment, verified(1), beside(createDeployment), beside(verified(1)),
			lock("parks", freeze{Running: appv1alpha1.FreezeFinish, Thaw: appv1alpha1.FreezeThaw{Concurrent: 1}}),
			secondRelease, frozen(2), beside(secondRelease), beside(frozen(2)), unlock("parks"), verified(2), beside(verified(2)), thawedInTurn)},
		{name: "steps", play: paced(createDeployment, policy{})},
		{name: "steps-before", play: paced(createDeployment, policy{Traffic: appv1alpha1.TrafficBefore})},
		// A release fails after its first step, and is rolled back by its policy.
		{name: "undo", play: inTurn(
			twoSteps(policy{OnFail: appv1alpha1.OnFailUndo}), createDeployment, verified(1), secondRelease, awaitsApproval, failed(1), verified(3), unpaced)},
	}
}

// paced returns a play whose release runs one pod until it is approved, and then all.
func paced(create step, policy policy) step {
	return inTurn(twoSteps(policy), create, verified(1), secondRelease, awaitsApproval, approve, verified(2), unpaced)
}

// isAlone reports whether its runs are alone, because they change what others share.
func (s scenario) isAlone() bool { return len(s.objects) > 0 }

const replicas = 2

func createDeployment(ctx context.Context, s *stage) error { return s.createWith(ctx, nil, nil) }

// createStuckAfter creates a Deployment with a threshold of its own.
func createStuckAfter(threshold time.Duration) step {
	return func(ctx context.Context, s *stage) error {
		return s.createWith(ctx, nil, map[string]string{appv1alpha1.AnnotationStuckAfter: threshold.String()})
	}
}

func (s *stage) createWith(ctx context.Context, labels, annotations map[string]string) error {
	deployment := lab.Deployment(s.namespace, s.name, replicas)
	maps.Copy(deployment.Labels, labels)
	deployment.Annotations = annotations
	// All pods are replaced at once, so that a rollout is over when its last batch fails: otherwise it would be held.
	deployment.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(replicas))}
	return s.created(ctx, deployment)
}

// step is something that users do, or wait for.
type step = func(context.Context, *stage) error

func inTurn(steps ...step) step {
	return func(ctx context.Context, s *stage) error {
		for _, act := range steps {
			if err := act(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

func change(patch string) step {
	return func(ctx context.Context, s *stage) error { return s.patch(ctx, patch) }
}

func secondRelease(ctx context.Context, s *stage) error { return s.patch(ctx, template("second", "")) }

func repair(ctx context.Context, s *stage) error {
	return s.patch(ctx, template("repaired", repairing))
}

func requestRollback(ctx context.Context, s *stage) error {
	return s.patch(ctx, fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, appv1alpha1.AnnotationRollback))
}

// lockLength is longer than any run.
const lockLength = time.Hour

// thawedInTurn returns an error if both releases were on their way at a time. Which of them is first depends on when they were parked.
func thawedInTurn(ctx context.Context, s *stage) error {
	own, err := s.current(ctx, s.Kube)
	if err != nil {
		return err
	}
	other, err := s.beside().current(ctx, s.Kube)
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

// freeze and policy are what a lock, and steps, may have besides.
type (
	freeze = appv1alpha1.ChangeFreezeSpec
	policy = appv1alpha1.ReleasePolicySpec
)

// lock freezes the namespace, and waits until the operator knows.
func lock(name string, spec freeze) step {
	return func(ctx context.Context, s *stage) error {
		created := &appv1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: spec}
		created.Spec.Expires = &metav1.Duration{Duration: lockLength}
		return s.createReady(ctx, created, func() error { return expect(created.Status.Active, "it isn't active") })
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

// twoSteps creates a ReleasePolicy of two steps, of which the second one needs an approval.
func twoSteps(spec policy) step {
	return func(ctx context.Context, s *stage) error {
		created := &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "careful"}, Spec: spec}
		created.Spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100, Approvals: 1}}
		if err := s.createReady(ctx, created, readyIn(&created.Status.Conditions)); err != nil {
			return err
		}
		return until(ctx, "a policy in effect", func(ctx context.Context) error {
			return s.Kube.Get(ctx, s.key(appv1alpha1.ReleaseGateName), &appv1alpha1.ReleaseGate{})
		})
	}
}

// awaitsApproval waits until the first step is done.
func awaitsApproval(ctx context.Context, s *stage) error {
	return awaits("a release that awaits its approval", func(_ context.Context, s seen) error {
		paced := meta.FindStatusCondition(s.record.Status.Conditions, appv1alpha1.ConditionPaced)
		return expect(paced != nil && paced.Reason == appv1alpha1.ReasonAwaitingApproval, "its condition Paced is %v", paced)
	})(ctx, s)
}

// approve approves the present release.
func approve(ctx context.Context, s *stage) error {
	return acts("the approval", func(ctx context.Context, s seen) error {
		approval := lab.Approval(s.record, s.kind.GroupVersionKind().GroupKind(), appv1alpha1.DecisionApprove)
		approval.Name = "approval" // of which there is one, also if this is repeated
		approver, err := s.As("approver")
		if err != nil {
			return err
		}
		return client.IgnoreAlreadyExists(approver.Create(ctx, approval))
	})(ctx, s)
}

// unpaced waits until nothing of the pace is left on the workload.
func unpaced(ctx context.Context, s *stage) error {
	return awaits("a workload without its pace", func(_ context.Context, s seen) error {
		annotations := s.object.GetAnnotations()
		paced := appv1alpha1.PacedOf(annotations, decide.ReleaseNumber(annotations))
		return expect(paced == nil && !s.kind.Rollout(s.object).Paused, "it is still paced")
	})(ctx, s)
}
