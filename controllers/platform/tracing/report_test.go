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

package tracing_test

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/hack/collector"
)

func TestNewSendsSpansOverTLSByDefault(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewTLSServer(nil) // for its certificate
	defer server.Close()
	authority := filepath.Join(t.TempDir(), "ca.crt")
	g.Expect(os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600)).To(Succeed())
	listener := listen(t)
	secured := collector.Start(listener, grpc.Creds(credentials.NewServerTLSFromCert(&server.TLS.Certificates[0])))
	defer secured.Stop()
	plain, config := collecting(t)
	send := func(endpoint string) {
		tracer := newTracer(t, tracing.Config{Endpoint: endpoint})
		tracer.Recorded("Deployment", sleep(), at("10:00:01.5"))
		tracer.Shutdown()
	}
	send(config.Endpoint)
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", authority)
	t.Setenv("OTEL_SERVICE_NAME", "change-control")
	send(listener.Addr().String())
	g.Expect(secured.Spans()).To(HaveLen(1))
	g.Expect(secured.Spans()[0].Resource).To(HaveKeyWithValue("service.name", "change-control"))
	g.Expect(plain.Spans()).To(BeEmpty())
}

// called starts a server and returns its URL and the header traceparent of its last request.
func called(t *testing.T) (url string, traceparent *string) {
	traceparent = new(string)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		*traceparent = request.Header.Get("traceparent")
	}))
	t.Cleanup(server.Close)
	return server.URL + "/openapi/v1/exe/submitChangeExecOrder", traceparent
}

func call(ctx context.Context, t *testing.T, transport http.RoundTripper, url string) {
	g := NewWithT(t)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	g.Expect(err).NotTo(HaveOccurred())
	response, err := transport.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
}

func TestTransportMakesACallForAReleaseASpan(t *testing.T) {
	g := NewWithT(t)
	collected, config := collecting(t)
	tracer := newTracer(t, config)
	transport := tracer.Transport(http.DefaultTransport)
	url, traceparent := called(t)

	call(t.Context(), t, transport, url)
	g.Expect(*traceparent).To(BeEmpty(), "a heartbeat belongs to no release")
	call(tracer.InRelease(t.Context(), workload("Running")), t, transport, url)
	inRelease := *traceparent
	call(tracer.InBatch(t.Context(), workload("Running"), batch("")), t, transport, url)
	inBatch := *traceparent
	tracer.Shutdown()

	spans := collected.Spans()
	g.Expect(spans).To(HaveLen(2))
	g.Expect(spans[0].Parent).To(Equal(release().SpanID("release").String()))
	g.Expect(spans[1].Parent).To(Equal(release().SpanID("batch-2").String()))
	g.Expect(inRelease).To(Equal("00-" + trace + "-" + spans[0].ID + "-01"))
	g.Expect(inBatch).To(Equal("00-" + trace + "-" + spans[1].ID + "-01"))
	g.Expect(spans[0].Name).To(Equal("POST /openapi/v1/exe/submitChangeExecOrder"))
	g.Expect(spans[0].Attributes).To(HaveKeyWithValue("http.response.status_code", "200"))
}

func TestTracerCostsNothingWhereItIsOff(t *testing.T) {
	g := NewWithT(t)
	var off *tracing.Tracer
	before, after, deployment := workload("Running"), workload("Success"), sleep()
	pending, finished := batch(""), batch("ExecuteDone")
	made, ctx, now := &appv1alpha1.Rollback{}, t.Context(), at("10:00:00")
	g.Expect(testing.AllocsPerRun(100, func() {
		off.Recorded("Deployment", deployment, now)
		off.Changed(before, after, deployment, nil, now)
		off.Superseded(before, now)
		off.Checked(ctx, nil, pending, finished, now)
		off.RolledBack("Deployment", deployment, made, now, now)
		off.Denied(tracing.Release{}, tracing.Release{}, "denied", now, now)
		off.InRelease(ctx, before)
		off.InBatch(ctx, before, pending)
		off.Shutdown()
	})).To(BeZero())
	g.Expect(off.Transport(http.DefaultTransport)).To(BeIdenticalTo(http.DefaultTransport))
}

func BenchmarkAReleaseThatEnds(b *testing.B) {
	deaf := httptest.NewServer(nil)
	defer deaf.Close()
	tracer, err := tracing.New(b.Context(), tracing.Config{Endpoint: deaf.Listener.Addr().String(), Insecure: true})
	if err != nil {
		b.Fatal(err)
	}
	before, after, deployment, now := workload("Running"), workload("Success"), sleep(), at("10:00:06")
	b.ReportAllocs()
	for b.Loop() {
		tracer.Changed(before, after, deployment, nil, now)
	}
}
