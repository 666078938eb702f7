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

package plugin

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

// ObjectName returns the name of the object that a check of the type Condition reads.
func ObjectName(release *checks.Scene, check *appv1alpha1.ConditionCheck) string {
	return strings.NewReplacer("$workload", release.Name, "$version", release.Version).Replace(check.Name)
}

// OfCondition returns what a condition of an object says. One that was written for an earlier generation of the object says nothing.
func OfCondition(object *unstructured.Unstructured, check *appv1alpha1.ConditionCheck) Answer {
	condition, found := conditionOf(object, check.Type)
	reason, _, _ := unstructured.NestedString(condition, "reason")
	message, _, _ := unstructured.NestedString(condition, "message")
	status, _, _ := unstructured.NestedString(condition, "status")
	observed, isKnown, _ := unstructured.NestedInt64(condition, "observedGeneration")
	what := fmt.Sprintf("%s %s: %s", check.Kind, object.GetName(), check.Type)
	told := said(reason, message)
	if told != "" {
		told = ", " + told
	}
	switch {
	case !found:
		return Answer{Verdict: appv1alpha1.CheckInconclusive, Reason: ReasonConditionUnknown, Message: what + " is not there"}
	case isKnown && observed < object.GetGeneration():
		return Answer{Verdict: appv1alpha1.CheckInconclusive, Reason: ReasonConditionUnknown, Message: what + " is older than the spec"}
	case status == string(metav1.ConditionTrue):
		return Answer{Verdict: appv1alpha1.CheckPass, Reason: appv1alpha1.ReasonCheckPassed, Message: what + " is True" + told}
	case status == string(metav1.ConditionFalse):
		return Answer{Verdict: appv1alpha1.CheckFail, Reason: appv1alpha1.ReasonCheckFailed, Message: what + " is False" + told}
	default:
		return Answer{Verdict: appv1alpha1.CheckInconclusive, Reason: ReasonConditionUnknown, Message: what + " is Unknown" + told}
	}
}

// conditionOf returns the condition of a type in the status of an object.
func conditionOf(object *unstructured.Unstructured, conditionType string) (map[string]any, bool) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if condition, isObject := entry.(map[string]any); isObject && condition["type"] == conditionType {
			return condition, true
		}
	}
	return nil, false
}
