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

// While nothing is stopped, the operator may act on an old cache for cacheLag, and on dead pods for podLag, which is shorter because
// acting on these needs no write.
const cacheLag, podLag = 10 * time.Second, 5 * time.Second

// outcome is the last outcome of a version of a workload.
type outcome struct {
	verified bool
	since    time.Time
}

// Suspension reports whether the template of a suspended workload changes only by a release that ignores the suspension and is
// recorded as such, that passes by a BreakGlass, by a return to a verified version, or by a rollback of the operator; and whether only the operator suspends
// workloads and ends suspensions.
func Suspension(writes []history.Write, system System) Result {
	var result Result
	before := map[string]*history.Released{}
	outcomes := map[string]outcome{} // of a workload's UID and a version
	passes := glasses{}
	for _, write := range writes {
		passes.note(write)
		if workload := write.Workload; workload != nil {
			settle(outcomes, workload, write.Time)
		}
		next := write.Released
		if next == nil || !slices.Contains(system.OptedIn, write.Namespace) {
			continue
		}
		old := before[next.UID]
		before[next.UID] = next
		if old == nil {
			continue
		}
		if old.Suspended != next.Suspended && write.User != system.Operator {
			result.violated("suspended is %t now and was %t: %s", next.Suspended, old.Suspended, at(write))
		}
		if !old.Suspended {
			continue
		}
		result.Observations++
		if old.Template == next.Template && old.Version == next.Version || passes.by(write) {
			continue
		}
		if reason := unauthorised(write, old, next, outcomes[next.UID+next.Version], system); reason != "" {
			result.violated("suspended, it took release %d, version %s: %s: %s", next.Release, next.Version, reason, at(write))
		}
	}
	return result
}

// glasses are the BreakGlasses that let a suspended workload pass, by namespace and name.
type glasses map[string]bool

func (g glasses) note(write history.Write) {
	if glass := write.Glass; glass != nil && slices.Contains(glass.Overrides, appv1alpha1.OverrideSuspension) {
		g[write.Namespace+"/"+glass.Name] = true
	}
}

// by reports whether a release passed by one of them.
func (g glasses) by(write history.Write) bool {
	pass := write.Released.Pass
	return pass != nil && g[write.Namespace+"/"+pass.Name]
}

// settle records the outcome of a release.
func settle(outcomes map[string]outcome, workload *history.Workload, now time.Time) {
	key := workload.Of + workload.Version
	known, found := outcomes[key]
	var verified bool
	switch {
	case workload.Status == "Success" && workload.Verified == "AllPodsPassed":
		verified = true
	case workload.Status != "Suspend":
		return
	}
	if !found || known.verified != verified {
		outcomes[key] = outcome{verified: verified, since: now}
	}
}

// unauthorised returns the reason why a release must not pass a suspension, "" if it may.
func unauthorised(write history.Write, old, next *history.Released, came outcome, system System) string {
	if write.User == system.Operator {
		if recorded(next) {
			return ""
		}
		return "the operator recorded no rollback to it"
	}
	if next.Ignored.Release == next.Release && next.Ignored.Version == next.Version && next.Ignored.User == write.User {
		return unheard(write, old, next, system)
	}
	switch {
	case refused(old, next.Version, write.Time):
		return "it was rolled back and is quarantined, and nothing lets it through"
	case came.since.IsZero():
		return "it was never verified, and nothing lets it through"
	case !came.verified && system.awake(came.since, write.Asked) > cacheLag:
		return "it failed its check at " + came.since.UTC().Format("15:04:05.000") + ", and nothing lets it through"
	}
	return ""
}

// unheard returns the reason why a release must not ignore the suspension, "" if it may.
func unheard(write history.Write, old, next *history.Released, system System) string {
	switch {
	case next.Kind == "Deployment" && slices.Contains(system.Guarded, write.Namespace) && !slices.Contains(system.Overriders, write.User):
		return "it ignores the suspension, but its user may not"
	case !old.MayPass && !next.MayPass:
		return "it is recorded as one that ignores the suspension, but ignored-suspend was not set"
	}
	return ""
}

// recorded reports whether a workload is at the target of its newest rollback.
func recorded(released *history.Released) bool {
	return len(released.Rollbacks) > 0 && released.Rollbacks[0].ToRelease == released.Release &&
		released.Rollbacks[0].To == released.Version
}

func refused(released *history.Released, version string, now time.Time) bool {
	return slices.ContainsFunc(released.Rollbacks, func(rollback appv1alpha1.Rollback) bool {
		return rollback.Version == version && rollback.RefusedUntil != nil && now.Before(rollback.RefusedUntil.Time)
	})
}
