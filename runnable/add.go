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

// Package runnable has the rollback controller: it rolls back releases that fail to start, fail their check, or are to be rolled back on
// request.
package runnable

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/bykind"
	"github.com/traas-stack/altershield-operator/controllers/platform/debounce"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const concurrency = 5

// Roller rolls workloads back, or parks their releases. A rollback.Obstacle stays until something changes; other errors may be retried.
type Roller interface {
	RollBack(ctx context.Context, request rollback.Request) (*appv1alpha1.Rollback, error)
	Park(ctx context.Context, request rollback.Request) error
	DeletePod(ctx context.Context, request rollback.PodRequest) (again time.Duration, err error)
}

// Contact returns the time by which pods are judged, and since when the operator observes them.
type Contact interface {
	Agreed() time.Time
	AgreedSince() time.Time
}

// Rollback decides which workloads of one kind to roll back.
type Rollback struct {
	Kind   workload.Kind
	Client client.Client
	// Live reads from the API server, to settle what the cache leaves open.
	Live     client.Reader
	History  *history.Keeper
	Roller   Roller
	Recorder events.Recorder
	Metrics  *Metrics
	Clock    clock.PassiveClock
	Contact  Contact
	Settings settings.Reader

	obstacles obstacleLog
	stops     stops
	policies  policies
}

// Controller rolls back the workloads of Kinds. It runs on the leader, and reconciles after events and at the deadlines of pods.
type Controller struct {
	// Name follows "rollback-" in the name of the controller.
	Name  string
	Kinds bykind.Kinds
	// Like are kinds that together have every layer that one of Kinds may have. One of them is PodJudged if one of Kinds may be.
	Like     workload.Registry
	Client   client.Reader
	Settings settings.Reader
	// Rollback creates the reconciler of a kind.
	Rollback func(kind workload.Kind) reconcile.Reconciler
}

// SetupWithManager adds the controller to the manager. Every event is mapped to the key of the workload, so that none is rolled back twice
// at the same time.
func (c *Controller) SetupWithManager(mgr ctrl.Manager) error {
	of := bykind.Mapper{Kinds: c.Kinds, Client: c.Client}
	controlled := bykind.NewController(mgr, "rollback-"+c.Name, concurrency).
		WatchesRawSource(c.Kinds.Workloads(mgr, workloadChanged)).
		Watches(&appv1alpha1.ChangeWorkload{}, handler.TypedEnqueueRequestsFromMapFunc(of.Owner), builder.WithPredicates(phaseChanged()))
	for _, layer := range c.Like.Layers() {
		controlled.Watches(layer, handler.TypedEnqueueRequestsFromMapFunc(of.Owner), builder.WithPredicates(healthChanged(c.Kinds)))
	}
	if slices.ContainsFunc(c.Like, isPodJudged) {
		controlled.Watches(&corev1.Pod{}, debounce.Handler(handler.TypedEnqueueRequestsFromMapFunc(c.ofOlderPod), debounce.Never), builder.WithPredicates(podHealthChanged()))
	}
	err := controlled.
		Watches(&corev1.Pod{}, debounce.Handler(handler.TypedEnqueueRequestsFromMapFunc(c.ofPod), debounce.Never), builder.WithPredicates(stopsRunning())).
		Watches(&corev1.Namespace{}, handler.TypedEnqueueRequestsFromMapFunc(of.Namespace), builder.WithPredicates(scope.CreatedOrDeleted())).
		Watches(&appv1alpha1.ControlledKind{}, handler.TypedEnqueueRequestsFromMapFunc(of.ControlledKind), builder.WithPredicates(scope.ModeChanged())).
		Watches(&appv1alpha1.ReleasePolicy{}, handler.TypedEnqueueRequestsFromMapFunc(c.ofPolicy), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appv1alpha1.OpsConfigInfo{}, handler.TypedEnqueueRequestsFromMapFunc(of.All),
			builder.WithPredicates(c.Settings.Changed(
				appv1alpha1.ConfigStuckRollback, appv1alpha1.ConfigSuspendedRollback, appv1alpha1.ConfigPark, appv1alpha1.ConfigUnstick))).
		Complete(c.Kinds.Reconciler(c.Rollback))
	if err != nil {
		return fmt.Errorf("setting up the controller rollback-%s: %w", c.Name, err)
	}
	return nil
}

// ofPolicy maps a ReleasePolicy, which may say how long the pods of a release may take to run, to the workloads that it may concern.
func (c *Controller) ofPolicy(ctx context.Context, policy client.Object) []bykind.Request {
	of := bykind.Mapper{Kinds: c.Kinds, Client: c.Client}
	if policy.GetNamespace() == c.Settings.Namespace { // it may select other namespaces
		return of.All(ctx, policy)
	}
	return of.Beside(ctx, policy)
}

func isPodJudged(kind workload.Kind) bool {
	_, ok := kind.(workload.PodJudged)
	return ok
}

// workloadChanged skips the status updates of a rollout that can't change which revisions are healthy.
func workloadChanged(kind workload.Kind) predicate.Predicate {
	changed := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	judged, ok := kind.(workload.PodJudged)
	if !ok {
		return changed
	}
	return predicate.Or(changed, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return judged.HealthMayChange(e.ObjectOld, e.ObjectNew) },
	})
}

// podHealthChanged passes pods that become ready, and pods that go without being ready: the others of their revision may all be ready.
func podHealthChanged() predicate.Predicate {
	state := func(object client.Object) (there, ready bool) {
		pod, ok := object.(*corev1.Pod)
		return ok && pod.DeletionTimestamp == nil, ok && decide.IsReady(pod)
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			wasThere, wasReady := state(e.ObjectOld)
			there, ready := state(e.ObjectNew)
			return !wasReady && (ready || wasThere && !there)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			wasThere, wasReady := state(e.Object)
			return wasThere && !wasReady
		},
	}
}

// stopsRunning passes new pods that are not running, pods that stop running, and pods with a restarted container.
func stopsRunning() predicate.Predicate {
	state := func(object client.Object) (idle bool, restarts int32) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return false, 0
		}
		return decide.DoesNotRun(pod), decide.Restarts(pod)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			idle, _ := state(e.Object)
			return idle
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			wasIdle, before := state(e.ObjectOld)
			idle, restarts := state(e.ObjectNew)
			return idle && !wasIdle || !idle && restarts > before
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// healthChanged passes layers of the kinds: revisions that become healthy, as they are a new target, and those whose pods can't be created
// any more. New ones pass, too: their pods may have been seen before.
func healthChanged(kinds workload.Kinds) predicate.Predicate {
	ofKind := func(layer client.Object) workload.Layered {
		_, kind := bykind.ControllerOf(kinds, layer)
		if layered, ok := kind.(workload.Layered); ok && reflect.TypeOf(layered.Layer()) == reflect.TypeOf(layer) {
			return layered
		}
		return nil
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return ofKind(e.Object) != nil },
		UpdateFunc: func(e event.UpdateEvent) bool {
			kind := ofKind(e.ObjectNew)
			if kind == nil {
				return false
			}
			before, after := kind.Revision(e.ObjectOld), kind.Revision(e.ObjectNew)
			return after.Healthy && !before.Healthy || after.Failure != nil && before.Failure == nil
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// phaseChanged passes ChangeWorkloads whose status.status changed, whose step lets another number of pods come, or that begin or cease to wait
// for their first nodes.
func phaseChanged() predicate.Predicate {
	type progress struct {
		phase  appv1alpha1.ChangeWorkloadPhase
		let    int32
		awaits bool
	}
	of := func(object client.Object) progress {
		record, ok := object.(*appv1alpha1.ChangeWorkload)
		if !ok {
			return progress{}
		}
		return progress{record.Status.Status, ptr.Deref(rollback.LetBySteps(record), 0), decide.AwaitedFirstNodes(record) != nil}
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return of(e.ObjectOld) != of(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

func (c *Controller) ofPod(ctx context.Context, pod client.Object) []bykind.Request {
	return c.ofPodIf(ctx, pod, func(workload.Kind, *workload.Owner) bool { return true })
}

// ofOlderPod skips the pods of the present release, and those of kinds that are not PodJudged.
func (c *Controller) ofOlderPod(ctx context.Context, pod client.Object) []bykind.Request {
	return c.ofPodIf(ctx, pod, func(kind workload.Kind, owner *workload.Owner) bool {
		return isPodJudged(kind) && owner.Version != decide.ReleaseOf(owner.Object).Version
	})
}

func (c *Controller) ofPodIf(ctx context.Context, pod client.Object, matters func(workload.Kind, *workload.Owner) bool) []bykind.Request {
	var requests []bykind.Request
	for _, kind := range c.Kinds.Snapshot() {
		owner, err := kind.OwnerOf(ctx, c.Client, pod)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to find the workload of a pod", "pod", client.ObjectKeyFromObject(pod))
		} else if owner != nil && matters(kind, owner) {
			requests = append(requests, bykind.Of(kind, owner.Object))
		}
	}
	return requests
}
