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

package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	testclock "k8s.io/utils/clock/testing"

	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
)

// The ID of the trace is that of the release: anybody can compute it.
func TestAskerTellsThePluginItsTrace(t *testing.T) {
	g := NewWithT(t)
	var headers []string
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		headers = append(headers, request.Method+" "+request.Header.Get("traceparent"))
		_, _ = io.WriteString(writer, `{"verdict":"Pass"}`)
	}))
	t.Cleanup(server.Close)
	tracer, err := tracing.NewTo(t.Context(), tracetest.NewInMemoryExporter())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(tracer.Shutdown)
	clock := testclock.NewFakeClock(time.Unix(1767225600, 0))
	asker := newAsker(t.Context(), t, server.URL, clock, tracer)
	asker.Tracer = tracer
	_, err = asker.answer(question("1", "", clock.Now().Add(15*time.Second)))
	g.Expect(err).NotTo(HaveOccurred())
	trace := sha256.Sum256([]byte("uid-web/3"))
	g.Expect(headers).To(HaveExactElements("HEAD ", MatchRegexp("^POST 00-"+hex.EncodeToString(trace[:16])+"-[0-9a-f]{16}-01$")), "the look at the source belongs to no release")

	untraced := newAsker(t.Context(), t, server.URL, clock)
	_, err = untraced.answer(question("1", "", clock.Now().Add(15*time.Second)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(headers[2:]).To(Equal([]string{"HEAD ", "POST "}))
}
