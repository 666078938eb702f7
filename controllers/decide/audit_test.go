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
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// The annotations of a Deployment at release 3 of version.
const (
	releasedBy    = `{"user":"alice","time":"2026-11-21T10:00:00Z","version":"` + version + `","release":3,"changes":["spec.containers[sleep].image: busybox -> busybox:1.37","metadata.labels[test]: added"]}`
	letInBy       = `{"user":"bob","time":"2026-11-21T10:00:00.000000Z","version":"` + version + `","release":3}`
	wentBackTo    = `[{"version":"` + repair + `","release":2,"to":"` + version + `","toRelease":3,"reason":"PodsFailed","message":"pod sleep-1 failed","time":"2026-11-21T10:00:00Z"}]`
	askedToGoBack = `[{"version":"` + repair + `","release":2,"to":"` + version + `","toRelease":3,"reason":"Requested","user":"carol","time":"2026-11-21T10:00:00Z"}]`
)

func annotated(keysAndValues ...string) map[string]string {
	annotations := map[string]string{}
	for i := 0; i < len(keysAndValues); i += 2 {
		annotations["altershield.defense.antgroup.com/"+keysAndValues[i]] = keysAndValues[i+1]
	}
	return annotations
}

func TestDescribeReleaseRecordsHowItCameAbout(t *testing.T) {
	third := decide.Release{Version: version, Number: 3}
	changes := []string{"spec.containers[sleep].image: busybox -> busybox:1.37", "metadata.labels[test]: added"}
	rollback := &appv1alpha1.Rollback{
		Version: repair, Release: 2, To: version, ToRelease: 3, Reason: "PodsFailed", Message: "pod sleep-1 failed",
		Time: metav1.NewTime(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC).Local()),
	}
	for _, row := range []struct {
		name        string
		annotations map[string]string
		release     decide.Release
		spec        appv1alpha1.ChangeWorkloadSpec
	}{
		{"by whom, and what changed", annotated("released-by", releasedBy), third, appv1alpha1.ChangeWorkloadSpec{ReleasedBy: "alice", Changes: changes}},
		{"and why", annotated("released-by", strings.TrimSuffix(releasedBy, "}")+`,"reason":"`+strings.Repeat("x", 300)+`"}`), third,
			appv1alpha1.ChangeWorkloadSpec{ReleasedBy: "alice", ReleaseReason: strings.Repeat("x", 253) + "...", Changes: changes}},
		{"through a denial", annotated("ignored-suspend-by", letInBy), third, appv1alpha1.ChangeWorkloadSpec{IgnoredSuspend: true}},
		{"as a rollback", annotated("rollbacks", wentBackTo), third, appv1alpha1.ChangeWorkloadSpec{Rollback: rollback}},
		{"in every way at once", annotated("released-by", releasedBy, "ignored-suspend-by", letInBy, "rollbacks", wentBackTo), third,
			appv1alpha1.ChangeWorkloadSpec{ReleasedBy: "alice", Changes: changes, IgnoredSuspend: true, Rollback: rollback}},
		{"with the time of its commit", annotated("commit-time", "2026-11-21T09:00:00.5+02:00"), third,
			appv1alpha1.ChangeWorkloadSpec{CommitTime: &metav1.Time{Time: time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)}}},
		{"but not with one that can't be written", annotated("commit-time", "9999-12-31T23:59:59-14:00"), third, appv1alpha1.ChangeWorkloadSpec{}},
		{"but not with one before all commits", annotated("commit-time", "1970-01-01T00:00:00Z"), third, appv1alpha1.ChangeWorkloadSpec{}},
		{"but not with a day", annotated("commit-time", "2026-11-21"), third, appv1alpha1.ChangeWorkloadSpec{}},
		{"but not by records of another number", annotated("released-by", releasedBy, "ignored-suspend-by", letInBy, "rollbacks", wentBackTo),
			decide.Release{Version: version, Number: 4}, appv1alpha1.ChangeWorkloadSpec{}},
		{"as a rollback whose template another webhook changed", annotated("rollbacks", wentBackTo),
			decide.Release{Version: older, Number: 3}, appv1alpha1.ChangeWorkloadSpec{Rollback: rollback}},
		{"but not by records of another version", annotated("released-by", releasedBy, "ignored-suspend-by", letInBy),
			decide.Release{Version: older, Number: 3}, appv1alpha1.ChangeWorkloadSpec{}},
		{"but not by nonsense", annotated("released-by", "{", "ignored-suspend-by", "true", "rollbacks", "yes"), third, appv1alpha1.ChangeWorkloadSpec{}},
		{"but not without annotations", nil, third, appv1alpha1.ChangeWorkloadSpec{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			fresh := appv1alpha1.ChangeWorkloadSpec{}
			decide.DescribeRelease(&fresh, row.annotations, row.release)
			g.Expect(fresh).To(Equal(row.spec))

			again := appv1alpha1.ChangeWorkloadSpec{ReleasedBy: "mallory", ReleaseReason: "x", Changes: []string{"x"}, IgnoredSuspend: true, Rollback: &appv1alpha1.Rollback{Version: "x"}}
			decide.DescribeRelease(&again, row.annotations, row.release)
			g.Expect(again).To(Equal(row.spec), "nothing is left of an earlier release")
		})
	}
}

func TestDescribeReleaseCapsTheChanges(t *testing.T) {
	g := NewWithT(t)
	many := strings.Replace(releasedBy, `"metadata.labels[test]: added"`, `"x"`+strings.Repeat(`,"x"`, 99), 1)
	spec := appv1alpha1.ChangeWorkloadSpec{}
	decide.DescribeRelease(&spec, annotated("released-by", many), decide.Release{Version: version, Number: 3})
	g.Expect(spec.Changes).To(HaveLen(32))
}

func TestReleaseNote(t *testing.T) {
	third := decide.Release{Version: version, Number: 3}
	first := func(changes string) map[string]string {
		return annotated("released-by", `{"user":"alice","version":"`+version+`","release":1`+changes+`}`)
	}
	for _, row := range []struct {
		name        string
		annotations map[string]string
		release     decide.Release
		note        string
	}{
		{"who made it and what changed", annotated("released-by", releasedBy), third,
			"release 3, version " + version + ", by alice: spec.containers[sleep].image: busybox -> busybox:1.37; metadata.labels[test]: added"},
		{"that a Deployment was created", first(""), decide.Release{Version: version, Number: 1}, "release 1, version " + version + ", by alice: created"},
		{"that a Deployment was changed that was not counted before", first(`,"changes":["metadata.labels[test]: added"]`),
			decide.Release{Version: version, Number: 1}, "release 1, version " + version + ", by alice: metadata.labels[test]: added"},
		{"who made it where nothing visible changed", annotated("released-by", strings.Replace(releasedBy, "changes", "x", 1)), third,
			"release 3, version " + version + ", by alice"},
		{"nothing of another release", annotated("released-by", releasedBy), decide.Release{Version: version, Number: 1},
			"release 1, version " + version},
		{"that it is a rollback", annotated("released-by", releasedBy, "rollbacks", wentBackTo), third,
			"release 3, version " + version + ", a rollback of release 2 by the operator"},
		{"who asked for a rollback", annotated("released-by", releasedBy, "rollbacks", askedToGoBack), third,
			"release 3, version " + version + ", a rollback of release 2 by carol"},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.ReleaseNote(row.annotations, row.release)).To(Equal(row.note))
		})
	}
}
