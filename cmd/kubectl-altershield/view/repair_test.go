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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func TestRepairIsARelease(t *testing.T) {
	g := NewWithT(t)
	known := facts(workload(7, "49", isSuspended), record(7, "49", suspended))
	request, err := view.RepairOf(known, view.Trial{Verdict: view.Admitted, Release: 8, Version: version("c0"), Changes: []string{"image"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(request).To(Equal(view.Request{
		Kind: "RepairRequest", APIVersion: "cli.altershield/v1", Namespace: "shop", Workload: "web", Object: "deployment/web",
		From: view.Side{Release: 7, Version: version("49")}, To: view.Side{Release: 8, Version: version("c0")}, Changes: []string{"image"},
	}))
	for verdict, says := range map[view.Verdict]string{
		"NoRelease":     "the content of deployment/web is the same already, so that this is no repair",
		"NotControlled": "deployment/web isn't under change control, so that it needs no repair: use kubectl apply or kubectl set image",
	} {
		_, err := view.RepairOf(known, view.Trial{Verdict: verdict})
		g.Expect(err).To(MatchError(says))
	}
}

func TestMarkRepairKeepsTheOtherLabels(t *testing.T) {
	g := NewWithT(t)
	object := &unstructured.Unstructured{Object: map[string]any{}}
	view.MarkRepair(object, "INC-99")
	g.Expect(object.GetLabels()).To(Equal(map[string]string{"altershield.defense.antgroup.com/ignored-suspend": "true"}))
	object.SetLabels(map[string]string{"app": "web"})
	view.MarkRepair(object, "")
	g.Expect(object.GetLabels()).To(Equal(map[string]string{"app": "web", "altershield.defense.antgroup.com/ignored-suspend": "true"}))
}

func TestImagesAreSetByContainer(t *testing.T) {
	containers := func(names ...string) []any {
		var list []any
		for _, name := range names {
			list = append(list, map[string]any{"name": name, "image": name + ":1"})
		}
		return list
	}
	pods := map[string]any{"containers": containers("web", "proxy"), "initContainers": containers("init")}
	template := map[string]any{"template": map[string]any{"spec": pods}}
	for name, spec := range map[string]map[string]any{
		"a Deployment": template, "a CronJob": {"jobTemplate": map[string]any{"spec": template}},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		NewWithT(t).Expect(view.SetImages(object, []view.Image{{"proxy", "proxy:2"}, {"init", "init:2"}})).To(Succeed(), name)
		NewWithT(t).Expect(pods["containers"].([]any)[0]).To(HaveKeyWithValue("image", "web:1"), name)
		NewWithT(t).Expect(pods["containers"].([]any)[1]).To(HaveKeyWithValue("image", "proxy:2"), name)
		NewWithT(t).Expect(pods["initContainers"].([]any)[0]).To(HaveKeyWithValue("image", "init:2"), name)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": template}}
	NewWithT(t).Expect(view.SetImages(object, []view.Image{{"db", "db:2"}})).To(MatchError("it has no container db; its containers are web, proxy, init"))
	NewWithT(t).Expect(view.SetImages(&unstructured.Unstructured{}, nil)).To(MatchError("it has no pod template that --image knows: use -f"))
}

func TestParseImage(t *testing.T) {
	g := NewWithT(t)
	g.Expect(view.ParseImage("web=registry:5000/web@sha256:1=2")).To(Equal(view.Image{Container: "web", Image: "registry:5000/web@sha256:1=2"}))
	for _, wrong := range []string{"web", "=web:2", "web="} {
		_, err := view.ParseImage(wrong)
		g.Expect(err).To(MatchError(ContainSubstring("is no image of a container: use CONTAINER=IMAGE")), wrong)
	}
}
