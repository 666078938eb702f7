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

package report

import (
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
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
