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
package changeworkload

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestUndeletableNamesThePermissionThatIsMissing(t *testing.T) {
	g := NewWithT(t)
	const missing = "the operator lacks the permission to delete pods in namespace shop: " +
		"the operator may delete pods only with the ClusterRole of config/components/pod-deletion (chart: podDeletion.enabled)"
	var asked []authorizationv1.ResourceAttributes
	var failure error
	allowed := false
	kube := interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			review := object.(*authorizationv1.SelfSubjectAccessReview)
			asked = append(asked, *review.Spec.ResourceAttributes)
			review.Status.Allowed = allowed
			return failure
		},
	})
	clock := clocktesting.NewFakePassiveClock(testkit.Now())
	r := &Reconciler{Direct: kube, Clock: clock}
	g.Expect(r.undeletable(t.Context(), "shop")).To(Equal(missing))
	g.Expect(asked).To(Equal([]authorizationv1.ResourceAttributes{{Namespace: "shop", Verb: "delete", Resource: "pods"}}))
	allowed = true
	clock.SetTime(clock.Now().Add(59 * time.Second))
	g.Expect(r.undeletable(t.Context(), "shop")).To(Equal(missing))
	g.Expect(r.undeletable(t.Context(), "bank")).To(BeEmpty())
	g.Expect(asked).To(HaveLen(2), "each namespace once a minute")
	clock.SetTime(clock.Now().Add(time.Second))
	g.Expect(r.undeletable(t.Context(), "shop")).To(BeEmpty(), "it was granted")
	clock.SetTime(clock.Now().Add(time.Minute))
	allowed, failure = false, errors.New("away")
	g.Expect(r.undeletable(t.Context(), "shop")).To(BeEmpty(), "what isn't known keeps no release waiting")
	g.Expect(r.undeletable(t.Context(), "shop")).To(BeEmpty())
	g.Expect(asked).To(HaveLen(5), "it is asked again")
}
