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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/hack/altershield"
)

// pacedInSteps makes a release that runs one pod until it is approved, and then all.
func pacedInSteps(create step, edits ...func(*appv1alpha1.ReleasePolicySpec)) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		return inTurn(ctx, s,
			twoSteps(edits...), create, verified(1),
			change("the second release", template("second", "")), (*stage).awaitsApproval, (*stage).approve, verified(2), (*stage).unpaced)
	}
}

// orderFailsInSteps makes AlterShield Server fail the order of a release in steps after its last one. A user withdraws that.
func orderFailsInSteps(ctx context.Context, s *stage) error {
	return inTurn(ctx, s,
		twoSteps(), (*stage).create, verified(1), (*stage).failOrder,
		change("the second release", template("second", "")), (*stage).awaitsApproval, (*stage).approve, suspended(2), withdrawn(1), verified(2),
		(*stage).unpaced)
}

// undoneWhenItFails makes a release in steps that fails after its first one, and is rolled back by its policy.
func undoneWhenItFails(ctx context.Context, s *stage) error {
	return inTurn(ctx, s,
		twoSteps(onFail(appv1alpha1.OnFailUndo)), (*stage).create, verified(1),
		change("the second release", template("second", "")), (*stage).awaitsApproval, failed(1), verified(3), (*stage).unpaced)
}

// parkedWhenItFails does the same with a StatefulSet whose release is parked.
func parkedWhenItFails(ctx context.Context, s *stage) error {
	return inTurn(ctx, s,
		twoSteps(onFail(appv1alpha1.OnFailPark)), createStatefulSet(parkedReplicas), verified(1),
		slowRelease, (*stage).readyOne, (*stage).awaitsApproval, failed(1), suspended(2), (*stage).parked)
}

func onFail(what appv1alpha1.OnFail) func(*appv1alpha1.ReleasePolicySpec) {
	return func(spec *appv1alpha1.ReleasePolicySpec) { spec.OnFail = what }
}

func withTraffic(traffic appv1alpha1.Traffic) func(*appv1alpha1.ReleasePolicySpec) {
	return func(spec *appv1alpha1.ReleasePolicySpec) { spec.Traffic = traffic }
}

// failOrder makes the server fail the next order after its last step.
func (s *stage) failOrder(context.Context) error {
	s.lab.Server.AddRule(altershield.Rule{
		Name: "budget", Message: "spent", Deployment: s.namespace + "/" + workloadName,
		Stage: altershield.StagePost, Order: true, Verdict: altershield.VerdictFail, Remaining: 1,
	})
	return nil
}

// twoSteps creates a ReleasePolicy of two steps, of which the second one needs an approval.
func twoSteps(edits ...func(*appv1alpha1.ReleasePolicySpec)) step {
	return func(s *stage, ctx context.Context) error {
		policy := &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "careful"}}
		policy.Spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100, Approvals: 1}}
		for _, edit := range edits {
			edit(&policy.Spec)
		}
		return s.createPolicy(ctx, policy)
	}
}

// createPolicy creates a ReleasePolicy, and waits until it is in effect.
func (s *stage) createPolicy(ctx context.Context, policy *appv1alpha1.ReleasePolicy) error {
	err := s.write(ctx, "the policy", func(ctx context.Context) error {
		return ignoreExists(s.kube.Create(ctx, policy.DeepCopy()))
	})
	if err != nil {
		return err
	}
	return until(ctx, "a policy in effect", func(ctx context.Context) error {
		if err := s.kube.Get(ctx, s.key(appv1alpha1.ReleaseGateName), &appv1alpha1.ReleaseGate{}); err != nil {
			return err
		}
		seen := &appv1alpha1.ReleasePolicy{}
		if err := s.kube.Get(ctx, client.ObjectKeyFromObject(policy), seen); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(seen.Status.Conditions, appv1alpha1.ConditionReady) {
			return errors.New("it isn't ready")
		}
		return nil
	})
}

// awaitsApproval waits until the first step is done.
func (s *stage) awaitsApproval(ctx context.Context) error {
	return until(ctx, "a release that awaits its approval", func(ctx context.Context) error {
		_, record, err := s.current(ctx)
		if err != nil {
			return err
		}
		paced := meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionPaced)
		if paced == nil || paced.Reason != appv1alpha1.ReasonAwaitingApproval {
			return fmt.Errorf("its condition Paced is %v", paced)
		}
		return nil
	})
}

// approve approves the present release.
func (s *stage) approve(ctx context.Context) error {
	return s.write(ctx, "the approval", func(ctx context.Context) error {
		object, record, err := s.current(ctx)
		if err != nil {
			return err
		}
		approval := &appv1alpha1.ChangeApproval{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "approval"}}
		approval.Spec = appv1alpha1.ChangeApprovalSpec{
			Workload: appv1alpha1.ReleasedWorkload{Kind: s.kind.GroupVersionKind().GroupKind().String(), Name: object.GetName()},
			Version:  record.Spec.Reversion, Release: record.Spec.Release, Decision: appv1alpha1.DecisionApprove, Reason: "CHG-4711",
		}
		config := rest.CopyConfig(s.lab.Plane.Config())
		config.Impersonate = rest.ImpersonationConfig{UserName: "approver", Groups: []string{"system:masters"}} // the author can't approve
		approver, err := client.New(config, client.Options{Scheme: s.kube.Scheme()})
		if err != nil {
			return err
		}
		return ignoreExists(approver.Create(ctx, approval))
	})
}

// unpaced waits until nothing of the pace is left on the workload.
func (s *stage) unpaced(ctx context.Context) error {
	return until(ctx, "a workload without its pace", func(ctx context.Context) error {
		object, _, err := s.current(ctx)
		if err != nil {
			return err
		}
		if appv1alpha1.PacedOf(object.GetAnnotations(), decide.ReleaseNumber(object.GetAnnotations())) != nil || s.kind.Rollout(object).Paused {
			return errors.New("it is still paced")
		}
		return nil
	})
}

// ignoreExists returns nil if an object that is created exists: the answer to an earlier attempt was lost.
func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
