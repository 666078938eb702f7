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

package controlledkind

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// observation is what was seen of a kind.
type observation struct {
	// kind is nil if this version of the operator doesn't control it.
	kind workload.Kind
	// served reports whether the API server serves the kind.
	served bool
	// missing are the permissions that the operator lacks.
	missing []string
	// problem is why the webhooks aren't called; nil if they are.
	problem *problem
	counts  appv1alpha1.ControlledKindCounts
}

// assess sets the status of a ControlledKind.
func assess(controlled *appv1alpha1.ControlledKind, seen observation, now time.Time) {
	status := &controlled.Status
	status.ObservedGeneration, status.Counts = controlled.Generation, seen.counts
	set := func(kind string, problem *problem, reason, message string) {
		condition := metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message,
			ObservedGeneration: controlled.Generation, LastTransitionTime: metav1.NewTime(now),
		}
		if problem != nil {
			condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, problem.reason, problem.message
		}
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	if seen.kind == nil {
		set(appv1alpha1.ConditionReady, &problem{appv1alpha1.ReasonKindNotSupported,
			"this version of the operator doesn't control this kind: its releases are neither recorded nor checked"}, "", "")
		return
	}
	served, permitted, admitted := servedProblem(seen), permittedProblem(seen), admittedProblem(controlled, seen)
	set(appv1alpha1.ConditionServed, served, appv1alpha1.ReasonServed, "the API server serves "+seen.kind.GroupVersionKind().GroupVersion().String())
	set(appv1alpha1.ConditionPermitted, permitted, appv1alpha1.ReasonPermitted, "the operator has all permissions for this kind")
	set(appv1alpha1.ConditionAdmitted, admitted, appv1alpha1.ReasonWebhooksConfigured, "the webhooks are called for releases of this kind")
	ready := firstOf(served, permitted, admitted)
	if controlled.Spec.Mode != appv1alpha1.ModeEnforce {
		ready = &problem{appv1alpha1.ReasonObserveNotSupported,
			"this version of the operator can't observe: releases of this kind are neither recorded nor checked until the mode is Enforce"}
	}
	set(appv1alpha1.ConditionReady, ready, appv1alpha1.ReasonReady, "releases of this kind are recorded, checked and, while a workload is suspended, denied")
}

func servedProblem(seen observation) *problem {
	if seen.served {
		return nil
	}
	return &problem{appv1alpha1.ReasonNotServed, "the API server doesn't serve " + seen.kind.GroupVersionKind().String()}
}

func permittedProblem(seen observation) *problem {
	if len(seen.missing) == 0 {
		return nil
	}
	return &problem{appv1alpha1.ReasonPermissionMissing,
		fmt.Sprintf("the operator lacks permissions: %s; apply config/default again", strings.Join(seen.missing, ", "))}
}

func admittedProblem(controlled *appv1alpha1.ControlledKind, seen observation) *problem {
	if controlled.Spec.Mode != appv1alpha1.ModeEnforce {
		return &problem{appv1alpha1.ReasonKindNotEnforced, "the mode is not Enforce: releases of this kind are neither stamped nor denied"}
	}
	return seen.problem
}

// logChange logs that releases of a kind begin or cease to be controlled.
func logChange(ctx context.Context, before, after *appv1alpha1.ControlledKind) {
	was, is := meta.FindStatusCondition(before.Status.Conditions, appv1alpha1.ConditionReady), meta.FindStatusCondition(after.Status.Conditions, appv1alpha1.ConditionReady)
	if was == nil || was.Reason != is.Reason {
		ctrl.LoggerFrom(ctx).Info("Condition Ready of a ControlledKind changed", "controlledKind", after.Name,
			"status", is.Status, "reason", is.Reason, "message", is.Message)
	}
}
