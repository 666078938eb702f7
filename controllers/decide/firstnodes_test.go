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
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// firstOn is a release that is held for its first nodes, a, b and c, with pods on some nodes that have passed.
func firstOn(passed ...string) seenOption {
	return func(seen *decide.Observation) {
		seen.Kind, seen.Paused, seen.Rolling, seen.Hold = "DaemonSet", true, true, decide.Held
		seen.First = &decide.First{Asked: true, Of: map[types.UID]string{}}
		pods := pods(1, len(passed))
		for i, node := range passed {
			pods[i].UID = types.UID("uid-" + node)
			seen.First.Of[pods[i].UID] = node
		}
		if len(pods) > 0 {
			finished(pods)(seen)
			batches(newBatch(pods, done))(seen)
		}
	}
}

func withFirst(change func(*decide.First)) seenOption {
	return func(seen *decide.Observation) { change(seen.First) }
}

// awaiting has waited for three nodes since an hour ago, and for one of them with success.
func awaiting(workload *appv1alpha1.ChangeWorkload) {
	stored("Running", "Unknown", "FirstNodes")(workload)
	workload.Status.FirstNodes = &appv1alpha1.FirstNodes{
		Nodes: []string{"a", "b", "c"}, Passed: 1, Deadline: metav1.NewTime(now.Add(time.Minute)),
	}
	workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{Type: "FirstNodes", Status: "Unknown", Reason: "Verifying"})
}

func endedWith(status metav1.ConditionStatus, reason string) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		awaiting(workload)
		last := &workload.Status.Conditions[len(workload.Status.Conditions)-1]
		last.Status, last.Reason = status, reason
	}
}

func TestDecideStillWaitsForTheFirstNodesIfTheCacheShowsTheReleaseBefore(t *testing.T) {
	g, workload := NewWithT(t), newWorkload(awaiting)
	behind := decide.Decide(workload, see(20, moved), now)
	g.Expect(conditionOf(behind.Status, "FirstNodes")).To(Equal("Unknown Verifying"))
	workload.Status = behind.Status
	g.Expect(conditionOf(decide.Decide(workload, see(20, firstOn("b", "a")), now).Status, "FirstNodes")).To(Equal("Unknown Verifying"))
}

func TestDecideWaitsForTheFirstNodes(t *testing.T) {
	failed := batches(newBatch(pods(7, 7), done, result("sleep-7", "unpass", "find error")))
	nodes := withFirst(func(first *decide.First) { first.Nodes = []string{"a", "b", "c"} })
	for _, row := range []struct {
		name           string
		before         workloadOption
		seen           decide.Observation
		at             time.Time
		condition      string
		resume, unhold bool
		passed         int32
		deadline       time.Duration
	}{
		{"from its beginning", stored("", "Unknown", ""), see(20, firstOn(), nodes), now, "Unknown Verifying", false, false, 0, 10 * time.Minute},
		{"longer where pods have to be ready for some time", stored("", "Unknown", ""),
			see(20, firstOn(), nodes, func(seen *decide.Observation) { seen.MinReadySeconds = 30 }), now, "Unknown Verifying", false, false, 0, 630 * time.Second},
		{"and for each of them as long again", awaiting, see(20, firstOn("b", "a")), now, "Unknown Verifying", false, false, 2, 10 * time.Minute},
		{"but not for pods elsewhere", awaiting, see(20, firstOn("b", "d", "e")), now, "Unknown Verifying", false, false, 1, time.Minute},
		{"also if one that passed is gone", awaiting, see(20, firstOn()), now, "Unknown Verifying", false, false, 1, time.Minute},
		{"until all passed", awaiting, see(20, firstOn("c", "b", "a")), now, "True AllPodsPassed", false, false, 3, 10 * time.Minute},
		{"until no other pod is left", awaiting, see(2, firstOn("c", "b")), now, "True AllPodsPassed", false, false, 2, 10 * time.Minute},
		{"until the deadline", awaiting, see(20, firstOn("a")), now.Add(time.Minute), "False DeadlineExceeded", false, false, 1, time.Minute},
		{"until a pod fails: then it stays held", awaiting, see(20, firstOn("a"), failed), now, "False PodsFailed", false, false, 1, time.Minute},
		{"held also while blocking is off", awaiting, see(20, firstOn("a"), failed, blockingOff), now, "False PodsFailed", false, false, 1, time.Minute},
		{"until the verdict is taken back", endedWith("False", "PodsFailed"), see(20, firstOn("a")), now, "False PodsFailed", true, false, 1, time.Minute},
		{"until a user resumes it", awaiting, see(20, firstOn("a"), hold("resumed")), now, "False Resumed", false, false, 1, time.Minute},
		{"until a user has resumed it", awaiting, see(20, rolling), now, "False Resumed", false, false, 1, time.Minute},
		{"until the annotation is removed", awaiting, see(20, firstOn("a"), withFirst(func(first *decide.First) { first.Asked = false })), now,
			"False Withdrawn", false, false, 1, time.Minute},
		{"until its namespace is opted out", awaiting, see(20, firstOn("a"), optedOut), now, "False NotControlled", false, false, 1, time.Minute},
		{"until its kind isn't enforced", awaiting, see(20, firstOn("a"), notEnforced), now, "False NotControlled", false, false, 1, time.Minute},
		{"until the next release", awaiting, see(20, moved, later), now, "False Superseded", false, false, 1, time.Minute},
		{"not where the server refused its order", func(workload *appv1alpha1.ChangeWorkload) { awaiting(workload); workload.Status.Status = "Failed" },
			see(20, firstOn("a")), now, "False OrderRefused", false, false, 1, time.Minute},
		{"not where there are none", stored("", "Unknown", ""), see(20, firstOn(), withFirst(func(first *decide.First) { first.Obstacle = "no node matches" })), now,
			"False NoFirstNodes", false, false, 0, 0},
		{"once: then the rollout goes on", endedWith("True", "AllPodsPassed"), see(20, firstOn("a")), now, "True AllPodsPassed", true, false, 1, time.Minute},
		{"and not again after that", endedWith("True", "AllPodsPassed"), see(20, rolling), now, "True AllPodsPassed", false, false, 1, time.Minute},
		{"and the hold ends that a user resumed", endedWith("False", "Resumed"), see(20, firstOn("a"), hold("resumed")), now, "False Resumed", false, true, 1, time.Minute},
		{"not where it isn't asked to", stored("Running", "Unknown", "Verifying"), see(20, rolling), now, "", false, false, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(row.before), row.seen, row.at)
			g.Expect(conditionOf(decision.Status, "FirstNodes")).To(Equal(row.condition))
			g.Expect(decision.Resume).To(Equal(row.resume), "resume")
			g.Expect(decision.Unhold).To(Equal(row.unhold), "unhold")
			g.Expect(decision.Pause || decision.Override).To(BeFalse())
			if row.deadline == 0 {
				g.Expect(decision.Status.FirstNodes).To(BeNil())
				return
			}
			g.Expect(decision.Status.FirstNodes).To(Equal(&appv1alpha1.FirstNodes{
				Nodes: []string{"a", "b", "c"}, Passed: row.passed, Deadline: metav1.NewTime(now.Add(row.deadline)),
			}))
			if row.condition == "Unknown Verifying" {
				g.Expect(decision.Wait).To(BeNumerically("<=", row.deadline))
				g.Expect(decision.Wait).NotTo(BeZero())
				g.Expect(conditionOf(decision.Status, "Verified")).To(Equal("Unknown FirstNodes"))
			}
		})
	}
}

// The mark of the pause is that of a failure then, which a user may end also where the release is paced.
func TestDecideHoldsAReleaseThatFailsOnItsFirstNodes(t *testing.T) {
	failed := batches(newBatch(pods(7, 7), done, result("sleep-7", "unpass", "find error")))
	ended := newWorkload(endedWith("False", "PodsFailed"))
	for name, seen := range map[string]decide.Observation{
		"if it blocks":               see(20, firstOn("a"), failed),
		"also while blocking is off": see(20, firstOn("a"), failed, blockingOff),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(decide.Decide(newWorkload(awaiting), seen, now).Pause).To(BeFalse(), "the status shows why before")
			decision := decide.Decide(ended, seen, now)
			g.Expect(decision.Pause).To(BeTrue())
			g.Expect(decision.Resume || decision.Override).To(BeFalse())
			seen.First = nil // as the mark doesn't name them any more
			g.Expect(decide.Decide(ended, seen, now).Pause).To(BeFalse(), "it is held already")
		})
	}
}

func TestDecideExplainsFirstNodes(t *testing.T) {
	message := func(before workloadOption, at time.Time, options ...seenOption) string {
		return messageOf(decide.Decide(newWorkload(before), see(20, options...), at).Status.Conditions, "FirstNodes")
	}
	g := NewWithT(t)
	g.Expect(message(awaiting, now, firstOn("b", "a"))).To(Equal("pods on 2 of 3 first nodes passed: the other nodes keep the previous version"))
	g.Expect(message(awaiting, now, firstOn("b", "a", "c"))).To(Equal("pods on 3 of 3 first nodes passed: the rollout goes on to the other nodes"))
	g.Expect(message(awaiting, now.Add(time.Hour), firstOn("b"))).
		To(Equal("pods on 1 of 3 first nodes passed, and no further one within 10m0s: the rollout goes on to all nodes"))
	g.Expect(message(stored("", "Unknown", ""), now, firstOn(), withFirst(func(first *decide.First) { first.Obstacle = "no node matches" }))).
		To(Equal("no node matches: the rollout goes on to all nodes"))
}

// What is deleted depends on the status, so this is written before a pod is.
func TestDecideStoresFirstNodesAtOnce(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(stored("Running", "Unknown", "Verifying"))
	g.Expect(decide.NeedsFirstNodes(workload)).To(BeTrue())
	g.Expect(decide.AwaitedFirstNodes(workload)).To(BeNil())
	decision := decide.Decide(workload, see(20, firstOn(), withFirst(func(first *decide.First) { first.Nodes = []string{"a", "b", "c"} })), now)
	g.Expect(decision.WriteStatus).To(BeTrue())
	workload.Status = decision.Status
	g.Expect(decide.NeedsFirstNodes(workload)).To(BeFalse())
	g.Expect(decide.AwaitedFirstNodes(workload)).To(Equal([]string{"a", "b", "c"}))
	g.Expect(decide.Decide(workload, see(20, firstOn("a")), now.Add(time.Second)).WriteStatus).To(BeTrue(), "another one passed")
	ended := decide.Decide(workload, see(20, firstOn("a", "b", "c")), now.Add(time.Second))
	g.Expect(ended.WriteStatus).To(BeTrue(), "all passed")
	g.Expect(ended.Resume).To(BeFalse(), "the status shows why the rollout goes on before it does")
	workload.Spec.Release++
	g.Expect(decide.NeedsFirstNodes(workload)).To(BeTrue(), "the version is released again")
	g.Expect(decide.AwaitedFirstNodes(workload)).To(BeNil())
	g.Expect(decide.AwaitedFirstNodes(newWorkload(endedWith("True", "AllPodsPassed")))).To(BeNil())
}

func TestFirstNodesOf(t *testing.T) {
	for value, want := range map[string]string{
		"zone=a": "zone=a", "pool in (canary),!spot": "pool in (canary),!spot", "": "", "zone in a": "invalid", "zone=a b": "invalid",
	} {
		selector, err := decide.FirstNodesOf(map[string]string{"altershield.defense.antgroup.com/first-nodes": value})
		got := ""
		switch {
		case err != nil:
			got = "invalid"
			NewWithT(t).Expect(err).To(MatchError(HavePrefix("the annotation altershield.defense.antgroup.com/first-nodes must be a label selector of nodes such as zone=a: ")))
		case selector != nil:
			got = selector.String()
		}
		NewWithT(t).Expect(got).To(Equal(want), value)
	}
}

// nodePods makes pods from texts such as "ao!": node, old or new, and ! where it isn't ready, ~ where it is so since a moment ago, - where
// it is being deleted.
func nodePods(texts string) []corev1.Pod {
	var made []corev1.Pod
	for text := range strings.FieldsSeq(texts) {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: text[:2]}, Spec: corev1.PodSpec{NodeName: text[:1]}}
		ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}
		if text[1] == 'n' {
			pod.Labels = map[string]string{"admission-webhook-altershield.antgroup.com/version": version}
		}
		if strings.Contains(text, "!") {
			ready.Status = corev1.ConditionFalse
		}
		if strings.Contains(text, "~") {
			ready.LastTransitionTime = metav1.NewTime(now.Add(-time.Second))
		}
		if strings.Contains(text, "-") {
			pod.DeletionTimestamp = &metav1.Time{Time: now}
		}
		pod.Status.Conditions = []corev1.PodCondition{ready}
		made = append(made, pod)
	}
	return made
}

func TestTurnNext(t *testing.T) {
	for _, row := range []struct {
		name, pods  string
		unavailable int
		want        string
		left        int
	}{
		{"the first one", "co bo ao do eo", 1, "ao", 3},
		{"as many as may be unavailable", "co bo ao do eo", 2, "ao bo", 3},
		{"none on other nodes", "an bn cn do eo", 2, "", 0},
		{"none while a new one isn't ready", "an! bo co do eo", 1, "", 2},
		{"none while a new one isn't available", "an~ bo co do eo", 1, "", 2},
		{"none while one is missing", "bo co do eo", 1, "", 2},
		{"none while one is being deleted", "ao- bo co do eo", 1, "", 3},
		{"none while one elsewhere isn't ready", "ao bo co do eo!", 1, "", 3},
		{"another one where two may be unavailable", "an! bo co do eo", 2, "bo", 2},
		{"those that aren't ready anyway", "ao bo! co! do eo", 1, "bo co", 3},
		{"the next one", "an bo co do eo", 1, "bo", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			turn := decide.Turn{Version: version, Nodes: []string{"a", "b", "c"}, Desired: 5, Unavailable: row.unavailable, MinReadySeconds: 10}
			next, left := turn.Next(nodePods(row.pods), now)
			var got []string
			for _, pod := range next {
				got = append(got, pod.Name)
			}
			NewWithT(t).Expect(strings.Join(got, " ")).To(Equal(row.want))
			NewWithT(t).Expect(left).To(Equal(row.left))
		})
	}
}
