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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// steer makes the next decision, and changes the workload as it does. It returns what is written to the workload.
func (s *story) steer() string {
	s.t.Helper()
	decision, seen := s.decide(), &s.seen
	var writes []string
	write := func(what string) { writes = append(writes, what) }
	if decision.Suspend {
		write("suspend")
	}
	switch {
	case decision.Pause:
		write("pause")
		seen.Paused, seen.Hold, seen.First = true, decide.Held, nil
	case decision.Override:
		write("override")
		seen.Hold, seen.First = decide.Overridden, nil
	case decision.Resume, decision.Unhold:
		write("resume")
		seen.Paused, seen.Hold, seen.First, seen.Freeze.Parked = false, decide.NotHeld, nil, nil
	case decision.Thaw:
		write("thaw")
		seen.Freeze.Parked = nil
	}
	if decision.Freeze != nil {
		write("freeze")
		seen.Freeze.Parked = decision.Freeze
	}
	if decision.Unpark {
		write("unpark")
		seen.Parked = nil
	}
	s.now = s.now.Add(time.Second)
	return strings.Join(writes, " ")
}

// holding is a freeze that holds releases under way.
func holding(seen *decide.Observation) {
	seen.Freeze.InForce = friday()
	seen.Freeze.InForce.Holds = true
}

func TestDecideHoldsAReleaseOnceWhenAFreezeBegins(t *testing.T) {
	failed := batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "find error")))
	onFirst := func(seen *decide.Observation) {
		firstOn()(seen)
		withFirst(func(first *decide.First) { first.Nodes = []string{"a", "b", "c"} })(seen)
	}
	resumed := func(seen *decide.Observation) { seen.Hold, seen.Paused = "resumed", false }
	for _, row := range []struct {
		name string
		seen decide.Observation
		// writes are those of the first three decisions. Those after them write nothing.
		writes [3]string
		frozen string
		// user is what a user does then, with the writes of three further decisions.
		user  seenOption
		after [3]string
		ended string
	}{
		{"a Deployment", see(5, rolling, holding), [3]string{"pause freeze"}, "True ChangeFreeze", resumed, [3]string{"", "resume"}, "False Resumed"},
		{"a failed Deployment", see(5, rolling, holding, failed), [3]string{"suspend pause freeze"}, "True ChangeFreeze",
			resumed, [3]string{"override", "thaw"}, "False Resumed"},
		{"a failed Deployment while blocking is off", see(5, rolling, holding, failed, blockingOff), [3]string{"pause freeze"}, "True ChangeFreeze",
			resumed, [3]string{"override", "thaw"}, "False Resumed"},
		{"a failed Deployment that was held before", see(5, rolling, holding, failed, suspended, hold("held")), [3]string{}, "",
			resumed, [3]string{"override"}, ""},
		{"a failed Deployment that was held before blocking was turned off", see(5, rolling, holding, failed, suspended, blockingOff, hold("held")), [3]string{}, "",
			resumed, [3]string{"override"}, ""},
		{"a failed Deployment that a user resumed before", see(5, rolling, holding, failed, suspended, hold("overridden")), [3]string{}, "", nil, [3]string{}, ""},
		{"a failed Deployment that a user resumes now", see(5, rolling, holding, failed, suspended, hold("resumed")), [3]string{"override"}, "", nil, [3]string{}, ""},
		{"a Deployment that a user paused", see(5, rolling, holding, failed, blockingOff, paused), [3]string{}, "", nil, [3]string{}, ""},
		{"a StatefulSet that a user parked", see(5, rolling, holding, parked("Requested")), [3]string{"pause freeze"}, "True ChangeFreeze",
			resumed, [3]string{"override", "thaw"}, "False Resumed"},
		{"a failed StatefulSet that is parked while blocking is off", see(5, rolling, holding, failed, blockingOff, parked("PodsFailed")), [3]string{"pause freeze"},
			"True ChangeFreeze", resumed, [3]string{"override", "thaw"}, "False Resumed"},
		{"a DaemonSet on its first nodes", see(5, rolling, holding, onFirst), [3]string{"freeze"}, "True ChangeFreeze", resumed, [3]string{"", "resume"}, "False Resumed"},
		{"a DaemonSet that failed on its first nodes", see(5, rolling, holding, onFirst, failed), [3]string{"suspend", "pause"}, "", resumed, [3]string{"override"}, ""},
		{"a DaemonSet that failed on its first nodes while blocking is off", see(5, rolling, holding, onFirst, failed, blockingOff), [3]string{"", "pause"}, "",
			resumed, [3]string{"override"}, ""},
		{"a CronJob", see(1, cron, holding), [3]string{"pause freeze"}, "True ChangeFreeze", resumed, [3]string{"", "resume"}, "False Resumed"},
		{"a failed CronJob", see(1, cron, holding, failed), [3]string{"suspend pause freeze"}, "True ChangeFreeze", resumed, [3]string{"override", "thaw"}, "False Resumed"},
		{"a failed CronJob while blocking is off", see(1, cron, holding, failed, blockingOff), [3]string{"pause freeze"}, "True ChangeFreeze",
			resumed, [3]string{"override", "thaw"}, "False Resumed"},
		{"a CronJob on trial", see(1, cron, trial, runs, holding), [3]string{"pause"}, "", resumed, [3]string{"override"}, ""},
		{"a CronJob whose trial failed", see(1, cron, trial, runs, holding, failed), [3]string{"suspend pause freeze"}, "True ChangeFreeze",
			resumed, [3]string{"override", "thaw"}, "False Resumed"},
		{"a CronJob whose trial failed while blocking is off", see(1, cron, trial, runs, holding, failed, blockingOff), [3]string{"pause freeze"}, "True ChangeFreeze",
			resumed, [3]string{"override", "thaw"}, "False Resumed"},
		{"a CronJob whose trial fails now while blocking is off", see(1, cron, trial, runs, holding, failed, blockingOff, hold("held")), [3]string{"freeze"},
			"True ChangeFreeze", resumed, [3]string{"override", "thaw"}, "False Resumed"},
		{"a CronJob whose trial fails now", see(1, cron, trial, runs, holding, failed, hold("held")), [3]string{"suspend"}, "", resumed, [3]string{"override"}, ""},
		{"a Job that is under way", see(1, job, runs, rolling, holding), [3]string{"pause freeze"}, "True ChangeFreeze", resumed, [3]string{"", "resume"}, "False Resumed"},
		{"a Job that failed, whose pods are retried", see(1, job, runs, rolling, holding, failed, blockingOff), [3]string{"pause freeze"}, "True ChangeFreeze",
			resumed, [3]string{"override", "thaw"}, "False Resumed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, tale := NewWithT(t), &story{t: t, workload: newWorkload(stored("Running", "Unknown", "Verifying")), seen: row.seen, now: now}
			three := func() [3]string { return [3]string{tale.steer(), tale.steer(), tale.steer()} }
			frozen := func() string { return conditionOf(tale.workload.Status, "Frozen") }
			g.Expect(three()).To(Equal(row.writes))
			g.Expect(three()).To(Equal([3]string{}), "later")
			g.Expect(frozen()).To(Equal(row.frozen))
			if row.user == nil {
				return
			}
			row.user(&tale.seen)
			g.Expect(three()).To(Equal(row.after), "after a user")
			g.Expect(three()).To(Equal([3]string{}), "later")
			g.Expect(frozen()).To(Equal(row.ended))
		})
	}
}

// A schedule that a freeze holds goes on once it ends.
func TestDecideLetsAScheduleGoOnAfterAFreezeWhoseReleaseFailed(t *testing.T) {
	failed := batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "find error")))
	for name, seen := range map[string]decide.Observation{
		"without a trial": see(1, cron, holding, failed, blockingOff),
		"with a trial":    see(1, cron, trial, runs, holding, failed, blockingOff),
	} {
		t.Run(name, func(t *testing.T) {
			g, tale := NewWithT(t), &story{t: t, workload: newWorkload(stored("Running", "Unknown", "Verifying")), seen: seen, now: now}
			g.Expect([]string{tale.steer(), tale.steer()}).To(Equal([]string{"pause freeze", ""}))
			tale.seen.Freeze.InForce = nil
			g.Expect([]string{tale.steer(), tale.steer(), tale.steer(), tale.steer()}).To(Equal([]string{"", "resume", "", ""}), "the status shows the reason first")
			g.Expect(conditionOf(tale.workload.Status, "Frozen")).To(Equal("False Thawed"))
			g.Expect(tale.workload.Status.Status).To(Equal(appv1alpha1.ChangeWorkloadSuspend))
		})
	}
}
