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

// freeze adds a write of the operator with the resulting ChangeFreeze.
func (s *story) freeze(action appv1alpha1.FreezeAction, active bool) *story {
	return s.write(history.Write{User: "operator", Verb: "patch", Resource: "changefreezes", Subresource: "status", Name: "freeze",
		Freeze: &history.Freeze{UID: "freeze", Action: action, Active: active}})
}

// thaw deletes it.
func (s *story) thaw() *story {
	return s.write(history.Write{User: "admin", Verb: "delete", Resource: "changefreezes", Name: "freeze", Ended: "freeze"})
}

// releases returns the release 2 of the Deployment cart, held or not.
func releases(held bool) history.Released {
	return history.Released{Version: "b", Release: 2, Paused: held, Parked: held}
}

// firstReleased returns a history with the first release of cart.
func firstReleased() *story {
	return newStory().deployment("admin", history.Released{Version: "a", Release: 1})
}

func TestFrozenCatchesAReleaseThatStartsDuringAFreeze(t *testing.T) {
	g := NewWithT(t)
	frozen := func(s *story) []string { return invariant.Frozen(s.writes, system()).Violations }
	on := func(action appv1alpha1.FreezeAction) *story {
		return firstReleased().freeze(action, true).after(11 * time.Second)
	}
	g.Expect(frozen(on("Park").deployment("admin", releases(false)))).To(ConsistOf(ContainSubstring("admitted during a freeze, and isn't parked")))
	g.Expect(frozen(on("Deny").deployment("admin", releases(true)))).To(ConsistOf(ContainSubstring("admitted during a freeze that denies")))
	g.Expect(frozen(on("Park").deployment("admin", releases(true)).deployment("admin", releases(false)))).To(
		ConsistOf(ContainSubstring("release 2, which is parked, started during a freeze: deployments shop/cart")))
	unmarked := releases(true)
	unmarked.Parked = false
	g.Expect(frozen(on("Park").deployment("admin", releases(true)).deployment("operator", unmarked).deployment("operator", releases(false)))).To(
		HaveLen(1), "the mark went during the freeze")
	g.Expect(frozen(on("Park").freeze("Deny", true).after(11*time.Second).deployment("admin", releases(true)))).To(HaveLen(1), "it was changed")
}

func TestFrozenLetsThroughWhatAFreezeDoesNotConcern(t *testing.T) {
	passed, elsewhere, thawed := releases(false), releases(false), releases(true)
	thawed.Parked = false
	passed.Pass = &appv1alpha1.BreakGlassPass{Name: "inc-7"}
	on := func() *story { return firstReleased().freeze("Park", true).after(11 * time.Second) }
	for name, story := range map[string]*story{
		"a parked one":                 on().deployment("admin", releases(true)),
		"one that starts after it":     on().deployment("admin", releases(true)).thaw().deployment("operator", releases(false)),
		"one that is verified already": on().deployment("admin", releases(true)).record("b", 2, "Success", "AllPodsPassed", 1, 1).deployment("operator", releases(false)),
		"one after a freeze":           on().thaw().deployment("admin", releases(false)),
		"one after a freeze is off":    on().freeze("Park", false).deployment("admin", releases(false)),
		"one right after it began":     firstReleased().freeze("Park", true).after(9*time.Second).deployment("admin", releases(false)),
		"one with a warning":           firstReleased().freeze("Warn", true).after(time.Minute).deployment("admin", releases(false)),
		"a rollback":                   on().deployment("operator", releases(false)),
		"one that passes":              on().deployment("admin", passed),
		"another write":                on().deployment("admin", history.Released{Version: "a", Release: 1}),
		"one of another namespace":     on().write(history.Write{User: "admin", Namespace: "bank", Released: &elsewhere}),
		"one that waits for its first step when the next freeze begins": on().deployment("admin", releases(true)).thaw().deployment("operator", thawed).
			freeze("Park", true).after(time.Minute).deployment("operator", releases(false)),
		"one that is held again later": on().deployment("admin", releases(true)).thaw().deployment("operator", releases(false)).deployment("operator", releases(true)).freeze("Park", true).after(time.Minute).deployment("operator", releases(false)),
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(invariant.Frozen(story.writes, system()).Violations).To(BeEmpty())
		})
	}
}

func TestApprovedCatchesStepsWithoutAnApproval(t *testing.T) {
	g := NewWithT(t)
	after := func(approvals ...history.Approval) []string {
		story := firstReleased().deployment("admin", releases(false))
		for _, approval := range approvals {
			story = story.write(history.Write{User: approval.By, Verb: "create", Resource: "changeapprovals", Approval: &approval})
		}
		return invariant.Approved(story.write(history.Write{User: "operator", Resource: "changeworkloads", Name: "cart--x--b", Workload: &history.Workload{
			UID: "cw-b", Of: "cart", Version: "b", Release: 2, Observed: 2, Paced: "AllSteps"}}).writes, system()).Violations
	}
	by := func(user string, decides appv1alpha1.ApprovalDecision, release int64) history.Approval {
		return history.Approval{Workload: "cart", Version: "b", Release: release, By: user, Decides: decides}
	}
	const without = "release 2 did all its steps without an approval: ChangeWorkload changeworkloads shop/cart--x--b"
	g.Expect(after()).To(ConsistOf(ContainSubstring(without)))
	g.Expect(after(by("admin", "Approve", 2))).To(HaveLen(1), "its author")
	g.Expect(after(by("boss", "Approve", 1))).To(HaveLen(1), "another release")
	g.Expect(after(by("boss", "Deny", 2))).To(HaveLen(1))
	g.Expect(after(by("boss", "Approve", 2))).To(BeEmpty())
}
