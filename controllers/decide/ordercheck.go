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

package decide

import (
	"k8s.io/apimachinery/pkg/api/meta"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// changeOrder names an order in the results of its check. No pod has such a name.
const changeOrder = "change order"

// Checks returns the pods of the checks to open: those of the batches, and before them none for the order.
func (d *Decision) Checks() [][]appv1alpha1.PodSummary {
	if !d.OpenOrderCheck {
		return d.Batches
	}
	return append([][]appv1alpha1.PodSummary{{}}, d.Batches...)
}

// CheckedBy returns what a check gives verdicts on: the pods of a batch, or a change order.
func CheckedBy(changePod *appv1alpha1.ChangePod) []appv1alpha1.PodSummary {
	if changePod.Spec.Order {
		return []appv1alpha1.PodSummary{{Namespace: changePod.Namespace, Pod: changeOrder}}
	}
	return changePod.Spec.PodInfos
}

// subjectOf returns what a check precedes and follows.
func subjectOf(changePod *appv1alpha1.ChangePod) string {
	if changePod.Spec.Order {
		return "the rollout"
	}
	return "the batch"
}

// awaitsSteps reports whether the check of an order waits for the last step of the release, for which there is no deadline.
func awaitsSteps(changePod *appv1alpha1.ChangePod) bool {
	return changePod.Spec.Order && changePod.Status.Status == appv1alpha1.ChangePodPostWait && changePod.Status.Deadline == nil
}

// AwaitsOrder reports whether nothing is left of a release but the check of its order after the last step.
func AwaitsOrder(workload *appv1alpha1.ChangeWorkload) bool {
	return isObserved(workload) && hasReason(workload.Status.Conditions, appv1alpha1.ReasonAwaitingOrder)
}

// awaitsOrderPre reports whether the order of a paced release has yet to pass its check before the first step.
func (o *Observation) awaitsOrderPre() bool {
	if o.OrderCheck == nil {
		return o.Verifier.ChecksOrders
	}
	return edgesOf(o.OrderCheck.Status.Status).stage == appv1alpha1.StagePre
}

// awaitsStartFirst reports whether a paced release waits for its order, the approvals of its first step, or a check before its first pod, before it
// waits for its first nodes.
func (o *Observation) awaitsStartFirst(status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload) bool {
	return o.First != nil && o.Hold == Held && o.Current && o.OptedIn && status.FirstNodes == nil && o.Pace.Mark != nil &&
		!meta.IsStatusConditionFalse(status.Conditions, appv1alpha1.ConditionPaced) &&
		(o.awaitsOrderPre() || o.lacksApprovals(status, workload) || awaitedCheck(status, appv1alpha1.PhaseBefore) != "")
}

// opensOrderCheck reports whether a release needs the check of its order, which it doesn't have: to wait for it, or to show that it failed.
func (o *Observation) opensOrderCheck(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return o.Current && o.OrderCheck == nil && (waitsFor(status, appv1alpha1.ReasonAwaitingOrder) || failedStart(status))
}

// awaitsOrder reports whether the check of the order has begun and isn't over.
func (o *Observation) awaitsOrder() bool {
	return o.OrderCheck != nil && o.OrderCheck.Status.Status != appv1alpha1.ChangePodExecuteDone
}

// leftOf returns the reason why a release isn't verified of which nothing is left but the check of its order, or then a check after its last pod:
// its last step is done, or it has no steps any more and all pods passed. It is empty for any other release.
func (o *Observation) leftOf(status *appv1alpha1.ChangeWorkloadStatus, tally tally) string {
	isDone := tally.isComplete(o.Desired)
	waitsForOrder, waitsForCheck := o.awaitsOrder(), awaitedCheck(status, appv1alpha1.PhaseAfter) != ""
	if isPaced(status) {
		isDone = status.Pace.Step > 0
		waitsForOrder, waitsForCheck = waitsFor(status, appv1alpha1.ReasonAwaitingOrder), waitsFor(status, appv1alpha1.ReasonAwaitingCheck)
	}
	switch {
	case isDone && waitsForOrder:
		return appv1alpha1.ReasonAwaitingOrder
	case isDone && waitsForCheck:
		return appv1alpha1.ReasonAwaitingCheck
	}
	return ""
}
