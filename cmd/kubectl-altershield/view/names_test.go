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

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func TestParseName(t *testing.T) {
	for argument, names := range map[string][]view.Name{
		"web":                        {{Name: "web"}},
		"deployment/web":             {{Kind: "deployment", Name: "web"}},
		"sts/web":                    {{Kind: "sts", Name: "web"}},
		"Deployments.apps/web":       {{Kind: "Deployments.apps", Name: "web"}},
		"clonesets.apps.kruise.io/a": {{Kind: "clonesets.apps.kruise.io", Name: "a"}},
		"shop/web":                   {{Kind: "shop", Name: "web"}, {Namespace: "shop", Name: "web"}},
		"shop/statefulset/web":       {{Namespace: "shop", Kind: "statefulset", Name: "web"}},
	} {
		NewWithT(t).Expect(view.ParseName(argument)).To(Equal(names), argument)
	}
	for _, argument := range []string{"", "/web", "web/", "a/b/c/d"} {
		_, err := view.ParseName(argument)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("names no workload: use NAME")), argument)
	}
}

func TestNameIsOfARecord(t *testing.T) {
	labelled := func(kind, label, value string) appv1alpha1.ChangeWorkload {
		return record(1, "a1", of("shop", kind, "web"), func(record *appv1alpha1.ChangeWorkload) { record.Labels = map[string]string{label: value} })
	}
	deployment := labelled("Deployment", "app.kubernetes.io/deployment-name", "web")
	set := labelled("StatefulSet", "altershield.defense.antgroup.com/workload", "statefulsets.web")
	proxy := labelled("Proxy", "altershield.defense.antgroup.com/workload", "proxies.web")
	odd := labelled("Fish", "altershield.defense.antgroup.com/workload", "shoal.web")
	for _, row := range []struct {
		name  view.Name
		known appv1alpha1.ChangeWorkload
		is    bool
	}{
		{view.Name{Name: "web"}, deployment, true},
		{view.Name{Name: "web"}, set, true},
		{view.Name{Name: "cart"}, set, false},
		{view.Name{Kind: "deploy", Name: "web"}, deployment, true},
		{view.Name{Kind: "deploy", Name: "web"}, set, false},
		{view.Name{Kind: "sts", Name: "web"}, set, true},
		{view.Name{Kind: "StatefulSet", Name: "web"}, set, true},
		{view.Name{Kind: "statefulsets.apps", Name: "web"}, set, true},
		{view.Name{Kind: "statefulset.v1.apps", Name: "web"}, set, true},
		{view.Name{Kind: "statefulset.apps.kruise.io", Name: "web"}, set, false},
		{view.Name{Kind: "proxy", Name: "web"}, proxy, true},
		{view.Name{Kind: "proxy", Name: "web"}, set, false},
		{view.Name{Kind: "fish", Name: "web"}, odd, true},
		{view.Name{Kind: "fish.apps", Name: "web"}, odd, true},
	} {
		NewWithT(t).Expect(row.name.Of([]appv1alpha1.ChangeWorkload{row.known})).To(HaveLen(map[bool]int{true: 1}[row.is]), row.name.String())
	}
}

func TestArgumentNamesNoOtherWorkload(t *testing.T) {
	for argument, of := range map[string]appv1alpha1.WorkloadReference{
		"deployment/web":                 {APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		"deployment.example.com/web":     {APIVersion: "example.com/v1", Kind: "Deployment", Name: "web"},
		"statefulset.apps.kruise.io/web": {APIVersion: "apps.kruise.io/v1beta1", Kind: "StatefulSet", Name: "web"},
		"cloneset.apps.kruise.io/web":    {APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web"},
		"rollout.argoproj.io/web":        {APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "web"},
		"rollout.rollouts.kruise.io/web": {APIVersion: "rollouts.kruise.io/v1beta1", Kind: "Rollout", Name: "web"},
	} {
		NewWithT(t).Expect(view.Argument(of)).To(Equal(argument))
	}
}

func TestNameSelectsTheLabelsOfRecords(t *testing.T) {
	g := NewWithT(t)
	deployments, others := view.Name{Name: "web"}.Labels()
	g.Expect(deployments).To(Equal([]string{"web"}))
	g.Expect(others).To(Equal([]string{"statefulsets.web", "daemonsets.web", "cronjobs.web", "jobs.web"}))
	deployments, others = view.Name{Kind: "ds", Name: "web"}.Labels()
	g.Expect(deployments).To(BeEmpty())
	g.Expect(others).To(Equal([]string{"daemonsets.web"}))
}

func TestNameGroupsRecordsByWorkload(t *testing.T) {
	g := NewWithT(t)
	records := []appv1alpha1.ChangeWorkload{record(7, "49"), record(5, "a1"), record(1, "d1", of("shop", "StatefulSet", "web")), record(1, "e1", of("shop", "StatefulSet", "db"))}
	byKind := view.Name{Name: "web"}.Of(records)
	g.Expect(byKind).To(HaveLen(2))
	g.Expect(byKind[schema.GroupKind{Group: "apps", Kind: "Deployment"}]).To(HaveLen(2))
	g.Expect(view.Name{Name: "web", Kind: "sts"}.Of(records)).To(HaveLen(1))
}

func TestSelectorHasTheLabelOfTheWorkload(t *testing.T) {
	g := NewWithT(t)
	deployment, set, none := record(1, "a1"), record(1, "d1", of("shop", "StatefulSet", "web")), record(1, "a1")
	none.Labels = nil
	g.Expect(view.Selector(&deployment)).To(Equal(map[string]string{"app.kubernetes.io/deployment-name": "web"}))
	g.Expect(view.Selector(&set)).To(Equal(map[string]string{"altershield.defense.antgroup.com/workload": "statefulsets.web"}))
	g.Expect(view.Selector(&none)).To(BeNil())
}

func TestWaysNeedTheResourceOfTheKind(t *testing.T) {
	object := workload(7, "49", isSuspended)
	known := facts(object, record(7, "d1", of("shop", "Proxy", "web"), func(record *appv1alpha1.ChangeWorkload) {
		record.Labels["altershield.defense.antgroup.com/workload"] = "proxies.web"
	}))
	NewWithT(t).Expect(view.StatusOf(known, now).Ways[0].Needs.Resource).To(Equal("proxies"))
	known.Records, known.Reference.Kind = []appv1alpha1.ChangeWorkload{record(7, "d1")}, "Gadget"
	NewWithT(t).Expect(view.StatusOf(known, now).Ways[0].Needs.Resource).To(Equal("gadgets"), "a guess where nothing names it")
}
