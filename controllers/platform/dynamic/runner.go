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

// Package dynamic runs kinds that come and go. Each has its own cache, which ends with it. All kinds share the controllers.
package dynamic

import (
	"context"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/traas-stack/altershield-operator/controllers/platform/monotonic"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// profileLabel marks the goroutines of a kind in profiles, with the name of its ControlledKind.
const profileLabel = "controlledkind"

// Runner runs kinds. Its clients find the workloads of the kinds that run, and no others.
type Runner struct {
	config  *rest.Config
	options client.Options
	// mgr, ctx and changed are those of the controller that starts the kinds.
	mgr     ctrl.Manager
	ctx     context.Context //nolint:containedctx // kinds outlive the reconcile that starts them
	changed func()

	mutex sync.RWMutex
	// runs are those that have begun, by the name of the ControlledKind.
	runs map[string]*run
	// synced are the runs whose cache has synced.
	synced map[schema.GroupKind]*run
	// running has the kinds of the same runs.
	running workload.Set
	// watches are those of the controllers.
	watches []watch
	// reconcilers create those of one kind, for each controller.
	reconcilers []func(kind workload.Kind) reconcile.Reconciler
}

// run is a kind that runs.
type run struct {
	kind  workload.Kind
	cache cache.Cache
	// newest reads the operator's own writes that the cache doesn't show yet from the API server.
	newest *monotonic.Reader
	// reconcilers are those of the controllers.
	reconcilers []reconcile.Reconciler
	ctx         context.Context //nolint:containedctx // it ends with the kind
	cancel      context.CancelCauseFunc
	// goroutines are those of the cache, and of controllers that reconcile a workload of the kind.
	goroutines sync.WaitGroup
	// failure is why the kind ended by itself; nil if it didn't. The mutex of the Runner guards it.
	failure error
}

// State is that of a kind that was started and not stopped yet.
type State struct {
	// Kind is nil if the kind doesn't run.
	Kind workload.Kind
	// Synced reports whether the cache holds the workloads.
	Synced bool
	// Failure is why the kind ended by itself; nil if it didn't.
	Failure error
}

// State returns the state of the kind of a ControlledKind.
func (r *Runner) State(controlledKind string) State {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	run := r.runs[controlledKind]
	if run == nil {
		return State{}
	}
	return State{Kind: run.kind, Synced: r.synced[run.kind.GroupVersionKind().GroupKind()] == run, Failure: run.failure}
}

// Started returns the names of the ControlledKinds whose kinds were started and not stopped yet.
func (r *Runner) Started() []string {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	return slices.Sorted(maps.Keys(r.runs))
}

// Changes returns a source for the controller that starts the kinds: it brings a request at its start, when the cache of a kind has synced, and
// when a kind fails. Kinds end with this controller at the latest.
func (r *Runner) Changes(mgr ctrl.Manager) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.mgr, r.ctx, r.changed = mgr, ctx, func() { queue.Add(reconcile.Request{}) }
		r.changed()
		return nil
	})
}

// Start runs a kind until it is stopped. It doesn't wait for the cache. A cache that can't list the workloads keeps trying.
func (r *Runner) Start(kind workload.Kind) error {
	versioned, err := scope.Versioned()
	if err != nil {
		return err
	}
	name := workload.ControlledKindName(kind)
	own, err := cache.New(r.config, cache.Options{
		HTTPClient: r.options.HTTPClient, Scheme: r.options.Scheme, Mapper: r.options.Mapper,
		ByObject: kind.Cache(versioned), ReaderFailOnMissingInformer: true,
	})
	if err != nil {
		return fmt.Errorf("creating the cache of %s: %w", name, err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	started := &run{kind: kind, cache: own, newest: monotonic.NewReader(own, r.mgr.GetAPIReader())}
	started.ctx, started.cancel = context.WithCancelCause(pprof.WithLabels(r.ctx, pprof.Labels(profileLabel, name)))
	if r.runs == nil {
		r.runs, r.synced = map[string]*run{}, map[schema.GroupKind]*run{}
	}
	r.runs[name] = started
	started.goroutines.Go(func() {
		pprof.SetGoroutineLabels(started.ctx)
		if err := r.run(started); err != nil {
			r.fail(started, fmt.Errorf("running %s: %w", name, err))
			r.changed()
		}
	})
	return nil
}

// Stop ends the kind of a ControlledKind, and returns once its cache has ended and no Reconciler reconciles a workload of the kind any more.
func (r *Runner) Stop(controlledKind string) {
	r.mutex.Lock()
	stopped := r.runs[controlledKind]
	delete(r.runs, controlledKind)
	r.hide(stopped)
	r.mutex.Unlock()
	if stopped != nil {
		stopped.cancel(nil)
		stopped.goroutines.Wait()
	}
}

// hide makes the clients and the controllers find no workloads of a run. The caller holds the mutex.
func (r *Runner) hide(hidden *run) {
	if hidden == nil {
		return
	}
	if group := hidden.kind.GroupVersionKind().GroupKind(); r.synced[group] == hidden {
		delete(r.synced, group)
		r.running.Remove(workload.ControlledKindName(hidden.kind))
	}
}

func (r *Runner) fail(failed *run, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	failed.failure = err
	r.hide(failed)
}

// run runs the cache of a kind until the kind is stopped or fails.
func (r *Runner) run(started *run) error {
	defer started.cancel(nil)
	informer, err := started.cache.GetInformer(started.ctx, started.kind.New(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	started.goroutines.Go(func() {
		if !started.cache.WaitForCacheSync(started.ctx) {
			return
		}
		if err := r.connect(started, informer); err != nil {
			started.cancel(err)
		}
		r.changed()
	})
	if err := started.cache.Start(started.ctx); err != nil {
		return err
	}
	if cause := context.Cause(started.ctx); cause != context.Canceled { //nolint:errorlint // of a stop
		return cause
	}
	return nil
}

// connect makes the workloads of a kind visible to the clients and to the controllers.
func (r *Runner) connect(started *run, informer cache.Informer) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.runs[workload.ControlledKindName(started.kind)] != started {
		return nil // it was stopped meanwhile
	}
	for _, create := range r.reconcilers {
		started.reconcilers = append(started.reconcilers, create(started.kind))
	}
	r.synced[started.kind.GroupVersionKind().GroupKind()] = started
	r.running.Put(started.kind)
	events := &fan{Informer: informer}
	for _, watch := range r.watches {
		if err := watch(events, started.kind); err != nil {
			return err
		}
	}
	if _, err := informer.AddEventHandlerWithOptions(events, toolscache.HandlerOptions{}); err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	return nil
}
