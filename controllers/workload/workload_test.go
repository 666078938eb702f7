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
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/traas-stack/altershield-operator/controllers/workload"
)

func TestIsBehindComparesTheObservedGeneration(t *testing.T) {
	g := NewWithT(t)
	of := func(observed any) bool {
		return workload.IsBehind(&unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": int64(3)}, "status": map[string]any{"observedGeneration": observed}}})
	}
	g.Expect(of(int64(2))).To(BeTrue())
	g.Expect(of("2")).To(BeTrue())
	g.Expect(of(int64(3))).To(BeFalse())
	g.Expect(of("3")).To(BeFalse())
	g.Expect(of(nil)).To(BeFalse(), "not every object has it")
	g.Expect(of("two")).To(BeFalse())
	g.Expect(workload.IsBehind(&appsv1.Deployment{})).To(BeFalse(), "those of known kinds are read otherwise")
}
