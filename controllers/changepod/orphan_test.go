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

package changepod

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestReconcileLooksAgainAtABatchWhoseReleaseIsNotThereUnlessItWasLeftOnPurpose(t *testing.T) {
	byRelease := []metav1.OwnerReference{{
		APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeWorkload", Name: "web--x--1", UID: "1", Controller: ptr.To(true),
	}}
	for _, row := range []struct {
		name   string
		owners []metav1.OwnerReference
		again  time.Duration
	}{
		{"the cache may be behind", byRelease, 5 * time.Second},
		{"left by --cascade=orphan", nil, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			batch := &appv1alpha1.ChangePod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web--x--1-1", UID: "2", OwnerReferences: row.owners}}
			batch.Spec.ChangeWorkloadID = "web--x--1"
			kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(batch).Build()
			reconciler := &Reconciler{Client: kube, Live: kube, Clock: clock.RealClock{}}
			result, err := reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(batch)})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result).To(Equal(ctrl.Result{RequeueAfter: row.again}))
		})
	}
}
