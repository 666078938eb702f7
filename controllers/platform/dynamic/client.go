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
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// NewClient is a client.NewClientFunc for the manager. Its client reads untyped objects from the caches of the kinds that run. Those of
// other kinds are not found, so that nothing is decided about them. Writes go to the API server; patches of observed workloads fail.
func (r *Runner) NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	typed, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	r.config, r.options = config, options
	return &routed{Client: typed, runner: r}, nil
}

// Reader returns a reader of untyped objects for replicas that run no kinds: from the caches of enforced kinds that run, and otherwise from live.
// It reads typed objects from typed.
func (r *Runner) Reader(typed client.Reader, live *bounded.Reader) client.Reader {
	return &reader{typed: typed, live: live, runner: r}
}

type reader struct {
	typed  client.Reader
	live   *bounded.Reader
	runner *Runner
}

// Get implements client.Reader.
func (r *reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	running, untyped := r.runner.of(into)
	switch {
	case !untyped:
		return r.typed.Get(ctx, key, into, options...)
	case running == nil || isObserved(running.kind):
		return r.live.Get(ctx, key, into, options...)
	default:
		return running.cache.Get(ctx, key, into, options...)
	}
}

// List implements client.Reader.
func (r *reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	running, untyped := r.runner.of(list)
	switch {
	case !untyped:
		return r.typed.List(ctx, list, options...)
	case running == nil || isObserved(running.kind):
		return r.live.List(ctx, list, options...)
	default:
		return running.cache.List(ctx, list, options...)
	}
}

// of returns the run of an untyped object or list, nil if the kind doesn't run.
func (r *Runner) of(object runtime.Object) (running *run, untyped bool) {
	if _, untyped = object.(runtime.Unstructured); !untyped {
		return nil, false
	}
	group := object.GetObjectKind().GroupVersionKind().GroupKind()
	if meta.IsListType(object) {
		group.Kind = strings.TrimSuffix(group.Kind, "List")
	}
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	return r.synced[group], true
}

// routed is the client of the manager.
type routed struct {
	client.Client
	runner *Runner
}

// Get reads an untyped object from the cache of its kind. It never shows a version before the operator's own last write.
func (r *routed) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	running, untyped := r.runner.of(into)
	switch {
	case !untyped:
		return r.Client.Get(ctx, key, into, options...)
	case running == nil:
		return apierrors.NewNotFound(schema.GroupResource{
			Group: into.GetObjectKind().GroupVersionKind().Group, Resource: into.GetObjectKind().GroupVersionKind().Kind,
		}, key.Name)
	case (&client.GetOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency:
		return running.cache.Get(ctx, key, into, options...)
	default:
		return running.newest.Get(ctx, key, into)
	}
}

// List lists untyped objects from the cache of their kind.
func (r *routed) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	running, untyped := r.runner.of(list)
	switch {
	case !untyped:
		return r.Client.List(ctx, list, options...)
	case running == nil:
		return nil
	default:
		return running.cache.List(ctx, list, options...)
	}
}

// errObserved is returned for writes to workloads of a kind in the mode Observe.
var errObserved = errors.New("the operator writes nothing to it")

func isObserved(kind workload.Kind) bool {
	_, observed := kind.(workload.Observed)
	return observed
}

// Patch writes to the API server, except to workloads that are only observed. For an untyped object it doesn't wait for the manager's cache,
// which has no such objects.
func (r *routed) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	running, untyped := r.runner.of(object)
	if !untyped {
		return r.Client.Patch(ctx, object, patch, options...)
	}
	if running != nil && isObserved(running.kind) {
		return fmt.Errorf("%s %s is only observed: %w", running.kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object), errObserved)
	}
	err := r.Client.Patch(ctx, object, patch, append(options, client.DisableReadYourWritesConsistency)...)
	if err == nil && running != nil {
		running.newest.Seen(object)
	}
	return err
}
