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

package podtemplate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/testkit/sleep"
)

func TestVersionIsThatOfTheDocuments(t *testing.T) {
	g := NewWithT(t)
	g.Expect(versionOf(t, deployment(t))).To(Equal("c6c45d23c098bdf181853a85b60b5d74"))
	g.Expect(versionOf(t, deployment(t, repaired))).To(Equal("6a8ff823a5011291b0f02a1d83c2222d"))
}

func TestVersion(t *testing.T) {
	for _, row := range []struct {
		name string
		edit edit
		same bool
	}{
		{"is the same with a version label already there",
			templateLabel("admission-webhook-altershield.antgroup.com/version", "0123456789abcdef0123456789abcdef"), true},
		{"is the same without creationTimestamp", without("creationTimestamp", "spec", "template", "metadata"), true},
		{"is the same whatever the Deployment's own metadata", all(label("team", "a"), annotation("note", "b")), true},
		{"is the same whatever the replicas", field(7, "replicas", "spec"), true},
		{"is the same when paused", field(true, "paused", "spec"), true},
		{"changes with a label", templateLabel("team", "a"), false},
		{"changes with the value of a label", templateLabel("test", "124"), false},
		{"changes with an annotation", field("2026-11-21T10:00:00Z", "kubectl.kubernetes.io/restartedAt", "spec", "template", "metadata", "annotations"), false},
		{"changes with the spec", field(31, "terminationGracePeriodSeconds", "spec", "template", "spec"), false},
		{"changes with a field that our types don't know", field("x", "fieldOfTomorrow", "spec", "template", "spec"), false},
		{"changes with unknown metadata", field("x", "fieldOfTomorrow", "spec", "template", "metadata"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			same := Equal("c6c45d23c098bdf181853a85b60b5d74")
			if !row.same {
				same = Not(same)
			}
			NewWithT(t).Expect(versionOf(t, deployment(t, row.edit))).To(same)
		})
	}
}

func TestVersionCountsFieldsThatOurTypesDoNotKnow(t *testing.T) {
	g := NewWithT(t)
	one := versionOf(t, deployment(t, field("x", "fieldOfTomorrow", "spec", "template", "spec")))
	two := versionOf(t, deployment(t, field("y", "fieldOfTomorrow", "spec", "template", "spec")))
	g.Expect(one).NotTo(Equal(two))
	g.Expect(one).To(MatchRegexp("^[0-9a-f]{32}$"))
}

func TestVersionDoesNotDependOnTheOrderOfKeys(t *testing.T) {
	g := NewWithT(t)
	turned := strings.Replace(sleep.Manifest, `"app": "sleep", "test": "123"`, `"test": "123", "app": "sleep"`, 1)
	turned = strings.Replace(turned, `"name": "sleep", "image": "busybox", `, `"image": "busybox", "name": "sleep", `, 1)
	g.Expect(turned).NotTo(Equal(sleep.Manifest))
	other := object{}
	g.Expect(json.Unmarshal([]byte(turned), &other)).To(Succeed())
	g.Expect(versionOf(t, other)).To(Equal("c6c45d23c098bdf181853a85b60b5d74"))
}

func TestVersionFailsWhereOurTypesCanNotReadTheTemplate(t *testing.T) {
	g := NewWithT(t)
	_, err := Of(deployment(t, field("many", "terminationGracePeriodSeconds", "spec", "template", "spec"))).Version()
	g.Expect(err).To(MatchError("spec.template.spec.terminationGracePeriodSeconds: the value must not be a string"))
}

func TestTemplateStamped(t *testing.T) {
	for name, row := range map[string]struct{ template, want Template }{
		"beside its labels": {Template{"metadata": map[string]any{"labels": map[string]any{"app": "web"}, "annotations": map[string]any{"note": "a"}}},
			Template{"metadata": map[string]any{"labels": map[string]any{"app": "web", "admission-webhook-altershield.antgroup.com/version": "0123"}, "annotations": map[string]any{"note": "a"}}}},
		"without metadata": {Template{"spec": "x"},
			Template{"spec": "x", "metadata": map[string]any{"labels": map[string]any{"admission-webhook-altershield.antgroup.com/version": "0123"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			g, before := NewWithT(t), fmt.Sprint(row.template)
			g.Expect(row.template.Stamped("0123")).To(Equal(row.want))
			g.Expect(fmt.Sprint(row.template)).To(Equal(before), "it is not changed")
			g.Expect(Of(map[string]any{"spec": map[string]any{"template": map[string]any(row.want)}})).To(Equal(row.template))
		})
	}
}

func TestTemplateEqual(t *testing.T) {
	for _, row := range []struct {
		name     string
		old, new edit
		same     bool
	}{
		{"when nothing differs", all(), all(), true},
		{"when only the version label differs", stamped(versionOf123, "1"), stamped("0123456789abcdef0123456789abcdef", "1"), true},
		{"when only the version label was left out", stamped(versionOf123, "1"), all(), true},
		{"when the version label was the only label", all(
			field(object{}, "labels", "spec", "template", "metadata"), stamped(versionOf123, "1")),
			without("labels", "spec", "template", "metadata"), true},
		{"when empty labels became none", field(object{}, "labels", "spec", "template", "metadata"),
			without("labels", "spec", "template", "metadata"), true},
		{"when the version label was all the metadata", all(
			field(object{}, "metadata", "spec", "template"), stamped(versionOf123, "1")), without("metadata", "spec", "template"), true},
		{"when creationTimestamp null became absent", all(), without("creationTimestamp", "spec", "template", "metadata"), true},
		{"when replicas differ", all(), field(7, "replicas", "spec"), true},
		{"not when a label differs", all(), templateLabel("test", "1234"), false},
		{"not when a label is gone", all(), without("test", "spec", "template", "metadata", "labels"), false},
		{"not when an annotation differs", all(), field("b", "a", "spec", "template", "metadata", "annotations"), false},
		{"not when the spec differs", all(), field(31, "terminationGracePeriodSeconds", "spec", "template", "spec"), false},
		{"not when a field differs that our types don't know", field("x", "fieldOfTomorrow", "spec", "template", "spec"),
			field("y", "fieldOfTomorrow", "spec", "template", "spec"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			one, two := Of(deployment(t, row.old)), Of(deployment(t, row.new))
			g.Expect(one.Equal(two)).To(Equal(row.same))
			g.Expect(two.Equal(one)).To(Equal(row.same))
		})
	}
}

func TestOfLeavesTheDeploymentAsItIs(t *testing.T) {
	g := NewWithT(t)
	given := deployment(t, stamped(versionOf123, "1"))
	_, err := Of(given).Version()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(given).To(Equal(deployment(t, stamped(versionOf123, "1"))))
}

func FuzzTheVersionOfATemplate(f *testing.F) {
	for _, seed := range []string{
		sleep.Manifest, `{}`, `null`, `{"spec":null}`, `{"spec":{"template":null}}`, `{"spec":{"template":[]}}`,
		`{"spec":{"template":{"metadata":{"labels":null}}}}`,
		`{"spec":{"template":{"metadata":{"labels":{"admission-webhook-altershield.antgroup.com/version":"x"}}}}}`,
		`{"spec":{"template":{"metadata":{"creationTimestamp":"2026-11-21T10:00:00Z"}}}}`,
		`{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"-0.5Ki"}}}]}}}}`,
		`{"spec":{"template":{"spec":{"containers":[{"ports":[{"containerPort":1e99}]}]}}}}`,
	} {
		f.Add([]byte(seed))
	}
	hex32 := regexp.MustCompile("^[0-9a-f]{32}$")
	f.Fuzz(func(t *testing.T, raw []byte) {
		given := map[string]any{}
		if json.Unmarshal(raw, &given) != nil {
			return
		}
		taken := Of(given)
		version, err := taken.Version()
		if err == nil && !hex32.MatchString(version) {
			t.Errorf("the version %q is not 32 hex digits", version)
		}
		if again, _ := Of(given).Version(); again != version || !Of(given).Equal(taken) {
			t.Errorf("the same template gives %q and %q", version, again)
		}
	})
}
