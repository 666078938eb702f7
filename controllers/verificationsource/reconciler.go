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

// Package verificationsource keeps the sources of metrics as their VerificationSources define them, and shows in the status of each whether it
// answers.
package verificationsource

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/statuspatch"
	"github.com/traas-stack/altershield-operator/controllers/source"
)

// Fills the cache with the sources of metrics. Those in other namespaces are marked as ineffective.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=verificationsources,verbs=list;watch
// Writes whether a source of metrics answers.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=verificationsources/status,verbs=patch

const (
	// recheck is the interval at which a source that answers is asked again, and its Secrets are read.
	recheck = time.Minute
	// retry is that of a source that doesn't, a little longer than its circuit breaker is open.
	retry = source.OpenPeriod + time.Second
)

// Reconciler keeps the sources, and writes the status of VerificationSources.
type Reconciler struct {
	Client  client.Client
	Clock   clock.PassiveClock
	Sources *source.Sources
	// Namespace is the namespace of the operator. Sources of others have no effect.
	Namespace string
}

// SetupWithManager adds the reconciler to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("verificationsource").
		For(&appv1alpha1.VerificationSource{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
}

// Reconcile asks a source, and writes in its status whether it answers.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var object appv1alpha1.VerificationSource
	if err := r.Client.Get(ctx, request.NamespacedName, &object); err != nil {
		if client.IgnoreNotFound(err) == nil && request.Namespace == r.Namespace {
			r.Sources.Forget(request.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("reading VerificationSource %s: %w", request, err))
	}
	before := object.DeepCopy()
	if object.Namespace != r.Namespace {
		object.Status = Status(&object, r.Clock.Now(), ineffective(r.Namespace))
		return ctrl.Result{}, statuspatch.Write(ctx, r.Client, before, &object)
	}
	failure, err := r.Sources.Look(ctx, &object)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("looking at VerificationSource %s: %w", request, err)
	}
	wait := recheck
	if failure != nil {
		wait = retry
	}
	object.Status = Status(&object, r.Clock.Now(), readiness(failure), headroom(&object, r.Sources.WasLimited(object.Name)))
	if err := statuspatch.Write(ctx, r.Client, before, &object); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// Status returns the status of a source with conditions.
func Status(object *appv1alpha1.VerificationSource, now time.Time, conditions ...metav1.Condition) appv1alpha1.VerificationSourceStatus {
	status := *object.Status.DeepCopy()
	status.ObservedGeneration = object.Generation
	for _, condition := range conditions {
		condition.ObservedGeneration, condition.LastTransitionTime = object.Generation, metav1.NewTime(now)
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	return status
}

// ineffective returns the condition of a source in another namespace than that of the operator.
func ineffective(operatorNamespace string) metav1.Condition {
	return metav1.Condition{
		Type: appv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: appv1alpha1.ReasonOtherNamespace,
		Message: "sources have an effect in namespace " + operatorNamespace + " only",
	}
}

// readiness returns the condition of a source that answers, or fails.
func readiness(failure *source.Error) metav1.Condition {
	if failure == nil {
		return metav1.Condition{
			Type: appv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: appv1alpha1.ReasonReady, Message: "the source answers",
		}
	}
	return metav1.Condition{
		Type: appv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: string(failure.Kind), Message: failure.Message,
	}
}

// headroom returns the condition of a source some of whose queries weren't sent, or all were. The message doesn't count them, which would
// change the status at each look: the metrics do.
func headroom(object *appv1alpha1.VerificationSource, limited bool) metav1.Condition {
	if !limited {
		return metav1.Condition{
			Type: appv1alpha1.ConditionWithinLimits, Status: metav1.ConditionTrue, Reason: appv1alpha1.ReasonWithinLimits,
			Message: "no query was left out in the last minute",
		}
	}
	return metav1.Condition{
		Type: appv1alpha1.ConditionWithinLimits, Status: metav1.ConditionFalse, Reason: appv1alpha1.ReasonLimitsReached,
		Message: fmt.Sprintf("looks come later than intervalSeconds, as more than limits.queriesPerSecond, %d, or limits.concurrent, %d, were wanted: "+
			"raise them, or intervalSeconds of the policies", object.Spec.Limits.QueriesPerSecond, object.Spec.Limits.Concurrent),
	}
}
