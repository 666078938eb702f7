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
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestHoldOfIsHeldWhileTheAnnotationNamesTheRelease(t *testing.T) {
	for _, row := range []struct {
		name, annotation string
		paused           bool
		hold             string
	}{
		{"a Deployment that is not paused", "", false, ""},
		{"a user's pause", "", true, ""},
		{"the operator's pause", "4", true, "held"},
		{"the operator's pause of the release before", "3", true, ""},
		{"a user has ended the operator's pause", "4", false, "resumed"},
		{"which was seen", "4-overridden", false, "overridden"},
		{"a user's pause after that", "4-overridden", true, "overridden"},
		{"the operator's pause for the first nodes", "4-first-nodes", true, "held"},
		{"a user has ended that", "4-first-nodes", false, "resumed"},
		{"the operator's pause for the first nodes of the release before", "3-first-nodes", true, ""},
		{"any other text", "yes", true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			deployment := &metav1.ObjectMeta{}
			if row.annotation != "" {
				deployment.Annotations = map[string]string{"altershield.defense.antgroup.com/held": row.annotation}
			}
			NewWithT(t).Expect(string(decide.HoldOf(deployment, row.paused, 4))).To(Equal(row.hold))
		})
	}
}

func TestTheMarkOfAHold(t *testing.T) {
	for value, want := range map[string]struct{ held, overridden, first bool }{
		"4":             {held: true},
		"4-first-nodes": {held: true, first: true},
		"4-overridden":  {overridden: true},
		"3":             {},
		"3-first-nodes": {},
		"3-overridden":  {},
		"40":            {},
		"4-tomorrow":    {},
		"yes":           {},
		"":              {},
	} {
		t.Run(value, func(t *testing.T) {
			g, annotations := NewWithT(t), map[string]string{"altershield.defense.antgroup.com/held": value}
			g.Expect(decide.IsMarkedHeld(annotations, 4)).To(Equal(want.held), "held")
			g.Expect(decide.IsOverridden(annotations, 4)).To(Equal(want.overridden), "overridden")
			g.Expect(decide.StartsOnFirstNodes(annotations, 4)).To(Equal(want.first), "first nodes")
		})
	}
	NewWithT(t).Expect(decide.IsMarkedHeld(nil, 4)).To(BeFalse())
}

func rolling(seen *decide.Observation) { seen.Rolling = true }

func hold(hold decide.Hold) seenOption {
	return func(seen *decide.Observation) { seen.Hold, seen.Paused = hold, hold == decide.Held }
}

func parked(reason appv1alpha1.RollbackReason) seenOption {
	return func(seen *decide.Observation) {
		seen.Parked = &appv1alpha1.Park{Release: 1, Reason: reason, Message: "alice asked for it"}
	}
}

// parkedByPolicy is a release that its ReleasePolicy has parked, as it failed.
func parkedByPolicy(seen *decide.Observation) {
	parked("Requested")(seen)
	seen.Parked.User = "ReleasePolicy default/web"
}

func TestDecideHoldsAParkedRelease(t *testing.T) {
	failed := batches(newBatch(pods(1, 3), done, result("sleep-3", "unpass", "find error")))
	for _, row := range []struct {
		name                    string
		seen                    decide.Observation
		pause, resume, override bool
		condition, verified     string
	}{
		{"that a user wants to be parked", see(20, rolling, parked("Requested")), true, false, false, "", "Verifying"},
		{"also while blocking is off", see(20, rolling, blockingOff, parked("Requested")), true, false, false, "", "Verifying"},
		{"once", see(20, rolling, parked("Requested"), hold("held")), false, false, false, "True Requested", "Parked"},
		{"that failed", see(20, rolling, suspended, failed, parked("PodsFailed"), hold("held")), false, false, false, "True PodsFailed", "PodsFailed"},
		{"until the verdict is taken back", see(20, rolling, suspended, parked("PodsFailed"), hold("held")), false, true, false, "True PodsFailed", "Parked"},
		{"that failed, as its policy wants, also while blocking is off", see(20, rolling, blockingOff, failed, parkedByPolicy), true, false, false, "", "PodsFailed"},
		{"as its policy wants, until the verdict is taken back", see(20, rolling, suspended, parkedByPolicy, hold("held")), false, true, false, "True Requested", "Parked"},
		{"unless a user pauses it", see(20, rolling, paused, parked("Requested")), false, false, false, "", "DeploymentPaused"},
		{"until a user resumes it", see(20, rolling, parked("Requested"), hold("resumed")), false, false, true, "", "Verifying"},
		{"until its namespace is opted out", see(20, rolling, optedOut, parked("Requested"), hold("held")), false, true, false, "", "NamespaceOptedOut"},
		{"until the next release", see(20, rolling, moved, parked("Requested"), hold("held")), false, false, false, "", "Superseded"},
		{"not where all pods are new", see(20, parked("Requested")), false, false, false, "", "Verifying"},
		{"not of a template that no webhook saw", see(20, rolling, unseen, parked("Requested")), false, false, false, "", "TemplateUnseen"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(), row.seen, now)
			g.Expect(decision.Pause).To(Equal(row.pause), "pause")
			g.Expect(decision.Resume).To(Equal(row.resume), "resume")
			g.Expect(decision.Override).To(Equal(row.override), "override")
			g.Expect(conditionOf(decision.Status, "Parked")).To(Equal(row.condition))
			g.Expect(conditionOf(decision.Status, "Verified")).To(HaveSuffix(" " + row.verified))
		})
	}
}

// A park for failed pods is over once none is failed any more: a later hold, or the pause of a step, is none of a park.
func TestDecideEndsAParkWithItsVerdict(t *testing.T) {
	failed := batches(newBatch(pods(1, 3), done, result("sleep-3", "unpass", "find error")))
	for _, row := range []struct {
		name string
		seen decide.Observation
		// writes are those of three decisions.
		writes [3]string
		parked string
	}{
		{"whose rollout goes on then", see(20, rolling, parked("PodsFailed"), hold("held")), [3]string{"resume unpark"}, "False Resumed"},
		{"as its policy wanted", see(20, rolling, parkedByPolicy, hold("held")), [3]string{"resume unpark"}, "False Resumed"},
		{"while a freeze is on", see(20, rolling, holding, parked("PodsFailed"), hold("held")), [3]string{"freeze unpark"}, "False Resumed"},
		{"that a freeze has parked meanwhile", see(20, parkedBy(friday()), parked("PodsFailed")), [3]string{"unpark"}, "False Resumed"},
		{"before its rollout is held", see(20, rolling, parked("PodsFailed")), [3]string{"unpark"}, ""},
		{"not while a pod is failed", see(20, rolling, suspended, failed, parked("PodsFailed"), hold("held")), [3]string{}, "True PodsFailed"},
		{"not while a pod is failed, as its policy wants", see(20, rolling, suspended, failed, parkedByPolicy, hold("held")), [3]string{}, "True Requested"},
		{"not if a user asked for it", see(20, rolling, parked("Requested"), hold("held")), [3]string{}, "True Requested"},
		{"not where the namespace is opted out", see(20, rolling, optedOut, parked("PodsFailed")), [3]string{}, ""},
		{"not of a release that is over", see(20, rolling, moved, parked("PodsFailed")), [3]string{}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, tale := NewWithT(t), &story{t: t, workload: newWorkload(stored("Running", "Unknown", "Verifying")), seen: row.seen, now: now}
			g.Expect([3]string{tale.steer(), tale.steer(), tale.steer()}).To(Equal(row.writes))
			g.Expect(conditionOf(tale.workload.Status, "Parked")).To(Equal(row.parked))
		})
	}
}

// conditionOf returns status and reason of a condition, empty where there is none.
func conditionOf(status appv1alpha1.ChangeWorkloadStatus, kind string) string {
	condition := meta.FindStatusCondition(status.Conditions, kind)
	if condition == nil {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason
}

func TestDecideEndsTheConditionParked(t *testing.T) {
	for _, row := range []struct {
		name, want string
		seen       decide.Observation
	}{
		{"when the rollout goes on", "False Resumed", see(20, rolling, parked("Requested"), hold("overridden"))},
		{"when the namespace was opted out", "False Resumed", see(20, rolling, optedOut, parked("Requested"))},
		{"with the next release", "False Superseded", see(20, rolling, moved)},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := newWorkload(stored("Running", "Unknown", "Parked"))
			before.Status.Conditions = append(before.Status.Conditions, metav1.Condition{Type: "Parked", Status: "True", Reason: "Requested"})
			NewWithT(t).Expect(conditionOf(decide.Decide(before, row.seen, now).Status, "Parked")).To(Equal(row.want))
		})
	}
}

func TestDecideHoldsARolloutWithItsSuspensionAndOnlyThen(t *testing.T) {
	failed := batches(newBatch(pods(1, 3), done, result("sleep-3", "unpass", "find error")))
	for _, row := range []struct {
		name                    string
		seen                    decide.Observation
		pause, resume, override bool
	}{
		{"a failed pod stops the rollout", see(20, rolling, failed), true, false, false},
		{"of a repair as well, and once more when its namespace was opted out meanwhile", see(20, rolling, suspended, failed), true, false, false},
		{"once", see(20, rolling, suspended, failed, hold("held")), false, false, false},
		{"not while blocking is off", see(20, rolling, blockingOff, failed), false, false, false},
		{"not where all pods are new", see(20, failed), false, false, false},
		{"not where a user paused it", see(20, rolling, paused, failed), false, false, false},
		{"not in a namespace that opted out", see(20, rolling, optedOut, failed), false, false, false},
		{"not of a release that the Deployment moved on from", see(20, rolling, moved, failed), false, false, false},
		{"not of a template that no webhook saw: what failed is the one before", see(20, rolling, suspended, failed, unseen), false, false, false},
		{"not while no pod failed", see(20, rolling), false, false, false},
		{"turning blocking off doesn't let it go on", see(20, rolling, blockingOff, suspended, failed, hold("held")), false, false, false},
		{"a user who resumes it is not overruled", see(20, rolling, suspended, failed, hold("resumed")), false, false, true},
		{"nor later", see(20, rolling, suspended, failed, hold("overridden")), false, false, false},
		{"a verdict that is taken back lets it go on", see(20, rolling, suspended, hold("held")), false, true, false},
		{"and so does opting out, whatever failed", see(20, rolling, suspended, failed, optedOut, hold("held")), false, true, false},
		{"which doesn't end a user's pause", see(20, rolling, suspended, failed, optedOut, paused), false, false, false},
		{"nor one after a user has ended the operator's", see(20, rolling, suspended, failed, optedOut, paused, hold("overridden")), false, false, false},
		{"nor a pause of a release that the Deployment moved on from", see(20, rolling, moved, failed, optedOut, hold("held")), false, false, false},
		{"a user who was first is remembered until the namespace returns", see(20, rolling, suspended, failed, optedOut, hold("resumed")), false, false, false},
		{"and so does a verified release", see(3, suspended, passed(1, 3), hold("held")), false, true, false},
		{"a pause that is not the operator's stays", see(3, suspended, passed(1, 3), paused), false, false, false},
		{"also after a user has ended the operator's", see(3, suspended, passed(1, 3), paused, hold("overridden")), false, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(), row.seen, now)
			g.Expect(decision.Pause).To(Equal(row.pause), "pause")
			g.Expect(decision.Resume).To(Equal(row.resume), "resume")
			g.Expect(decision.Override).To(Equal(row.override), "override")
		})
	}
}

func TestDecideExplainsAHeldRollout(t *testing.T) {
	g := NewWithT(t)
	failed := batches(newBatch(pods(1, 3), done, result("sleep-3", "unpass", "find error")))
	decision := decide.Decide(newWorkload(), see(20, rolling, suspended, failed, hold("held")), now)
	g.Expect(messageOf(decision.Status.Conditions, "Suspended")).To(Equal("further releases of the Deployment are denied until a repair or a " +
		"verified version succeeds; its rollout is paused: run kubectl rollout resume to continue it anyway"))
}
