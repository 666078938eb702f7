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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// apiServer has at most one Deployment, and keeps the names of what is created.
type apiServer struct {
	client.Client
	deployment *metav1.ObjectMeta
	created    []string
}

func (a *apiServer) Scheme() *runtime.Scheme { return testkit.Scheme() }

func (a *apiServer) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if a.deployment == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments"}, key.Name)
	}
	object.(*metav1.PartialObjectMetadata).ObjectMeta = *a.deployment
	return nil
}

func (a *apiServer) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	a.created = append(a.created, object.GetName())
	return nil
}

func TestOpenBatchesChecksPodsAgainWhoseBatchesAreGoneOnlyIfTheirDeploymentIsThere(t *testing.T) {
	metrics, err := NewMetrics(prometheus.NewRegistry())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	going := metav1.Now()
	for name, test := range map[string]struct {
		live    *metav1.ObjectMeta
		lost    bool
		created []string
	}{
		"none is gone, so there is no live read": {live: nil, lost: false, created: []string{"web--x--abc--x--3"}},
		"the Deployment is there":                {live: &metav1.ObjectMeta{UID: "1"}, lost: true, created: []string{"web--x--abc--x--3"}},
		"it is being deleted":                    {live: &metav1.ObjectMeta{UID: "1", DeletionTimestamp: &going}, lost: true},
		"it is gone":                             {live: nil, lost: true},
		"another one has its name since then":    {live: &metav1.ObjectMeta{UID: "2"}, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			api := &apiServer{deployment: test.live}
			reconciler := &Reconciler{Client: api, Live: api, numbers: newNumbers(), Metrics: metrics, Clock: testingclock.NewFakePassiveClock(time.Now())}
			workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web--x--abc", UID: "9"}}
			seen := &scene{kind: kind.Kind{}, owner: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}, lost: test.lost}
			decision := decide.Decision{Batches: [][]appv1alpha1.PodSummary{{{Pod: "web-1"}}}}
			decision.Status.LastChangePod = 2
			opened, err := reconciler.openBatches(t.Context(), workload, seen, decision)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(opened).To(Equal(1), "nothing is left to do")
			g.Expect(api.created).To(Equal(test.created))
		})
	}
}
