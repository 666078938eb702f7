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

package view_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func changeFreeze(namespace, name string, active bool) appv1alpha1.ChangeFreeze {
	return appv1alpha1.ChangeFreeze{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appv1alpha1.ChangeFreezeSpec{Action: "Park", Reason: "holidays"},
		Status:     appv1alpha1.ChangeFreezeStatus{Active: active, Parked: 2, Until: &metav1.Time{Time: now}},
	}
}

func TestFreezesThatAreOnComeFirst(t *testing.T) {
	g := NewWithT(t)
	lock := changeFreeze("shop", "lock", true)
	lock.Spec.Expires = &metav1.Duration{Duration: time.Hour}
	list := view.FreezesOf([]appv1alpha1.ChangeFreeze{changeFreeze("shop", "b", false), changeFreeze("shop", "a", false), changeFreeze("pay", "c", false), lock})
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Namespace+"/"+item.Name)
	}
	g.Expect(names).To(Equal([]string{"shop/lock", "pay/c", "shop/a", "shop/b"}))
	g.Expect(list.Items[0]).To(Equal(view.Freeze{
		Namespace: "shop", Name: "lock", Lock: true, Action: "Park", Active: true, Until: &metav1.Time{Time: now}, Parked: 2, Reason: "holidays",
	}))
	g.Expect(list.Items[1].Lock).To(BeFalse())
}

func TestLockIsAChangeFreezeThatExpires(t *testing.T) {
	g := NewWithT(t)
	lock := view.Lock{Namespace: "shop", Name: "inc-99", Expires: 2 * time.Hour, Action: "Deny", Running: "Hold", Reason: "INC-99"}
	request, object := view.LockOf(lock)
	g.Expect(request).To(Equal(view.Request{
		Kind: "FreezeLockRequest", APIVersion: "cli.altershield/v1", Namespace: "shop", Object: "changefreeze/inc-99", Reason: "INC-99",
		Changes: []string{"workloads: all", "action: Deny", "running: Hold", "expires: 2h0m0s"},
	}))
	g.Expect(object.Spec).To(Equal(appv1alpha1.ChangeFreezeSpec{Expires: &metav1.Duration{Duration: 2 * time.Hour}, Action: "Deny", Running: "Hold", Reason: "INC-99"}))
	lock.Workloads = []appv1alpha1.WorkloadReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, {APIVersion: "batch/v1", Kind: "Job", Name: "load"}}
	request, object = view.LockOf(lock)
	g.Expect(request.Changes[0]).To(Equal("workloads: deployment/web, job/load"))
	g.Expect(object.Spec.Workloads).To(Equal([]appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps", Name: "web"}, {Kind: "Job.batch", Name: "load"}}))
}

func TestUnlockEndsALockAndNoCalendar(t *testing.T) {
	g := NewWithT(t)
	calendar := changeFreeze("shop", "friday", true)
	_, err := view.UnlockOf(&calendar)
	g.Expect(err).To(MatchError("changefreeze/friday is a calendar and no lock: kubectl delete changefreeze/friday -n shop ends it for good"))
	calendar.Spec.Expires, calendar.UID, calendar.Generation, calendar.ResourceVersion = &metav1.Duration{Duration: time.Hour}, "f-1", 3, "12"
	request, err := view.UnlockOf(&calendar)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(request.Kind).To(BeEquivalentTo("FreezeUnlockRequest"))
	g.Expect(request.Changes).To(Equal([]string{"parked: 2"}))
	g.Expect(request.At).To(Equal("f-1/3"), "another edit is another state, another release that it parks isn't")
}

func TestBreakGlassNamesWhatPasses(t *testing.T) {
	g := NewWithT(t)
	glass := view.Glass{
		Namespace: "shop", Workloads: []appv1alpha1.WorkloadReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}},
		Overrides: []string{"Freeze", "Suspension", "Approval", "Pace"}, For: time.Hour, Uses: 2, Reason: "INC-99",
	}
	request, object, err := view.BreakGlassOf(glass)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(request).To(Equal(view.Request{
		Kind: "BreakGlassRequest", APIVersion: "cli.altershield/v1", Namespace: "shop", Object: "breakglass", Reason: "INC-99",
		Changes: []string{"workloads: deployment/web", "overrides: Freeze, Suspension, Approval, Pace", "for: 1h0m0s", "uses: 2"},
	}))
	g.Expect(object.GenerateName).To(Equal("break-glass-"))
	g.Expect(object.Spec).To(Equal(appv1alpha1.BreakGlassSpec{
		Reason: "INC-99", Workloads: []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps", Name: "web"}},
		Overrides: []appv1alpha1.BreakGlassOverride{"Freeze", "Suspension", "Approval", "Pace"}, For: metav1.Duration{Duration: time.Hour}, Uses: 2,
	}))
	glass.Overrides = []string{"freeze"}
	_, _, err = view.BreakGlassOf(glass)
	g.Expect(err).To(MatchError(`"freeze" can't be overridden: use Freeze, Suspension, Approval, Pace`))
}
