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
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// now is the time of the decisions in these tests by default.
var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// version is the documented sample; the other two are the previous version and the repair.
const (
	version = "c6c45d23c098bdf181853a85b60b5d74"
	older   = "0123456789abcdef0123456789abcdef"
	repair  = "6a8ff823a5011291b0f02a1d83c2222d"
)

type (
	workloadOption = func(*appv1alpha1.ChangeWorkload)
	batchOption    = func(*appv1alpha1.ChangePod)
	seenOption     = func(*decide.Observation)
)

// newWorkload is the first release of the Deployment sleep, not reconciled yet, in batches of one pod.
func newWorkload(options ...workloadOption) *appv1alpha1.ChangeWorkload {
	workload := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "sleep--x--" + version, Generation: 3,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "d-1", Controller: ptr.To(true)}},
		},
		Spec: appv1alpha1.ChangeWorkloadSpec{
			ChangeWorkloadID: "sleep--x--" + version, ServiceName: "sleep", AppName: "sleep", Reversion: version,
			Release: 1, CountThreshold: 1, WaitTimeThreshold: 60,
		},
	}
	for _, option := range options {
		option(workload)
	}
	return workload
}

func batchesOf(size int32) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) { workload.Spec.CountThreshold = size }
}

// stored sets a status that was written at now.
func stored(phase string, verified metav1.ConditionStatus, reason string) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		workload.Status.Status = appv1alpha1.ChangeWorkloadPhase(phase)
		workload.Status.ObservedRelease = workload.Spec.Release
		workload.Status.UpdateTimeUnix = now.Unix()
		workload.Status.Counts.Desired = 5
		workload.Status.Conditions = []metav1.Condition{{
			Type: "Verified", Status: verified, Reason: reason, ObservedGeneration: workload.Generation,
			LastTransitionTime: metav1.NewTime(now.Add(-time.Hour)),
		}}
	}
}

func deadline(at time.Time) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		workload.Status.WaitDeadline = &metav1.Time{Time: at}
		workload.Status.Counts.Desired = 25
	}
}

func release(number int64) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) { workload.Spec.Release = number }
}

// other is the ChangeWorkload of another version of the Deployment.
func other(version string, number int64, options ...workloadOption) appv1alpha1.ChangeWorkload {
	return *newWorkload(append([]workloadOption{func(workload *appv1alpha1.ChangeWorkload) {
		workload.Name, workload.Spec.Reversion, workload.Spec.Release = "sleep--x--"+version, version, number
	}}, options...)...)
}

// pods are finished pods, sleep-1 and so on.
func pods(from, to int) []appv1alpha1.PodSummary {
	var result []appv1alpha1.PodSummary
	for i := from; i <= to; i++ {
		result = append(result, appv1alpha1.PodSummary{
			App: "sleep", HostName: fmt.Sprintf("sleep-%d", i), IP: "10.244.1.198", Namespace: "default",
			Pod: fmt.Sprintf("sleep-%d", i), WorkSpace: "default",
		})
	}
	return result
}

func namesOf(pods []appv1alpha1.PodSummary) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.Pod)
	}
	return names
}

// newBatch was opened an hour before now, and not reconciled yet.
func newBatch(pods []appv1alpha1.PodSummary, options ...batchOption) appv1alpha1.ChangePod {
	batch := appv1alpha1.ChangePod{Spec: appv1alpha1.ChangePodSpec{
		ChangeWorkloadID: "sleep--x--" + version, Release: 1, PodInfos: pods, CreateTimeUnix: now.Add(-time.Hour).Unix(),
	}}
	for _, option := range options {
		option(&batch)
	}
	return batch
}

func done(batch *appv1alpha1.ChangePod) {
	batch.Status = withoutServer(batch, now)
}

// withoutServer is the outcome of a batch where no AlterShield Server is configured.
func withoutServer(batch *appv1alpha1.ChangePod, now time.Time) appv1alpha1.ChangePodStatus {
	return decide.AdvanceChangePod(batch, decide.CheckFacts{}, decide.CheckAnswer{}, now)
}

// aServer is the state of an AlterShield Server that answers.
func aServer() verifier.State {
	return verifier.State{Configured: true, Name: "AlterShield Server", Announced: true, Delivers: true}
}

// outcome is that of a verdict.
func outcome(passed bool) verifier.Outcome {
	if passed {
		return verifier.Pass
	}
	return verifier.Fail
}

func openedAt(at time.Time) batchOption {
	return func(batch *appv1alpha1.ChangePod) { batch.Spec.CreateTimeUnix = at.Unix() }
}

func result(pod, verdict, message string) batchOption {
	return func(batch *appv1alpha1.ChangePod) {
		batch.Status.PodResults = append(batch.Status.PodResults,
			appv1alpha1.PodSummary{Pod: pod, Verdict: appv1alpha1.Verdict(verdict), Message: message})
	}
}

// see is a controlled, current, running, unsuspended release while blocking is on.
func see(desired int32, options ...seenOption) decide.Observation {
	seen := decide.Observation{
		OptedIn: true, Current: true, Blocking: true, Kind: "Deployment",
		Rollout: decide.Rollout{Desired: desired, Resume: "run kubectl rollout resume"},
	}
	for _, option := range options {
		option(&seen)
	}
	return seen
}

func finished(pods []appv1alpha1.PodSummary) seenOption {
	return func(seen *decide.Observation) { seen.Finished = append(seen.Finished, pods...) }
}

func batches(batches ...appv1alpha1.ChangePod) seenOption {
	return func(seen *decide.Observation) { seen.Batches = append(seen.Batches, batches...) }
}

// passed are finished pods that are done with their check, all in one batch.
func passed(from, to int) seenOption {
	return func(seen *decide.Observation) {
		finished(pods(from, to))(seen)
		batches(newBatch(pods(from, to), done))(seen)
	}
}

func others(others ...appv1alpha1.ChangeWorkload) seenOption {
	return func(seen *decide.Observation) { seen.Others = others }
}

func unstamped(seen *decide.Observation)   { seen.Unstamped = true }
func paused(seen *decide.Observation)      { seen.Paused = true }
func suspended(seen *decide.Observation)   { seen.Suspended = true }
func blockingOff(seen *decide.Observation) { seen.Blocking = false }
func moved(seen *decide.Observation)       { seen.Current = false }
func later(seen *decide.Observation)       { seen.Superseded = true }
func optedOut(seen *decide.Observation)    { seen.OptedIn = false }
func notEnforced(seen *decide.Observation) { seen.OptedIn, seen.NotEnforced = false, true }

func haveCondition(kind string, status metav1.ConditionStatus, reason string) types.GomegaMatcher {
	return WithTransform(func(conditions []metav1.Condition) string { return told(conditions, kind) }, Equal(fmt.Sprintf("%s is %s: %s", kind, status, reason)))
}

// told summarizes a condition.
func told(conditions []metav1.Condition, kind string) string {
	condition := meta.FindStatusCondition(conditions, kind)
	if condition == nil {
		return kind + " is absent"
	}
	return fmt.Sprintf("%s is %s: %s", kind, condition.Status, condition.Reason)
}

func messageOf(conditions []metav1.Condition, kind string) string {
	if condition := meta.FindStatusCondition(conditions, kind); condition != nil {
		return condition.Message
	}
	return ""
}

func versionsOf(workloads []appv1alpha1.ChangeWorkload) []string {
	versions := make([]string, 0, len(workloads))
	for i := range workloads {
		versions = append(versions, workloads[i].Spec.Reversion)
	}
	return versions
}

func sizes(batches [][]appv1alpha1.PodSummary) []int {
	result := make([]int, 0, len(batches))
	for _, batch := range batches {
		result = append(result, len(batch))
	}
	return result
}

// story carries out decisions, one after the other, and stores what they write as the API server does.
type story struct {
	t        *testing.T
	workload *appv1alpha1.ChangeWorkload
	seen     decide.Observation
	now      time.Time
}

func (s *story) decide() decide.Decision {
	s.t.Helper()
	decision := decide.Decide(s.workload, s.seen, s.now)
	for _, pods := range decision.Batches {
		s.seen.LastNumber = max(s.seen.LastNumber, decision.Status.LastChangePod) + 1
		s.seen.Batches = append(s.seen.Batches, newBatch(pods, openedAt(s.now)))
	}
	s.seen.Suspended = (s.seen.Suspended || decision.Suspend) && !decision.Lift
	s.seen.Others = slices.DeleteFunc(slices.Clone(s.seen.Others), func(other appv1alpha1.ChangeWorkload) bool {
		return slices.Contains(versionsOf(decision.Prune), other.Spec.Reversion)
	})
	if decision.WriteStatus {
		s.store(decision.Status)
	}
	return decision
}

// store keeps whole seconds, as the API server does.
func (s *story) store(status appv1alpha1.ChangeWorkloadStatus) {
	s.t.Helper()
	raw, err := json.Marshal(status)
	if err != nil {
		s.t.Fatal(err)
	}
	s.workload.Status = appv1alpha1.ChangeWorkloadStatus{}
	if err := json.Unmarshal(raw, &s.workload.Status); err != nil {
		s.t.Fatal(err)
	}
}

// check ends the check of every batch.
func (s *story) check() {
	for i := range s.seen.Batches {
		s.seen.Batches[i].Status = withoutServer(&s.seen.Batches[i], s.now)
	}
}

func unseen(observation *decide.Observation) { observation.Unseen = true }
