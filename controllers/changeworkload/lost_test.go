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
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	recordcontroller "github.com/traas-stack/altershield-operator/controllers/record"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// ledger is a server that only closes orders that it has.
type ledger struct {
	verifier.Announcer
	// releases are those that have an order, by its id; orders are their states.
	releases map[string]int64
	orders   map[int64]string
}

func (l *ledger) Name() string { return "AlterShield Server" }

func (l *ledger) OrderID(release verifier.Release) string {
	return fmt.Sprintf("%s/%d/%d", release.Record, release.Recorded, release.Number)
}

func (l *ledger) Open(_ context.Context, release verifier.Release) (string, error) {
	l.releases[release.Order], l.orders[release.Number] = release.Number, "open"
	return "order-1", nil
}

func (l *ledger) Close(_ context.Context, of verifier.Release, state appv1alpha1.OrderState) error {
	release, known := l.releases[of.Order]
	if !known {
		return fmt.Errorf("none order found: %w", verifier.ErrRefused)
	}
	l.orders[release] = string(state)
	return nil
}

// After the API server was away the watches start one by one.
func TestReconcileEndsNoOrderByADeploymentOfThePast(t *testing.T) {
	g := NewWithT(t)
	workload := recordAt(4, version, "", "")
	workload.Finalizers = []string{"altershield.defense.antgroup.com/change-order"}
	p := newPlane(t, append(sleepOf(1), workload), nil)
	p.Verifier = &ledger{} // takes no call
	p.reconcile()
	var found appv1alpha1.ChangeWorkload
	g.Expect(p.api.Get(t.Context(), client.ObjectKeyFromObject(workload), &found)).To(Succeed())
	g.Expect(found.Status.Order).To(BeNil())
}

func TestReconcileEndsAnOrderWhoseAnswerIsLost(t *testing.T) {
	// step is a release of the Deployment, of the version where its number is even. No status can be saved while one is lost.
	type step struct {
		release int
		lost    bool
	}
	for _, row := range []struct {
		name    string
		steps   []step
		deleted bool
		orders  map[int64]string
	}{
		{"nothing is lost", []step{{2, false}, {3, false}, {4, false}, {6, false}}, false, map[int64]string{2: "CANCEL", 4: "CANCEL", 6: "CANCEL"}},
		{"of the first release", []step{{2, true}}, false, map[int64]string{2: "CANCEL"}},
		{"of a later one", []step{{2, false}, {3, false}, {4, true}}, false, map[int64]string{2: "CANCEL", 4: "CANCEL"}},
		{"another one is seen before the version is released again", []step{{2, false}, {3, false}, {4, true}, {5, false}, {6, false}}, false,
			map[int64]string{2: "CANCEL", 4: "CANCEL", 6: "CANCEL"}},
		{"none is", []step{{2, false}, {3, false}, {4, true}, {6, false}}, false, map[int64]string{2: "CANCEL", 4: "CANCEL", 6: "CANCEL"}},
		{"the end is lost as well", []step{{2, true}, {4, true}, {6, true}, {8, false}}, false, map[int64]string{2: "CANCEL", 8: "CANCEL"}},
		{"the end of another one is lost before", []step{{2, false}, {4, true}, {6, false}}, false, map[int64]string{2: "CANCEL", 6: "CANCEL"}},
		{"one order after the other", []step{{2, true}, {4, false}, {5, false}, {6, true}, {8, false}}, false,
			map[int64]string{2: "CANCEL", 4: "CANCEL", 6: "CANCEL", 8: "CANCEL"}},
		{"the record is deleted", []step{{2, false}, {3, false}, {4, true}}, true, map[int64]string{2: "CANCEL", 4: "CANCEL"}},
		{"the record is deleted after the version was released again", []step{{2, false}, {3, false}, {4, true}, {6, true}}, true,
			map[int64]string{2: "CANCEL", 4: "CANCEL"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := recordAt(2, version, "", "")
			workload.Finalizers = []string{"altershield.defense.antgroup.com/change-order"}
			p := newPlane(t, append(sleepOf(1), workload), nil)
			lost, kube := false, p.Client.(client.WithWatch)
			server := &ledger{releases: map[string]int64{}, orders: map[int64]string{}}
			p.Verifier, p.backoff = server, workqueue.NewTypedItemExponentialFailureRateLimiter[client.ObjectKey](time.Second, time.Second)
			p.Client = interceptor.NewClient(kube, interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, _ client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
					if lost {
						return errors.New("connection refused")
					}
					return kube.SubResource(part).Patch(ctx, object, patch, options...)
				},
			})
			recorder := &recordcontroller.Reconciler{Kind: deployment.Kind{}, Client: kube, Live: kube, Settings: p.Settings, Recorder: events.Recorder{Events: clientevents.NewFakeRecorder(100)}, Clock: p.Clock, Ordered: true}
			for _, step := range append(row.steps, step{9, false}) {
				lost = step.lost
				deployed := p.deployment()
				deployed.Annotations["altershield.defense.antgroup.com/release"] = fmt.Sprint(step.release)
				deployed.Labels["admission-webhook-altershield.antgroup.com/version"] = []string{version, older}[step.release%2]
				g.Expect(p.api.Update(t.Context(), deployed)).To(Succeed())
				if step.release%2 == 0 {
					_, err := recorder.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(deployed)})
					g.Expect(err).NotTo(HaveOccurred())
				} else if row.deleted && step.release == 9 {
					g.Expect(client.IgnoreNotFound(p.api.Delete(t.Context(), workload))).To(Succeed())
				}
				for range 3 { // to end an order, to open one, and to find nothing to do
					_, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(workload)})
					g.Expect(err != nil).To(Equal(lost))
				}
			}
			g.Expect(server.orders).To(Equal(row.orders))
		})
	}
}
