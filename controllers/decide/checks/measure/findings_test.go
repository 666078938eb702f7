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

package measure_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/gauge"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/latency"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
)

// findingsFile has what checks found of some hundred random releases.
const findingsFile = "testdata/findings.txt"

var update = flag.Bool("update", false, "write "+findingsFile+", if findings are meant to change")

// randomRelease is a release of few pods or of many, with the values that a source has of them.
type randomRelease struct {
	*rand.Rand
	scene   *checks.Scene
	moments []time.Time
	// series are the names of pods that have metrics: those of the release, others that are gone, and some of other workloads.
	series []string
}

func newRelease(random *rand.Rand) randomRelease {
	kind := []string{"Deployment", "StatefulSet", "DaemonSet", "CloneSet"}[random.IntN(4)]
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := randomRelease{Rand: random, scene: &checks.Scene{Kind: kind, Namespace: "shop", Name: "web", Began: began}}
	for i := range 10 + random.IntN(50) {
		r.moments = append(r.moments, began.Add(time.Duration(15*(i-2))*time.Second))
	}
	olds, news := 1+random.IntN(10), 1+random.IntN(6)
	if random.IntN(6) == 0 {
		olds, news = 60+random.IntN(80), 60+random.IntN(80)
	}
	for i := range olds + news {
		pod := checks.Pod{Name: r.name(i), Created: began.Add(-time.Hour), Since: began.Add(-time.Hour), Ready: true}
		if r.IntN(20) > 0 {
			r.series = append(r.series, pod.Name)
		}
		if i < olds {
			r.scene.Old = append(r.scene.Old, pod)
			continue
		}
		pod.Created, pod.Since = began.Add(10*time.Second), began.Add(time.Duration(random.IntN(100))*time.Second)
		r.scene.New = append(r.scene.New, pod)
	}
	for i := range random.IntN(4) {
		r.series = append(r.series, r.name(olds+news+i), fmt.Sprintf("api-%d", i))
	}
	r.Shuffle(len(r.series), func(i, j int) { r.series[i], r.series[j] = r.series[j], r.series[i] })
	return r
}

// name returns the name of a pod, as Kubernetes makes it.
func (r randomRelease) name(i int) string {
	if r.scene.Kind == "StatefulSet" {
		return fmt.Sprintf("web-%d", i)
	}
	const characters = "bcdfghjklmnpqrstvwxz2456789"
	last := make([]byte, 5)
	for j := range last {
		last[j] = characters[r.IntN(len(characters))]
	}
	if r.scene.Kind == "Deployment" {
		return "web-7d4b9c-" + string(last)
	}
	return "web-" + string(last)
}

// counters returns the counters of a pod with so much a look, which restart now and then and have gaps.
func (r randomRelease) counters(each ...float64) [][]float64 {
	all, sums, first := make([][]float64, len(each)), make([]float64, len(each)), r.IntN(4)
	for t := range r.moments {
		restarts := r.IntN(200) == 0
		for i := range each {
			sums[i] += math.Floor(each[i] * (0.5 + r.Float64()))
			if restarts {
				sums[i] = 0
			}
			value := sums[i]
			if r.IntN(60) == 0 || t < first && first < 3 {
				value = math.NaN()
			}
			all[i] = append(all[i], value)
		}
	}
	return all
}

// before returns readings of the time before.
func (r randomRelease) before(readings measure.Readings) *measure.Readings {
	readings.Moments = slices.Clone(readings.Moments)
	for i, at := range readings.Moments {
		readings.Moments[i] = at.Add(r.moments[0].Sub(r.moments[len(r.moments)-1]))
	}
	return &readings
}

// end ends the values of an old pod early.
func (r randomRelease) end(values []float64) {
	for t := 4; t < len(values); t++ {
		values[t] = math.NaN()
	}
}

// readings returns what a source answers to the queries of checks of errors, of latency and of a gauge. New pods are so many times worse.
func (r randomRelease) readings(worse float64) (errors, slow, queue measure.Readings) {
	isNew := map[string]bool{}
	for i := range r.scene.New {
		isNew[r.scene.New[i].Name] = true
	}
	read := func(queries int) measure.Readings {
		return measure.Readings{Moments: r.moments, PodLabel: "pod", Answers: make([][]measure.Series, queries)}
	}
	errors, slow, queue = read(2), read(1), read(1)
	commonBounds, replaced := r.IntN(4) > 0, r.IntN(3) == 0
	for i, pod := range r.series {
		bad := 4.0
		if isNew[pod] {
			bad *= worse
		}
		counted, ends := r.counters(bad, 200), replaced && !isNew[pod]
		if ends {
			r.end(counted[1])
		}
		if r.IntN(10) > 0 {
			errors.Answers[0] = append(errors.Answers[0], measure.Series{Labels: map[string]string{"pod": pod}, Values: counted[0]})
		}
		errors.Answers[1] = append(errors.Answers[1], measure.Series{Labels: map[string]string{"pod": pod}, Values: counted[1]})
		second := "0.5"
		if !commonBounds && i%2 == 0 {
			second = "0.7"
		}
		slow.Answers[0] = append(slow.Answers[0], r.histogram(pod, bad, []string{"0.1", second, "1", "+Inf"}, ends)...)
		queue.Answers[0] = append(queue.Answers[0], measure.Series{Labels: map[string]string{"pod": pod}, Values: r.counters(bad)[0]})
	}
	errors.Past, slow.Past = r.before(errors), r.before(slow)
	return errors, slow, queue
}

// histogram returns the series of a pod with four bounds. Now and then one of them comes twice, written in two ways.
func (r randomRelease) histogram(pod string, bad float64, bounds []string, ends bool) (series []measure.Series) {
	buckets, total := r.counters(120, 40, 30, bad), make([]float64, len(r.moments))
	for j, bound := range bounds {
		for t := range total {
			total[t] += buckets[j][t]
		}
		values := slices.Clone(total)
		if ends {
			r.end(values)
		}
		series = append(series, measure.Series{Labels: map[string]string{"pod": pod, "le": bound}, Values: values})
		if bound == "1" && r.IntN(10) == 0 {
			series = append(series, measure.Series{Labels: map[string]string{"pod": pod, "le": "1.0"}, Values: values})
		}
	}
	return series
}

// findings returns what checks find of the release.
func (r randomRelease) findings() (lines []string) {
	compared := appv1alpha1.RatioObjective{Comparison: &appv1alpha1.RatioComparison{
		Baseline: []appv1alpha1.RatioBaseline{"Auto", "Concurrent", "Before"}[r.IntN(3)], Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5,
	}}
	errors, slow, queue := r.readings([]float64{1, 1, 3}[r.IntN(3)])
	terms := measure.Terms{Warmup: time.Duration(r.IntN(3)) * 15 * time.Second, Share: 0.01, Ended: r.IntN(4) > 0, Again: 15 * time.Second}
	errorsCheck := ratio.Check{Spec: &appv1alpha1.RatioCheck{RatioObjective: compared}}
	slowCheck := latency.Check{Spec: &appv1alpha1.LatencyCheck{ThresholdSeconds: []string{"", "0.5"}[r.IntN(2)], RatioObjective: compared}}
	queueCheck := gauge.Check{Spec: &appv1alpha1.GaugeCheck{Metric: "queue", Comparison: appv1alpha1.GaugeComparison{Tolerance: "1.2", MinDelta: "0"}}}
	for _, one := range []struct {
		measure.Check
		readings measure.Readings
	}{{errorsCheck, errors}, {slowCheck, slow}, {queueCheck, queue}} {
		found := one.Judge(r.scene, one.readings, terms)
		line := fmt.Sprintf("%s %s %t %d %s", found.Verdict, found.Reason, found.Final, len(found.Pods), found.Message)
		if past, ok := one.Check.(measure.PastCheck); ok {
			line = fmt.Sprintf("%t ", past.NeedsPast(r.scene, one.readings, terms.Warmup)) + line
		}
		lines = append(lines, line)
	}
	return lines
}

// What checks find stays as it is, however they find it.
func TestFindingsOfRandomReleases(t *testing.T) {
	random := rand.New(rand.NewPCG(77, 0))
	var lines []string
	for range 120 {
		lines = append(lines, newRelease(random).findings()...)
	}
	if *update {
		NewWithT(t).Expect(os.WriteFile(findingsFile, []byte(strings.Join(lines, "\n")+"\n"), 0o600)).To(Succeed())
	}
	content, err := os.ReadFile(findingsFile)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	wanted := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	NewWithT(t).Expect(lines).To(HaveLen(len(wanted)))
	for i, line := range lines {
		NewWithT(t).Expect(line).To(Equal(wanted[i]), "finding %d", i)
	}
}
