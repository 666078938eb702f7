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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// inc7 lets two releases pass and began half an hour ago.
func inc7(changes ...func(*appv1alpha1.BreakGlass)) *appv1alpha1.BreakGlass {
	glass := &appv1alpha1.BreakGlass{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "inc-7", UID: "bg-1", Generation: 1, CreationTimestamp: metav1.NewTime(now.Add(-30 * time.Minute))},
		Spec: appv1alpha1.BreakGlassSpec{
			Reason: "INC-7", Overrides: []appv1alpha1.BreakGlassOverride{"Freeze"}, For: metav1.Duration{Duration: time.Hour}, Uses: 2, RequestedBy: "bob",
		},
	}
	for _, change := range changes {
		change(glass)
	}
	return glass
}

// brokenBy is a release that passed by the BreakGlass.
func brokenBy(release int64, at time.Time) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		workload.Spec.Release, workload.Status.ObservedRelease = release, release
		workload.Status.BreakGlass = &appv1alpha1.BreakGlassPass{Name: "inc-7", UID: "bg-1", User: "alice", Time: metav1.NewTime(at), Would: []string{"frozen"}}
	}
}

func TestBreakGlassStatus(t *testing.T) {
	for _, row := range []struct {
		name    string
		glass   *appv1alpha1.BreakGlass
		records []appv1alpha1.ChangeWorkload
		usable  string
		uses    int
	}{
		{"open", inc7(), nil, "True Open 0 of 2 releases passed; it ends at 2026-11-21T10:30:00Z", 0},
		{"used once", inc7(), []appv1alpha1.ChangeWorkload{*newWorkload(brokenBy(3, now))}, "True Open 1 of 2 releases passed; it ends at 2026-11-21T10:30:00Z", 1},
		{"used up", inc7(), []appv1alpha1.ChangeWorkload{*newWorkload(brokenBy(3, now)), *newWorkload(brokenBy(4, now))}, "False UsedUp 2 of 2 releases passed", 2},
		{"used before it began, by the clock of another", inc7(), []appv1alpha1.ChangeWorkload{*newWorkload(brokenBy(3, now.Add(-time.Hour)))}, "True Open 1 of 2 releases passed; it ends at 2026-11-21T10:30:00Z", 1},
		{"not used by others", inc7(func(glass *appv1alpha1.BreakGlass) { glass.UID = "bg-2" }), []appv1alpha1.ChangeWorkload{*newWorkload(brokenBy(3, now)), *newWorkload()},
			"True Open 0 of 2 releases passed; it ends at 2026-11-21T10:30:00Z", 0},
		{"over", inc7(func(glass *appv1alpha1.BreakGlass) { glass.Spec.For.Duration = 30 * time.Minute }), nil, "False Expired it ended at 2026-11-21T10:00:00Z", 0},
		{"over, with a use", inc7(func(glass *appv1alpha1.BreakGlass) { glass.Spec.For.Duration = 30 * time.Minute }), []appv1alpha1.ChangeWorkload{*newWorkload(brokenBy(3, now.Add(-time.Minute)))},
			"False Expired it ended at 2026-11-21T10:00:00Z", 1},
		{"of an unknown user", inc7(func(glass *appv1alpha1.BreakGlass) { glass.Spec.RequestedBy = "" }), nil,
			"False Unattributed the admission webhook did not record who created it: create another one", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			status := decide.BreakGlassStatus(row.glass, row.records, now)
			usable := meta.FindStatusCondition(status.Conditions, "Usable")
			g.Expect(string(usable.Status) + " " + usable.Reason + " " + usable.Message).To(Equal(row.usable))
			g.Expect(status.Uses).To(HaveLen(row.uses))
			g.Expect(row.glass.Status.Uses).To(BeEmpty(), "the argument stays as it is")
		})
	}
}

func TestBreakGlassStatusKeepsItsUses(t *testing.T) {
	g, glass := NewWithT(t), inc7()
	glass.Status = decide.BreakGlassStatus(glass, []appv1alpha1.ChangeWorkload{*newWorkload(brokenBy(3, now))}, now)
	g.Expect(glass.Status.Uses).To(Equal([]appv1alpha1.BreakGlassUse{{
		Kind: "Deployment", Workload: "sleep", Release: 3, Version: version, User: "alice", Time: metav1.NewTime(now), Would: []string{"frozen"},
	}}))
	again := decide.BreakGlassStatus(glass, []appv1alpha1.ChangeWorkload{*newWorkload(brokenBy(3, now))}, now.Add(time.Minute))
	g.Expect(again).To(Equal(glass.Status), "the same release counts once")
	g.Expect(decide.BreakGlassStatus(glass, nil, now).Uses).To(HaveLen(1), "its record may be removed")
}

func TestIsCounted(t *testing.T) {
	g, glass := NewWithT(t), inc7()
	record := newWorkload(brokenBy(3, now))
	passed := record.Status.BreakGlass
	g.Expect(decide.IsCounted(glass, "Deployment", "sleep", 3, passed)).To(BeFalse())
	glass.Status = decide.BreakGlassStatus(glass, []appv1alpha1.ChangeWorkload{*record}, now)
	g.Expect(decide.IsCounted(glass, "Deployment", "sleep", 3, passed)).To(BeTrue())
	g.Expect(decide.IsCounted(glass, "Deployment", "sleep", 4, passed)).To(BeFalse())
	g.Expect(decide.IsCounted(glass, "Deployment", "awake", 3, passed)).To(BeFalse())
	g.Expect(decide.IsCounted(glass, "StatefulSet", "sleep", 3, passed)).To(BeFalse())
	later := passed.DeepCopy()
	later.Time = metav1.NewTime(now.Add(time.Minute))
	g.Expect(decide.IsCounted(glass, "Deployment", "sleep", 3, later)).To(BeFalse(), "the workload was created anew")
}

func TestIsUsable(t *testing.T) {
	g := NewWithT(t)
	g.Expect(decide.IsUsable(inc7(), now)).To(BeTrue())
	g.Expect(decide.IsUsable(inc7(), now.Add(30*time.Minute))).To(BeFalse())
	g.Expect(decide.IsUsable(inc7(func(glass *appv1alpha1.BreakGlass) { glass.DeletionTimestamp = &metav1.Time{Time: now} }), now)).To(BeFalse())
}
