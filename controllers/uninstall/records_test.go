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
	"context"
	"io"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
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

func TestUninstallerTellsThatAWebhookDeniesItsWritesWhateverTheCode(t *testing.T) {
	record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Finalizers: []string{"altershield.defense.antgroup.com/change-order"}}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "operator", Labels: map[string]string{"app.kubernetes.io/name": "altershield-operator"}}}
	code := int32(404)
	u := &Uninstaller{out: io.Discard, Options: Options{Namespace: "operator"}, client: interceptor.NewClient(testkit.NewFake(t, record, namespace), interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return testkit.Denied(code)
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return testkit.Denied(code)
		},
	})}
	remove := func(ctx context.Context) error {
		kind := schema.GroupVersionKind{Group: "app.ops.cloud.alipay.com", Version: "v1alpha1", Kind: "ChangeWorkload"}
		_, err := u.remove(ctx, kind, func(string) bool { return true })
		return err
	}
	finalizers := func(ctx context.Context) error {
		_, err := u.removeFinalizers(ctx)
		return err
	}
	for problem, write := range map[string]func(context.Context) error{
		"deleting ChangeWorkload web":                                         remove,
		"deleting Deployment operator/altershieldoperator-controller-manager": u.removeManager,
		"deleting namespace operator":                                         u.removeNamespace,
		"removing the finalizer of ChangeWorkload shop/web":                   finalizers,
	} {
		t.Run(problem, func(t *testing.T) {
			for _, code = range []int32{404, 409} {
				NewWithT(t).Expect(write(t.Context())).To(MatchError(problem+`: admission webhook "guard.example.com" denied the request: no`), "%d", code)
			}
		})
	}
}
