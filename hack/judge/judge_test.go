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
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/verification/replay"
	"github.com/traas-stack/altershield-operator/hack/judge/report"
	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

func TestGoodAndBadAreAsMany(t *testing.T) {
	count := func(classes []class) (sum int) {
		for _, of := range classes {
			sum += of.count
		}
		return sum
	}
	NewWithT(t).Expect([]int{count(good()), count(bad())}).To(Equal([]int{120, 120}))
}

func TestNewReleasesAreTheSameForTheSameSeeds(t *testing.T) {
	g := NewWithT(t)
	g.Expect(samples(newReleases(bad()[:1], 1, 7))).To(Equal(samples(newReleases(bad()[:1], 1, 7))))
	g.Expect(samples(newReleases(bad()[:1], 1, 7))).NotTo(Equal(samples(newReleases(bad()[:1], 1, 8))))
}

// failures returns the share of failed and of slow requests of new or old pods between two times.
func failures(pods []pod, isNew bool, from, until time.Duration) (failed, slow float64) {
	var sum scrape
	for _, of := range pods {
		for i := range of.scrapes[1:] {
			before, now := of.scrapes[i], of.scrapes[i+1]
			if of.isNew == isNew && !before.at.Before(began().Add(from)) && !now.at.After(began().Add(until)) {
				sum.total, sum.failed, sum.slow = sum.total+now.total-before.total, sum.failed+now.failed-before.failed, sum.slow+now.slow-before.slow
			}
		}
	}
	return sum.failed / sum.total, sum.slow / sum.total
}

func TestWorldPods(t *testing.T) {
	const start, end = readyAfter + warmup, watched
	plain := world{olds: 20, news: 20, base: 0.01, requests: 10_000, errors: 3, slowness: 2}
	with := func(change func(*world)) world {
		changed := plain
		change(&changed)
		return changed
	}
	for name, row := range map[string]struct {
		world       world
		isNew       bool
		from, until time.Duration
		failed      float64
		slow        float64
	}{
		"old pods":                 {plain, false, -5 * time.Minute, end, 0.01, 0.01},
		"new pods":                 {plain, true, start, end, 0.03, 0.02},
		"warming up":               {with(func(w *world) { w.cold = 4 }), true, 0, start, 0.12, 0.08},
		"warm":                     {with(func(w *world) { w.cold = 4 }), true, start, end, 0.03, 0.02},
		"bursts":                   {with(func(w *world) { w.burst = 0.5 }), true, start, end, 0.03, 0.02},
		"lasting differences":      {with(func(w *world) { w.olds, w.lasting = 2000, 0.35 }), false, start, end, 0.01, 0.01},
		"before a shock":           {with(func(w *world) { w.shock, w.shockFactor = time.Minute, 5 }), false, -5 * time.Minute, start, 0.01, 0.01},
		"with a shock of a minute": {with(func(w *world) { w.shock, w.shockFactor = time.Minute, 5 }), false, start, end, 0.014, 0.014},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			failed, slow := failures(row.world.pods(rand.New(rand.NewPCG(1, 1))), row.isNew, row.from, row.until)
			g.Expect(failed).To(BeNumerically("~", row.failed, row.failed/10))
			g.Expect(slow).To(BeNumerically("~", row.slow, row.slow/10))
		})
	}
	for _, of := range with(func(w *world) { w.unseen = true }).pods(rand.New(rand.NewPCG(1, 1))) {
		unseen := BeEmpty()
		if !of.isNew {
			unseen = Not(unseen)
		}
		NewWithT(t).Expect(of.scrapes).To(unseen)
	}
}

func TestJudgedReleaseHasTimesSinceTheWarmup(t *testing.T) {
	of := &release{class: class{Class: report.Class{Name: "errors"}}}
	said := &replay.Report{Checks: []replay.Check{
		{Name: "errors", Verdict: "Fail", After: 165}, {Name: "latency", Verdict: "Pass", After: 200},
	}}
	NewWithT(t).Expect(judgedRelease(of, said)).To(Equal(report.Release{
		Class: report.Class{Name: "errors"}, Decided: 110 * time.Second,
		Checks: []report.Check{{Name: "errors", Failed: true, After: 75 * time.Second}, {Name: "latency", After: 110 * time.Second}},
	}))
}

func TestJudgeAllAsksARealPrometheus(t *testing.T) {
	g := NewWithT(t)
	programs, err := prometheus.Ensure(t.Context(), os.Stderr)
	if errors.Is(err, prometheus.ErrUnavailable) {
		t.Skip(err)
	}
	g.Expect(err).NotTo(HaveOccurred())
	even := world{olds: 9, news: 1, base: 0.01, requests: 3000, errors: 1, slowness: 1}
	failing, slow := even, even
	failing.errors, slow.slowness = 10, 10
	releases := newReleases([]class{{count: 1, world: even}, {count: 1, world: failing}, {count: 1, world: slow}}, 1, 1)
	address, stop, err := programs.Start(t.Context(), t.TempDir(), samples(releases))
	g.Expect(err).NotTo(HaveOccurred())
	defer stop()
	all, err := judgeAll(t.Context(), address, releases)
	g.Expect(err).NotTo(HaveOccurred())
	var verdicts []string
	for _, of := range all {
		for _, check := range of.Checks {
			verdicts = append(verdicts, fmt.Sprintf("%s %s %s", of.Namespace, check.Name, check.Reason))
		}
	}
	g.Expect(verdicts).To(Equal([]string{
		"release-1 errors PassedEarly", "release-1 latency PassedEarly", "release-2 errors CheckFailed", "release-2 latency PassedEarly",
		"release-3 errors PassedEarly", "release-3 latency CheckFailed",
	}))
}
