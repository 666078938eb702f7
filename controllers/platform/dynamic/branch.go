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
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// branch is the manager that the controllers of one kind are added to: they watch its workloads in its own cache, and end with it.
type branch struct {
	ctrl.Manager
	cache *branchCache
	added []manager.Runnable
}

// Add keeps a controller for the run.
func (b *branch) Add(runnable manager.Runnable) error {
	b.added = append(b.added, runnable)
	return nil
}

// GetCache returns the cache with the workloads of the kind.
func (b *branch) GetCache() cache.Cache { return b.cache }

// GetControllerOptions allows a controller of the same name again: a kind may be started again.
func (b *branch) GetControllerOptions() config.Controller {
	options := b.Manager.GetControllerOptions()
	options.SkipNameValidation = ptr.To(true)
	return options
}

// branchCache is the cache of a manager, with the workloads of one kind from a cache of their own. Its event handlers can be removed.
type branchCache struct {
	cache.Cache
	own  cache.Cache
	kind schema.GroupVersionKind

	mutex sync.Mutex
	added []registration
	ended bool
}

// registration is an event handler of an informer of the manager.
type registration struct {
	informer cache.Informer
	handle   toolscache.ResourceEventHandlerRegistration
}

// GetInformer returns the informer of the kind's own cache for its workloads, or the manager's.
func (b *branchCache) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if object.GetObjectKind().GroupVersionKind() == b.kind {
		return b.own.GetInformer(ctx, object, options...)
	}
	informer, err := b.Cache.GetInformer(ctx, object, options...)
	if err != nil {
		return nil, err
	}
	return &branchInformer{informer, b}, nil
}

// WaitForCacheSync waits for both caches.
func (b *branchCache) WaitForCacheSync(ctx context.Context) bool {
	return b.own.WaitForCacheSync(ctx) && b.Cache.WaitForCacheSync(ctx)
}

// end removes the event handlers, and those that are added later.
func (b *branchCache) end() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.ended = true
	for _, added := range b.added {
		b.remove(added)
	}
	b.added = nil
}

func (b *branchCache) remove(added registration) {
	if err := added.informer.RemoveEventHandler(added.handle); err != nil {
		ctrl.Log.WithName("dynamic").Error(err, "Failed to remove an event handler of a declared kind", "kind", b.kind.Kind)
	}
}

// branchInformer is an informer of the manager.
type branchInformer struct {
	cache.Informer
	branch *branchCache
}

// AddEventHandlerWithOptions adds an event handler until the kind ends.
func (i *branchInformer) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	handle, err := i.Informer.AddEventHandlerWithOptions(handler, options)
	if err != nil {
		return nil, err
	}
	i.branch.mutex.Lock()
	defer i.branch.mutex.Unlock()
	added := registration{i.Informer, handle}
	if i.branch.ended {
		i.branch.remove(added)
		return handle, nil
	}
	i.branch.added = append(i.branch.added, added)
	return handle, nil
}
