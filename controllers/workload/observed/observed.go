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

// Package observed wraps kinds of workloads for the mode Observe, in which nothing is written to a workload.
package observed

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const (
	// versionMark is an annotation of cached workloads alone: the version of the content, which the cache doesn't hold.
	versionMark = "observed.altershield.defense.antgroup.com/version"
	// reducedMark is a field of cached workloads alone: a cache may reduce an object again.
	reducedMark = "altershieldReduced"
)

// Kind is a kind in the mode Observe. It implements none of the interfaces through which workloads are written.
type Kind struct{ workload.Kind }

var (
	_ workload.Observed   = Kind{}
	_ workload.Judged     = Kind{}
	_ workload.Reversible = Kind{}
	_ workload.Selective  = Kind{}
)

// Of returns a kind in the mode Observe.
func Of(kind workload.Kind) workload.Observed {
	if lister, ok := kind.(workload.Lister); ok {
		return listing{Kind{kind}, lister}
	}
	return Kind{kind}
}

// listing is a Kind with units.
type listing struct {
	Kind
	lister workload.Lister
}

// Units returns the units of a workload.
func (l listing) Units(object client.Object) []appv1alpha1.PodSummary { return l.lister.Units(object) }

// New returns an empty untyped object.
func (k Kind) New() client.Object {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(k.GroupVersionKind())
	return object
}

// NewList returns an empty untyped list.
func (k Kind) NewList() client.ObjectList {
	list := &unstructured.UnstructuredList{}
	name := k.GroupVersionKind()
	list.SetGroupVersionKind(name.GroupVersion().WithKind(name.Kind + "List"))
	return list
}

// Controls reports whether a workload is observed. Those of another controller aren't, unless the kind declares that.
func (k Kind) Controls(object metav1.Object) bool {
	if _, decides := k.Kind.(workload.Selective); decides {
		return workload.Controls(k.Kind, object)
	}
	return metav1.GetControllerOfNoCopy(object) == nil
}

// MayUndo returns false: nothing is rolled back.
func (Kind) MayUndo() bool { return false }

// Health returns the health of the current release of a workload.
func (k Kind) Health(object client.Object) (workload.Health, string) {
	return workload.HealthOf(k.Kind, k.typed(object))
}

// Rollout returns the state of the rollout of a workload.
func (k Kind) Rollout(object client.Object) decide.Rollout { return k.Kind.Rollout(k.typed(object)) }

// Revisions returns none: the cache holds no revisions without a version label.
func (Kind) Revisions(context.Context, client.Reader, client.Object) ([]decide.Revision, error) {
	return nil, nil
}

// OwnerOf returns nil: the cache holds no pods without a version label.
func (Kind) OwnerOf(context.Context, client.Reader, client.Object) (*workload.Owner, error) {
	return nil, nil
}

// isUntyped reports whether the kind is a declared one.
func (k Kind) isUntyped() bool {
	_, untyped := k.Kind.New().(runtime.Unstructured)
	return untyped
}

// typed returns an untyped workload in the type of its kind. Where it can't be decoded, it is empty.
func (k Kind) typed(object client.Object) client.Object {
	if k.isUntyped() {
		return object
	}
	typed := k.Kind.New()
	if known, ok := object.(*unstructured.Unstructured); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(known.Object, typed); err != nil {
			return k.Kind.New()
		}
	}
	return typed
}

// Cache holds all workloads, and of those only what is read, with the version of the content.
func (k Kind) Cache(labels.Selector) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{k.New(): {Transform: k.slim(k.inner())}}
}

// inner returns what reduces a workload of the kind.
func (k Kind) inner() toolscache.TransformFunc {
	of := reflect.TypeOf(k.Kind.New())
	for object, options := range k.Kind.Cache(labels.Everything()) {
		if reflect.TypeOf(object) == of && options.Transform != nil {
			return options.Transform
		}
	}
	return func(object any) (any, error) { return object, nil }
}

func (k Kind) slim(inner toolscache.TransformFunc) toolscache.TransformFunc {
	return func(object any) (any, error) {
		whole, ok := object.(*unstructured.Unstructured)
		if !ok || whole.Object[reducedMark] == true {
			return object, nil
		}
		if !k.Controls(whole) {
			return k.name(whole), nil
		}
		version := k.version(whole)
		generation, observed, _ := unstructured.NestedFieldNoCopy(whole.Object, "status", "observedGeneration")
		reduced, err := inner(k.typed(whole))
		if err != nil {
			return nil, fmt.Errorf("reducing a workload of kind %s: %w", k.GroupVersionKind().Kind, err)
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(reduced)
		if err != nil {
			return nil, fmt.Errorf("reducing a workload of kind %s: %w", k.GroupVersionKind().Kind, err)
		}
		if !k.isUntyped() {
			compact(fields)
		}
		slim := &unstructured.Unstructured{Object: fields}
		slim.Object[reducedMark] = true
		slim.SetGroupVersionKind(k.GroupVersionKind())
		slim.SetLabels(k.foreign(slim.GetLabels()))
		annotations := map[string]string{}
		maps.Copy(annotations, k.foreign(slim.GetAnnotations()))
		annotations[versionMark] = version
		slim.SetAnnotations(annotations)
		slim.SetManagedFields(nil)
		if observed {
			err = unstructured.SetNestedField(slim.Object, generation, "status", "observedGeneration")
		}
		return slim, err
	}
}

// name returns what the cache holds of a part of another object, such as a Job of a CronJob: most Jobs of a cluster are.
func (k Kind) name(whole *unstructured.Unstructured) *unstructured.Unstructured {
	named := &unstructured.Unstructured{Object: map[string]any{reducedMark: true}}
	named.SetGroupVersionKind(k.GroupVersionKind())
	named.SetNamespace(whole.GetNamespace())
	named.SetName(whole.GetName())
	named.SetUID(whole.GetUID())
	named.SetResourceVersion(whole.GetResourceVersion())
	named.SetOwnerReferences(whole.GetOwnerReferences())
	return named
}

// compact removes empty fields, of which a typed object has many.
func compact(fields map[string]any) {
	for key, value := range fields {
		switch value := value.(type) {
		case nil:
			delete(fields, key)
		case string:
			if value == "" {
				delete(fields, key)
			}
		case map[string]any:
			if compact(value); len(value) == 0 {
				delete(fields, key)
			}
		}
	}
}

// foreign returns the labels or annotations of a workload that are read: expressions of a declared kind may read those of users.
func (k Kind) foreign(keys map[string]string) map[string]string {
	if !k.isUntyped() {
		return nil
	}
	maps.DeleteFunc(keys, func(key, _ string) bool { return isOwn(key) })
	return keys
}

// isOwn reports whether a label or an annotation is of the operator.
func isOwn(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return prefix == "altershield.defense.antgroup.com" || prefix == "admission-webhook-altershield.antgroup.com"
}

// version returns the version of the content of a whole workload. It is empty where the object is at no release by itself: it has no content, or
// its kind declares that.
func (k Kind) version(whole *unstructured.Unstructured) string {
	content := workload.ContentOf(k.Kind, whole.Object)
	if released, err := workload.IsRelease(k.Kind, nil, whole.Object); err != nil || !released || len(content) == 0 {
		return ""
	}
	version, err := workload.VersionOf(k.Kind, content)
	if err != nil {
		return "" // the webhooks would deny it
	}
	return version
}

// Sighting returns what a cached workload shows of its release.
func (k Kind) Sighting(object client.Object) decide.Sighting {
	rollout := k.Rollout(object)
	health, _ := k.Health(object)
	seen := decide.Sighting{
		Version: object.GetAnnotations()[versionMark], Generation: object.GetGeneration(), Created: object.GetCreationTimestamp().Time,
		Complete: !rollout.Rolling && health != workload.HealthInProgress && !workload.IsBehind(object),
	}
	if once, ok := k.Kind.(workload.Once); ok {
		run := once.Run(k.typed(object))
		seen.Ended = run != nil && (run.Complete || run.Failure != nil)
		seen.Complete = seen.Ended
	}
	return seen
}

// At returns a copy of a cached workload with the labels and annotations that it would have at a release.
func (k Kind) At(object client.Object, release decide.Release, since time.Time) client.Object {
	marked, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return object // can't happen: a copy has the same type
	}
	released, _ := json.Marshal(appv1alpha1.ReleaseRecord{
		User: "unknown", Version: release.Version, Release: release.Number, Time: metav1.NewTime(since),
	}) // strings and numbers always encode
	labels, annotations := map[string]string{appv1alpha1.LabelVersion: release.Version}, map[string]string{
		appv1alpha1.AnnotationRelease: strconv.FormatInt(release.Number, 10), appv1alpha1.AnnotationReleasedBy: string(released),
	}
	maps.Copy(labels, object.GetLabels()) // it has none of the operator's
	maps.Copy(annotations, object.GetAnnotations())
	marked.SetLabels(labels)
	marked.SetAnnotations(annotations)
	return marked
}

// lateness is how long after its beginning a release may be recorded.
const lateness = 2 * time.Second

// Identify returns the revision of the recorded release of a workload. The workload is read whole, since the cache may be behind.
func (k Kind) Identify(ctx context.Context, live client.Reader, record *appv1alpha1.ChangeWorkload) (*decide.Revision, error) {
	identifier, ok := k.Kind.(workload.Identifier)
	if !ok {
		return nil, nil
	}
	whole, key := &unstructured.Unstructured{}, client.ObjectKey{Namespace: record.Namespace, Name: record.Spec.AppName}
	whole.SetGroupVersionKind(k.GroupVersionKind())
	if err := live.Get(ctx, key, whole); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading %s %s: %w", k.GroupVersionKind().Kind, key, err)
	}
	version := k.version(whole)
	if !metav1.IsControlledBy(record, whole) || version != "" && version != record.Spec.Reversion || workload.IsBehind(whole) {
		return nil, nil
	}
	return identifier.Identify(ctx, live, whole, record.Spec.Reversion, began(whole, time.Unix(record.Spec.CreateTimeUnix, 0)))
}

// began returns when the release of a workload began that was recorded at a time: with the last write of the workload, unless that was
// later.
func began(whole *unstructured.Unstructured, recorded time.Time) time.Time {
	var last time.Time
	for _, entry := range whole.GetManagedFields() {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	if last.IsZero() || last.After(recorded) {
		return recorded.Add(-lateness)
	}
	return last
}
