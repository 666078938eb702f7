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
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The watches of a new leader start one by one: it sees the present Deployment, and records from before the verdict.
func TestReconcileEndsNothingByWhatTheCacheAloneShows(t *testing.T) {
	success, suspend := recordAt(2, version, "Success", "AllPodsPassed"), recordAt(2, version, "Suspend", "PodsFailed")
	running := recordAt(2, version, "Running", "Verifying")
	before, failedBefore := recordAt(1, older, "Success", "AllPodsPassed"), recordAt(1, older, "Suspend", "PodsFailed")
	going := recordAt(2, version, "Success", "AllPodsPassed")
	going.Finalizers, going.DeletionTimestamp = []string{"altershield.defense.antgroup.com/change-order"}, &metav1.Time{Time: time.Unix(1795255200, 0)}
	type records = []client.Object
	for _, row := range []struct {
		name         string
		around       []client.Object
		live, cached records
		// suspended and paused are what the Deployment is then, statuses those of the releases.
		suspended, paused bool
		statuses          map[string]string
	}{
		{"the cache has neither the verdict nor what came of it: nothing is lifted",
			sleepOf(1, suspended), records{suspend, failedBatch(1)}, records{success, passedBatch(1)},
			true, false, map[string]string{version: "Suspend"}},
		{"the cache has what came of the verdict, but not the verdict: nothing is lifted",
			sleepOf(1, suspended), records{suspend, failedBatch(1)}, records{suspend, passedBatch(1)},
			true, false, map[string]string{version: "Suspend"}},
		{"what comes of the verdict was not written yet: it is written, and nothing lifted",
			sleepOf(1, suspended), records{success, failedBatch(1)}, records{success, passedBatch(1)},
			true, false, map[string]string{version: "Suspend"}},
		{"the cache lacks the batch that failed: nothing is lifted",
			sleepOf(1, suspended), records{suspend, passedBatch(1), failedBatch(2)}, records{success, passedBatch(1)},
			true, false, map[string]string{version: "Suspend"}},
		{"the release was recorded anew: nothing is lifted before it is checked",
			sleepOf(1, suspended), records{recordAt(2, version, "", "")}, records{success, passedBatch(1)},
			true, false, map[string]string{version: "Running"}},
		{"the verdict came before the release succeeded: the record before stays",
			sleepOf(1, suspended), records{suspend, failedBatch(1), before}, records{running, passedBatch(1), before},
			true, false, map[string]string{version: "Suspend", older: "Success"}},
		{"the first release of a Deployment failed: it doesn't succeed",
			sleepOf(1), records{running, failedBatch(1)}, records{running, passedBatch(1)},
			true, false, map[string]string{version: "Suspend"}},
		{"a rollout is held: it doesn't go on",
			sleepOf(2, suspended, held), records{suspend, failedBatch(1)}, records{running, passedBatch(1)},
			true, true, map[string]string{version: "Suspend"}},
		{"the record is gone: nothing is lifted",
			sleepOf(1, suspended), nil, records{success, passedBatch(1)},
			true, false, map[string]string{}},
		{"the record is going: nothing is lifted",
			sleepOf(1, suspended), records{going, passedBatch(1)}, records{success, passedBatch(1)},
			true, false, map[string]string{version: "Success"}},

		{"nothing is against the release: the suspension is lifted, and the record before goes",
			sleepOf(1, suspended), records{running, passedBatch(1), before}, nil,
			false, false, map[string]string{version: "Success " + older}},
		{"nothing is against a rollout that is held: it goes on",
			sleepOf(2, suspended, held), records{suspend, passedBatch(1)}, nil,
			true, false, map[string]string{version: "Running"}},
		{"the release before failed, which the cache lacks: its record goes, and its version is not verified",
			sleepOf(1), records{running, passedBatch(1), failedBefore}, records{running, passedBatch(1), before},
			false, false, map[string]string{version: "Success"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			around, cached := append(row.around, finishedPod(1)), []client.Object(nil)
			if row.cached != nil {
				cached = slices.Concat(around, row.cached)
			}
			p := newPlane(t, slices.Concat(around, row.live), cached)
			p.reconcile()
			_, isSuspended := p.deployment().Labels["altershield.defense.antgroup.com/suspend"]
			g.Expect(isSuspended).To(Equal(row.suspended), "suspended")
			g.Expect(p.deployment().Spec.Paused).To(Equal(row.paused), "paused")
			g.Expect(p.statuses()).To(Equal(row.statuses))
		})
	}
}

func TestReconcileReadsTheRecordsOfAReleaseOnceWhenItIsVerified(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(sleepOf(2, suspended), finishedPod(1), finishedPod(2), recordAt(2, version, "Running", "Verifying"),
		passedBatch(1), recordAt(1, older, "Success", "AllPodsPassed")), nil)
	p.reconcile()
	g.Expect(p.reads).To(BeEmpty(), "while a pod is still to be checked")

	p.pass(2)
	p.reconcile()
	g.Expect(p.statuses()).To(Equal(map[string]string{version: "Success " + older}))
	g.Expect(p.reads).To(ConsistOf("get *v1alpha1.ChangeWorkload", "list *v1alpha1.ChangePodList", "list *v1alpha1.ChangeWorkloadList"))

	p.reads = nil
	p.reconcile()
	g.Expect(p.reads).To(BeEmpty(), "once it is over")
}

func TestReconcileDecidesOnceOnRecordsThatTheCacheStillShows(t *testing.T) {
	g := NewWithT(t)
	objects := append(sleepOf(1), finishedPod(1), recordAt(2, version, "Running", "Verifying"), passedBatch(1), recordAt(1, older, "Success", "AllPodsPassed"))
	p := newPlane(t, objects, objects)
	p.reconcile()
	g.Expect(p.statuses()).To(Equal(map[string]string{version: "Success " + older}))

	p.reads = nil
	p.reconcile()
	g.Expect(p.reads).To(HaveExactElements("get *v1alpha1.ChangeWorkload"), "which the cache shows as it was before")
}

// Another pod that becomes available in ten minutes must not put off the verdict.
func TestReconcileLooksAgainSoonForABatchThatTheCacheLacks(t *testing.T) {
	g, record := NewWithT(t), recordAt(2, version, "Running", "Verifying")
	record.Status.FirstChangePod, record.Status.LastChangePod = 1, 1
	ready := finishedPod(2)
	delete(ready.Labels, "altershield.defense.antgroup.com/operate-finished")
	ready.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(saturday)}}
	cached := append(sleepOf(2, func(deployment *appsv1.Deployment) { deployment.Spec.MinReadySeconds = 600 }), labelSetting(false), finishedPod(1), ready, record)
	p := newPlane(t, append(slices.Clone(cached), failedBatch(1)), cached)
	g.Expect(p.reconcile().RequeueAfter).To(Equal(50 * time.Millisecond))
}

// Labels are all that the API server finds batches by.
func TestReconcileChecksAPodAgainWhoseBatchLostItsLabels(t *testing.T) {
	g := NewWithT(t)
	batch := passedBatch(1)
	batch.Labels = nil
	p := newPlane(t, append(sleepOf(1, suspended), finishedPod(1), recordAt(2, version, "Running", "Verifying"), batch), nil)
	g.Expect(p.reconcile()).To(Equal(ctrl.Result{}), "it doesn't spin")
	g.Expect(p.statuses()).To(Equal(map[string]string{version: "Running"}))
	p.pass(2)
	p.reconcile()
	g.Expect(p.statuses()).To(Equal(map[string]string{version: "Success"}))
}
