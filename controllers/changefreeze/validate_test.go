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

package changefreeze

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func TestValidatorWarnsOfAFreezeThatFreezesLessThanItSeemsTo(t *testing.T) {
	of := func(kinds ...string) (selectors []appv1alpha1.WorkloadSelector) {
		for _, kind := range kinds {
			selectors = append(selectors, appv1alpha1.WorkloadSelector{Kind: kind})
		}
		return selectors
	}
	for _, row := range []struct {
		name      string
		namespace string
		change    func(*appv1alpha1.ChangeFreezeSpec)
		warnings  []string
	}{
		{"of a kind under change control", "shop", func(spec *appv1alpha1.ChangeFreezeSpec) { spec.Workloads = of("Deployment.apps") }, nil},
		{"of other kinds", "shop", func(spec *appv1alpha1.ChangeFreezeSpec) {
			spec.Workloads = of("Deployment.app", "Deployment.apps", "Gadget.example.com")
		}, []string{
			"ChangeFreeze friday freezes no Deployment.app: the kind isn't under change control",
			"ChangeFreeze friday freezes no Gadget.example.com: the kind isn't under change control",
		}},
		{"of the operator's namespace", system, func(*appv1alpha1.ChangeFreezeSpec) {}, []string{
			"ChangeFreeze friday freezes only namespace altershieldoperator-system: to freeze others, set spec.namespaces",
		}},
		{"of the namespaces that it selects", system, func(spec *appv1alpha1.ChangeFreezeSpec) { spec.Namespaces = &metav1.LabelSelector{} }, nil},
		{"that is over", "shop", func(spec *appv1alpha1.ChangeFreezeSpec) { spec.Expires.Duration = time.Minute },
			[]string{"ChangeFreeze friday never begins: its times are over"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			raw, err := json.Marshal(newFreeze(func(object *appv1alpha1.ChangeFreeze) {
				object.Namespace, object.Spec.Expires = row.namespace, &metav1.Duration{Duration: time.Hour}
				row.change(&object.Spec)
			}))
			g.Expect(err).NotTo(HaveOccurred())
			validator := Validator{
				Clock: clocktesting.NewFakePassiveClock(testkit.Now().Add(2 * time.Minute)), Kinds: workload.Registry{deployment.Kind{}}, Namespace: system,
			}
			response := validator.Handle(t.Context(), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Namespace: row.namespace, Object: runtime.RawExtension{Raw: raw},
			}})
			g.Expect(response.Allowed).To(BeTrue())
			g.Expect(response.Warnings).To(Equal(row.warnings))
		})
	}
}

func TestValidatorLetsAnInvalidFreezeGoThatIsDeleted(t *testing.T) {
	handle := func(metadata string) review.Response {
		return (&Validator{Clock: clocktesting.NewFakePassiveClock(testkit.Now()), Kinds: testkit.Kinds(), Namespace: system}).Handle(t.Context(),
			review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: "UPDATE", Namespace: "shop", Name: "friday", Object: runtime.RawExtension{Raw: []byte(`{"metadata":{` + metadata + `},"spec":{"namespaces":{}}}`)},
			}})
	}
	g := NewWithT(t)
	g.Expect(handle(`"name":"friday"`).Allowed).To(BeFalse())
	g.Expect(handle(`"name":"friday","deletionTimestamp":"2026-11-27T15:00:00Z"`).Allowed).To(BeTrue())
}
