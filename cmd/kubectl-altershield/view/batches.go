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
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// BatchOutcome is the outcome of a batch. The values are a contract.
type BatchOutcome string

const (
	// BatchFailed means that a pod failed.
	BatchFailed BatchOutcome = "failed"
	// BatchChecking means that the check goes on.
	BatchChecking BatchOutcome = "checking"
	// BatchPassed means that all pods passed.
	BatchPassed BatchOutcome = "passed"
	// BatchNotChecked means that the batch counts as passed, although nothing checked it.
	BatchNotChecked BatchOutcome = "not checked"
)

// Batches are the batches of a release with the same outcome for the same reason.
type Batches struct {
	// Numbers are those of the ChangePods, such as 1-4,7.
	Numbers string       `json:"numbers"`
	Count   int          `json:"count"`
	Outcome BatchOutcome `json:"outcome"`
	// Stage is PRE or POST, of a check that goes on.
	Stage  string `json:"stage,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Message says what was found.
	Message string   `json:"message,omitempty"`
	Pods    []string `json:"pods,omitempty"`
	// PreSeconds and PostSeconds are the median times that the stages took.
	PreSeconds  int64 `json:"preSeconds,omitempty"`
	PostSeconds int64 `json:"postSeconds,omitempty"`
	// Due is when the first verdict is due.
	Due *metav1.Time `json:"due,omitempty"`
}

// maxRanges is how many ranges of numbers are written.
const maxRanges = 8

// maxBatchPods is how many pods of a group of failed batches are named.
const maxBatchPods = 20

// batchesOf groups the batches of a release by outcome, failed ones first.
func batchesOf(changePods []appv1alpha1.ChangePod) []Batches {
	ordered := slices.Clone(changePods)
	slices.SortFunc(ordered, func(a, b appv1alpha1.ChangePod) int {
		return cmp.Compare(decide.ChangePodNumber(a.Name), decide.ChangePodNumber(b.Name))
	})
	type key struct{ outcome, stage, reason, message string }
	var groups []Batches
	members := map[key][]int{}
	of := map[key]int{}
	for i := range ordered {
		batch := batchOf(&ordered[i])
		same := key{string(batch.Outcome), batch.Stage, batch.Reason, batch.Message}
		at, known := of[same]
		if !known {
			at = len(groups)
			of[same] = at
			groups = append(groups, batch)
		} else {
			groups[at].join(batch)
		}
		members[same] = append(members[same], i)
	}
	for same, at := range of {
		groups[at].Numbers, groups[at].Count = ranges(numbersOf(ordered, members[same])), len(members[same])
		groups[at].PreSeconds, groups[at].PostSeconds = medians(ordered, members[same])
	}
	order := []BatchOutcome{BatchFailed, BatchChecking, BatchNotChecked, BatchPassed}
	slices.SortStableFunc(groups, func(a, b Batches) int {
		return cmp.Compare(slices.Index(order, a.Outcome), slices.Index(order, b.Outcome))
	})
	return groups
}

func (b *Batches) join(other Batches) {
	b.Pods = append(b.Pods, other.Pods...)
	b.Pods = b.Pods[:min(len(b.Pods), maxBatchPods)]
	if b.Due == nil || other.Due != nil && other.Due.Before(b.Due) {
		b.Due = other.Due
	}
}

func batchOf(changePod *appv1alpha1.ChangePod) Batches {
	batch := Batches{Outcome: outcomeOf(changePod)}
	verified := meta.FindStatusCondition(changePod.Status.Conditions, appv1alpha1.ConditionVerified)
	if verified != nil {
		batch.Reason = verified.Reason
	}
	switch batch.Outcome {
	case BatchFailed:
		batch.Pods, batch.Message = failures(changePod)
		if batch.Message == "" && verified != nil {
			batch.Message = verified.Message
		}
	case BatchChecking:
		batch.Stage, batch.Due = stageOf(changePod.Status.Status), changePod.Status.Deadline
	}
	return batch
}

// failures returns the pods of a batch that failed and the first message.
func failures(changePod *appv1alpha1.ChangePod) (pods []string, message string) {
	for _, result := range changePod.Status.PodResults {
		if result.Verdict != appv1alpha1.VerdictUnpass {
			continue
		}
		pods = append(pods, result.Pod)
		message = cmp.Or(message, result.Message)
	}
	return pods[:min(len(pods), maxBatchPods)], message
}

func outcomeOf(changePod *appv1alpha1.ChangePod) BatchOutcome {
	verified := meta.FindStatusCondition(changePod.Status.Conditions, appv1alpha1.ConditionVerified)
	switch {
	case verified == nil || verified.Status == metav1.ConditionUnknown && changePod.Status.Status != appv1alpha1.ChangePodExecuteDone:
		return BatchChecking
	case verified.Status == metav1.ConditionFalse:
		return BatchFailed
	case verified.Status == metav1.ConditionTrue && verified.Reason == appv1alpha1.ReasonPodsPassed:
		return BatchPassed
	}
	return BatchNotChecked
}

func stageOf(phase appv1alpha1.ChangePodPhase) string {
	if strings.HasPrefix(string(phase), "Post") {
		return "POST"
	}
	return "PRE"
}

// medians returns the median times of the stages of batches.
func medians(changePods []appv1alpha1.ChangePod, of []int) (pre, post int64) {
	var before, after []int64
	for _, at := range of {
		status := &changePods[at].Status
		if status.PreSubmitTimeUnix > 0 && status.PostSubmitTimeUnix > status.PreSubmitTimeUnix {
			before = append(before, status.PostSubmitTimeUnix-status.PreSubmitTimeUnix)
		}
		if status.VerdictTime != nil && status.PostSubmitTimeUnix > 0 {
			after = append(after, int64(status.VerdictTime.Sub(time.Unix(status.PostSubmitTimeUnix, 0)).Seconds()))
		}
	}
	return median(before), median(after)
}

func median(values []int64) int64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return max(0, values[len(values)/2])
}

// numbersOf returns the numbers of batches, which are never reused for a version.
func numbersOf(changePods []appv1alpha1.ChangePod, of []int) []int64 {
	numbers := make([]int64, len(of))
	for i, at := range of {
		numbers[i] = decide.ChangePodNumber(changePods[at].Name)
	}
	return numbers
}

// ranges returns ascending numbers as ranges, such as 1-4,7.
func ranges(numbers []int64) string {
	var parts []string
	for start := 0; start < len(numbers); {
		end := start
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		part := strconv.FormatInt(numbers[start], 10)
		if end > start {
			part += "-" + strconv.FormatInt(numbers[end], 10)
		}
		parts = append(parts, part)
		start = end + 1
	}
	if len(parts) > maxRanges {
		parts = append(parts[:maxRanges], "...")
	}
	return strings.Join(parts, ",")
}
