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
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

// history returns samples of two pods in the namespaces shop and bank: 10 and 20 errors more each 15 seconds, for ten minutes.
func history() string {
	var text strings.Builder
	text.WriteString("# TYPE errors counter\n")
	for i, pod := range []string{"shop/web-1", "shop/web-2", "bank/web-1"} {
		namespace, name, _ := strings.Cut(pod, "/")
		for step := range 41 {
			fmt.Fprintf(&text, "errors_total{namespace=%q,pod=%q} %d %d\n", namespace, name, 10*(i+1)*step, at("2026-01-01T00:00:00Z").Unix()+int64(15*step))
		}
	}
	return text.String() + "# EOF\n"
}

// patient gives a real Prometheus time on a busy machine.
func patient(s *appv1alpha1.VerificationSourceSpec) { s.Limits.TimeoutSeconds = 20 }

func TestReaderAsksARealPrometheus(t *testing.T) {
	g := NewWithT(t)
	programs, err := prometheus.Ensure(t.Context(), os.Stderr)
	if errors.Is(err, prometheus.ErrUnavailable) {
		t.Skip(err)
	}
	g.Expect(err).NotTo(HaveOccurred())
	address, stop, err := programs.Start(t.Context(), t.TempDir(), history())
	g.Expect(err).NotTo(HaveOccurred())
	defer stop()
	now := at("2026-01-01T00:05:07Z")
	window := Align(now.Add(-30*time.Second), now, 15*time.Second, 0)
	confined := func(s *appv1alpha1.VerificationSourceSpec) {
		s.Prometheus = &appv1alpha1.PrometheusSource{Labels: appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"}, EnforceNamespace: true}
	}
	everything := reader(t, newSources(t), define(address, patient))
	shop := reader(t, newSources(t), define(address, patient, confined))
	for query, expected := range map[string]struct{ everything, shop int }{
		`errors_total`:                                             {3, 2},
		`sum by (pod) (rate(errors_total[1m]))`:                    {2, 2},
		`count({__name__=~".+"})`:                                  {1, 1},
		`max_over_time(rate(errors_total[1m])[2m:15s] offset 15s)`: {3, 2},
		`errors_total{pod="web-2"} or absent(nothing)`:             {2, 2},
	} {
		all, err := everything.Range(t.Context(), query, window)
		g.Expect(err).NotTo(HaveOccurred(), query)
		g.Expect(all.Series).To(HaveLen(expected.everything), query)
		own, err := shop.Range(t.Context(), query, window)
		g.Expect(err).NotTo(HaveOccurred(), query)
		g.Expect(own.Series).To(HaveLen(expected.shop), query)
	}
	g.Expect(fmt.Sprint(shop.Range(t.Context(), `sum(rate(errors_total[1m]))`, window))).To(Equal("{[{map[] [2 2 2]}] 0 } <nil>"))
	for query, expected := range map[string]string{
		`sum(errors_total) / 0 > 0 or sum(errors_total{namespace="bank"}) * NaN`: "{[{map[] [NaN]}] 1 }",
		`scalar(count(errors_total))`:                                            "{[{map[] [3]}] 0 }",
	} {
		g.Expect(fmt.Sprint(everything.Instant(t.Context(), query, window.End))).To(Equal(expected+" <nil>"), query)
	}
	_, err = everything.Instant(t.Context(), `sum(`, window.End)
	g.Expect(err).To(MatchError(`VerificationSource prometheus: the source refuses the query (HTTP 400): invalid parameter "query": 1:5: parse error: unclosed left parenthesis`))
	_, err = everything.Instant(t.Context(), `errors_total + on (x) errors_total`, window.End)
	g.Expect(err).To(MatchError(HavePrefix("VerificationSource prometheus: the source couldn't make the query (HTTP 422): ")))
	few := reader(t, newSources(t), define(address, patient, func(s *appv1alpha1.VerificationSourceSpec) { s.Limits.MaxSeries = 2 }))
	_, err = few.Instant(t.Context(), `errors_total`, window.End)
	g.Expect(err).To(MatchError("VerificationSource prometheus: the answer has more than limits.maxSeries, 2 series"))
}

func TestHoloInsightAnswersAsTheRealPrometheusBehindIt(t *testing.T) {
	g := NewWithT(t)
	programs, err := prometheus.Ensure(t.Context(), os.Stderr)
	if errors.Is(err, prometheus.ErrUnavailable) {
		t.Skip(err)
	}
	g.Expect(err).NotTo(HaveOccurred())
	address, stop, err := programs.Start(t.Context(), t.TempDir(), history())
	g.Expect(err).NotTo(HaveOccurred())
	defer stop()
	h := &hub{storage: func(of url.Values) (int, string) {
		response, err := http.Get(address + "/api/v1/query_range?" + of.Encode())
		g.Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		var answer struct {
			Data struct{ Result json.RawMessage }
		}
		g.Expect(json.NewDecoder(response.Body).Decode(&answer)).To(Succeed())
		return response.StatusCode, string(answer.Data.Result)
	}}
	confined := func(s *appv1alpha1.VerificationSourceSpec) {
		s.Prometheus = &appv1alpha1.PrometheusSource{Labels: appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"}, EnforceNamespace: true}
	}
	sources, object := hubbed(t, h, patient, confined)
	behind, direct := reader(t, sources, object), reader(t, newSources(t), define(address, patient, confined))
	now := at("2026-01-01T00:05:07Z")
	window := Align(now.Add(-30*time.Second), now, 15*time.Second, 0)
	for query, expected := range map[string]int{
		`errors_total`: 2,
		`errors_total{pod="web-1"} or rate(errors_total[1m])`: 2,
		`sum by (pod) (rate(errors_total[1m]))`:               2,
		`sum(rate(errors_total[1m]))`:                         1,
		`errors_total{pod="web-9"}`:                           0,
	} {
		wanted, err := direct.Range(t.Context(), query, window)
		g.Expect(err).NotTo(HaveOccurred(), query)
		found, err := behind.Range(t.Context(), query, window)
		g.Expect(err).NotTo(HaveOccurred(), query)
		g.Expect(found.Series).To(And(HaveLen(expected), ConsistOf(wanted.Series)), query)
	}
	_, err = behind.Instant(t.Context(), `errors_total + on (x) errors_total`, now)
	g.Expect(err).To(MatchError("VerificationSource prometheus: HoloInsight refuses the query, or its storage failed (HTTP 400): its log tells which"))
}
