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

package uninstall

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestRemainingNamesTheCRDsThatStayWithTheReason(t *testing.T) {
	crd := func(name string, conditions ...apiextensionsv1.CustomResourceDefinitionCondition) *apiextensionsv1.CustomResourceDefinition {
		crd := &apiextensionsv1.CustomResourceDefinition{Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: conditions}}
		crd.Name = name + ".app.ops.cloud.alipay.com"
		return crd
	}
	var deleted []*metav1.PartialObjectMetadata
	for _, name := range []string{"changeworkloads", "changepods", "changerecords"} {
		definition := &metav1.PartialObjectMetadata{}
		definition.Name = name + ".app.ops.cloud.alipay.com"
		deleted = append(deleted, definition)
	}
	u := &Uninstaller{client: testkit.NewFake(t,
		crd("changeworkloads", apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue,
			Reason: "InstanceDeletionInProgress", Message: "CustomResource deletion is in progress",
		}),
		crd("changerecords"))}
	NewWithT(t).Expect(u.remaining(t.Context(), deleted)).To(Equal(
		"; changeworkloads.app.ops.cloud.alipay.com: CustomResource deletion is in progress; changerecords.app.ops.cloud.alipay.com"))
}
