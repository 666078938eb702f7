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
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// rollback is one from a release to the next one, which is of the version to.
func rollback(from string, release int64, to string) appv1alpha1.Rollback {
	return appv1alpha1.Rollback{
		Version: from, Release: release, To: to, ToRelease: release + 1, Reason: "PodsNotRunning", Time: metav1.NewTime(now),
	}
}

func refusedUntil(rollback appv1alpha1.Rollback, until time.Time) appv1alpha1.Rollback {
	rollback.RefusedUntil = ptr.To(metav1.NewTime(until))
	return rollback
}

func TestRememberRollbackPutsTheNewestFirst(t *testing.T) {
	first, second, third := rollback(version, 2, older), rollback(repair, 5, older), rollback(version, 8, repair)
	for _, row := range []struct {
		name        string
		known, want []appv1alpha1.Rollback
		made        appv1alpha1.Rollback
	}{
		{name: "where none is known", made: first, want: []appv1alpha1.Rollback{first}},
		{name: "before that of another version", known: []appv1alpha1.Rollback{first}, made: second, want: []appv1alpha1.Rollback{second, first}},
		{name: "in place of that of the same version", known: []appv1alpha1.Rollback{second, first}, made: third,
			want: []appv1alpha1.Rollback{third, second}},
		{name: "in place of all of the same version", known: []appv1alpha1.Rollback{first, second, first}, made: third,
			want: []appv1alpha1.Rollback{third, second}},
		{name: "in place of itself", known: []appv1alpha1.Rollback{third, second}, made: third, want: []appv1alpha1.Rollback{third, second}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			before := append([]appv1alpha1.Rollback(nil), row.known...)
			g.Expect(decide.RememberRollback(row.known, row.made)).To(Equal(row.want))
			g.Expect(row.known).To(Equal(before), "what was known stays as it is")
		})
	}
}

func TestRememberRollbackKeepsTen(t *testing.T) {
	g := NewWithT(t)
	var known []appv1alpha1.Rollback
	for i := range 12 {
		known = decide.RememberRollback(known, rollback(fmt.Sprintf("%032d", i), int64(2*i), older))
	}
	g.Expect(known).To(HaveLen(10))
	g.Expect(known[0].Version).To(Equal("00000000000000000000000000000011"))
	g.Expect(known[9].Version).To(Equal("00000000000000000000000000000002"))
	again := decide.RememberRollback(known, rollback(known[9].Version, 30, older))
	g.Expect(again).To(HaveLen(10), "of each version one is remembered")
	g.Expect(again[9].Version).To(Equal("00000000000000000000000000000003"))
}

func TestRefusalOf(t *testing.T) {
	for _, row := range []struct {
		name      string
		rollbacks []appv1alpha1.Rollback
		refused   bool
	}{
		{"until the time is up", []appv1alpha1.Rollback{refusedUntil(rollback(version, 2, older), now.Add(time.Nanosecond))}, true},
		{"and no longer once it is", []appv1alpha1.Rollback{refusedUntil(rollback(version, 2, older), now)}, false},
		{"and no longer after it", []appv1alpha1.Rollback{refusedUntil(rollback(version, 2, older), now.Add(-time.Hour))}, false},
		{"also behind others", []appv1alpha1.Rollback{rollback(repair, 5, older), refusedUntil(rollback(version, 2, older), now.Add(time.Hour))}, true},
		{"not where it is another one that is", []appv1alpha1.Rollback{refusedUntil(rollback(repair, 2, older), now.Add(time.Hour))}, false},
		{"not where it is what was gone back to", []appv1alpha1.Rollback{refusedUntil(rollback(repair, 2, version), now.Add(time.Hour))}, false},
		{"not where its rollback refuses nothing", []appv1alpha1.Rollback{rollback(version, 2, older)}, false},
		{"not where nothing was rolled back", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			refusal := decide.RefusalOf(row.rollbacks, version, now)
			if !row.refused {
				g.Expect(refusal).To(BeNil())
				return
			}
			g.Expect(*refusal).To(Equal(row.rollbacks[len(row.rollbacks)-1]))
		})
	}
}

func TestRollbackFromAndRollbackTo(t *testing.T) {
	rollbacks := []appv1alpha1.Rollback{rollback(repair, 5, older), rollback(version, 2, older)}
	for _, row := range []struct {
		name     string
		release  decide.Release
		from, to *appv1alpha1.Rollback
	}{
		{"a release that was rolled back", decide.Release{Version: version, Number: 2}, &rollbacks[1], nil},
		{"a later one that was", decide.Release{Version: repair, Number: 5}, &rollbacks[0], nil},
		{"a release that a rollback made", decide.Release{Version: older, Number: 3}, nil, &rollbacks[1]},
		{"a later one that a rollback made", decide.Release{Version: older, Number: 6}, nil, &rollbacks[0]},
		{"a version that came again", decide.Release{Version: version, Number: 7}, nil, nil},
		{"an earlier release of a version that was rolled back", decide.Release{Version: repair, Number: 1}, nil, nil},
		{"a version gone back to that came again by hand", decide.Release{Version: older, Number: 8}, nil, nil},
		{"a release that a rollback made and another webhook changed", decide.Release{Version: repair, Number: 3}, nil, &rollbacks[1]},
		{"a release with the number of one that was rolled back", decide.Release{Version: older, Number: 2}, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(decide.RollbackFrom(rollbacks, row.release)).To(Equal(row.from))
			g.Expect(decide.RollbackTo(rollbacks, row.release.Number)).To(Equal(row.to))
			g.Expect(decide.RollbackFrom(nil, row.release)).To(BeNil())
			g.Expect(decide.RollbackTo(nil, row.release.Number)).To(BeNil())
		})
	}
}

func TestIsAutomaticUnlessAUserAsked(t *testing.T) {
	for reason, automatic := range map[appv1alpha1.RollbackReason]bool{"PodsNotRunning": true, "PodsFailed": true, "Requested": false} {
		made := appv1alpha1.Rollback{Reason: reason}
		NewWithT(t).Expect(made.IsAutomatic()).To(Equal(automatic), string(reason))
	}
}

func TestRollbacksOf(t *testing.T) {
	for _, row := range []struct {
		name, annotation string
		want             []appv1alpha1.Rollback
	}{
		{"where there are none", `[]`, nil},
		{"where there is one", `[{"version": "a", "release": 2, "to": "b", "toRelease": 3, "reason": "Requested", "user": "alice", "time": "2026-11-21T10:00:00Z"}]`,
			[]appv1alpha1.Rollback{{Version: "a", Release: 2, To: "b", ToRelease: 3, Reason: "Requested", User: "alice", Time: metav1.NewTime(now)}}},
		{"without fields of a later operator", `[{"version": "a", "tomorrow": true}]`, []appv1alpha1.Rollback{{Version: "a"}}},
		{"as none where they are empty", ``, nil},
		{"as none where they are null", `null`, nil},
		{"as none where they are no JSON", `[{"version": "a"`, nil},
		{"as none where they are no list", `{"version": "a"}`, nil},
		{"as none where one is no rollback", `[{"version": "a"}, "b"]`, nil},
		{"as none where a time is none", `[{"version": "a"}, {"refusedUntil": "tomorrow"}]`, nil},
		{"as none where a number is a text", `[{"version": "a", "release": "2"}]`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			read := appv1alpha1.RollbacksOf(map[string]string{"altershield.defense.antgroup.com/rollbacks": row.annotation})
			g.Expect(read).To(HaveLen(len(row.want)))
			for i := range read {
				g.Expect(read[i].Time.Equal(&row.want[i].Time)).To(BeTrue())
				read[i].Time = row.want[i].Time
				g.Expect(read[i]).To(Equal(row.want[i]))
			}
		})
	}
	NewWithT(t).Expect(appv1alpha1.RollbacksOf(nil)).To(BeEmpty())
}

func TestReleaseRecordOf(t *testing.T) {
	for _, row := range []struct {
		name, annotation string
		found            bool
	}{
		{"where it is whole", `{"user": "alice", "time": "2026-11-21T10:00:00Z", "version": "a", "release": 2, "changes": ["x"]}`, true},
		{"not where it is empty", ``, false},
		{"not where it is null", `null`, false},
		{"not where it is no JSON", `{"user": "alice", "release": 2`, false},
		{"not where it is a list", `[{"user": "alice"}]`, false},
		{"not without a user", `{"version": "a", "release": 2}`, false},
		{"not where the number is a text", `{"user": "alice", "version": "a", "release": "2"}`, false},
		{"not where the changes are no list", `{"user": "alice", "version": "a", "release": 2, "changes": "x"}`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			record, found := appv1alpha1.ReleaseRecordOf(map[string]string{"altershield.defense.antgroup.com/released-by": row.annotation})
			g.Expect(found).To(Equal(row.found))
			if !row.found {
				g.Expect(record).To(Equal(appv1alpha1.ReleaseRecord{}), "nothing of it is used")
				return
			}
			g.Expect(record.Time.UTC()).To(Equal(now))
			record.Time = metav1.Time{}
			g.Expect(record).To(Equal(appv1alpha1.ReleaseRecord{User: "alice", Version: "a", Release: 2, Changes: []string{"x"}}))
		})
	}
	_, found := appv1alpha1.ReleaseRecordOf(nil)
	NewWithT(t).Expect(found).To(BeFalse())
}
