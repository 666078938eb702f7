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
	"time"
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
