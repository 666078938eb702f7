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
package workload_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// scheduled is a kind whose content is a pod template and a field.
type scheduled struct{ workload.Kind }

func (scheduled) Fields() [][]string { return [][]string{{"spec", "schedule"}, {"spec", "timeZone"}} }

type fields = map[string]any

// job returns a scheduled workload.
func job(image string, spec fields) fields {
	spec["template"] = fields{
		"metadata": fields{"labels": fields{"app": "job", "admission-webhook-altershield.antgroup.com/version": "v1"}},
		"spec":     fields{"containers": []any{fields{"name": "job", "image": image}}},
	}
	return fields{"spec": spec}
}

func TestContentOf(t *testing.T) {
	g, object := NewWithT(t), job("busybox", fields{"schedule": "@daily", "suspend": true})
	template := fields{"metadata": fields{"labels": fields{"app": "job"}}, "spec": object["spec"].(fields)["template"].(fields)["spec"]}
	g.Expect(workload.ContentOf(deployment.Kind{}, object)).To(Equal(workload.Content{"/spec/template": template}))
	g.Expect(workload.ContentOf(scheduled{deployment.Kind{}}, object)).To(Equal(workload.Content{"/spec/template": template, "/spec/schedule": "@daily"}))
}

func TestAppliedContent(t *testing.T) {
	const key = "kubectl.kubernetes.io/last-applied-configuration"
	g, kind := NewWithT(t), scheduled{deployment.Kind{}}
	g.Expect(workload.AppliedContent(kind, nil)).To(BeNil())
	g.Expect(workload.AppliedContent(kind, map[string]string{key: "no JSON"})).To(BeNil())
	g.Expect(workload.AppliedContent(kind, map[string]string{key: `{"spec":{"schedule":"@daily"}}`})).To(Equal(workload.Content{"/spec/schedule": "@daily"}))
	g.Expect(workload.AppliedContent(deployment.Kind{}, map[string]string{key: `{"spec":{"template":{"spec":{}}}}`})).To(
		Equal(workload.Content{"/spec/template": fields{"spec": fields{}}}))
	g.Expect(workload.AppliedContent(deployment.Kind{}, map[string]string{key: `{"spec":{}}`})).To(BeNil())
}

func TestContentUnmarshalJSONKeepsIntegers(t *testing.T) {
	g, content := NewWithT(t), workload.Content{"/spec/size": int64(9007199254740993)}
	text, err := json.Marshal(content)
	g.Expect(err).NotTo(HaveOccurred())
	var kept workload.Content
	g.Expect(json.Unmarshal(text, &kept)).To(Succeed())
	g.Expect(kept.Equal(content)).To(BeTrue())
	g.Expect(kept.Version()).To(Equal("f0a0f9850abb47ddf7f3bfab4be0bafa"))
}

func TestVersionOfIsTheDocumentsForOneTemplate(t *testing.T) {
	g, object := NewWithT(t), job("busybox", fields{"schedule": "@daily"})
	of := func(kind workload.Kind) string {
		version, err := workload.VersionOf(kind, workload.ContentOf(kind, object))
		g.Expect(err).NotTo(HaveOccurred())
		return version
	}
	documented, err := workload.Template(deployment.Kind{}, object).Version()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(of(deployment.Kind{})).To(Equal(documented))
	g.Expect(of(scheduled{deployment.Kind{}})).To(Equal("6d761d69013b0b60209fef5e2e8a28a5"))
}

func TestIsReleaseComparesTheContent(t *testing.T) {
	for _, row := range []struct {
		name             string
		updated          fields
		template, fields bool
	}{
		{"nothing", job("busybox", fields{"schedule": "@daily"}), false, false},
		{"another field", job("busybox", fields{"schedule": "@daily", "suspend": true}), false, false},
		{"the template", job("busybox:1.37", fields{"schedule": "@daily"}), true, true},
		{"a field", job("busybox", fields{"schedule": "@hourly"}), false, true},
		{"a field that was missing", job("busybox", fields{"schedule": "@daily", "timeZone": "Asia/Shanghai"}), false, true},
	} {
		g, old := NewWithT(t), job("busybox", fields{"schedule": "@daily"})
		g.Expect(workload.IsRelease(deployment.Kind{}, old, row.updated)).To(Equal(row.template), row.name)
		g.Expect(workload.IsRelease(scheduled{deployment.Kind{}}, old, row.updated)).To(Equal(row.fields), row.name)
		g.Expect(workload.IsRelease(deployment.Kind{}, nil, row.updated)).To(BeTrue(), row.name)
	}
}

func TestRestore(t *testing.T) {
	g, kind := NewWithT(t), scheduled{deployment.Kind{}}
	kept := workload.ContentOf(kind, job("busybox", fields{"schedule": "@daily"}))
	changed := job("busybox:1.37", fields{"timeZone": "Asia/Shanghai", "suspend": true})
	g.Expect(workload.Restore(kind, changed, kept)).To(Equal([]workload.Operation{
		{Op: "remove", Path: "/spec/timeZone"},
		{Op: "add", Path: "/spec/schedule", Value: "@daily"},
		{Op: "replace", Path: "/spec/template", Value: kept["/spec/template"]},
	}))
	g.Expect(workload.Restore(kind, job("busybox", fields{"schedule": "@daily"}), kept)).To(BeEmpty())
}

func TestMayChange(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.MayChange(deployment.Kind{})).To(Equal("object.?spec.?template != oldObject.?spec.?template"))
	g.Expect(workload.MayChange(scheduled{deployment.Kind{}})).To(Equal(
		"(object.?spec.?template != oldObject.?spec.?template || object.?spec.?schedule != oldObject.?spec.?schedule" +
			" || object.?spec.?timeZone != oldObject.?spec.?timeZone)"))
}
