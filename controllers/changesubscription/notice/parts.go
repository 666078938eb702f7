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

package notice

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// OfBatch returns that a batch of the present release of a ChangeWorkload passed its check, or failed it, at a time or later. A verdict that changes is
// another event.
func OfBatch(batch *appv1alpha1.ChangePod, release *appv1alpha1.ChangeWorkload, since time.Time) []Event {
	verified := meta.FindStatusCondition(batch.Status.Conditions, appv1alpha1.ConditionVerified)
	if verified == nil || batch.Spec.Order || batch.Spec.Release != release.Spec.Release {
		return nil
	}
	failed := verified.Status == metav1.ConditionFalse
	if !failed && verified.Reason != appv1alpha1.ReasonPodsPassed { // it goes on, or was not checked
		return nil
	}
	found := &finder{workload: release, since: since}
	event := found.addTransition(appv1alpha1.NotifyBatchChecked, *verified, verified.Reason, verified.Message)
	if event != nil {
		judgement := decide.Judge(batch)
		event.identify(batch.UID, verified.LastTransitionTime.Unix())
		event.Batch, event.Failed = decide.ChangePodNumber(batch.Name), failed
		event.Counts = appv1alpha1.PodCounts{
			Desired: int32(len(batch.Spec.PodInfos)), Passed: int32(len(judgement.Passed)), Failed: int32(len(judgement.Failed)),
		}
	}
	return found.events
}

// OfApproval returns that a user approved or denied a release, at a time or later.
func OfApproval(approval *appv1alpha1.ChangeApproval, begun Beginnings, since time.Time) []Event {
	spec := &approval.Spec
	if spec.ApprovedBy == "" { // it counts nothing
		return nil
	}
	name, message := appv1alpha1.NotifyApprovalGiven, spec.ApprovedBy+" approves it"
	if spec.Decision == appv1alpha1.DecisionDeny {
		name, message = appv1alpha1.NotifyApprovalDenied, spec.ApprovedBy+" denies it"
	}
	if spec.Reason != "" {
		message += ": " + spec.Reason
	}
	for _, release := range begun[spec.UID] {
		if release.release != spec.Release || release.of.Spec.Reversion != spec.Version {
			continue
		}
		found := &finder{workload: release.of, since: since}
		if event := found.add(name, approval.CreationTimestamp.Time, 0, string(spec.Decision), message); event != nil {
			event.identify(approval.UID, 0)
		}
		return found.events
	}
	return nil
}

// identify makes an event one of a part of a release, such as a batch.
func (e *Event) identify(part types.UID, ordinal int64) {
	e.ID = IDOf(part, e.Release, e.Began, e.Name, ordinal)
}
