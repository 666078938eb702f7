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

package source

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

func TestLookFindsFaultsOfASource(t *testing.T) {
	endless := func(writer http.ResponseWriter, _ *http.Request) {
		for _, err := writer.Write([]byte(`{"status":"`)); err == nil; {
			_, err = writer.Write(make([]byte, 64<<10))
		}
	}
	for name, row := range map[string]struct {
		handler  http.HandlerFunc
		expected string
		up       float64
	}{
		"a failure":           {says(500, `{"status":"error","error":"boom"}`), "SourceUnavailable the source failed (HTTP 500): boom", 0},
		"a page":              {says(200, "<html>secret</html>"), "SourceUnavailable the answer is not one of the Prometheus API: see spec.url", 0},
		"another API":         {says(200, `{"status":"success","data":{"resultType":"secret"}}`), "SourceUnavailable the answer is not one of the Prometheus API: see spec.url", 0},
		"an error with 200":   {says(200, `{"status":"error","error":"secret"}`), "SourceUnavailable the answer is not one of the Prometheus API: see spec.url", 0},
		"nothing":             {says(200, ""), "SourceUnavailable the answer is not one of the Prometheus API: see spec.url", 0},
		"no content":          {says(204, ""), "SourceUnavailable the answer is not one of the Prometheus API: see spec.url", 0},
		"a closed connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "SourceUnavailable EOF", 0},
		"no end":              {endless, "TooLarge the answer has more than limits.maxBytes, 65536 bytes", 1},
		"a bomb":              {bomb, "TooLarge the answer has more than limits.maxBytes, 65536 bytes", 1},
		"a long header":       {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("A", strings.Repeat("a", 100<<10)) }, "SourceUnavailable net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 65536 bytes; aborted", 0},
		"a redirect":          {http.RedirectHandler("http://169.254.169.254/latest/meta-data/", http.StatusFound).ServeHTTP, "SourceUnavailable the source redirects (HTTP 302), which the operator doesn't follow: correct spec.url", 0},
		"no credentials":      {says(401, ""), "Unauthorized the source doesn't accept the credentials (HTTP 401): see spec.auth", 1},
		"too many queries":    {says(429, ""), "SourceThrottled the source refuses further queries for now (HTTP 429)", 1},
		"no query at all":     {says(405, ""), "SourceUnavailable the source failed (HTTP 405)", 0},
		"a text":              {says(200, `{"status":"success","data":{"resultType":"string","result":[1,"a"]}}`), "SourceUnavailable the answer is not one of the Prometheus API: see spec.url", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			sources := newSources(t)
			failure := look(t, sources, define(serve(t, row.handler), func(s *appv1alpha1.VerificationSourceSpec) { s.Limits.MaxBytes = 65536 }))
			g.Expect(string(failure.Kind) + " " + failure.Message).To(Equal(row.expected))
			g.Expect(failure.Source).To(Equal("prometheus"))
			g.Expect(counted(sources.Metrics, string(failure.Kind))).To(BeEquivalentTo(1))
			g.Expect(isUp(sources.Metrics)).To(Equal(row.up))
		})
	}
}

// bomb answers with much in little.
func bomb(writer http.ResponseWriter, _ *http.Request) {
	writer.Header().Set("Content-Encoding", "gzip")
	zipped := gzip.NewWriter(writer)
	for range 1024 {
		if _, err := zipped.Write(make([]byte, 64<<10)); err != nil {
			return
		}
	}
}

func TestExchangeAsksOnceWithCredentialsAndHeaders(t *testing.T) {
	g := NewWithT(t)
	var asked []*http.Request
	address := serve(t, func(writer http.ResponseWriter, request *http.Request) {
		_ = request.ParseForm()
		asked = append(asked, request)
		says(403, "")(writer, request)
	})
	failure := look(t, newSources(t, secret("token", map[string]string{"token": "abc"})), define(address+"/prefix/", func(s *appv1alpha1.VerificationSourceSpec) {
		s.Auth = appv1alpha1.SourceAuth{Type: "BearerToken", SecretRef: &appv1alpha1.SourceSecret{Name: "token"}}
		s.Headers = []appv1alpha1.SourceHeader{{Name: "X-Scope-OrgID", Value: "team"}}
	}))
	g.Expect(failure.Kind).To(BeEquivalentTo("Unauthorized"))
	g.Expect(asked).To(HaveLen(1), "what the source refuses isn't sent again by GET")
	g.Expect(asked[0].Method + " " + asked[0].URL.Path).To(Equal("POST /prefix/api/v1/query"))
	g.Expect(asked[0].Header).To(And(HaveKeyWithValue("Authorization", []string{"Bearer abc"}), HaveKeyWithValue("X-Scope-Orgid", []string{"team"}),
		HaveKeyWithValue("User-Agent", []string{"altershield-operator"})))
	g.Expect(asked[0].Form).To(And(HaveKeyWithValue("query", []string{"vector(1)"}), HaveKeyWithValue("timeout", []string{"5s"}), HaveKeyWithValue("limit", []string{"2001"})))
}

func TestExchangeAsksByGETWherePOSTIsUnknown(t *testing.T) {
	g := NewWithT(t)
	methods := []string{}
	address := serve(t, func(writer http.ResponseWriter, request *http.Request) {
		methods = append(methods, request.Method)
		if request.Method == http.MethodPost {
			writer.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		says(200, one)(writer, request)
	})
	g.Expect(look(t, newSources(t), define(address))).To(Succeed())
	g.Expect(methods).To(Equal([]string{"POST", "GET"}))
}

func TestExchangeConnectsToNoLoopbackAddressUnlessAllowed(t *testing.T) {
	g := NewWithT(t)
	var asked atomic.Int32
	address := serve(t, func(writer http.ResponseWriter, request *http.Request) {
		asked.Add(1)
		says(200, one)(writer, request)
	})
	sources := newSources(t)
	sources.Guard = Guard{}
	_, port, _ := strings.Cut(strings.TrimPrefix(address, "http://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		failure := look(t, sources, define("http://"+host+":"+port, func(s *appv1alpha1.VerificationSourceSpec) {
			s.Headers = []appv1alpha1.SourceHeader{{Name: "a", Value: host}}
		}))
		sources.Forget("prometheus")
		g.Expect(failure).To(HaveOccurred(), host)
		g.Expect(string(failure.Kind)+" "+failure.Message).To(Equal(
			"AddressRefused the host of spec.url has a loopback address, to which the operator doesn't connect: see --source-allow-cidr"), host)
	}
	g.Expect(asked.Load()).To(BeZero())
}

func TestExchangeUsesNoProxyOfTheEnvironment(t *testing.T) {
	transport, ok := newExchange(connection{}, Guard{}, nil).http.Transport.(*http.Transport)
	NewWithT(t).Expect(ok).To(BeTrue())
	NewWithT(t).Expect(transport.Proxy).To(BeNil())
}

func TestExchangeChecksTheCertificate(t *testing.T) {
	server := httptest.NewTLSServer(says(200, one))
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	ref := &appv1alpha1.SourceSecret{Name: "ca"}
	for name, row := range map[string]struct {
		tls      *appv1alpha1.SourceTLS
		expected string
	}{
		"of nobody":       {nil, "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		"of its bundle":   {&appv1alpha1.SourceTLS{CABundle: authority}, ""},
		"of a Secret":     {&appv1alpha1.SourceTLS{CASecretRef: ref}, ""},
		"of its name":     {&appv1alpha1.SourceTLS{CASecretRef: ref, ServerName: "example.com"}, ""},
		"of another name": {&appv1alpha1.SourceTLS{CASecretRef: ref, ServerName: "example.org"}, "tls: failed to verify certificate: x509: certificate is valid for example.com, "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			failure := look(t, newSources(t, secret("ca", map[string]string{"ca.crt": authority})), define(server.URL, func(s *appv1alpha1.VerificationSourceSpec) { s.TLS = row.tls }))
			if row.expected == "" {
				g.Expect(failure).NotTo(HaveOccurred())
				return
			}
			g.Expect(failure.Message).To(HavePrefix(row.expected))
		})
	}
}

func TestExchangeSendsItsCertificate(t *testing.T) {
	ours, key := keyPair(t)
	others, otherKey := keyPair(t)
	server := httptest.NewUnstartedServer(says(200, one))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	server.TLS.ClientCAs.AppendCertsFromPEM([]byte(ours))
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	refused := HavePrefix("remote error: tls: ")
	g, sources := NewWithT(t), newSources(t)
	kube, ok := sources.Secrets.(client.Client)
	g.Expect(ok).To(BeTrue())
	object := define(server.URL, func(s *appv1alpha1.VerificationSourceSpec) { s.TLS = &appv1alpha1.SourceTLS{CABundle: authority} })
	g.Expect(look(t, sources, object).Message).To(refused, "without one")
	object.Spec.TLS.ClientCertSecretRef, object.Generation = &appv1alpha1.SourceSecret{Name: "client"}, 2
	g.Expect(kube.Create(t.Context(), secret("client", map[string]string{"tls.crt": others, "tls.key": otherKey}))).To(Succeed())
	g.Expect(look(t, sources, object).Message).To(refused, "with that of another client")
	var renewed corev1.Secret
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "client"}, &renewed)).To(Succeed())
	renewed.Data = map[string][]byte{"tls.crt": []byte(ours), "tls.key": []byte(key)}
	g.Expect(kube.Update(t.Context(), &renewed)).To(Succeed())
	g.Expect(look(t, sources, object)).To(Succeed(), "the Secret is read again")
}

func TestExchangeNeedsTLS12(t *testing.T) {
	server := httptest.NewUnstartedServer(says(200, one))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	server.StartTLS()
	t.Cleanup(server.Close)
	failure := look(t, newSources(t), define(server.URL))
	NewWithT(t).Expect(failure.Message).To(Equal("remote error: tls: protocol version not supported"))
}

func TestReaderLeavesGapsOut(t *testing.T) {
	g := NewWithT(t)
	answers := map[string]string{
		"/api/v1/query": one,
		"/api/v1/query_range": `{"status":"success","warnings":["c","a\nb"],"data":{"resultType":"matrix","result":[
			{"metric":{"pod":"a"},"values":[[1767225600,"1"],[1767225615,"NaN"],[1767225630,"+Inf"],[1767225645,"-2.5"]]},
			{"metric":{"pod":"b"},"histograms":[[1767225600,{"count":"1","sum":"1","buckets":[]}]]}]}}`,
	}
	asks := reader(t, newSources(t), define(serve(t, func(writer http.ResponseWriter, request *http.Request) {
		says(200, answers[request.URL.Path])(writer, request)
	})))
	window := Align(at("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:45Z"), 15*time.Second, 0)
	answer := strings.ReplaceAll(fmt.Sprint(asks.Range(t.Context(), "a", window)), "NaN", "-")
	g.Expect(answer).To(Equal("{[{map[pod:a] [1 - - -2.5]} {map[pod:b] [- - - -]}] 3 a b} <nil>"))
	for result, expected := range map[string]string{
		`{"resultType":"scalar","result":[1767225600,"2"]}`:                                                                       "{[{map[] [2]}] 0 }",
		`{"resultType":"vector","result":[{"metric":{"pod":"a"},"value":[1767225599,"2"]}]}`:                                      "{[{map[pod:a] [2]}] 0 }",
		`{"resultType":"vector","result":[{"metric":{"pod":"a"},"histogram":[1767225600,{"count":"1","sum":"1","buckets":[]}]}]}`: "{[{map[pod:a] [NaN]}] 1 }",
		`{"resultType":"vector","result":[]}`:                                                                                     "{[] 0 }",
	} {
		answers["/api/v1/query"] = `{"status":"success","data":` + result + `}`
		g.Expect(fmt.Sprint(asks.Instant(t.Context(), result, at("2026-01-01T00:00:00Z")))).To(Equal(expected + " <nil>"))
	}
}

// Thanos Query Frontend moves each window to multiples of its step, and VictoriaMetrics one of fifty steps or more. Looks are spread, so that most windows
// have other ends.
func TestReaderTakesTheStepsOfASourceThatMovesTheWindow(t *testing.T) {
	asks := reader(t, newSources(t), define(serve(t, func(writer http.ResponseWriter, request *http.Request) {
		answer := one
		if request.URL.Path == "/api/v1/query_range" {
			answer = `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"pod":"a"},
				"values":[[1767225585,"1"],[1767225600,"2"],[1767225615,"3"],[1767225630,"4"]]}]}}`
		}
		says(200, answer)(writer, request)
	})))
	for _, offset := range []time.Duration{0, time.Second, 14 * time.Second} {
		window := Align(at("2025-12-31T23:59:59Z"), at("2026-01-01T00:00:44Z"), 15*time.Second, offset)
		window.Start = window.End.Add(-45 * time.Second)
		answer, err := asks.Range(t.Context(), "a", window)
		NewWithT(t).Expect(fmt.Sprint(answer.Series, err)).To(Equal("[{map[pod:a] [1 2 3 4]}] <nil>"), offset.String())
	}
}

func TestReaderRefusesARangeThatIsNone(t *testing.T) {
	asks := reader(t, newSources(t), define(serve(t, says(200, one))))
	_, err := asks.Range(t.Context(), "a", Align(at("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:45Z"), 15*time.Second, 0))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("the answer to a range query is a vector, not a matrix: see spec.url")))
	failure, ok := errors.AsType[*Error](err)
	NewWithT(t).Expect(ok).To(BeTrue())
	NewWithT(t).Expect(failure.Kind).To(BeEquivalentTo("SourceUnavailable"))
}

func TestReaderHasAValueForEachStep(t *testing.T) {
	asks := reader(t, newSources(t), define(serve(t, func(writer http.ResponseWriter, request *http.Request) {
		answer := one
		if request.URL.Path == "/api/v1/query_range" {
			answer = `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"pod":"a"},
				"values":[[-9223372036,"8"],[1767225570,"9"],[1767225585,"1"],[1767225600,"2"],[1767225630,"4"],[1767225645,"9"],[9223372036,"8"]]}]}}`
		}
		says(200, answer)(writer, request)
	})))
	window := Align(at("2025-12-31T23:59:45Z"), at("2026-01-01T00:00:30Z"), 15*time.Second, 0)
	answer, err := asks.Range(t.Context(), "a", window)
	NewWithT(t).Expect(fmt.Sprint(answer.Series, err)).To(Equal("[{map[pod:a] [1 2 NaN 4]}] <nil>"), "what is beyond the steps isn't asked for")
	NewWithT(t).Expect(window.Moments()).To(Equal([]time.Time{
		at("2025-12-31T23:59:45Z"), at("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:15Z"), at("2026-01-01T00:00:30Z"),
	}))
}

func TestReaderTakesNoPartForTheWhole(t *testing.T) {
	series := func(n int) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = `{"metric":{"pod":"` + strconv.Itoa(i) + `"},"value":[1767225600,"1"]}`
		}
		return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(parts, ",") + `]}}`
	}
	three := func(s *appv1alpha1.VerificationSourceSpec) { s.Limits.MaxSeries = 3 }
	NewWithT(t).Expect(look(t, newSources(t), define(serve(t, says(200, series(3))), three))).To(Succeed())
	failure := look(t, newSources(t), define(serve(t, says(200, series(4))), three))
	NewWithT(t).Expect(string(failure.Kind) + " " + failure.Message).To(Equal("TooLarge the answer has more than limits.maxSeries, 3 series"))
}

func TestReaderConfinesQueriesToTheNamespace(t *testing.T) {
	g := NewWithT(t)
	var queries []string
	address := serve(t, func(writer http.ResponseWriter, request *http.Request) {
		queries = append(queries, request.FormValue("query"))
		answer := one
		if request.URL.Path == "/api/v1/query_range" {
			answer = `{"status":"success","data":{"resultType":"matrix","result":[]}}`
		}
		says(200, answer)(writer, request)
	})
	asks := reader(t, newSources(t), define(address, func(s *appv1alpha1.VerificationSourceSpec) {
		s.Prometheus = &appv1alpha1.PrometheusSource{Labels: appv1alpha1.SourceLabels{Pod: "pod_name", Namespace: "kubernetes_namespace"}, EnforceNamespace: true}
	}))
	g.Expect(asks.Labels.Pod).To(Equal("pod_name"))
	now := at("2026-01-01T00:00:00Z")
	for _, ask := range []func(string) (Answer, error){
		func(query string) (Answer, error) { return asks.Instant(t.Context(), query, now) },
		func(query string) (Answer, error) {
			return asks.Range(t.Context(), query, Align(now, now, 15*time.Second, 0))
		},
	} {
		queries = nil
		_, err := ask(`up{job="a"}`)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(queries).To(Equal([]string{`up{job="a",kubernetes_namespace="shop"}`}))
		_, err = ask("sum(")
		g.Expect(err).To(MatchError("VerificationSource prometheus: parsing the query: 1:5: parse error: unclosed left parenthesis"))
		g.Expect(kindOf(err)).To(BeEquivalentTo("BadQuery"))
		g.Expect(queries).To(HaveLen(1), "what can't be parsed isn't sent")
	}
}

func TestExchangeLeavesAConnectionThatNoLongerAnswers(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first atomic.Value
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if first.CompareAndSwap(nil, request.RemoteAddr) || first.Load() != request.RemoteAddr {
			says(200, one)(writer, request)
			return
		}
		_, _ = io.Copy(io.Discard, request.Body) // else the server doesn't notice that the client leaves
		cancel()
		<-request.Context().Done()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	sources, object := newSources(t), define(server.URL, func(s *appv1alpha1.VerificationSourceSpec) { s.TLS = &appv1alpha1.SourceTLS{CABundle: authority} })
	g.Expect(look(t, sources, object)).To(Succeed())
	_, err := sources.Look(ctx, object)
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(look(t, sources, object)).To(Succeed())
}

// talks starts a server that answers with a text, whatever it is asked, and returns its address.
func talks(t *testing.T, text string) string {
	t.Helper()
	return serve(t, func(writer http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(writer).Hijack()
		if err != nil {
			t.Errorf("taking the connection: %v", err)
			return
		}
		_, _ = connection.Write([]byte(text))
		_ = connection.Close()
	})
}

func TestLookShowsNothingOfAnAnswerThatIsNoHTTP(t *testing.T) {
	for text, expected := range map[string]string{
		"SSH-2.0-secret\r\n":                                                          "net/http: HTTP/1.x transport connection broken: malformed HTTP response",
		"HTTP/1.1 secret\r\n\r\n":                                                     "net/http: HTTP/1.x transport connection broken: malformed HTTP status code",
		"HTTP/1.1 200 OK\r\nsecret\r\n\r\n":                                           "the answer has a malformed header",
		"HTTP/1.1 200 OK\r\nContent-Length: secret\r\n\r\n":                           "net/http: HTTP/1.x transport connection broken: bad Content-Length",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: secret\r\n\r\n":                        "net/http: HTTP/1.x transport connection broken: unsupported transfer encoding:",
		"HTTP/1.1 302 Found\r\nLocation: http://[secret\r\nContent-Length: 0\r\n\r\n": "failed to parse Location header",
	} {
		failure := look(t, newSources(t), define(talks(t, text)))
		NewWithT(t).Expect(string(failure.Kind) + " " + failure.Message).To(Equal("SourceUnavailable " + expected))
	}
}
