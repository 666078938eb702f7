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
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
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
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/alerts"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/latency"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/query"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verification"
)

const system = "altershieldoperator-system"

// began is a multiple of the interval, as are the looks.
var began = time.Unix(1767225600, 0).UTC()

// sourcesOf returns the source prometheus of a server, or of none, whose namespaces are read by reader.
func sourcesOf(
	t testing.TB, handler http.HandlerFunc, reader client.Reader, changes ...func(*appv1alpha1.VerificationSourceSpec),
) *source.Sources {
	t.Helper()
	return sourcesAt(t, clock.RealClock{}, handler, reader, changes...)
}

// sourcesAt does the same by a clock.
func sourcesAt(
	t testing.TB, by clock.PassiveClock, handler http.HandlerFunc, reader client.Reader, changes ...func(*appv1alpha1.VerificationSourceSpec),
) *source.Sources {
	t.Helper()
	g := NewWithT(t)
	metrics, err := source.NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	sources := &source.Sources{
		Client: reader, Secrets: reader, Namespace: system, Metrics: metrics, Clock: by,
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
		Limits:     appv1alpha1.SourceLimits{QueriesPerSecond: 10, Burst: 20, Concurrent: 4, TimeoutSeconds: 5, MaxBytes: 8388608, MaxSeries: 5000},
		Prometheus: &appv1alpha1.PrometheusSource{Labels: appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"}},
	}
	for _, change := range changes {
		change(&object.Spec)
	}
	_, err = sources.Look(t.Context(), object)
	g.Expect(err).NotTo(HaveOccurred())
	return sources
}

// confined has the source find series of the namespace of the workload alone.
func confined(spec *appv1alpha1.VerificationSourceSpec) { spec.Prometheus.EnforceNamespace = true }

func shop() client.Object { return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}} }

func asked(matchers ...string) decide.AskedCheck {
	return decide.AskedCheck{
		CheckID: decide.CheckID{Policy: "shop/web", Name: "errors"}, Schedule: decide.Schedule{Interval: 15 * time.Second},
		Check: ratio.Check{Spec: &appv1alpha1.RatioCheck{
			SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}, Total: appv1alpha1.MetricSelector{Metric: "requests_total"},
			Bad: appv1alpha1.MetricSelector{Metric: "errors_total", Matchers: matchers},
		}},
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

func TestRead(t *testing.T) {
	g := NewWithT(t)
	sources := sourcesOf(t, answers, testkit.NewFake(t, shop()))
	readings, err := verification.Read(t.Context(), sources, release(), asked(), began.Add(7*time.Second))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(readings.Reason + readings.Message).To(BeEmpty())
	g.Expect(readings.Moments).To(Equal([]time.Time{began.Add(-30 * time.Second), began.Add(-15 * time.Second), began}))
	g.Expect([]string{readings.PodLabel, readings.NamespaceLabel}).To(Equal([]string{"pod", "namespace"}))
	none := func(values []float64) []bool {
		var all []bool
		for _, value := range values {
			all = append(all, math.IsNaN(value))
		}
		return all
	}
	g.Expect(readings.Answers).To(HaveLen(2))
	bad, total := readings.ByPod(0), readings.ByPod(1)
	g.Expect(total).To(HaveLen(2))
	g.Expect(none(total["web-1"])).To(Equal([]bool{true, false, false}))
	g.Expect(total["web-1"][1:]).To(Equal([]float64{100, 200}))
	g.Expect(none(total["web-2"])).To(Equal([]bool{true, true, false}))
	g.Expect(bad).To(HaveLen(1))
	g.Expect(bad["web-1"][1:]).To(Equal([]float64{1, 2}))
}

// ofOneMetric has the bad events counted by the metric of all.
func ofOneMetric() decide.AskedCheck {
	check := asked(`code="500"`)
	check.Check.(ratio.Check).Spec.Bad.Metric = ""
	return check
}

// ownPods are the matchers of the pods of the release.
const ownPods = `namespace="shop",pod=~"web-[bcdfghjklmnpqrstvwxz2456789]{1,10}-[bcdfghjklmnpqrstvwxz2456789]{5}"`

func TestReadAsksForTheBadEventsOfAMetricAndAllInOneQuery(t *testing.T) {
	const (
		bad, all             = `sum by (pod) (requests_total{code="500",` + ownPods + `})`, `sum by (pod) (requests_total{` + ownPods + `})`
		joined               = `label_replace(` + bad + `, "altershield_part", "1", "", "") or ` + all
		badSeries, allSeries = `{"metric":{"altershield_part":"1","pod":"web-1"},"values":[[1767225600,"2"]]}`, `{"metric":{"pod":"web-1"},"values":[[1767225600,"200"]]}`
	)
	for name, row := range map[string]struct {
		// answers are those to the queries; others return no series.
		answers map[string]string
		sent    []string
		limit   int32
	}{
		"at once": {map[string]string{joined: badSeries + "," + allSeries}, []string{joined}, 2},
		"each by itself where both have too many series": {
			map[string]string{joined: badSeries + "," + allSeries, bad: strings.Replace(badSeries, `"altershield_part":"1",`, "", 1), all: allSeries},
			[]string{joined, bad, all}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var sent []string
			handler := func(writer http.ResponseWriter, request *http.Request) {
				if strings.HasSuffix(request.URL.Path, "/query_range") {
					sent = append(sent, request.FormValue("query"))
				}
				_, _ = fmt.Fprintf(writer, `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`, row.answers[request.FormValue("query")])
			}
			sources := sourcesOf(t, handler, testkit.NewFake(t, shop()), func(spec *appv1alpha1.VerificationSourceSpec) { spec.Limits.MaxSeries = row.limit })
			readings, err := verification.Read(t.Context(), sources, release(), ofOneMetric(), began)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(readings.Message).To(BeEmpty())
			g.Expect(sent).To(Equal(row.sent))
			g.Expect(readings.Answers).To(HaveLen(2))
			g.Expect(readings.ByPod(0)["web-1"][2]).To(Equal(2.0))
			g.Expect(readings.ByPod(1)["web-1"][2]).To(Equal(200.0))
		})
	}
}

// 24 buckets are more than the twelve that client libraries have by default, 60 steps as many as a window has.
func TestReadReadsHistogramsOfManyPodsWithTheDefaultLimits(t *testing.T) {
	g := NewWithT(t)
	var values []string
	for step := range 60 {
		values = append(values, fmt.Sprintf(`[%d,"123456"]`, began.Add(time.Duration(step)*15*time.Second).Unix()))
	}
	var series []string
	for pod := range 200 {
		for bucket := range 24 {
			series = append(series, fmt.Sprintf(`{"metric":{"le":"%d.5","pod":"web-7d4b9c8f5d-%05d"},"values":[%s]}`, bucket, pod, strings.Join(values, ",")))
		}
	}
	sources := sourcesOf(t, func(writer http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(writer, `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`, strings.Join(series, ","))
	}, testkit.NewFake(t, shop()))
	slow := asked()
	slow.Check = latency.Check{Spec: &appv1alpha1.LatencyCheck{
		SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}, Metric: "request_seconds", ThresholdSeconds: "0.5",
	}}
	readings, err := verification.Read(t.Context(), sources, release(), slow, began.Add(14*time.Minute+25*time.Second))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(readings.Reason + readings.Message).To(BeEmpty())
	g.Expect(readings.Answers[0]).To(HaveLen(4800))
	g.Expect(len(readings.Moments)).To(BeNumerically("~", 60, 1))
}

// A quick release has no old pods beside the new ones.
func TestReadReadsThePastOfAReleaseThatIsComparedWithIt(t *testing.T) {
	for name, row := range map[string]struct {
		baseline appv1alpha1.RatioBaseline
		olds     []string
		interval time.Duration
		// since is how old the release is. The steps of the window of the past and of that of others are past and others.
		since, past, others time.Duration
	}{
		"without old pods":                      {"Auto", nil, 15 * time.Second, 10 * time.Minute, time.Minute, time.Minute},
		"without old pods, at long intervals":   {"Auto", nil, 45 * time.Second, 10 * time.Minute, 90 * time.Second, 90 * time.Second},
		"without old pods, at longer intervals": {"Auto", nil, 2 * time.Minute, 10 * time.Minute, 2 * time.Minute, 2 * time.Minute},
		"without old pods, after eight hours":   {"Auto", nil, 15 * time.Second, 8 * time.Hour, time.Minute, 9 * time.Minute},
		"with old pods":                         {"Auto", []string{"web-2"}, 15 * time.Second, 10 * time.Minute, 0, 0},
		"with the baseline Concurrent":          {"Concurrent", nil, 15 * time.Second, 10 * time.Minute, 0, 0},
		"with the baseline Before":              {"Before", []string{"web-2"}, 15 * time.Second, 10 * time.Minute, time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := began.Add(row.since + 7*time.Second)
			var sent []string
			// Each pod has a thousand requests in each second, since ever.
			handler := func(writer http.ResponseWriter, request *http.Request) {
				if !strings.HasSuffix(request.URL.Path, "/query_range") {
					answers(writer, request)
					return
				}
				start, err := strconv.ParseFloat(request.FormValue("start"), 64)
				g.Expect(err).NotTo(HaveOccurred())
				end, err := strconv.ParseFloat(request.FormValue("end"), 64)
				g.Expect(err).NotTo(HaveOccurred())
				step, err := strconv.ParseFloat(request.FormValue("step"), 64)
				g.Expect(err).NotTo(HaveOccurred())
				sent = append(sent, fmt.Sprintf("%v to %v every %v s: %s",
					time.Unix(int64(start), 0).Sub(began), time.Unix(int64(end), 0).Sub(began), step, request.FormValue("query")))
				var values []string
				for at := start; at <= end; at += step {
					values = append(values, fmt.Sprintf(`[%.0f,"%.0f"]`, at, 1000*(at-1767200000)))
				}
				var series []string
				for _, pod := range append([]string{"web-1"}, row.olds...) {
					series = append(series, fmt.Sprintf(`{"metric":{"pod":%q},"values":[%s]}`, pod, strings.Join(values, ",")))
				}
				_, _ = writer.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[` + strings.Join(series, ",") + `]}}`))
			}
			judged := release()
			judged.New = []checks.Pod{{Name: "web-1", Since: began, Created: began}}
			for _, name := range row.olds {
				judged.Old = append(judged.Old, checks.Pod{Name: name, Since: began.Add(-time.Hour), Created: began.Add(-time.Hour)})
			}
			asked := asked()
			asked.Interval = row.interval
			asked.Check.(ratio.Check).Spec.Comparison = &appv1alpha1.RatioComparison{Baseline: row.baseline}
			readings, err := verification.Read(t.Context(), sourcesOf(t, handler, testkit.NewFake(t, shop())), judged, asked, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(readings.Message).To(BeEmpty())
			if row.past == 0 {
				g.Expect(readings.Past).To(BeNil())
				g.Expect(sent).To(HaveLen(2))
				return
			}
			own := "{" + ownPods + "}"
			others := strings.Replace(own, "pod=~", `pod!="",pod!~`, 1)
			before := fmt.Sprintf("-30m0s to 0s every %v s: ", row.past.Seconds())
			start, end := began.Add(-30*time.Minute).Truncate(row.others), now.Truncate(row.others)
			since := fmt.Sprintf("%v to %v every %v s: ", start.Sub(began), end.Sub(began), row.others.Seconds())
			g.Expect(sent).To(HaveLen(6))
			g.Expect(sent[2:]).To(Equal([]string{
				before + "sum by (pod) (errors_total" + own + ")", before + "sum by (pod) (requests_total" + own + ")",
				since + "sum by () (rate(errors_total" + others + "[2m]))", since + "sum by () (rate(requests_total" + others + "[2m]))",
			}))
			g.Expect(readings.Past.Answers).To(HaveLen(2))
			g.Expect(readings.Others.Answers).To(HaveLen(2))
			g.Expect([]time.Time{readings.Past.Moments[0], readings.Others.Moments[0]}).To(Equal([]time.Time{began.Add(-30 * time.Minute), start}))
			g.Expect(readings.Past.Moments).To(HaveLen(1 + int(30*time.Minute/row.past)))
			g.Expect(readings.Others.Moments[len(readings.Others.Moments)-1]).To(Equal(end))
			g.Expect(readings.Past.ByPod(1)).To(HaveKey("web-1"))
		})
	}
}

func TestReadAsksForThePastOnce(t *testing.T) {
	g := NewWithT(t)
	var starts []string
	handler := func(writer http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/query_range") {
			starts = append(starts, request.FormValue("start")+" "+request.FormValue("step"))
		}
		answers(writer, request)
	}
	asked, judged := asked(), release()
	asked.Check.(ratio.Check).Spec.Comparison = &appv1alpha1.RatioComparison{Baseline: "Before"}
	judged.New = []checks.Pod{{Name: "web-1"}}
	sources := sourcesOf(t, handler, testkit.NewFake(t, shop()))
	const now, past = "1767225570 15", "1767223800 60" // two looks, and half an hour, before the release
	for look, expected := range [][]string{{now, now, past, past, past, past}, {now, now, past, past}, {now, now, past, past}} {
		starts = nil
		_, err := verification.Read(t.Context(), sources, judged, asked, began.Add(time.Duration(look+1)*time.Minute))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(starts).To(Equal(expected), "those of others go on until now")
	}
}

// Before its first pod, a release may wait for days, for approvals or a freeze. Steps as long as in a window of days would show what was, not what is.
func TestReadReadsThePresentInShortSteps(t *testing.T) {
	from := appv1alpha1.SourceReference{Name: "prometheus"}
	firing := alerts.Check{Spec: &appv1alpha1.AlertsCheck{SourceRef: from}}
	up := query.Check{Spec: &appv1alpha1.QueryCheck{SourceRef: from, Query: "up", Max: "0"}}
	const day = 24*time.Hour + 23*time.Minute + 45*time.Second
	for name, row := range map[string]struct {
		check measure.Present
		// waited is how long the release has waited. It fires, or is up, from a time after the release began until another one.
		waited, begins, ends time.Duration
		present              bool
		expected             string
	}{
		"an alert that fires for twelve minutes":     {firing, day, day - 12*time.Minute, day, true, "Fail alert Down fires since 2026-01-02T00:11:45Z"},
		"an alert that is over for a look":           {firing, day, 0, day - 15*time.Second, true, "Pass no alert fires"},
		"an alert that fires for hours":              {firing, day, time.Hour, day, true, "Fail alert Down fires"},
		"an alert that fires since before":           {firing, 10 * time.Minute, -time.Hour, day, true, "Fail alert Down fires since 2025-12-31T23:59:30Z"},
		"a value beyond its limit":                   {up, day, day, day, true, "Fail 1 is above 0"},
		"a release that is looked at since it began": {firing, day, day - 12*time.Minute, day, false, "Pass no alert fires"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			handler := func(writer http.ResponseWriter, request *http.Request) {
				if !strings.HasSuffix(request.URL.Path, "/query_range") {
					answers(writer, request)
					return
				}
				number := func(field string) int64 {
					value, err := strconv.ParseInt(request.FormValue(field), 10, 64)
					g.Expect(err).NotTo(HaveOccurred())
					return value
				}
				var values []string
				for at := number("start"); at <= number("end"); at += number("step") {
					if since := time.Unix(at, 0).Sub(began); since >= row.begins && since <= row.ends {
						values = append(values, fmt.Sprintf(`[%d,"1"]`, at))
					}
				}
				_, _ = fmt.Fprintf(writer, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"alertname":"Down","alertstate":"firing"},"values":[%s]}]}}`,
					strings.Join(values, ","))
			}
			asked := decide.AskedCheck{
				CheckID: decide.CheckID{Policy: system + "/web", Name: "quiet"}, Schedule: decide.Schedule{Interval: 15 * time.Second}, Check: row.check, Present: row.present,
			}
			readings, err := verification.Read(t.Context(), sourcesOf(t, handler, testkit.NewFake(t, shop())), release(), asked, began.Add(row.waited+7*time.Second))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(readings.Message).To(BeEmpty())
			found := row.check.JudgePresent(release(), readings)
			g.Expect(string(found.Verdict) + " " + found.Message).To(Equal(row.expected))
		})
	}
}

// A step may be approved a day after the one before. Steps as long as in a window of a day would show its pods after their bake.
func TestReadReadsRecentPodsInShortSteps(t *testing.T) {
	const day, olds = 24*time.Hour + 30*time.Second, 5
	for name, row := range map[string]struct {
		// finished are when the new pods did after the release began. Since then, each has a hundred requests in each second. The second one fails some
		// of them since bad.
		finished []time.Duration
		bad, at  time.Duration
		expected string
		// windows are those of the queries, then are those at a look half a minute later.
		windows, then []string
	}{
		"a pod of a later step that fails": {
			[]time.Duration{time.Minute, day}, day, day + 5*time.Minute,
			"Fail CheckFailed", []string{"-24m0s to 23h36m0s every 24m0s", "23h52m30s to 24h5m30s every 15s"},
			[]string{"23h52m30s to 24h6m0s every 15s"},
		},
		"one that begins to fail later": {
			[]time.Duration{time.Minute, day}, day + 10*time.Minute, day + 20*time.Minute,
			"Fail CheckFailed", []string{"-13m45s to 23h37m0s every 24m15s", "24h0m30s to 24h20m30s every 30s"},
			[]string{"24h0m30s to 24h21m0s every 30s"},
		},
		"one of a day ago": {
			[]time.Duration{time.Minute, 2 * time.Minute}, day - 30*time.Minute, day,
			"Pass PassedEarly", []string{"-13m45s to 23h37m0s every 24m15s"},
			[]string{"-13m45s to 23h37m0s every 24m15s"}, // after which it is kept no longer, by the clock of the test
		},
		"one of a young release": {
			[]time.Duration{time.Minute, 2 * time.Minute}, 2 * time.Minute, 5 * time.Minute, "Fail CheckFailed", []string{"-30s to 5m0s every 15s"},
			[]string{"-30s to 5m30s every 15s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var windows []string
			handler := func(writer http.ResponseWriter, request *http.Request) {
				if !strings.HasSuffix(request.URL.Path, "/query_range") {
					answers(writer, request)
					return
				}
				number := func(field string) time.Duration {
					value, err := strconv.ParseInt(request.FormValue(field), 10, 64)
					g.Expect(err).NotTo(HaveOccurred())
					return time.Duration(value) * time.Second
				}
				since := time.Duration(began.Unix()) * time.Second
				start, end, step := number("start")-since, number("end")-since, number("step")
				if window := fmt.Sprintf("%v to %v every %v", start, end, step); !slices.Contains(windows, window) {
					windows = append(windows, window)
				}
				var series []string
				for i, finished := range slices.Concat(slices.Repeat([]time.Duration{-time.Hour}, olds), row.finished) {
					var values []string
					for at := start; at <= end; at += step {
						if at < finished {
							continue
						}
						count := 100 * (at - finished).Seconds()
						if strings.HasPrefix(request.FormValue("query"), "sum by (pod) (errors_total") {
							if count /= 1000; i == olds+1 {
								count += 20 * max(0, at-row.bad).Seconds()
							}
						}
						values = append(values, fmt.Sprintf(`[%d,"%.0f"]`, int64((at+since).Seconds()), count))
					}
					series = append(series, fmt.Sprintf(`{"metric":{"pod":"web-%d"},"values":[%s]}`, i, strings.Join(values, ",")))
				}
				_, _ = writer.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[` + strings.Join(series, ",") + `]}}`))
			}
			judged := release()
			for i := range olds {
				judged.Old = append(judged.Old, checks.Pod{Name: fmt.Sprint("web-", i), Since: began.Add(-time.Hour), Created: began.Add(-time.Hour)})
			}
			for i, finished := range row.finished {
				judged.New = append(judged.New, checks.Pod{Name: fmt.Sprint("web-", olds+i), Since: began.Add(finished), Created: began.Add(finished)})
			}
			asked := asked()
			asked.Check.(ratio.Check).Spec.Comparison = &appv1alpha1.RatioComparison{Baseline: "Concurrent", Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5}
			sources := sourcesOf(t, handler, testkit.NewFake(t, shop()))
			readings, err := verification.Read(t.Context(), sources, judged, asked, began.Add(row.at))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(readings.Message).To(BeEmpty())
			found := asked.Judge(judged, readings, measure.Terms{Share: 0.01})
			g.Expect(string(found.Verdict) + " " + found.Reason).To(Equal(row.expected))
			g.Expect(windows).To(Equal(row.windows))
			windows = nil
			_, err = verification.Read(t.Context(), sources, judged, asked, began.Add(row.at+30*time.Second))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(windows).To(Equal(row.then))
		})
	}
}

func TestReadSaysThatThePastCantBeRead(t *testing.T) {
	g := NewWithT(t)
	handler := func(writer http.ResponseWriter, request *http.Request) {
		if strings.Contains(request.FormValue("query"), "rate(") {
			writer.WriteHeader(http.StatusTooManyRequests)
			return
		}
		answers(writer, request)
	}
	asked, judged := asked(), release()
	asked.Check.(ratio.Check).Spec.Comparison = &appv1alpha1.RatioComparison{Baseline: "Before"}
	judged.New = []checks.Pod{{Name: "web-1"}}
	sources := sourcesOf(t, handler, testkit.NewFake(t, shop()))
	for _, unsent := range []bool{false, true} { // which the pause is for
		readings, err := verification.Read(t.Context(), sources, judged, asked, began)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(readings.Reason).To(Equal("SourceThrottled"))
		g.Expect(readings.Unsent).To(Equal(unsent))
	}
}

func TestReadSaysWhyASourceCantBeAsked(t *testing.T) {
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
			readings, err := verification.Read(t.Context(), sourcesOf(t, row.handler, testkit.NewFake(t, shop())), release(), row.asked, began)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(readings.Reason).To(Equal(row.reason))
			g.Expect(readings.Message).To(ContainSubstring(row.message))
		})
	}
}

// A query of one's own could read series of every namespace.
func TestReadRefusesQueriesThatNothingConfines(t *testing.T) {
	const refused = "VerificationSource prometheus: a check of the type Query could read series of every namespace: " +
		"set spec.prometheus.enforceNamespace, or move the policy "
	for name, row := range map[string]struct {
		policy  string
		changes []func(*appv1alpha1.VerificationSourceSpec)
		// read is what the server was asked, message why it wasn't.
		read, message string
	}{
		"of a namespace":                     {"shop/web", nil, "", refused + "shop/web to namespace " + system},
		"of a namespace with a similar name": {system + "-2/web", nil, "", refused + system + "-2/web to namespace " + system},
		"of the operator's namespace":        {system + "/web", nil, `sum(up{job="web"})`, ""},
		"of a namespace, confined to it": {
			"shop/web", []func(*appv1alpha1.VerificationSourceSpec){confined}, `sum(up{job="web",namespace="shop"})`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var read string
			handler := func(writer http.ResponseWriter, request *http.Request) {
				if strings.HasSuffix(request.URL.Path, "/query_range") {
					read = request.FormValue("query")
				}
				answers(writer, request)
			}
			check := query.Check{Spec: &appv1alpha1.QueryCheck{SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}, Query: `sum(up{job="$workload"})`}}
			asked := decide.AskedCheck{CheckID: decide.CheckID{Policy: row.policy, Name: "own"}, Check: check, Schedule: decide.Schedule{Interval: 15 * time.Second}}
			readings, err := verification.Read(t.Context(), sourcesOf(t, handler, testkit.NewFake(t, shop()), row.changes...), release(), asked, began)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read).To(Equal(row.read))
			g.Expect(readings.Message).To(Equal(row.message))
			g.Expect(readings.Reason).To(Equal(map[bool]string{true: "QueryNotAllowed"}[row.message != ""]))
		})
	}
}

// The message of the check has the names of alerts.
func TestReadRefusesAlertsOfOtherNamespaces(t *testing.T) {
	const refused = "VerificationSource prometheus: matchLabels selects alerts of another namespace, bank: move the policy "
	named := func(spec *appv1alpha1.VerificationSourceSpec) {
		spec.Prometheus.Labels.Namespace = "kubernetes_namespace"
	}
	of := func(label, namespace string) map[string]string {
		return map[string]string{label: namespace, "severity": "page"}
	}
	for name, row := range map[string]struct {
		policy      string
		matchLabels map[string]string
		changes     []func(*appv1alpha1.VerificationSourceSpec)
		// read is what the server was asked, reason and message why it wasn't.
		read, reason, message string
	}{
		"of a namespace": {"shop/web", of("namespace", "bank"), nil, "", "QueryNotAllowed", refused + "shop/web to namespace " + system},
		"of a namespace with a similar name": {
			system + "-2/web", of("namespace", "bank"), nil, "", "QueryNotAllowed", refused + system + "-2/web to namespace " + system,
		},
		"of a label of another name": {
			"shop/web", of("kubernetes_namespace", "bank"), []func(*appv1alpha1.VerificationSourceSpec){named}, "", "QueryNotAllowed",
			refused + "shop/web to namespace " + system,
		},
		"of the operator's namespace": {
			system + "/web", of("namespace", "bank"), nil, `ALERTS{alertstate=~"firing|pending",namespace="bank",severity="page"}`, "", "",
		},
		"of a namespace, confined to it": {
			"shop/web", of("namespace", "bank"), []func(*appv1alpha1.VerificationSourceSpec){confined}, "", "BadQuery", "VerificationSource prometheus: the selector " +
				`ALERTS{alertstate=~"firing|pending",namespace="bank",severity="page"} finds nothing: queries are confined to namespace="shop"`,
		},
		"but not its own": {"shop/web", of("namespace", "shop"), nil, `ALERTS{alertstate=~"firing|pending",namespace="shop",severity="page"}`, "", ""},
		"but none of no namespace": {
			"shop/web", of("namespace", ""), nil, `ALERTS{alertstate=~"firing|pending",namespace="",severity="page"}`, "", "",
		},
		"but no others": {"shop/web", nil, nil, `ALERTS{alertstate=~"firing|pending"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var read string
			handler := func(writer http.ResponseWriter, request *http.Request) {
				if strings.HasSuffix(request.URL.Path, "/query_range") {
					read = request.FormValue("query")
				}
				answers(writer, request)
			}
			check := alerts.Check{Spec: &appv1alpha1.AlertsCheck{SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}, MatchLabels: row.matchLabels}}
			asked := decide.AskedCheck{CheckID: decide.CheckID{Policy: row.policy, Name: "quiet"}, Check: check, Schedule: decide.Schedule{Interval: 15 * time.Second}}
			readings, err := verification.Read(t.Context(), sourcesOf(t, handler, testkit.NewFake(t, shop()), row.changes...), release(), asked, began)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read).To(Equal(row.read))
			g.Expect(readings.Reason).To(Equal(row.reason))
			g.Expect(readings.Message).To(Equal(row.message))
		})
	}
}

// What is missing in a partial answer would pass for what isn't there: an alert that doesn't fire, requests that a sum doesn't count.
func TestReadTakesNoPartOfAnAnswerForTheWhole(t *testing.T) {
	from := appv1alpha1.SourceReference{Name: "prometheus"}
	own := query.Check{Spec: &appv1alpha1.QueryCheck{SourceRef: from, Query: `sum(up{job="$workload"})`}}
	firing := alerts.Check{Spec: &appv1alpha1.AlertsCheck{SourceRef: from}}
	byPod := asked().Check
	const partial = "VerificationSource prometheus: the answer is partial: "
	for name, row := range map[string]struct {
		check           measure.Check
		answer, message string
	}{
		"a query, and a store is away":                   {own, `"warnings":["store x: unavailable"]`, partial + "store x: unavailable"},
		"a query, and two stores are away":               {own, `"warnings":["store y: unavailable","store x: unavailable"]`, partial + "store x: unavailable"},
		"a query that the source finds odd":              {own, `"warnings":["PromQL warning: encountered a mix of histograms and floats for metric name \"up\" (1:5)"]`, ""},
		"a query that an old source finds odd":           {own, `"warnings":["PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: \"up\" (1:5)"]`, ""},
		"a query that the source finds odd many times":   {own, `"warnings":["PromQL warning: a","2 more warning annotations omitted"]`, ""},
		"an odd query, and a store is away":              {own, `"warnings":["PromQL warning: a","store x: unavailable"]`, partial + "store x: unavailable"},
		"a query with an info":                           {own, `"infos":["PromQL info: metric might not be a counter"]`, ""},
		"alerts, and a store is away":                    {firing, `"warnings":["store x: unavailable"]`, partial + "store x: unavailable"},
		"a ratio by pod, and a store is away":            {byPod, `"warnings":["store x: unavailable"]`, ""},
		"a query, and a node of VictoriaMetrics is away": {own, `"isPartial":true`, partial + "a storage node of VictoriaMetrics is away (isPartial)"},
		"a ratio, and a node of VictoriaMetrics is away": {byPod, `"isPartial":true`, partial + "a storage node of VictoriaMetrics is away (isPartial)"},
		"a query, and all nodes are there":               {own, `"isPartial":false`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			handler := func(writer http.ResponseWriter, request *http.Request) {
				if !strings.HasSuffix(request.URL.Path, "/query_range") { // the probe asks no store
					answers(writer, request)
					return
				}
				_, _ = writer.Write([]byte(`{"status":"success",` + row.answer + `,"data":{"resultType":"matrix","result":[{"metric":{"isPartial":"true"},"values":[]}]}}`))
			}
			asked := decide.AskedCheck{CheckID: decide.CheckID{Policy: system + "/web", Name: "errors"}, Check: row.check, Schedule: decide.Schedule{Interval: 15 * time.Second}}
			readings, err := verification.Read(t.Context(), sourcesOf(t, handler, testkit.NewFake(t, shop())), release(), asked, began)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(readings.Message).To(Equal(row.message))
			g.Expect(readings.Reason).To(Equal(map[bool]string{true: "PartialAnswer"}[row.message != ""]))
		})
	}
}

func TestReadReturnsErrorsOfTheAPIServer(t *testing.T) {
	broken := interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("connection refused")
		},
	})
	_, err := verification.Read(t.Context(), sourcesOf(t, answers, broken), release(), asked(), began)
	NewWithT(t).Expect(err).To(MatchError("reading metrics for the check errors of shop/web: reading namespace shop: connection refused"))
}
