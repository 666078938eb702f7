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
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/soak/plan"
)

const (
	// governs is the name of the freeze, the ReleasePolicy and the VerificationPolicy of a namespace.
	governs = "soak"
	// approvedSteps is the ReleasePolicy of the namespace whose steps need an approval.
	approvedSteps = "approved"
	// freezeFor is longer than a soak goes on without another action on the freeze, glassFor the shortest time of a BreakGlass.
	freezeFor, glassFor = 10 * time.Minute, time.Minute
)

// govern changes what governs the releases of a namespace, or decides on one.
func (a *actor) govern(ctx context.Context, action plan.Action) error {
	switch action.Kind {
	case plan.Freeze:
		return a.freeze(ctx, action)
	case plan.Thaw:
		return a.lab.Kube.Delete(ctx, &appv1alpha1.ChangeFreeze{ObjectMeta: governing(action.Namespace)})
	case plan.BreakGlass:
		return a.breakGlass(ctx, action)
	case plan.Pace:
		return a.pace(ctx, action.Namespace, action.Text)
	case plan.Check:
		return a.check(ctx, action.Namespace, action.Text)
	}
	workload, err := a.present(ctx, action)
	if err != nil {
		return err
	}
	release := decide.ReleaseOf(workload)
	if action.Kind == plan.GoOn {
		return patch(ctx, a.lab.Kube, a.named(action), fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d:all"}}}`, appv1alpha1.AnnotationGoOn, release.Number))
	}
	record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: workload.GetNamespace()}}
	record.Spec = appv1alpha1.ChangeWorkloadSpec{AppName: workload.GetName(), Reversion: release.Version, Release: release.Number}
	return a.decide(ctx, action.Of, record, appv1alpha1.ApprovalDecision(action.Text))
}

func governing(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: governs}
}

// present returns the workload of an action as it is.
func (a *actor) present(ctx context.Context, action plan.Action) (client.Object, error) {
	object := a.named(action)
	return object, a.intruder.Get(ctx, client.ObjectKeyFromObject(object), object)
}

func (a *actor) freeze(ctx context.Context, action plan.Action) error {
	freeze := &appv1alpha1.ChangeFreeze{ObjectMeta: governing(action.Namespace)}
	_, err := controllerutil.CreateOrUpdate(ctx, a.lab.Kube, freeze, func() error {
		what, hold, _ := strings.Cut(action.Text, " ")
		freeze.Spec.Action, freeze.Spec.Running = appv1alpha1.FreezeAction(what), appv1alpha1.FreezeFinish
		if hold != "" {
			freeze.Spec.Running = appv1alpha1.FreezeHold
		}
		freeze.Spec.Expires = &metav1.Duration{Duration: freezeFor}
		freeze.Spec.Reason = fmt.Sprintf("action %d", action.Number)
		return nil
	})
	return err
}

func (a *actor) breakGlass(ctx context.Context, action plan.Action) error {
	glass := &appv1alpha1.BreakGlass{ObjectMeta: metav1.ObjectMeta{Namespace: action.Namespace, GenerateName: action.Name + "-"}}
	glass.Spec = appv1alpha1.BreakGlassSpec{
		Reason: fmt.Sprintf("action %d", action.Number), For: metav1.Duration{Duration: glassFor}, Uses: 1,
		Workloads: []appv1alpha1.WorkloadSelector{{Kind: a.kinds[action.Of].GroupVersionKind().GroupKind().String(), Name: action.Name}},
	}
	for _, override := range strings.Fields(action.Text) {
		glass.Spec.Overrides = append(glass.Spec.Overrides, appv1alpha1.BreakGlassOverride(override))
	}
	return a.lab.Kube.Create(ctx, glass)
}

// pace gives a namespace a ReleasePolicy, or takes it away.
func (a *actor) pace(ctx context.Context, namespace, name string) error {
	policy := &appv1alpha1.ReleasePolicy{ObjectMeta: governing(namespace)}
	return a.give(ctx, policy, name, func() { policy.Spec = releasePolicy(name) })
}

// check gives a namespace a VerificationPolicy, or takes it away.
func (a *actor) check(ctx context.Context, namespace, name string) error {
	policy := &appv1alpha1.VerificationPolicy{ObjectMeta: governing(namespace)}
	return a.give(ctx, policy, name, func() { policy.Spec = verificationPolicy(name) })
}

// give creates or changes a policy, or deletes it where it has no name.
func (a *actor) give(ctx context.Context, policy client.Object, name string, fill func()) error {
	if name == "" {
		return a.lab.Kube.Delete(ctx, policy)
	}
	_, err := controllerutil.CreateOrUpdate(ctx, a.lab.Kube, policy, func() error {
		fill()
		return nil
	})
	return err
}

// releasePolicy returns the ReleasePolicy with a name.
func releasePolicy(name string) appv1alpha1.ReleasePolicySpec {
	one, all := appv1alpha1.ReleaseStep{Replicas: 1}, appv1alpha1.ReleaseStep{Percent: 100}
	spec := appv1alpha1.ReleasePolicySpec{Steps: []appv1alpha1.ReleaseStep{one, all}}
	switch name {
	case approvedSteps:
		spec.Steps[1].Approvals = 1
	case "half":
		spec.Steps[0] = appv1alpha1.ReleaseStep{Percent: 50}
		spec.Steps[1].Approvals = 1
	case "before":
		spec.Traffic = appv1alpha1.TrafficBefore
	case "soak":
		spec.Steps[0].Soak, spec.Capacity = &metav1.Duration{Duration: 5 * time.Second}, appv1alpha1.CapacityAsDeclared
	case "undo":
		spec.OnFail = appv1alpha1.OnFailUndo
	case "park":
		spec.OnFail = appv1alpha1.OnFailPark
	case "deadline":
		spec.Deadline = &appv1alpha1.StepDeadline{PerStep: metav1.Duration{Duration: 15 * time.Second}, Then: appv1alpha1.DeadlineUndo}
	}
	return spec
}

// verificationPolicy returns the VerificationPolicy with a name.
func verificationPolicy(name string) appv1alpha1.VerificationPolicySpec {
	health := appv1alpha1.VerificationCheck{Name: "health", Type: appv1alpha1.CheckPodHealth}
	asked := appv1alpha1.VerificationCheck{Name: "asked", Type: appv1alpha1.CheckHTTP, HTTP: &appv1alpha1.HTTPCheck{
		SourceRef: appv1alpha1.SourceReference{Name: governs},
	}}
	spec := appv1alpha1.VerificationPolicySpec{}
	spec.Mode, spec.BakeSeconds, spec.WatchSeconds, spec.IntervalSeconds, spec.WarmupSeconds = appv1alpha1.CheckEnforce, 10, 20, 10, 0
	switch name {
	case "observe":
		spec.Mode = appv1alpha1.CheckObserve
	case "ask-before":
		asked.Phase = appv1alpha1.PhaseBefore
	case "ask-after":
		asked.Phase = appv1alpha1.PhaseAfter
	}
	if asked.Phase != "" {
		asked.TimeoutSeconds, asked.OnTimeout = 10, appv1alpha1.FallbackPass
	}
	if spec.Checks = []appv1alpha1.VerificationCheck{health}; name != "health" {
		spec.Checks = append(spec.Checks, asked)
	}
	return spec
}

// release lets all releases go on: it ends the freezes, the denials and the crashes. The policies stay.
func (a *actor) release(ctx context.Context) error {
	var failures []error
	for _, namespace := range optedIn() {
		freeze := &appv1alpha1.ChangeFreeze{ObjectMeta: governing(namespace)}
		failures = append(failures, client.IgnoreNotFound(a.lab.Kube.Delete(ctx, freeze)),
			a.lab.Kube.DeleteAllOf(ctx, &appv1alpha1.ChangeApproval{}, client.InNamespace(namespace)), a.mend(ctx, client.InNamespace(namespace)))
	}
	return errors.Join(failures...)
}

// decide approves or denies a release, as a user who isn't its author.
func (a *actor) decide(ctx context.Context, of plan.Of, record *appv1alpha1.ChangeWorkload, decision appv1alpha1.ApprovalDecision) error {
	return a.approver.Create(ctx, lab.Approval(record, a.kinds[of].GroupVersionKind().GroupKind(), decision))
}

// approve approves a release that waits for that.
func (a *actor) approve(ctx context.Context, of plan.Of, record *appv1alpha1.ChangeWorkload) error {
	err := a.decide(ctx, of, record, appv1alpha1.DecisionApprove)
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return nil // it has gone on, or is approved
	}
	return err
}
