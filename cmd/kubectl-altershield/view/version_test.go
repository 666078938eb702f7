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

func TestVersionOfTheOperatorIsThatOfItsImage(t *testing.T) {
	for _, row := range []struct {
		plugin, image, version string
		skew                   view.Skew
	}{
		{"v0.2.0", "registry:5000/altershield-operator:v0.3.7", "v0.3.7", "None"}, {"v0.2.0-3-gabcdef", "x:0.1.0@sha256:12", "0.1.0", "None"},
		{"v0.2.0", "x:v0.4.0", "v0.4.0", "TooFar"}, {"v1.0.0", "x:v0.1.0", "v0.1.0", "TooFar"},
		{"v0.2.0", "registry:5000/altershield-operator", "", "Unknown"}, {"dev", "x:v0.2.0", "v0.2.0", "Unknown"},
	} {
		version := view.Version{Version: row.plugin}
		version.AddOperator("system", []unstructured.Unstructured{{Object: map[string]any{}}, operatorDeployment(row.image, 2)})
		NewWithT(t).Expect(version.Operator).To(Equal(&view.OperatorVersion{Namespace: "system", Image: row.image, Version: row.version}))
		NewWithT(t).Expect(version.Skew).To(Equal(row.skew), row.image)
	}
	version := view.Version{}
	version.AddOperator("system", nil)
	NewWithT(t).Expect(version.Unknown).To(Equal("there is no Deployment altershieldoperator-controller-manager in namespace system"))
}
