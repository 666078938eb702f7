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

package workload_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

func TestEnforced(t *testing.T) {
	of := func(name string, mode appv1alpha1.ControlledKindMode) *appv1alpha1.ControlledKind {
		return &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appv1alpha1.ControlledKindSpec{Mode: mode}}
	}
	for _, row := range []struct {
		name     string
		kind     workload.Kind
		object   *appv1alpha1.ControlledKind
		enforced bool
	}{
		{"a Deployment is without an object", deployment.Kind{}, nil, true},
		{"another kind is not", statefulset.Kind{}, nil, false},
		{"another kind is if asked for", statefulset.Kind{}, of("statefulsets.apps", "Enforce"), true},
		{"a Deployment is not if observed", deployment.Kind{}, of("deployments.apps", "Observe"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			reader := testkit.NewFake(t)
			g.Expect(reader.DeleteAllOf(t.Context(), &appv1alpha1.ControlledKind{})).To(Succeed())
			if row.object != nil {
				g.Expect(reader.Create(t.Context(), row.object)).To(Succeed())
			}
			enforced, err := workload.Enforced(t.Context(), reader, row.kind)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(enforced).To(Equal(row.enforced))
		})
	}
	broken := interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("broken")
		},
	})
	_, err := workload.Enforced(t.Context(), broken, statefulset.Kind{})
	NewWithT(t).Expect(err).To(MatchError("reading ControlledKind statefulsets.apps: broken"))
}

func TestRegistryOfControlledKind(t *testing.T) {
	g, kinds := NewWithT(t), workload.Registry{deployment.Kind{}, statefulset.Kind{}}
	g.Expect(kinds.OfControlledKind("statefulsets.apps")).To(Equal(statefulset.Kind{}))
	g.Expect(kinds.OfControlledKind("statefulsets.apps.kruise.io")).To(BeNil())
	g.Expect(workload.AlwaysAdmitted(deployment.Kind{})).To(BeTrue())
	g.Expect(workload.AlwaysAdmitted(statefulset.Kind{})).To(BeFalse())
}

func TestHealthOf(t *testing.T) {
	health, reason := workload.HealthOf(deployment.Kind{}, deployment.Kind{}.New())
	NewWithT(t).Expect(health).To(Equal(workload.HealthUnknown))
	NewWithT(t).Expect(reason).To(BeEmpty())
	health, reason = workload.HealthOf(stalled{}, deployment.Kind{}.New())
	NewWithT(t).Expect(health).To(Equal(workload.HealthFailed))
	NewWithT(t).Expect(reason).To(Equal("condition Stalled is True"))
}

// stalled is a kind whose objects show that their release failed.
type stalled struct{ deployment.Kind }

func (stalled) Health(client.Object) (workload.Health, string) {
	return workload.HealthFailed, "condition Stalled is True"
}

func TestOrdinalsOf(t *testing.T) {
	_, parks := workload.OrdinalsOf(deployment.Kind{}, deployment.Kind{}.New())
	NewWithT(t).Expect(parks).To(BeFalse())
	set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate"}}}
	_, parks = workload.OrdinalsOf(statefulset.Kind{}, set)
	NewWithT(t).Expect(parks).To(BeTrue())
}
