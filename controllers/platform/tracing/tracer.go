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

// Package tracing sends the course of each release as one OpenTelemetry trace. Whoever writes a status sends the spans that
// follow from it, on whichever replica: all ids are derived from the release, so that nobody has to remember anything.
package tracing

import (
	"context"
	"fmt"
	"os"
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
	// service is how the operator names itself, unless OTEL_SERVICE_NAME says otherwise.
	service = "altershield-operator"
	// scope names the code that makes the spans.
	scope = "github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	// flushTime is how long the last spans may take to be sent when the operator stops.
	flushTime = 3 * time.Second
)

// Tracer sends spans. It never waits for the collector: what can't be sent in time is dropped. A nil Tracer does nothing, and
// costs nothing.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New returns nil where nothing is to be traced. It doesn't connect yet.
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
	ctrl.Log.WithName("tracing").Info("Traces of releases are sent", "endpoint", config.Endpoint, "tls", !config.Insecure)
	return NewTo(ctx, exporter)
}

// NewTo makes a Tracer that hands its spans to an exporter.
func NewTo(ctx context.Context, exporter sdktrace.SpanExporter) (*Tracer, error) {
	// What comes last holds: users may rename the service.
	identity, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(instance()...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describing the operator in its traces, OTEL_RESOURCE_ATTRIBUTES included: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(reporting{exporter}), sdktrace.WithIDGenerator(generator{}), sdktrace.WithResource(identity))
	return &Tracer{provider: provider, tracer: provider.Tracer(scope)}, nil
}

// instance tells one replica from another.
func instance() []attribute.KeyValue {
	attributes := []attribute.KeyValue{attribute.String("service.name", service)}
	if name, err := os.Hostname(); err == nil {
		attributes = append(attributes, attribute.String("service.instance.id", name))
	}
	return attributes
}

// reporting tells the operator's log of spans that were not taken.
type reporting struct{ sdktrace.SpanExporter }

// ExportSpans never fails: OpenTelemetry would only print its errors.
func (r reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := r.SpanExporter.ExportSpans(ctx, spans); err != nil {
		ctrl.Log.WithName("tracing").Error(err, "Spans of releases were not taken by --traces-endpoint, and are lost", "spans", len(spans))
	}
	return nil
}

// Shutdown sends what is left, for three seconds at most.
func (t *Tracer) Shutdown() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		ctrl.Log.WithName("tracing").Error(err, "The last spans of releases were not taken by --traces-endpoint, and are lost")
	}
}

// root is the context of the span that is the release. Only a tracer can say whether it is sampled, so one is started; a span
// that never ends is never sent.
func (t *Tracer) root(release Release) trace.SpanContext {
	ctx := withIDs(context.Background(), release.TraceID(), release.SpanID(partRelease))
	_, span := t.tracer.Start(ctx, partRelease, trace.WithNewRoot())
	return span.SpanContext()
}

// within lets spans that are started with the context be children of a part of the release.
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

// sendOne sends a span as a child of that of the context.
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
	attributes := []attribute.KeyValue{
		attribute.String("k8s.namespace.name", release.Namespace),
		attribute.String("k8s.deployment.name", release.Name),
		attribute.String("k8s.deployment.uid", string(release.Deployment)),
		attribute.String("altershield.release.version", release.Version),
	}
	if release.Number > 0 {
		attributes = append(attributes, attribute.Int64("altershield.release.number", release.Number))
	}
	return attributes
}
