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

// Package rollback rolls workloads back to the content of an earlier release. No other part of the operator writes it.
package rollback

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// maxMessage is the most bytes of the message in the record of a rollback.
const maxMessage = 400

// Roller rolls back workloads, on every replica: the guards of the patch prevent two rollbacks at once.
type Roller struct {
	Client client.Client
	// Live reads from the API server: the cache holds no contents, and may be behind.
	Live     client.Reader
	History  *history.Keeper
	Recorder events.Recorder
	Metrics  *Metrics
	// Delivery measures how releases are delivered.
	Delivery *delivery.Metrics
	Clock    clock.PassiveClock
	// Agreed returns the time by which pods are judged: a clock that is ahead must not make them stuck.
	Agreed func() time.Time
	// Tracer sends spans of what was written; nil where nothing is traced.
	Tracer   *tracing.Tracer
	Settings settings.Reader
}

// RollBack sets the content of a workload to an earlier one, which is a release like any other, and records that. The error is an
// Obstacle where the workload can't be rolled back, NotStuck where it need not be, and a conflict where it changed meanwhile.
func (r *Roller) RollBack(ctx context.Context, request Request) (*appv1alpha1.Rollback, error) {
	began := r.Clock.Now()
	scene, err := r.observe(ctx, request)
	if err != nil {
		return nil, err
	}
	var stuck decide.StuckPods
	var pods int
	if request.Reason == appv1alpha1.RollbackPodsNotRunning {
		if stuck, pods, err = r.confirm(ctx, request, scene); err != nil {
			return nil, err
		}
		request.Message = stuck.Message
	}
	back, err := r.target(ctx, request, scene)
	if err != nil {
		return nil, err
	}
	if back.content.Equal(workload.ContentOf(request.Kind, scene.raw.Object)) {
		return nil, &Obstacle{ObstacleSameTemplate, request.phrase() + " already has that " + workload.ContentNoun(request.Kind)}
	}
	made, err := r.write(ctx, request, scene, back)
	if err != nil {
		return nil, err
	}
	now := r.Clock.Now()
	r.Metrics.rollbacks.WithLabelValues(request.Kind.GroupVersionKind().Kind, request.CountedAs()).Inc()
	if !stuck.First.IsZero() {
		r.Delivery.Spared(request.Workload.Namespace, int(request.Kind.Rollout(scene.object).Desired)-pods)
		r.Metrics.delay.Observe(max(r.Agreed().Sub(stuck.First), 0).Seconds())
	}
	r.Recorder.Record(events.ReleaseRolledBack(scene.object, made))
	r.Tracer.RolledBack(request.Kind.GroupVersionKind().Kind, scene.object, &made, began, now)
	return &made, nil
}

// write patches the workload, and returns the record of the rollback.
func (r *Roller) write(ctx context.Context, request Request, scene *scene, back target) (appv1alpha1.Rollback, error) {
	quarantine, err := r.Settings.Quarantine(ctx)
	if err != nil {
		return appv1alpha1.Rollback{}, err
	}
	made := record(request, scene.past.Release, back, quarantine, r.Clock.Now())
	made.ToRelease = decide.NextRelease(scene.object.GetAnnotations()) // the number that the webhook will give
	restored, err := workload.Restore(request.Kind, scene.raw.Object, back.written(request.Kind))
	if err != nil {
		return appv1alpha1.Rollback{}, &Obstacle{ObstacleElements, fmt.Sprintf("%s can't go back: %s", request.phrase(), err)}
	}
	patch, err := patchOf(request.Kind, scene.raw, restored, back, decide.RememberRollback(scene.past.Rollbacks, made))
	if err != nil {
		return appv1alpha1.Rollback{}, fmt.Errorf("building the rollback of %s: %w", request, err)
	}
	patched := request.Kind.New() // the answer
	patched.SetNamespace(request.Workload.Namespace)
	patched.SetName(request.Workload.Name)
	// Else fields that the API server no longer knows, as after a change of a CRD, would be dropped.
	if err := r.Client.Patch(ctx, patched, patch, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		return appv1alpha1.Rollback{}, r.refused(ctx, request, scene, err)
	}
	if hasContentOf(request.Kind, patched, scene.object) {
		return appv1alpha1.Rollback{}, r.reverted(ctx, request, scene)
	}
	return made, nil
}

// hasContentOf reports whether two objects of a kind have the same content, except the version label.
func hasContentOf(kind workload.Kind, a, b client.Object) bool {
	one, errOne := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	two, errTwo := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	return errOne == nil && errTwo == nil && workload.ContentOf(kind, one).Equal(workload.ContentOf(kind, two))
}

// reverted takes back what a rollback has written besides the content, which another webhook restored, and returns the obstacle.
func (r *Roller) reverted(ctx context.Context, request Request, scene *scene) error {
	change := workloadpatch.Change{Annotate: map[string]string{}, Unannotate: []string{appv1alpha1.AnnotationRollbacks}}
	written := []string{appv1alpha1.AnnotationRollbacks, corev1.LastAppliedConfigAnnotation}
	if request.ByPolicy() {
		written = append(written, appv1alpha1.AnnotationRollback, appv1alpha1.AnnotationRollbackBy)
	}
	for _, key := range workloadpatch.Present(scene.object, written...) {
		change.Annotate[key] = scene.object.GetAnnotations()[key]
	}
	if change.Annotate[appv1alpha1.AnnotationRollbacks] != "" {
		change.Unannotate = nil
	}
	_, err := workloadpatch.Apply(ctx, r.Client, r.Live, request.Kind, scene.object, change)
	return errors.Join(&Obstacle{ObstacleReverted, fmt.Sprintf(
		"%s can't go back: another mutating admission webhook restored the %s that it has; see kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies",
		request.phrase(), workload.ContentNoun(request.Kind))}, err)
}

// scene is a workload with its history.
type scene struct {
	raw *unstructured.Unstructured
	// object is the workload in the type of its kind.
	object client.Object
	past   decide.Past
	// revisions are those of its own controller.
	revisions []decide.Revision
}

// observe reads the workload and its history. The error is an Obstacle where it can't be rolled back at all.
func (r *Roller) observe(ctx context.Context, request Request) (*scene, error) {
	raw, object, err := r.read(ctx, request)
	if err != nil {
		return nil, err
	}
	controlled, err := scope.Controlled(ctx, r.Client, request.Kind, object.GetNamespace())
	if err != nil {
		return nil, err
	}
	out, err := scope.OptedOut(ctx, r.Live, object.GetNamespace()) // the cache may lag
	if err != nil {
		return nil, err
	}
	if obstacle := ObstacleOf(object, controlled && !out, request); obstacle != nil {
		return nil, obstacle
	}
	workloads, err := index.LiveChangeWorkloadsOf(ctx, r.Live, request.Kind, object)
	if err != nil {
		return nil, err
	}
	revisions, err := r.History.Native(ctx, request.Kind, object)
	if err != nil {
		return nil, err
	}
	return &scene{raw: raw, object: object, revisions: revisions, past: decide.Past{
		Release:   decide.ReleaseOf(object),
		Workloads: workloads,
		Rollbacks: appv1alpha1.RollbacksOf(object.GetAnnotations()),
	}}, nil
}

// read reads a workload from the API server, with fields that its type does not have, and in that type.
func (r *Roller) read(ctx context.Context, request Request) (*unstructured.Unstructured, client.Object, error) {
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(request.Kind.GroupVersionKind())
	if err := r.Live.Get(ctx, request.Workload, raw); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", request, err)
	}
	object := request.Kind.New()
	if _, untyped := object.(*unstructured.Unstructured); untyped {
		return raw, raw, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, object); err != nil {
		return nil, nil, fmt.Errorf("decoding %s: %w", request, err)
	}
	return raw, object, nil
}

// record returns the record of a rollback.
func record(request Request, from decide.Release, back target, refusal time.Duration, now time.Time) appv1alpha1.Rollback {
	made := appv1alpha1.Rollback{
		Version: from.Version, Release: from.Number, To: back.version, Unstamped: back.unstamped,
		Reason: request.Reason, Message: decide.Shorten(request.Message, maxMessage), User: request.User,
		Time: metav1.NewTime(now.Truncate(time.Second)),
	}
	if refusal > 0 {
		until := metav1.NewTime(now.Add(refusal).Truncate(time.Second))
		made.RefusedUntil = &until
	}
	return made
}

// refused returns the error of a failed patch: an Obstacle where the API server denies the template, because of a newer policy for example,
// else one that may be retried. The API server answers a failed guard like an invalid template: a live read distinguishes the two.
func (r *Roller) refused(ctx context.Context, request Request, scene *scene, err error) error {
	if apierrors.IsInvalid(err) {
		current, _, failed := r.read(ctx, request)
		if failed != nil {
			return failed
		}
		if !reflect.DeepEqual(guards(request.Kind, scene.raw), guards(request.Kind, current)) {
			resource := schema.GroupResource{Group: request.Kind.GroupVersionKind().Group, Resource: request.Kind.Resource()}
			err = apierrors.NewConflict(resource, request.Workload.Name, err)
		}
	}
	if scope.IsDenied(err) {
		return &Obstacle{ObstacleDenied, fmt.Sprintf(
			"%s can't go back, since the API server denied its earlier %s: %s", request.phrase(), workload.ContentNoun(request.Kind), denial(err))}
	}
	return fmt.Errorf("rolling back %s: %w", request, err)
}

// denial returns why the API server denied a patch, without the object, which it quotes before the fields that it doesn't know.
func denial(err error) string {
	text := err.Error()
	return text[max(strings.LastIndex(text, "strict decoding error: "), 0):]
}
