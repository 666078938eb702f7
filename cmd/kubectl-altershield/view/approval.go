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
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// ApprovalOf returns the request that approves or denies the present release of a workload, and its object.
func ApprovalOf(facts Facts, decision appv1alpha1.ApprovalDecision, reason string) (Request, *appv1alpha1.ChangeApproval, error) {
	kind := ApproveRequest
	if decision == appv1alpha1.DecisionDeny {
		kind = DenyRequest
	}
	request := requestOf(kind, facts)
	record := presentRecord(facts)
	isUnreadable := slices.ContainsFunc(facts.Notes, func(note Note) bool { return note.Lacks == LacksWorkload })
	if isUnreadable && record != nil && !record.Spec.Observed {
		request.From = Side{Release: record.Spec.Release, Version: record.Spec.Reversion}
	}
	if request.From.Version == "" {
		return Request{}, nil, fmt.Errorf("%s has no release under change control, so that there is nothing to approve", request.Object)
	}
	request.Reason = reason
	if record != nil {
		request.By, request.Changes = record.Spec.ReleasedBy, record.Spec.Changes
	}
	return request, &appv1alpha1.ChangeApproval{
		ObjectMeta: metav1.ObjectMeta{Namespace: facts.Namespace, GenerateName: prefixOf(facts.Reference.Name)},
		Spec: appv1alpha1.ChangeApprovalSpec{
			Workload: appv1alpha1.ReleasedWorkload{Kind: facts.Reference.GroupKind().String(), Name: facts.Reference.Name},
			Version:  request.From.Version, Release: request.From.Release, Decision: decision, Reason: reason,
		},
	}, nil
}

// prefixOf returns the start of the name of an object about a workload: the API server adds five characters, and cuts longer ones.
func prefixOf(name string) string { return name + "-" }
