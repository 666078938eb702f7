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

package decide_test

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

type overrides = []appv1alpha1.BreakGlassOverride

func TestAdmit(t *testing.T) {
	for _, row := range []struct {
		name  string
		asked decide.Admission
		want  decide.Admitted
	}{
		{"a release", decide.Admission{}, decide.Admitted{}},
		{"a release in steps", decide.Admission{Steps: true}, decide.Admitted{Pace: true, Stops: overrides{"Pace"}}},
		{"a release in steps with approvals", decide.Admission{Steps: true, Approvals: true}, decide.Admitted{Pace: true, Stops: overrides{"Pace", "Approval"}}},
		{"a verified version comes at once", decide.Admission{Steps: true, Approvals: true, Verified: true}, decide.Admitted{}},
		{"in a suspension", decide.Admission{Suspended: true}, decide.Admitted{Denied: "Suspension", Stops: overrides{"Suspension"}}},
		{"in a suspension by the label", decide.Admission{Suspended: true, Ignored: true, Steps: true}, decide.Admitted{Ignores: true, Pace: true, Stops: overrides{"Pace"}}},
		{"in a suspension back to a verified version", decide.Admission{Suspended: true, Verified: true, Steps: true}, decide.Admitted{Returns: true}},
		{"in a suspension back to a verified version with the label", decide.Admission{Suspended: true, Verified: true, Ignored: true}, decide.Admitted{Ignores: true}},
		{"a quarantined version", decide.Admission{Refused: true, Verified: true}, decide.Admitted{Denied: "Suspension", Stops: overrides{"Suspension"}}},
		{"a quarantined version that was verified, by the label", decide.Admission{Refused: true, Verified: true, Ignored: true, Steps: true}, decide.Admitted{Ignores: true}},
		{"a quarantined version by the label", decide.Admission{Refused: true, Ignored: true}, decide.Admitted{Ignores: true}},
		{"in a suspension by a BreakGlass", decide.Admission{Suspended: true, Glass: overrides{"Suspension", "Freeze"}},
			decide.Admitted{Stops: overrides{"Suspension"}, Uses: overrides{"Suspension"}}},
		{"in a freeze that parks", decide.Admission{Freeze: "Park", MayPark: true, Steps: true}, decide.Admitted{Park: true, Pace: true, Stops: overrides{"Freeze", "Pace"}}},
		{"in a freeze that parks what can't be", decide.Admission{Freeze: "Park"}, decide.Admitted{Denied: "Freeze", Stops: overrides{"Freeze"}}},
		{"in a freeze that denies", decide.Admission{Freeze: "Deny", MayPark: true, Suspended: true}, decide.Admitted{Denied: "Freeze", Stops: overrides{"Freeze", "Suspension"}}},
		{"in a freeze that warns", decide.Admission{Freeze: "Warn"}, decide.Admitted{}},
		{"a verified version in a freeze", decide.Admission{Freeze: "Park", MayPark: true, Suspended: true, Verified: true}, decide.Admitted{Park: true, Returns: true, Stops: overrides{"Freeze"}}},
		{"a suspended one isn't parked", decide.Admission{Freeze: "Park", MayPark: true, Suspended: true}, decide.Admitted{Denied: "Suspension", Stops: overrides{"Freeze", "Suspension"}}},
		{"a suspended one in a freeze by a BreakGlass for one of them", decide.Admission{Freeze: "Deny", Suspended: true, Glass: overrides{"Freeze"}},
			decide.Admitted{Denied: "Suspension", Stops: overrides{"Freeze", "Suspension"}}},
		{"a suspended one in a freeze by a BreakGlass for both", decide.Admission{Freeze: "Deny", Suspended: true, Glass: overrides{"Freeze", "Suspension"}, Steps: true},
			decide.Admitted{Pace: true, Stops: overrides{"Freeze", "Suspension", "Pace"}, Uses: overrides{"Freeze", "Suspension"}}},
		{"at once by a BreakGlass, without approvals", decide.Admission{Steps: true, Approvals: true, Glass: overrides{"Pace", "Approval"}},
			decide.Admitted{Stops: overrides{"Pace"}, Uses: overrides{"Pace"}}},
		{"in steps by a BreakGlass for approvals", decide.Admission{Steps: true, Approvals: true, Glass: overrides{"Approval"}},
			decide.Admitted{Pace: true, Stops: overrides{"Pace", "Approval"}, Uses: overrides{"Approval"}}},
		{"a BreakGlass isn't used for nothing", decide.Admission{Glass: overrides{"Freeze", "Suspension", "Approval", "Pace"}}, decide.Admitted{}},
		{"a rollback by the operator", decide.Admission{Own: true, Freeze: "Deny", Suspended: true, Refused: true, Steps: true}, decide.Admitted{}},
		{"the end of the pause of a parked release", decide.Admission{Resumes: true, Freeze: "Park", Suspended: true, Steps: true},
			decide.Admitted{Park: true, Stops: overrides{"Freeze"}}},
		{"the end of that pause by a BreakGlass", decide.Admission{Resumes: true, Freeze: "Park", Suspended: true, Steps: true, Glass: overrides{"Freeze"}},
			decide.Admitted{Stops: overrides{"Freeze", "Pace"}, Uses: overrides{"Freeze"}}},
		{"the end of that pause by a BreakGlass for its approvals, too", decide.Admission{Resumes: true, Freeze: "Park", Steps: true, Approvals: true, Glass: overrides{"Freeze", "Approval"}},
			decide.Admitted{Stops: overrides{"Freeze", "Pace", "Approval"}, Uses: overrides{"Freeze", "Approval"}}},
		{"the end of that pause by a BreakGlass for its steps, too", decide.Admission{Resumes: true, Waits: true, Steps: true, Approvals: true, Glass: overrides{"Freeze", "Pace"}},
			decide.Admitted{Stops: overrides{"Freeze", "Pace"}, Uses: overrides{"Freeze", "Pace"}}},
		{"the end of that pause uses no BreakGlass for its steps alone", decide.Admission{Resumes: true, Freeze: "Park", Steps: true, Approvals: true, Glass: overrides{"Pace", "Approval"}},
			decide.Admitted{Park: true, Stops: overrides{"Freeze"}}},
		{"the end of that pause in a freeze that denies", decide.Admission{Resumes: true, Waits: true, Freeze: "Deny", MayPark: true},
			decide.Admitted{Denied: "Freeze", Stops: overrides{"Freeze"}}},
		{"the end of that pause before its turn", decide.Admission{Resumes: true, Waits: true}, decide.Admitted{Park: true, Stops: overrides{"Freeze"}}},
		{"the end of that pause before its turn in a freeze that warns", decide.Admission{Resumes: true, Waits: true, Freeze: "Warn"},
			decide.Admitted{Park: true, Stops: overrides{"Freeze"}}},
		{"the end of that pause before its turn by a BreakGlass", decide.Admission{Resumes: true, Waits: true, Glass: overrides{"Freeze"}},
			decide.Admitted{Stops: overrides{"Freeze"}, Uses: overrides{"Freeze"}}},
		{"the end of that pause in its turn", decide.Admission{Resumes: true}, decide.Admitted{}},
	} {
		t.Run(row.name, func(t *testing.T) { NewWithT(t).Expect(decide.Admit(row.asked)).To(Equal(row.want)) })
	}
}

// admissions are all combinations of what may be known of a release.
func admissions(yield func(decide.Admission) bool) {
	glasses := overrides{"Freeze", "Suspension", "Approval", "Pace"}
	for bits := range 1 << 10 {
		is := func(bit int) bool { return bits>>bit&1 == 1 }
		for _, action := range []appv1alpha1.FreezeAction{"", "Warn", "Park", "Deny"} {
			for subset := range 1 << len(glasses) {
				asked := decide.Admission{
					Own: is(0), Resumes: is(1), Suspended: is(2), Refused: is(3), Verified: is(4), Ignored: is(5), MayPark: is(6),
					Steps: is(7), Approvals: is(8), Waits: is(9), Freeze: action,
				}
				for at, override := range glasses {
					if subset>>at&1 == 1 {
						asked.Glass = append(asked.Glass, override)
					}
				}
				if !yield(asked) {
					return
				}
			}
		}
	}
}

// The laws are stated beside the code that they check, and share nothing with it.
func TestAdmitKeepsItsLawsInAllCombinations(t *testing.T) {
	for asked := range admissions {
		got := decide.Admit(asked)
		for _, laws := range []map[string]bool{generalLaws(asked, got), freezeLaws(asked, got), suspensionLaws(asked, got), stepLaws(asked, got)} {
			for law, holds := range laws {
				if !holds {
					t.Fatalf("%s: %+v becomes %+v", law, asked, got)
				}
			}
		}
	}
}

func generalLaws(asked decide.Admission, got decide.Admitted) map[string]bool {
	isEmpty := len(got.Uses) == 0 && !got.Park && !got.Pace && !got.Ignores && !got.Returns
	isUnfounded := func(one appv1alpha1.BreakGlassOverride) bool {
		return !passes(asked, one) || !slices.Contains(got.Stops, one)
	}
	return map[string]bool{
		"the operator passes everything":             !asked.Own || got.Denied == "" && isEmpty && len(got.Stops) == 0,
		"a denied release uses nothing":              got.Denied == "" || isEmpty,
		"it says what stops it":                      got.Denied == "" || slices.Contains(got.Stops, got.Denied),
		"a BreakGlass is used for what it overrides": !slices.ContainsFunc(got.Uses, isUnfounded),
		"more overrides never make it worse": isNoWorse(got, decide.Admit(with(asked, func(a *decide.Admission) {
			a.Glass = overrides{"Freeze", "Suspension", "Approval", "Pace"}
		}))),
		"a resumption isn't a release": !asked.Resumes || same(got, decide.Admit(with(asked, func(a *decide.Admission) {
			a.Suspended, a.Refused = false, false
		}))),
		"a resumption passes steps with its freeze alone": !asked.Resumes || len(got.Uses) == 0 || got.Uses[0] == "Freeze" && !got.Park,
	}
}

func freezeLaws(asked decide.Admission, got decide.Admitted) map[string]bool {
	stops, parks := freezes(asked)
	stops = stops && !passes(asked, "Freeze")
	return map[string]bool{
		"a freeze denies it or parks it":                    asked.Own || !stops || got.Denied != "" || got.Park,
		"only a freeze that may park it parks it":           !got.Park || parks && stops,
		"a freeze that parks doesn't deny it":               got.Denied != "Freeze" || stops && !parks,
		"a parked release stays parked unless it is denied": asked.Own || !asked.Resumes || !stops || got.Park != (asked.Freeze == "Deny"),
		"only a parked release waits for its turn": asked.Resumes ||
			same(got, decide.Admit(with(asked, func(a *decide.Admission) { a.Waits = false }))),
		"a warning changes nothing": asked.Freeze != "Warn" || same(got, decide.Admit(with(asked, func(a *decide.Admission) { a.Freeze = "" }))),
	}
}

// freezes reports whether a freeze stops a release without a BreakGlass, and whether it then is parked.
func freezes(asked decide.Admission) (stops, parks bool) {
	waits := asked.Resumes && asked.Waits
	stops = asked.Freeze == "Park" || asked.Freeze == "Deny" || waits
	parks = asked.Freeze == "Park" && (asked.MayPark || asked.Resumes) || asked.Freeze != "Deny" && waits
	return stops, parks
}

func suspensionLaws(asked decide.Admission, got decide.Admitted) map[string]bool {
	concerns := (asked.Suspended || asked.Refused) && !asked.Resumes
	stops := concerns && (asked.Refused || !asked.Verified) && !asked.Ignored && !passes(asked, "Suspension")
	return map[string]bool{
		"a suspension or quarantine denies it": asked.Own || !stops || got.Denied != "",
		"nothing else denies it so":            got.Denied != "Suspension" || stops,
		"the label is used for a denial":       !got.Ignores || asked.Ignored && concerns,
		"only a verified version is a return":  !got.Returns || asked.Suspended && asked.Verified,
		"a quarantined version isn't a return": !got.Returns || !asked.Refused,
	}
}

func stepLaws(asked decide.Admission, got decide.Admitted) map[string]bool {
	paced := asked.Steps && !asked.Resumes && !asked.Verified && !passes(asked, "Pace")
	return map[string]bool{
		"steps slow it unless it is verified or passes": asked.Own || got.Denied != "" || got.Pace == paced,
		"approvals are for steps":                       !slices.Contains(got.Stops, "Approval") || asked.Approvals && asked.Steps && !passes(asked, "Pace"),
	}
}

// passes reports whether the BreakGlass of a release overrides something.
func passes(asked decide.Admission, override appv1alpha1.BreakGlassOverride) bool {
	return slices.Contains(asked.Glass, override)
}

func with(asked decide.Admission, change func(*decide.Admission)) decide.Admission {
	change(&asked)
	return asked
}

func same(a, b decide.Admitted) bool { return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b) }

func isNoWorse(than, got decide.Admitted) bool {
	return (than.Denied != "" || got.Denied == "") && (than.Denied != "" || (than.Park || !got.Park) && (than.Pace || !got.Pace))
}
