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
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func keepsRecords(number int) seenOption {
	return func(seen *decide.Observation) { seen.Records = number }
}

// settled and podsFailed are the ways in which most releases end.
func settled(workload *appv1alpha1.ChangeWorkload) {
	stored("Success", "True", "AllPodsPassed")(workload)
}
func podsFailed(workload *appv1alpha1.ChangeWorkload) {
	stored("Suspend", "False", "PodsFailed")(workload)
}
func superseded(workload *appv1alpha1.ChangeWorkload) {
	stored("Running", "Unknown", "Superseded")(workload)
}

func deleted(workload *appv1alpha1.ChangeWorkload) {
	workload.DeletionTimestamp = &metav1.Time{Time: now}
}

// lifted is a release whose pods failed, and whose suspension is over.
func lifted(workload *appv1alpha1.ChangeWorkload) {
	podsFailed(workload)
	workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{
		Type: "Suspended", Status: "False", Reason: "Lifted", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(now),
	})
}

func TestDecidePrunesRecordsWhenAReleaseIsVerified(t *testing.T) {
	four := []appv1alpha1.ChangeWorkload{other("b", 2, settled), other("d", 4, podsFailed), other("a", 1, superseded), other("c", 3, settled)}
	for _, row := range []struct {
		name   string
		keep   int
		others []appv1alpha1.ChangeWorkload
		gone   []string
	}{
		{"all older ones where none is kept, those that failed last", 0, four, []string{"c", "b", "a", "d"}},
		{"all but the newest one", 1, four, []string{"c", "b", "a"}},
		{"all but the newest two", 2, four, []string{"b", "a"}},
		{"none where more may stay than there are", 5, four, nil},
		{"none where as many may stay as there are", 4, four, nil},
		{"none of newer releases", 0, []appv1alpha1.ChangeWorkload{other("z", 10)}, nil},
		{"one that is being deleted goes by itself, and takes no place", 1,
			[]appv1alpha1.ChangeWorkload{other("c", 3, settled, deleted), other("b", 2, settled), other("a", 1, settled)}, []string{"a"}},
		{"a failed one stays while one that stays remembers it as verified", 1,
			[]appv1alpha1.ChangeWorkload{other("c", 3, settled, remembering("b")), other("b", 2, podsFailed), other("a", 1, settled)}, []string{"a"}},
		{"a failed one goes with the one that remembers it", 1,
			[]appv1alpha1.ChangeWorkload{other("d", 4, settled), other("c", 3, settled, remembering("b")), other("b", 2, podsFailed)}, []string{"c", "b"}},
		{"one that is remembered goes if it didn't fail", 1,
			[]appv1alpha1.ChangeWorkload{other("c", 3, settled, remembering("b")), other("b", 2, settled)}, []string{"b"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			decision := decide.Decide(newWorkload(release(9)), see(5, passed(1, 5), others(row.others...), keepsRecords(row.keep)), now)
			NewWithT(t).Expect(versionsOf(decision.Prune)).To(HaveExactElements(row.gone))
		})
	}
}

func TestDecideCapsTheRecordsOfReleasesThatWereOvertaken(t *testing.T) {
	// overtaken has a release for each of these versions, a the oldest.
	overtaken := func(versions string, changes ...func([]appv1alpha1.ChangeWorkload)) []appv1alpha1.ChangeWorkload {
		var result []appv1alpha1.ChangeWorkload
		for i, version := range versions {
			result = append(result, other(string(version), int64(i+1), superseded))
		}
		for _, change := range changes {
			change(result)
		}
		return result
	}
	oldest := func(options ...workloadOption) func([]appv1alpha1.ChangeWorkload) {
		return func(all []appv1alpha1.ChangeWorkload) {
			for _, option := range options {
				option(&all[0])
			}
		}
	}
	second := func(options ...workloadOption) func([]appv1alpha1.ChangeWorkload) {
		return func(all []appv1alpha1.ChangeWorkload) { oldest(options...)(all[1:]) }
	}
	unseenYet := func(workload *appv1alpha1.ChangeWorkload) { workload.Status.ObservedRelease-- }
	for _, row := range []struct {
		name   string
		seen   []seenOption
		others []appv1alpha1.ChangeWorkload
		gone   []string
	}{
		{"ten stay", nil, overtaken("abcdefghij"), nil},
		{"the oldest of twelve go", nil, overtaken("abcdefghijkl"), []string{"b", "a"}},
		{"more stay where release-history keeps some", []seenOption{keepsRecords(5)}, overtaken("abcdefghijklmnop"), []string{"a"}},
		{"none of a release that was overtaken", []seenOption{moved}, overtaken("abcdefghijkl"), nil},
		{"none while the namespace is opted out", []seenOption{optedOut}, overtaken("abcdefghijkl"), nil},
		{"none of newer releases", nil, append(overtaken("abcdefghij"), other("z", 90, superseded)), nil},
		{"one that was rolled back is no exception", nil, overtaken("abcdefghijk", oldest(stored("TimeOutPreThreshold", "Unknown", "Superseded"))), []string{"a"}},
		{"nor one that had no pods", nil, overtaken("abcdefghijk", oldest(stored("Success", "Unknown", "NoReplicas"))), []string{"a"}},
		{"nor one that the server refused", nil, overtaken("abcdefghijk", oldest(stored("Failed", "Unknown", "OrderRefused"))), []string{"a"}},
		{"one that was verified stays", nil, overtaken("abcdefghijkl", oldest(settled)), []string{"b"}},
		{"one that remembers verified versions stays", nil, overtaken("abcdefghijkl", oldest(remembering("x"))), []string{"b"}},
		{"one that was recorded again and not reconciled yet stays", nil, overtaken("abcdefghijkl", oldest(unseenYet)), []string{"b"}},
		{"one that is being deleted goes by itself", nil, overtaken("abcdefghijkl", oldest(deleted)), []string{"b"}},
		{"a failed one stays while the Deployment is suspended", []seenOption{suspended}, overtaken("abcdefghijkl", oldest(podsFailed)), []string{"b"}},
		{"a failed one goes where nothing is suspended", nil, overtaken("abcdefghijkl", oldest(podsFailed)), []string{"b", "a"}},
		{"but not while another one remembers its version as verified", nil,
			overtaken("abcdefghijklm", oldest(podsFailed), second(remembering("a"))), []string{"c"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			decision := decide.Decide(newWorkload(release(50)), see(5, append(row.seen, others(row.others...))...), now)
			NewWithT(t).Expect(versionsOf(decision.Prune)).To(HaveExactElements(row.gone))
		})
	}
}

func TestDecideClearsTheBatchesOfEarlierReleasesOnceTheNextIsSettled(t *testing.T) {
	earlier := func(seen *decide.Observation) { seen.Earlier = true }
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		clear    bool
	}{
		{"verified", newWorkload(), see(5, passed(1, 5), earlier), true},
		{"verified before", newWorkload(settled), see(5, earlier), true},
		{"overtaken", newWorkload(), see(5, moved, earlier), true},
		{"overtaken after pods failed", newWorkload(), see(5, moved, failed(1, 5, "sleep-2"), earlier), true},
		{"there are none", newWorkload(), see(5, passed(1, 5)), false},
		{"its pods are awaited", newWorkload(), see(5, passed(1, 4), earlier), false},
		{"a pod failed", newWorkload(), see(5, failed(1, 5, "sleep-2"), earlier), false},
		{"it has no pods to check", newWorkload(), see(0, earlier), false},
		{"the namespace is opted out", newWorkload(settled), see(5, optedOut, earlier), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.Decide(row.workload, row.seen, now).Clear).To(Equal(row.clear))
		})
	}
}

func TestDecideNotesWhereTheNumbersOfAReleaseBegin(t *testing.T) {
	opened := func(number int64) batchOption {
		return func(batch *appv1alpha1.ChangePod) { batch.Name = decide.ChangePodName("sleep--x--"+version, number) }
	}
	last := func(number int64) seenOption { return func(seen *decide.Observation) { seen.LastNumber = number } }
	started := func(workload *appv1alpha1.ChangeWorkload) {
		stored("Running", "Unknown", "Verifying")(workload)
		workload.Status.FirstChangePod = 3
	}
	earlier := func(workload *appv1alpha1.ChangeWorkload) { started(workload); workload.Status.ObservedRelease-- }
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		first    int64
	}{
		{"the first release", newWorkload(), see(5), 1},
		{"another one of the version", newWorkload(earlier), see(5, last(7)), 8},
		{"its batches were opened and its status was not written", newWorkload(earlier),
			see(5, last(9), batches(newBatch(pods(1, 1), opened(9)), newBatch(pods(2, 2), opened(8)))), 8},
		{"it has begun", newWorkload(started), see(5, last(9)), 3},
		{"it had begun when nothing noted that", newWorkload(stored("Running", "Unknown", "Verifying")), see(5, last(9)), 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.Decide(row.workload, row.seen, now).Status.FirstChangePod).To(Equal(row.first))
		})
	}
}

func TestDecideWritesNothingForRecordsThatAreKept(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(release(9)), now: now, seen: see(5, passed(1, 5), keepsRecords(2), others(
		other("d", 4, lifted, remembering("b")), other("c", 3, settled, remembering("b", "a")), other("b", 2, superseded), other("a", 1, settled)))}
	g.Expect(s.decide().WriteStatus).To(BeTrue())
	g.Expect(s.workload.Status.VerifiedVersions).To(HaveExactElements("b", "c", "a"))
	g.Expect(versionsOf(s.seen.Others)).To(HaveExactElements("d", "c"))
	for range 3 {
		s.now = s.now.Add(time.Hour)
		decision := s.decide()
		g.Expect(decision.WriteStatus || decision.Keep || decision.Lift).To(BeFalse())
		g.Expect(decision.Prune).To(BeEmpty())
		g.Expect(decision.Wait).To(BeZero())
	}
}

func TestIsVerifiedStaysFalseOnceTheRecordOfALateFailureIsGone(t *testing.T) {
	g := NewWithT(t)
	failedLate, remembersIt := other("a", 7, podsFailed), other("b", 8, settled, remembering("a"))
	s := &story{t: t, workload: newWorkload(release(9)), now: now, seen: see(5, passed(1, 5), keepsRecords(1), others(failedLate, remembersIt))}
	isVerified := func() bool { return decide.IsVerified(append(s.seen.Others, *s.workload), "a") }
	s.decide()
	g.Expect(isVerified()).To(BeFalse())

	s.seen.Others = append(s.seen.Others, *s.workload)
	s.workload = newWorkload(release(10), func(workload *appv1alpha1.ChangeWorkload) { workload.Spec.Reversion = repair })
	s.decide()
	g.Expect(versionsOf(s.seen.Others)).To(HaveExactElements(version))
	g.Expect(isVerified()).To(BeFalse())
}

func TestDecideLiftsSuspendedOfAFailedReleaseThatIsKept(t *testing.T) {
	for _, row := range []struct {
		name   string
		seen   decide.Observation
		status metav1.ConditionStatus
		reason string
	}{
		{"over", see(5, moved, failed(1, 5, "sleep-2"), keepsRecords(1)), "False", "Lifted"},
		{"not while the Deployment is suspended", see(5, moved, suspended, failed(1, 5, "sleep-2"), keepsRecords(1)), "True", "PodsFailed"},
		{"not where it is about to be removed", see(5, moved, failed(1, 5, "sleep-2")), "True", "PodsFailed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(suspendedBefore), row.seen, now)
			g.Expect(decision.Status.Conditions).To(haveCondition("Suspended", row.status, row.reason))
			g.Expect(decision.Status.Conditions).To(haveCondition("Verified", "False", "PodsFailed"))
			g.Expect(string(decision.Status.Status)).To(Equal("Suspend"))
		})
	}
	t.Run("in words", func(t *testing.T) {
		decision := decide.Decide(newWorkload(suspendedBefore), see(5, moved, failed(1, 5, "sleep-2"), keepsRecords(1)), now)
		NewWithT(t).Expect(messageOf(decision.Status.Conditions, "Suspended")).To(Equal("the Deployment has moved on and is no longer suspended"))
	})
	t.Run("but one that never suspended stays as it is", func(t *testing.T) {
		unblocked := newWorkload(podsFailed, func(workload *appv1alpha1.ChangeWorkload) {
			workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{Type: "Suspended", Status: "False", Reason: "BlockingDisabled"})
		})
		decision := decide.Decide(unblocked, see(5, moved, failed(1, 5, "sleep-2"), keepsRecords(1)), now)
		NewWithT(t).Expect(decision.Status.Conditions).To(haveCondition("Suspended", "False", "BlockingDisabled"))
	})
}

func TestFailedListsTheReleasesBehindASuspension(t *testing.T) {
	for _, row := range []struct {
		name      string
		workloads []appv1alpha1.ChangeWorkload
		failed    []string
	}{
		{"the current release", []appv1alpha1.ChangeWorkload{other("a", 1, settled), other("c", 3, podsFailed)}, []string{"c"}},
		{"those before it, newest first", []appv1alpha1.ChangeWorkload{other("a", 1, podsFailed), other("b", 2, podsFailed), other("c", 3)}, []string{"b", "a"}},
		{"none from before the newest verified release",
			[]appv1alpha1.ChangeWorkload{other("a", 1, podsFailed), other("b", 2, settled), other("d", 4, podsFailed), other("c", 5)}, []string{"d"}},
		{"none whose suspension was over before a verified version was released again",
			[]appv1alpha1.ChangeWorkload{other("a", 1, lifted), other("b", 2, podsFailed), other("c", 3, remembering("c"))}, []string{"b"}},
		{"the current release although it has a lower number", []appv1alpha1.ChangeWorkload{other("c", 1, podsFailed), other("z", 9, settled)}, []string{"c"}},
		{"none where nothing failed", []appv1alpha1.ChangeWorkload{other("c", 3, settled), other("b", 2, superseded)}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			var versions []string
			for _, workload := range decide.Failed(row.workloads, "c") {
				versions = append(versions, workload.Spec.Reversion)
			}
			g.Expect(versions).To(HaveExactElements(row.failed))
		})
	}
}

func TestFailedVersions(t *testing.T) {
	g := NewWithT(t)
	g.Expect(decide.FailedVersions([]appv1alpha1.ChangeWorkload{
		other("a", 1, podsFailed), other("b", 2, settled), other("c", 3, podsFailed), other("d", 4),
	})).To(HaveExactElements("a", "c"))
	g.Expect(decide.FailedVersions(nil)).To(BeEmpty())
}

func TestNewestVerified(t *testing.T) {
	for _, row := range []struct {
		name      string
		workloads []appv1alpha1.ChangeWorkload
		version   string
	}{
		{"is that of the newest verified release", []appv1alpha1.ChangeWorkload{other("a", 1, settled), other("c", 3, settled), other("b", 2, settled)}, "c"},
		{"is not one that failed", []appv1alpha1.ChangeWorkload{other("a", 1, settled), other("b", 2, podsFailed)}, "a"},
		{"is not one that is being checked again", []appv1alpha1.ChangeWorkload{other("b", 2, settled), other("a", 3, remembering("a"))}, "b"},
		{"is one that is being checked again where there is no other", []appv1alpha1.ChangeWorkload{other("a", 3, remembering("a"))}, "a"},
		{"is one that is only remembered", []appv1alpha1.ChangeWorkload{other("c", 3, podsFailed, remembering("b", "a"))}, "b"},
		{"is not one that is remembered and failed since", []appv1alpha1.ChangeWorkload{other("c", 2, remembering("b", "a")), other("b", 3, podsFailed)}, "a"},
		{"is none where nothing was verified", []appv1alpha1.ChangeWorkload{other("a", 1, superseded)}, ""},
		{"is none where nothing is known", nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.NewestVerified(row.workloads)).To(Equal(row.version))
		})
	}
}
