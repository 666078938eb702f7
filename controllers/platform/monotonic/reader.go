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

// Package monotonic provides monotonic reads: a controller never sees an older version of an object than before. Reports to a
// verifier are irrevocable.
package monotonic

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxRemembered bounds the memory, to half a MiB. The least recently seen objects are forgotten, as a cache goes back only by recent
// versions.
const maxRemembered = 2000

// removed stands for a version later than all others. No object has it.
const removed = ""

// Reader reads objects of one kind from a cache, and from the API server if the cache shows an older version than was seen before.
// The live version counts even if it is older still: etcd may have been restored from a backup.
type Reader struct {
	cache, live client.Reader
	// versions holds the newest resourceVersion seen of each UID.
	versions *lru.Cache
}

// NewReader returns a Reader that has seen nothing yet.
func NewReader(cache, live client.Reader) *Reader {
	return &Reader{cache: cache, live: live, versions: lru.New(maxRemembered)}
}

// Get reads an object into an empty one.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey, into client.Object) error {
	if err := r.cache.Get(ctx, key, into); err != nil {
		return err
	}
	if r.IsOld(into) {
		return r.GetLive(ctx, key, into)
	}
	r.Seen(into)
	return nil
}

// GetLive reads an object from the API server.
func (r *Reader) GetLive(ctx context.Context, key client.ObjectKey, into client.Object) error {
	named := into.GetObjectKind().GroupVersionKind()
	reflect.ValueOf(into).Elem().SetZero() // fields missing in the response would keep their values
	if untyped, ok := into.(runtime.Unstructured); ok {
		untyped.GetObjectKind().SetGroupVersionKind(named)
	}
	if err := r.live.Get(ctx, key, into); err != nil {
		return err
	}
	r.Seen(into)
	return nil
}

// Seen records the version of an object that was read or written.
func (r *Reader) Seen(object client.Object) {
	r.versions.Add(object.GetUID(), object.GetResourceVersion())
}

// Gone records that an object was removed, or may have been. The cache isn't trusted about it any more.
func (r *Reader) Gone(object client.Object) { r.versions.Add(object.GetUID(), removed) }

// IsGone reports whether Gone was called for an object and no version of it was seen since.
func (r *Reader) IsGone(object client.Object) bool {
	known, found := r.versions.Get(object.GetUID())
	return found && known == removed
}

// IsOld reports whether a newer version of an object was seen before.
func (r *Reader) IsOld(object client.Object) bool {
	known, found := r.versions.Get(object.GetUID())
	if !found {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), known.(string))
	return order < 0 || err != nil
}
