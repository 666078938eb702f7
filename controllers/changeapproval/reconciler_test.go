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
package changeapproval

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

const version, other = "c6c45d23c098bdf181853a85b60b5d74", "6a8ff823a5011291b0f02a1d83c2222d"

func record(name, version string, release int64, changes ...func(*appv1alpha1.ChangeWorkload)) appv1alpha1.ChangeWorkload {
	record := appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name + "--x--" + version}}
	record.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name, UID: types.UID("uid of " + name)}
	record.Spec.Reversion, record.Spec.Release = version, release
	for _, change := range changes {
		change(&record)
	}
	return record
}

func observed(record *appv1alpha1.ChangeWorkload) { record.Spec.Observed = true }

func approval(changes ...func(*appv1alpha1.ChangeApprovalSpec)) *appv1alpha1.ChangeApproval {
	approval := &appv1alpha1.ChangeApproval{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "bob-12", Generation: 1},
		Spec: appv1alpha1.ChangeApprovalSpec{
			Workload: appv1alpha1.ReleasedWorkload{Kind: "Deployment.apps", Name: "web"}, Version: version, Release: 12, Decision: "Approve",
			ApprovedBy: "bob", UID: "uid of web",
		},
	}
	for _, change := range changes {
		change(&approval.Spec)
	}
	return approval
}

func TestStatus(t *testing.T) {
	const counted, lapsed = "True Counted it counts for release 12 of Deployment.apps web, as long as the ReleasePolicy lets its author decide", "False Lapsed release 12 of Deployment.apps web isn't the present one"
	for _, row := range []struct {
		name     string
		approval *appv1alpha1.ChangeApproval
		records  []appv1alpha1.ChangeWorkload
		expected string
	}{
		{"the present release", approval(), []appv1alpha1.ChangeWorkload{record("web", other, 11), record("web", version, 12)}, counted},
		{"a denial of it", approval(func(spec *appv1alpha1.ChangeApprovalSpec) { spec.Decision = "Deny" }), []appv1alpha1.ChangeWorkload{record("web", version, 12)},
			"True Counted it keeps release 12 of Deployment.apps web from its next step that needs approvals, until it is deleted"},
		{"the next release", approval(), []appv1alpha1.ChangeWorkload{record("web", version, 12), record("web", other, 13)}, lapsed},
		{"the version released again", approval(), []appv1alpha1.ChangeWorkload{record("web", version, 14)}, lapsed},
		{"another version of this number", approval(), []appv1alpha1.ChangeWorkload{record("web", other, 12)}, lapsed},
		{"an earlier release", approval(), []appv1alpha1.ChangeWorkload{record("web", version, 11)}, lapsed},
		{"another workload", approval(), []appv1alpha1.ChangeWorkload{record("shop", version, 12)}, lapsed},
		{"another kind", approval(func(spec *appv1alpha1.ChangeApprovalSpec) { spec.Workload.Kind = "StatefulSet.apps" }), []appv1alpha1.ChangeWorkload{record("web", version, 12)},
			"False Lapsed release 12 of StatefulSet.apps web isn't the present one"},
		{"a workload of this name that was created later", approval(), []appv1alpha1.ChangeWorkload{record("web", version, 12, func(record *appv1alpha1.ChangeWorkload) {
			record.Spec.WorkloadRef.UID = "another"
		})}, lapsed},
		{"a workload that is gone", approval(), nil, lapsed},
		{"a record that is being deleted", approval(), []appv1alpha1.ChangeWorkload{record("web", version, 12, func(record *appv1alpha1.ChangeWorkload) {
			record.DeletionTimestamp = &metav1.Time{Time: testkit.Now()}
		})}, lapsed},
		{"an observed release from before the kind was enforced", approval(), []appv1alpha1.ChangeWorkload{record("web", other, 17, observed), record("web", version, 12)}, counted},
		{"the number of an observed release", approval(), []appv1alpha1.ChangeWorkload{record("web", version, 12, observed)}, lapsed},
		{"nobody's", approval(func(spec *appv1alpha1.ChangeApprovalSpec) { spec.ApprovedBy = "" }), []appv1alpha1.ChangeWorkload{record("web", version, 12)},
			"False Unattributed the admission webhook did not record who created it: delete it and create another one"},
		{"without the UID", approval(func(spec *appv1alpha1.ChangeApprovalSpec) { spec.UID = "" }), []appv1alpha1.ChangeWorkload{record("web", version, 12)},
			"False Unattributed the admission webhook did not record who created it: delete it and create another one"},
	} {
		t.Run(row.name, func(t *testing.T) {
			status := Status(row.approval, row.records, testkit.Now())
			NewWithT(t).Expect(status.Conditions).To(HaveLen(1))
			is := status.Conditions[0]
			NewWithT(t).Expect(string(is.Status) + " " + is.Reason + " " + is.Message).To(Equal(row.expected))
		})
	}
}

func TestReconcileWritesOnceForEachChange(t *testing.T) {
	g, writes := NewWithT(t), 0
	first, next := record("web", version, 12), record("web", other, 13)
	kube := interceptor.NewClient(testkit.NewFake(t, approval(), &first), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, kube client.Client, subresource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			writes++
			return kube.SubResource(subresource).Patch(ctx, object, patch, options...)
		},
	})
	reconciler := &Reconciler{Client: kube, Clock: clocktesting.NewFakePassiveClock(testkit.Now())}
	reconcile := func() string {
		key := client.ObjectKey{Namespace: "shop", Name: "bob-12"}
		result, err := reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result).To(BeZero())
		var object appv1alpha1.ChangeApproval
		g.Expect(kube.Get(t.Context(), key, &object)).To(Succeed())
		return object.Status.Conditions[0].Reason
	}
	g.Expect(reconcile()).To(Equal("Counted"))
	g.Expect(reconcile()).To(Equal("Counted"))
	g.Expect(writes).To(Equal(1))
	g.Expect(kube.Create(t.Context(), &next)).To(Succeed())
	g.Expect(reconciler.ofRelease(t.Context(), &next)).To(HaveExactElements(ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "bob-12"}}))
	g.Expect(reconcile()).To(Equal("Lapsed"))
	g.Expect(writes).To(Equal(2))
	g.Expect(kube.Delete(t.Context(), &next)).To(Succeed())
	g.Expect(kube.Delete(t.Context(), &first)).To(Succeed())
	g.Expect(reconcile()).To(Equal("Lapsed"))
	g.Expect(writes).To(Equal(2))

	elsewhere := record("other", version, 12)
	g.Expect(reconciler.ofRelease(t.Context(), &elsewhere)).To(BeEmpty())
}

func TestReleasedPassesReleases(t *testing.T) {
	g := NewWithT(t)
	before, same, again := record("web", version, 12), record("web", version, 12), record("web", version, 14)
	same.Status.Status = "Running"
	g.Expect(released().Update(event.UpdateEvent{ObjectOld: &before, ObjectNew: &same})).To(BeFalse())
	g.Expect(released().Update(event.UpdateEvent{ObjectOld: &before, ObjectNew: &again})).To(BeTrue())
	g.Expect(released().Create(event.CreateEvent{Object: &before})).To(BeTrue())
	g.Expect(released().Delete(event.DeleteEvent{Object: &before})).To(BeTrue())
}
