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

// Package pod labels pods that completed their release, and opens the gates that nobody else would open.
package pod

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/dynamic"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const concurrency = 10

// Labels pods that completed their release.
// +kubebuilder:rbac:groups="",resources=pods,verbs=patch

// Reads a pod whose gate nobody else would open, before it is opened.
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

// Reads the record of a pod whose gate nobody else seems to open: the cache may be behind.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads,verbs=get

// Reconciler sets the Finished label on pods that completed their release, while the setting "finished-label" is on. It opens the gates that nobody
// else would open.
type Reconciler struct {
	Kinds  workload.Kinds
	Client client.Client
	// Live reads from the API server, before a gate is opened.
	Live client.Reader
	// Declared runs the declared kinds.
	Declared *dynamic.Runner
	Clock    clock.PassiveClock
	// Agreed returns the time by which pods are judged that don't run: a clock that is ahead must not delay that.
	Agreed func() time.Time
	// Settings are those of the operator.
	Settings settings.Reader

	// opening has the UIDs of the workloads whose gates are being opened.
	opening sync.Map
}

// SetupWithManager adds the reconciler to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	controlled := ctrl.NewControllerManagedBy(mgr).
		Named("pod").
		For(&corev1.Pod{}, builder.WithPredicates(unfinished()))
	builtIn := r.Kinds.Snapshot()
	// A pod may be seen before the objects by which it belongs to a controlled release.
	for _, kind := range builtIn {
		controlled.Watches(kind.New(), handler.EnqueueRequestsFromMapFunc(r.ofWorkload(kind)), builder.WithPredicates(mayFinish(kind)))
	}
	for _, layer := range builtIn.Layers() {
		controlled.Watches(layer, handler.EnqueueRequestsFromMapFunc(r.ofLayer), builder.WithPredicates(adopted()))
	}
	return controlled.
		WatchesRawSource(r.Declared.Watch(func(kind workload.Kind) dynamic.Handling {
			return dynamic.Handling{
				Handler: handler.EnqueueRequestsFromMapFunc(r.ofWorkload(kind)), Predicates: []predicate.Predicate{mayFinish(kind)},
			}
		})).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.inNamespace), builder.WithPredicates(scope.Created(), scope.NotAtStart())).
		Watches(&appv1alpha1.ControlledKind{}, handler.EnqueueRequestsFromMapFunc(r.everywhere), builder.WithPredicates(scope.ModeChanged(), scope.NotAtStart())).
		Watches(&appv1alpha1.OpsConfigInfo{}, handler.EnqueueRequestsFromMapFunc(r.everywhere),
			builder.WithPredicates(r.Settings.Changed(appv1alpha1.ConfigFinishedLabel), scope.NotAtStart())).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(reconcile.AsReconciler(r.Client, r))
}

// unfinished passes pods without the Finished label that are ready or have succeeded, and new ones with a closed gate.
func unfinished() predicate.Predicate {
	candidate := func(object client.Object) bool {
		pod, ok := object.(*corev1.Pod)
		return ok && (decide.IsReady(pod) || decide.HasSucceeded(pod)) && !decide.IsFinished(pod)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return candidate(e.Object) || isGated(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return candidate(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

func isGated(object client.Object) bool {
	pod, ok := object.(*corev1.Pod)
	return ok && decide.Gated(pod) != decide.GateOpen
}

// mayFinish passes new workloads, those whose minReadySeconds changed, and those that have other pods now.
func mayFinish(kind workload.Kind) predicate.Predicate {
	selecting, selects := kind.(workload.Selecting)
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return kind.Rollout(e.ObjectOld).MinReadySeconds != kind.Rollout(e.ObjectNew).MinReadySeconds ||
				selects && selecting.PodsChanged(e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// adopted passes new ReplicaSets and their like, and those that another workload adopts.
func adopted() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := metav1.GetControllerOfNoCopy(e.ObjectOld), metav1.GetControllerOfNoCopy(e.ObjectNew)
			return after != nil && (before == nil || before.UID != after.UID)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

func (r *Reconciler) ofWorkload(kind workload.Kind) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		revisions, err := kind.Revisions(ctx, r.Client, object)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to list the revisions of a workload",
				"kind", kind.GroupVersionKind().Kind, "workload", client.ObjectKeyFromObject(object))
			return nil
		}
		var result []reconcile.Request
		for _, revision := range revisions {
			result = append(result, r.ofRevision(ctx, object.GetNamespace(), revision)...)
		}
		return result
	}
}

func (r *Reconciler) ofLayer(ctx context.Context, object client.Object) []reconcile.Request {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil {
		return nil // no workload has its pods
	}
	layered, ok := r.Kinds.Snapshot().Of(owner).(workload.Layered)
	if !ok {
		return nil
	}
	return r.ofRevision(ctx, object.GetNamespace(), layered.Revision(object))
}

func (r *Reconciler) ofRevision(ctx context.Context, namespace string, revision decide.Revision) []reconcile.Request {
	pods, err := index.PodsOf(ctx, r.Client, namespace, revision.Pods)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the pods of a revision", "namespace", namespace, "owner", revision.Pods.Owner)
		return nil
	}
	return requests(pods)
}

func (r *Reconciler) inNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	return r.list(ctx, client.InNamespace(namespace.GetName()))
}

// everywhere returns all pods when the setting "finished-label" is switched on, or the mode of a kind changes.
func (r *Reconciler) everywhere(ctx context.Context, _ client.Object) []reconcile.Request {
	if labelled, err := r.Settings.LabelsFinished(ctx); err == nil && !labelled {
		return nil
	}
	return r.list(ctx, client.InNamespace(""))
}

func (r *Reconciler) list(ctx context.Context, in client.InNamespace) []reconcile.Request {
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, in, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list pods under change control", "namespace", string(in))
		return nil
	}
	return requests(pods.Items)
}

func requests(pods []corev1.Pod) []reconcile.Request {
	var result []reconcile.Request
	for i := range pods {
		if _, labelled := pods[i].Labels[appv1alpha1.LabelOperateFinished]; !labelled {
			result = append(result, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pods[i])})
		}
	}
	return result
}
