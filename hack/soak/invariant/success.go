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

package invariant

import (
	"cmp"
	"slices"
	"time"

	"github.com/traas-stack/altershield-operator/hack/soak/history"
)

// verified is a release at Success, with its bad verdicts.
type verified struct {
	write    history.Write
	workload *history.Workload
	// failed is a batch of it with a bad verdict, and the time since when both exist.
	failed *history.Batch
	since  time.Time
}

// seen is a batch, with its name, the time of its bad verdict, and when it was deleted.
type seen struct {
	*history.Batch
	name         string
	failed, gone time.Time
}

// success is the state of the checker of Success.
type success struct {
	Result
	system  System
	at      map[string]*verified       // by the UID of the ChangeWorkload
	batches map[string]map[string]seen // by that and the UID of the ChangePod
	over    map[string]end             // the end of pods, by their UID
	unsure  map[string]bool            // the batches whose last write has no answer, by namespace and name: it may have ended their checks
}

// Success reports whether a release is at Success only while none of its pods has a bad verdict, except for the moment until a verdict
// is seen; and whether it gets there with as many passed pods as the workload wants, each in a batch whose check has ended, and
// each alive: neither Failed, like an evicted one, nor Succeeded, nor deleted.
func Success(writes []history.Write, system System) Result {
	s := success{system: system, at: map[string]*verified{}, batches: map[string]map[string]seen{}, over: map[string]end{}, unsure: map[string]bool{}}
	var last time.Time
	for _, write := range writes {
		last = write.Time
		switch {
		case write.Resource == "pods":
			s.end(write)
		case write.Unanswered:
			s.unsure[write.Namespace+"/"+write.Name] = true
		case write.Ended != "":
			s.leave(write.Ended, write.Time)
			s.forget(write.Ended, write.Time)
		case write.Batch != nil:
			s.see(write)
		case write.Workload != nil:
			s.enter(write)
		}
	}
	for uid := range s.at {
		s.leave(uid, last)
	}
	return s.Result
}

// see records a batch.
func (s *success) see(write history.Write) {
	batch := write.Batch
	of := s.batches[batch.Workload]
	if of == nil {
		of = map[string]seen{}
		s.batches[batch.Workload] = of
	}
	now := seen{Batch: batch, name: write.Namespace + "/" + write.Name}
	delete(s.unsure, now.name)
	if len(batch.Failed) > 0 {
		now.failed = write.Time
		if known := of[batch.UID]; known.Batch != nil && len(known.Failed) > 0 {
			now.failed = known.failed
		}
	}
	of[batch.UID] = now
	s.blame(batch.Workload, write.Time)
}

// end is when a pod ended, and whether it was deleted.
type end struct {
	at      time.Time
	deleted bool
}

// end records the end of a pod.
func (s *success) end(write history.Write) {
	pod := cmp.Or(write.Pod, &history.Pod{UID: write.Ended})
	known, ended := s.over[pod.UID]
	deleted := write.Verb == "delete" && write.Subresource == ""
	switch {
	case !ended && (deleted || pod.Over):
		s.over[pod.UID] = end{write.Time, deleted}
	case ended && deleted:
		s.over[pod.UID] = end{known.at, true}
	case ended && !known.deleted && pod.Runs: // KWOK made it ready when it was evicted; no kubelet brings a pod back
		delete(s.over, pod.UID)
	}
}

// forget ends the verdicts of a deleted batch.
func (s *success) forget(batch string, now time.Time) {
	for workload, of := range s.batches {
		if deleted, known := of[batch]; known {
			deleted.gone = now
			of[batch] = deleted
			s.blame(workload, now)
		}
	}
}

// blame looks for a bad verdict of a release at Success.
func (s *success) blame(workload string, now time.Time) {
	shown := s.at[workload]
	if shown == nil {
		return
	}
	var failed *history.Batch
	for _, batch := range s.batches[workload] {
		if batch.Release == shown.workload.Observed && len(batch.Failed) > 0 && batch.gone.IsZero() {
			failed = batch.Batch
		}
	}
	switch {
	case failed == nil:
		s.judge(shown, now)
		shown.failed = nil
	case shown.failed == nil:
		shown.failed, shown.since = failed, now
	}
}

// enter records a release.
func (s *success) enter(write history.Write) {
	workload := write.Workload
	if workload.Status != "Success" || workload.Verified != "AllPodsPassed" || workload.Observed != workload.Release {
		s.leave(workload.UID, write.Asked)
		return
	}
	shown := s.at[workload.UID]
	if shown != nil && shown.workload.Observed == workload.Observed {
		return
	}
	s.Observations++
	s.at[workload.UID] = &verified{write: write, workload: workload}
	if passed := s.passed(write); workload.Passed < workload.Desired || passed < int(workload.Desired) {
		s.violated("at Success with %d passed pods in its status and %d live ones in its batches, of %d desired: ChangeWorkload %s",
			workload.Passed, passed, workload.Desired, at(write))
	}
	s.blame(workload.UID, write.Time)
}

// passed counts the living pods of a release whose check has ended without a bad verdict, as far as the operator could know.
func (s *success) passed(write history.Write) int {
	passed := map[string]bool{} // by UID: those of a deleted batch come into another one
	for _, batch := range s.batches[write.Workload.UID] {
		gone := !batch.gone.IsZero() && s.system.awake(batch.gone, write.Asked) > cacheLag
		if gone || batch.Release != write.Workload.Observed || !batch.Done && !s.unsure[batch.name] {
			continue
		}
		judged := s.system.awake(batch.failed, write.Asked) > cacheLag
		for _, pod := range batch.Pods {
			over, ended := s.over[pod.UID]
			if judged && slices.Contains(batch.Failed, pod.Name) || ended && s.system.awake(over.at, write.Asked) > podLag {
				continue
			}
			passed[pod.UID] = true
		}
	}
	return len(passed)
}

// leave ends the Success of a release.
func (s *success) leave(uid string, now time.Time) {
	if shown := s.at[uid]; shown != nil {
		s.judge(shown, now)
		delete(s.at, uid)
	}
}

func (s *success) judge(shown *verified, now time.Time) {
	if shown.failed != nil && s.system.awake(shown.since, now) > cacheLag {
		s.violated("at Success for %s although pods %v have a bad verdict: ChangeWorkload %s",
			now.Sub(shown.since).Round(time.Millisecond), shown.failed.Failed, at(shown.write))
	}
}
