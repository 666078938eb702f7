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

// Package monotonic keeps controllers from acting on the past: what they report to a verifier can't be taken back.
package monotonic

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxRemembered bounds the memory, to half a MiB. What falls out of it is what nothing was heard of for longest: a cache goes back by
// what it has just shown.
const maxRemembered = 2000

// removed stands for a version after all others, and is none that an object has.
const removed = ""

// Reader reads objects of one kind from a cache, and from the API server where the cache shows a version older than one that was
// seen. What the API server says then counts, even if that is older still: etcd may have been restored from a backup.
type Reader struct {
	cache, live client.Reader
	// versions has the newest resourceVersion that was seen of each UID.
	versions *lru.Cache
}

// NewReader makes a reader that has seen nothing yet.
func NewReader(cache, live client.Reader) *Reader {
	return &Reader{cache: cache, live: live, versions: lru.New(maxRemembered)}
}

// Get reads an object into an empty one.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey, into client.Object) error {
	if err := r.cache.Get(ctx, key, into); err != nil {
		return err
	}
	if r.isOld(into) {
		return r.GetLive(ctx, key, into)
	}
	r.Seen(into)
	return nil
}

// GetLive reads an object from the API server.
func (r *Reader) GetLive(ctx context.Context, key client.ObjectKey, into client.Object) error {
	reflect.ValueOf(into).Elem().SetZero() // what the API server doesn't mention would stay as it is
	if err := r.live.Get(ctx, key, into); err != nil {
		return err
	}
	r.Seen(into)
	return nil
}

// Seen notes the version of an object that was read or written.
func (r *Reader) Seen(object client.Object) {
	r.versions.Add(object.GetUID(), object.GetResourceVersion())
}

// Gone notes that an object was removed, or may have been: the cache isn't believed about it any more.
func (r *Reader) Gone(object client.Object) { r.versions.Add(object.GetUID(), removed) }

// IsGone reports whether Gone was noted of an object, and no version of it was seen since.
func (r *Reader) IsGone(object client.Object) bool {
	known, found := r.versions.Get(object.GetUID())
	return found && known == removed
}

func (r *Reader) isOld(object client.Object) bool {
	known, found := r.versions.Get(object.GetUID())
	if !found {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), known.(string))
	return order < 0 || err != nil
}
