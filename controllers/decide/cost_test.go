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

package decide_test

import (
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
)

// everyCheck has a policy look at the health of the pods, a rule, their errors, slow requests, and a gauge.
func everyCheck(policy *appv1alpha1.VerificationPolicy) {
	compared := &appv1alpha1.RatioCheck{}
	compared.Comparison = &appv1alpha1.RatioComparison{Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5}
	slow := &appv1alpha1.LatencyCheck{Metric: "seconds", ThresholdSeconds: "0.5", RatioObjective: compared.RatioObjective}
	gauge := &appv1alpha1.GaugeCheck{Metric: "queue", Comparison: appv1alpha1.GaugeComparison{Tolerance: "1.5", MinDelta: "10"}}
	policy.Spec.IntervalSeconds, policy.Spec.BakeSeconds = 15, 120
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{
		{Name: "pods", Type: "PodHealth"},
		{Name: "spread", Type: "Rule", Rule: &appv1alpha1.RuleCheck{Expression: "newPods.all(p, p.restarts <= 3 && p.node != '')"}},
		{Name: "errors", Type: "Ratio", Ratio: compared}, {Name: "slow", Type: "Latency", Latency: slow}, {Name: "queue", Type: "Gauge", Gauge: gauge},
	}
}

// moments and buckets are the most looks of a query, and usual bounds of a histogram.
const (
	costMoments, costPods = 60, 100
	costBuckets           = 12
)

// costly has the metrics of a hundred new pods and a hundred old ones at sixty looks, each with so many requests between two.
func costly(requests float64) seenOption {
	return func(seen *decide.Observation) { addCostly(seen, requests) }
}

func addCostly(seen *decide.Observation, requests float64) {
	pods := &checks.Scene{Kind: "Deployment", Namespace: "shop", Name: "web", Began: now.Add(-14 * time.Minute)}
	readings := map[decide.CheckID]measure.Readings{}
	for _, name := range []string{"errors", "slow", "queue"} {
		of := measure.Readings{PodLabel: "pod", Answers: make([][]measure.Series, 2)}
		for look := range costMoments {
			of.Moments = append(of.Moments, now.Add(time.Duration(look+1-costMoments)*15*time.Second))
		}
		readings[decide.CheckID{Policy: "shop/web", Name: name}] = of
	}
	add := func(check string, query int, pod, bound string, each float64) {
		series := measure.Series{Labels: map[string]string{"pod": pod, "le": bound}}
		for look := range costMoments {
			series.Values = append(series.Values, each*float64(look))
		}
		readings[decide.CheckID{Policy: "shop/web", Name: check}].Answers[query] = append(readings[decide.CheckID{Policy: "shop/web", Name: check}].Answers[query], series)
	}
	for i := range 2 * costPods {
		name, since := "sleep-"+strconv.Itoa(i+1), now.Add(-13*time.Minute)
		pod := checks.Pod{Name: name, UID: types.UID(name), Node: "node-1", Since: since, Created: since, Ready: true}
		if i < costPods {
			pods.New = append(pods.New, pod)
		} else {
			pod.Since, pod.Created = now.Add(-time.Hour), now.Add(-time.Hour)
			pods.Old = append(pods.Old, pod)
		}
		bad := float64(i%3) * requests / 300
		add("errors", 0, name, "", bad)
		add("errors", 1, name, "", requests)
		add("queue", 0, name, "", float64(i%7))
		for bucket := range costBuckets {
			add("slow", 0, name, strconv.FormatFloat(0.1*float64(bucket), 'f', 1, 64), requests-float64(costBuckets-bucket)*bad/10)
		}
		add("slow", 0, name, "+Inf", requests)
	}
	seen.Verification.Pods, seen.Verification.Readings = pods, readings
}

// BenchmarkDecide measures the last look at a release, with every check. With little traffic, the checks find out which ratio they would have found.
func BenchmarkDecide(b *testing.B) {
	rules, err := rule.NewCompiler()
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	policy := checking("web", "Enforce", everyCheck)
	workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-time.Minute)), begun(policies(policy)))
	for reason, requests := range map[string]float64{"PassedEarly": 300, "LowTraffic": 0.1} {
		b.Run(reason, func(b *testing.B) {
			seen := see(costPods, under(policy), ran(1, costPods), costly(requests), func(seen *decide.Observation) { seen.Verification.Rules = rules })
			var reasons []string
			for _, check := range decide.Decide(workload, seen, now).Status.Checks {
				reasons = append(reasons, check.Name+" "+check.Reason)
			}
			NewWithT(b).Expect(reasons).To(Equal([]string{
				"pods CheckPassed", "spread CheckPassed", "errors " + reason, "slow " + reason, "queue CheckPassed",
			}))
			b.ReportAllocs()
			for b.Loop() {
				decide.Decide(workload, seen, now)
			}
		})
	}
}
