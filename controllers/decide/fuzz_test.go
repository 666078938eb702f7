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
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// For any annotations of a Deployment, the number of its release is valid in a record, the next number follows it, and only an
// annotation that the operator may have written is a hold.
func FuzzTheNumberOfARelease(f *testing.F) {
	for _, seed := range []string{"", "1", "0", "-1", "+7", "007", "9223372036854775807", "9223372036854775806", "9223372036854775808", "1e3", "0x1", "٣", " 1"} {
		f.Add(seed, seed+"-overridden", true)
		f.Add(seed, seed, false)
	}
	f.Fuzz(func(t *testing.T, release, held string, paused bool) {
		annotations := map[string]string{
			"altershield.defense.antgroup.com/release": release, "altershield.defense.antgroup.com/held": held,
		}
		deployment := &metav1.ObjectMeta{Annotations: annotations}
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
		if hold := decide.HoldOf(deployment, paused, number); mine != (hold != decide.NotHeld) {
			t.Errorf("%q at release %d is the hold %q", held, number, hold)
		}
	})
}

// The rollbacks in the annotations of a Deployment are copied to its ChangeWorkload only if the API server accepts them: they are the same
// after a round trip through JSON. The author of a release is never taken for that of another one.
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
			if note := decide.Shorten(decide.ReleaseNote(annotations, release), 1024); len(note) > 1024 || !utf8.ValidString(note) {
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

// checkRefusals checks whether the rollbacks after one more can be written, and refuse the version that was left.
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
