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
	"fmt"
	"io"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verification/replay"
)

const (
	// maxFalse is the share of good releases that may fail.
	maxFalse = 0.01
	// maxDelay is the time in which half of the good releases with traffic have to pass.
	maxDelay = 2 * time.Minute
	// traffic is how many errors of a pod are expected in each interval where there are many.
	traffic = 3
)

// share is how many of a number of releases something holds of.
type share struct{ of, all int }

// interval returns the bounds of the 95% interval of Clopper and Pearson.
func (s share) interval() (low, high float64) {
	k, n := float64(s.of), float64(s.all)
	low, high = 0, 1
	if s.of > 0 {
		low = distuv.Beta{Alpha: k, Beta: n - k + 1}.Quantile(0.025)
	}
	if s.of < s.all {
		high = distuv.Beta{Alpha: k + 1, Beta: n - k}.Quantile(0.975)
	}
	return low, high
}

func (s share) String() string {
	if s.all == 0 {
		return "- | -"
	}
	low, high := s.interval()
	return fmt.Sprintf("%.1f%% (%d of %d) | %.1f%% to %.1f%%", 100*float64(s.of)/float64(s.all), s.of, s.all, 100*low, 100*high)
}

func (s *share) add(holds bool) {
	s.all++
	if holds {
		s.of++
	}
}

// delays are times until a verdict.
type delays []time.Duration

// median returns the median, 0 if there are none.
func (d delays) median() time.Duration {
	if len(d) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(d))[len(d)/2]
}

func (d delays) String() string {
	if len(d) == 0 {
		return "-"
	}
	return d.median().String()
}

// tally is what was found of the releases of a class.
type tally struct {
	class class
	// failed is how many failed, by the check of the fault if there is one, delays after what time; astray is how often the other check failed.
	failed, astray share
	delays         delays
	// decided is until no check had anything to find any more.
	decided delays
}

// afterWarmup returns how long after the warm-up of the new pods a check had its verdict.
func afterWarmup(check *replay.Check) time.Duration {
	return time.Duration(check.After)*time.Second - readyAfter - warmup
}

// tallies returns what was found, by the names of the classes in their order.
func tallies(all []judged) (found []tally) {
	for i := range all {
		class := all[i].release.class
		at := slices.IndexFunc(found, func(of tally) bool { return of.class.name == class.name })
		if at < 0 {
			at, found = len(found), append(found, tally{class: class})
		}
		found[at].add(&all[i].report)
	}
	return found
}

// add counts a release. A bad one is found by the check of its fault; the other check has nothing to find.
func (t *tally) add(report *replay.Report) {
	failed, decided := false, time.Duration(0)
	for i := range report.Checks {
		check := &report.Checks[i]
		fails := check.Verdict == appv1alpha1.CheckFail
		decided = max(decided, afterWarmup(check))
		if t.class.fault != "" && check.Name != t.class.fault {
			t.astray.add(fails)
			continue
		}
		if fails && !failed {
			failed = true
			t.delays = append(t.delays, afterWarmup(check))
		}
	}
	t.failed.add(failed)
	t.decided = append(t.decided, decided)
}

// report prints the tables, and reports whether no target is missed: that of a share certainly, by its interval, that of a median by its value.
func report(out io.Writer, all []judged) (met bool) {
	met = true
	target := func(misses bool, text string, args ...any) string {
		text = fmt.Sprintf(text, args...)
		if misses {
			met = false
			return text + " **missed**"
		}
		return text
	}
	atLeast := func(s share, bound float64) string {
		_, high := s.interval()
		return target(high < bound, ">= %g%%", 100*bound)
	}
	atMost := func(s share, bound float64) string {
		low, _ := s.interval()
		return target(low > bound, "<= %g%%", 100*bound)
	}
	within := func(d delays, bound time.Duration) string { return target(d.median() > bound, "<= %s", bound) }

	found := tallies(all)
	total := sum(found)
	fmt.Fprintln(out, "| | value | 95% interval | target |\n|---|---|---|---|")
	fmt.Fprintf(out, "| precision | %s | |\n", share{total.found.of, total.found.of + total.blocked.of})
	fmt.Fprintf(out, "| recall, all faults | %s | |\n", total.found)
	fmt.Fprintf(out, "| disturbance: good releases that failed | %s | %s |\n", total.blocked, atMost(total.blocked, maxFalse))
	fmt.Fprintf(out, "| the check without a fault failed a bad release | %s | %s |\n", total.astray, atMost(total.astray, maxFalse))
	fmt.Fprintf(out, "| a release without data failed | %s | %s |\n", total.silent, target(total.silent.of > 0, "0"))
	fmt.Fprintf(out, "| until a good release with traffic was decided, median | %s | | %s |\n", total.decided, within(total.decided, maxDelay))
	fmt.Fprintf(out, "| the same with at least %d expected errors a pod and look | %s | | |\n", traffic, total.busy)

	fmt.Fprintln(out, "\n| good releases | failed | 95% interval | target | decided, median |\n|---|---|---|---|---|")
	for _, of := range found {
		if of.class.fault == "" {
			fmt.Fprintf(out, "| %s | %s | %s | %s |\n", of.class.name, of.failed, atMost(of.failed, maxFalse), of.decided)
		}
	}
	fmt.Fprintln(out, "\n| bad releases | found | 95% interval | target | delay, median | target |\n|---|---|---|---|---|---|")
	for _, of := range found {
		if of.class.fault == "" {
			continue
		}
		recall, delay := "", ""
		if of.class.recall > 0 {
			recall = atLeast(of.failed, of.class.recall)
		}
		if of.class.delay > 0 {
			delay = within(of.delays, of.class.delay)
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", of.class.name, of.failed, recall, of.delays, delay)
	}
	fmt.Fprintln(out, "\nTimes are from the end of the warm-up of the new pods. Intervals are those of Clopper and Pearson.")
	return met
}

// totals are what was found of all releases.
type totals struct {
	found, blocked, astray, silent share
	// decided is until good releases with traffic were decided, busy that of those with much.
	decided, busy delays
}

func sum(found []tally) (total totals) {
	for _, of := range found {
		switch {
		case of.class.fault != "":
			total.found, total.astray = total.found.plus(of.failed), total.astray.plus(of.astray)
		case of.class.silent:
			total.silent, total.blocked = total.silent.plus(of.failed), total.blocked.plus(of.failed)
		default:
			total.blocked, total.decided = total.blocked.plus(of.failed), append(total.decided, of.decided...)
			if world := of.class.world; world.base*world.requests >= traffic {
				total.busy = append(total.busy, of.decided...)
			}
		}
	}
	return total
}

func (s share) plus(other share) share { return share{s.of + other.of, s.all + other.all} }
