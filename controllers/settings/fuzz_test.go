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
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// The content of an enabled setting that the API server accepts, as in the CRD.
var (
	admittedBatch   = regexp.MustCompile(`^([1-9]|[1-9][0-9]|[1-4][0-9][0-9]|500)$`)
	admittedPeriod  = regexp.MustCompile(`^[1-9][0-9]{0,4}[smh]$`)
	admittedHistory = regexp.MustCompile(`^([1-9]|[1-9][0-9]|100)$`)
	admittedRecords = regexp.MustCompile(`^([1-9][0-9]{0,2}|1000)$`)
	admittedDays    = regexp.MustCompile(`^([1-9]|[1-9][0-9]|[1-3][0-9][0-9]|400)$`)
)

// For any OpsConfigInfo and status, the value in effect is within its limits, and the message about an invalid spec names the field.
func FuzzInEffect(f *testing.F) {
	for name, spec := range Defaults() {
		for _, content := range []string{"10", "500", "501", "0", "-1", "+5", "007", "1.5", "", "99999999999999999999", "2m", "90s", "99999h", "100000s", "0s", "2µ", "\x00", "abc"} {
			f.Add(name, spec.Type, true, content, false, "")
			f.Add(name, spec.Type, false, content, true, content)
			f.Add(name, "isBranch", true, content, true, "7")
		}
	}
	f.Add("brunch", "", true, "10", true, "\xff")
	f.Fuzz(func(t *testing.T, name, kind string, enable bool, content string, known bool, last string) {
		object := setting(name, kind, enable, content)
		if known {
			object = lastGood(object, true, last)
		}
		value := InEffect(name, object)
		checkLimits(t, value)
		if unusable := Check(name, object.Spec); unusable == nil {
			checkInEffect(t, name, object.Spec, value)
		} else {
			checkReason(t, name, object.Spec, unusable.Error())
		}
		isUsable := Defaults()[name].Type != "" && Check(name, object.Spec) == nil
		condition := Assess(object, "altershieldoperator-system", time.Unix(1_700_000_000, 0))
		if (condition.Status == "True") != isUsable || condition.Message == "" {
			t.Errorf("%+v is assessed as %+v", object.Spec, condition)
		}
	})
}

// checkInEffect checks the value of a valid spec.
func checkInEffect(t *testing.T, name string, spec appv1alpha1.OpsConfigInfoSpec, value appv1alpha1.ConfigValue) {
	t.Helper()
	if value != (appv1alpha1.ConfigValue{Enable: spec.Enable, Content: spec.Content}) {
		t.Errorf("%+v is usable, and %+v in effect", spec, value)
	}
	if spec.Enable && lacks(name, value) {
		t.Errorf("%s is usable with the content %q and means nothing", name, spec.Content)
	}
}

// checkReason checks why a spec is invalid.
func checkReason(t *testing.T, name string, spec appv1alpha1.OpsConfigInfoSpec, reason string) {
	t.Helper()
	if !strings.Contains(reason, strconv.Quote(name)) || !strings.Contains(reason, "spec.type") && !strings.Contains(reason, "spec.content") {
		t.Errorf("%q names not both the object %q and a field", reason, name)
	}
	if isAdmitted(name, spec) {
		t.Errorf("the API server takes what can't be used: %s", reason)
	}
}

func checkLimits(t *testing.T, value appv1alpha1.ConfigValue) {
	t.Helper()
	if size := batchSize(value); size < 1 || size > 500 || !value.Enable && size != 1 {
		t.Errorf("%+v makes batches of %d", value, size)
	}
	if duration := period(value); duration < 0 || duration > 99_999*time.Hour || !value.Enable && duration != 0 {
		t.Errorf("%+v is a time of %s", value, duration)
	}
	if kept := retention(value, 100); kept < 0 || kept > 100 || !value.Enable && kept != 0 {
		t.Errorf("%+v keeps %d", value, kept)
	}
}

// lacks reports whether an enabled setting that needs a number or a period has none.
func lacks(name string, value appv1alpha1.ConfigValue) bool {
	switch name {
	case "branch":
		number, err := strconv.Atoi(value.Content)
		return err != nil || batchSize(value) != int32(number)
	case "stuck-rollback", "refusal":
		return period(value) <= 0
	case "template-history", "release-history":
		return retention(value, 100) < 1
	case "change-records":
		return retention(value, 1000) < 1
	case "record-days":
		return retention(value, 400) < 1
	}
	return false
}

// isAdmitted reports whether the API server takes an enabled spec under the name that its type belongs to.
func isAdmitted(name string, spec appv1alpha1.OpsConfigInfoSpec) bool {
	if spec.Type == "" || Defaults()[name].Type != spec.Type {
		return false
	}
	switch spec.Type {
	case "isBranch":
		return admittedBatch.MatchString(spec.Content)
	case "isStuckRollback", "isRefusal":
		return admittedPeriod.MatchString(spec.Content)
	case "isTemplateHistory", "isReleaseHistory":
		return admittedHistory.MatchString(spec.Content)
	case "isChangeRecords":
		return admittedRecords.MatchString(spec.Content)
	case "isRecordDays":
		return admittedDays.MatchString(spec.Content)
	}
	return true
}
