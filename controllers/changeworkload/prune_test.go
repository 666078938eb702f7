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

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/looks"
	"github.com/traas-stack/altershield-operator/controllers/platform/monotonic"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// shop has one ChangeWorkload, and deletes it on request.
type shop struct {
	client.Client
	workload *appv1alpha1.ChangeWorkload
}

func (s *shop) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	workload, ok := object.(*appv1alpha1.ChangeWorkload)
	if !ok {
		return errors.New("a removed record was decided on")
	}
	s.workload.DeepCopyInto(workload)
	return nil
}

func (*shop) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (*shop) Delete(context.Context, client.Object, ...client.DeleteOption) error { return nil }

// void has nothing.
type void struct{ client.Client }

func (void) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(appv1alpha1.GroupVersion.WithResource("changeworkloads").GroupResource(), key.Name)
}

func TestReconcileDoesNotDecideOnARecordThatWasRemovedWhenTheCacheShowsItOnceMore(t *testing.T) {
	g := NewWithT(t)
	older := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web--x--c6c45d23c098bdf181853a85b60b5d74", UID: "1",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "9", Controller: ptr.To(true)}},
	}}
	api := &shop{workload: older}
	reconciler := &Reconciler{Kinds: workload.Registry{deployment.Kind{}}, Client: api, Live: void{}, Looks: &looks.Background{}, Clock: clock.RealClock{}}
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(older)}
	_, err := reconciler.Reconcile(t.Context(), request)
	g.Expect(err).To(MatchError(ContainSubstring("a removed record was decided on")), "it is not removed yet")

	g.Expect(reconciler.prune(t.Context(), []appv1alpha1.ChangeWorkload{*older})).To(Succeed())
	g.Expect(reconciler.Reconcile(t.Context(), request)).To(Equal(ctrl.Result{}))
	older.UID = "2"
	_, err = reconciler.Reconcile(t.Context(), request)
	g.Expect(err).To(MatchError(ContainSubstring("a removed record was decided on")), "its successor of the same name is another one")
}

// deaf finds every object, and deletes them but answers with an error.
type deaf struct{ client.Client }

func (deaf) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (deaf) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (deaf) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return apierrors.NewTimeoutError("no answer", 0)
}

func TestPruneForgetsTheNumbersOfARecordAlthoughTheAnswerToItsDeletionIsLost(t *testing.T) {
	g := NewWithT(t)
	older := appv1alpha1.ChangeWorkload{}
	older.Namespace, older.Name = "shop", "web--x--c6c45d23c098bdf181853a85b60b5d74"
	reconciler := &Reconciler{Client: deaf{}, numbers: newNumbers(), newest: monotonic.NewReader(deaf{}, void{})}
	reconciler.numbers.raise(recordOf(&older), 2)
	g.Expect(reconciler.prune(t.Context(), []appv1alpha1.ChangeWorkload{older})).To(MatchError(ContainSubstring(
		"removing ChangeWorkload shop/web--x--c6c45d23c098bdf181853a85b60b5d74 of an older version")))
	g.Expect(reconciler.numbers.raise(recordOf(&older), 0)).To(BeZero(), "the version begins at 1 when it is released again")
}

// busy finds every object, but deletes none, as each has changed since it was read.
type busy struct{ deaf }

func (busy) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	return apierrors.NewConflict(appv1alpha1.GroupVersion.WithResource("changeworkloads").GroupResource(), object.GetName(), nil)
}

// No event of the present release need follow by which the older one would be removed.
func TestPruneReportsARecordThatChangesAtEachAttempt(t *testing.T) {
	g := NewWithT(t)
	reconciler := &Reconciler{Client: busy{}, numbers: newNumbers(), newest: monotonic.NewReader(busy{}, busy{})}
	g.Expect(reconciler.prune(t.Context(), make([]appv1alpha1.ChangeWorkload, 1))).To(MatchError(apierrors.IsConflict, "IsConflict"))
}
