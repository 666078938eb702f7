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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// rolled returns a workload of two replicas whose rollout is complete.
func rolled(name, note string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "generation": int64(3), "labels": map[string]any{"admission-webhook-altershield.antgroup.com/version": "abc"}},
		"spec": map[string]any{"replicas": int64(2), "template": map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"note": note}}}},
		"status": map[string]any{"observedGeneration": int64(3), "replicas": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(2)},
	}}
}

// set changes a field of a workload.
func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(workload *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(workload.Object, value, path...)
	}
}

func record(name, version, status string) *appv1alpha1.ChangeWorkload {
	result := &appv1alpha1.ChangeWorkload{Spec: appv1alpha1.ChangeWorkloadSpec{AppName: name, Reversion: version}}
	result.Status.Status = appv1alpha1.ChangeWorkloadPhase(status)
	return result
}

func TestIsRolledOnceNoOtherPodIsLeftAndAllAreAvailable(t *testing.T) {
	for name, change := range map[string]func(*unstructured.Unstructured){
		"not seen by its controller":        set(int64(2), "status", "observedGeneration"),
		"not updated":                       set(int64(1), "status", "updatedReplicas"),
		"an old pod is left":                set(int64(3), "status", "replicas"),
		"not available":                     set(int64(1), "status", "availableReplicas"),
		"of another release":                set("first", "spec", "template", "metadata", "annotations", "note"),
		"a Rollout that goes on":            set("Progressing", "status", "phase"),
		"a Rollout whose change isn't seen": set("2", "status", "observedGeneration"),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			seen, changed := newProgress("second", 1), rolled("cart", "second")
			change(changed)
			g.Expect(seen.sawWorkload(changed)).To(BeFalse())
			g.Expect(seen.sawWorkload(rolled("cart", "second"))).To(BeTrue())
		})
	}
}

func TestIsRolledOnceARolloutIsHealthy(t *testing.T) {
	rollout := rolled("cart", "second")
	set("3", "status", "observedGeneration")(rollout)
	set("Healthy", "status", "phase")(rollout)
	NewWithT(t).Expect(newProgress("second", 1).sawWorkload(rollout)).To(BeTrue())
}

func TestIsVerifiedOnceTheChangeWorkloadOfEachReachedSuccess(t *testing.T) {
	g := NewWithT(t)
	seen := newProgress("second", 2)
	g.Expect(seen.sawWorkload(rolled("cart", "second"))).To(BeFalse())
	g.Expect(seen.sawWorkload(rolled("till", "second"))).To(BeTrue())
	g.Expect(seen.sawRecord(record("cart", "abc", "Success"))).To(BeFalse())
	g.Expect(seen.sawRecord(record("till", "before", "Success"))).To(BeFalse())
	g.Expect(seen.sawRecord(record("till", "abc", "Running"))).To(BeFalse())
	g.Expect(seen.unverified()).To(Equal(map[string]string{"till": "abc"}))
	g.Expect(seen.sawRecord(record("till", "abc", "Success"))).To(BeTrue())
}
