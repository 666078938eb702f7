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
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// notSupported is the message about a built-in kind that this version of the operator lacks.
const notSupported = "this version of the operator doesn't control this kind: its releases are neither recorded nor checked"

// observation is what was seen of a kind.
type observation struct {
	// kind is nil if this version of the operator doesn't control it, or its declaration isn't compiled.
	kind workload.Kind
	// fault is why the rest couldn't be observed; nil if it was.
	fault error
	// served reports whether the API server serves the kind.
	served bool
	// missing are the permissions that the operator lacks.
	missing []string
	// reviewIn is when to review the permissions again; 0 for never.
	reviewIn time.Duration
	// problem is why the webhooks aren't called; nil if they are.
	problem *problem
	counts  appv1alpha1.ControlledKindCounts

	// declared reports whether the kind is a declared one. The rest is about those.
	declared    bool
	declaration declaration
	// unstampable are the pod templates whose version label the API server drops.
	unstampable []string
	// synced reports whether the cache holds the workloads.
	synced bool
	// releasing is why a kind that leaves change control isn't released yet; nil if it is, or isn't to be.
	releasing *problem
}

// mayRun reports whether a declared kind can be enforced.
func (o observation) mayRun() bool {
	return o.kind != nil && len(o.missing)+len(o.unstampable) == 0
}

// isObservable reports whether a kind in the mode Observe can be observed: a declared one has been released if it was enforced before.
func (o observation) isObservable(controlled *appv1alpha1.ControlledKind) bool {
	return workload.IsObserved(controlled) && o.kind != nil && o.served && len(o.missing) == 0 &&
		!controllerutil.ContainsFinalizer(controlled, appv1alpha1.FinalizerKind)
}

// condition is one of a ControlledKind. It is True if the problem is nil.
type condition struct {
	name    string
	problem *problem
	// reason and message are those of a True condition.
	reason, message string
}

// assess sets the status of a ControlledKind: each condition that is known, and Ready for the first that isn't True.
func assess(controlled *appv1alpha1.ControlledKind, seen observation, now time.Time) {
	status := &controlled.Status
	status.ObservedGeneration, status.Counts = controlled.Generation, seen.counts
	known := conditionsOf(controlled, seen)
	ready := condition{appv1alpha1.ConditionReady, unready(controlled, seen, known), appv1alpha1.ReasonReady,
		"releases of this kind are recorded, checked and, while a workload is suspended, denied"}
	if workload.IsObserved(controlled) {
		ready.reason, ready.message = appv1alpha1.ReasonObserving, "releases of this kind are recorded and checked; nothing is written to its workloads"
	}
	known = append(known, ready)
	status.Conditions = slices.DeleteFunc(status.Conditions, func(old metav1.Condition) bool {
		return !slices.ContainsFunc(known, func(condition condition) bool { return condition.name == old.Type })
	})
	for _, condition := range known {
		shown := metav1.Condition{
			Type: condition.name, Status: metav1.ConditionTrue, Reason: condition.reason, Message: condition.message,
			ObservedGeneration: controlled.Generation, LastTransitionTime: metav1.NewTime(now),
		}
		if problem := condition.problem; problem != nil {
			shown.Status, shown.Reason, shown.Message = metav1.ConditionFalse, problem.reason, problem.message
		}
		meta.SetStatusCondition(&status.Conditions, shown)
	}
}

// conditionsOf returns the conditions that are known, in the order in which they come true.
func conditionsOf(controlled *appv1alpha1.ControlledKind, seen observation) []condition {
	switch {
	case seen.declared && !seen.served:
		return []condition{{name: appv1alpha1.ConditionServed, problem: seen.declaration.problem}}
	case seen.declared && seen.kind == nil:
		return []condition{{appv1alpha1.ConditionServed, nil, appv1alpha1.ReasonServed, seen.declaration.served}}
	case seen.kind == nil:
		return nil
	}
	known := []condition{
		{appv1alpha1.ConditionServed, servedProblem(seen), appv1alpha1.ReasonServed, "the API server serves " + seen.kind.GroupVersionKind().GroupVersion().String()},
		{appv1alpha1.ConditionPermitted, permittedProblem(seen), appv1alpha1.ReasonPermitted, "the operator has all permissions for this kind"},
	}
	if seen.declared {
		stamped := "the API server keeps the version label of pod templates"
		if labelled, ok := seen.kind.(workload.Labelled); ok && labelled.LabelsPods() {
			stamped = "pod templates need no version label: release.identity tells pods apart by a label of their controller"
		}
		known = append(known, condition{appv1alpha1.ConditionStampable, stampableProblem(seen), appv1alpha1.ReasonLabelsKept, stamped})
	}
	if seen.declared && workload.IsEnforced(controlled) || workload.IsObserved(controlled) {
		known = append(known, condition{appv1alpha1.ConditionSynced, syncedProblem(seen), appv1alpha1.ReasonSynced, "the cache holds the workloads of this kind"})
	}
	return append(known, condition{appv1alpha1.ConditionAdmitted, admittedProblem(controlled, seen), appv1alpha1.ReasonWebhooksConfigured,
		"the webhooks are called for releases of this kind"})
}

// unready returns why the kind is not under control, nil if it is.
func unready(controlled *appv1alpha1.ControlledKind, seen observation, known []condition) *problem {
	switch {
	case seen.releasing != nil:
		return seen.releasing
	case seen.kind == nil && !seen.declared:
		return &problem{appv1alpha1.ReasonKindNotSupported, notSupported}
	case seen.kind == nil:
		return seen.declaration.problem
	}
	for _, condition := range known {
		writes := condition.name == appv1alpha1.ConditionStampable || condition.name == appv1alpha1.ConditionAdmitted
		if condition.problem != nil && (!writes || !workload.IsObserved(controlled)) {
			return condition.problem
		}
	}
	return nil
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
	advice := "apply config/default again"
	if seen.declared {
		advice = "apply this ClusterRole:\n" + manifest(seen.declaration.role)
	}
	return &problem{appv1alpha1.ReasonPermissionMissing, fmt.Sprintf("the operator lacks permissions: %s; %s", strings.Join(seen.missing, ", "), advice)}
}

// manifest returns a ClusterRole in YAML.
func manifest(role *rbacv1.ClusterRole) string {
	text, err := yaml.Marshal(role)
	if err != nil {
		return role.Name // can't happen: the type marshals
	}
	return string(text)
}

func stampableProblem(seen observation) *problem {
	if len(seen.unstampable) == 0 {
		return nil
	}
	return &problem{appv1alpha1.ReasonLabelsPruned, fmt.Sprintf(
		"the CRD drops the version label of the pod template %s: tell pods of different releases apart by a label of their controller, in release.identity",
		strings.Join(seen.unstampable, ", "))}
}

func syncedProblem(seen observation) *problem {
	if seen.synced {
		return nil
	}
	return &problem{appv1alpha1.ReasonSyncing, "the cache doesn't hold the workloads of this kind yet"}
}

func admittedProblem(controlled *appv1alpha1.ControlledKind, seen observation) *problem {
	switch {
	case !workload.IsEnforced(controlled):
		return &problem{appv1alpha1.ReasonKindNotEnforced, "the mode is not Enforce: releases of this kind are neither stamped nor denied"}
	case seen.declared && !seen.mayRun():
		return firstOf(permittedProblem(seen), stampableProblem(seen))
	case seen.declared && !seen.synced:
		return syncedProblem(seen)
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
