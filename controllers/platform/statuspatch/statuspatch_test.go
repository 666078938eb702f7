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

package statuspatch_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/statuspatch"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestWrite(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "changefreezes"}, "outage")
	for name, test := range map[string]struct {
		parked int32
		answer error
		writes int
		err    string
	}{
		"a status that didn't change isn't written": {parked: 1},
		"a status that changed is":                  {parked: 2, writes: 1},
		"an object that is gone is no error":        {parked: 2, answer: gone, writes: 1},
		"a webhook that denies it as one that is gone is": {
			parked: 2, answer: testkit.Denied(404), writes: 1,
			err: `writing the status of ChangeFreeze shop/outage: admission webhook "guard.example.com" denied the request: no`,
		},
		"an error names the kind and the object": {
			parked: 2, answer: errors.New("refused"), writes: 1, err: "writing the status of ChangeFreeze shop/outage: refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			writes := 0
			kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
				SubResourcePatch: func(_ context.Context, _ client.Client, of string, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
					writes++
					g.Expect(of).To(Equal("status"))
					g.Expect(patch.Data(object)).To(MatchJSON(`{"status":{"parked":2}}`))
					return test.answer
				},
			}).Build()
			before := &appv1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "outage"}}
			before.Status.Parked = 1
			object := before.DeepCopy()
			object.Status.Parked = test.parked
			err := statuspatch.Write(t.Context(), kube, before, object)
			g.Expect(writes).To(Equal(test.writes))
			if test.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(test.err))
			g.Expect(errors.Is(err, test.answer)).To(BeTrue())
		})
	}
}
