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

package dynamic

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Handling is how a controller handles the events of the workloads of a kind.
type Handling struct {
	Handler    handler.EventHandler
	Predicates []predicate.Predicate
}

// Watch returns a source of the workloads of every kind that runs, for a controller of all kinds.
func (r *Runner) Watch(of func(kind workload.Kind) Handling) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		added := &watch{ctx: ctx, queue: queue, of: of}
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.watches = append(r.watches, added)
		for _, running := range r.synced {
			informer, err := running.cache.GetInformer(ctx, running.kind.New(), cache.BlockUntilSynced(false))
			if err != nil {
				return fmt.Errorf("watching %s: %w", workload.ControlledKindName(running.kind), err)
			}
			if err := added.add(informer, running.kind); err != nil {
				return err
			}
		}
		return nil
	})
}

// watch is that of a controller of all kinds.
type watch struct {
	ctx   context.Context //nolint:containedctx // of the controller, for the kinds that start later
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	of    func(kind workload.Kind) Handling
}

// add passes the events of an informer to the controller, until the informer ends.
func (w *watch) add(informer cache.Informer, kind workload.Kind) error {
	handling := w.of(kind)
	events := source.Informer{Informer: informer, Handler: handling.Handler, Predicates: handling.Predicates}
	if err := events.Start(w.ctx, w.queue); err != nil {
		return fmt.Errorf("watching %s: %w", workload.ControlledKindName(kind), err)
	}
	return nil
}
