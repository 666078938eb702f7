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

package testkit

import (
	"fmt"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Version is the version of the release of Record.
const Version = "c6c45d23c098bdf181853a85b60b5d74"

// Now returns the time at which component tests begin.
func Now() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

// Record creates the ChangeWorkload of release 1 of the Deployment sleep, with an order in the given state; without an order if it is
// empty.
func Record(t *testing.T, kube client.Client, namespace string, order appv1alpha1.OrderState) *appv1alpha1.ChangeWorkload {
	t.Helper()
	g := gomega.NewWithT(t)
	record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleep--x--" + Version}}
	record.Spec = appv1alpha1.ChangeWorkloadSpec{
		AppName: "sleep", ServiceName: "sleep", Reversion: Version, Release: 1, CountThreshold: 1, WaitTimeThreshold: 60,
		CreateTime: "2026-11-21 10:00:00", CreateTimeUnix: Now().Unix(),
	}
	g.Expect(kube.Create(t.Context(), record)).To(gomega.Succeed())
	record.Status.ObservedRelease = 1
	g.Expect(kube.Status().Update(t.Context(), record)).To(gomega.Succeed())
	SetOrder(t, kube, record, order)
	return record
}

// SetOrder sets the state of the order of a release, as the ChangeWorkload reconciler does.
func SetOrder(t *testing.T, kube client.Client, record *appv1alpha1.ChangeWorkload, state appv1alpha1.OrderState) {
	t.Helper()
	if state == "" {
		return
	}
	before := record.DeepCopy()
	record.Status.Order = &appv1alpha1.ChangeOrder{BizExecOrderID: "default/" + record.Namespace + "/sleep/0123456789/1", Release: 1, State: state}
	gomega.NewWithT(t).Expect(kube.Status().Patch(t.Context(), record, client.MergeFrom(before))).To(gomega.Succeed())
}

// Batch creates a ChangePod of two pods with the given number.
func Batch(t *testing.T, kube client.Client, record *appv1alpha1.ChangeWorkload, number int) *appv1alpha1.ChangePod {
	t.Helper()
	batch := &appv1alpha1.ChangePod{ObjectMeta: metav1.ObjectMeta{
		Namespace: record.Namespace, Name: fmt.Sprintf("%s--x--%d", record.Name, number),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeWorkload", Name: record.Name, UID: record.UID, Controller: ptr.To(true),
		}},
	}}
	batch.Spec = appv1alpha1.ChangePodSpec{
		ChangeWorkloadID: record.Name, Release: 1, CreateTime: "2026-11-21 10:00:00", CreateTimeUnix: Now().Unix(),
		PodInfos: []appv1alpha1.PodSummary{
			{App: "sleep", Namespace: record.Namespace, Pod: "sleep-1", WorkSpace: "default"},
			{App: "sleep", Namespace: record.Namespace, Pod: "sleep-2", WorkSpace: "default"},
		},
	}
	gomega.NewWithT(t).Expect(kube.Create(t.Context(), batch)).To(gomega.Succeed())
	return batch
}
