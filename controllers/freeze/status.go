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

package freeze

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/calendar"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Check returns the calendar of a ChangeFreeze, or the fields that are unusable, so that it has no effect. system is the namespace of the
// operator.
func Check(freeze *appv1alpha1.ChangeFreeze, system string) (calendar.Calendar, field.ErrorList) {
	spec, path := &freeze.Spec, field.NewPath("spec")
	times, problems := calendar.Of(freeze)
	if spec.Namespaces != nil {
		if freeze.Namespace != system {
			problems = append(problems, field.Forbidden(path.Child("namespaces"), fmt.Sprintf(
				"only a ChangeFreeze in namespace %s selects namespaces; without the field it freezes its own namespace, %s", system, freeze.Namespace)))
		}
		problems = append(problems, checkSelector(spec.Namespaces, path.Child("namespaces"))...)
	}
	for i := range spec.Workloads {
		if selector := spec.Workloads[i].Selector; selector != nil {
			problems = append(problems, checkSelector(selector, path.Child("workloads").Index(i).Child("selector"))...)
		}
	}
	return times, problems
}

func checkSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

// Status returns the status of a ChangeFreeze, given how many releases wait for its end, and how long it stays so; 0 if that doesn't
// change.
func Status(
	freeze *appv1alpha1.ChangeFreeze, system string, parked int32, now time.Time,
) (status appv1alpha1.ChangeFreezeStatus, wait time.Duration) {
	times, problems := Check(freeze, system)
	status.ObservedGeneration, status.Parked, status.Conditions = freeze.Generation, parked, freeze.DeepCopy().Status.Conditions
	set := func(kind string, is metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: is, Reason: reason, Message: message, ObservedGeneration: freeze.Generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	if len(problems) > 0 {
		set(appv1alpha1.ConditionReady, metav1.ConditionFalse, appv1alpha1.ReasonFreezeInvalid, problems.ToAggregate().Error())
		set(appv1alpha1.ConditionActive, metav1.ConditionFalse, appv1alpha1.ReasonFreezeInvalid, "the spec is unusable: see the condition Ready")
		return status, 0
	}
	set(appv1alpha1.ConditionReady, metav1.ConditionTrue, appv1alpha1.ReasonFreezeValid, "the freeze is in effect at its times")
	state := times.At(now)
	switch {
	case state.Active:
		status.Active, status.Until, status.Next = true, decide.StoredTime(state.Until), decide.StoredTime(state.Next)
		effect := "releases are frozen"
		if freeze.Spec.Action == appv1alpha1.FreezeWarn {
			effect = "releases get a warning"
		}
		set(appv1alpha1.ConditionActive, metav1.ConditionTrue, appv1alpha1.ReasonFreezeActive, effect+" until "+text(state.Until))
		return status, state.Until.Sub(now)
	case !state.Next.IsZero():
		status.Next = decide.StoredTime(state.Next)
		set(appv1alpha1.ConditionActive, metav1.ConditionFalse, appv1alpha1.ReasonFreezeAhead, "it begins at "+text(state.Next))
		return status, state.Next.Sub(now)
	}
	set(appv1alpha1.ConditionActive, metav1.ConditionFalse, appv1alpha1.ReasonFreezeOver, "it doesn't begin again")
	return status, 0
}

func text(at time.Time) string { return at.UTC().Format(time.RFC3339) }
