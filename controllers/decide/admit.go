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
	"slices"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Admission is what is known of a release, or of the end of the pause of a parked release, when it is to be admitted.
type Admission struct {
	// Own reports whether it is a rollback by the operator.
	Own bool
	// Resumes reports whether it is no release, but ends the pause of a parked one. Waits reports whether that one waits for its turn after
	// its freeze, unless a freeze is on.
	Resumes, Waits bool
	// Suspended reports whether releases of the workload are denied, Refused whether the version is quarantined, Verified whether it was
	// verified before, and Ignored whether the label ignored-suspend lets it through.
	Suspended, Refused, Verified, Ignored bool
	// Freeze is the strictest action of the freezes that are on for the user; empty if none is. MayPark reports whether a pause keeps the
	// release from starting.
	Freeze  appv1alpha1.FreezeAction
	MayPark bool
	// Steps reports whether a ReleasePolicy has steps and the pods of the workload can be held back, or a parked release is paced; Approvals
	// whether the steps need any.
	Steps, Approvals bool
	// Glass is what a usable BreakGlass for the workload overrides; empty without one.
	Glass []appv1alpha1.BreakGlassOverride
}

// Admitted is what becomes of a release.
type Admitted struct {
	// Denied is the override that it would need, OverrideFreeze or OverrideSuspension, if it is denied; else empty.
	Denied appv1alpha1.BreakGlassOverride
	// Stops are what would stop or slow it without a BreakGlass. Uses are those of them that the BreakGlass overrides: it is used if there
	// are any.
	Stops, Uses []appv1alpha1.BreakGlassOverride
	// Park reports whether it is parked by a freeze, or stays parked; Pace whether it is rolled out in steps.
	Park, Pace bool
	// Ignores reports whether the label ignored-suspend lets it through, Returns whether it is let through as a verified version.
	Ignores, Returns bool
}

// OnlySlows reports whether nothing but its steps stops a release.
func (a Admitted) OnlySlows() bool {
	return !slices.ContainsFunc(a.Stops, func(stop appv1alpha1.BreakGlassOverride) bool {
		return stop != appv1alpha1.OverridePace && stop != appv1alpha1.OverrideApproval
	})
}

// Admit returns what becomes of a release. Whatever stops it has its own ways past. A rollback by the operator passes everything. The label
// ignored-suspend lets it through a suspension and a quarantine, a verified version passes a suspension and isn't paced, and a BreakGlass
// passes what it overrides. A parked release whose pause is ended stays parked. A denied release uses nothing.
func Admit(asked Admission) Admitted {
	if asked.Own {
		return Admitted{}
	}
	answer := Admitted{Stops: asked.stops()}
	if asked.isDenied() && !asked.Resumes {
		answer.Ignores = asked.Ignored
		answer.Returns = asked.returns() && !asked.Ignored
	}
	var left []appv1alpha1.BreakGlassOverride
	for _, stop := range answer.Stops {
		if slices.Contains(asked.Glass, stop) {
			answer.Uses = append(answer.Uses, stop)
		} else {
			left = append(left, stop)
		}
	}
	answer.Pace = asked.paces() && !asked.Resumes && !slices.Contains(answer.Uses, appv1alpha1.OverridePace)
	switch isFrozen := slices.Contains(left, appv1alpha1.OverrideFreeze); {
	case isFrozen && !asked.mayPark():
		return Admitted{Denied: appv1alpha1.OverrideFreeze, Stops: answer.Stops}
	case slices.Contains(left, appv1alpha1.OverrideSuspension):
		return Admitted{Denied: appv1alpha1.OverrideSuspension, Stops: answer.Stops}
	default:
		answer.Park = isFrozen
	}
	return answer
}

// stops returns what stops or slows a release without a BreakGlass. Where it passes its steps, it needs no approvals for them. The end of a pause
// that isn't by a BreakGlass leaves the steps as they are.
func (a *Admission) stops() (stops []appv1alpha1.BreakGlassOverride) {
	if a.Freeze == appv1alpha1.FreezePark || a.Freeze == appv1alpha1.FreezeDeny || a.Resumes && a.Waits {
		stops = append(stops, appv1alpha1.OverrideFreeze)
	}
	if !a.Resumes && a.isDenied() && !a.Ignored && !a.returns() {
		stops = append(stops, appv1alpha1.OverrideSuspension)
	}
	if a.paces() && (!a.Resumes || len(stops) > 0 && slices.Contains(a.Glass, appv1alpha1.OverrideFreeze)) {
		stops = append(stops, appv1alpha1.OverridePace)
		if a.Approvals && !slices.Contains(a.Glass, appv1alpha1.OverridePace) {
			stops = append(stops, appv1alpha1.OverrideApproval)
		}
	}
	return stops
}

// isDenied reports whether the workload or the version is denied, unless something lets the release through.
func (a *Admission) isDenied() bool { return a.Suspended || a.Refused }

// returns reports whether the release goes back to a verified version. A quarantined one doesn't count as verified.
func (a *Admission) returns() bool { return a.Verified && !a.Refused }

// paces reports whether the release is rolled out in steps without a BreakGlass. The pods of a verified version come without gates, also if
// it is quarantined.
func (a *Admission) paces() bool { return a.Steps && !a.Verified }

// mayPark reports whether the release is parked, or stays parked, rather than denied.
func (a *Admission) mayPark() bool {
	return a.Freeze != appv1alpha1.FreezeDeny && (a.Resumes || a.MayPark)
}
