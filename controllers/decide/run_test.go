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
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// cron makes the release one of a CronJob, job one of a Job.
func cron(seen *decide.Observation) {
	seen.Kind, seen.Runs, seen.Recurs, seen.Resume = "CronJob", true, true, "set its spec.suspend to false"
}
func job(seen *decide.Observation) {
	seen.Kind, seen.Runs, seen.Resume = "Job", true, "set its spec.suspend to false"
}
func trial(seen *decide.Observation) { seen.Trial = true }

// refused is a Job that was suspended at its creation, as its pod template failed before.
func refused(seen *decide.Observation) { seen.Refused = "jobs.migrate--x--1" }

func runs(seen *decide.Observation) { seen.Run = &decide.Run{Name: "Job backup-1"} }

func complete(succeeded int32) seenOption {
	return func(seen *decide.Observation) {
		seen.Run = &decide.Run{Name: "Job backup-1", Complete: true, Succeeded: succeeded, There: int(succeeded)}
	}
}

// blockedBy makes a Job keep the next one from beginning.
func blockedBy(run string) seenOption {
	return func(seen *decide.Observation) { seen.Blocker = run }
}

// runStuck makes the pods of a run not start in time.
func runStuck(seen *decide.Observation) {
	runs(seen)
	seen.Stuck = decide.StuckPods{First: now, Message: "pod backup-1-x: container backup: ErrImagePull", Next: time.Minute}
}

func runFailed(seen *decide.Observation) {
	seen.Run = &decide.Run{Name: "Job backup-1", Failure: &decide.Failure{Message: "Job backup-1 failed: BackoffLimitExceeded: too often"}}
}

func TestDecideChecksTheFirstRun(t *testing.T) {
	checked := func(from, to int) seenOption { return batches(newBatch(pods(from, to), done)) }
	for _, row := range []struct {
		name     string
		seen     decide.Observation
		sizes    []int
		verified string
		message  string
	}{
		{"which has yet to begin", see(3, cron), nil, "Unknown AwaitingRun", "the release takes effect at the next run, whose pods are checked"},
		{"which can't begin before another one ends", see(3, cron, blockedBy("Job backup-0")), nil, "Unknown RunBlocked",
			"the next run doesn't begin before Job backup-0 ends, as concurrencyPolicy is Forbid; delete that Job if it is stuck"},
		{"whose predecessor blocks it while a user has suspended the schedule", see(3, cron, paused, blockedBy("Job backup-0")), nil, "Unknown CronJobPaused", ""},
		{"which is stuck", see(3, cron, runStuck), nil, "Unknown RunStuck",
			"Job backup-1 is stuck: pod backup-1-x: container backup: ErrImagePull"},
		{"which is stuck, so that no other begins", see(3, cron, runStuck, blockedBy("Job backup-1")), nil, "Unknown RunStuck",
			"Job backup-1 is stuck: pod backup-1-x: container backup: ErrImagePull; no other run begins before it ends, as concurrencyPolicy is Forbid: release a fix, and delete that Job"},
		{"which is stuck as another one is, which the schedule began", see(3, cron, runStuck, blockedBy("Job backup-0")), nil, "Unknown RunStuck",
			"Job backup-1 is stuck: pod backup-1-x: container backup: ErrImagePull"},
		{"which is the only one of a Job and stuck", see(3, job, runStuck), nil, "Unknown RunStuck",
			"Job backup-1 is stuck: pod backup-1-x: container backup: ErrImagePull"},
		{"while a user has suspended the schedule", see(3, cron, paused), nil, "Unknown CronJobPaused", "the CronJob is suspended: set its spec.suspend to false to run this release"},
		{"which runs", see(3, cron, runs), nil, "Unknown Running", "Job backup-1 runs; its pods are checked once they have succeeded"},
		{"while the schedule is suspended", see(3, cron, paused, runs), nil, "Unknown Running", "Job backup-1 runs; its pods are checked once they have succeeded"},
		{"once all its pods succeeded", see(3, cron, runs, finished(pods(1, 2))), nil, "Unknown Running", "Job backup-1 runs; its pods are checked once they have succeeded"},
		{"in one batch", see(3, cron, runs, finished(pods(1, 3))), []int{3}, "Unknown Running", "Job backup-1 runs; its pods are checked once they have succeeded"},
		{"not before all have succeeded that several batches hold", see(7, cron, runs, finished(pods(1, 6))), nil, "Unknown Running", ""},
		{"in several batches if one can't hold all", see(7, cron, runs, finished(pods(1, 7))), []int{3, 3, 1}, "Unknown Running", ""},
		{"also of a work queue that needed fewer pods", see(3, cron, complete(2), finished(pods(1, 2))), []int{2}, "Unknown Verifying", "waiting for pods or checking them: kubectl get changepods shows each batch"},
		{"not if it failed", see(3, cron, runFailed), nil, "Unknown RunFailed", "Job backup-1 failed: BackoffLimitExceeded: too often; the next run is checked instead"},
		{"not if its trial failed", see(3, cron, trial, runFailed, hold("held")), nil, "Unknown RunFailed", "Job backup-1 failed: BackoffLimitExceeded: too often; the schedule stays suspended until the next release, or until this run is deleted"},
		{"also of a Job", see(3, job, complete(3), finished(pods(1, 3))), []int{3}, "Unknown Verifying", "waiting for pods or checking them: kubectl get changepods shows each batch"},
		{"not if a Job failed", see(3, job, runFailed), nil, "Unknown RunFailed", "Job backup-1 failed: BackoffLimitExceeded: too often"},
		{"which a user has suspended", see(3, job, runs, paused), nil, "Unknown JobPaused", "the Job is suspended: set its spec.suspend to false to run this release"},
		{"whose check passed", see(3, cron, complete(3), finished(pods(1, 3)), checked(1, 3)), nil, "True AllPodsPassed", ""},
		{"whose pods were removed since", see(3, cron, checked(1, 3)), nil, "True AllPodsPassed", ""},
		{"of a work queue whose pods were removed since", see(3, cron, checked(1, 2)), nil, "True AllPodsPassed", ""},
		{"and no later one", see(3, cron, runs, finished(pods(4, 6)), batches(newBatch(pods(1, 3)))), nil, "Unknown Running", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(batchesOf(3)), row.seen, now)
			g.Expect(sizes(decision.Batches)).To(Equal(append([]int{}, row.sizes...)))
			g.Expect(conditionOf(decision.Status, "Verified")).To(Equal(row.verified))
			if row.message != "" {
				g.Expect(messageOf(decision.Status.Conditions, "Verified")).To(Equal(row.message))
			}
			g.Expect(decision.Status.WaitDeadline).To(BeNil(), "a run ends in its time")
		})
	}
}

// left makes pods of a run that completed so long ago be there.
func left(there int, ago time.Duration) seenOption {
	return func(seen *decide.Observation) { seen.Run.There, seen.Run.Ended = there, now.Add(-ago) }
}

func TestDecideChecksThePodsThatAreLeftOfARun(t *testing.T) {
	const verifying = "waiting for pods or checking them: kubectl get changepods shows each batch"
	batched := batches(newBatch(pods(1, 2), done))
	for _, row := range []struct {
		name     string
		seen     decide.Observation
		sizes    []int
		verified string
		message  string
		wait     time.Duration
	}{
		{"not at once: the cache may show the end of a run before its pods", see(3, job, complete(3), left(2, 59*time.Second), finished(pods(1, 2))), nil, "Unknown Verifying", verifying, time.Second},
		{"after a minute", see(3, job, complete(3), left(2, time.Minute), finished(pods(1, 2))), []int{2}, "Unknown Verifying", verifying, 0},
		{"once they have their label", see(3, job, complete(3), left(3, time.Hour), finished(pods(1, 2))), nil, "Unknown Verifying", verifying, 0},
		{"and passed", see(3, job, complete(3), left(2, time.Hour), finished(pods(1, 2)), batched), nil, "True AllPodsPassed", "every desired pod finished and passed", 0},
		{"and passed before they were removed, too", see(3, job, complete(3), left(0, time.Hour), batched), nil, "True AllPodsPassed", "every desired pod finished and passed", 0},
		{"none of a Job", see(3, job, complete(3), left(0, time.Hour)), nil, "Unknown Verifying",
			"Job backup-1 completed, but its pods were removed before they could be checked", 0},
		{"none of a CronJob", see(3, cron, complete(3), left(0, time.Hour)), nil, "Unknown Verifying",
			"Job backup-1 completed, but its pods were removed before they could be checked; the next run is checked once that Job is removed", 0},
		{"not yet", see(3, job, complete(3), left(0, 0)), nil, "Unknown Verifying", verifying, time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(batchesOf(3)), row.seen, now)
			g.Expect(sizes(decision.Batches)).To(Equal(append([]int{}, row.sizes...)))
			g.Expect(conditionOf(decision.Status, "Verified")).To(Equal(row.verified))
			g.Expect(messageOf(decision.Status.Conditions, "Verified")).To(Equal(row.message))
			g.Expect(decision.Wait).To(Equal(row.wait))
		})
	}
}

func TestDecideLooksAgainAtARun(t *testing.T) {
	g := NewWithT(t)
	g.Expect(decide.Decide(newWorkload(), see(1, cron, runStuck), now).Wait).To(Equal(time.Minute), "a pod that doesn't start causes no event")
	g.Expect(decide.Decide(newWorkload(), see(1, cron), now).Wait).To(BeZero())
}

func TestDecideHoldsTheScheduleOfAFailedRelease(t *testing.T) {
	failed := batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "find error")))
	for _, row := range []struct {
		name                             string
		seen                             decide.Observation
		suspend, pause, resume, override bool
	}{
		{"at once", see(1, cron, failed), true, true, false, false},
		{"once", see(1, cron, failed, suspended, hold("held")), false, false, false, false},
		{"not with blocking off", see(1, cron, failed, blockingOff), false, false, false, false},
		{"whose trial ended, not with blocking off", see(1, cron, failed, blockingOff, hold("held"), trial), false, false, true, false},
		{"also with blocking off where it was suspended before", see(1, cron, failed, blockingOff, suspended, hold("held")), false, false, false, false},
		{"until a user resumes it", see(1, cron, failed, suspended, hold("resumed")), false, false, false, true},
		{"not of one that a user suspended", see(1, cron, failed, paused), true, false, false, false},
		{"not of a Job, which has ended", see(1, job, failed), false, false, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(), row.seen, now)
			g.Expect(decision.Suspend).To(Equal(row.suspend), "suspend")
			g.Expect(decision.Pause).To(Equal(row.pause), "pause")
			g.Expect(decision.Resume).To(Equal(row.resume), "resume")
			g.Expect(decision.Override).To(Equal(row.override), "override")
			g.Expect(decision.Status.Status).To(BeEquivalentTo("Suspend"))
		})
	}
	NewWithT(t).Expect(messageOf(decide.Decide(newWorkload(), see(1, job, failed), now).Status.Conditions, "Suspended")).
		To(Equal("a Job with the same pod template is suspended at its creation"))
}

func tried(workload *appv1alpha1.ChangeWorkload) {
	stored("Running", "Unknown", "AwaitingRun")(workload)
	workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{Type: "Tried", Status: "True", Reason: "TrialStarted"})
}

func TestDecideTriesARelease(t *testing.T) {
	passed := batches(newBatch(pods(1, 1), done))
	for _, row := range []struct {
		name                         string
		workload                     *appv1alpha1.ChangeWorkload
		seen                         decide.Observation
		try, pause, resume, override bool
		condition                    string
	}{
		{"on request", newWorkload(), see(1, cron, trial), true, false, false, false, ""},
		{"not without", newWorkload(), see(1, cron), false, false, false, false, ""},
		{"of a CronJob alone", newWorkload(), see(1, job, trial), false, false, false, false, ""},
		{"that a user has suspended, too", newWorkload(), see(1, cron, trial, paused), true, false, false, false, ""},
		{"not in an opted out namespace", newWorkload(), see(1, cron, trial, optedOut), false, false, false, false, ""},
		{"not once it is superseded", newWorkload(), see(1, cron, trial, moved), false, false, false, false, ""},
		{"once", newWorkload(tried), see(1, cron, trial), false, false, false, false, "True TrialStarted"},
		{"not while its pods are checked, whose run was removed", newWorkload(), see(1, cron, trial, batches(newBatch(pods(1, 1)))), false, true, false, false, ""},
		{"while its schedule is suspended", newWorkload(tried), see(1, cron, trial, runs), false, true, false, false, "True TrialStarted"},
		{"by a run that began before", newWorkload(), see(1, cron, trial, runs), false, true, false, false, "True TrialStarted"},
		{"while it stays suspended", newWorkload(tried), see(1, cron, trial, runs, hold("held")), false, false, false, false, "True TrialStarted"},
		{"by a run that failed, while it stays suspended", newWorkload(tried), see(1, cron, trial, runFailed, hold("held")), false, false, false, false, "True TrialStarted"},
		{"whose check goes on after its run was removed", newWorkload(tried), see(1, cron, trial, hold("held"), batches(newBatch(pods(1, 1)))), false, false, false, false, "True TrialStarted"},
		{"until a user resumes the schedule", newWorkload(tried), see(1, cron, trial, runs, hold("resumed")), false, false, false, true, "True TrialStarted"},
		{"until its run is removed without a check", newWorkload(tried), see(1, cron, trial, hold("held")), false, false, true, false, "True TrialStarted"},
		{"until it passed", newWorkload(tried), see(1, cron, trial, complete(1), hold("held"), finished(pods(1, 1)), passed), false, false, true, false, "True TrialStarted"},
		{"until users don't ask for it any more", newWorkload(tried), see(1, cron, runs, hold("held")), false, false, true, false, "True TrialStarted"},
		{"until its namespace is opted out", newWorkload(tried), see(1, cron, trial, runs, optedOut, hold("held")), false, false, true, false, "True TrialStarted"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(row.workload, row.seen, now)
			g.Expect(decision.Try).To(Equal(row.try), "try")
			g.Expect(decision.Pause).To(Equal(row.pause), "pause")
			g.Expect(decision.Resume).To(Equal(row.resume), "resume")
			g.Expect(decision.Override).To(Equal(row.override), "override")
			g.Expect(decision.IsFinal()).To(Equal(row.try || row.resume || decision.Verified), "final")
			g.Expect(conditionOf(decision.Status, "Tried")).To(Equal(row.condition))
		})
	}
}

func TestDecisionAnswerTrial(t *testing.T) {
	g, workload := NewWithT(t), newWorkload()
	started := decide.Decide(workload, see(1, cron, trial), now)
	started.AnswerTrial(workload, "Job backup-trial-1", nil, now)
	g.Expect(started.WriteStatus).To(BeTrue())
	g.Expect(conditionOf(started.Status, "Tried")).To(Equal("True TrialStarted"))
	g.Expect(messageOf(started.Status.Conditions, "Tried")).To(Equal("Job backup-trial-1 runs the release; the schedule is suspended until its pods are checked"))
	g.Expect(started.Wait).To(BeZero())

	denied := decide.Decide(workload, see(1, cron, trial), now)
	denied.AnswerTrial(workload, "Job backup-trial-1", errors.New("forbidden"), now)
	g.Expect(conditionOf(denied.Status, "Tried")).To(Equal("False TrialDenied"))
	g.Expect(denied.Wait).To(Equal(time.Minute), "a granted permission causes no event")
	workload.Status = denied.Status
	g.Expect(decide.Decide(workload, see(1, cron, trial), now.Add(time.Minute)).Try).To(BeTrue())
}

func TestDecideLeavesARefusedJobSuspended(t *testing.T) {
	for _, row := range []struct {
		name             string
		seen             decide.Observation
		resume, override bool
		verified         string
	}{
		{"as it is", see(1, job, runs, refused, hold("held")), false, false, "Unknown Refused"},
		{"until a user resumes it", see(1, job, runs, refused, hold("resumed")), false, true, "Unknown Running"},
		{"until its namespace is opted out", see(1, job, runs, refused, optedOut, hold("held")), true, false, "Unknown NamespaceOptedOut"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(), row.seen, now)
			g.Expect(decision.Pause).To(BeFalse())
			g.Expect(decision.Resume).To(Equal(row.resume), "resume")
			g.Expect(decision.Override).To(Equal(row.override), "override")
			g.Expect(conditionOf(decision.Status, "Verified")).To(Equal(row.verified))
		})
	}
}

func TestRunsOf(t *testing.T) {
	run := func(name, version string, age time.Duration, changes ...func(*decide.Revision)) decide.Revision {
		revision := decide.Revision{Version: version, Created: now.Add(-age), Pods: decide.PodsOf{Owner: types.UID(name)}}
		for _, change := range changes {
			change(&revision)
		}
		return revision
	}
	failed := func(revision *decide.Revision) { revision.Failure = &decide.Failure{} }
	healthy := func(revision *decide.Revision) { revision.Healthy = true }
	complete := func(age time.Duration) func(*decide.Revision) {
		return func(revision *decide.Revision) {
			revision.Healthy, revision.Run = true, &decide.Run{Complete: true, Ended: now.Add(-age)}
		}
	}
	for _, row := range []struct {
		name string
		runs []decide.Revision
		want []types.UID
	}{
		{"none", nil, nil},
		{"the first of the release", []decide.Revision{run("b", "v2", 1*time.Minute), run("a", "v2", 2*time.Minute)}, []types.UID{"a"}},
		{"that did not fail", []decide.Revision{run("a", "v2", 3*time.Minute, failed), run("c", "v2", 1*time.Minute), run("b", "v2", 2*time.Minute)}, []types.UID{"b"}},
		{"that completed, while an earlier one is stuck", []decide.Revision{run("a", "v2", 3*time.Minute), run("b", "v2", 2*time.Minute, complete(time.Minute)), run("c", "v2", time.Minute)}, []types.UID{"b"}},
		{"that completed, not the first that began", []decide.Revision{run("a", "v2", 4*time.Minute, complete(time.Minute)), run("b", "v2", 3*time.Minute, complete(2*time.Minute))}, []types.UID{"b"}},
		{"that began, of those that completed in the same second", []decide.Revision{run("b", "v2", 3*time.Minute, complete(time.Minute)), run("a", "v2", 4*time.Minute, complete(time.Minute))}, []types.UID{"a"}},
		{"that completed, not one that failed", []decide.Revision{run("a", "v2", 4*time.Minute, failed), run("b", "v2", 3*time.Minute, complete(time.Minute))}, []types.UID{"b"}},
		{"the last one where all failed", []decide.Revision{run("a", "v2", 3*time.Minute, failed), run("b", "v2", 2*time.Minute, failed)}, []types.UID{"b"}},
		{"not one of an earlier release of the version", []decide.Revision{run("a", "v2", 2*time.Hour), run("b", "v2", 1*time.Minute)}, []types.UID{"b"}},
		{"one of the same second", []decide.Revision{run("a", "v2", time.Hour)}, []types.UID{"a"}},
		{"not one without a version", []decide.Revision{run("a", "", time.Minute)}, nil},
		{"the last healthy one of each other version", []decide.Revision{
			run("a", "v1", 5*time.Hour, healthy), run("b", "v1", 4*time.Hour, healthy), run("c", "v1", 3*time.Hour), run("d", "v0", 6*time.Hour), run("e", "v0", 5*time.Hour),
		}, []types.UID{"b", "e"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var names []types.UID
			for _, revision := range decide.RunsOf(row.runs, decide.Release{Version: "v2", Number: 3}, now.Add(-time.Hour+300*time.Millisecond)) {
				names = append(names, revision.Pods.Owner)
			}
			NewWithT(t).Expect(names).To(Equal(row.want))
		})
	}
}

func TestRefusedBy(t *testing.T) {
	record := func(name, kind, version string, created int64, suspended metav1.ConditionStatus, verified string) appv1alpha1.ChangeWorkload {
		made := appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appv1alpha1.ChangeWorkloadSpec{
			Reversion: version, CreateTimeUnix: created, WorkloadRef: &appv1alpha1.WorkloadReference{Kind: kind},
		}}
		if suspended != "" {
			made.Status.Status = "Suspend"
			made.Status.Conditions = []metav1.Condition{{Type: "Suspended", Status: suspended}}
		}
		if verified != "" {
			made.Status.Status = "Success"
			made.Status.Conditions = []metav1.Condition{{Type: "Verified", Status: "True", Reason: verified}}
		}
		return made
	}
	for _, row := range []struct {
		name    string
		records []appv1alpha1.ChangeWorkload
		want    string
	}{
		{"by none", nil, ""},
		{"by the record that failed", []appv1alpha1.ChangeWorkload{record("a", "Job", "v1", 1, "True", "")}, "a"},
		{"by the last that failed", []appv1alpha1.ChangeWorkload{record("b", "Job", "v1", 2, "True", ""), record("a", "Job", "v1", 1, "", "AllPodsPassed")}, "b"},
		{"not if it passed since", []appv1alpha1.ChangeWorkload{record("a", "Job", "v1", 1, "True", ""), record("b", "Job", "v1", 2, "", "AllPodsPassed")}, ""},
		{"also while another waits", []appv1alpha1.ChangeWorkload{record("a", "Job", "v1", 1, "True", ""), record("b", "Job", "v1", 2, "", "")}, "a"},
		{"not while blocking was off", []appv1alpha1.ChangeWorkload{record("a", "Job", "v1", 1, "False", "")}, ""},
		{"not by another version", []appv1alpha1.ChangeWorkload{record("a", "Job", "v2", 1, "True", "")}, ""},
		{"not by another kind", []appv1alpha1.ChangeWorkload{record("a", "CronJob", "v1", 1, "True", "")}, ""},
		{"not by a record without a kind", []appv1alpha1.ChangeWorkload{{Spec: appv1alpha1.ChangeWorkloadSpec{Reversion: "v1"}}}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.RefusedBy(row.records, "Job", "v1")).To(Equal(row.want))
		})
	}
}

func TestHasSucceeded(t *testing.T) {
	for _, row := range []struct {
		name     string
		restarts corev1.RestartPolicy
		phase    corev1.PodPhase
		deleted  bool
		want     bool
	}{
		{"a pod of a Job that ended", "Never", "Succeeded", false, true},
		{"that is restarted on failure", "OnFailure", "Succeeded", false, true},
		{"that failed", "Never", "Failed", false, false},
		{"that runs", "OnFailure", "Running", false, false},
		{"that is removed", "Never", "Succeeded", true, false},
		{"a pod that should run for ever", "", "Succeeded", false, false},
		{"a pod that is always restarted", "Always", "Succeeded", false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: row.restarts}, Status: corev1.PodStatus{Phase: row.phase}}
			pod.Labels = map[string]string{"altershield.defense.antgroup.com/operate-finished": "1795255190"}
			if row.deleted {
				pod.DeletionTimestamp = &metav1.Time{Time: now}
			}
			g.Expect(decide.HasSucceeded(pod)).To(Equal(row.want))
			g.Expect(decide.IsFinished(pod)).To(Equal(row.want || row.phase == "Running"), "it counts, rather than being gone")
			finished, _ := decide.PodFinished(pod, decide.Rollout{Runs: true}, now)
			g.Expect(finished).To(Equal(row.want))
		})
	}
}

func TestPodFinishedOfARunIsNotReady(t *testing.T) {
	g, pod := NewWithT(t), podAt("a", "", ago(10))
	pod.Spec.RestartPolicy = "Never"
	finished, _ := decide.PodFinished(&pod, decide.Rollout{Runs: true}, now)
	g.Expect(finished).To(BeFalse(), "its result is to come")
	finished, _ = decide.PodFinished(&pod, decide.Rollout{}, now)
	g.Expect(finished).To(BeTrue(), "a worker that isn't restarted is ready")
}

func TestFinishedPodsOfARun(t *testing.T) {
	g := NewWithT(t)
	ended, runs := podAt("ended", "", nil), podAt("runs", "", ago(10))
	for _, pod := range []*corev1.Pod{&ended, &runs} {
		pod.Spec.RestartPolicy = "Never"
	}
	ended.Status = corev1.PodStatus{Phase: "Succeeded", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "False", LastTransitionTime: metav1.NewTime(now.Add(-10 * time.Second))}}}
	finished, wait := decide.FinishedPods("backup", []corev1.Pod{runs, ended}, nil, decide.FinishRule{Of: decide.Rollout{Runs: true}}, now)
	g.Expect(namesOf(finished)).To(Equal([]string{"ended"}))
	g.Expect(finished[0].FinishTimeUnix).To(Equal(now.Unix() - 10))
	g.Expect(wait).To(BeZero())
	g.Expect(decide.FinishRule{}.MayFinish(&ended)).To(BeTrue())
	g.Expect(decide.FinishRule{Labelled: true}.MayFinish(&ended)).To(BeFalse())
}
