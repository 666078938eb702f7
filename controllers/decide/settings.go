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
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// MaxBatchSize is the most pods that one ChangePod holds, which keeps the object far below etcd's limit of 1.5 MB.
const MaxBatchSize = 500

// maxHistory is the most templates or records that are kept of a Deployment.
const maxHistory = 100

// DefaultSettings are the OpsConfigInfo specs that the operator creates where they are missing, as documented.
func DefaultSettings() map[string]appv1alpha1.OpsConfigInfoSpec {
	return map[string]appv1alpha1.OpsConfigInfoSpec{
		appv1alpha1.ConfigBlocking: {
			Type: appv1alpha1.TypeBlocking, Enable: true, Remark: "Enabling Blockade",
		},
		appv1alpha1.ConfigBranch: {
			Type: appv1alpha1.TypeBranch, Content: "10", Remark: "Enabling Batch Protection",
		},
		appv1alpha1.ConfigStuckRollback: {
			Type: appv1alpha1.TypeStuckRollback, Enable: true, Content: "2m", Remark: "Roll back releases whose pods don't run for this long",
		},
		appv1alpha1.ConfigSuspendedRollback: {
			Type: appv1alpha1.TypeSuspendedRollback, Remark: "Roll back suspended releases without being asked",
		},
		appv1alpha1.ConfigRefusal: {
			Type: appv1alpha1.TypeRefusal, Enable: true, Content: "24h", Remark: "Refuse versions that were rolled back for this long",
		},
		appv1alpha1.ConfigTemplateHistory: {
			Type: appv1alpha1.TypeTemplateHistory, Enable: true, Content: "10", Remark: "Keep this many verified pod templates of each Deployment",
		},
		appv1alpha1.ConfigReleaseHistory: {
			Type: appv1alpha1.TypeReleaseHistory, Content: "5", Remark: "Keep this many ChangeWorkloads of past releases of each Deployment",
		},
	}
}

// CheckSetting says why the operator can't act by a spec under this name, nil where it can.
func CheckSetting(name string, spec appv1alpha1.OpsConfigInfoSpec) error {
	expected := DefaultSettings()[name].Type
	if spec.Type != expected {
		return fmt.Errorf("spec.type of %q must be %q, not %q", name, expected, spec.Type)
	}
	if !spec.Enable {
		return nil
	}
	switch name {
	case appv1alpha1.ConfigBranch:
		return checkCount(name, spec.Content, MaxBatchSize)
	case appv1alpha1.ConfigTemplateHistory, appv1alpha1.ConfigReleaseHistory:
		return checkCount(name, spec.Content, maxHistory)
	case appv1alpha1.ConfigStuckRollback, appv1alpha1.ConfigRefusal:
		if _, err := parsePeriod(spec.Content); err != nil {
			return fmt.Errorf("spec.content of %q must be a whole number of seconds, minutes or hours such as 90s, 2m or 24h, not %q", name, spec.Content)
		}
	}
	return nil
}

func checkCount(name, content string, limit int) error {
	if count, err := strconv.Atoi(content); err != nil || count < 1 || count > limit {
		return fmt.Errorf("spec.content of %q must be a whole number from 1 to %d, not %q", name, limit, content)
	}
	return nil
}

// parsePeriod reads a whole number of seconds, minutes or hours, with five digits at most.
func parsePeriod(content string) (time.Duration, error) {
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}
	if content == "" || len(content) > 6 {
		return 0, fmt.Errorf("%q has not 2 to 6 characters", content)
	}
	digits, unit := content[:len(content)-1], content[len(content)-1:]
	count, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || units[unit] == 0 || count == 0 {
		return 0, fmt.Errorf("%q is no whole number of seconds, minutes or hours", content)
	}
	return time.Duration(count) * units[unit], nil
}

// Setting is the value in effect for the setting of this name, given its object or nil: the spec where it can be used,
// else the last value that could, else the default.
func Setting(name string, object *appv1alpha1.OpsConfigInfo) appv1alpha1.ConfigValue {
	switch {
	case object != nil && CheckSetting(name, object.Spec) == nil:
		return appv1alpha1.ConfigValue{Enable: object.Spec.Enable, Content: object.Spec.Content}
	case object != nil && object.Status.Effective != nil:
		return *object.Status.Effective
	default:
		spec := DefaultSettings()[name]
		return appv1alpha1.ConfigValue{Enable: spec.Enable, Content: spec.Content}
	}
}

// BatchSize is the number of pods in a batch by the value of the setting "branch": one while it is off.
func BatchSize(branch appv1alpha1.ConfigValue) int32 {
	size, err := strconv.ParseInt(branch.Content, 10, 32)
	if !branch.Enable || err != nil {
		return 1
	}
	return int32(min(max(size, 1), MaxBatchSize))
}

// Period is the time that the value of "stuck-rollback" or "refusal" gives: 0 while it is off.
func Period(value appv1alpha1.ConfigValue) time.Duration {
	period, err := parsePeriod(value.Content)
	if !value.Enable || err != nil {
		return 0
	}
	return period
}

// Retention is how many the value of "template-history" or "release-history" keeps: 0 while it is off.
func Retention(value appv1alpha1.ConfigValue) int {
	count, err := strconv.Atoi(value.Content)
	if !value.Enable || err != nil {
		return 0
	}
	return min(max(count, 0), maxHistory)
}

// AssessSetting notes in the status of an OpsConfigInfo whether the operator, which reads its settings in this
// namespace, acts by it, and returns the condition that says so.
func AssessSetting(object *appv1alpha1.OpsConfigInfo, namespace string, now time.Time) metav1.Condition {
	condition := metav1.Condition{
		Type:               appv1alpha1.ConditionEffective,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: object.Generation,
		LastTransitionTime: metav1.NewTime(now),
	}
	_, isSetting := DefaultSettings()[object.Name]
	unusable := CheckSetting(object.Name, object.Spec)
	switch {
	case object.Namespace != namespace:
		condition.Reason = appv1alpha1.ReasonOtherNamespace
		condition.Message = fmt.Sprintf("no effect: the operator reads its settings in namespace %s", namespace)
	case !isSetting:
		condition.Reason = appv1alpha1.ReasonUnknownName
		condition.Message = fmt.Sprintf("no effect: no setting is named %q; there are %s", object.Name, strings.Join(settingNames(), ", "))
	case unusable != nil:
		condition.Reason = appv1alpha1.ReasonUnusableSpec
		condition.Message = fmt.Sprintf("%s; %s stays in effect", unusable, describe(Setting(object.Name, object)))
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, appv1alpha1.ReasonInEffect
		condition.Message = describe(Setting(object.Name, object)) + " is in effect"
		object.Status.Effective = ptr.To(Setting(object.Name, object))
	}
	object.Status.ObservedGeneration = object.Generation
	meta.SetStatusCondition(&object.Status.Conditions, condition)
	return condition
}

func settingNames() []string {
	return slices.Sorted(maps.Keys(DefaultSettings()))
}

func describe(value appv1alpha1.ConfigValue) string {
	text := fmt.Sprintf("enable: %t", value.Enable)
	if value.Content != "" {
		text += fmt.Sprintf(", content: %q", value.Content)
	}
	return text
}
