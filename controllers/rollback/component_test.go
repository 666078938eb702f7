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

package rollback_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

var apiServer testkit.APIServer

func TestMain(m *testing.M) { os.Exit(apiServer.Run(m)) }

// templateOf returns the pod template of db as the API server has it.
func templateOf(t *testing.T, kube client.Client, namespace string) string {
	t.Helper()
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(statefulset.Kind{}.GroupVersionKind())
	g := NewWithT(t)
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "db"}, raw)).To(Succeed())
	template, _, _ := unstructured.NestedMap(raw.Object, "spec", "template")
	text, err := json.Marshal(template)
	g.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// A park on a real API server: its JSON patch, the partition, and deletions with preconditions. The test is the StatefulSet controller.
func TestParkLeavesTheTemplateAndDeletesThePodsThatItRead(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	kube := apiServer.Client(t)
	namespace := testkit.Namespace(t, kube, true)

	set := third()
	set.Namespace, set.UID, set.Status = namespace, "", appsv1.StatefulSetStatus{}
	set.Annotations[prefix+"rollback"], set.Annotations[prefix+"rollback-by"] = "park", "alice"
	set.Spec.Template = corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db", appv1alpha1.LabelVersion: "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "bad"}}},
	}
	g.Expect(kube.Create(ctx, set)).To(Succeed())
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: 3, CurrentRevision: "db-a", UpdateRevision: "db-b"}
	g.Expect(kube.Status().Update(ctx, set)).To(Succeed())
	owner := metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	for _, object := range dbObjects("0a 1a 2b") {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			continue
		}
		pod.Namespace, pod.UID, pod.OwnerReferences = namespace, "", []metav1.OwnerReference{*owner}
		pod.Spec = *set.Spec.Template.Spec.DeepCopy()
		status := pod.Status
		g.Expect(kube.Create(ctx, pod)).To(Succeed())
		pod.Status = status
		g.Expect(kube.Status().Update(ctx, pod)).To(Succeed())
	}

	late := false // a pod changes between the list and the deletion
	writer := interceptor.NewClient(testkit.Cached(t, kube), interceptor.Funcs{
		Delete: func(ctx context.Context, cached client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if late {
				changed := object.DeepCopyObject().(client.Object)
				g.Expect(kube.Patch(ctx, changed, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"ready":"now"}}}`)))).To(Succeed())
			}
			return cached.Delete(ctx, object, options...)
		},
	})
	metrics, err := rollback.NewMetrics(prometheus.NewRegistry(), testkit.Kinds())
	g.Expect(err).NotTo(HaveOccurred())
	roller := &rollback.Roller{
		Client: writer, Live: kube, History: &history.Keeper{Client: writer, Live: kube}, Metrics: metrics, Clock: clock.RealClock{}, Agreed: time.Now,
		Recorder: events.Recorder{Events: clientevents.NewFakeRecorder(9)}, Settings: settings.Reader{Client: writer, Namespace: namespace},
	}

	before := templateOf(t, kube, namespace)
	asked := parkRequest("alice")
	asked.Workload.Namespace = namespace
	g.Expect(roller.Park(ctx, asked)).To(Succeed())
	g.Expect(kube.Get(ctx, asked.Workload, set)).To(Succeed())
	g.Expect(set.Annotations).To(And(HaveKey(prefix+"parked"), Not(HaveKey(prefix+"rollback")), Not(HaveKey(prefix+"rollback-by"))))

	deletion := podRequest(true, false)
	deletion.Workload.Namespace = namespace
	g.Expect(roller.DeletePod(ctx, deletion)).To(BeZero(), "the rollout is not held yet")
	held := workloadpatch.Change{Pause: true, Annotate: map[string]string{prefix + "held": "2"}}
	g.Expect(workloadpatch.Apply(ctx, writer, kube, statefulset.Kind{}, set, held)).To(BeTrue())
	g.Expect(roller.DeletePod(ctx, deletion)).To(Equal(time.Second), "its controller has not seen the partition")
	g.Expect(kube.Get(ctx, asked.Workload, set)).To(Succeed())
	set.Status.ObservedGeneration = set.Generation
	g.Expect(kube.Status().Update(ctx, set)).To(Succeed())

	late = true
	_, err = roller.DeletePod(ctx, deletion)
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	late = false
	g.Expect(roller.DeletePod(ctx, deletion)).To(Equal(5 * time.Second))
	var pods corev1.PodList
	g.Expect(kube.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
	g.Expect(pods.Items).To(HaveExactElements(HaveField("Name", "db-0"), HaveField("Name", "db-1")))
	g.Expect(templateOf(t, kube, namespace)).To(Equal(before))
}
