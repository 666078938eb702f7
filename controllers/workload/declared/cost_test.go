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

package declared

import (
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// ruledClones controls CloneSets with three rules and a condition.
const ruledClones = `
mode: Enforce
release:
  templates: [spec.template]
  when: object.spec.?replicas.orValue(1) > 0 || oldObject != null
hold: [{path: spec.updateStrategy.paused, value: true}]
pace: {partition: {path: spec.updateStrategy.partition, counts: Old}}
rules:
- {name: images, operations: [CREATE, UPDATE], message: no tag latest, expression: "object.spec.template.spec.containers.all(c, !c.image.endsWith(':latest'))"}
- {name: steps, operations: [UPDATE], message: too many pods at a time, expression: "object.spec.replicas <= oldObject.spec.replicas + 10"}
- {name: who, operations: [CREATE, UPDATE], message: not by this user, expression: "request.userInfo.username != 'system:anonymous'"}
`

// clone returns the JSON of a CloneSet of 7 KB, as the API server sends it.
func clone(t testing.TB, number int) []byte {
	t.Helper()
	variables := func(prefix string) []any {
		var list []any
		for i := range 32 {
			list = append(list, map[string]any{"name": fmt.Sprintf("%s_SETTING_%02d", prefix, i), "value": fmt.Sprintf("%s-value-%d-%d", prefix, i, number)})
		}
		return list
	}
	managed := map[string]any{}
	for i := range 40 {
		managed[fmt.Sprintf(`k:{"name":"SETTING_%02d"}`, i)] = map[string]any{".": map[string]any{}, "f:name": map[string]any{}}
	}
	name, version := fmt.Sprintf("clone-%d", number), fmt.Sprintf("%032x", number)
	text, err := json.Marshal(map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet",
		"metadata": map[string]any{
			"name": name, "namespace": "shop", "uid": fmt.Sprintf("8f0c2f4e-3f27-4a0a-9d4c-%012d", number), "resourceVersion": fmt.Sprint(1000 + number),
			"generation": 3, "creationTimestamp": "2026-11-21T10:00:00Z",
			"labels": map[string]any{"app": name, "admission-webhook-altershield.antgroup.com/version": version},
			"annotations": map[string]any{
				"altershield.defense.antgroup.com/release":     "3",
				"altershield.defense.antgroup.com/released-by": `{"user":"system:serviceaccount:ci:deployer","time":"2026-11-21T10:00:00Z","version":"` + version + `"}`,
			},
			"managedFields": []any{map[string]any{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": managed}},
		},
		"spec": map[string]any{
			"replicas": 3, "selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"updateStrategy": map[string]any{"type": "ReCreate", "partition": 0, "maxUnavailable": "25%"},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": name, "admission-webhook-altershield.antgroup.com/version": version}},
				"spec": map[string]any{"containers": []any{
					map[string]any{"name": "app", "image": "registry.example.com/shop/app:1.4.2", "env": variables("APP")},
					map[string]any{"name": "sidecar", "image": "registry.example.com/shop/sidecar:0.9.1", "env": variables("SIDECAR")},
				}},
			},
		},
		"status": map[string]any{
			"observedGeneration": 3, "replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "updatedReadyReplicas": 3,
			"currentRevision": name + "-7c9d5b8f4", "updateRevision": name + "-7c9d5b8f4", "labelSelector": "app=" + name,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decoded(t testing.TB, text []byte) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestKindSlimIsSmall(t *testing.T) {
	g, kind := NewWithT(t), compiled(t, "clonesets", ruledClones)
	g.Expect(len(clone(t, 1))).To(BeNumerically("~", 7168, 300))
	const count = 500
	kept := make([]any, count)
	before := heap()
	for i := range kept {
		var err error
		kept[i], err = kind.Slim(decoded(t, clone(t, i)))
		g.Expect(err).NotTo(HaveOccurred())
	}
	after := heap()
	each := float64(after-before) / count / 1024
	t.Logf("%.2f KiB for each object", each)
	g.Expect(each).To(BeNumerically("<", 4), "KiB")
	goruntime.KeepAlive(kept)
}

// heap returns the bytes of the heap after a garbage collection.
func heap() uint64 {
	goruntime.GC()
	var stats goruntime.MemStats
	goruntime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func BenchmarkViolationsAndIsRelease(b *testing.B) {
	kind := compiled(b, "clonesets", ruledClones)
	old, updated := decoded(b, clone(b, 1)).Object, decoded(b, clone(b, 1)).Object
	if !parsePlace("/spec/template/spec/containers/0/image").put(updated, "registry.example.com/shop/app:1.4.3") {
		b.Fatal("there is no image")
	}
	request := &admissionv1.AdmissionRequest{
		Operation: "UPDATE", UserInfo: authenticationv1.UserInfo{Username: "alice", Groups: []string{"system:authenticated"}},
		Object: runtime.RawExtension{Raw: clone(b, 1)}, OldObject: runtime.RawExtension{Raw: clone(b, 1)},
	}
	for b.Loop() {
		if found := kind.Violations(request, old, updated); len(found) > 0 {
			b.Fatal(found)
		}
		if released, err := kind.IsRelease(old, updated); err != nil || !released {
			b.Fatal(released, err)
		}
	}
}

func BenchmarkSlim(b *testing.B) {
	kind, object := compiled(b, "clonesets", ruledClones), decoded(b, clone(b, 1))
	for b.Loop() {
		if _, err := kind.Slim(object); err != nil {
			b.Fatal(err)
		}
	}
}
