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

// Package verificationpolicy shows in the status of each VerificationPolicy how many workloads it concerns and how many of their releases
// failed it, and creates the policy that the operator comes with.
package verificationpolicy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
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
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
	"github.com/traas-stack/altershield-operator/controllers/platform/debounce"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/statuspatch"
	"github.com/traas-stack/altershield-operator/controllers/verification"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Writes how many workloads a VerificationPolicy concerns, and how many of their releases failed it.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=verificationpolicies/status,verbs=patch

const (
	// settle is the delay of events of releases: a look at the policies reads all workloads.
	settle = 2 * time.Second
	// recheck is the interval at which the labels of workloads and namespaces are compared.
	recheck = 5 * time.Minute
)

// Reconciler writes the status of VerificationPolicies. One request is for all of them.
type Reconciler struct {
	// Kinds are the kinds of workloads.
	Kinds workload.Kinds
	// Client reads from the cache.
	Client client.Client
	// Live reads from the API server.
	Live  client.Reader
	Clock clock.PassiveClock
	// Namespace is the namespace of the operator, whose VerificationPolicies may select other namespaces.
	Namespace string
	// Rules compiles the rules of the policies.
	Rules *rule.Compiler
}

// SetupWithManager adds the reconciler to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("verificationpolicy").
		Watches(&appv1alpha1.VerificationPolicy{}, debounce.Single(0), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appv1alpha1.VerificationSource{}, debounce.Single(0), builder.WithPredicates(scope.Changed(typeOf))).
		Watches(&appv1alpha1.ChangeWorkload{}, debounce.Single(settle), builder.WithPredicates(failuresChanged())).
		Watches(&admissionv1.MutatingWebhookConfiguration{}, debounce.Single(0), builder.WithPredicates(awaitsBuiltIn())).
		Complete(r)
}

// awaitsBuiltIn passes the webhook configuration of the kinds until the policy builtin was created. The operator may start before it is there,
// and must not wait for a release then: with one, the installation would look like an upgraded one.
func awaitsBuiltIn() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool {
		_, introduced := object.GetAnnotations()[appv1alpha1.AnnotationBuiltInPolicy]
		return object.GetName() == kindsMutating && !introduced
	})
}

// failuresChanged passes releases that come and go, and those that fail a check.
func failuresChanged() predicate.Predicate {
	return scope.Changed(func(record *appv1alpha1.ChangeWorkload) int { return len(failed(record)) })
}

// failed returns the policies of which a release failed a check, each once, as <namespace>/<name>.
func failed(record *appv1alpha1.ChangeWorkload) map[string]bool {
	var policies map[string]bool
	for i := range record.Status.Checks {
		if record.Status.Checks[i].Verdict == appv1alpha1.CheckFail {
			if policies == nil {
				policies = map[string]bool{}
			}
			policies[record.Status.Checks[i].Policy] = true
		}
	}
	return policies
}

// Reconcile creates the policy builtin, and writes the status of every VerificationPolicy that changed, also where that one is denied.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	introduced := r.introduce(ctx)
	wait, err := r.report(ctx)
	if err = errors.Join(introduced, err); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// report writes the status of the policies, and returns when to look again, 0 if there are none.
func (r *Reconciler) report(ctx context.Context) (again time.Duration, err error) {
	var policies appv1alpha1.VerificationPolicyList
	if err := r.Client.List(ctx, &policies); err != nil {
		return 0, fmt.Errorf("listing the VerificationPolicies: %w", err)
	}
	if len(policies.Items) == 0 {
		return 0, nil
	}
	workloads, err := r.workloads(ctx)
	if err != nil {
		return 0, err
	}
	failures, err := r.failures(ctx)
	if err != nil {
		return 0, err
	}
	sources, err := r.sources(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	for i := range policies.Items {
		policy := &policies.Items[i]
		by := policy.Namespace + "/" + policy.Name
		before := policy.DeepCopy()
		facts := facts{problems: problems(policy, r.Rules), workloads: workloads[by], failed: failures[by]}
		facts.missing, facts.mistyped = wrongSources(policy, sources)
		policy.Status = status(policy, r.Namespace, facts, r.Clock.Now())
		errs = append(errs, statuspatch.Write(ctx, r.Client, before, policy))
	}
	return recheck, errors.Join(errs...)
}

// facts are what is known of a policy beside its spec.
type facts struct {
	// problems are those of its expressions, missing are the sources of its checks that don't exist, mistyped those that it can't ask.
	problems, missing, mistyped []string
	// workloads is how many workloads it concerns, failed of how many of their releases it failed.
	workloads, failed int32
}

// status returns the status of a policy.
func status(policy *appv1alpha1.VerificationPolicy, operatorNamespace string, known facts, now time.Time) appv1alpha1.VerificationPolicyStatus {
	status := *policy.Status.DeepCopy()
	status.ObservedGeneration, status.Workloads, status.Failed = policy.Generation, known.workloads, known.failed
	ready := metav1.Condition{
		Type: appv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: appv1alpha1.ReasonPolicyValid,
		Message:            "the checks of the policy are made",
		ObservedGeneration: policy.Generation, LastTransitionTime: metav1.NewTime(now),
	}
	unusable := verification.Problems(policy, operatorNamespace)
	for _, found := range []struct {
		reason, meaning string
		problems        []string
	}{
		{appv1alpha1.ReasonPolicyInvalid, "the policy concerns no workload: ", unusable},
		{appv1alpha1.ReasonPolicyInvalid, "expressions have mistakes: ", known.problems},
		{appv1alpha1.ReasonSourceMissing, "a check is Inconclusive without its VerificationSource in namespace " + operatorNamespace + ": ", known.missing},
		{appv1alpha1.ReasonPolicyInvalid, "a check is Inconclusive with a VerificationSource of another type: ", known.mistyped},
	} {
		if len(found.problems) > 0 {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, found.reason, found.meaning+strings.Join(found.problems, "; ")
			break
		}
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	return status
}

// sources returns the types of the VerificationSources by their names.
func (r *Reconciler) sources(ctx context.Context) (map[string]appv1alpha1.SourceType, error) {
	var list appv1alpha1.VerificationSourceList
	if err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the VerificationSources: %w", err)
	}
	types := map[string]appv1alpha1.SourceType{}
	for i := range list.Items {
		types[list.Items[i].Name] = typeOf(&list.Items[i])
	}
	return types, nil
}

func typeOf(source *appv1alpha1.VerificationSource) appv1alpha1.SourceType { return source.Spec.Type }

// wrongSources returns the places of a policy that name a source which doesn't exist, and those that name one of another type: only plug-ins are of
// the type HTTP.
func wrongSources(policy *appv1alpha1.VerificationPolicy, sources map[string]appv1alpha1.SourceType) (missing, mistyped []string) {
	for i := range policy.Spec.Checks {
		check := &policy.Spec.Checks[i]
		name := decide.SourceOf(check)
		if name == "" {
			continue
		}
		place := fmt.Sprintf("spec.checks[%d].%s.sourceRef.name: %s", i, field(check.Type), name)
		if found, there := sources[name]; !there {
			missing = append(missing, place+" isn't there")
		} else if (found == appv1alpha1.SourceHTTP) != (check.HTTP != nil) {
			mistyped = append(mistyped, fmt.Sprintf("%s is of the type %s", place, found))
		}
	}
	return missing, mistyped
}

// workloads returns how many workloads under change control each policy concerns, by <namespace>/<name> of the policy.
func (r *Reconciler) workloads(ctx context.Context) (map[string]int32, error) {
	reader, counts := verification.Reader{Client: r.Client, Namespace: r.Namespace}, map[string]int32{}
	err := concern.Workloads(ctx, r.Client, r.Kinds.Snapshot(), func(kind workload.Kind, object client.Object) error {
		policies, err := reader.Of(ctx, kind, object)
		for i := range policies {
			counts[policies[i].Namespace+"/"+policies[i].Name]++
		}
		return err
	})
	return counts, err
}

// failures returns how many recorded releases failed a check of each policy, by <namespace>/<name> of the policy.
func (r *Reconciler) failures(ctx context.Context) (map[string]int32, error) {
	var list appv1alpha1.ChangeWorkloadList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing the ChangeWorkloads: %w", err)
	}
	counts := map[string]int32{}
	for i := range list.Items {
		for policy := range failed(&list.Items[i]) {
			counts[policy]++
		}
	}
	return counts, nil
}
