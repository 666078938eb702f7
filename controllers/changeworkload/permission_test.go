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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
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

func TestObservePaceReviewsThePermissionWhereTheOperatorDeletesPods(t *testing.T) {
	for lever, missing := range map[string]string{
		"Nodes": "the operator lacks the permission to delete pods in namespace default: " +
			"the operator may delete pods only with the ClusterRole of config/components/pod-deletion (chart: podDeletion.enabled)",
		"Gates": "",
	} {
		g := NewWithT(t)
		set, _ := agent()
		set.Annotations["altershield.defense.antgroup.com/paced"] = `{"release":2,"lever":"` + lever + `"}`
		policy := &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "steps"}}
		policy.Spec.Workloads = []appv1alpha1.WorkloadSelector{{Kind: "DaemonSet.apps"}}
		policy.Spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100}}
		kube := testkit.NewFake(t, policy, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
		record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
		record.Spec.Release = 2
		seen := &scene{kind: daemonset.Kind{}, owner: set, Observation: decide.Observation{Current: true, Kind: "DaemonSet"}}
		direct := interceptor.NewClient(kube, interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return nil }, // it isn't allowed
		})
		r := &Reconciler{Client: kube, Direct: direct, Clock: clocktesting.NewFakePassiveClock(testkit.Now()), Since: testkit.Now}
		g.Expect(r.observePace(t.Context(), record, cachedRecords{cache: kube}, seen)).To(Succeed(), lever)
		g.Expect(seen.Pace.Policy).NotTo(BeNil(), lever)
		g.Expect(seen.Pace.Undeletable).To(Equal(missing), lever)
	}
}
