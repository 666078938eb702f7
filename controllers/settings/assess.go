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

package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Assess sets the condition Effective in the status of an OpsConfigInfo, and returns it. namespace is that of the settings.
func Assess(object *appv1alpha1.OpsConfigInfo, namespace string, now time.Time) metav1.Condition {
	condition := metav1.Condition{
		Type:               appv1alpha1.ConditionEffective,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: object.Generation,
		LastTransitionTime: metav1.NewTime(now),
	}
	_, isSetting := Defaults()[object.Name]
	unusable := Check(object.Name, object.Spec)
	switch {
	case object.Namespace != namespace:
		condition.Reason = appv1alpha1.ReasonOtherNamespace
		condition.Message = fmt.Sprintf("no effect: the operator reads its settings in namespace %s", namespace)
	case !isSetting:
		condition.Reason = appv1alpha1.ReasonUnknownName
		condition.Message = fmt.Sprintf("no effect: unknown setting %q; the settings are %s", object.Name, strings.Join(names(), ", "))
	case unusable != nil:
		condition.Reason = appv1alpha1.ReasonUnusableSpec
		condition.Message = fmt.Sprintf("%s; %s stays in effect", unusable, describe(InEffect(object.Name, object)))
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, appv1alpha1.ReasonInEffect
		condition.Message = describe(InEffect(object.Name, object)) + " is in effect"
		object.Status.Effective = ptr.To(InEffect(object.Name, object))
	}
	object.Status.ObservedGeneration = object.Generation
	meta.SetStatusCondition(&object.Status.Conditions, condition)
	return condition
}

func names() []string {
	return slices.Sorted(maps.Keys(Defaults()))
}

func describe(value appv1alpha1.ConfigValue) string {
	text := fmt.Sprintf("enable: %t", value.Enable)
	if value.Content != "" {
		text += fmt.Sprintf(", content: %q", value.Content)
	}
	return text
}
