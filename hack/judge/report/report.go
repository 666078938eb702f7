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

// Package report writes how well releases were judged, as Markdown tables with 95% intervals beside the targets.
package report

import (
	"fmt"
	"io"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// maxFalse is the share of good releases that may fail.
	maxFalse = 0.01
	// Traffic is how many errors of a pod are expected in each interval where there are many.
	Traffic = 3
)

// Class is a class of releases that are alike.
type Class struct {
	Name string
	// Fault is the check that has to fail, empty for good releases.
	Fault string
	// Recall is the share that has to be found, 0 if none has; Delay the time for half of those, 0 if any.
	Recall float64
	Delay  time.Duration
	// Silent reports whether there is too little to tell anything, Busy whether at least Traffic errors of a pod are expected in each interval.
	Silent, Busy bool
}

// Release is a release that was judged.
type Release struct {
	Class  Class
	Checks []Check
	// Decided is after which time no check had anything to find any more.
	Decided time.Duration
}

// Check is what a check said about a release.
type Check struct {
	Name   string
	Failed bool
	// After is after which time it failed.
	After time.Duration
}

// Report is how releases were judged.
type Report struct {
	Releases []Release
	// Decided says what Release.Decided is until, Within is the time for half of the good releases with traffic, 0 if any.
	Decided string
	Within  time.Duration
}

// Write writes the tables, and reports whether no target is missed: that of a share certainly, by its interval, that of a median by its value.
func (r *Report) Write(out io.Writer) (met bool) {
	page := page{out: out, met: true}
	found := tallies(r.Releases)
	page.totals(sum(found), r)
	page.good(found)
	page.bad(found)
	return page.met
}

// page is where tables are written. met reports whether no target on it is missed.
type page struct {
	out io.Writer
	met bool
}

func (p *page) print(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

func (p *page) totals(total totals, r *Report) {
	p.print("| | value | 95%% interval | target |\n|---|---|---|---|\n")
	p.print("| precision | %s | |\n", share{total.found.of, total.found.of + total.blocked.of})
	p.print("| recall, all faults | %s | |\n", total.found)
	p.print("| disturbance: good releases that failed | %s | %s |\n", total.blocked, p.atMost(total.blocked, maxFalse))
	p.print("| a check without a fault failed a bad release | %s | %s |\n", total.astray, p.atMost(total.astray, maxFalse))
	p.print("| a release without data failed | %s | %s |\n", total.silent, p.target(total.silent.of > 0, "0"))
	p.print("| %s, median | %s | | %s |\n", r.Decided, total.decided, p.within(total.decided, r.Within))
	p.print("| the same with at least %d expected errors a pod and look | %s | | |\n", Traffic, total.busy)
}

func (p *page) good(found []tally) {
	p.print("\n| good releases | failed | 95%% interval | target | decided, median |\n|---|---|---|---|---|\n")
	for _, of := range found {
		if of.class.Fault == "" {
			p.print("| %s | %s | %s | %s |\n", of.class.Name, of.failed, p.atMost(of.failed, maxFalse), of.decided)
		}
	}
}

func (p *page) bad(found []tally) {
	p.print("\n| bad releases | found | 95%% interval | target | delay, median | from | to | target |\n|---|---|---|---|---|---|---|---|\n")
	for _, of := range found {
		if of.class.Fault == "" {
			continue
		}
		least, most := of.delays.bounds()
		p.print("| %s | %s | %s | %s | %s | %s | %s |\n", of.class.Name, of.failed, p.atLeast(of.failed, of.class.Recall),
			of.delays, least, most, p.within(of.delays, of.class.Delay))
	}
}

// target returns the text of a target, and notes if it is missed.
func (p *page) target(misses bool, format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if misses {
		p.met = false
		return text + " **missed**"
	}
	return text
}

func (p *page) atLeast(s share, bound float64) string {
	if bound == 0 {
		return ""
	}
	_, high := s.interval()
	return p.target(high < bound, ">= %g%%", 100*bound)
}

func (p *page) atMost(s share, bound float64) string {
	low, _ := s.interval()
	return p.target(low > bound, "<= %g%%", 100*bound)
}

func (p *page) within(d delays, bound time.Duration) string {
	if bound == 0 {
		return ""
	}
	return p.target(d.median() > bound, "<= %s", bound)
}

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

func (s share) plus(other share) share { return share{s.of + other.of, s.all + other.all} }

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

// bounds returns the shortest and the longest delay.
func (d delays) bounds() (least, most string) {
	if len(d) == 0 {
		return "-", "-"
	}
	return slices.Min(d).String(), slices.Max(d).String()
}

// tally is what was found of the releases of a class.
type tally struct {
	class Class
	// failed is how many failed, by the check of the fault if there is one, delays after what time; astray is how often another check failed.
	failed, astray share
	delays         delays
	// decided is until no check had anything to find any more.
	decided delays
}

// tallies returns what was found, by the names of the classes in their order.
func tallies(all []Release) (found []tally) {
	for i := range all {
		class := all[i].Class
		at := slices.IndexFunc(found, func(of tally) bool { return of.class.Name == class.Name })
		if at < 0 {
			at, found = len(found), append(found, tally{class: class})
		}
		found[at].add(&all[i])
	}
	return found
}

// add counts a release. A bad one is found by the check of its fault; the others have nothing to find.
func (t *tally) add(release *Release) {
	failed := false
	for i := range release.Checks {
		check := &release.Checks[i]
		if t.class.Fault != "" && check.Name != t.class.Fault {
			t.astray.add(check.Failed)
			continue
		}
		if check.Failed && !failed {
			failed = true
			t.delays = append(t.delays, check.After)
		}
	}
	t.failed.add(failed)
	t.decided = append(t.decided, release.Decided)
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
		case of.class.Fault != "":
			total.found, total.astray = total.found.plus(of.failed), total.astray.plus(of.astray)
		case of.class.Silent:
			total.silent, total.blocked = total.silent.plus(of.failed), total.blocked.plus(of.failed)
		default:
			total.blocked, total.decided = total.blocked.plus(of.failed), append(total.decided, of.decided...)
			if of.class.Busy {
				total.busy = append(total.busy, of.decided...)
			}
		}
	}
	return total
}
