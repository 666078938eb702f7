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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func remembering(versions ...string) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) { workload.Status.VerifiedVersions = versions }
}

func TestDecideOfAReleaseThatTheDeploymentMovedOnFrom(t *testing.T) {
	superseded := "the Deployment has moved on to another release"
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		status   string
		verified metav1.ConditionStatus
		reason   string
		message  string
	}{
		{"is superseded where it ran", newWorkload(stored("Running", "Unknown", "Verifying"), deadline(now)), see(5, moved),
			"Running", "Unknown", "Superseded", superseded},
		{"is superseded where it had timed out", newWorkload(stored("TimeOutPreThreshold", "Unknown", "ThresholdTimeout"), deadline(now)), see(5, moved),
			"TimeOutPreThreshold", "Unknown", "Superseded", superseded},
		{"isn't verified any more, whatever its batches have", newWorkload(stored("Running", "Unknown", "Verifying")),
			see(5, moved, suspended, passed(1, 5), others(other(repair, 2))), "Running", "Unknown", "Superseded", superseded},
		{"stays verified where it was", newWorkload(stored("Success", "True", "AllPodsPassed")), see(5, moved, suspended, others(other(repair, 2))),
			"Success", "True", "AllPodsPassed", ""},
		{"fails by a verdict that comes later, and suspends nothing", newWorkload(stored("Running", "Unknown", "Verifying")),
			see(5, moved, failed(1, 5, "sleep-2")), "Suspend", "False", "PodsFailed", "pod sleep-2 failed its check: find error"},
		{"fails by a verdict after its Success, and suspends nothing", newWorkload(stored("Success", "True", "AllPodsPassed")),
			see(5, moved, failed(1, 5, "sleep-2")), "Suspend", "False", "PodsFailed", "pod sleep-2 failed its check: find error"},
		{"lifts nothing when its verdict is corrected", newWorkload(suspendedBefore), see(5, moved, suspended, passed(1, 5)),
			"Running", "Unknown", "Superseded", superseded},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(row.workload, row.seen, now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(decision.Status.Conditions).To(haveCondition("Verified", row.verified, row.reason))
			g.Expect(messageOf(decision.Status.Conditions, "Verified")).To(Equal(row.message))
			g.Expect(decision.Suspend || decision.Lift).To(BeFalse(), "it never touches the Deployment")
			g.Expect(decision.Prune).To(BeEmpty())
			g.Expect(decision.Batches).To(BeEmpty())
			g.Expect(decision.Status.WaitDeadline).To(BeNil())
		})
	}
}

func TestDecideSetsNoSuspendedOnAnOlderReleaseThatFailsLater(t *testing.T) {
	decision := decide.Decide(newWorkload(stored("Running", "Unknown", "Verifying")), see(5, moved, failed(1, 5, "sleep-2")), now)
	NewWithT(t).Expect(decision.Status.Conditions).To(HaveLen(1))
}

func TestDecideInANamespaceThatOptedOut(t *testing.T) {
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		status   string
		verified metav1.ConditionStatus
		reason   string
	}{
		{"has no release checked", newWorkload(stored("Running", "Unknown", "Verifying"), deadline(now)), see(5, optedOut, finished(pods(1, 5))),
			"Running", "Unknown", "NamespaceOptedOut"},
		{"of a kind that is only observed has no new release checked", newWorkload(), see(5, notEnforced, finished(pods(1, 5))), "", "Unknown", "KindNotEnforced"},
		{"of a kind that is only observed has no Deployment suspended", newWorkload(stored("Running", "Unknown", "Verifying")),
			see(5, notEnforced, failed(1, 5, "sleep-2")), "Running", "Unknown", "KindNotEnforced"},
		{"has no new release checked", newWorkload(), see(5, optedOut, finished(pods(1, 5))), "", "Unknown", "NamespaceOptedOut"},
		{"has no Deployment suspended", newWorkload(stored("Running", "Unknown", "Verifying")), see(5, optedOut, failed(1, 5, "sleep-2")),
			"Running", "Unknown", "NamespaceOptedOut"},
		{"has no suspension lifted", newWorkload(stored("Running", "Unknown", "Verifying")), see(5, optedOut, suspended, passed(1, 5), others(other(older, 1))),
			"Running", "Unknown", "NamespaceOptedOut"},
		{"keeps what was verified", newWorkload(stored("Success", "True", "AllPodsPassed")), see(5, optedOut, suspended, others(other(older, 1))),
			"Success", "True", "AllPodsPassed"},
		{"keeps what failed", newWorkload(suspendedBefore), see(5, optedOut, suspended, failed(1, 5, "sleep-2")),
			"Suspend", "False", "PodsFailed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(row.workload, row.seen, now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(decision.Status.Conditions).To(haveCondition("Verified", row.verified, row.reason))
			g.Expect(decision.Suspend || decision.Lift || decision.Keep).To(BeFalse())
			g.Expect(decision.Prune).To(BeEmpty())
			g.Expect(decision.Batches).To(BeEmpty())
			g.Expect(decision.Status.WaitDeadline).To(BeNil())
		})
	}
	t.Run("has the way to return", func(t *testing.T) {
		decision := decide.Decide(newWorkload(), see(5, optedOut), now)
		NewWithT(t).Expect(messageOf(decision.Status.Conditions, "Verified")).To(
			Equal("the namespace is not labelled admission-webhook-altershield=enabled: its releases are not checked"))
	})
	t.Run("has its releases checked again when it returns", func(t *testing.T) {
		decision := decide.Decide(newWorkload(stored("Running", "Unknown", "NamespaceOptedOut")), see(5, finished(pods(1, 2))), now)
		NewWithT(t).Expect(sizes(decision.Batches)).To(HaveExactElements(1, 1))
	})
}

func TestDecideStartsAVersionThatIsReleasedAgainAnew(t *testing.T) {
	for _, row := range []struct {
		name     string
		was      workloadOption
		verified []string
	}{
		{"after Success, which is remembered", stored("Success", "True", "AllPodsPassed"), []string{version, older}},
		{"after a Success without pods, which is not", stored("Success", "Unknown", "NoReplicas"), []string{older}},
		{"after Suspend", suspendedBefore, []string{older}},
		{"after the server refused it", stored("Failed", "Unknown", "Refused"), []string{older}},
		{"after a timeout", stored("TimeOutPreThreshold", "Unknown", "ThresholdTimeout"), []string{older}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(row.was, remembering(older), deadline(now), release(3))
			workload.Status.LastChangePod = 7
			workload.Status.DefenseCheckFailPods = pods(1, 1)
			workload.Status.EntryTime, workload.Status.EntryTimeUnix = "2026-11-20 10:00:00", now.Add(-24*time.Hour).Unix()
			decision := decide.Decide(workload, see(5, suspended), now)
			g.Expect(decision.WriteStatus).To(BeTrue())
			g.Expect(decision.Lift).To(BeFalse())
			g.Expect(decision.Status).To(Equal(appv1alpha1.ChangeWorkloadStatus{
				Status: "Running", ObservedRelease: 3, LastChangePod: 7, FirstChangePod: 8, VerifiedVersions: row.verified,
				Counts:       appv1alpha1.PodCounts{Desired: 5},
				WaitDeadline: &metav1.Time{Time: now.Add(time.Minute)},
				EntryTime:    "2026-11-21 10:00:00", EntryTimeUnix: now.Unix(),
				UpdateTime: "2026-11-21 10:00:00", UpdateTimeUnix: now.Unix(),
				Conditions: []metav1.Condition{{Type: "Verified", Status: "Unknown", Reason: "Verifying", ObservedGeneration: 3,
					Message: "waiting for pods or checking them: kubectl get changepods shows each batch", LastTransitionTime: metav1.NewTime(now)}},
			}))
		})
	}
}

func TestDecideMovesTheEntryTimeOfAVersionThatIsReleasedAgain(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), release(2))
	workload.Status.EntryTime = "2026-11-20 10:00:00"
	g.Expect(decide.Decide(workload, see(5), now).Status.EntryTime).To(Equal("2026-11-21 10:00:00"))
}

func TestDecideKeepsTheHighestNumberOfAChangePod(t *testing.T) {
	for _, row := range []struct {
		name                   string
		stored, seen, expected int64
	}{
		{"it is raised by what was seen", 3, 5, 5},
		{"it stays although the newest ChangePod was deleted", 5, 3, 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			workload := newWorkload()
			workload.Status.LastChangePod = row.stored
			decision := decide.Decide(workload, decide.Observation{OptedIn: true, Current: true, Rollout: decide.Rollout{Desired: 5}, LastNumber: row.seen}, now)
			NewWithT(t).Expect(decision.Status.LastChangePod).To(Equal(row.expected))
		})
	}
}

func TestDecideRemembersVerifiedVersionsAtSuccess(t *testing.T) {
	success := stored("Success", "True", "AllPodsPassed")
	numbered := func(from, to int) []string {
		var versions []string
		for i := from; i <= to; i++ {
			versions = append(versions, fmt.Sprintf("%032d", i))
		}
		return versions
	}
	for _, row := range []struct {
		name     string
		known    []string
		others   []appv1alpha1.ChangeWorkload
		versions []string
	}{
		{"an older version that succeeded", nil, []appv1alpha1.ChangeWorkload{other(older, 1, success)}, []string{older}},
		{"newest release first", nil, []appv1alpha1.ChangeWorkload{
			other("a", 2, success), other("c", 4, success), other("b", 3, success)}, []string{"c", "b", "a"}},
		{"what an older version remembered", nil, []appv1alpha1.ChangeWorkload{other(older, 1, success, remembering("b", "a"))},
			[]string{older, "b", "a"}},
		{"what a failed version remembered, but not that version", nil, []appv1alpha1.ChangeWorkload{
			other(older, 1, stored("Suspend", "False", "PodsFailed"), remembering("a"))}, []string{"a"}},
		{"not a version that was superseded", nil, []appv1alpha1.ChangeWorkload{other(older, 1, stored("Running", "Unknown", "Superseded"))}, nil},
		{"not a version that had no pods to check", nil, []appv1alpha1.ChangeWorkload{other(older, 1, stored("Success", "Unknown", "NoReplicas"))}, nil},
		{"not the release's own version", []string{"a"}, []appv1alpha1.ChangeWorkload{other(older, 1, success, remembering(version))},
			[]string{older, "a"}},
		{"what is known already, once and behind what is newer", []string{"a", older}, []appv1alpha1.ChangeWorkload{other(older, 1, success)},
			[]string{older, "a"}},
		{"ten at most, the newest ones", numbered(1, 10), []appv1alpha1.ChangeWorkload{other(older, 1, success)},
			append([]string{older}, numbered(1, 9)...)},
	} {
		t.Run(row.name, func(t *testing.T) {
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), release(5), remembering(row.known...))
			workload.Status.ObservedRelease = 5
			decision := decide.Decide(workload, see(5, passed(1, 5), others(row.others...)), now)
			NewWithT(t).Expect(decision.Status.VerifiedVersions).To(HaveExactElements(row.versions))
		})
	}
	t.Run("and not before", func(t *testing.T) {
		decision := decide.Decide(newWorkload(release(2)), see(5, passed(1, 4), others(other(older, 1, success))), now)
		NewWithT(t).Expect(decision.Status.VerifiedVersions).To(BeEmpty())
	})
}

func TestDecideSavesVerifiedVersionsBeforeTheirChangeWorkloadsAreRemoved(t *testing.T) {
	g := NewWithT(t)
	late := other(older, 1, stored("Success", "True", "AllPodsPassed"))
	decision := decide.Decide(newWorkload(stored("Success", "True", "AllPodsPassed"), release(2), func(workload *appv1alpha1.ChangeWorkload) {
		workload.Status.ObservedRelease = 2
	}), see(5, passed(1, 5), others(late)), now)
	g.Expect(versionsOf(decision.Prune)).To(HaveExactElements(older))
	g.Expect(decision.Status.VerifiedVersions).To(HaveExactElements(older))
	g.Expect(decision.WriteStatus).To(BeTrue(), "removing the object would lose the version for good")
}

func TestDecideKeepsWhatWasSeenOfAReleaseThatTheDeploymentMovedOnFrom(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(stored("Running", "Unknown", "Verifying"))
	workload.Status.DefenseCheckPassPods = pods(1, 4)
	workload.Status.Counts.Passed = 4
	decision := decide.Decide(workload, see(9, moved), now)
	g.Expect(decision.Status.Counts).To(Equal(appv1alpha1.PodCounts{Desired: 5, Passed: 4}))
	g.Expect(decision.Status.DefenseCheckPassPods).To(Equal(pods(1, 4)))
}

func keepsTemplates(seen *decide.Observation) { seen.Templates = 10 }

func TestDecideKeepsTheTemplateOfAVerifiedRelease(t *testing.T) {
	success := stored("Success", "True", "AllPodsPassed")
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		keep     bool
	}{
		{"at once", newWorkload(), see(5, keepsTemplates, passed(1, 5)), true},
		{"once the verdict is corrected", newWorkload(suspendedBefore), see(5, keepsTemplates, suspended, passed(1, 5)), true},
		{"when the version is verified again", newWorkload(success, release(3)), see(5, keepsTemplates, passed(1, 5)), true},
		{"when there are pods to check at last", newWorkload(stored("Success", "Unknown", "NoReplicas")), see(3, keepsTemplates, passed(1, 3)), true},
		{"but not while templates aren't kept", newWorkload(), see(5, passed(1, 5)), false},
		{"but not each time it is looked at", newWorkload(success), see(5, keepsTemplates, passed(1, 5)), false},
		{"but not without pods to check", newWorkload(), see(0, keepsTemplates), false},
		{"but not before all pods passed", newWorkload(), see(5, keepsTemplates, passed(1, 4)), false},
		{"but not when a pod failed", newWorkload(), see(5, keepsTemplates, failed(1, 5, "sleep-2")), false},
		{"but not when the template was changed unseen", newWorkload(), see(5, keepsTemplates, unseen, passed(1, 5)), false},
		{"but not once the Deployment has moved on", newWorkload(), see(5, keepsTemplates, moved, passed(1, 5)), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(row.workload, row.seen, now)
			g.Expect(decision.Keep).To(Equal(row.keep))
			if row.keep {
				g.Expect(decision.WriteStatus).To(BeTrue(), "or it would be kept again and again")
			}
		})
	}
}

// wentBackFrom is the rollback that ended the release.
func wentBackFrom(seen *decide.Observation) {
	moved(seen)
	seen.RolledBack = &appv1alpha1.Rollback{
		Version: version, Release: 1, To: older, ToRelease: 3, Reason: "PodsNotRunning", Message: "pod sleep-1: ImagePullBackOff",
		Time: metav1.NewTime(now.In(time.FixedZone("CST", 8*3600))),
	}
}

func TestDecideSetsRolledBackOnce(t *testing.T) {
	const message = "the Deployment went back to version 0123456789abcdef0123456789abcdef (release 3) at 2026-11-21T10:00:00Z: pod sleep-1: ImagePullBackOff"
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		verified string
	}{
		{"when it ran", newWorkload(stored("Running", "Unknown", "Verifying")), "Verified is Unknown: Superseded"},
		{"when it was superseded already", newWorkload(stored("Running", "Unknown", "Superseded")), "Verified is Unknown: Superseded"},
		{"when it was verified", newWorkload(stored("Success", "True", "AllPodsPassed")), "Verified is True: AllPodsPassed"},
		{"when the server refused it", newWorkload(stored("Failed", "Unknown", "OrderRefused")), "Verified is Unknown: OrderRefused"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			s := &story{t: t, workload: row.workload, seen: see(5, wentBackFrom), now: now}
			g.Expect(s.decide().WriteStatus).To(BeTrue())
			g.Expect(s.workload.Status.Conditions).To(haveCondition("RolledBack", "True", "PodsNotRunning"))
			g.Expect(messageOf(s.workload.Status.Conditions, "RolledBack")).To(Equal(message))
			g.Expect(told(s.workload.Status.Conditions, "Verified")).To(Equal(row.verified))
			s.now = s.now.Add(time.Hour)
			g.Expect(s.decide().WriteStatus).To(BeFalse())
			s.seen.RolledBack = nil
			g.Expect(s.decide().WriteStatus).To(BeFalse(), "what the Deployment forgets stays known")
		})
	}
	t.Run("and no longer when its version is released again", func(t *testing.T) {
		g := NewWithT(t)
		s := &story{t: t, workload: newWorkload(), seen: see(5, wentBackFrom), now: now}
		s.decide()
		s.workload.Spec.Release, s.seen = 4, see(5)
		s.decide()
		g.Expect(told(s.workload.Status.Conditions, "RolledBack")).To(Equal("RolledBack is absent"))
	})
}
