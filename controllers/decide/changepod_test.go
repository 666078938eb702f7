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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestAdvanceChangePodIsDoneAtOnceWithoutAServer(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 2))
	batch.Generation = 7
	status := withoutServer(&batch, now)
	g.Expect(string(status.Status)).To(Equal("ExecuteDone"))
	g.Expect(status.Message).To(Equal("PreFailed"))
	g.Expect(status.UpdateTime).To(Equal("2026-11-21 10:00:00"))
	g.Expect(status.UpdateTimeUnix).To(Equal(now.Unix()))
	g.Expect(status.Conditions).To(HaveExactElements(metav1.Condition{
		Type: "Verified", Status: "True", Reason: "CheckNotConfigured", ObservedGeneration: 7,
		LastTransitionTime: metav1.NewTime(now),
		Message:            "no AlterShield Server is configured: the pods count as passed",
	}))
	g.Expect(batch.Status).To(BeZero(), "the batch itself stays as it was read")
}

func TestAdvanceChangePodSetsTheConditionByTheVerdicts(t *testing.T) {
	for _, row := range []struct {
		name    string
		options []batchOption
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		{"an unpass fails the batch, with its message", []batchOption{done, result("sleep-1", "unpass", "find error")},
			"False", "PodsFailed", "pod sleep-1 failed its check: find error"},
		{"an unpass without a message fails it, too", []batchOption{done, result("sleep-1", "unpass", "")},
			"False", "PodsFailed", "pod sleep-1 failed its check"},
		{"two unpassed pods are both named", []batchOption{done, result("sleep-1", "unpass", "a"), result("sleep-2", "unpass", "b")},
			"False", "PodsFailed", "pod sleep-1 failed its check: a; pod sleep-2 failed its check: b"},
		{"an unpass before the batch is done fails it too", []batchOption{result("sleep-2", "unpass", "find error")},
			"False", "PodsFailed", "pod sleep-2 failed its check: find error"},
		{"an unpass of an unknown pod fails the batch and names the pod", []batchOption{done, result("slep-1", "unpass", "")},
			"False", "UnknownPods", "podResults has the verdict unpass for pods that are not in spec.podInfos: slep-1; the batch counts as failed"},
		{"a pass of an unknown pod changes nothing", []batchOption{done, result("stranger", "pass", "")},
			"True", "CheckNotConfigured", "no AlterShield Server is configured: the pods count as passed"},
		{"a check that was made and found nothing passes", []batchOption{done, func(batch *appv1alpha1.ChangePod) {
			batch.Status.Message = "PostFinish"
		}}, "True", "PodsPassed", "no pod failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			batch := newBatch(pods(1, 2), row.options...)
			status := withoutServer(&batch, now)
			g.Expect(string(status.Status)).To(Equal("ExecuteDone"))
			g.Expect(status.Conditions).To(haveCondition("Verified", row.status, row.reason))
			g.Expect(messageOf(status.Conditions, "Verified")).To(Equal(row.message))
			g.Expect(status.PodResults).To(Equal(batch.Status.PodResults), "verdicts are never rewritten")
		})
	}
}

func TestFailuresNamesFivePodsAndCountsTheRest(t *testing.T) {
	g := NewWithT(t)
	g.Expect(decide.Failures(pods(1, 5))).To(Equal("pod sleep-1 failed its check; pod sleep-2 failed its check; " +
		"pod sleep-3 failed its check; pod sleep-4 failed its check; pod sleep-5 failed its check"))
	g.Expect(decide.Failures(pods(1, 7))).To(HaveSuffix("; pod sleep-5 failed its check and 2 more"))

	var unknown []batchOption
	for _, pod := range namesOf(pods(11, 17)) {
		unknown = append(unknown, result(pod, "unpass", ""))
	}
	batch := newBatch(pods(1, 1), unknown...)
	g.Expect(messageOf(withoutServer(&batch, now).Conditions, "Verified")).To(Equal(
		"podResults has the verdict unpass for pods that are not in spec.podInfos: sleep-11, sleep-12, sleep-13, sleep-14, sleep-15 and 2 more; " +
			"the batch counts as failed"))
}

func TestAdvanceChangePodLeavesADoneBatchAsItIs(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 2))
	batch.Status = withoutServer(&batch, now)
	g.Expect(withoutServer(&batch, now.Add(time.Hour))).To(Equal(batch.Status))
}

func TestAdvanceChangePodFlipsTheConditionByAVerdictSetByHand(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 2))
	batch.Status = withoutServer(&batch, now)

	// The documented kubectl patch --subresource=status with podResults and message.
	batch.Status.Message = "PostFinish"
	result("sleep-2", "unpass", "find error")(&batch)
	later := now.Add(time.Hour)
	batch.Status = withoutServer(&batch, later)
	g.Expect(string(batch.Status.Status)).To(Equal("ExecuteDone"))
	g.Expect(batch.Status.Message).To(Equal("PostFinish"), "what the user wrote stays")
	g.Expect(batch.Status.Conditions).To(haveCondition("Verified", "False", "PodsFailed"))
	g.Expect(meta.FindStatusCondition(batch.Status.Conditions, "Verified").LastTransitionTime.Time).To(Equal(later))
	g.Expect(withoutServer(&batch, later.Add(time.Hour))).To(Equal(batch.Status), "and then it is quiet")

	batch.Status.PodResults[0].Verdict = "pass"
	batch.Status = withoutServer(&batch, later.Add(time.Hour))
	g.Expect(batch.Status.Conditions).To(haveCondition("Verified", "True", "PodsPassed"))
}

func TestAdvanceChangePodMovesTheUpdateTime(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 1))
	batch.Status = withoutServer(&batch, now)
	result("sleep-1", "unpass", "find error")(&batch)
	status := withoutServer(&batch, now.Add(time.Hour))
	g.Expect(status.Conditions).NotTo(Equal(batch.Status.Conditions), "so the status is written")
	g.Expect(status.UpdateTime).To(Equal("2026-11-21 11:00:00"), "its field's documentation: when the status was last written by the operator")
}
