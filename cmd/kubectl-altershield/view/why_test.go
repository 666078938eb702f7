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
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func TestWhyNamesFailedPodsRefusedVersionsAndWays(t *testing.T) {
	g := NewWithT(t)
	var pods []string
	for i := range 7 {
		pods = append(pods, fmt.Sprintf("web-%d", i))
	}
	failing := record(7, "49", suspended, failedPods(pods...), counts(20, 4, 9))
	why := view.WhyOf(facts(workload(7, "49", isSuspended, wentBack(rollback(6, 0, "ac"))), failing), now)
	g.Expect(why.Kind).To(Equal("Why"))
	g.Expect(why.Failures).To(HaveLen(5))
	g.Expect(why.MoreFailures).To(Equal(4))
	g.Expect(why.Refused).To(HaveLen(1))
	g.Expect(why.Refused[0].Number).To(BeEquivalentTo(6))
	g.Expect(why.Ways).NotTo(BeEmpty())
}

func TestWhySaysOnceWhatSeveralPodsFailedFor(t *testing.T) {
	g := NewWithT(t)
	failing := record(7, "49", suspended, failedPods("web-7", "web-8"))
	failing.Status.DefenseCheckFailPods[0].Message = "5xx above 2%"
	failing.Status.Conditions[0].Message = "pod web-5 failed its check: 5xx above 2%; pod web-6 failed its check: 5xx above 1%; " +
		"pod web-7 failed its check: 5xx above 1%; pod web-8 failed its check: 5xx above 1%"
	why := func() string { return view.WhyOf(facts(workload(7, "49", isSuspended), failing), now).Present.Why }
	g.Expect(why()).To(Equal("pod web-5 failed its check: 5xx above 2%; 3 pods (web-6, web-7, web-8) failed their check: 5xx above 1%"))
	failing.Status.Conditions[0].Message = "another sentence"
	g.Expect(why()).To(Equal("another sentence"))
}

func TestTrialOfAnUpdate(t *testing.T) {
	released := annotated("released-by", `{"user":"alice","time":"2026-11-22T16:41:52Z","version":"v","release":8,"changes":["image"]}`)
	unstamped := workload(7, "49")
	unstamped.SetLabels(nil)
	image := func(image string) func(*unstructured.Unstructured) {
		return func(object *unstructured.Unstructured) {
			object.Object["spec"].(map[string]any)["template"] = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": image}}}}
		}
	}
	scaled := func(object *unstructured.Unstructured) { object.Object["spec"].(map[string]any)["replicas"] = int64(3) }
	cronJob := func(schedule string) *unstructured.Unstructured {
		return workload(7, "49", func(object *unstructured.Unstructured) {
			object.SetAPIVersion("batch/v1")
			object.SetKind("CronJob")
			object.Object["spec"] = map[string]any{"schedule": schedule, "jobTemplate": map[string]any{}}
		})
	}
	clone := func(image func(*unstructured.Unstructured)) *unstructured.Unstructured {
		return workload(7, "49", image, func(object *unstructured.Unstructured) { object.SetAPIVersion("apps.kruise.io/v1alpha1") })
	}
	at7 := view.Side{Release: 7, Version: version("49")}
	same := view.Trial{Verdict: "NoRelease", Release: 7, Version: version("49"), From: at7}
	for _, row := range []struct {
		name           string
		before, answer *unstructured.Unstructured
		trial          view.Trial
	}{
		{"a release", workload(7, "49"), workload(8, "bb", released), view.Trial{Verdict: "Admitted", Release: 8, Version: version("bb"), From: view.Side{Release: 7, Version: version("49")}, Changes: []string{"image"}}},
		{"a new workload", nil, workload(1, "bb"), view.Trial{Verdict: "Admitted", Release: 1, Version: version("bb")}},
		{"the same content", workload(7, "49"), workload(7, "49"), view.Trial{Verdict: "NoRelease", Release: 7, Version: version("49"), From: view.Side{Release: 7, Version: version("49")}}},
		{"without change control", unstamped, unstamped, view.Trial{Verdict: "NotControlled"}},
		{"after change control", workload(7, "49", image("web:1.9")), workload(7, "49", image("web:2.0")), view.Trial{Verdict: "NotControlled"}},
		{"a schedule after change control", cronJob("0 * * * *"), cronJob("5 * * * *"), view.Trial{Verdict: "NotControlled"}},
		{"the same schedule", cronJob("0 * * * *"), cronJob("0 * * * *"), same},
		{"fewer pods", workload(7, "49", image("web:1.9")), workload(7, "49", image("web:1.9"), scaled), same},
		{"a declared kind", clone(image("web:1.9")), clone(image("web:2.0")), same},
		{"a frozen one", workload(7, "49"), workload(8, "bb", annotated("frozen", `{"release":8,"by":["shop/weekend"],"concurrent":1}`)),
			view.Trial{Verdict: "Admitted", Release: 8, Version: version("bb"), From: view.Side{Release: 7, Version: version("49")}, Frozen: []string{"shop/weekend"}}},
		{"a paced one", workload(7, "49"), workload(8, "bb", annotated("paced", `{"release":8,"policy":"shop/careful","lever":"Gates"}`)),
			view.Trial{Verdict: "Admitted", Release: 8, Version: version("bb"), From: view.Side{Release: 7, Version: version("49")}, Paced: "shop/careful"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(view.TrialOf(row.before, row.answer)).To(Equal(row.trial))
		})
	}
}

func TestRejectedTellsADenialFromAChangeMeanwhile(t *testing.T) {
	const denied = `admission webhook "owners.example.com" denied the request: no owner`
	field := &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "FieldManagerConflict", Field: ".spec.replicas"}}}
	for name, row := range map[string]struct {
		status   metav1.Status
		rejected bool
	}{
		"changed meanwhile":           {metav1.Status{Code: 409, Reason: "Conflict", Message: "the object has been modified"}, false},
		"denied as a conflict":        {metav1.Status{Code: 409, Reason: "Conflict", Message: denied}, true},
		"another owner of the fields": {metav1.Status{Code: 409, Reason: "Conflict", Message: "conflict with \"helm\"", Details: field}, true},
		"exists already":              {metav1.Status{Code: 409, Reason: "AlreadyExists", Message: "it exists"}, true},
	} {
		_, rejected := view.Rejected(row.status)
		NewWithT(t).Expect(rejected).To(Equal(row.rejected), name)
	}
}

func TestRejectedTellsADenialFromAMissingRight(t *testing.T) {
	const right = `deployments.apps "web" is forbidden: User "bob" cannot patch resource "deployments" in API group "apps" in the namespace "shop"`
	for _, row := range []struct {
		code     int32
		message  string
		rejected bool
	}{
		{403, `admission webhook "vdeployment.kb.io" denied the request: deployment web is suspended`, true},
		{403, `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`, true},
		{403, right, false},
		{422, "Deployment.apps \"web\" is invalid", true},
		{401, "Unauthorized", false},
		{404, "not found", false},
		{429, "too many", false},
		{500, "internal", false},
	} {
		trial, rejected := view.Rejected(metav1.Status{Code: row.code, Message: row.message})
		NewWithT(t).Expect(rejected).To(Equal(row.rejected), row.message)
		if rejected {
			NewWithT(t).Expect(trial).To(Equal(view.Trial{Verdict: "Denied", Sentence: row.message}))
		}
	}
}
