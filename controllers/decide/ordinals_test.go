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
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

const revisionLabel = "controller-revision-hash"

// parkedWeb is a StatefulSet with four pods that goes from revision a to b and is held.
func parkedWeb(changes ...func(*decide.Ordinals)) decide.Ordinals {
	web := decide.Ordinals{
		Label: revisionLabel, Current: "a", Update: "b", Replicas: 4, Partition: 1<<31 - 1, Ordered: true, Observed: true,
	}
	for _, change := range changes {
		change(&web)
	}
	return web
}

// rollingWeb is the same StatefulSet, not held.
func rollingWeb(changes ...func(*decide.Ordinals)) decide.Ordinals {
	return parkedWeb(append([]func(*decide.Ordinals){func(web *decide.Ordinals) { web.Partition = 0 }}, changes...)...)
}

func parallel(web *decide.Ordinals) { web.Ordered = false }

// webPods makes pods from texts such as "3b!": ordinal, revision, and ! where it isn't ready, - where it is being deleted, x where it failed,
// g where it is gated, w where it would be ready but waits for traffic at the operator's gate, ~ where it isn't ready since a moment ago. They are an
// hour old.
func webPods(texts string) []corev1.Pod {
	var made []corev1.Pod
	for text := range strings.FieldsSeq(texts) {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "web-" + text[:1], Labels: map[string]string{revisionLabel: text[1:2]}, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
		}}
		ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: pod.CreationTimestamp}
		pod.Status.Phase = corev1.PodRunning
		if strings.ContainsAny(text[2:], "!xgw~") {
			ready.Status = corev1.ConditionFalse
		}
		if strings.Contains(text, "~") {
			ready.LastTransitionTime = metav1.NewTime(now.Add(-10 * time.Second))
		}
		pod.Status.Conditions = []corev1.PodCondition{ready}
		if strings.Contains(text, "-") {
			pod.DeletionTimestamp = &metav1.Time{Time: now}
		}
		if strings.Contains(text, "x") {
			pod.Status.Phase = corev1.PodFailed
		}
		if strings.Contains(text, "g") {
			pod.Status.Phase = corev1.PodPending
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Reason: corev1.PodReasonSchedulingGated})
		}
		if strings.Contains(text, "w") {
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "altershield.defense.antgroup.com/verified"}}
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
		}
		made = append(made, pod)
	}
	return made
}

// nameOf returns the name of a pod, empty for none.
func nameOf(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	return pod.Name
}

func TestOrdinalsNextParked(t *testing.T) {
	for _, row := range []struct {
		name string
		web  decide.Ordinals
		pods string
		next string
		left int
	}{
		{"no pod of the release is left", parkedWeb(), "0a 1a 2a 3a", "", 0},
		{"the ready one with the lowest ordinal goes first", parkedWeb(), "3b 2b 0a 1a", "web-2", 2},
		{"one that isn't ready before it", parkedWeb(), "0a 1b 2b! 3b!", "web-2", 3},
		{"one of a release before, which isn't complete either", parkedWeb(), "0a 1a 2a 3c", "web-3", 1},
		{"not while one is being deleted", parkedWeb(), "0a 1a 2b- 3b", "", 2},
		{"not while one has failed, which is replaced", parkedWeb(), "0a 1a 2ax 3b", "", 1},
		{"not while one is missing", parkedWeb(), "0a 1a 3b", "", 1},
		{"not while the last one is missing", parkedWeb(), "0a 1a 2b", "", 1},
		{"not while one that came back isn't ready", parkedWeb(), "0a 1a 2a! 3b", "", 1},
		{"one that isn't ready, which keeps those above from coming back", parkedWeb(), "0a 1b!", "web-1", 1},
		{"nor does one that waits for traffic at its gate", parkedWeb(), "0a 1bw", "web-1", 1},
		{"not while one below it is coming back", parkedWeb(), "0a! 1b! 2a 3a", "", 1},
		{"not while one is missing, where nothing waits for it", parkedWeb(parallel), "0a 1b! 2a", "", 1},
		{"the same in parallel", parkedWeb(parallel), "0a 1b 2b 3b!", "web-3", 3},
		{"pods beyond the replicas don't count", parkedWeb(), "0a 1a 2a 3a 4b", "", 0},
		{"nor does one without a number", parkedWeb(), "0a 1a 2a 3a xb", "", 0},
		{"ordinals may start higher", parkedWeb(func(web *decide.Ordinals) { web.Start = 2 }), "2a 3a 4b 5a 0b", "web-4", 1},
		{"not before its controller has seen the spec", parkedWeb(func(web *decide.Ordinals) { web.Observed = false }), "0a 1a 2a 3b", "", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			next, left := row.web.NextParked(webPods(row.pods))
			NewWithT(t).Expect(fmt.Sprint(nameOf(next), left)).To(Equal(fmt.Sprint(row.next, row.left)))
		})
	}
}

// A park deletes each pod of the release once, and never has two pods away at a time.
func TestOrdinalsNextParkedBringsEachPodBackOnce(t *testing.T) {
	g, pods := NewWithT(t), webPods("0a 1b 2b! 3b")
	var order []string
	for range 10 {
		next, left := parkedWeb().NextParked(pods)
		if next == nil {
			g.Expect(left).To(BeZero())
			break
		}
		at := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Name == next.Name })
		order = append(order, next.Name)
		pods[at] = webPods(next.Name[4:] + "a!")[0]
		waiting, _ := parkedWeb().NextParked(pods)
		g.Expect(waiting).To(BeNil(), "%s isn't ready yet", next.Name)
		pods[at] = webPods(next.Name[4:] + "a")[0]
	}
	g.Expect(order).To(Equal([]string{"web-2", "web-1", "web-3"}))
}

func TestOrdinalsNextStuck(t *testing.T) {
	for _, row := range []struct {
		name   string
		web    decide.Ordinals
		pods   string
		failed bool
		next   string
		wait   time.Duration
	}{
		{"nothing is the matter", rollingWeb(), "0a 1a 2b 3b", false, "", 0},
		{"a broken pod of another release blocks the set", rollingWeb(), "0a 1a 2a 3c!", false, "web-3", 0},
		{"a broken pod of before blocks the release", rollingWeb(), "0a 1a! 2a 3a", false, "web-1", 0},
		{"the lowest one blocks the others", rollingWeb(), "0a 1c! 2c! 3c!", false, "web-1", 0},
		{"not one that still has time", rollingWeb(), "0a 1a 2a 3c~", false, "", 50 * time.Second},
		{"nor a higher one meanwhile", rollingWeb(), "0a 1a~ 2a 3c!", false, "", 50 * time.Second},
		{"not one of the release", rollingWeb(), "0a 1a 2a 3b!", false, "", 0},
		{"nor one above, which waits for it", rollingWeb(), "0a 1b! 2a 3c!", false, "", 0},
		{"nor one of a failed release that goes on: it would come back the same", rollingWeb(), "0a 1a 2a 3b!", true, "", 0},
		{"but one of a failed release that is held", parkedWeb(), "0a 1a 2a 3b!", true, "web-3", 0},
		{"not one of a held release that didn't fail", parkedWeb(), "0a 1a 2a 3b!", false, "", 0},
		{"not an old one of a held release, which would come back the same", parkedWeb(), "0a 1a! 2a 3b", true, "", 0},
		{"nor one below a partition", rollingWeb(func(web *decide.Ordinals) { web.Partition = 2 }), "0a 1a! 2a 3a", false, "", 0},
		{"but one above it", rollingWeb(func(web *decide.Ordinals) { web.Partition = 1 }), "0a 1a! 2a 3a", false, "web-1", 0},
		{"with a start", rollingWeb(func(web *decide.Ordinals) { web.Partition, web.Start = 2, 5 }), "5a 6a! 7c! 8a", false, "", 0},
		{"never one that is ready", rollingWeb(), "0a 1c 2c 3c", false, "", 0},
		{"but one of another release that waits for traffic", rollingWeb(), "0a 1a 2a 3cw", false, "web-3", 0},
		{"not one of the release that does", rollingWeb(), "0a 1a 2a 3bw", false, "", 0},
		{"but one that failed while it did, once the release is held", parkedWeb(), "0a 1a 2a 3bw", true, "web-3", 0},
		{"not while one is being deleted", rollingWeb(), "0a 1a 2a- 3c!", false, "", 0},
		{"nor while a lower one is missing", rollingWeb(), "0a 2c! 3c!", false, "", 0},
		{"but while higher ones are, which wait for it", rollingWeb(), "0a 1c!", false, "web-1", 0},
		{"not one that failed, which is replaced", rollingWeb(), "0a 1a 2a 3cx", false, "", 0},
		{"not one that a gate holds back", rollingWeb(), "0a 1a 2a 3cg", false, "", 0},
		{"not of a set that doesn't wait", rollingWeb(parallel), "0a 1a 2a 3c!", false, "", 0},
		{"not before its controller has seen the spec", rollingWeb(func(web *decide.Ordinals) { web.Observed = false }), "0a 1a 2a 3c!", false, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			patience := decide.Patience{Threshold: time.Minute}
			next, wait := row.web.NextStuck(webPods(row.pods), row.failed, patience, now)
			NewWithT(t).Expect(fmt.Sprint(nameOf(next), wait)).To(Equal(fmt.Sprint(row.next, row.wait)))
		})
	}
}

func TestOrdinalsNextStuckCountsTimeSinceItLeads(t *testing.T) {
	next, wait := rollingWeb().NextStuck(webPods("0a 1a 2a 3c!"), false, decide.Patience{Threshold: time.Minute, Since: now.Add(-20 * time.Second)}, now)
	NewWithT(t).Expect(fmt.Sprint(nameOf(next), wait)).To(Equal("40s"))
}

func TestOrdinalsNextStuckCountsTimeSinceThePodWasLetIn(t *testing.T) {
	pods := webPods("0a 1a 2a 3c!")
	letIn(20 * time.Second)(&pods[3])
	next, wait := rollingWeb().NextStuck(pods, false, decide.Patience{Threshold: time.Minute}, now)
	NewWithT(t).Expect(fmt.Sprint(nameOf(next), wait)).To(Equal("40s"))
}

func TestOrdinalsNextStuckCountsTimeSinceContainersAtTheGateLostTheirReadiness(t *testing.T) {
	pods := webPods("0a 1a 2a 3c!")
	pods[3].Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "altershield.defense.antgroup.com/verified"}}
	pods[3].Status.Conditions = append(pods[3].Status.Conditions, corev1.PodCondition{
		Type: corev1.ContainersReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-20 * time.Second)),
	})
	next, wait := rollingWeb().NextStuck(pods, false, decide.Patience{Threshold: time.Minute}, now)
	NewWithT(t).Expect(fmt.Sprint(nameOf(next), wait)).To(Equal("40s"))
}

func TestOrdinalsStuckWait(t *testing.T) {
	for _, row := range []struct {
		name   string
		web    decide.Ordinals
		pods   string
		failed bool
		due    bool
		wait   time.Duration
	}{
		{"all are ready", rollingWeb(), "0a 1a 2b 3b", false, false, 0},
		{"one had its time, although the cache lacks others", rollingWeb(), "3c!", false, true, 0},
		{"one has time", rollingWeb(), "0a 1a 2a~ 3c~", false, false, 50 * time.Second},
		{"one of the release", rollingWeb(), "3b!", false, false, 0},
		{"one of another release waits for traffic", rollingWeb(), "3cw", false, true, 0},
		{"one of a failed release that is held", parkedWeb(), "3b!", true, true, 0},
		{"of a set that doesn't wait", rollingWeb(parallel), "3c!", false, false, 0},
		{"one that a gate holds back", rollingWeb(), "3cg", false, false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			due, wait := row.web.StuckWait(webPods(row.pods), row.failed, decide.Patience{Threshold: time.Minute}, now)
			NewWithT(t).Expect(fmt.Sprint(due, wait)).To(Equal(fmt.Sprint(row.due, row.wait)))
		})
	}
}

func TestOrdinalsBarOf(t *testing.T) {
	for _, row := range []struct {
		name string
		web  decide.Ordinals
		hold decide.Hold
		bar  decide.ParkBar
	}{
		{"a rollout in progress", rollingWeb(), decide.NotHeld, decide.ParkFree},
		{"a held one", parkedWeb(), decide.Held, decide.ParkFree},
		{"one that a user resumed", rollingWeb(), decide.Resumed, decide.ParkResumed},
		{"one that a user resumed before", rollingWeb(), decide.Overridden, decide.ParkResumed},
		{"a complete one", rollingWeb(func(web *decide.Ordinals) { web.Current = "b" }), decide.NotHeld, decide.ParkComplete},
		{"one whose revisions may be those of the spec before",
			rollingWeb(func(web *decide.Ordinals) { web.Current, web.Observed = "b", false }), decide.NotHeld, decide.ParkFree},
		{"one with a user's partition", rollingWeb(func(web *decide.Ordinals) { web.UserPartition = 1 }), decide.NotHeld, decide.ParkPartition},
		{"one that was held from a user's partition", parkedWeb(func(web *decide.Ordinals) { web.UserPartition = 1 }), decide.Held, decide.ParkPartition},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(row.web.BarOf(row.hold)).To(Equal(row.bar))
		})
	}
}

func TestPastIsBad(t *testing.T) {
	g := NewWithT(t)
	past := decide.Past{Workloads: []appv1alpha1.ChangeWorkload{other("c", 1, stored("Suspend", "False", "PodsFailed")), other("d", 2, stored("Success", "True", "AllPodsPassed")),
		other("f", 3, stored("Running", "Unknown", "Verifying"))},
		Rollbacks: []appv1alpha1.Rollback{{Version: "e", Reason: "Requested", Time: metav1.NewTime(now), RefusedUntil: &metav1.Time{Time: now.Add(time.Minute)}}}}
	g.Expect(past.IsBad("c", now)).To(BeTrue(), "it failed")
	g.Expect(past.IsBad("f", now)).To(BeTrue(), "it was not verified")
	g.Expect(past.IsBad("g", now)).To(BeFalse(), "its record is gone")
	g.Expect(past.IsBad("d", now)).To(BeFalse())
	g.Expect(past.IsBad("e", now)).To(BeTrue(), "it is refused")
	g.Expect(past.IsBad("e", now.Add(time.Hour))).To(BeFalse())
	g.Expect(past.IsBad("", now)).To(BeFalse(), "a template from before change control")
}

func indexedPods(indexes string) (pods []corev1.Pod) {
	for index := range strings.FieldsSeq(indexes) {
		pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"apps.kubernetes.io/pod-index": index}}})
	}
	return pods
}

func TestOrdinalsLetFrom(t *testing.T) {
	web := decide.Ordinals{Replicas: 40}
	from := func(web decide.Ordinals, start int32) decide.Ordinals {
		web.Start = start
		return web
	}
	for _, row := range []struct {
		name    string
		web     decide.Ordinals
		indexes string
		let     int32
		want    int32
	}{
		{"the first pods of a release", web, "", 5, 5},
		{"with those that it has", web, "36 37 38 39", 5, 5},
		{"those from before it was scaled up run as well", web, "15 16 17 18 19", 10, 5},
		{"and are all there is room for", web, "15 16 17 18 19", 5, 0},
		{"even more of them", web, "15 16 17 18 19", 4, 0},
		{"one that came back at the version before has a successor further up", web, "15 16 18 19 35 36 37 38 39", 10, 6},
		{"until they are among those", web, "15 16 17 18 19", 24, 19},
		{"and then as many as are let", web, "15 16 17 18 19", 25, 25},
		{"all", web, "15 16 17 18 19", decide.LetAll, decide.LetAll},
		{"none", web, "", 0, 0},
		{"indexes may start higher", from(web, 10), "25 26 27 28 29", 10, 5},
		{"and all of them be above", from(web, 10), "45 46 47 48 49", 5, 5},
		{"pods without an index aren't replaced in its order", web, "- - -", 5, 5},
		{"those that it gained while pods were replaced are the first of the larger step", web, "18 19 20 21 22", 10, 5},
		{"and wait if they are more", web, "18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39", 10, 0},
		{"until the step has them", web, "18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39", 24, 24},
		{"those beyond the last one count while they exist", web, "38 39 40 41", 5, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(row.web.LetFrom(indexedPods(row.indexes), row.let)).To(Equal(row.want))
		})
	}
}

func TestOrdinalsComing(t *testing.T) {
	for _, row := range []struct {
		name             string
		start, partition int32
		indexes          string
		want             int32
	}{
		{"all above the partition", 0, 15, "", 5},
		{"but those that are there", 0, 15, "17 18 19", 2},
		{"none that is", 0, 15, "15 16 17 18 19", 0},
		{"not those below it", 0, 15, "3 19", 4},
		{"not those beyond the last one", 0, 15, "19 20 21", 4},
		{"none while it is stopped", 0, 2147483647, "19", 0},
		{"indexes may start higher", 100, 15, "119", 4},
		{"pods without an index don't count", 0, 15, "- -", 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			web := decide.Ordinals{Start: row.start, Replicas: 20, Partition: row.partition}
			NewWithT(t).Expect(web.Coming(indexedPods(row.indexes))).To(Equal(row.want))
		})
	}
}
