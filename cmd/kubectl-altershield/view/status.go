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

package view

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Facts are the objects of one workload.
type Facts struct {
	// Reference identifies the workload.
	Namespace string
	Reference appv1alpha1.WorkloadReference
	// Resource is that of its kind; empty if only its records tell.
	Resource string
	// Workload is the workload itself; nil if it can't be read.
	Workload *unstructured.Unstructured
	// Pauser is how a workload of a declared kind is paused; nil if its ControlledKind isn't read, or tells no way.
	Pauser workload.Pauser
	// Observed reports whether its kind is only observed; false if that isn't read.
	Observed bool
	// Uncontrolled reports whether its namespace or its kind isn't under change control; false if that isn't read.
	Uncontrolled bool
	// Records are its ChangeWorkloads.
	Records []appv1alpha1.ChangeWorkload
	// Batches are the ChangePods of its present release; nil if they aren't read.
	Batches []appv1alpha1.ChangePod
	// Pods are those of its present release as the operator's cache holds them, at most 500; nil if they aren't read.
	Pods []corev1.Pod
	// StuckAfter is how long they may take to run before the operator rolls back; 0 if it doesn't, or that isn't known.
	StuckAfter time.Duration
	// Kept are the releases whose contents are kept, newest first.
	Kept []Side
	// Recorded are its ChangeRecords, those of a deleted workload of the same name among them.
	Recorded []StoredRecord
	// Notes are what can't be read.
	Notes []Note
}

// Status is the tree of a workload: its present release, and those before.
type Status struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// Present is the present release; nil if there is no record of it yet.
	Present *Release `json:"present,omitempty"`
	// From is the version before, empty if that isn't known.
	From     string    `json:"from,omitempty"`
	Workload Workload  `json:"workload"`
	Batches  []Batches `json:"batches,omitempty"`
	// FailedPods are the pods that failed, at most 500.
	FailedPods []FailedPod `json:"failedPods,omitempty"`
	// NotRunning are the pods that don't run; nil if there are none, or if pods aren't read.
	NotRunning *NotRunning `json:"notRunning,omitempty"`
	Checks     []Check     `json:"checks,omitempty"`
	// Earlier are the releases before, newest first.
	Earlier []Release `json:"earlier,omitempty"`
	// Ways are the ways out of a suspension, or on for a release that waits.
	Ways []Way `json:"ways,omitempty"`
	// Next is the best of them: to wait for a release that is under way, such as a repair or a rollback.
	Next  *Way   `json:"next,omitempty"`
	Notes []Note `json:"notes,omitempty"`
}

// Workload is the workload itself.
type Workload struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	// Known reports whether the workload could be read. Without it there are no numbers.
	Known   bool   `json:"known"`
	Release int64  `json:"release,omitempty"`
	Version string `json:"version,omitempty"`
	Wanted  int64  `json:"wanted"`
	Ready   int64  `json:"ready"`
	Updated int64  `json:"updated"`
	// Gated is how many of the updated pods wait at their gate for a step, and so don't run; 0 also if pods aren't read.
	Gated int64 `json:"gated,omitempty"`
	// Old is how many pods there are of other releases.
	Old       int64 `json:"old"`
	Suspended bool  `json:"suspended"`
	Held      bool  `json:"held"`
	Paused    bool  `json:"pausedByUser"`
	// NotControlled reports whether it isn't under change control any more; false also if that isn't read.
	NotControlled bool `json:"notControlled,omitempty"`
	// PauseReason is why the user paused it.
	PauseReason string `json:"pauseReason,omitempty"`
	// RequestReason is why a user asked for a rollback, to go on or to resume, until the next release.
	RequestReason string `json:"requestReason,omitempty"`
}

// FailedPod is a pod that failed its check.
type FailedPod struct {
	Pod     string `json:"pod"`
	Message string `json:"message,omitempty"`
}

// Check is the result of a check of a VerificationPolicy.
type Check struct {
	Policy  string `json:"policy"`
	Name    string `json:"name"`
	Mode    string `json:"mode"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Numbers are those behind the message.
	Numbers *appv1alpha1.CheckNumbers `json:"numbers,omitempty"`
}

// StatusOf returns the status of a workload.
func StatusOf(facts Facts, now time.Time) Status {
	status := Status{Kind: "ReleaseStatus", APIVersion: APIVersion, Workload: workloadOf(facts), Notes: facts.Notes}
	history := HistoryOf(facts, now).Items
	if len(history) == 0 {
		return status
	}
	present := history[0]
	record := recordOf(facts.Records, present)
	status.Present, status.Earlier = &present, history[1:]
	status.From = versionBefore(facts, present, status.Earlier)
	if record.Status.ObservedRelease != record.Spec.Release {
		return status
	}
	if status.Workload.Known && !IsBuiltIn(facts.Reference) && status.Workload.Wanted == 0 {
		status.Workload.Wanted = int64(record.Status.Counts.Desired) // a declared kind may have any field for it
	}
	status.Batches = batchesOf(facts.Batches)
	status.NotRunning, status.Workload.Gated = notRunning(facts, now)
	for _, pod := range record.Status.DefenseCheckFailPods {
		status.FailedPods = append(status.FailedPods, FailedPod{Pod: pod.Pod, Message: pod.Message})
	}
	for _, check := range record.Status.Checks {
		status.Checks = append(status.Checks, Check{
			Policy: check.Policy, Name: check.Name, Mode: string(check.Mode), Verdict: string(check.Verdict),
			Reason: check.Reason, Message: check.Message, Numbers: check.Numbers,
		})
	}
	status.Ways = waysOf(facts, present, record, now)
	status.Next = nextOf(facts, present, status.Ways)
	return status
}

// IsDone reports whether the release of the workload has ended. One that isn't recorded yet hasn't; without a version there is none to come.
func (s Status) IsDone() bool {
	if s.Present == nil {
		return s.Workload.Version == ""
	}
	return s.Present.State.IsFinal() && (s.Present.Current || s.Workload.Version == "")
}

// versionBefore returns the version that a release replaced, empty if that isn't known: the releases between may be forgotten.
func versionBefore(facts Facts, release Release, earlier []Release) string {
	for _, before := range earlier {
		if before.Number == release.Number-1 && before.Observed == release.Observed {
			return before.Version
		}
	}
	for _, kept := range facts.Kept {
		if kept.Release == release.Number-1 && !release.Observed {
			return kept.Version
		}
	}
	return ""
}

// workloadOf reads a workload. The fields are those of Deployments, StatefulSets and DaemonSets; other kinds may lack them.
func workloadOf(facts Facts) Workload {
	read := Workload{Namespace: facts.Namespace, Kind: facts.Reference.Kind, Name: facts.Reference.Name, NotControlled: facts.Uncontrolled}
	if facts.Workload == nil {
		return read
	}
	object := facts.Workload.Object
	release := decide.ReleaseOf(facts.Workload)
	read.Known, read.Release, read.Version = true, release.Number, release.Version
	read.Wanted = first(object, []string{"spec", "replicas"}, []string{"status", "desiredNumberScheduled"}, []string{"spec", "parallelism"})
	read.Ready = first(object, []string{"status", "readyReplicas"}, []string{"status", "numberReady"}, []string{"status", "ready"})
	read.Updated = first(object, []string{"status", "updatedReplicas"}, []string{"status", "updatedNumberScheduled"})
	all := first(object, []string{"status", "replicas"}, []string{"status", "currentNumberScheduled"})
	read.Old = max(0, all-read.Updated)
	read.Suspended = decide.IsSuspended(facts.Workload)
	pauser := facts.Pauser
	if pauser == nil {
		pauser = builtInPauser(facts.Reference)
	}
	paused := pauser != nil && pauser.Paused(facts.Workload)
	read.Held = decide.HoldOf(facts.Workload, paused || pauser == nil, release.Number).IsHeld() // of other kinds their mark alone tells
	read.Paused = paused && !read.Held
	read.PauseReason, read.RequestReason = reasonsOf(facts.Workload.GetAnnotations(), read.Paused)
	return read
}

// reasonsOf returns why a user has paused a workload, and why one made the last request that no release has ended. A reason that was annotated by
// hand, apart from a request, is that of the pause if there is one.
func reasonsOf(annotations map[string]string, isPaused bool) (pause, request string) {
	request = cmp.Or(
		appv1alpha1.ReasonOfRequest(annotations, appv1alpha1.AnnotationRollback, appv1alpha1.AnnotationRollbackReason),
		appv1alpha1.ReasonOfRequest(annotations, appv1alpha1.AnnotationGoOn, appv1alpha1.AnnotationGoOnReason),
	)
	rest := cmp.Or(annotations[appv1alpha1.AnnotationPauseReason], annotations[appv1alpha1.AnnotationReason])
	if isPaused {
		return rest, request
	}
	return "", cmp.Or(request, rest)
}

// first returns the first number that an object has.
func first(object map[string]any, paths ...[]string) int64 {
	for _, path := range paths {
		if number, found, err := unstructured.NestedInt64(object, path...); found && err == nil {
			return number
		}
	}
	return 0
}

func recordOf(records []appv1alpha1.ChangeWorkload, release Release) *appv1alpha1.ChangeWorkload {
	for i := range records {
		if records[i].Name == release.Record {
			return &records[i]
		}
	}
	return &appv1alpha1.ChangeWorkload{}
}

// HistoryOf returns the known releases of a workload, newest first: those with a ChangeWorkload, those that ChangeRecords know, and those that
// were rolled back and have neither any more.
func HistoryOf(facts Facts, now time.Time) ReleaseList {
	list := ReleaseList{Kind: "ReleaseList", APIVersion: APIVersion, Items: []Release{}, Counts: map[State]int{}, Notes: facts.Notes}
	rollbacks := rollbacksOf(facts)
	for i := range facts.Records {
		release := releaseOf(&facts.Records[i])
		release.Kept = slices.Contains(versionsOf(facts.Kept), release.Version)
		list.Items = append(list.Items, release)
	}
	list.Items = addRecorded(list.Items, facts)
	for i := range list.Items {
		list.Items[i].goBack(rollbacks, now)
	}
	for i := range rollbacks {
		if !hasRelease(list.Items, rollbacks[i].Release, false) {
			list.Items = append(list.Items, forgotten(facts, &rollbacks[i], now))
		}
	}
	slices.SortStableFunc(list.Items, newestFirst)
	var targets []string
	if facts.Workload != nil {
		targets = pastOf(facts).VerifiedTargets(now)
	}
	for i := range list.Items {
		release := &list.Items[i]
		list.Counts[release.State]++
		release.Current = isCurrent(facts, *release, i)
		release.Target = release.Kept && release.State == Success && slices.Contains(targets, release.Version)
	}
	return list
}

// goBack shows of a release that it was rolled back, and until when its version is refused.
func (r *Release) goBack(rollbacks []appv1alpha1.Rollback, now time.Time) {
	if r.Observed {
		return
	}
	if back := decide.RollbackFrom(rollbacks, decide.Release{Version: r.Version, Number: r.Number}); back != nil {
		r.State, r.Reason = RolledBack, string(back.Reason)
		if back.Message != "" {
			r.Why = back.Message
		}
	}
	if refused := decide.RefusalOf(rollbacks, r.Version, now); refused != nil {
		r.RefusedUntil = refused.RefusedUntil
	}
}

// forgotten returns a release that was rolled back and whose record is gone.
func forgotten(facts Facts, back *appv1alpha1.Rollback, now time.Time) Release {
	release := Release{
		Namespace: facts.Namespace, Kind: facts.Reference.Kind, APIVersion: facts.Reference.APIVersion, Workload: facts.Reference.Name,
		Number: back.Release, Version: back.Version, State: RolledBack, Reason: string(back.Reason), Why: back.Message, Since: back.Time.DeepCopy(),
	}
	if back.RefusedUntil != nil && now.Before(back.RefusedUntil.Time) {
		release.RefusedUntil = back.RefusedUntil.DeepCopy()
	}
	return release
}

// newestFirst compares releases by their numbers, and by their time where one was only observed: observed releases are counted separately.
func newestFirst(a, b Release) int {
	if a.Observed != b.Observed && a.Started != nil && b.Started != nil {
		return cmp.Or(b.Started.Compare(a.Started.Time), cmp.Compare(b.Number, a.Number))
	}
	return cmp.Compare(b.Number, a.Number)
}

func hasRelease(releases []Release, number int64, observed bool) bool {
	return slices.ContainsFunc(releases, func(release Release) bool { return release.Number == number && release.Observed == observed })
}

// isCurrent reports whether a workload is at a release. Without the workload it is taken to be at its newest one.
func isCurrent(facts Facts, release Release, at int) bool {
	if facts.Workload == nil || release.Observed {
		return at == 0
	}
	return decide.ReleaseOf(facts.Workload) == decide.Release{Version: release.Version, Number: release.Number}
}

func rollbacksOf(facts Facts) []appv1alpha1.Rollback {
	if facts.Workload == nil {
		return nil
	}
	return appv1alpha1.RollbacksOf(facts.Workload.GetAnnotations())
}

// PresentOf returns the record of the present release of a workload; nil if there is none yet.
func PresentOf(records []appv1alpha1.ChangeWorkload) *appv1alpha1.ChangeWorkload {
	var present *appv1alpha1.ChangeWorkload
	for i := range records {
		if present == nil || isNewer(&records[i], present) {
			present = &records[i]
		}
	}
	return present
}

// timeOf returns a time of the API as UTC; nil if there is none.
func timeOf(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	utc := metav1.NewTime(at.UTC())
	return &utc
}
