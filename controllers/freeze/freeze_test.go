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

package freeze_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// now is a Friday, ten in the morning in UTC.
var now = time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)

type option = func(*appv1alpha1.ChangeFreeze)

// lock is an incident lock that began an hour ago and ends after so many hours.
func lock(namespace, name string, hours int, options ...option) *appv1alpha1.ChangeFreeze {
	object := &appv1alpha1.ChangeFreeze{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 2, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec: appv1alpha1.ChangeFreezeSpec{
			Expires: &metav1.Duration{Duration: time.Duration(hours) * time.Hour}, Action: "Park", Running: "Finish", Thaw: appv1alpha1.FreezeThaw{Concurrent: 5},
		},
	}
	for _, option := range options {
		option(object)
	}
	return object
}

func acting(action appv1alpha1.FreezeAction) option {
	return func(object *appv1alpha1.ChangeFreeze) { object.Spec.Action = action }
}

func holding(object *appv1alpha1.ChangeFreeze) { object.Spec.Running = "Hold" }

// selecting makes a freeze select the namespaces of production.
func selecting(object *appv1alpha1.ChangeFreeze) {
	object.Spec.Namespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}
}

func of(selectors ...appv1alpha1.WorkloadSelector) option {
	return func(object *appv1alpha1.ChangeFreeze) { object.Spec.Workloads = selectors }
}

// fridays makes a freeze one of each Friday.
func fridays(from, to string) option {
	return func(object *appv1alpha1.ChangeFreeze) {
		object.Spec.Expires = nil
		object.Spec.Windows = []appv1alpha1.FreezeWindow{{Days: []appv1alpha1.Weekday{"Fri"}, From: from, To: to, TimeZone: "UTC"}}
	}
}

// everyDay makes the window of a freeze return each day.
func everyDay(object *appv1alpha1.ChangeFreeze) { object.Spec.Windows[0].Days = nil }

// dates makes a freeze one of a single time.
func dates(from, to string) option {
	return func(object *appv1alpha1.ChangeFreeze) {
		object.Spec.Expires = nil
		object.Spec.Dates = []appv1alpha1.FreezeDates{{From: from, To: to, TimeZone: "UTC"}}
	}
}

func find(t *testing.T, freezes ...client.Object) []freeze.Found {
	t.Helper()
	objects := append(freezes, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"tier": "prod"}}})
	kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(objects...).Build()
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"team": "a"}}}
	reader := freeze.Reader{Namespaces: kube, Freezes: kube, Namespace: "system"}
	found, err := reader.Of(t.Context(), deployment.Kind{}, web, now)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return found
}

func TestReaderOf(t *testing.T) {
	for _, row := range []struct {
		name   string
		freeze client.Object
		found  bool
	}{
		{"in its namespace", lock("shop", "lock", 8), true},
		{"in another namespace", lock("other", "lock", 8), false},
		{"in the namespace of the operator, for that namespace alone", lock("system", "lock", 8), false},
		{"in the namespace of the operator, for others", lock("system", "lock", 8, selecting), true},
		{"of namespaces, but not in that of the operator", lock("shop", "lock", 8, selecting), false},
		{"of other namespaces", lock("system", "lock", 8, func(object *appv1alpha1.ChangeFreeze) {
			object.Spec.Namespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "dev"}}
		}), false},
		{"of its kind", lock("shop", "lock", 8, of(appv1alpha1.WorkloadSelector{Kind: "Deployment.apps"})), true},
		{"of another kind", lock("shop", "lock", 8, of(appv1alpha1.WorkloadSelector{Kind: "StatefulSet.apps"})), false},
		{"of the kind of another group", lock("shop", "lock", 8, of(appv1alpha1.WorkloadSelector{Kind: "Deployment.example.com"})), false},
		{"of its name", lock("shop", "lock", 8, of(appv1alpha1.WorkloadSelector{Kind: "Deployment.apps", Name: "web"})), true},
		{"of another name", lock("shop", "lock", 8, of(appv1alpha1.WorkloadSelector{Kind: "Deployment.apps", Name: "db"})), false},
		{"of its labels", lock("shop", "lock", 8, of(appv1alpha1.WorkloadSelector{
			Kind: "Deployment.apps", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}})), true},
		{"of other labels", lock("shop", "lock", 8, of(appv1alpha1.WorkloadSelector{
			Kind: "Deployment.apps", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}})), false},
		{"of one of several", lock("shop", "lock", 8, of(appv1alpha1.WorkloadSelector{Kind: "StatefulSet.apps"}, appv1alpha1.WorkloadSelector{Kind: "Deployment.apps"})), true},
		{"with a selector that can't be read", lock("shop", "lock", 8, of(appv1alpha1.WorkloadSelector{
			Kind: "Deployment.apps", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a b"}}})), false},
		{"with a time zone that is unknown", lock("shop", "lock", 8, fridays("09:00", "18:00"), func(object *appv1alpha1.ChangeFreeze) {
			object.Spec.Windows[0].TimeZone = "Mars"
		}), false},
		{"until a year that no status can have", lock("shop", "lock", 8, dates("2026-01-01T00:00", "9999-12-31T23:59"), func(object *appv1alpha1.ChangeFreeze) {
			object.Spec.Dates[0].TimeZone = "America/New_York"
		}), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(find(t, row.freeze)).To(HaveLen(map[bool]int{true: 1}[row.found]))
		})
	}
}

func TestReaderOfReturnsTheStrictestFirst(t *testing.T) {
	g, found := NewWithT(t), find(t, lock("shop", "a", 9, acting("Warn")), lock("shop", "b", 2), lock("shop", "c", 3), lock("shop", "d", 1, acting("Deny")),
		lock("system", "e", 4, selecting))
	var names []string
	for _, freeze := range found {
		names = append(names, freeze.Name)
	}
	g.Expect(names).To(Equal([]string{"d", "e", "c", "b", "a"}))
}

func TestReaderIsOn(t *testing.T) {
	freezes := []client.Object{
		lock("shop", "parks", 8), lock("shop", "denies", 8, acting("Deny")), lock("shop", "warns", 8, acting("Warn")), lock("shop", "over", 1),
		lock("shop", "broken", 8, fridays("09:00", "18:00"), func(object *appv1alpha1.ChangeFreeze) { object.Spec.Windows[0].TimeZone = "Mars" }),
		// It selects no namespace that has the workload any more.
		lock("system", "elsewhere", 8, func(object *appv1alpha1.ChangeFreeze) {
			object.Spec.Namespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "dev"}}
		}),
	}
	reader := freeze.Reader{Freezes: fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(freezes...).Build(), Namespace: "system"}
	for by, expected := range map[string]bool{
		"shop/parks": true, "shop/denies": true, "shop/warns": true, "shop/over": false, "shop/broken": false, "shop/deleted": false,
		"other/parks": false, "system/elsewhere": true,
	} {
		t.Run(by, func(t *testing.T) {
			on, err := reader.IsOn(t.Context(), by, now)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(on).To(Equal(expected))
		})
	}
}

func TestReleaseOf(t *testing.T) {
	annotations := map[string]string{
		"altershield.defense.antgroup.com/released-by": `{"release":7,"user":"alice","time":"2026-11-27T09:30:00Z"}`,
		"altershield.defense.antgroup.com/frozen":      `{"release":7,"by":["shop/lock"],"concurrent":5}`,
	}
	g, release := NewWithT(t), freeze.ReleaseOf(annotations, 7)
	g.Expect(release.Began).To(BeTemporally("==", now.Add(-30*time.Minute)))
	g.Expect(release.Parked).To(Equal(&appv1alpha1.Frozen{Release: 7, By: []string{"shop/lock"}, Concurrent: 5}))
	g.Expect(freeze.ReleaseOf(annotations, 8)).To(BeZero(), "they are of another release")
}

func TestRecorded(t *testing.T) {
	annotations := map[string]string{
		"altershield.defense.antgroup.com/released-by": `{"release":7,"user":"alice","time":"2026-11-27T09:30:00Z"}`,
		"altershield.defense.antgroup.com/frozen":      `{"release":7,"by":["shop/lock"],"concurrent":5}`,
	}
	record := func(release int64) *appv1alpha1.ChangeWorkload {
		return &appv1alpha1.ChangeWorkload{Spec: appv1alpha1.ChangeWorkloadSpec{Release: release, CreateTimeUnix: now.Add(-time.Hour).Unix()}}
	}
	began := func(record *appv1alpha1.ChangeWorkload) time.Duration {
		return now.Sub(freeze.Recorded(record, annotations).Began)
	}
	g := NewWithT(t)
	g.Expect(freeze.Recorded(record(7), annotations)).To(Equal(freeze.ReleaseOf(annotations, 7)))
	g.Expect(began(record(8))).To(Equal(time.Hour), "the annotations are of another release")

	resumed := record(7)
	resumed.Status.Conditions = []metav1.Condition{{Type: "Frozen", Status: "False", Reason: "Resumed", LastTransitionTime: metav1.NewTime(now.Add(-10 * time.Minute))}}
	g.Expect(began(resumed)).To(Equal(30*time.Minute), "the status is of another release")
	resumed.Status.ObservedRelease = 7
	g.Expect(began(resumed)).To(Equal(10 * time.Minute))
	resumed.Status.Conditions[0].Reason = "Thawed"
	g.Expect(began(resumed)).To(Equal(30*time.Minute), "it went on by itself")

	pass := func(override string) string {
		return `{"release":7,"name":"inc-1","uid":"u-1","user":"bob","time":"2026-11-27T09:55:00Z","overrides":["` + override + `"],"would":["frozen"]}`
	}
	annotations["altershield.defense.antgroup.com/break-glass"] = pass("Freeze")
	g.Expect(began(record(7))).To(Equal(5 * time.Minute))
	annotations["altershield.defense.antgroup.com/break-glass"] = pass("Suspension")
	g.Expect(began(record(7))).To(Equal(30*time.Minute), "it passed something else")
}

func TestReleaseInForce(t *testing.T) {
	lasting := func(by string, hours int, holds bool) *decide.InForce {
		return &decide.InForce{By: by, Since: now.Add(-time.Hour), Until: now.Add(time.Duration(hours-1) * time.Hour), Holds: holds, Concurrent: 5}
	}
	created := func(ago time.Duration) option {
		return func(object *appv1alpha1.ChangeFreeze) { object.CreationTimestamp = metav1.NewTime(now.Add(-ago)) }
	}
	began := func(ago time.Duration, parked ...string) freeze.Release {
		release := freeze.Release{Began: now.Add(-ago)}
		if parked != nil {
			release.Parked = &appv1alpha1.Frozen{Release: 2, By: parked, Concurrent: 5}
		}
		return release
	}
	for _, row := range []struct {
		name     string
		release  freeze.Release
		freezes  []client.Object
		expected *decide.InForce
	}{
		{"none", freeze.Release{}, nil, nil},
		{"one that warns", freeze.Release{}, []client.Object{lock("shop", "a", 8, acting("Warn"))}, nil},
		{"one that is over", freeze.Release{}, []client.Object{lock("shop", "a", 1)}, nil},
		{"one that has yet to begin", freeze.Release{}, []client.Object{lock("shop", "a", 1, fridays("16:00", "18:00"))}, nil},
		{"one that is on", freeze.Release{}, []client.Object{lock("shop", "a", 8)}, lasting("shop/a", 8, false)},
		{"one that denies", freeze.Release{}, []client.Object{lock("shop", "a", 8, acting("Deny"))}, lasting("shop/a", 8, false)},
		{"of two the one that ends last", freeze.Release{}, []client.Object{lock("shop", "a", 8), lock("shop", "b", 9)}, lasting("shop/b", 9, false)},
		{"but one that holds releases under way comes first", freeze.Release{},
			[]client.Object{lock("shop", "a", 8, holding), lock("shop", "b", 9)}, lasting("shop/a", 8, true)},
		{"a release that began before it", began(2 * time.Hour), []client.Object{lock("shop", "a", 8, holding)}, lasting("shop/a", 8, true)},
		{"one that began in the same second", began(time.Hour), []client.Object{lock("shop", "a", 8, holding)}, lasting("shop/a", 8, true)},
		{"not one that it let through", began(time.Hour - time.Second), []client.Object{lock("shop", "a", 8, holding)}, lasting("shop/a", 8, false)},
		{"nor one without a gap that let it through weeks ago", began(20 * 24 * time.Hour),
			[]client.Object{lock("shop", "a", 0, fridays("00:00", "24:00"), everyDay, holding, created(60*24*time.Hour))},
			&decide.InForce{By: "shop/a", Since: now.Add(-60 * 24 * time.Hour), Until: time.Date(2026, 12, 13, 0, 0, 0, 0, time.UTC), Concurrent: 5}},
		{"a later one holds what the one that ends last let through", began(90 * time.Minute),
			[]client.Object{lock("shop", "a", 8, holding), lock("shop", "b", 12, holding, created(2*time.Hour))}, lasting("shop/a", 8, true)},
		{"one whose dates begin before its creation", began(90 * time.Minute),
			[]client.Object{lock("shop", "a", 0, holding, dates("2026-11-27T06:00", "2026-11-27T17:00"))}, lasting("shop/a", 8, true)},
		{"a parked release waits for those that parked it", began(30*time.Minute, "shop/a", "shop/b"),
			[]client.Object{lock("shop", "a", 8), lock("shop", "b", 9)}, lasting("shop/b", 9, false)},
		{"not for one that let it pass", began(30*time.Minute, "shop/a"),
			[]client.Object{lock("shop", "a", 8), lock("shop", "x", 100)}, lasting("shop/a", 8, false)},
		{"not for it after the end of the other one", began(30*time.Minute, "shop/a"), []client.Object{lock("shop", "a", 1), lock("shop", "x", 100)}, nil},
		{"but for one that began later", began(30*time.Minute, "shop/a"),
			[]client.Object{lock("shop", "a", 8), lock("shop", "b", 9, created(10*time.Minute))},
			&decide.InForce{By: "shop/b", Since: now.Add(-10 * time.Minute), Until: now.Add(9*time.Hour - 10*time.Minute), Concurrent: 5}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(row.release.InForce(find(t, row.freezes...))).To(Equal(row.expected))
		})
	}
}

func TestFoundDescribesItsReasonInOneLine(t *testing.T) {
	object := lock("ops", "lock", 1, func(object *appv1alpha1.ChangeFreeze) { object.Spec.Reason = "INC-7:\nthe database\n" })
	described := freeze.Found{ChangeFreeze: object}.Describe()
	NewWithT(t).Expect(described.Sentence()).To(HaveSuffix(": INC-7: the database"), "the API server drops warnings with control characters")
}

func TestMark(t *testing.T) {
	g := NewWithT(t)
	two := func(object *appv1alpha1.ChangeFreeze) { object.Spec.Thaw.Concurrent = 2 }
	found := find(t, lock("shop", "a", 8), lock("shop", "b", 9, two), lock("shop", "c", 10, acting("Warn")), lock("shop", "d", 1))
	g.Expect(freeze.Mark(found, 7)).To(Equal(&appv1alpha1.Frozen{Release: 7, By: []string{"shop/b", "shop/a"}, Concurrent: 2}))
}

func TestNextHold(t *testing.T) {
	g := NewWithT(t)
	evening := lock("shop", "a", 0, fridays("16:00", "18:00"), holding)
	g.Expect(freeze.NextHold(find(t, evening, lock("shop", "b", 0, fridays("14:00", "15:00"))))).To(BeTemporally("==", now.Add(6*time.Hour)))
	g.Expect(freeze.NextHold(find(t, evening, lock("shop", "b", 0, fridays("15:00", "15:30"), holding)))).To(BeTemporally("==", now.Add(5*time.Hour)))
	g.Expect(freeze.NextHold(find(t, lock("shop", "a", 0, fridays("16:00", "18:00"), holding, acting("Warn"))))).To(BeZero())
}

func TestFoundExcepts(t *testing.T) {
	g := NewWithT(t)
	found := freeze.Found{ChangeFreeze: lock("shop", "a", 8)}
	g.Expect(found.Excepts(authenticationv1.UserInfo{Username: "alice"})).To(BeFalse())
	found.Spec.Except = &appv1alpha1.FreezeException{Users: []string{"alice"}, Groups: []string{"sre"}}
	g.Expect(found.Excepts(authenticationv1.UserInfo{Username: "alice"})).To(BeTrue())
	g.Expect(found.Excepts(authenticationv1.UserInfo{Username: "bob", Groups: []string{"dev", "sre"}})).To(BeTrue())
	g.Expect(found.Excepts(authenticationv1.UserInfo{Username: "sre", Groups: []string{"alice"}})).To(BeFalse())
}

func TestStatus(t *testing.T) {
	for _, row := range []struct {
		name          string
		freeze        *appv1alpha1.ChangeFreeze
		active, ready string
		until, next   time.Duration
		wait          time.Duration
	}{
		{"a lock", lock("shop", "a", 8), "True FreezeActive releases are frozen until 2026-11-27T17:00:00Z", "True Valid the freeze is in effect at its times", 7 * time.Hour, 0, 7 * time.Hour},
		{"one that warns", lock("shop", "a", 8, acting("Warn")), "True FreezeActive releases get a warning until 2026-11-27T17:00:00Z", "True Valid the freeze is in effect at its times", 7 * time.Hour, 0, 7 * time.Hour},
		{"a lock that is over", lock("shop", "a", 1), "False FreezeOver it doesn't begin again", "True Valid the freeze is in effect at its times", 0, 0, 0},
		{"a window that is on", lock("shop", "a", 0, fridays("09:00", "11:00")), "True FreezeActive releases are frozen until 2026-11-27T11:00:00Z",
			"True Valid the freeze is in effect at its times", time.Hour, (7*24 - 1) * time.Hour, time.Hour},
		{"a window ahead", lock("shop", "a", 0, fridays("16:00", "18:00")), "False FreezeAhead it begins at 2026-11-27T16:00:00Z",
			"True Valid the freeze is in effect at its times", 0, 6 * time.Hour, 6 * time.Hour},
		{"one of namespaces outside that of the operator", lock("shop", "a", 8, selecting), "False Invalid the spec is unusable: see the condition Ready",
			"False Invalid spec.namespaces: Forbidden: only a ChangeFreeze in namespace system selects namespaces; without the field it freezes its own namespace, shop", 0, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			status, wait := freeze.Status(row.freeze, "system", 3, now)
			g.Expect(wait).To(Equal(row.wait))
			g.Expect(status.Active).To(Equal(row.until > 0))
			g.Expect(status.Parked).To(BeEquivalentTo(3))
			g.Expect(status.ObservedGeneration).To(BeEquivalentTo(2))
			described := map[string]string{}
			for _, condition := range status.Conditions {
				described[condition.Type] = string(condition.Status) + " " + condition.Reason + " " + condition.Message
			}
			g.Expect(described).To(Equal(map[string]string{"Active": row.active, "Ready": row.ready}))
			for is, after := range map[*metav1.Time]time.Duration{status.Until: row.until, status.Next: row.next} {
				if after > 0 {
					g.Expect(is.Time).To(BeTemporally("==", now.Add(after)))
				} else {
					g.Expect(is).To(BeNil())
				}
			}
		})
	}
}

func TestReaderOfReportsWhatItCanNotRead(t *testing.T) {
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	central := lock("system", "lock", 8, selecting)
	for _, row := range []struct {
		name  string
		funcs interceptor.Funcs
		want  string
	}{
		{"freezes", interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no answer")
		}}, "listing the ChangeFreezes in namespace shop: no answer"},
		{"the namespace", interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		}}, "reading namespace shop: no answer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(central).WithInterceptorFuncs(row.funcs).Build()
			_, err := freeze.Reader{Namespaces: kube, Freezes: kube, Namespace: "system"}.Of(t.Context(), deployment.Kind{}, web, now)
			NewWithT(t).Expect(err).To(MatchError(row.want))
			if row.funcs.List != nil {
				_, err := freeze.Reader{Freezes: kube}.IsOn(t.Context(), "shop/lock", now)
				NewWithT(t).Expect(err).To(MatchError(row.want))
			}
		})
	}
	for name, namespaces := range map[string][]client.Object{
		"not opted in": {central}, "without labels": {central, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}},
	} {
		t.Run("no freeze of a namespace that is "+name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(namespaces...).Build()
			found, err := freeze.Reader{Namespaces: kube, Freezes: kube, Namespace: "system"}.Of(t.Context(), deployment.Kind{}, web, now)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(found).To(BeEmpty())
		})
	}
}
