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

package testkit

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// cached reads objects as the operator's cache does: with its selectors, transforms and indexes. It never lags.
type cached struct {
	kinds map[reflect.Type]cache.ByObject
	// indexes holds the function that extracts the values of a field.
	indexes map[reflect.Type]map[string]client.IndexerFunc
}

// Cached returns a client that reads from an API server as the operator's cache does, and writes to it.
func Cached(t testing.TB, live client.WithWatch) client.WithWatch {
	t.Helper()
	options, err := scope.CacheOptions(Kinds())
	if err != nil {
		t.Fatal(err)
	}
	c := cached{kinds: map[reflect.Type]cache.ByObject{}, indexes: map[reflect.Type]map[string]client.IndexerFunc{}}
	for object, kind := range options.ByObject {
		c.kinds[reflect.TypeOf(object)] = kind
	}
	if err := index.Setup(t.Context(), c, Kinds()); err != nil {
		t.Fatal(err)
	}
	return interceptor.NewClient(live, interceptor.Funcs{Get: c.get, List: c.list})
}

// IndexField adds an index.
func (c cached) IndexField(_ context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	kind := reflect.TypeOf(object)
	if c.indexes[kind] == nil {
		c.indexes[kind] = map[string]client.IndexerFunc{}
	}
	c.indexes[kind][field] = extract
	return nil
}

func (c cached) get(ctx context.Context, live client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if err := live.Get(ctx, key, into, options...); err != nil {
		return err
	}
	shown, err := c.show(into)
	if err != nil {
		return err
	}
	target := reflect.ValueOf(into).Elem()
	if shown == nil {
		target.SetZero()
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
	}
	target.Set(reflect.ValueOf(shown).Elem())
	return nil
}

func (c cached) list(ctx context.Context, live client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	wanted := client.ListOptions{}
	wanted.ApplyOptions(options)
	selector := wanted.FieldSelector
	wanted.FieldSelector = nil
	if err := live.List(ctx, list, &wanted); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	var kept []runtime.Object
	for _, item := range items {
		shown, err := c.show(item)
		if err != nil {
			return err
		}
		matches := false
		if shown != nil {
			matches, err = c.matches(shown, selector)
		}
		if err != nil {
			return err
		}
		if matches {
			kept = append(kept, shown)
		}
	}
	return meta.SetList(list, kept)
}

// show returns an object as kept by the cache; nil if it isn't cached.
func (c cached) show(item runtime.Object) (client.Object, error) {
	object, ok := item.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", item)
	}
	kind, known := c.kinds[reflect.TypeOf(item)]
	if !known {
		return nil, fmt.Errorf("the cache has no %T", item)
	}
	if kind.Label != nil && !kind.Label.Matches(labels.Set(object.GetLabels())) {
		return nil, nil
	}
	if kind.Transform == nil {
		return object, nil
	}
	kept, err := kind.Transform(object)
	if err != nil {
		return nil, err
	}
	return kept.(client.Object), nil
}

func (c cached) matches(object client.Object, selector fields.Selector) (bool, error) {
	if selector == nil {
		return true, nil
	}
	for _, wanted := range selector.Requirements() {
		extract, known := c.indexes[reflect.TypeOf(object)][wanted.Field]
		if !known {
			return false, fmt.Errorf("%T has no index %s", object, wanted.Field)
		}
		if !slices.Contains(extract(object), wanted.Value) {
			return false, nil
		}
	}
	return true, nil
}
