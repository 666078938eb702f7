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

package decide

import (
	"math"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// newcomer is how old a workload has to be when it is first observed to be one from before. Otherwise it has just been created, and the
// event of its creation was late.
const newcomer = 30 * time.Second

// Sighting is the observed state of a workload whose kind is in the mode Observe.
type Sighting struct {
	// Version is the version of its content, empty if the content makes no release.
	Version string
	// Generation is its metadata.generation.
	Generation int64
	// Created is when it was created.
	Created time.Time
	// Complete reports whether its rollout is complete.
	Complete bool
	// Ended reports whether it is a run that has ended.
	Ended bool
}

// ObserveRelease returns the release that a workload has begun since the newest of its ChangeWorkloads; isNew is false where it has begun none.
// The first release of a workload from before is its baseline. A run from before that has ended is not recorded: nothing of it can change.
func ObserveRelease(seen Sighting, records []appv1alpha1.ChangeWorkload, now time.Time) (release Release, isBaseline, isNew bool) {
	newest := Newest(records)
	if seen.Version == "" || newest != nil && newest.Spec.Reversion == seen.Version {
		return Release{}, false, false
	}
	release = Release{Version: seen.Version, Number: max(seen.Generation, 1)}
	isKnown := false
	for i := range records {
		isKnown = isKnown || records[i].Spec.Observed
		if records[i].Spec.Release < math.MaxInt64 {
			release.Number = max(release.Number, records[i].Spec.Release+1)
		}
	}
	isOld := !isKnown && now.Sub(seen.Created) >= newcomer
	return release, isOld && seen.Complete, !isOld || !seen.Ended
}

// IsNewest reports whether a ChangeWorkload is the newest of its workload, given the others.
func IsNewest(workload *appv1alpha1.ChangeWorkload, others []appv1alpha1.ChangeWorkload) bool {
	newest := Newest(others)
	return newest == nil || isAfter(workload, newest)
}

// Newest returns the newest of the ChangeWorkloads of a workload, nil where there is none.
func Newest(records []appv1alpha1.ChangeWorkload) *appv1alpha1.ChangeWorkload {
	newest := func(observed bool) (found *appv1alpha1.ChangeWorkload) {
		for i := range records {
			record := &records[i]
			if record.Spec.Observed == observed && record.DeletionTimestamp == nil && (found == nil || isAfter(record, found)) {
				found = record
			}
		}
		return found
	}
	observed, enforced := newest(true), newest(false)
	if observed == nil || enforced != nil && isAfter(enforced, observed) {
		return enforced
	}
	return observed
}

// isAfter compares the releases of a workload: by their numbers, which count observed releases and others separately, else by their times.
func isAfter(a, b *appv1alpha1.ChangeWorkload) bool {
	if a.Spec.Observed != b.Spec.Observed {
		return a.Spec.CreateTimeUnix > b.Spec.CreateTimeUnix || a.Spec.CreateTimeUnix == b.Spec.CreateTimeUnix && a.Spec.Observed
	}
	return a.Spec.Release > b.Spec.Release
}

// SameMode returns those of a workload's ChangeWorkloads that are observed as the given one is, and the rest. Only the former count for its
// decisions.
func SameMode(workload *appv1alpha1.ChangeWorkload, others []appv1alpha1.ChangeWorkload) (same, rest []appv1alpha1.ChangeWorkload) {
	for i := range others {
		if others[i].Spec.Observed == workload.Spec.Observed {
			same = append(same, others[i])
		} else {
			rest = append(rest, others[i])
		}
	}
	return same, rest
}

// unsteered returns the observation without what leads to writes to the workload.
func (o Observation) unsteered() Observation {
	o.Blocking, o.Suspended, o.Trial, o.Hold, o.Refused, o.Templates = false, false, false, NotHeld, "", 0
	o.Parked, o.First, o.RolledBack, o.Freeze, o.Pace = nil, nil, nil, Freeze{}, Pace{}
	o.Observations = nil // for an observed release the records of enforced ones, which count again once the kind is enforced
	return o
}

// NeedsPods reports whether the pods of an observed release are listed: those of a verified one, and of a baseline, aren't.
func NeedsPods(workload *appv1alpha1.ChangeWorkload) bool {
	return workload.Spec.Observed && !workload.Spec.Baseline && !IsSettled(workload)
}

// The time until a release without events is looked at again grows with its age, within these bounds.
const minLook, maxLook = 2 * time.Second, time.Minute

// observeAgain limits the wait for the next decision about an observed release. Runs, and a rollout that is resumed, have events.
func (d *Decision) observeAgain(workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus, seen Observation, now time.Time) {
	waits := status.Status == appv1alpha1.ChangeWorkloadRunning || status.Status == appv1alpha1.ChangeWorkloadTimeOutPreThreshold
	if seen.Observed && seen.Current && seen.OptedIn && waits && !seen.Runs && !seen.Paused {
		d.lookIn(LookInterval(workload, now))
	}
}

// LookInterval returns the time until a release is looked at again whose pods may have no events.
func LookInterval(workload *appv1alpha1.ChangeWorkload, now time.Time) time.Duration {
	return min(max(now.Sub(time.Unix(workload.Spec.CreateTimeUnix, 0))/8, minLook), maxLook)
}
