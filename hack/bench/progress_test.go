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

package main

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// released returns a Deployment of two replicas whose rollout is complete.
func released(name, note string) *appsv1.Deployment {
	deployment := lab.Deployment("shop", name, 2)
	deployment.Generation = 3
	deployment.Labels["admission-webhook-altershield.antgroup.com/version"] = "abc"
	deployment.Spec.Template.Annotations = map[string]string{"note": note}
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
	return deployment
}

func workload(name, status string) *appv1alpha1.ChangeWorkload {
	result := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Name: name}}
	result.Status.Status = appv1alpha1.ChangeWorkloadPhase(status)
	return result
}

func TestIsCompleteOnceNoOtherPodIsLeftAndAllAreAvailable(t *testing.T) {
	for name, edit := range map[string]func(*appsv1.Deployment){
		"not seen by its controller": func(d *appsv1.Deployment) { d.Status.ObservedGeneration = 2 },
		"not updated":                func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 },
		"an old pod is left":         func(d *appsv1.Deployment) { d.Status.Replicas = 3 },
		"not available":              func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 },
		"of another release":         func(d *appsv1.Deployment) { d.Spec.Template.Annotations["note"] = "first" },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			seen := newProgress("second", 1)
			deployment := released("cart", "second")
			edit(deployment)
			seen.sawDeployment(deployment)
			g.Expect(seen.isRolled()).To(BeFalse())
			seen.sawDeployment(released("cart", "second"))
			g.Expect(seen.isRolled()).To(BeTrue())
		})
	}
}

func TestIsVerifiedOnceTheChangeWorkloadOfEachReachedSuccess(t *testing.T) {
	g := NewWithT(t)
	seen := newProgress("second", 2)
	seen.sawWorkload(workload("cart--x--abc", "Success"))
	seen.sawDeployment(released("cart", "second"))
	g.Expect(seen.isRolled()).To(BeFalse())
	seen.sawDeployment(released("till", "second"))
	g.Expect(seen.isRolled()).To(BeTrue())
	g.Expect(seen.isVerified()).To(BeFalse())
	seen.sawWorkload(workload("till--x--before", "Success"))
	seen.sawWorkload(workload("till--x--abc", "Running"))
	g.Expect(seen.isVerified()).To(BeFalse())
	g.Expect(seen.left(true)).To(Equal("2 of 2 rollouts are complete, of these map[till:till--x--abc] are not verified"))
	g.Expect(seen.left(false)).To(Equal("2 of 2 rollouts are complete"))
	seen.sawWorkload(workload("till--x--abc", "Success"))
	g.Expect(seen.isVerified()).To(BeTrue())
}
