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
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Why explains the state of a workload, or what would become of an update.
type Why struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Workload   Workload `json:"workload"`
	Present    *Release `json:"present,omitempty"`
	// Trial is what would become of a file; nil without one.
	Trial *Trial `json:"trial,omitempty"`
	// Failures are the pods that failed, at most 5, and MoreFailures counts the others.
	Failures     []FailedPod `json:"failures,omitempty"`
	MoreFailures int         `json:"moreFailures,omitempty"`
	// NotRunning are the pods that don't run; nil if there are none, or if pods aren't read.
	NotRunning *NotRunning `json:"notRunning,omitempty"`
	// Freezes are the ChangeFreezes that are on and would park or deny a further release.
	Freezes []Freeze `json:"freezes,omitempty"`
	// Refused are the versions that are refused.
	Refused []Release `json:"refused,omitempty"`
	Ways    []Way     `json:"ways,omitempty"`
	Notes   []Note    `json:"notes,omitempty"`
}

// Verdict is what would become of an update. The values are a contract.
type Verdict string

const (
	// Admitted means that the update would be a release.
	Admitted Verdict = "Admitted"
	// Denied means that the API server would reject it.
	Denied Verdict = "Denied"
	// NoRelease means that it would be admitted and change no content.
	NoRelease Verdict = "NoRelease"
	// NotControlled means that it would be admitted without change control.
	NotControlled Verdict = "NotControlled"
)

// Trial is what would become of an update, by a server-side dry run.
type Trial struct {
	Verdict Verdict `json:"verdict"`
	// Sentence is that of the API server if it would reject the update.
	Sentence string `json:"sentence,omitempty"`
	// Warnings are those of the API server.
	Warnings []string `json:"warnings,omitempty"`
	// Release and Version are those that the update would have.
	Release int64  `json:"release,omitempty"`
	Version string `json:"version,omitempty"`
	// From is the release that the workload is at.
	From Side `json:"from,omitzero"`
	// Changes are the changes of the content.
	Changes []string `json:"changes,omitempty"`
	// Frozen are the ChangeFreezes for whose end the release would wait, Paced the ReleasePolicy by whose steps it would be rolled out.
	Frozen []string `json:"frozen,omitempty"`
	Paced  string   `json:"paced,omitempty"`
}

// maxFailures is how many failed pods an explanation names.
const maxFailures = 5

// WhyOf explains the state of a workload.
func WhyOf(facts Facts, now time.Time) Why {
	status := StatusOf(facts, now)
	why := Why{
		Kind: "Why", APIVersion: APIVersion, Workload: status.Workload, Present: status.Present, Ways: status.Ways, Notes: status.Notes,
		NotRunning: status.NotRunning, Failures: status.FailedPods[:min(len(status.FailedPods), maxFailures)],
	}
	if status.Present != nil {
		why.MoreFailures = max(0, int(status.Present.Pods.Failed)-len(why.Failures))
	}
	for _, release := range status.Earlier {
		if release.RefusedUntil != nil {
			why.Refused = append(why.Refused, release)
		}
	}
	return why
}

// AddFreezes adds the freezes that concern the workload, as far as they are on and do more than warn. A release that waits for one says so itself.
func (w *Why) AddFreezes(found []freeze.Found) {
	if w.Present != nil && w.Present.Reason == appv1alpha1.ReasonFrozen {
		return
	}
	for _, one := range found {
		if !one.Active || one.Spec.Action == appv1alpha1.FreezeWarn {
			continue
		}
		shown := freezeOf(one.ChangeFreeze)
		shown.Active, shown.Until = true, nil
		if !one.Until.IsZero() {
			shown.Until = ptr.To(metav1.NewTime(one.Until))
		}
		w.Freezes = append(w.Freezes, shown)
	}
}

// TrialOf returns what would become of an update, by the answer of the API server to a dry run. before is nil for a creation.
func TrialOf(before, answer *unstructured.Unstructured) Trial {
	release := decide.ReleaseNumber(answer.GetAnnotations())
	version := answer.GetLabels()[appv1alpha1.LabelVersion]
	trial := Trial{Verdict: Admitted, Release: max(release, 1), Version: version}
	if before != nil {
		at := decide.ReleaseOf(before)
		trial.From = Side{Release: at.Number, Version: at.Version}
	}
	switch {
	case version == "":
		return Trial{Verdict: NotControlled}
	case trial.From == Side{Release: trial.Release, Version: version}:
		if isUnnoticed(before, answer) {
			return Trial{Verdict: NotControlled}
		}
		trial.Verdict = NoRelease
		return trial
	}
	if record, found := appv1alpha1.ReleaseRecordOf(answer.GetAnnotations()); found && record.Release == trial.Release {
		trial.Changes = record.Changes
	}
	if frozen := appv1alpha1.FrozenOf(answer.GetAnnotations(), trial.Release); frozen != nil {
		trial.Frozen = frozen.By
	}
	if paced := appv1alpha1.PacedOf(answer.GetAnnotations(), trial.Release); paced != nil {
		trial.Paced = paced.Policy
	}
	return trial
}

// isUnnoticed reports whether an update makes a release that no webhook stamps: the workload left change control, and keeps the marks of its last
// release. What a release is of a declared kind isn't known here.
func isUnnoticed(before, answer *unstructured.Unstructured) bool {
	kind, known := builtInPauser(appv1alpha1.WorkloadReference{APIVersion: before.GetAPIVersion(), Kind: before.GetKind()}).(workload.Kind)
	if !known {
		return false
	}
	released, err := workload.IsRelease(kind, before.Object, answer.Object)
	return released && err == nil
}

// Rejected returns the trial of an update that the API server rejects, or false if its answer doesn't concern the update: the user lacks the
// right, the server is overloaded, or the object has changed or is gone. Fields of another owner concern it.
func Rejected(status metav1.Status) (Trial, bool) {
	switch {
	case status.Code < 400 || status.Code >= 500, status.Code == 401, status.Code == 404, status.Code == 429:
		return Trial{}, false
	case status.Code == 403 && LacksRight(status):
		return Trial{}, false
	}
	if err := (&apierrors.StatusError{ErrStatus: status}); scope.IsConflict(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		return Trial{}, false
	}
	return Trial{Verdict: Denied, Sentence: status.Message}, true
}

// LacksRight reports whether a request was rejected because its user lacks the right, rather than by a webhook, a policy or a quota. Only
// then the API server names the user and the verb.
func LacksRight(status metav1.Status) bool {
	return status.Code == 403 && strings.Contains(status.Message, " is forbidden: User \"") && strings.Contains(status.Message, "\" cannot ")
}
