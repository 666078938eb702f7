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

// Package dynamic runs declared kinds: each has a cache and controllers of its own, which end with it.
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

// Controller is a controller of the workloads of one kind.
type Controller interface {
	// SetupWithManager adds the controller to a manager.
	SetupWithManager(mgr ctrl.Manager) error
}

// Runner runs declared kinds. Its clients find the workloads of the kinds that run, and no others.
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
	// watches are those of the controllers of all kinds.
	watches []*watch
	// controllers create those of one kind.
	controllers []func(kind workload.Kind) Controller
}

// run is a kind that runs.
type run struct {
	kind  workload.Kind
	cache cache.Cache
	// newest reads the operator's own writes that the cache doesn't show yet from the API server.
	newest *monotonic.Reader
	cancel context.CancelFunc
	// goroutines are those of the cache and the controllers.
	goroutines sync.WaitGroup
	// failure is why the cache or a controller ended by itself; nil if none did. The mutex of the Runner guards it.
	failure error
}

// Control adds a controller to each kind that is started afterwards.
func (r *Runner) Control(controller func(kind workload.Kind) Controller) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.controllers = append(r.controllers, controller)
}

// State is that of a kind that was started and not stopped yet.
type State struct {
	// Kind is nil if the kind doesn't run.
	Kind workload.Kind
	// Synced reports whether the cache holds the workloads.
	Synced bool
	// Failure is why the cache or a controller ended by itself; nil if none did.
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
	ctx, cancel := context.WithCancel(pprof.WithLabels(r.ctx, pprof.Labels(profileLabel, name)))
	started := &run{kind: kind, cache: own, newest: monotonic.NewReader(own, r.mgr.GetAPIReader()), cancel: cancel}
	if r.runs == nil {
		r.runs, r.synced = map[string]*run{}, map[schema.GroupKind]*run{}
	}
	r.runs[name] = started
	started.goroutines.Go(func() {
		pprof.SetGoroutineLabels(ctx)
		if err := r.run(ctx, r.mgr, started); err != nil {
			r.fail(started, fmt.Errorf("running %s: %w", name, err))
			r.changed()
		}
	})
	return nil
}

// Stop ends the kind of a ControlledKind, and returns once its cache and its controllers have ended.
func (r *Runner) Stop(controlledKind string) {
	r.mutex.Lock()
	stopped := r.runs[controlledKind]
	delete(r.runs, controlledKind)
	r.hide(stopped)
	r.mutex.Unlock()
	if stopped != nil {
		stopped.cancel()
		stopped.goroutines.Wait()
	}
}

// hide makes the clients find no workloads of a run. The caller holds the mutex.
func (r *Runner) hide(hidden *run) {
	if hidden == nil {
		return
	}
	if group := hidden.kind.GroupVersionKind().GroupKind(); r.synced[group] == hidden {
		delete(r.synced, group)
	}
}

func (r *Runner) fail(failed *run, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	failed.failure = err
	r.hide(failed)
}

// run runs the cache of a kind, and its controllers once the cache has synced. If one of them fails, all end.
func (r *Runner) run(ctx context.Context, mgr ctrl.Manager, started *run) error {
	defer started.cancel()
	var failed sync.Once
	var failure error
	begin := func(runnable func(context.Context) error) {
		started.goroutines.Go(func() {
			pprof.SetGoroutineLabels(ctx)
			if err := runnable(ctx); err != nil {
				failed.Do(func() { failure = err })
				started.cancel()
			}
		})
	}
	informer, err := started.cache.GetInformer(ctx, started.kind.New(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	begin(started.cache.Start)
	if !started.cache.WaitForCacheSync(ctx) {
		return failure
	}
	branch := &branch{Manager: mgr, cache: &branchCache{Cache: mgr.GetCache(), own: started.cache, kind: started.kind.GroupVersionKind()}}
	defer branch.cache.end()
	if err := r.connect(started, informer, branch); err != nil {
		return err
	}
	for _, controller := range branch.added {
		begin(controller.Start)
	}
	r.changed()
	<-ctx.Done()
	return failure
}

// connect makes the workloads of a kind visible to the clients and to the controllers of all kinds, and sets up the kind's own controllers.
func (r *Runner) connect(started *run, informer cache.Informer, branch *branch) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.runs[workload.ControlledKindName(started.kind)] != started {
		return nil // it was stopped meanwhile
	}
	r.synced[started.kind.GroupVersionKind().GroupKind()] = started
	for _, watch := range r.watches {
		if err := watch.add(informer, started.kind); err != nil {
			return err
		}
	}
	for _, create := range r.controllers {
		if err := create(started.kind).SetupWithManager(branch); err != nil {
			return err
		}
	}
	return nil
}
