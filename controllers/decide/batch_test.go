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
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestDecideOpensBatches(t *testing.T) {
	for _, row := range []struct {
		name    string
		size    int32
		desired int32
		seen    []seenOption
		sizes   []int
	}{
		{"with one pod each by default", 1, 5, []seenOption{finished(pods(1, 3))}, []int{1, 1, 1}},
		{"with one pod each where the threshold is 0", 0, 5, []seenOption{finished(pods(1, 2))}, []int{1, 1}},
		{"with 10, 10 and then the 5 that are left of 25, without waiting", 10, 25, []seenOption{finished(pods(1, 25))}, []int{10, 10, 5}},
		{"not before they are full", 10, 25, []seenOption{finished(pods(1, 9))}, nil},
		{"as soon as they are full", 10, 25, []seenOption{finished(pods(1, 10))}, []int{10}},
		{"while the rest waits", 10, 25, []seenOption{finished(pods(1, 19))}, []int{10}},
		{"with the last pods as soon as no more are to come", 10, 25, []seenOption{passed(1, 20), finished(pods(21, 25))}, []int{5}},
		{"not with the last pods while one is missing", 10, 25, []seenOption{passed(1, 20), finished(pods(21, 24))}, nil},
		{"with all pods where there are fewer than the threshold", 10, 3, []seenOption{finished(pods(1, 3))}, []int{3}},
		{"with pods beyond the desired number as well", 10, 5, []seenOption{finished(pods(1, 7))}, []int{7}},
		{"not with pods that are in a batch already", 1, 5, []seenOption{passed(1, 2)}, nil},
		{"not with pods whose batch is being checked", 1, 5, []seenOption{
			finished(pods(1, 2)), batches(newBatch(pods(1, 2)))}, nil},
		{"not with pods that failed", 1, 5, []seenOption{
			finished(pods(1, 1)), batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "")))}, nil},
		{"not without pods", 1, 5, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			decision := decide.Decide(newWorkload(batchesOf(row.size)), see(row.desired, row.seen...), now)
			NewWithT(t).Expect(sizes(decision.Batches)).To(HaveExactElements(row.sizes))
		})
	}
}

func TestDecideSplitsABatchThatIsTooLongForTheVerifier(t *testing.T) {
	fits := func(limit int) seenOption {
		return func(seen *decide.Observation) {
			seen.Verifier.Configured = true
			seen.Verifier.Fits = func(pods []appv1alpha1.PodSummary) int { return min(len(pods), limit) }
		}
	}
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		sizes    []int
	}{
		{"whole where it fits", newWorkload(batchesOf(10)), see(10, finished(pods(1, 10)), fits(10)), []int{10}},
		{"as soon as it is full", newWorkload(batchesOf(10)), see(25, finished(pods(1, 14)), fits(4)), []int{4, 4, 2}},
		{"each batch by itself", newWorkload(batchesOf(10)), see(25, finished(pods(1, 25)), fits(6)), []int{6, 4, 6, 4, 5}},
		{"not before it is full", newWorkload(batchesOf(10)), see(25, finished(pods(1, 9)), fits(4)), nil},
		{"at the deadline", newWorkload(batchesOf(10), stored("Running", "Unknown", "Verifying"), deadline(now)),
			see(25, finished(pods(1, 9)), fits(4)), []int{4, 4, 1}},
		{"into single pods at least", newWorkload(batchesOf(3)), see(3, finished(pods(1, 3)), fits(0)), []int{1, 1, 1}},
		{"never without a verifier", newWorkload(batchesOf(500)), see(500, finished(pods(1, 500))), []int{500}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(row.workload, row.seen, now)
			g.Expect(sizes(decision.Batches)).To(HaveExactElements(row.sizes))
			opened := slices.Concat(decision.Batches...)
			g.Expect(slices.Equal(opened, row.seen.Finished[:len(opened)])).To(BeTrue(), "each pod once, in their order")
		})
	}
}

func TestDecideBatchesPodsInTheirOrderAndOnce(t *testing.T) {
	g := NewWithT(t)
	decision := decide.Decide(newWorkload(batchesOf(2)), see(5, passed(1, 1), finished(pods(2, 5))), now)
	g.Expect(decision.Batches).To(HaveLen(2))
	g.Expect(decision.Batches[0]).To(Equal(pods(2, 3)))
	g.Expect(decision.Batches[1]).To(Equal(pods(4, 5)))
}

func TestDecideGivesANewRelease60SecondsForItsFirstPods(t *testing.T) {
	g := NewWithT(t)
	decision := decide.Decide(newWorkload(), see(5), now)
	g.Expect(string(decision.Status.Status)).To(Equal("Running"))
	g.Expect(decision.Status.ObservedRelease).To(Equal(int64(1)))
	g.Expect(decision.Status.EntryTime).To(Equal("2026-11-21 10:00:00"))
	g.Expect(decision.Status.EntryTimeUnix).To(Equal(int64(1795255200)))
	g.Expect(decision.Status.UpdateTime).To(Equal("2026-11-21 10:00:00"))
	g.Expect(decision.Status.UpdateTimeUnix).To(Equal(int64(1795255200)))
	g.Expect(decision.Status.WaitDeadline.Time).To(Equal(now.Add(time.Minute)))
	g.Expect(decision.Status.Conditions).To(haveCondition("Verified", "Unknown", "Verifying"))
	g.Expect(messageOf(decision.Status.Conditions, "Verified")).
		To(Equal("waiting for pods or checking them: kubectl get changepods shows each batch"))
	g.Expect(decision.Status.Conditions[0].ObservedGeneration).To(Equal(int64(3)))
	g.Expect(decision.Status.Conditions[0].LastTransitionTime.Time).To(Equal(now))
	g.Expect(decision.WriteStatus).To(BeTrue())
	g.Expect(decision.Wait).To(Equal(time.Minute))
}

func TestDecideStoresNoDeadlineEarlierThanItsWindow(t *testing.T) {
	g := NewWithT(t)
	decision := decide.Decide(newWorkload(), see(5), now.Add(300*time.Millisecond))
	g.Expect(decision.Status.WaitDeadline.Time).To(Equal(now.Add(61*time.Second)), "the API server stores whole seconds")
	g.Expect(decision.Wait).To(Equal(60700 * time.Millisecond))
}

func TestDecideWaitsForABatch(t *testing.T) {
	running := stored("Running", "Unknown", "Verifying")
	timedOut := stored("TimeOutPreThreshold", "Unknown", "ThresholdTimeout")
	long := func(workload *appv1alpha1.ChangeWorkload) { workload.Spec.WaitTimeThreshold = 120 }
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		status   string
		reason   string
		sizes    []int
		deadline time.Duration // from now; -1 is none
	}{
		{"goes on until the deadline",
			newWorkload(batchesOf(10), running, deadline(now.Add(time.Second))), see(25, finished(pods(1, 4))),
			"Running", "Verifying", nil, time.Second},
		{"ends at the deadline with a smaller batch",
			newWorkload(batchesOf(10), running, deadline(now)), see(25, finished(pods(1, 4))),
			"TimeOutPreThreshold", "ThresholdTimeout", []int{4}, time.Minute},
		{"ends at the deadline without pods and without a new deadline",
			newWorkload(batchesOf(10), running, deadline(now)), see(25),
			"TimeOutPreThreshold", "ThresholdTimeout", nil, 0},
		{"takes a pod that comes after such an end at once",
			newWorkload(batchesOf(10), timedOut, deadline(now.Add(-time.Hour))), see(25, finished(pods(1, 1))),
			"TimeOutPreThreshold", "ThresholdTimeout", []int{1}, time.Minute},
		{"ends with Running when a later batch fills in time",
			newWorkload(batchesOf(10), timedOut, deadline(now.Add(time.Second))), see(25, finished(pods(1, 11))),
			"Running", "Verifying", []int{10}, time.Minute},
		{"stays timed out when a later batch fills too late once more, so that the status doesn't flap",
			newWorkload(batchesOf(10), timedOut, deadline(now.Add(-time.Hour))), see(25, finished(pods(1, 11))),
			"TimeOutPreThreshold", "ThresholdTimeout", []int{10}, time.Minute},
		{"is given up for a template that no webhook saw",
			newWorkload(batchesOf(10), running, deadline(now.Add(-time.Hour))), see(25, unseen),
			"Running", "TemplateUnseen", nil, -1},
		{"stays timed out while a later batch isn't full",
			newWorkload(batchesOf(10), timedOut, deadline(now.Add(time.Second))), see(25, finished(pods(1, 4))),
			"TimeOutPreThreshold", "ThresholdTimeout", nil, time.Second},
		{"begins anew with a full batch",
			newWorkload(batchesOf(10), running, deadline(now.Add(time.Second))), see(25, finished(pods(1, 10))),
			"Running", "Verifying", []int{10}, time.Minute},
		{"begins anew with a batch that was opened since the deadline was stored",
			newWorkload(batchesOf(10), running, deadline(now.Add(-time.Second))),
			see(25, finished(pods(1, 14)), batches(newBatch(pods(1, 10), openedAt(now.Add(-20*time.Second))))),
			"Running", "Verifying", nil, 40 * time.Second},
		{"begins anew with the newest of the batches, in whatever order they are seen",
			newWorkload(batchesOf(5), running, deadline(now.Add(-time.Second))),
			see(25, finished(pods(1, 14)), batches(
				newBatch(pods(1, 5), openedAt(now.Add(-20*time.Second))), newBatch(pods(6, 10), openedAt(now.Add(-50*time.Second))))),
			"Running", "Verifying", nil, 40 * time.Second},
		{"isn't put off by a batch from before",
			newWorkload(batchesOf(10), running, deadline(now)),
			see(25, finished(pods(1, 14)), batches(newBatch(pods(1, 10), openedAt(now.Add(-time.Minute))))),
			"TimeOutPreThreshold", "ThresholdTimeout", []int{4}, time.Minute},
		{"isn't cut short by a batch from before",
			newWorkload(batchesOf(10), running, deadline(now.Add(30*time.Second))),
			see(25, finished(pods(1, 14)), batches(newBatch(pods(1, 10), openedAt(now.Add(-59*time.Second))))),
			"Running", "Verifying", nil, 30 * time.Second},
		{"lasts for waitTimeThreshold",
			newWorkload(batchesOf(10), running, long), see(25, finished(pods(1, 4))),
			"Running", "Verifying", nil, 2 * time.Minute},
		{"is over when every desired pod is in a batch",
			newWorkload(batchesOf(10), running, deadline(now.Add(-time.Second))),
			see(10, finished(pods(1, 10)), batches(newBatch(pods(1, 10)))),
			"Running", "Verifying", nil, -1},
		{"isn't needed when the last batch opens",
			newWorkload(batchesOf(10), running, deadline(now.Add(time.Second))), see(10, finished(pods(1, 10))),
			"Running", "Verifying", []int{10}, -1},
		{"doesn't begin while the Deployment is paused",
			newWorkload(batchesOf(10), running), see(25, paused),
			"Running", "DeploymentPaused", nil, -1},
		{"ends while the Deployment is paused",
			newWorkload(batchesOf(10), running, deadline(now.Add(time.Second))), see(25, paused),
			"Running", "DeploymentPaused", nil, -1},
		{"goes on for pods that were there before the Deployment was paused",
			newWorkload(batchesOf(10), running, deadline(now.Add(time.Second))), see(25, paused, finished(pods(1, 4))),
			"Running", "DeploymentPaused", nil, time.Second},
		{"ends for pods that were there before the Deployment was paused",
			newWorkload(batchesOf(10), running, deadline(now)), see(25, paused, finished(pods(1, 4))),
			"TimeOutPreThreshold", "DeploymentPaused", []int{4}, time.Minute},
		{"isn't needed for pods of a paused Deployment that make a batch",
			newWorkload(running), see(25, paused, finished(pods(1, 3))),
			"Running", "DeploymentPaused", []int{1, 1, 1}, -1},
		{"begins when the Deployment is resumed",
			newWorkload(batchesOf(10), stored("Running", "Unknown", "DeploymentPaused")), see(25, finished(pods(1, 4))),
			"Running", "Verifying", nil, time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(row.workload, row.seen, now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(decision.Status.Conditions).To(haveCondition("Verified", "Unknown", row.reason))
			g.Expect(sizes(decision.Batches)).To(HaveExactElements(row.sizes))
			if row.deadline < 0 {
				g.Expect(decision.Status.WaitDeadline).To(BeNil())
				return
			}
			g.Expect(decision.Status.WaitDeadline).NotTo(BeNil())
			g.Expect(decision.Status.WaitDeadline.Time).To(BeTemporally("==", now.Add(row.deadline)))
			g.Expect(decision.Wait).To(Equal(row.deadline), "it looks again exactly then")
		})
	}
}

func TestDecideExplainsAReleaseThatWaits(t *testing.T) {
	running := stored("Running", "Unknown", "Verifying")
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		message  string
	}{
		{"its progress", newWorkload(batchesOf(10), running, deadline(now.Add(time.Second))),
			see(25, passed(1, 10), batches(newBatch(pods(11, 12))), finished(pods(11, 15))),
			"waiting for pods or checking them: kubectl get changepods shows each batch"},
		{"that too few pods finished", newWorkload(batchesOf(10), running, deadline(now)), see(25, finished(pods(1, 4))),
			"fewer than 10 further pods finished within 60 seconds; 0 of 25 pods passed, 0 being checked, 4 waiting for their batch"},
		{"that the Deployment is paused", newWorkload(running), see(25, paused),
			"the Deployment is paused: run kubectl rollout resume to create the pods of this release"},
	} {
		t.Run(row.name, func(t *testing.T) {
			decision := decide.Decide(row.workload, row.seen, now)
			NewWithT(t).Expect(messageOf(decision.Status.Conditions, "Verified")).To(Equal(row.message))
		})
	}
}

func TestDecideTimesAReleaseWithoutPodsOutOnce(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(), seen: see(5), now: now}
	s.decide()
	s.now = now.Add(time.Minute)
	first := s.decide()
	g.Expect(string(first.Status.Status)).To(Equal("TimeOutPreThreshold"))
	g.Expect(first.WriteStatus).To(BeTrue())
	g.Expect(first.Wait).To(BeZero(), "no busy requeue")
	s.now = now.Add(time.Hour)
	second := s.decide()
	g.Expect(second.WriteStatus).To(BeFalse())
	g.Expect(second.Wait).To(BeZero(), "no busy requeue")
}

func TestDecideBatchesNoPodOfAPausedDeploymentTwice(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(), seen: see(5, paused, finished(pods(1, 3))), now: now}
	g.Expect(sizes(s.decide().Batches)).To(HaveExactElements(1, 1, 1))
	g.Expect(s.decide().Batches).To(BeEmpty())
	s.check()
	g.Expect(s.decide().Batches).To(BeEmpty())
	g.Expect(s.seen.LastNumber).To(Equal(int64(3)))
}

func TestDecideWaitsAsLongForPodsThatAreWantedLater(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(batchesOf(10)), seen: see(10), now: now}
	s.decide()
	s.now = now.Add(10 * time.Second)
	finished(pods(1, 10))(&s.seen)
	g.Expect(sizes(s.decide().Batches)).To(HaveExactElements(10))
	// No batch is expected while the ten are being checked. Then the Deployment is scaled up.
	s.now = now.Add(100 * time.Second)
	s.seen.Desired = 20
	decision := s.decide()
	g.Expect(string(decision.Status.Status)).To(Equal("Running"), "the wait begins when there is something to wait for")
	g.Expect(decision.Wait).To(Equal(time.Minute))
}
