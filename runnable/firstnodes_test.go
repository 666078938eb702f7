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

package runnable

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
)

// waitingAgent is a DaemonSet whose second release is held for its first nodes, with its record.
func waitingAgent() (objects []client.Object, record *appv1alpha1.ChangeWorkload) {
	set := &appsv1.DaemonSet{ObjectMeta: meta("agent", "d-1", nil), Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: "OnDelete"}}}
	set.Labels = map[string]string{versionLabel: "b"}
	set.Annotations = map[string]string{annotationPrefix + "release": "2", annotationPrefix + "held": "2-first-nodes", annotationPrefix + "first-nodes": "zone=a"}
	record = &appv1alpha1.ChangeWorkload{ObjectMeta: meta("daemonsets.agent--x--b", "cw-1", metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet")))}
	record.Spec.Reversion, record.Spec.Release = "b", 2
	record.Status = appv1alpha1.ChangeWorkloadStatus{
		Status: "Running", ObservedRelease: 2, FirstNodes: &appv1alpha1.FirstNodes{Nodes: []string{"node-1"}},
		Conditions: []metav1.Condition{{Type: "FirstNodes", Status: "Unknown", Reason: "Verifying"}},
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}
	return []client.Object{set, record, namespace}, record
}

func TestReconcileDeletesPodsOnTheFirstNodes(t *testing.T) {
	for _, row := range []struct {
		name    string
		change  func(objects []client.Object, record *appv1alpha1.ChangeWorkload)
		deletes bool
	}{
		{"while the release waits for them", nil, true},
		{"not once it doesn't", func(_ []client.Object, record *appv1alpha1.ChangeWorkload) {
			record.Status.Conditions[0].Status = "False"
		}, false},
		{"not of another release", func(objects []client.Object, _ *appv1alpha1.ChangeWorkload) {
			objects[0].SetAnnotations(map[string]string{annotationPrefix + "release": "3"})
		}, false},
		{"not in a namespace that was opted out", func(objects []client.Object, _ *appv1alpha1.ChangeWorkload) {
			objects[2].SetName("other")
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			objects, record := waitingAgent()
			if row.change != nil {
				row.change(objects, record)
			}
			b := newBench(t, []error{nil}, objects...)
			b.Kind, b.roller.again = daemonset.Kind{}, 5*time.Second
			result, err := b.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "agent"}})
			g.Expect(err).NotTo(HaveOccurred())
			if !row.deletes {
				g.Expect(b.roller.deletions).To(BeEmpty())
				return
			}
			g.Expect(result.RequeueAfter).To(Equal(5 * time.Second))
			g.Expect(b.roller.deletions).To(HaveExactElements(And(HaveField("Turn", true), HaveField("Park", false))))
		})
	}
}

func TestReconcileReportsOnceThatItMayNotDeletePodsOnTheFirstNodes(t *testing.T) {
	g := NewWithT(t)
	objects, _ := waitingAgent()
	b := newBench(t, []error{&rollback.Obstacle{Reason: "Denied", Message: "not permitted"}}, objects...)
	b.Kind = daemonset.Kind{}
	for range 2 {
		_, err := b.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "agent"}})
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(b.events()).To(HaveExactElements("Warning PodNotDeleted release 2, version b: not permitted"))
}
