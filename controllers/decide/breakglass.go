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
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// BreakGlassEnd returns when a BreakGlass ends.
func BreakGlassEnd(glass *appv1alpha1.BreakGlass) time.Time {
	return glass.CreationTimestamp.Add(glass.Spec.For.Duration)
}

// IsUsable reports whether a BreakGlass lets releases pass.
func IsUsable(glass *appv1alpha1.BreakGlass, now time.Time) bool {
	reason, _ := usability(glass, now)
	return reason == appv1alpha1.ReasonBreakGlassOpen
}

func usability(glass *appv1alpha1.BreakGlass, now time.Time) (reason, message string) {
	switch end := BreakGlassEnd(glass); {
	case glass.DeletionTimestamp != nil || !now.Before(end):
		return appv1alpha1.ReasonBreakGlassExpired, "it ended at " + end.UTC().Format(time.RFC3339)
	case glass.Spec.RequestedBy == "":
		return appv1alpha1.ReasonBreakGlassUnattributed, "the admission webhook did not record who created it: create another one"
	case len(glass.Status.Uses) >= int(glass.Spec.Uses):
		return appv1alpha1.ReasonBreakGlassUsedUp, fmt.Sprintf("%d of %d releases passed", len(glass.Status.Uses), glass.Spec.Uses)
	default:
		return appv1alpha1.ReasonBreakGlassOpen, fmt.Sprintf("%d of %d releases passed; it ends at %s",
			len(glass.Status.Uses), glass.Spec.Uses, end.UTC().Format(time.RFC3339))
	}
}

// BreakGlassStatus returns the status of a BreakGlass, given the ChangeWorkloads of its namespace. A use stays when the record of its
// release is removed.
func BreakGlassStatus(glass *appv1alpha1.BreakGlass, records []appv1alpha1.ChangeWorkload, now time.Time) appv1alpha1.BreakGlassStatus {
	counted := glass.DeepCopy()
	for i := range records {
		record := &records[i]
		passed := record.Status.BreakGlass
		if passed == nil || passed.UID != glass.UID || len(counted.Status.Uses) >= maxUses {
			continue
		}
		use := appv1alpha1.BreakGlassUse{
			Kind: record.WorkloadKind(), Workload: record.Spec.AppName, Release: record.Status.ObservedRelease, Version: record.Spec.Reversion,
			User: passed.User, Time: passed.Time, Would: passed.Would,
		}
		if !IsCounted(counted, use.Kind, use.Workload, use.Release, passed) {
			counted.Status.Uses = append(counted.Status.Uses, use)
		}
	}
	status := metav1.ConditionFalse
	reason, message := usability(counted, now)
	if reason == appv1alpha1.ReasonBreakGlassOpen {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&counted.Status.Conditions, metav1.Condition{
		Type: appv1alpha1.ConditionUsable, Status: status, Reason: reason, Message: message, ObservedGeneration: glass.Generation,
		LastTransitionTime: metav1.NewTime(now),
	})
	return counted.Status
}

// IsCounted reports whether the status of a BreakGlass has the use by a release.
func IsCounted(glass *appv1alpha1.BreakGlass, kind, workload string, release int64, passed *appv1alpha1.BreakGlassPass) bool {
	return slices.ContainsFunc(glass.Status.Uses, func(use appv1alpha1.BreakGlassUse) bool {
		return use.Kind == kind && use.Workload == workload && use.Release == release && use.Time.Equal(&passed.Time)
	})
}

// maxUses is the longest list of uses, as the API limits it.
const maxUses = 50
