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
package changeapproval

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Status returns the status of a ChangeApproval, given the ChangeWorkloads of its namespace. Whether its author may approve the release is
// decided with the step.
func Status(approval *appv1alpha1.ChangeApproval, records []appv1alpha1.ChangeWorkload, now time.Time) appv1alpha1.ChangeApprovalStatus {
	status := *approval.Status.DeepCopy()
	spec := &approval.Spec
	release := fmt.Sprintf("release %d of %s %s", spec.Release, spec.Workload.Kind, spec.Workload.Name)
	value, reason, message := metav1.ConditionFalse, appv1alpha1.ReasonApprovalLapsed, release+" isn't the present one"
	switch {
	case spec.ApprovedBy == "" || spec.UID == "":
		reason, message = appv1alpha1.ReasonApprovalUnattributed, "the admission webhook did not record who created it: delete it and create another one"
	case isPresent(approval, records) && spec.Decision == appv1alpha1.DecisionDeny:
		value, reason, message = metav1.ConditionTrue, appv1alpha1.ReasonApprovalCounted, "it keeps "+release+" from its next step that needs approvals, until it is deleted"
	case isPresent(approval, records):
		value, reason, message = metav1.ConditionTrue, appv1alpha1.ReasonApprovalCounted, "it counts for "+release+", as long as the ReleasePolicy lets its author decide"
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: appv1alpha1.ConditionCounted, Status: value, Reason: reason, Message: message,
		ObservedGeneration: approval.Generation, LastTransitionTime: metav1.NewTime(now),
	})
	return status
}

// isPresent reports whether the release that an approval names is the present one of its workload. Observed releases aren't
// approved, and are numbered by generation.
func isPresent(approval *appv1alpha1.ChangeApproval, records []appv1alpha1.ChangeWorkload) bool {
	present, version := int64(0), ""
	for i := range records {
		record := &records[i]
		if isOf(record, approval) && !record.Spec.Observed && record.DeletionTimestamp == nil && record.Spec.Release > present {
			present, version = record.Spec.Release, record.Spec.Reversion
		}
	}
	return present == approval.Spec.Release && version == approval.Spec.Version
}

// isOf reports whether a record is of the workload that an approval names.
func isOf(record *appv1alpha1.ChangeWorkload, approval *appv1alpha1.ChangeApproval) bool {
	reference := record.Spec.WorkloadRef
	return reference != nil && reference.UID == approval.Spec.UID && reference.Name == approval.Spec.Workload.Name &&
		reference.GroupKind() == schema.ParseGroupKind(approval.Spec.Workload.Kind)
}
