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
	"slices"
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// IsServiceAccount reports whether a user is a service account, by its name.
func IsServiceAccount(user string) bool { return strings.HasPrefix(user, "system:serviceaccount:") }

// approvalsOf returns the users who approve a release, in order, and a ChangeApproval that denies it, nil if there is none. The author of
// the release doesn't approve it.
func approvalsOf(workload *appv1alpha1.ChangeWorkload, pace *Pace) (users []string, denial *appv1alpha1.ChangeApproval) {
	for i := range pace.Approvals {
		approval := &pace.Approvals[i]
		spec := &approval.Spec
		switch {
		case !isOfRelease(spec, workload) || approval.DeletionTimestamp != nil || spec.ApprovedBy == "":
		case spec.Decision == appv1alpha1.DecisionDeny: // also of a user whom the policy doesn't name any more: a denial ends when it is withdrawn
			if denial == nil || approval.Name < denial.Name {
				denial = approval
			}
		case spec.Decision != appv1alpha1.DecisionApprove || spec.ApprovedBy == ShortUser(workload.Spec.ReleasedBy) || slices.Contains(users, spec.ApprovedBy):
		case MayApprove(pace.Policy.Spec.Approvers, spec.ApprovedBy, spec.Groups):
			users = append(users, spec.ApprovedBy)
		}
	}
	slices.Sort(users)
	return users, denial
}

// isOfRelease reports whether a ChangeApproval names a release.
func isOfRelease(spec *appv1alpha1.ChangeApprovalSpec, workload *appv1alpha1.ChangeWorkload) bool {
	return spec.UID == workload.Workload().UID && spec.Version == workload.Spec.Reversion && spec.Release == workload.Spec.Release
}

// MayApprove reports whether the approvers of a ReleasePolicy, nil for all, include a user, by the full name or as an approval has it, who is in some
// groups. Service accounts have to be named.
func MayApprove(approvers *appv1alpha1.Approvers, user string, groups []string) bool {
	switch {
	case user == "":
		return false
	case approvers != nil && slices.ContainsFunc(approvers.Users, func(named string) bool { return user == named || user == ShortUser(named) }):
		return true
	case IsServiceAccount(user):
		return false
	case approvers == nil, len(approvers.Users) == 0 && len(approvers.Groups) == 0:
		return true
	}
	return slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(approvers.Groups, group) })
}
