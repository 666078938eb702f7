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

package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/traas-stack/altershield-operator/hack/manifests"
)

func TestEachSceneHasANameOfItsOwnThatHelmTakes(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]bool{}
	for _, s := range scenes() {
		name := (&stage{}).app(s).name
		g.Expect(seen).NotTo(HaveKey(name))
		seen[name] = true
		g.Expect(validation.IsDNS1123Label(name)).To(BeEmpty(), name)
		g.Expect(len(name)).To(BeNumerically("<=", 53), name) // the most that Helm takes
	}
}

func TestEachToolBringsADeploymentAStatefulSetAndADeclaredKind(t *testing.T) {
	g := NewWithT(t)
	kinds := map[string][]string{}
	for _, s := range scenes() {
		objects, err := manifests.Decode(strings.NewReader(s.manifest))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(objects).To(HaveLen(1))
		kinds[s.tool] = append(kinds[s.tool], objects[0].GetKind())
	}
	for _, tool := range []string{"argocd", "flux", "helm"} {
		g.Expect(kinds[tool]).To(ContainElements("Deployment", "StatefulSet", "KubernetesCluster"), tool)
	}
}

func TestChooseTakesTheScenesOfAToolWhoseNamesMatch(t *testing.T) {
	g := NewWithT(t)
	all := func() []scene {
		return []scene{{tool: "flux", name: "stuck"}, {tool: "helm", name: "stuck"}, {tool: "helm", name: "paced"}}
	}
	g.Expect(choose(all(), "", "")).To(Equal(all()))
	g.Expect(choose(all(), "helm", "")).To(Equal(all()[1:]))
	g.Expect(choose(all(), "helm", "^st")).To(Equal(all()[1:2]))
	for _, args := range [][2]string{{"Flux", ""}, {"", "nothing"}, {"", "("}} {
		_, err := choose(all(), args[0], args[1])
		g.Expect(err).To(HaveOccurred(), "%v", args)
	}
}
