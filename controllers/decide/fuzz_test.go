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

package decide_test

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// What the API server takes as the content of an enabled setting, as the CRD has it.
var (
	admittedBatch   = regexp.MustCompile(`^([1-9]|[1-9][0-9]|[1-4][0-9][0-9]|500)$`)
	admittedPeriod  = regexp.MustCompile(`^[1-9][0-9]{0,4}[smh]$`)
	admittedHistory = regexp.MustCompile(`^([1-9]|[1-9][0-9]|100)$`)
)

// Whatever an OpsConfigInfo and its status hold, the value in effect is within its limits, and a spec that is not acted by is
// told why in words that name what is wrong.
func FuzzTheContentOfASetting(f *testing.F) {
	for name, spec := range decide.DefaultSettings() {
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
		value := decide.Setting(name, object)
		checkLimits(t, value)
		if unusable := decide.CheckSetting(name, object.Spec); unusable == nil {
			checkInEffect(t, name, object.Spec, value)
		} else {
			checkReason(t, name, object.Spec, unusable.Error())
		}
		isUsable := decide.DefaultSettings()[name].Type != "" && decide.CheckSetting(name, object.Spec) == nil
		condition := decide.AssessSetting(object, "altershieldoperator-system", time.Unix(1_700_000_000, 0))
		if (condition.Status == "True") != isUsable || condition.Message == "" {
			t.Errorf("%+v is assessed as %+v", object.Spec, condition)
		}
	})
}

// checkInEffect looks at the value of a usable spec.
func checkInEffect(t *testing.T, name string, spec appv1alpha1.OpsConfigInfoSpec, value appv1alpha1.ConfigValue) {
	t.Helper()
	if value != (appv1alpha1.ConfigValue{Enable: spec.Enable, Content: spec.Content}) {
		t.Errorf("%+v is usable, and %+v in effect", spec, value)
	}
	if spec.Enable && lacks(name, value) {
		t.Errorf("%s is usable with the content %q and means nothing", name, spec.Content)
	}
}

// checkReason looks at why a spec can't be used.
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
	if size := decide.BatchSize(value); size < 1 || size > 500 || !value.Enable && size != 1 {
		t.Errorf("%+v makes batches of %d", value, size)
	}
	if period := decide.Period(value); period < 0 || period > 99_999*time.Hour || !value.Enable && period != 0 {
		t.Errorf("%+v is a time of %s", value, period)
	}
	if kept := decide.Retention(value); kept < 0 || kept > 100 || !value.Enable && kept != 0 {
		t.Errorf("%+v keeps %d", value, kept)
	}
}

// lacks says that an enabled setting that needs a number or a time gives none.
func lacks(name string, value appv1alpha1.ConfigValue) bool {
	switch name {
	case "branch":
		number, err := strconv.Atoi(value.Content)
		return err != nil || decide.BatchSize(value) != int32(number)
	case "stuck-rollback", "refusal":
		return decide.Period(value) <= 0
	case "template-history", "release-history":
		return decide.Retention(value) < 1
	}
	return false
}

// isAdmitted says that the API server takes an enabled spec under the name that its type belongs to.
func isAdmitted(name string, spec appv1alpha1.OpsConfigInfoSpec) bool {
	if spec.Type == "" || decide.DefaultSettings()[name].Type != spec.Type {
		return false
	}
	switch spec.Type {
	case "isBranch":
		return admittedBatch.MatchString(spec.Content)
	case "isStuckRollback", "isRefusal":
		return admittedPeriod.MatchString(spec.Content)
	case "isTemplateHistory", "isReleaseHistory":
		return admittedHistory.MatchString(spec.Content)
	}
	return true
}

// Whatever the annotations of a Deployment say of its release, its number is one that a record takes, the next one follows it,
// and only what the operator itself may have written is a hold.
func FuzzTheNumberOfARelease(f *testing.F) {
	for _, seed := range []string{"", "1", "0", "-1", "+7", "007", "9223372036854775807", "9223372036854775806", "9223372036854775808", "1e3", "0x1", "٣", " 1"} {
		f.Add(seed, seed+"-overridden", true)
		f.Add(seed, seed, false)
	}
	f.Fuzz(func(t *testing.T, release, held string, paused bool) {
		annotations := map[string]string{
			"altershield.defense.antgroup.com/release": release, "altershield.defense.antgroup.com/held": held,
		}
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: appsv1.DeploymentSpec{Paused: paused}}
		number := decide.ReleaseOf(deployment).Number
		if number < 1 {
			t.Errorf("%q is release %d", release, number)
		}
		next := decide.NextRelease(annotations)
		again := decide.ReleaseNumber(map[string]string{"altershield.defense.antgroup.com/release": strconv.FormatInt(next, 10)})
		if next < 1 || again != next {
			t.Errorf("%d comes after %q, and is read as %d", next, release, again)
		}
		if next <= number && next != 1 {
			t.Errorf("%d comes after %d", next, number)
		}
		mine := strings.TrimSuffix(held, "-overridden") == strconv.FormatInt(number, 10)
		if hold := decide.HoldOf(deployment, number); mine != (hold != decide.NotHeld) {
			t.Errorf("%q at release %d is the hold %q", held, number, hold)
		}
	})
}

// What a Deployment says of its rollbacks goes into its ChangeWorkload only where the API server takes it: it comes back from
// JSON as it was. What it says of who made its release is never believed of another one.
func FuzzTheAnnotationsOfARelease(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", "[]", "[null]", wentBackTo, askedToGoBack, releasedBy, letInBy,
		strings.Replace(wentBackTo, `"2026-11-21T10:00:00Z"`, `"9999-12-31T23:59:59-01:00"`, 1),
		strings.Replace(wentBackTo, `"2026-11-21T10:00:00Z"`, `"0000-01-01T00:00:00+01:00"`, 1),
		strings.Replace(wentBackTo, `}]`, `,"refusedUntil":"9999-12-31T23:59:59-01:00"}]`, 1),
		strings.Replace(letInBy, `2026-11-21T10:00:00.000000Z`, `9999-12-31T23:59:59.999999-01:00`, 1),
		strings.Replace(releasedBy, `2026-11-21T10:00:00Z`, `9999-12-31T23:59:59-01:00`, 1),
		strings.Replace(wentBackTo, "pod sleep-1 failed", strings.Repeat("发", 171), 1),
	} {
		f.Add(seed, seed, seed, int64(3))
	}
	f.Add(releasedBy, letInBy, wentBackTo, int64(3))
	f.Add(releasedBy, letInBy, wentBackTo, int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, by, letIn, rollbacks string, number int64) {
		annotations := annotated("released-by", by, "ignored-suspend-by", letIn, "rollbacks", rollbacks)
		for _, release := range []decide.Release{{Version: version, Number: number}, {Version: repair, Number: 2}} {
			spec := appv1alpha1.ChangeWorkloadSpec{}
			decide.DescribeRelease(&spec, annotations, release)
			checkWritable(t, spec, &appv1alpha1.ChangeWorkloadSpec{})
			if spec.Rollback != nil && spec.Rollback.ToRelease != release.Number {
				t.Errorf("release %d is taken for rollback %+v", release.Number, spec.Rollback)
			}
			if len(spec.Changes) > 32 {
				t.Errorf("the record holds %d changes", len(spec.Changes))
			}
			if note := decide.ReleaseNote(annotations, release); len(note) > 1024 || !utf8.ValidString(note) {
				t.Errorf("the note of an Event has %d bytes: %q", len(note), note)
			}
			if record, found := decide.ReleaseRecordOf(annotations, release); found {
				checkWritable(t, record, &appv1alpha1.ReleaseRecord{})
			}
			if record, found := decide.IgnoredSuspendOf(annotations, release); found {
				checkWritable(t, record, &appv1alpha1.IgnoredSuspend{})
			}
		}
		checkRefusals(t, appv1alpha1.RollbacksOf(annotations))
	})
}

// checkWritable writes a value as JSON and reads it again, as the API server does.
func checkWritable(t *testing.T, value, into any) {
	t.Helper()
	written, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(written, into)
	}
	again, _ := json.Marshal(into)
	if err != nil || string(again) != string(written) {
		t.Errorf("%s can't be read again: %v", written, err)
	}
}

// checkRefusals says whether what is remembered after one more rollback can be written, and refuses what was left.
func checkRefusals(t *testing.T, known []appv1alpha1.Rollback) {
	t.Helper()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	until := metav1.NewTime(now.Add(time.Hour))
	made := appv1alpha1.Rollback{
		Version: version, Release: 3, To: repair, ToRelease: 4, Reason: "PodsFailed", Time: metav1.NewTime(now), RefusedUntil: &until,
	}
	remembered := decide.RememberRollback(known, made)
	if len(remembered) > 10 || remembered[0] != made {
		t.Errorf("%d rollbacks are remembered, the newest is %+v", len(remembered), remembered[0])
	}
	if decide.RefusalOf(remembered, version, now) == nil {
		t.Error("the version that was left is not refused")
	}
	var again []appv1alpha1.Rollback
	checkWritable(t, remembered, &again)
}
