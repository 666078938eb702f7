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
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/looks"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/monotonic"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// sleepAt is the Deployment sleep at release 2.
func sleepAt(t *testing.T) *appsv1.Deployment {
	t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "sleep", UID: "uid-1",
		Annotations: map[string]string{"altershield.defense.antgroup.com/release": "2"},
	}}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
	if err != nil {
		t.Fatal(err)
	}
	version, err := podtemplate.Of(raw).Version()
	if err != nil {
		t.Fatal(err)
	}
	deployment.Labels = map[string]string{"admission-webhook-altershield.antgroup.com/version": version}
	return deployment
}

func TestSaveKeepsTheTemplateOfAVerifiedReleaseFirst(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}, "x", errors.New("exceeded quota"))
	broken := errors.New("connection refused")
	for _, row := range []struct {
		name string
		// refuse is how the API server answers to a template.
		refuse error
		keep   bool
		// kept is how many templates are kept then, saved the status that is stored, events are those recorded.
		err    error
		kept   int
		saved  string
		events []string
	}{
		{"it is kept", nil, true, nil, 1, "Success", []string{"Normal ReleaseSucceeded"}},
		{"a template that isn't wanted is not kept", nil, false, nil, 0, "Success", []string{"Normal ReleaseSucceeded"}},
		{"a template that is refused holds up nothing", refused, true, nil, 0, "Success", []string{"Normal ReleaseSucceeded", "Warning HistoryNotKept"}},
		{"a template that can't be kept just now is tried again", broken, true, broken, 0, "", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			deployment := sleepAt(t)
			version := deployment.Labels["admission-webhook-altershield.antgroup.com/version"]
			workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--" + version}}
			workload.Spec.Reversion, workload.Spec.Release = version, 2
			kube := interceptor.NewClient(
				fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(deployment, workload).WithStatusSubresource(workload).Build(),
				interceptor.Funcs{Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
					if row.refuse != nil {
						return row.refuse
					}
					return kube.Create(ctx, object, options...)
				}})
			metrics, err := NewMetrics(prometheus.NewRegistry())
			g.Expect(err).NotTo(HaveOccurred())
			recorder := clientevents.NewFakeRecorder(10)
			r := &Reconciler{Client: kube, Live: kube, Recorder: events.Recorder{Events: recorder}, Metrics: metrics, Clock: clock.RealClock{}, History: &history.Keeper{Client: kube, Live: kube}, numbers: newNumbers(), Looks: &looks.Background{}, newest: monotonic.NewReader(kube, kube)}
			decision := decide.Decision{Keep: row.keep, WriteStatus: true}
			decision.Status.Status = appv1alpha1.ChangeWorkloadSuccess
			seen := &scene{kind: kind.Kind{}, owner: deployment, Observation: decide.Observation{Current: true, Templates: 10}}

			err = r.save(t.Context(), workload, seen, decision)
			if row.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(row.err))
			}
			kept, err := r.History.List(t.Context(), kind.Kind{}, deployment)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(kept).To(HaveLen(row.kept))
			var stored appv1alpha1.ChangeWorkload
			g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(workload), &stored)).To(Succeed())
			g.Expect(string(stored.Status.Status)).To(Equal(row.saved))
			g.Expect(recorder.Events).To(HaveLen(len(row.events)))
			for _, event := range row.events {
				g.Expect(recorder.Events).To(Receive(HavePrefix(event)))
			}
		})
	}
}

func TestKeepTemplateMakesRoomForTheNextOneWhereOneIsRefused(t *testing.T) {
	g := NewWithT(t)
	deployment := sleepAt(t)
	isController := true
	kept := func(version string, number int64) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: version,
				Labels:          map[string]string{"app.kubernetes.io/deployment-name": "sleep", "admission-webhook-altershield.antgroup.com/version": version},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "uid-1", Controller: &isController}},
			},
			Revision: number,
		}
	}
	oldest, last := kept("oldest", 1), kept("last", 2)
	refused := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}, "x", errors.New("exceeded quota"))
	kube := interceptor.NewClient(fake.NewClientBuilder().WithObjects(deployment, oldest, last).Build(), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return refused },
	})
	r := &Reconciler{History: &history.Keeper{Client: kube, Live: kube}}
	workload := &appv1alpha1.ChangeWorkload{}
	workload.Spec.Reversion, workload.Spec.Release = deployment.Labels["admission-webhook-altershield.antgroup.com/version"], 2
	err := r.keepTemplate(t.Context(), workload, &scene{kind: kind.Kind{}, owner: deployment, Observation: decide.Observation{Templates: 1}})
	g.Expect(err).To(MatchError(refused))
	g.Expect(apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(oldest), oldest))).To(BeTrue())
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(last), last)).To(Succeed(), "it is all that a rollback may go back to")
}
