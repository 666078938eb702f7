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

// Package settings reads the OpsConfigInfo objects: it has their defaults, validates them, and returns the values in effect.
package settings

import (
	"fmt"
	"strconv"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// MaxBatchSize is the most pods in a ChangePod. It keeps the object well below etcd's limit of 1.5 MB.
const MaxBatchSize = 500

// maxHistory is the most templates or ChangeWorkloads kept of a workload.
const maxHistory = 100

// maxChangeRecords is the most ChangeRecords kept of a workload, maxRecordDays the most days for which they are kept.
const maxChangeRecords, maxRecordDays = 1000, 400

// Defaults returns the documented OpsConfigInfo specs, by name. The operator creates those that are missing.
func Defaults() map[string]appv1alpha1.OpsConfigInfoSpec {
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
		appv1alpha1.ConfigPark: {
			Type: appv1alpha1.TypePark, Remark: "Park suspended releases of StatefulSets without being asked",
		},
		appv1alpha1.ConfigUnstick: {
			Type: appv1alpha1.TypeUnstick, Remark: "Delete pods that keep a StatefulSet from going on to another version",
		},
		appv1alpha1.ConfigRefusal: {
			Type: appv1alpha1.TypeRefusal, Enable: true, Content: "24h", Remark: "Refuse versions that were rolled back for this long",
		},
		appv1alpha1.ConfigTemplateHistory: {
			Type: appv1alpha1.TypeTemplateHistory, Enable: true, Content: "10", Remark: "Keep this many verified pod templates of each workload",
		},
		appv1alpha1.ConfigReleaseHistory: {
			Type: appv1alpha1.TypeReleaseHistory, Content: "5", Remark: "Keep this many ChangeWorkloads of past releases of each workload",
		},
		appv1alpha1.ConfigChangeRecords: {
			Type: appv1alpha1.TypeChangeRecords, Enable: true, Content: "100", Remark: "Write ChangeRecords, and keep this many of each workload",
		},
		appv1alpha1.ConfigRecordDays: {
			Type: appv1alpha1.TypeRecordDays, Enable: true, Content: "90", Remark: "Keep ChangeRecords for this many days",
		},
		appv1alpha1.ConfigFinishedLabel: {
			Type: appv1alpha1.TypeFinishedLabel, Enable: true, Remark: "Label finished pods",
		},
	}
}

// Check returns why a spec is invalid as the setting of this name, nil where it is valid.
func Check(name string, spec appv1alpha1.OpsConfigInfoSpec) error {
	expected := Defaults()[name].Type
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
	case appv1alpha1.ConfigChangeRecords:
		return checkCount(name, spec.Content, maxChangeRecords)
	case appv1alpha1.ConfigRecordDays:
		return checkCount(name, spec.Content, maxRecordDays)
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

// parsePeriod parses a whole number of seconds, minutes or hours, with at most five digits.
func parsePeriod(content string) (time.Duration, error) {
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}
	if content == "" || len(content) > 6 {
		return 0, fmt.Errorf("%q is not 2 to 6 characters long", content)
	}
	digits, unit := content[:len(content)-1], content[len(content)-1:]
	count, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || units[unit] == 0 || count == 0 {
		return 0, fmt.Errorf("%q is not a whole number of seconds, minutes or hours", content)
	}
	return time.Duration(count) * units[unit], nil
}

// InEffect returns the value in effect of the setting of this name, given its object or nil: the spec where it is valid, else the last
// valid value, else the default.
func InEffect(name string, object *appv1alpha1.OpsConfigInfo) appv1alpha1.ConfigValue {
	switch {
	case object != nil && Check(name, object.Spec) == nil:
		return appv1alpha1.ConfigValue{Enable: object.Spec.Enable, Content: object.Spec.Content}
	case object != nil && object.Status.Effective != nil:
		return *object.Status.Effective
	default:
		spec := Defaults()[name]
		return appv1alpha1.ConfigValue{Enable: spec.Enable, Content: spec.Content}
	}
}

// batchSize returns the number of pods in a batch from the value of "branch", 1 while it is off.
func batchSize(branch appv1alpha1.ConfigValue) int32 {
	size, err := strconv.ParseInt(branch.Content, 10, 32)
	if !branch.Enable || err != nil {
		return 1
	}
	return int32(min(max(size, 1), MaxBatchSize))
}

// period returns the duration in the value of "stuck-rollback" or "refusal", 0 while it is off.
func period(value appv1alpha1.ConfigValue) time.Duration {
	duration, err := parsePeriod(value.Content)
	if !value.Enable || err != nil {
		return 0
	}
	return duration
}

// retention returns the number in the value of a setting that keeps at most limit things, 0 while it is off.
func retention(value appv1alpha1.ConfigValue, limit int) int {
	count, err := strconv.Atoi(value.Content)
	if !value.Enable || err != nil {
		return 0
	}
	return min(max(count, 0), limit)
}
