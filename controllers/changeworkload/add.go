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

// Package changeworkload checks releases: it opens batches of finished pods, recounts their verdicts, and suspends a
// workload whose pods fail.
package changeworkload

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changerecord"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/looks"
	"github.com/traas-stack/altershield-operator/controllers/platform/debounce"
	"github.com/traas-stack/altershield-operator/controllers/platform/dynamic"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/monotonic"
	"github.com/traas-stack/altershield-operator/controllers/platform/retry"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/plugin"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	metricsource "github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const (
	concurrency = 20
	// reserved workers never wait for the verifier, so that a slow one doesn't hold up suspensions.
	reserved = 5
	// Failed calls of the verifier are repeated after these pauses.
	firstRetry, lastRetry = 200 * time.Millisecond, 5 * time.Second
)

// Reads the record of a release before an irreversible decision, as the cache may be behind.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads,verbs=get
// Adds and removes the finalizer that keeps the record of a release until its order at AlterShield Server is closed.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads,verbs=patch
// Removes the records of past releases.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads,verbs=delete
// Writes the status of a release.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads/status,verbs=patch
// Makes the ChangeWorkload the owner of its batches, where the admission plugin OwnerReferencesPermissionEnforcement requires this.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads/finalizers,verbs=update
// Opens batches.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changepods,verbs=create
// Finds out whether a batch exists that the cache does not show.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changepods,verbs=get
// Removes a batch of a deleted release of the same name, and those of an operator before v0.2.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changepods,verbs=delete
// Removes the batches of a finished release with one request: the garbage collector makes three for each.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changepods,verbs=deletecollection

// Reconciler writes the status of ChangeWorkloads, creates ChangePods, and suspends workloads.
type Reconciler struct {
	Kinds  workload.Kinds
	Client client.Client
	// Declared runs the declared kinds.
	Declared *dynamic.Runner
	// Live reads from the API server, to settle what the cache leaves open.
	Live client.Reader
	// Direct deletes collections. Client can't, as it waits for each of its writes to show in the cache.
	Direct   client.Writer
	Recorder events.Recorder
	// History keeps the templates of verified releases.
	History *history.Keeper
	// Records writes the ChangeRecords of releases; nil where none are written.
	Records *changerecord.Writer
	Metrics *Metrics
	// Delivery measures how releases are delivered.
	Delivery *delivery.Metrics
	Clock    clock.PassiveClock
	// Since returns since when this process leads and reaches the API server.
	Since func() time.Time
	// Agreed returns the time by which pods are judged that don't run: a clock that is ahead must neither make them stuck nor delay that.
	Agreed func() time.Time
	// Tracer sends spans of what was written; nil where nothing is traced.
	Tracer   *tracing.Tracer
	Settings settings.Reader
	// Rules compiles the rules of VerificationPolicies.
	Rules *rule.Compiler
	// Sources are the sources of metrics.
	Sources *metricsource.Sources
	// Asker asks plug-ins, reads conditions, and runs Jobs.
	Asker *plugin.Asker
	// Looks read metrics, as the Asker asks, in the background.
	Looks *looks.Background
	// Verifier checks the batches, and gets the releases if it is an Announcer; nil where there is none.
	Verifier verifier.Verifier
	// FailClosed makes unchecked batches count as failed.
	FailClosed bool

	// turns limit the concurrent calls of the verifier.
	turns    turns
	prepared sync.Once
	numbers  *numbers
	// lists has the last lists of the pods of releases that the cache doesn't hold.
	lists   *lru.Cache
	newest  *monotonic.Reader
	reviews reviews
	backoff workqueue.TypedRateLimiter[client.ObjectKey]
}

// prepare initializes the private fields, at the first reconcile.
func (r *Reconciler) prepare() {
	r.prepared.Do(func() {
		r.numbers, r.lists, r.newest = newNumbers(), lru.New(maxRemembered), monotonic.NewReader(r.Client, r.Live)
		r.backoff = workqueue.NewTypedItemExponentialFailureRateLimiter[client.ObjectKey](firstRetry, lastRetry)
	})
}

// SetupWithManager adds the reconciler to the manager. Every event is mapped to the key of the ChangeWorkload, so that no release is
// reconciled twice at the same time.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	controlled := ctrl.NewControllerManagedBy(mgr).
		Named("changeworkload").
		For(&appv1alpha1.ChangeWorkload{}).
		Watches(&appv1alpha1.ChangePod{}, debounce.Handler(handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(),
			&appv1alpha1.ChangeWorkload{}, handler.OnlyControllerOwner()), hasFailed), builder.WithPredicates(verdictChanged()))
	builtIn := r.Kinds.Snapshot()
	for _, kind := range builtIn {
		controlled.Watches(kind.New(), handler.EnqueueRequestsFromMapFunc(r.ofWorkload), builder.WithPredicates(predicate.Or(releaseChanged(kind), ended(builtIn))))
	}
	for _, layer := range builtIn.Layers() {
		controlled.Watches(layer, handler.EnqueueRequestsFromMapFunc(r.ofRevision), builder.WithPredicates(predicate.Or(scope.Created(), ended(builtIn))))
	}
	return controlled.
		WatchesRawSource(r.Declared.Watch(func(kind workload.Kind) dynamic.Handling {
			events := handler.EnqueueRequestsFromMapFunc(r.ofWorkload)
			if _, observed := kind.(workload.Observed); observed { // its pods have no events of their own
				return dynamic.Handling{Handler: debounce.Handler(events, debounce.Never)}
			}
			return dynamic.Handling{Handler: events, Predicates: []predicate.Predicate{releaseChanged(kind)}}
		})).
		Watches(&corev1.Pod{}, debounce.Handler(handler.EnqueueRequestsFromMapFunc(r.ofRevision), debounce.Never),
			builder.WithPredicates(r.finishChanged())).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.inNamespace), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Watches(&appv1alpha1.ControlledKind{}, handler.EnqueueRequestsFromMapFunc(r.unsettledOnes), builder.WithPredicates(scope.ModeChanged())).
		Watches(&appv1alpha1.ChangeFreeze{}, handler.EnqueueRequestsFromMapFunc(r.ofFreeze), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appv1alpha1.ReleasePolicy{}, handler.EnqueueRequestsFromMapFunc(r.ofPolicy), builder.WithPredicates(policyChanged())).
		Watches(&appv1alpha1.VerificationPolicy{}, handler.EnqueueRequestsFromMapFunc(r.ofVerificationPolicy), builder.WithPredicates(verificationPolicyChanged())).
		Watches(&appv1alpha1.ChangeApproval{}, handler.EnqueueRequestsFromMapFunc(r.ofApproval)).
		Watches(&appv1alpha1.ChangeVerdict{}, handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &appv1alpha1.ChangeWorkload{}),
			builder.WithPredicates(reported())).
		Watches(&appv1alpha1.ChangeWorkload{}, handler.EnqueueRequestsFromMapFunc(r.frozenBeside), builder.WithPredicates(thawEnded())).
		Watches(&appv1alpha1.OpsConfigInfo{}, handler.EnqueueRequestsFromMapFunc(r.suspendedOnes),
			builder.WithPredicates(r.Settings.Changed(appv1alpha1.ConfigBlocking))).
		Watches(&appv1alpha1.OpsConfigInfo{}, handler.EnqueueRequestsFromMapFunc(r.unsettledOnes),
			builder.WithPredicates(r.Settings.Changed(appv1alpha1.ConfigFinishedLabel))).
		WatchesRawSource(source.Func(r.turns.start)).
		WatchesRawSource(source.Func(r.Looks.Start)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, RateLimiter: retry.Limiter[ctrl.Request]()}).
		Complete(r)
}

// verdictChanged passes verdicts and the ends of checks, and the progress of the check of an order. It skips new ChangePods: this
// reconciler creates them.
func verdictChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, isOld := e.ObjectOld.(*appv1alpha1.ChangePod)
			after, isNew := e.ObjectNew.(*appv1alpha1.ChangePod)
			return isOld && isNew && (isDone(before) != isDone(after) ||
				after.Spec.Order && before.Status.Status != after.Status.Status ||
				!equality.Semantic.DeepEqual(before.Status.PodResults, after.Status.PodResults) ||
				!equality.Semantic.DeepEqual(before.Status.ServerResults, after.Status.ServerResults))
		},
	}
}

// hasFailed reports whether a ChangePod has a bad verdict, which must not be delayed.
func hasFailed(object client.Object) bool {
	changePod, ok := object.(*appv1alpha1.ChangePod)
	return !ok || len(decide.Judge(changePod).Failed) > 0 || decide.FailedAtServer(changePod)
}

func isDone(changePod *appv1alpha1.ChangePod) bool {
	return changePod.Status.Status == appv1alpha1.ChangePodExecuteDone
}

// ended passes runs that complete or fail, and those that are removed.
func ended(kinds workload.Registry) predicate.Predicate {
	state := func(object client.Object) (complete, failed bool) {
		run := kinds.Run(object)
		return run != nil && run.Complete, run != nil && run.Failure != nil
	}
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			wasComplete, hadFailed := state(e.ObjectOld)
			complete, failed := state(e.ObjectNew)
			return complete != wasComplete || failed != hadFailed
		},
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(e event.DeleteEvent) bool { return kinds.Run(e.Object) != nil },
	}
}

// releaseChanged passes changes of a workload's release, of the number of its pods, which for a DaemonSet is in the status, the start and the end
// of its rollout, which a freeze may hold, and changes of the run that blocks a CronJob, of the health that it shows, of whether its controller has
// seen its spec, and of which pods it has.
func releaseChanged(kind workload.Kind) predicate.Predicate {
	selecting, selects := kind.(workload.Selecting)
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{},
		predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { return false },
			UpdateFunc: func(e event.UpdateEvent) bool {
				before, _ := workload.HealthOf(kind, e.ObjectOld)
				after, _ := workload.HealthOf(kind, e.ObjectNew)
				was, is := kind.Rollout(e.ObjectOld), kind.Rollout(e.ObjectNew)
				old, _ := workload.OrdinalsOf(kind, e.ObjectOld)
				updated, _ := workload.OrdinalsOf(kind, e.ObjectNew)
				return before != after || workload.IsBehind(e.ObjectOld) != workload.IsBehind(e.ObjectNew) ||
					old.Observed != updated.Observed || was.Desired != is.Desired || was.Rolling != is.Rolling || was.Blocker != is.Blocker ||
					selects && selecting.PodsChanged(e.ObjectOld, e.ObjectNew)
			},
			DeleteFunc:  func(event.DeleteEvent) bool { return false },
			GenericFunc: func(event.GenericEvent) bool { return false },
		})
}

// finishChanged passes pods that finish, and finished pods that are removed or evicted. Where pods are not labelled, it passes those that
// become ready or unready. Of pods with gates, it also passes those that wait at one, or stop to run, and of all those that get into trouble. An event before that of the setting
// is not lost: the setting brings all releases in progress.
func (r *Reconciler) finishChanged() predicate.Predicate {
	rule := func() decide.FinishRule {
		labelled, err := r.Settings.LabelsFinished(context.Background())
		return decide.FinishRule{Labelled: labelled && err == nil}
	}
	mayFinish := func(object client.Object, rule decide.FinishRule) bool {
		pod, ok := object.(*corev1.Pod)
		return ok && rule.MayFinish(pod)
	}
	succeeded := func(object client.Object) bool {
		pod, ok := object.(*corev1.Pod)
		return ok && decide.HasSucceeded(pod)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			return mayFinish(e.Object, rule()) || gateOf(e.Object) != decide.GateOpen
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			now := rule() // one for both: this runs for each event of each pod
			return mayFinish(e.ObjectOld, now) != mayFinish(e.ObjectNew, now) || succeeded(e.ObjectOld) != succeeded(e.ObjectNew) ||
				gateChanged(e.ObjectOld, e.ObjectNew) || troubleChanged(e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return mayFinish(e.Object, rule()) || hasGate(e.Object) },
	}
}
