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

// Package collector receives traces over OTLP/gRPC for tests, like an OpenTelemetry collector.
package collector

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// Span is a received span. Ids are in hex digits; Parent is empty for a root.
type Span struct {
	Trace, ID, Parent string
	Name              string
	Start, End        time.Time
	// Attributes are those of the span, Resource those of its sender.
	Attributes, Resource map[string]string
	// Failure is the description of a span with the status error, "" otherwise.
	Failure string
	// Links are the traces that the span links to.
	Links []string
}

// Collector keeps every received span.
type Collector struct {
	collectorpb.UnimplementedTraceServiceServer

	server *grpc.Server
	mutex  sync.Mutex
	spans  []Span
}

// Start serves on a listener, which Stop closes.
func Start(listener net.Listener, options ...grpc.ServerOption) *Collector {
	collector := &Collector{server: grpc.NewServer(options...)}
	collectorpb.RegisterTraceServiceServer(collector.server, collector)
	go func() { _ = collector.server.Serve(listener) }() // ends with Stop; tests notice missing spans
	return collector
}

// Stop closes every connection.
func (c *Collector) Stop() { c.server.Stop() }

// Spans returns the spans received so far.
func (c *Collector) Spans() []Span {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.spans)
}

// Export receives spans.
func (c *Collector) Export(_ context.Context, request *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, sender := range request.ResourceSpans {
		resource := attributes(sender.Resource.GetAttributes())
		for _, scope := range sender.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans = append(c.spans, spanOf(span, resource))
			}
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func spanOf(span *tracepb.Span, resource map[string]string) Span {
	arrived := Span{
		Trace: hex.EncodeToString(span.TraceId), ID: hex.EncodeToString(span.SpanId), Parent: hex.EncodeToString(span.ParentSpanId),
		Name: span.Name, Start: time.Unix(0, int64(span.StartTimeUnixNano)), End: time.Unix(0, int64(span.EndTimeUnixNano)),
		Attributes: attributes(span.Attributes), Resource: resource,
	}
	if span.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		arrived.Failure = span.Status.Message
	}
	for _, link := range span.Links {
		arrived.Links = append(arrived.Links, hex.EncodeToString(link.TraceId))
	}
	return arrived
}

func attributes(pairs []*commonpb.KeyValue) map[string]string {
	result := map[string]string{}
	for _, pair := range pairs {
		switch value := pair.Value.GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			result[pair.Key] = value.StringValue
		case *commonpb.AnyValue_IntValue:
			result[pair.Key] = fmt.Sprint(value.IntValue)
		default:
			result[pair.Key] = pair.Value.String()
		}
	}
	return result
}
