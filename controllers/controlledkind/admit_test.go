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

package controlledkind

import (
	"context"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestReconcileShowsAndRepeatsADeniedChangeOfTheWebhooks(t *testing.T) {
	resource := schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}
	denied := func(code int32, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: code, Reason: reason, Message: `admission webhook "guard.example.com" denied the request: no`,
		}}
	}
	for name, row := range map[string]struct {
		answer error
		shown  bool
	}{
		"a policy that forbids it":          {denied(http.StatusForbidden, metav1.StatusReasonForbidden), true},
		"a webhook that answers with 401":   {denied(http.StatusUnauthorized, metav1.StatusReasonUnauthorized), true},
		"a webhook that answers with 409":   {denied(http.StatusConflict, metav1.StatusReasonConflict), true},
		"another change at the same time":   {apierrors.NewConflict(resource, kindsMutating, nil), false},
		"an API server that has just begun": {apierrors.NewForbidden(resource, kindsMutating, errNotReady{}), false},
	} {
		t.Run(name, func(t *testing.T) {
			g, b := NewWithT(t), newBench(t)
			b.as(interceptor.NewClient(b.kube, interceptor.Funcs{
				Update: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.UpdateOption) error {
					if written, ok := object.(*admissionregistrationv1.MutatingWebhookConfiguration); ok && len(written.Webhooks) > 0 {
						return row.answer
					}
					return kube.Update(ctx, object, options...)
				},
			}))
			result, err := b.Reconcile(t.Context(), ctrl.Request{})
			if !row.shown {
				g.Expect(err).To(MatchError(row.answer), "it is tried again at once")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.conditions("statefulsets.apps")).To(HaveKeyWithValue("Ready", "False ConfigurationDenied"))
			g.Expect(b.message("statefulsets.apps", "Admitted")).To(ContainSubstring("denied the request: no"))
			g.Expect(result.RequeueAfter).To(Equal(time.Minute), "no event shows that it is allowed")
		})
	}
}

// errNotReady is the answer of an API server that has no policies and webhooks yet.
type errNotReady struct{}

func (errNotReady) Error() string { return "not yet ready to handle request" }
