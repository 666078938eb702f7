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

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/utils/ptr"

	"github.com/traas-stack/altershield-operator/hack/local/process"
)

func TestJudgeComparesAFigureWithTheGoalOfItsLoadAndSetup(t *testing.T) {
	g := NewWithT(t)
	of := func(setup string, median float64) Figure {
		return Figure{Setup: setup, Name: "writes per pod", Summary: Summary{Median: median}}
	}
	figures := judge("100x10", []Figure{of("batches of 10", 1.8), of("batches of 1", 3.61), of("batches of 100", 9)})
	g.Expect(figures[0].Load).To(Equal("100x10"))
	g.Expect(figures[0].Goal).To(HaveValue(Equal(1.8)))
	g.Expect(figures[0].Met).To(HaveValue(BeTrue()))
	g.Expect(figures[1].Goal).To(HaveValue(Equal(3.6)))
	g.Expect(figures[1].Met).To(HaveValue(BeFalse()))
	g.Expect(figures[2].Goal).To(BeNil())
	g.Expect(judge("500x10", []Figure{of("batches of 1", 9)})[0].Goal).To(BeNil())
}

func TestPrintTableShowsMedianSpreadAndGoal(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	g.Expect(printTable(&out, []Figure{
		{Load: "100x10", Setup: "native", Name: "roll time", Unit: "s", Summary: Summary{Median: 29, Low: 28.04, High: 130.6, Count: 3}},
		{Load: "100x10", Setup: "batches of 1", Name: "writes per pod", Summary: Summary{Median: 3.55, Low: 3.55, High: 3.55, Count: 1},
			Goal: ptr.To(3.1), Met: ptr.To(false)},
		{Load: "verdict", Setup: "idle plane", Name: "p50", Unit: "ms", Summary: Summary{Median: 8}, Goal: ptr.To(10.0), Met: ptr.To(true)},
	})).To(Succeed())
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	g.Expect(rows).To(Equal([]string{
		"", "100X10 setup median spread goal",
		"roll time native 29.0 s 28.0 .. 131",
		"writes per pod batches of 1 3.55 ≤ 3.10 not met",
		"", "VERDICT setup median spread goal",
		"p50 idle plane 8.00 ms ≤ 10.0 met",
	}))
}

// runAsEcho returns the figures of commands that print anything.
func runAsEcho(t *testing.T, setup string, commands []pluginCommand) []Figure {
	for i := range commands {
		commands[i].prints = ""
	}
	figures, err := runEach(t.Context(), setup, commands, "echo", "")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return figures
}

func TestGoalsAreEachOfOneFigureThatIsMeasured(t *testing.T) {
	g := NewWithT(t)
	one := []sample{{times: times{rolled: time.Second, verified: time.Second}}}
	figures := map[string][]Figure{}
	setups := []setup{{batch: 1}, {batch: 10}, {batch: 10, options: []string{"label off"}}, {batch: 1, options: []string{"server"}}, {batch: 10, options: []string{"server"}}}
	for _, c := range contestants(deploymentsIn("", 1, 1), setups) {
		figures["100x10"] = append(figures["100x10"], c.figures(one, one)...)
		figures["late"] = append(figures["late"], c.figures(one, one)...)
	}
	took := map[written][]float64{}
	for _, operation := range []string{"create", "update of the template", "update of an annotation"} {
		took[written{"Deployments", operation, false}] = []float64{1} // the ratio needs it
	}
	for _, who := range []string{"1 client", "8 clients"} {
		figures["admission"] = append(figures["admission"], admissionFigures(who, "Deployments", took, 1)...)
		figures["declared-admission"] = append(figures["declared-admission"], admissionFigures(who, "declared kind", took, 1)...)
	}
	of := func(setup string) []contestant {
		return []contestant{{name: setup + ", Deployments"}, {name: setup + ", declared kind"}}
	}
	all := append(of("batches of 1"), of("batches of 10")...)
	var writes []Figure
	for _, c := range all {
		writes = append(writes, figureOf(c.name, "writes per pod", "", 1))
	}
	figures["declared"] = declaredFigures(writes, all)
	figures["declared-rest"] = declaredRestFigures(make([]float64, 6), 1, 1, time.Second)
	for _, beside := range []string{"0 pods", "1000 pods", "10000 pods", "1000 pods, 0 others", "1000 pods, 1 others"} {
		c := contestant{name: beside, setup: setup{batch: 10}, fleet: deploymentsIn("", 1, 1)}
		figures["growth"] = append(figures["growth"], c.figures(one, one)...)
	}
	figures["growth"] = append(figures["growth"], append(growthFigures(figures["growth"], 1000, 10_000), othersFigure(figures["growth"], 1))...)
	figures["verdict"] = verdictFigures([]float64{1})
	figures["stuck"] = stuckFigures(make([]float64, 20))
	many, big := deploymentsIn("many", 200, 10), deploymentsIn("big", 1, 5000)
	figures["plugin"] = runAsEcho(t, pluginSetup(many, big), pluginCommands(many, big))
	figures["records"] = runAsEcho(t, recordsSetup(), recordsCommands())
	for _, beside := range []string{"no objects", "1,000 Deployments", "10,000 more releases", "10,000 more releases, server"} {
		figures["rest"] = append(figures["rest"], restFigures(beside, sample{})...)
	}
	found := map[goal]int{}
	for load, of := range figures {
		for _, figure := range judge(load, of) {
			found[goal{load, figure.Setup, figure.Name}]++
		}
	}
	for goal := range goals() {
		g.Expect(found).To(HaveKeyWithValue(goal, 1))
	}
}

func TestGrowthFiguresCompareWhatAPodTakesBesideManyAndBesideFew(t *testing.T) {
	g := NewWithT(t)
	at := func(setup string, heapMiB, perPod float64) []Figure {
		return []Figure{
			figureOf(setup, "heap after garbage collection", "MiB", heapMiB), figureOf(setup, "verified time / native roll", "", perPod), figureOf(setup, "CPU per pod", "ms", perPod),
		}
	}
	figures := slices.Concat(at("0 pods", 10, 1), at("1024 pods", 14, 1.2), at("10240 pods", 60, 1.5), at("1000 pods, 0 others", 14, 1), at("1000 pods, 20480 others", 16, 1))
	found := map[string]float64{}
	for _, figure := range append(growthFigures(figures, 1024, 10240), othersFigure(figures, 20480)) {
		found[figure.Setup+": "+figure.Name] = figure.Median
	}
	const compared = "largest / smallest number of pods: "
	g.Expect(found).To(Equal(map[string]float64{
		compared + "heap per pod, smallest number": 4, compared + "heap per pod, largest number": 5, compared + "heap per pod": 1.25,
		compared + "verified time / native roll": 1.25, compared + "CPU per pod": 1.25, "with other pods: heap per other pod": 0.1,
	}))
}

func TestFiguresOfRoundsArePerPodAndComparedWithNative(t *testing.T) {
	g := NewWithT(t)
	round := func(verified time.Duration, memory int64) sample {
		return sample{times: times{rolled: 2 * time.Second, verified: verified}, heap: 7 << 20, meters: meters{used: process.Usage{CPU: 2 * time.Second, Memory: memory << 20}}}
	}
	c := contestant{name: "batches of 10", setup: setup{batch: 10}, fleet: deploymentsIn("probe", 10, 20)}
	figures := c.figures([]sample{round(3*time.Second, 2), round(5*time.Second, 4)}, []sample{round(0, 0), round(0, 0)})
	found := map[string]float64{}
	for _, figure := range figures {
		found[figure.Name] = figure.Median
	}
	g.Expect(found).To(And(HaveKeyWithValue("verified time / native roll", 2.0), HaveKeyWithValue("CPU per pod", 10.0),
		HaveKeyWithValue("memory of the manager", 3.0), HaveKeyWithValue("heap after garbage collection", 7.0), HaveKeyWithValue("roll time / native", 1.0)))
}

func TestReturnsReachFromTheDeadlineToTheTemplateBefore(t *testing.T) {
	g := NewWithT(t)
	created := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	pod := func(app string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}, CreationTimestamp: metav1.NewTime(created)}}
	}
	deployment := func(name string, labels map[string]string) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}},
		}
	}
	never := map[string]string{"local.altershield.io/start": "never"}
	seen := newReturns([]corev1.Pod{pod("cart"), pod("till")})
	g.Expect(seen.saw(deployment("cart", never), created)).To(BeFalse())
	g.Expect(seen.delays).To(BeEmpty())
	g.Expect(seen.saw(deployment("cart", nil), created.Add(10*time.Second+20*time.Millisecond))).To(BeFalse(), "the other one is not back")
	g.Expect(seen.saw(deployment("cart", nil), created.Add(time.Minute))).To(BeFalse(), "its status changes")
	g.Expect(seen.saw(deployment("till", nil), created.Add(11*time.Second))).To(BeTrue())
	g.Expect(seen.delays).To(Equal(map[string]float64{"cart": 20, "till": 1000}))
}

func request(verb, namespace, resource, subresource string, code int32) auditv1.Event {
	return auditv1.Event{
		Verb:           verb,
		ObjectRef:      &auditv1.ObjectReference{Namespace: namespace, Resource: resource, Subresource: subresource},
		ResponseStatus: &metav1.Status{Code: code},
	}
}

func TestWritesOfCountsByVerbAndKindAndFailuresApart(t *testing.T) {
	g := NewWithT(t)
	requests := []auditv1.Event{
		request("patch", "shop", "pods", "", 200),
		request("patch", "shop", "pods", "", 200),
		request("patch", "shop", "changepods", "status", 200),
		request("patch", "shop", "changepods", "status", 409),
		request("create", "shop", "changepods", "", 403),
		request("create", "shop", "events", "", 201),
		request("patch", "shop", "events", "", 409),
		request("get", "shop", "changepods", "", 200),
		request("list", "shop", "pods", "", 200),
		request("watch", "shop", "pods", "", 200),
		request("patch", "elsewhere", "pods", "", 200),
		request("patch", "", "controlledkinds", "status", 200),
		{Verb: "create"},
	}
	counts := writesOf(requests, "shop")
	g.Expect(counts).To(Equal(map[string]int{
		"patch pods":                         2,
		"patch changepods/status":            1,
		"patch changepods/status (conflict)": 1,
		"create changepods (failed)":         1,
		"patch controlledkinds/status":       1,
		"events":                             2,
	}))
	g.Expect(writesOf(requests, "shop", "elsewhere")).To(HaveKeyWithValue("patch pods", 3))
	g.Expect(total(counts, "")).To(Equal(6))
	g.Expect(total(counts, " (conflict)")).To(Equal(1))
	g.Expect(readsOf(requests)).To(Equal(map[string]int{"get changepods": 1, "list pods": 1}))
}
