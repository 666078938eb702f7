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
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
)

func TestOwnPodsAreThoseOfTheWorkloadAlone(t *testing.T) {
	long := strings.Repeat("web-", 12) + "end" // whose ReplicaSets shorten the names of their pods
	for name, row := range map[string]struct {
		kind, workload string
		own, others    []string
	}{
		"a Deployment": {"Deployment", "web", []string{"web-7d4b9c6f5d-x7k2p", "web-5d-x7k2p"},
			[]string{"web-api-x7k2p", "web-api-7d4b9c6f5d-x7k2p", "web-0"}},
		"a StatefulSet": {"StatefulSet", "web", []string{"web-0", "web-17"}, []string{"web-api-0", "web-x7k2p"}},
		"a DaemonSet":   {"DaemonSet", "web", []string{"web-x7k2p"}, []string{"web-7d4b9c6f5d-x7k2p", "web-api-x7k2p", "web-12345"}},
		"a long name":   {"Deployment", long, []string{long[:50] + "x7k2p"}, []string{"web-7d4b9c6f5d-x7k2p"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			release := checks.Scene{Kind: row.kind, Namespace: "shop", Name: row.workload}
			selector := measure.Selector("requests_total", measure.OwnPods(&release, appv1alpha1.SourceLabels{Pod: "exported_pod", Namespace: "ns"})...)
			g.Expect(selector).To(HavePrefix(`requests_total{ns="shop",exported_pod=~"`))
			pattern := regexp.MustCompile("^(?:" + regexp.MustCompile(`exported_pod=~"(.*)"`).FindStringSubmatch(selector)[1] + ")$")
			for _, pod := range row.own {
				g.Expect(pattern.MatchString(pod)).To(BeTrue(), pod)
			}
			for _, pod := range row.others {
				g.Expect(pattern.MatchString(pod)).To(BeFalse(), pod)
			}
		})
	}
}

// large returns a release of a workload with many pods.
func large(kind string, news, olds int) *checks.Scene {
	release := &checks.Scene{Kind: kind, Namespace: "shop", Name: "web"}
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	name := func(version string, i int) string {
		switch kind {
		case "StatefulSet":
			return fmt.Sprint("web-", i)
		case "Deployment":
			version += "-"
		default:
			version = ""
		}
		random := make([]byte, 5)
		for place := range random {
			random[place] = letters[(7*i+i/27*(place+5)+place*i/(place+1))%27]
		}
		return "web-" + version + string(random)
	}
	for i := range news {
		release.New = append(release.New, checks.Pod{Name: name("7d4b9c", i)})
	}
	for i := range olds {
		release.Old = append(release.Old, checks.Pod{Name: name("5c8f7d", news+i)})
	}
	return release
}

func TestOwnPodsAreAboutAHundredOfEachVersion(t *testing.T) {
	for name, row := range map[string]struct {
		release  *checks.Scene
		new, old types.GomegaMatcher
	}{
		"at most a hundred":        {large("Deployment", 100, 100), Equal(100), Equal(100)},
		"250 pods of a Deployment": {large("Deployment", 250, 250), Equal(100), And(BeNumerically(">", 70), BeNumerically("<", 115))},
		"a few new ones of many":   {large("Deployment", 3, 250), Equal(3), And(BeNumerically(">", 70), BeNumerically("<", 115))},
		"5000 pods":                {large("Deployment", 5000, 5000), Equal(100), And(BeNumerically(">", 40), BeNumerically("<", 150))},
		"a DaemonSet":              {large("DaemonSet", 250, 250), Equal(100), And(BeNumerically(">", 70), BeNumerically("<", 115))},
		"a StatefulSet":            {large("StatefulSet", 250, 250), Equal(100), Equal(100)},
		"a large StatefulSet":      {large("StatefulSet", 0, 2000), Equal(0), Equal(99)}, // web-0 has no digit before its last
		"another kind":             {large("Game", 250, 250), Equal(100), Equal(250)},
	} {
		t.Run(name, func(t *testing.T) {
			g, values := NewWithT(t), map[string][]float64{}
			matcher := measure.OwnPods(row.release, appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"})[1]
			for _, pods := range [][]checks.Pod{row.release.New, row.release.Old} {
				for _, pod := range pods {
					if row.release.Kind == "Game" || matcher.Matches(pod.Name) {
						values[pod.Name] = []float64{1}
					}
				}
			}
			counts := map[bool]int{}
			for _, pod := range measure.Pods(row.release, []time.Time{time.Unix(1767225600, 0)}, values) {
				g.Expect(pod.Values).To(Equal([]float64{1}), "%s is looked at and isn't read", pod.Name)
				counts[pod.New]++
			}
			g.Expect(counts[true]).To(row.new)
			g.Expect(counts[false]).To(row.old)
		})
	}
}

// A pod that was looked at still is once it is gone, and the others don't appear then.
func TestPodsKeepsTheSampleWhileOldPodsGo(t *testing.T) {
	g, release, values := NewWithT(t), large("Deployment", 50, 250), map[string][]float64{}
	release.Began = time.Unix(1767225601, 0)
	release.Before.Pods = 250
	for _, pod := range slices.Concat(release.New, release.Old) {
		values[pod.Name] = []float64{1}
	}
	names := func() (names []string) {
		for _, pod := range measure.Pods(release, []time.Time{time.Unix(1767225600, 0)}, values) {
			names = append(names, pod.Name)
		}
		return names
	}
	before := names()
	release.Old = release.Old[:10]
	g.Expect(names()).To(ConsistOf(before))
}

func TestPodNamesAreExactWhereKubernetesMakesThem(t *testing.T) {
	for _, row := range []struct {
		kind, name, pattern string
		exact               bool
	}{
		{"StatefulSet", "web.1", `web\.1-[0-9]+`, true},
		{"StatefulSet", strings.Repeat("w", 46), strings.Repeat("w", 46) + "-[0-9]+", true},
		{"StatefulSet", strings.Repeat("w", 47), strings.Repeat("w", 46) + ".+", false},
		{"Game", "web", "web-.+", false},
	} {
		pattern, exact := measure.PodNames(row.kind, row.name)
		NewWithT(t).Expect(pattern).To(Equal(row.pattern))
		NewWithT(t).Expect(exact).To(Equal(row.exact), pattern)
	}
}

func TestMatchersNameTextsThatAreNone(t *testing.T) {
	found, err := measure.Matchers([]string{`code=~"5.."`, `path!=""`})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(measure.Selector("requests_total", found...)).To(Equal(`requests_total{code=~"5..",path!=""}`))
	for _, matcher := range []string{``, `code`, `code=~"("`, `code="5",ns="bank"`, `a="b"} or other{c="d"`, `__name__="other"`} {
		_, err := measure.Matchers([]string{`code="500"`, matcher})
		NewWithT(t).Expect(err).To(MatchError(HavePrefix("matchers[1]: ")), matcher)
		NewWithT(t).Expect(err).To(MatchError(HaveSuffix(`is not one label matcher, such as code=~"5.."`)), matcher)
	}
}

func TestSumByPod(t *testing.T) {
	g := NewWithT(t)
	release, names := &checks.Scene{Kind: "StatefulSet", Namespace: "shop", Name: "web"}, appv1alpha1.SourceLabels{Pod: "exported_pod", Namespace: "ns"}
	matching, err := measure.Matchers([]string{`code=~"5.."`})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(measure.SumByPod(release, names, "requests_total", matching)).To(Equal(
		`sum by (exported_pod) (requests_total{code=~"5..",ns="shop",exported_pod=~"web-[0-9]+"})`))
	g.Expect(measure.SumByPod(release, names, "seconds_bucket", nil, "le")).To(Equal(
		`sum by (exported_pod, le) (seconds_bucket{ns="shop",exported_pod=~"web-[0-9]+"})`))
}

func TestRateOfOthers(t *testing.T) {
	g := NewWithT(t)
	release, names := &checks.Scene{Kind: "StatefulSet", Namespace: "shop", Name: "web"}, appv1alpha1.SourceLabels{Pod: "exported_pod", Namespace: "ns"}
	matching, err := measure.Matchers([]string{`code=~"5.."`})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(measure.RateOfOthers(release, names, "requests_total", matching)).To(Equal(
		`sum by () (rate(requests_total{code=~"5..",ns="shop",exported_pod!="",exported_pod!~"web-[0-9]+"}[2m]))`))
	g.Expect(measure.RateOfOthers(release, names, "seconds_bucket", nil, "le")).To(Equal(
		`sum by (le) (rate(seconds_bucket{ns="shop",exported_pod!="",exported_pod!~"web-[0-9]+"}[2m]))`))
}
