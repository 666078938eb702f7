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

package invariant

import (
	"slices"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/soak/history"
)

// frozen is a freeze that is on.
type frozen struct {
	namespace string
	since     time.Time
	action    appv1alpha1.FreezeAction
}

// freezes are the freezes that are on, by their UID.
type freezes map[string]frozen

// note takes a write of a ChangeFreeze, or the end of one.
func (f freezes) note(write history.Write) {
	freeze := write.Freeze
	switch {
	case freeze == nil:
		delete(f, write.Ended)
	case !freeze.Active:
		delete(f, freeze.UID)
	case f[freeze.UID].action != freeze.Action:
		f[freeze.UID] = frozen{write.Namespace, write.Time, freeze.Action}
	}
}

// strictest returns what the freezes make of a release that was asked for at a time, empty without one that all managers know by then.
func (f freezes) strictest(write history.Write, system System) (strictest appv1alpha1.FreezeAction) {
	for _, on := range f {
		if on.namespace != write.Namespace || on.action == appv1alpha1.FreezeWarn || system.awake(on.since, write.Asked) <= cacheLag {
			continue
		}
		if strictest == "" || on.action == appv1alpha1.FreezeDeny {
			strictest = on.action
		}
	}
	return strictest
}

// freezing is the state of the checker of freezes.
type freezing struct {
	Result
	system System
	on     freezes
	before map[string]*history.Released // by the UID of the workload
	// parked is the release that was parked, verified the last one that was verified, by the UID of the workload.
	parked, verified map[string]int64
}

// Frozen reports whether a release that a user makes during a freeze starts neither then nor while the freeze is on, unless it passes by a
// BreakGlass, or all pods run its version already and passed; and whether none is admitted during a freeze that denies.
func Frozen(writes []history.Write, system System) Result {
	f := freezing{system: system, on: freezes{}, before: map[string]*history.Released{}, parked: map[string]int64{}, verified: map[string]int64{}}
	for _, write := range writes {
		f.on.note(write)
		if record := write.Workload; record != nil && record.Status == appv1alpha1.ChangeWorkloadSuccess {
			f.verified[record.Of] = record.Observed
		}
		if write.Released != nil && write.Verb != "delete" && slices.Contains(system.OptedIn, write.Namespace) {
			f.take(write)
		}
	}
	return f.Result
}

// take judges a write of a workload.
func (f *freezing) take(write history.Write) {
	next := write.Released
	old := f.before[next.UID]
	f.before[next.UID] = next
	wasParked, released := f.parked[next.UID] == next.Release, old == nil || old.Template != next.Template
	strictest := f.on.strictest(write, f.system)
	if !next.Paused || strictest == "" && !next.Parked { // between two freezes it may go on, and wait for its first step
		delete(f.parked, next.UID)
	}
	switch {
	case strictest == "" || next.Pass != nil:
	case released && write.User == f.system.Operator: // a rollback always passes
	case released:
		f.admitted(write, strictest)
	case wasParked:
		f.Observations++
		if !next.Paused && f.verified[next.UID] != next.Release {
			f.violated("release %d, which is parked, started during a freeze: %s", next.Release, at(write))
		}
	}
}

// admitted judges a release that was admitted during a freeze.
func (f *freezing) admitted(write history.Write, strictest appv1alpha1.FreezeAction) {
	f.Observations++
	switch next := write.Released; {
	case strictest == appv1alpha1.FreezeDeny:
		f.violated("release %d was admitted during a freeze that denies: %s", next.Release, at(write))
	case !next.Paused:
		f.violated("release %d was admitted during a freeze, and isn't parked: %s", next.Release, at(write))
	default:
		f.parked[next.UID] = next.Release
	}
}

// Approved reports whether no release of the namespaces whose steps need an approval did them all without that of a user other than its author.
func Approved(writes []history.Write, system System) Result {
	type release struct {
		workload, version string
		number            int64
	}
	var result Result
	approved := map[release]bool{}
	authors := map[release]string{}
	last := map[string]int64{}     // the release of a workload, by its UID
	finished := map[string]int64{} // the release that did all its steps, by the UID of its ChangeWorkload
	for _, write := range writes {
		if approval := write.Approval; approval != nil && approval.Decides == appv1alpha1.DecisionApprove {
			of := release{approval.Workload, approval.Version, approval.Release}
			approved[of] = approved[of] || approval.By != authors[of]
		}
		if next := write.Released; next != nil && last[next.UID] != next.Release {
			last[next.UID] = next.Release
			authors[release{next.UID, next.Version, next.Release}] = write.User
		}
		record := write.Workload
		if record == nil || !slices.Contains(system.Approving, write.Namespace) ||
			record.Paced != appv1alpha1.ReasonAllSteps || finished[record.UID] == record.Observed {
			continue
		}
		finished[record.UID] = record.Observed
		result.Observations++
		if !approved[release{record.Of, record.Version, record.Observed}] {
			result.violated("release %d did all its steps without an approval: ChangeWorkload %s", record.Observed, at(write))
		}
	}
	return result
}
