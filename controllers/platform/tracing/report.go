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

package tracing

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Recorded reports a release that was recorded at now.
func (t *Tracer) Recorded(kind string, workload metav1.Object, now time.Time) {
	if t == nil {
		return
	}
	release := releaseAt(kind, workload)
	t.send(release, RecordSpan(release, workload.GetAnnotations(), now))
}

// releaseAt returns the current release of a workload.
func releaseAt(kind string, workload metav1.Object) Release {
	at := decide.ReleaseOf(workload)
	return Release{
		Workload: workload.GetUID(), Kind: kind, Namespace: workload.GetNamespace(), Name: workload.GetName(),
		Version: at.Version, Number: at.Number,
	}
}

// Changed reports a status of a ChangeWorkload that was written at now.
func (t *Tracer) Changed(before, after *appv1alpha1.ChangeWorkload, owner metav1.Object, batches []appv1alpha1.ChangePod, now time.Time) {
	if t == nil {
		return
	}
	t.send(ReleaseOf(after), StatusSpans(before, after, owner.GetAnnotations(), batches, now))
}

// Superseded reports a ChangeWorkload, as it was before now, that has recorded another release of its version.
func (t *Tracer) Superseded(before *appv1alpha1.ChangeWorkload, now time.Time) {
	if t == nil {
		return
	}
	t.send(ReleaseOf(before), SupersededSpans(before, now))
}

// Checked reports a status of a ChangePod that was written at now. It reads the ChangeWorkload from the reader.
func (t *Tracer) Checked(ctx context.Context, reader client.Reader, before, after *appv1alpha1.ChangePod, now time.Time) {
	if t == nil || before.Status.Status == after.Status.Status {
		return
	}
	workload := &appv1alpha1.ChangeWorkload{}
	key := client.ObjectKey{Namespace: after.Namespace, Name: after.Spec.ChangeWorkloadID}
	if err := reader.Get(ctx, key, workload, client.DisableReadYourWritesConsistency); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("A batch is not traced", "changePod", client.ObjectKeyFromObject(after), "reason", err.Error())
		return
	}
	release := releaseOfBatch(workload, after)
	t.send(release, BatchSpans(release, before, after, now))
}

// releaseOfBatch takes the number from the batch, as its ChangeWorkload may record a later release by now.
func releaseOfBatch(workload *appv1alpha1.ChangeWorkload, batch *appv1alpha1.ChangePod) Release {
	release := ReleaseOf(workload)
	release.Number = batch.Spec.Release
	return release
}

// RolledBack reports a rollback made from start to end. The workload is as it was before.
func (t *Tracer) RolledBack(kind string, workload metav1.Object, made *appv1alpha1.Rollback, start, end time.Time) {
	if t == nil {
		return
	}
	left := releaseAt(kind, workload)
	left.Version, left.Number = made.Version, made.Release
	t.send(left, []Span{RollbackSpan(left, made, start, end)})
}

// Denied reports an update that was denied because of a release. It gets its own trace: a denied update is no release, and there may
// be any number of them.
func (t *Tracer) Denied(asked, because Release, decision string, start, end time.Time) {
	if t == nil {
		return
	}
	t.sendOne(context.Background(), asked, &Span{
		Name: "deny release " + asked.Namespace + "/" + asked.Name, Start: start, End: end, Link: because,
		Attributes: []attribute.KeyValue{attribute.String("altershield.admission.decision", decision)},
	})
}

// InRelease returns a context in which calls of the verifier are children of the release.
func (t *Tracer) InRelease(ctx context.Context, workload *appv1alpha1.ChangeWorkload) context.Context {
	return t.OfRelease(ctx, ReleaseOf(workload))
}

// OfRelease returns a context in which calls of others, such as of plug-ins, are children of a release.
func (t *Tracer) OfRelease(ctx context.Context, release Release) context.Context {
	if t == nil {
		return ctx
	}
	return t.within(ctx, release, partRelease)
}

// InBatch returns a context in which calls of the verifier are children of the batch.
func (t *Tracer) InBatch(ctx context.Context, workload *appv1alpha1.ChangeWorkload, batch *appv1alpha1.ChangePod) context.Context {
	if t == nil {
		return ctx
	}
	return t.within(ctx, releaseOfBatch(workload, batch), string(batch.UID))
}

// Transport adds a span for each request that belongs to a release, and the header traceparent.
func (t *Tracer) Transport(base http.RoundTripper) http.RoundTripper {
	if t == nil {
		return base
	}
	return otelhttp.NewTransport(base,
		otelhttp.WithTracerProvider(t.provider),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(request *http.Request) bool {
			return trace.SpanContextFromContext(request.Context()).IsValid()
		}),
		otelhttp.WithSpanNameFormatter(func(_ string, request *http.Request) string {
			return request.Method + " " + request.URL.Path
		}))
}
