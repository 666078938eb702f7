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

// Package changesubscription tells receivers what happens to releases.
//
// What waits for a receiver is the difference between the events that the ChangeWorkloads show and those that the status of the subscription
// lists as delivered. So the reconcilers of releases don't know of it, and a restart loses nothing.
package changesubscription

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/statuspatch"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Fills the cache with the subscriptions. Those in other namespaces are marked as ineffective.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changesubscriptions,verbs=list;watch
// Writes which events were told, and whether the receiver takes them.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changesubscriptions/status,verbs=patch
// Reads the addresses and keys of the receivers of ChangeSubscriptions. Secrets of other namespaces can't be read.
// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=get
// Reads the images of a verified release from its record, for a CDEvent.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changerecords,verbs=get

const (
	// pace is the least time between two reconciles of a subscription, and so between two writes of its status.
	pace = time.Second
	// writeWithin is how long the status may take to be written once the process ends, less than it takes until another replica holds a lost lease.
	writeWithin = 3 * time.Second
	// idle is the interval at which a subscription without news is reconciled.
	idle = notice.Lag
	// recheck is that of a subscription that can't be used: its Secret may have been corrected.
	recheck = time.Minute
	// parallel is the number of subscriptions that are served at a time: a slow receiver must not keep the others waiting.
	parallel = 8
)

// Reconciler delivers the messages of ChangeSubscriptions.
type Reconciler struct {
	// Kinds are the kinds of workloads under change control.
	Kinds workload.Kinds
	// Client reads from the cache.
	Client client.Client
	// Live reads Secrets and ChangeRecords from the API server, and whether a workload is there.
	Live client.Reader
	// Workloads reads workloads that no cache has, at a limited rate.
	Workloads client.Reader
	Recorder  events.Recorder
	Metrics   *Metrics
	Clock     clock.PassiveClock
	// Guard decides to which addresses the operator connects.
	Guard source.Guard
	// Namespace is the namespace of the operator. Subscriptions of others have no effect.
	Namespace string
	// Jitter returns a number of at least 0 and less than 1, by which retries are spread.
	Jitter func() float64

	lines lines
	read  read
}

// SetupWithManager adds the reconciler to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("changesubscription").
		For(&appv1alpha1.ChangeSubscription{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appv1alpha1.ChangeWorkload{}, r.ofReleases()).
		Watches(&appv1alpha1.ChangeFreeze{}, r.ofReleases()).
		Watches(&appv1alpha1.ChangeApproval{}, r.ofReleases()).
		WithOptions(controller.Options{MaxConcurrentReconciles: parallel}).
		Complete(r)
}

// ofReleases requests all subscriptions when a release changes, as it does after the check of each batch, a ChangeApproval, or a ChangeFreeze, whose status
// is written when it begins and ends. A request that waits already keeps its earlier time, so that there is at most one each second.
func (r *Reconciler) ofReleases() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]
	request := func(ctx context.Context, q queue) {
		var list appv1alpha1.ChangeSubscriptionList
		if err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing the ChangeSubscriptions")
		}
		for i := range list.Items {
			q.AddAfter(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])}, pace)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, q queue) { request(ctx, q) },
		UpdateFunc: func(ctx context.Context, _ event.UpdateEvent, q queue) { request(ctx, q) },
		// With the record of a release that failed, its failure may be over.
		DeleteFunc: func(ctx context.Context, _ event.DeleteEvent, q queue) { request(ctx, q) },
	}
}

// Reconcile sends the messages of a subscription that are due, and writes its status once.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var object appv1alpha1.ChangeSubscription
	if err := r.Client.Get(ctx, request.NamespacedName, &object); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.lines.drop(request.NamespacedName)
			if request.Namespace == r.Namespace { // others have none, but may have the same name
				r.Metrics.end(request)
			}
		}
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("reading ChangeSubscription %s: %w", request, err))
	}
	before := object.DeepCopy()
	wait, dropped, failed := r.advance(ctx, &object)
	if failed == nil {
		object.Status.ObservedGeneration = object.Generation
	}
	// What was sent before a failure is written all the same, or the next leader would send it again.
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(writeWithin, cancel) })()
	if err := statuspatch.Write(lasting, r.Client, before, &object); err != nil {
		return ctrl.Result{}, err
	}
	if dropped != nil {
		r.Recorder.Record(events.NotificationsDropped(&object, dropped.count, dropped.why))
	}
	if failed != nil {
		return ctrl.Result{}, failed
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// loss are events that could not be delivered.
type loss struct {
	count int
	why   string
}

// advance does what is due for a subscription, and sets its status. It returns after what time to look again.
func (r *Reconciler) advance(ctx context.Context, object *appv1alpha1.ChangeSubscription) (time.Duration, *loss, error) {
	now := r.Clock.Now()
	if object.Namespace != r.Namespace {
		r.setReady(object, appv1alpha1.ReasonOtherNamespace, "subscriptions have an effect in namespace "+r.Namespace+" only")
		return 0, nil, nil
	}
	if object.Status.ToldUntil == nil {
		object.Status.ToldUntil = &metav1.Time{Time: object.CreationTimestamp.Time}
	}
	notice.SetBack(&object.Status, object.CreationTimestamp.Time, now)
	notice.Resume(&object.Status, now)
	choice, invalid := newChoice(&object.Spec)
	stops := object.Spec.Suspend || invalid != ""
	if stops != isStopped(object) {
		r.forget(object, now)
	}
	switch {
	case invalid != "":
		r.setReady(object, appv1alpha1.ReasonSubscriptionInvalid, invalid)
	case stops:
		r.setReady(object, appv1alpha1.ReasonSubscriptionSuspended, "spec.suspend is set")
	default:
		return r.deliver(ctx, object, choice)
	}
	return 0, nil, nil
}

// isStopped reports whether a subscription told nothing when it was looked at last: it was suspended, or selected nothing that could be told.
func isStopped(object *appv1alpha1.ChangeSubscription) bool {
	switch reasonOf(object) {
	case appv1alpha1.ReasonSubscriptionSuspended:
		return true
	case appv1alpha1.ReasonSubscriptionInvalid:
		return object.Status.FailingSince == nil // otherwise its authorities are unusable, and what it selects waits
	}
	return false
}

// forget makes a subscription tell nothing of what happened before.
func (r *Reconciler) forget(object *appv1alpha1.ChangeSubscription, now time.Time) {
	object.Status.ToldUntil, object.Status.Delivered, object.Status.Pending = &metav1.Time{Time: now.Truncate(time.Second)}, nil, 0
	object.Status.ToldFailures, object.Status.ToldFreezes, object.Status.OpenReleases = nil, nil, nil
	notice.Recover(&object.Status)
	r.lines.drop(client.ObjectKeyFromObject(object))
	r.Metrics.waiting(object, 0)
}

// working is the message of a subscription that isn't known to fail.
const working = "no message fails"

// setReady sets the condition of a subscription.
func (r *Reconciler) setReady(object *appv1alpha1.ChangeSubscription, reason, message string) {
	status := metav1.ConditionFalse
	if reason == appv1alpha1.ReasonReady {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&object.Status.Conditions, metav1.Condition{
		Type: appv1alpha1.ConditionReady, Status: status, Reason: reason, Message: message, ObservedGeneration: object.Generation,
		LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	})
}

// reasonOf returns the reason of the condition of a subscription, empty where it has none.
func reasonOf(object *appv1alpha1.ChangeSubscription) string {
	if ready := meta.FindStatusCondition(object.Status.Conditions, appv1alpha1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}

// isReady reports whether a subscription could send messages when it was looked at last, as it is now.
func isReady(object *appv1alpha1.ChangeSubscription) bool {
	return object.Status.ObservedGeneration == object.Generation && reasonOf(object) == appv1alpha1.ReasonReady
}

// hasFailed reports whether the receiver of a subscription, as it is now, didn't take the last message.
func hasFailed(object *appv1alpha1.ChangeSubscription) bool {
	switch reasonOf(object) {
	case appv1alpha1.ReasonReceiverUnavailable, appv1alpha1.ReasonReceiverThrottled, appv1alpha1.ReasonReceiverRefused, appv1alpha1.ReasonAddressRefused:
		return object.Status.ObservedGeneration == object.Generation
	}
	return false
}
