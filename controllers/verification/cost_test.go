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
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verification"
)

// The most pods that are looked at, the most looks of a query, and the buckets that client libraries have by default.
const costPods, costLooks, costBuckets = 100, 60, 12

// costPod names a pod of the release, which are the first hundred, or an old one.
func costPod(i int) string { return fmt.Sprintf("web-7d4b9c-%05d", i) }

// costly answers with series of each pod, which have other labels and so many more a look.
func costly(each map[string]int) http.HandlerFunc {
	var series []string
	for pod := range 2 * costPods {
		for labels, more := range each {
			var values []string
			for look := range costLooks {
				values = append(values, fmt.Sprintf(`[%d,"%d"]`, began.Add(time.Duration(look-2)*15*time.Second).Unix(), more*look+pod%7))
			}
			series = append(series, fmt.Sprintf(`{"metric":{"pod":%q%s},"values":[%s]}`, costPod(pod), labels, strings.Join(values, ",")))
		}
	}
	answer := []byte(`{"status":"success","data":{"resultType":"matrix","result":[` + strings.Join(series, ",") + `]}}`)
	return func(writer http.ResponseWriter, _ *http.Request) { _, _ = writer.Write(answer) }
}

// BenchmarkLook measures a look of a check at a hundred new pods and a hundred old ones, sixty looks after the release began: with answers that are
// there, and with answers that come from a server on the same machine and are decoded.
func BenchmarkLook(b *testing.B) {
	release := &checks.Scene{Kind: "Deployment", Namespace: "shop", Name: "web", Began: began}
	for i := range 2 * costPods {
		pod := checks.Pod{Name: costPod(i), Ready: true, Created: began.Add(time.Second), Since: began.Add(10 * time.Second)}
		if i < costPods {
			release.New = append(release.New, pod)
		} else {
			pod.Created, pod.Since = began.Add(-time.Hour), began.Add(-time.Hour)
			release.Old = append(release.Old, pod)
		}
	}
	compared := appv1alpha1.RatioObjective{Comparison: &appv1alpha1.RatioComparison{Baseline: "Auto", Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5}}
	from := appv1alpha1.SourceReference{Name: "prometheus"}
	buckets := map[string]int{`,"le":"+Inf"`: 3000}
	for bucket := range costBuckets {
		buckets[fmt.Sprintf(`,"le":"0.%02d"`, bucket+1)] = 3000 - 10*(costBuckets-bucket)
	}
	series := map[string]map[string]int{"Ratio": {`,"altershield_part":"1"`: 10, "": 3000}, "Latency": buckets, "Gauge": {"": 0}}
	for _, check := range []appv1alpha1.VerificationCheck{
		{Name: "Ratio", Ratio: &appv1alpha1.RatioCheck{
			SourceRef: from, Total: appv1alpha1.MetricSelector{Metric: "requests_total"}, Bad: appv1alpha1.MetricSelector{Matchers: []string{`code="500"`}}, RatioObjective: compared,
		}},
		{Name: "Latency", Latency: &appv1alpha1.LatencyCheck{SourceRef: from, Metric: "seconds", ThresholdSeconds: "0.1", RatioObjective: compared}},
		{Name: "Gauge", Gauge: &appv1alpha1.GaugeCheck{SourceRef: from, Metric: "queue", Comparison: appv1alpha1.GaugeComparison{Tolerance: "1.5", MinDelta: "10"}}},
	} {
		asked := decide.AskedCheck{Check: decide.Measured(&check), Schedule: decide.Schedule{Interval: 15 * time.Second}, Warmup: time.Minute}
		at := began.Add((costLooks - 3) * 15 * time.Second)
		look := func(b *testing.B, kept bool) {
			var by clock.PassiveClock = clock.RealClock{} // for which the answers are out of date at once
			if kept {
				by = clocktesting.NewFakePassiveClock(at)
			}
			sources := sourcesAt(b, by, costly(series[check.Name]), testkit.NewFake(b, shop()), func(spec *appv1alpha1.VerificationSourceSpec) {
				spec.AllowedNamespaces = nil // the cache of the tests is slower than that of the operator
				spec.Limits.QueriesPerSecond, spec.Limits.Burst = 1000, 1000
			})
			b.ReportAllocs()
			for b.Loop() {
				readings, err := verification.Read(b.Context(), sources, release, asked, at)
				found := asked.Judge(release, readings, measure.Terms{Warmup: time.Minute, Share: 0.01, Ended: true})
				if err != nil || found.Verdict != appv1alpha1.CheckPass {
					b.Fatal(err, readings.Message, found.Verdict, found.Message)
				}
			}
		}
		b.Run(check.Name, func(b *testing.B) { look(b, true) })
		b.Run(check.Name+"Asked", func(b *testing.B) { look(b, false) })
	}
}
