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

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func template(image string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "web", "admission-webhook-altershield.antgroup.com/version": image}},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name": "web", "image": image, "env": []any{map[string]any{"name": "PASSWORD", "value": "secret of " + image}},
		}}},
	}
}

func TestChangesOfPodTemplatesHideSecretsAndStamps(t *testing.T) {
	g := NewWithT(t)
	before, err := view.KeptContent(map[string]any{"spec": map[string]any{"template": template("web:1")}})
	g.Expect(err).NotTo(HaveOccurred())
	after := view.ContentOf(map[string]any{"spec": map[string]any{"template": template("web:2")}}, before)
	g.Expect(view.ChangesOf(before, after)).To(Equal([]string{
		"spec.containers[web].image: web:1 -> web:2", "spec.containers[web].env[PASSWORD].value: changed, value not shown",
	}))
	g.Expect(view.ChangesOf(before, before)).To(BeEmpty())
	earlier := template("web:1") // as an API server before Kubernetes 1.34 returns it
	earlier["metadata"].(map[string]any)["creationTimestamp"] = nil
	g.Expect(view.ChangesOf(before, view.Content{"/spec/template": earlier})).To(BeEmpty())
	g.Expect(view.ChangesOf(view.Content{"/spec/other": template("web:1")}, view.Content{"/spec/other": earlier})).To(BeEmpty())
	g.Expect(template("web:1")["metadata"]).To(HaveKeyWithValue("labels", HaveLen(2)))
}

func TestChangesOfOtherContentsAreByTheirParts(t *testing.T) {
	g := NewWithT(t)
	before, err := view.KeptContent(map[string]any{"content": map[string]any{
		"/spec/jobTemplate/spec/template": template("web:1"), "/spec/schedule": "* * * * *", "/spec/timeZone": "UTC",
	}})
	g.Expect(err).NotTo(HaveOccurred())
	after := view.ContentOf(map[string]any{"spec": map[string]any{
		"schedule": "0 * * * *", "jobTemplate": map[string]any{"spec": map[string]any{"template": template("web:2")}},
	}}, before)
	g.Expect(view.ChangesOf(before, after)).To(ContainElements(
		ContainSubstring("spec.containers[web].image: web:1 -> web:2"), ContainSubstring("spec.schedule"), ContainSubstring("spec.timeZone"),
	))
}

func TestKeptContentOfAnythingElseIsAnError(t *testing.T) {
	for _, data := range []map[string]any{nil, {"spec": map[string]any{}}, {"spec": "text"}} {
		_, err := view.KeptContent(data)
		NewWithT(t).Expect(err).To(MatchError("the kept content has no pod template"))
	}
}

func TestParseReleases(t *testing.T) {
	g := NewWithT(t)
	from, to, err := view.ParseReleases("5..7")
	g.Expect([]any{from, to, err}).To(Equal([]any{int64(5), int64(7), nil}))
	for _, one := range []string{"5", "5.."} {
		from, to, err = view.ParseReleases(one)
		g.Expect([]any{from, to, err}).To(Equal([]any{int64(5), int64(0), nil}))
	}
	for _, wrong := range []string{"", "x", "0", "5..x", "..7", "5..-1"} {
		_, _, err = view.ParseReleases(wrong)
		g.Expect(err).To(MatchError(ContainSubstring("names no releases")), wrong)
	}
}
