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
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
)

// check reads a manifest strictly, and checks a ChangeFreeze.
func check(t *testing.T, manifest []byte) {
	t.Helper()
	g := NewWithT(t)
	var kind metav1.TypeMeta
	g.Expect(yaml.Unmarshal(manifest, &kind)).To(Succeed())
	switch kind.Kind {
	case "ChangeFreeze":
		var object appv1alpha1.ChangeFreeze
		g.Expect(yaml.UnmarshalStrict(manifest, &object)).To(Succeed())
		_, problems := freeze.Check(&object, "altershieldoperator-system")
		g.Expect(problems).To(BeEmpty())
	case "BreakGlass":
		g.Expect(yaml.UnmarshalStrict(manifest, &appv1alpha1.BreakGlass{})).To(Succeed())
	default:
		t.Errorf("the kind is %q", kind.Kind)
	}
}

func TestCheckAcceptsTheSamples(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/freezes/*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).To(HaveLen(4))
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			manifest, err := os.ReadFile(file)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			check(t, manifest)
		})
	}
}

func TestCheckAcceptsTheManifestsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/freezes.md")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	manifests := regexp.MustCompile("(?s)```yaml\n(apiVersion: .*?)```").FindAllSubmatch(page, -1)
	NewWithT(t).Expect(manifests).To(HaveLen(2))
	for _, manifest := range manifests {
		check(t, manifest[1])
	}
}
