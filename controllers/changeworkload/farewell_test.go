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
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/looks"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// listener records the ends of orders.
type listener struct {
	verifier.Announcer
	heard []string
	err   error
}

func (l *listener) Name() string { return "AlterShield Server" }

func (l *listener) Close(_ context.Context, release verifier.Release, state appv1alpha1.OrderState) error {
	l.heard = append(l.heard, fmt.Sprintf("%s %s", release.Order, state))
	return l.err
}

func TestReconcileTellsTheServerOfADeletionHoweverLateItIsSeen(t *testing.T) {
	errDown := errors.New("connection refused")
	deleted := time.Date(2026, 11, 22, 7, 0, 47, 0, time.UTC)
	for _, row := range []struct {
		name  string
		after time.Duration
		err   error
		again bool
	}{
		{"at once", 0, nil, false},
		{"at once, and again", 0, errDown, true},
		{"after a minute in which no watch was open", time.Minute, nil, false},
		{"after a minute, and it is down", time.Minute, errDown, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web--x--c6c45d23c098bdf181853a85b60b5d74", UID: "1",
				DeletionTimestamp: &metav1.Time{Time: deleted}, Finalizers: []string{"altershield.defense.antgroup.com/change-order"},
			}}
			workload.Status.Order = &appv1alpha1.ChangeOrder{BizExecOrderID: "default/shop/web/0123456789/1", State: "Open"}
			kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(workload).Build()
			server := &listener{err: row.err}
			reconciler := &Reconciler{
				Client: kube, Verifier: server, Clock: clocktesting.NewFakePassiveClock(deleted.Add(row.after)), Looks: &looks.Background{},
			}
			key := client.ObjectKeyFromObject(workload)
			result, err := reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(server.heard).To(Equal([]string{"default/shop/web/0123456789/1 CANCEL"}))
			if row.again {
				g.Expect(result.RequeueAfter).To(Equal(200 * time.Millisecond))
			} else {
				g.Expect(result).To(Equal(ctrl.Result{}))
			}
			gone := apierrors.IsNotFound(kube.Get(t.Context(), key, &appv1alpha1.ChangeWorkload{}))
			g.Expect(gone).To(Equal(!row.again), "the record is removed once its order is closed")
		})
	}
}

func TestReconcileTriesAgainToLetARecordGoThatAWebhookKeeps(t *testing.T) {
	for _, code := range []int32{404, 409} {
		record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: removed, DeletionTimestamp: &metav1.Time{Time: testkit.Now()}, Finalizers: []string{"altershield.defense.antgroup.com/change-order"},
		}}
		reconciler := &Reconciler{Clock: clocktesting.NewFakePassiveClock(testkit.Now()), Looks: &looks.Background{}, Client: interceptor.NewClient(testkit.NewFake(t, record), interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return testkit.Denied(code)
			},
		})}
		_, err := reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(record)})
		NewWithT(t).Expect(err).To(MatchError("removing the finalizer of ChangeWorkload shop/" + removed + `: admission webhook "guard.example.com" denied the request: no`))
	}
}
