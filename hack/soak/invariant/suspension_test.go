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

package invariant_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/soak/history"
	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
)

// suspended returns the story of a Deployment that was verified as version a and is suspended at release 2, version b.
func suspended() *story {
	return newStory().
		deployment("admin", history.Released{Version: "a", Release: 1}).
		record("a", 1, "Success", "AllPodsPassed", 1, 1).
		deployment("admin", history.Released{Version: "b", Release: 2}).
		record("b", 2, "Suspend", "PodsFailed", 1, 0).
		deployment("operator", history.Released{Version: "b", Release: 2, Suspended: true})
}

func TestSuspensionTakesWhatIsAuthorised(t *testing.T) {
	for name, authorised := range map[string]history.Released{
		"no release at all":              {Version: "b", Release: 2, Suspended: true},
		"the return to what is verified": {Version: "a", Release: 3, Suspended: true},
		"a repair that says that it ignores the suspension": {
			Version: "c", Release: 3, Suspended: true, MayPass: true, Ignored: ignoredBy("admin", "c", 3)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := invariant.Suspension(suspended().deployment("admin", authorised).writes, system())
			g.Expect(result.Violations).To(BeEmpty())
			g.Expect(result.Observations).To(Equal(1))
		})
	}
	t.Run("a rollback of the operator", func(t *testing.T) {
		g := NewWithT(t)
		writes := suspended().deployment("operator", history.Released{Version: "a", Release: 3, Suspended: true, Rollbacks: rollback("b", "a", 3)}).writes
		g.Expect(invariant.Suspension(writes, system()).Violations).To(BeEmpty())
	})
}

func TestSuspensionTakesAReleaseThatPassesByABreakGlassAgainstIt(t *testing.T) {
	g := NewWithT(t)
	with := func(overrides ...appv1alpha1.BreakGlassOverride) []string {
		glass := history.Glass{Name: "inc-7", Overrides: overrides}
		passed := history.Released{Version: "c", Release: 3, Suspended: true, Pass: &appv1alpha1.BreakGlassPass{Name: "inc-7"}}
		return invariant.Suspension(suspended().write(history.Write{User: "admin", Verb: "create", Resource: "breakglasses", Glass: &glass}).
			deployment("admin", passed).writes, system()).Violations
	}
	g.Expect(with("Freeze", "Suspension")).To(BeEmpty())
	g.Expect(with("Freeze")).To(ConsistOf(ContainSubstring("it was never verified")))
}

func TestSuspensionCatchesAnythingElse(t *testing.T) {
	for name, unauthorised := range map[string]struct {
		user    string
		release history.Released
		says    string
	}{
		"a release": {"admin", history.Released{Version: "c", Release: 3, Suspended: true}, "it was never verified"},
		"a template under the old version": {
			"admin", history.Released{Version: "b", Template: "other", Release: 3, Suspended: true}, "it failed its check"},
		"a release with a record that nobody asked for": {
			"admin", history.Released{Version: "c", Release: 3, Suspended: true, Ignored: ignoredBy("admin", "c", 3)}, "ignored-suspend was not set"},
		"a release with somebody else's record": {
			"dave", history.Released{Version: "c", Release: 3, Suspended: true, MayPass: true, Ignored: ignoredBy("admin", "c", 3)}, "never verified"},
		"a release with an old record": {
			"admin", history.Released{Version: "c", Release: 3, Suspended: true, MayPass: true, Ignored: ignoredBy("admin", "b", 2)}, "never verified"},
		"a change by the operator that is no rollback": {
			"operator", history.Released{Version: "a", Release: 3, Suspended: true}, "the operator recorded no rollback"},
		"a freedom that the operator didn't give": {"dave", history.Released{Version: "b", Release: 2}, "suspended is false now"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			writes := suspended().after(time.Minute).deployment(unauthorised.user, unauthorised.release).writes
			g.Expect(invariant.Suspension(writes, system()).Violations).To(ConsistOf(ContainSubstring(unauthorised.says)))
		})
	}
}

func TestSuspensionTakesNoRefusedVersionForAVerifiedOne(t *testing.T) {
	g := NewWithT(t)
	writes := suspended().
		deployment("operator", history.Released{Version: "b", Release: 2, Suspended: true, Rollbacks: rollback("a", "b", 2)}).
		deployment("dave", history.Released{Version: "a", Release: 3, Suspended: true, Rollbacks: rollback("a", "b", 2)}).writes
	g.Expect(invariant.Suspension(writes, system()).Violations).To(ConsistOf(ContainSubstring("is quarantined")))
}

func TestSuspensionTakesNoVersionThatFailedLastForAVerifiedOne(t *testing.T) {
	g := NewWithT(t)
	failed := suspended().record("a", 1, "Suspend", "PodsFailed", 1, 0)
	release := history.Released{Version: "a", Release: 3, Suspended: true}
	g.Expect(invariant.Suspension(failed.after(9*time.Second).deployment("dave", release).writes, system()).Violations).To(BeEmpty())

	failed = suspended().record("a", 1, "Suspend", "PodsFailed", 1, 0).after(11*time.Second).deployment("dave", release)
	g.Expect(invariant.Suspension(failed.writes, system()).Violations).To(ConsistOf(ContainSubstring("it failed its check")))
	down := system()
	down.Down = []invariant.Interval{{From: began, To: began.Add(2 * time.Second)}}
	g.Expect(invariant.Suspension(failed.writes, down).Violations).To(BeEmpty())
}

func TestSuspensionCatchesAUserWhoMayNotOverride(t *testing.T) {
	repair := func(user string) []history.Write {
		writes := suspended().deployment(user, history.Released{
			Version: "c", Release: 3, Suspended: true, MayPass: true, Ignored: ignoredBy(user, "c", 3)}).writes
		for i := range writes {
			writes[i].Namespace = "bank"
		}
		return writes
	}
	g := NewWithT(t)
	g.Expect(invariant.Suspension(repair("admin"), system()).Violations).To(BeEmpty())
	g.Expect(invariant.Suspension(repair("dave"), system()).Violations).To(ConsistOf(ContainSubstring("but its user may not")))
	others := repair("dave")
	for _, write := range others {
		if write.Released != nil {
			write.Released.Kind = "StatefulSet"
		}
	}
	g.Expect(invariant.Suspension(others, system()).Violations).To(BeEmpty(), "the policies cover Deployments alone")
}
