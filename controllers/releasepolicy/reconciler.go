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
// Package releasepolicy shows in the status of each ReleasePolicy which workloads it concerns, and whether pods get gates.
package releasepolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/concern"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/platform/debounce"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/statuspatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Writes which workloads a ReleasePolicy concerns, and whether pods get gates.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=releasepolicies/status,verbs=patch

const (
	// settle is the delay of events of releases: a look at the policies reads all workloads.
	settle = 2 * time.Second
	// recheck is the interval at which the gates are looked for, and the labels of workloads and namespaces are compared.
	recheck = 5 * time.Minute
	// recheckGates is that at which gates are looked for that were there a moment ago.
	recheckGates = 10 * time.Second
)

// Reconciler writes the status of ReleasePolicies. One request is for all of them: which policy concerns a workload depends on the others.
type Reconciler struct {
	// Kinds are the kinds of workloads.
	Kinds workload.Kinds
	// Client reads from the cache.
	Client client.Client
	// Live reads what adds the gates from the API server.
	Live  client.Reader
	Clock clock.PassiveClock
	// Namespace is the namespace of the operator, whose ReleasePolicies may select other namespaces.
	Namespace string
}

// SetupWithManager adds the reconciler to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("releasepolicy").
		Watches(&appv1alpha1.ReleasePolicy{}, debounce.Single(0), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appv1alpha1.ChangeWorkload{}, debounce.Single(settle), builder.WithPredicates(paceChanged())).
		Complete(r)
}

// paceChanged passes releases that come and go, and those that begin or end to be paced.
func paceChanged() predicate.Predicate { return scope.Changed(pacedBy) }

// pacedBy returns the ReleasePolicy that paces a release, empty if none does.
func pacedBy(record *appv1alpha1.ChangeWorkload) string {
	if record.Status.Pace == nil || !decide.IsPaced(record) {
		return ""
	}
	return record.Status.Pace.Policy
}

// Reconcile writes the status of every ReleasePolicy that changed.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var policies appv1alpha1.ReleasePolicyList
	if err := r.Client.List(ctx, &policies); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the ReleasePolicies: %w", err)
	}
	if len(policies.Items) == 0 {
		return ctrl.Result{}, nil
	}
	matched, err := r.matched(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	paced, err := r.paced(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	gates, err := r.gates(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	var problems []error
	for i := range policies.Items {
		policy := &policies.Items[i]
		by := policy.Namespace + "/" + policy.Name
		problems = append(problems, r.write(ctx, policy, pace.InEffect{Workloads: matched[by], Paced: paced[by], Gates: gates}))
	}
	wait := recheck
	if slices.ContainsFunc(policies.Items, missesGates) {
		wait = recheckGates
	}
	return ctrl.Result{RequeueAfter: wait}, errors.Join(problems...)
}

// missesGates reports whether gates were there a moment ago: its paced releases are about to go on without.
func missesGates(policy appv1alpha1.ReleasePolicy) bool {
	return meta.IsStatusConditionPresentAndEqual(policy.Status.Conditions, appv1alpha1.ConditionGated, metav1.ConditionUnknown)
}

// write writes the status of a policy if it changed.
func (r *Reconciler) write(ctx context.Context, policy *appv1alpha1.ReleasePolicy, is pace.InEffect) error {
	before := policy.DeepCopy()
	policy.Status = pace.Status(policy, r.Namespace, is, r.Clock.Now())
	return statuspatch.Write(ctx, r.Client, before, policy)
}

// matched returns the workloads under change control that each policy concerns, by <namespace>/<name> of the policy.
func (r *Reconciler) matched(ctx context.Context) (map[string][]appv1alpha1.MatchedWorkload, error) {
	reader, found := pace.Reader{Namespaces: r.Client, Policies: r.Client, Namespace: r.Namespace}, map[string][]appv1alpha1.MatchedWorkload{}
	err := concern.Workloads(ctx, r.Client, r.Kinds.Snapshot(), func(kind workload.Kind, object client.Object) error {
		policy, err := reader.Of(ctx, kind, object)
		if err != nil || policy == nil {
			return err
		}
		by := policy.Namespace + "/" + policy.Name
		found[by] = append(found[by], appv1alpha1.MatchedWorkload{
			Kind: kind.GroupVersionKind().GroupKind().String(), Namespace: object.GetNamespace(), Name: object.GetName(),
		})
		return nil
	})
	return found, err
}

// paced returns how many releases each policy paces, by <namespace>/<name> of the policy.
func (r *Reconciler) paced(ctx context.Context) (map[string]int32, error) {
	var list appv1alpha1.ChangeWorkloadList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing the ChangeWorkloads: %w", err)
	}
	counts := map[string]int32{}
	for i := range list.Items {
		counts[pacedBy(&list.Items[i])]++
	}
	return counts, nil
}
