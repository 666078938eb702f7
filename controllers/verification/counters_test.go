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

package verification_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verification"
)

const system = "altershieldoperator-system"

// began is a multiple of the interval, as are the looks.
var began = time.Unix(1767225600, 0).UTC()

// sourcesOf returns the source prometheus of a server, or of none, whose namespaces are read by reader.
func sourcesOf(t *testing.T, handler http.HandlerFunc, reader client.Reader) *source.Sources {
	t.Helper()
	g := NewWithT(t)
	metrics, err := source.NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	sources := &source.Sources{
		Namespaces: reader, Secrets: reader, Namespace: system, Metrics: metrics, Clock: clock.RealClock{},
		Guard: source.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}
	if handler == nil {
		return sources
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	object := &appv1alpha1.VerificationSource{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "prometheus", UID: "1"}}
	object.Spec = appv1alpha1.VerificationSourceSpec{
		Type: "Prometheus", URL: server.URL, AllowedNamespaces: &metav1.LabelSelector{},
		Limits:     appv1alpha1.SourceLimits{QueriesPerSecond: 10, Burst: 20, Concurrent: 4, TimeoutSeconds: 5, MaxBytes: 8388608, MaxSeries: 2000},
		Prometheus: &appv1alpha1.PrometheusSource{Labels: appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"}},
	}
	_, err = sources.Look(t.Context(), object)
	g.Expect(err).NotTo(HaveOccurred())
	return sources
}

func shop() client.Object { return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}} }

func asked(matchers ...string) decide.AskedCheck {
	return decide.AskedCheck{
		CheckID: decide.CheckID{Policy: "shop/web", Name: "errors"}, Interval: 15 * time.Second,
		Ratio: &appv1alpha1.RatioCheck{
			SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}, Total: appv1alpha1.MetricSelector{Metric: "requests_total"},
			Bad: appv1alpha1.MetricSelector{Metric: "errors_total", Matchers: matchers},
		},
	}
}

func release() *checks.Scene {
	return &checks.Scene{Kind: "Deployment", Namespace: "shop", Name: "web", Began: began}
}

// answers two pods at the times 15 seconds before the release began, and then.
func answers(writer http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	result := `{"metric":{"pod":"web-1"},"values":[[1767225585,"100"],[1767225600,"200"]]},{"metric":{"pod":"web-2"},"values":[[1767225600,"7"]]}`
	if strings.Contains(string(body)+request.URL.RawQuery, "errors_total") {
		result = `{"metric":{"pod":"web-1"},"values":[[1767225585,"1"],[1767225600,"2"]]}`
	}
	_, _ = writer.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[` + result + `]}}`))
}

func TestCounters(t *testing.T) {
	g := NewWithT(t)
	sources := sourcesOf(t, answers, testkit.NewFake(t, shop()))
	counters, err := verification.Counters(t.Context(), sources, release(), asked(), began.Add(7*time.Second))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(counters.Reason + counters.Message).To(BeEmpty())
	g.Expect(counters.Moments).To(Equal([]time.Time{began.Add(-30 * time.Second), began.Add(-15 * time.Second), began}))
	none := func(values []float64) []bool {
		var all []bool
		for _, value := range values {
			all = append(all, math.IsNaN(value))
		}
		return all
	}
	g.Expect(counters.Total).To(HaveLen(2))
	g.Expect(none(counters.Total["web-1"])).To(Equal([]bool{true, false, false}))
	g.Expect(counters.Total["web-1"][1:]).To(Equal([]float64{100, 200}))
	g.Expect(none(counters.Total["web-2"])).To(Equal([]bool{true, true, false}))
	g.Expect(counters.Bad).To(HaveLen(1))
	g.Expect(counters.Bad["web-1"][1:]).To(Equal([]float64{1, 2}))
}

func TestCountersSayWhyTheyCantBeRead(t *testing.T) {
	fails := func(writer http.ResponseWriter, _ *http.Request) { writer.WriteHeader(http.StatusTooManyRequests) }
	for name, row := range map[string]struct {
		handler         http.HandlerFunc
		asked           decide.AskedCheck
		reason, message string
	}{
		"no source":             {nil, asked(), "SourceMissing", "there is no such source in namespace " + system},
		"one that is throttled": {fails, asked(), "SourceThrottled", "the source refuses further queries for now (HTTP 429)"},
		"an unusable matcher":   {answers, asked("code"), "BadQuery", `bad.matchers[0]: "code" is not one label matcher`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			counters, err := verification.Counters(t.Context(), sourcesOf(t, row.handler, testkit.NewFake(t, shop())), release(), row.asked, began)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(counters.Reason).To(Equal(row.reason))
			g.Expect(counters.Message).To(ContainSubstring(row.message))
		})
	}
}

func TestCountersReturnErrorsOfTheAPIServer(t *testing.T) {
	broken := interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("connection refused")
		},
	})
	_, err := verification.Counters(t.Context(), sourcesOf(t, answers, broken), release(), asked(), began)
	NewWithT(t).Expect(err).To(MatchError("reading metrics for the check errors of shop/web: reading namespace shop: connection refused"))
}
