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

// Package tracing sends one OpenTelemetry trace for each release. The writer of a status sends the spans that follow from it, on any
// replica. All IDs are derived from the release, so no state has to be kept.
package tracing

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// service is the default of OTEL_SERVICE_NAME.
	service = "altershield-operator"
	// scope is the instrumentation scope.
	scope = "github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	// flushTime bounds the time for sending the last spans when the operator stops.
	flushTime = 3 * time.Second
)

// Tracer sends spans. It never waits for the collector, and drops spans that can't be sent in time. A nil Tracer does nothing.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New returns a Tracer, nil if tracing is off. It doesn't connect yet.
func New(ctx context.Context, config Config) (*Tracer, error) {
	if config.Endpoint == "" {
		return nil, nil
	}
	options := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(config.Endpoint)}
	if config.Insecure {
		options = append(options, otlptracegrpc.WithInsecure())
	}
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("setting up traces for --traces-endpoint %s: %w", config.Endpoint, err)
	}
	ctrl.Log.WithName("tracing").Info("Sending traces of releases", "endpoint", config.Endpoint, "tls", !config.Insecure)
	return NewTo(ctx, exporter)
}

// NewTo returns a Tracer with the given exporter.
func NewTo(ctx context.Context, exporter sdktrace.SpanExporter) (*Tracer, error) {
	// The last one takes precedence, so that users can rename the service.
	identity, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(instance()...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describing the operator in its traces, OTEL_RESOURCE_ATTRIBUTES included: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(reporting{exporter}), sdktrace.WithIDGenerator(generator{}), sdktrace.WithResource(identity))
	return &Tracer{provider: provider, tracer: provider.Tracer(scope)}, nil
}

// instance returns the attributes of this replica.
func instance() []attribute.KeyValue {
	attributes := []attribute.KeyValue{attribute.String("service.name", service)}
	if name, err := os.Hostname(); err == nil {
		attributes = append(attributes, attribute.String("service.instance.id", name))
	}
	return attributes
}

// reporting logs failures of an exporter.
type reporting struct{ sdktrace.SpanExporter }

// ExportSpans logs errors and never returns one, as OpenTelemetry would only print it.
func (r reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := r.SpanExporter.ExportSpans(ctx, spans); err != nil {
		ctrl.Log.WithName("tracing").Error(err, "Failed to send spans of releases to --traces-endpoint: they are lost", "spans", len(spans))
	}
	return nil
}

// Shutdown sends the remaining spans, for three seconds at most.
func (t *Tracer) Shutdown() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		ctrl.Log.WithName("tracing").Error(err, "Failed to send the last spans of releases to --traces-endpoint: they are lost")
	}
}

// root returns the context of the root span. It starts a span to find out whether the trace is sampled; a span that never ends is
// never sent.
func (t *Tracer) root(release Release) trace.SpanContext {
	ctx := withIDs(context.Background(), release.TraceID(), release.SpanID(partRelease))
	_, span := t.tracer.Start(ctx, partRelease, trace.WithNewRoot())
	return span.SpanContext()
}

// within returns a context in which spans are children of a part of the release.
func (t *Tracer) within(ctx context.Context, release Release, part string) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, t.root(release).WithSpanID(release.SpanID(part)))
}

// send sends spans of a release.
func (t *Tracer) send(release Release, spans []Span) {
	if len(spans) == 0 {
		return
	}
	root := t.root(release)
	if !root.IsSampled() {
		return
	}
	for i := range spans {
		ctx := withIDs(context.Background(), root.TraceID(), spans[i].ID)
		if spans[i].Parent.IsValid() {
			ctx = trace.ContextWithRemoteSpanContext(ctx, root.WithSpanID(spans[i].Parent))
		}
		t.sendOne(ctx, release, &spans[i])
	}
}

// sendOne sends a span as a child of the one in the context.
func (t *Tracer) sendOne(ctx context.Context, release Release, span *Span) {
	options := []trace.SpanStartOption{
		trace.WithTimestamp(span.Start), trace.WithAttributes(attributesOf(release)...), trace.WithAttributes(span.Attributes...),
	}
	if span.Link.Number > 0 {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: t.root(span.Link)}))
	}
	_, sent := t.tracer.Start(ctx, span.Name, options...)
	if span.Failure != "" {
		sent.SetStatus(codes.Error, span.Failure)
	}
	end := span.End
	if end.Before(span.Start) { // the clocks of two replicas differ
		end = span.Start
	}
	sent.End(trace.WithTimestamp(end))
}

func attributesOf(release Release) []attribute.KeyValue {
	kind := "k8s." + strings.ToLower(release.Kind) // as OpenTelemetry names them: k8s.statefulset.name
	attributes := []attribute.KeyValue{
		attribute.String("k8s.namespace.name", release.Namespace),
		attribute.String(kind+".name", release.Name),
		attribute.String(kind+".uid", string(release.Workload)),
		attribute.String("altershield.release.version", release.Version),
	}
	if release.Number > 0 {
		attributes = append(attributes, attribute.Int64("altershield.release.number", release.Number))
	}
	return attributes
}
