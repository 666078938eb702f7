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
	"maps"
	"math"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	jobs "github.com/traas-stack/altershield-operator/controllers/workload/job"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
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

// The Jobs of a CronJob are its runs. A Deployment is under change control whatever controls it.
func TestLeavesOwned(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.LeavesOwned(jobs.Kind{})).To(BeTrue())
	g.Expect(workload.LeavesOwned(deployment.Kind{})).To(BeFalse())
}

func TestStoredRevision(t *testing.T) {
	labels := map[string]any{"admission-webhook-altershield.antgroup.com/version": "v1", "altershield.defense.antgroup.com/gate": "start"}
	template := func(directive map[string]any) map[string]any {
		made := map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"hostname": "web"}}
		maps.Copy(made, directive)
		return map[string]any{"template": made}
	}
	meta := map[string]any{"namespace": "default", "name": "web-1", "uid": "uid-1", "labels": labels}
	replicas := template(nil)
	replicas["replicas"] = int64(2)
	for name, row := range map[string]struct {
		kind    workload.Layered
		object  map[string]any
		number  int64
		healthy bool
	}{
		"of a ReplicaSet": {deployment.Kind{}, map[string]any{
			"kind": "ReplicaSet", "metadata": meta, "spec": replicas, "status": map[string]any{"readyReplicas": int64(2)},
		}, math.MaxInt64, true},
		"of a ControllerRevision": {statefulset.Kind{}, map[string]any{
			"kind": "ControllerRevision", "metadata": meta, "revision": int64(7), "data": map[string]any{"spec": template(map[string]any{"$patch": "replace"})},
		}, 7, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			revision, err := workload.StoredRevision(row.kind, &unstructured.Unstructured{Object: row.object})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(revision.Version).To(Equal("v1"))
			g.Expect(revision.Gate).To(Equal("start"))
			g.Expect(revision.Number).To(Equal(row.number))
			g.Expect(revision.Healthy).To(Equal(row.healthy))
			g.Expect(revision.Template).To(Equal(podtemplate.Template{"spec": map[string]any{"hostname": "web"}}))

			row.object["metadata"] = map[string]any{"namespace": "default", "name": "web-1", "labels": "none"}
			_, err = workload.StoredRevision(row.kind, &unstructured.Unstructured{Object: row.object})
			g.Expect(err).To(MatchError(HavePrefix("decoding " + row.object["kind"].(string) + " default/web-1: ")))
		})
	}
}
