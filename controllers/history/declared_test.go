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
package history_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// group is a LeaderWorkerSet at its third release.
const group = `{
	"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
	"metadata": {"namespace": "default", "name": "llm", "uid": "uid-1",
		"labels": {"admission-webhook-altershield.antgroup.com/version": "49231670b4c52dcb9f80e90556d9ff46"},
		"annotations": {"altershield.defense.antgroup.com/release": "3",
			"kubectl.kubernetes.io/last-applied-configuration": "{\"spec\":{\"replicas\":2,\"leaderWorkerTemplate\":{\"workerTemplate\":{\"spec\":{\"nodeName\":\"a\"}}}}}"}},
	"spec": {"replicas": 2, "leaderWorkerTemplate": {
		"leaderTemplate": {"metadata": {"labels": {"admission-webhook-altershield.antgroup.com/version": "49231670b4c52dcb9f80e90556d9ff46"}},
			"spec": {"containers": [{"name": "vllm", "image": "vllm:1"}], "terminationGracePeriodSeconds": 30}},
		"workerTemplate": {"spec": {"containers": [{"name": "vllm", "image": "vllm:1"}]}}}}
}`

func newGroup(t *testing.T) (*cluster, workload.Kind, decide.Release) {
	t.Helper()
	c, kind := newCluster(t, 3), kinds.Sample(t, "../..", "leaderworkerset", "leaderworkersets")
	c.live = &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(group), c.live); err != nil {
		t.Fatal(err)
	}
	return c, kind, decide.Release{Version: "49231670b4c52dcb9f80e90556d9ff46", Number: 3}
}

func TestKeepWritesTheContentOfADeclaredKind(t *testing.T) {
	g := NewWithT(t)
	c, kind, release := newGroup(t)
	for range 2 { // the second time, nothing is new
		g.Expect(c.keeper().Keep(t.Context(), kind, c.live, release)).To(Succeed())
	}
	g.Expect(c.calls).To(HaveExactElements("get", "create", "get", "create", "get"))
	var kept appsv1.ControllerRevision
	key := client.ObjectKey{Namespace: "default", Name: "leaderworkersets.llm--x--49231670b4c52dcb9f80e90556d9ff46"}
	g.Expect(c.kube.Get(t.Context(), key, &kept)).To(Succeed())
	g.Expect(kept.Data.Raw).To(MatchJSON(`{
		"content": {
			"/spec/leaderWorkerTemplate/leaderTemplate": {"spec": {"containers": [{"name": "vllm", "image": "vllm:1"}], "terminationGracePeriodSeconds": 30}},
			"/spec/leaderWorkerTemplate/workerTemplate": {"spec": {"containers": [{"name": "vllm", "image": "vllm:1"}]}}
		},
		"lastApplied": {"content": {"/spec/leaderWorkerTemplate/workerTemplate": {"spec": {"nodeName": "a"}}}}
	}`))
	yes := true
	g.Expect(kept.OwnerReferences).To(HaveExactElements(metav1.OwnerReference{
		APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: "llm", UID: "uid-1", BlockOwnerDeletion: &yes}),
		"its controller may keep ControllerRevisions, too")

	listed, err := c.keeper().List(t.Context(), kind, c.live)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(listed).To(HaveLen(1))
	g.Expect(listed[0].Content).To(Equal(workload.ContentOf(kind, c.live.Object)))
	g.Expect(listed[0].Applied).To(Equal(workload.Content{
		"/spec/leaderWorkerTemplate/workerTemplate": map[string]any{"spec": map[string]any{"nodeName": "a"}}}))
	contents, err := c.keeper().Contents(t.Context(), kind, c.live)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(contents).To(HaveKeyWithValue(release.Version, listed[0].Content))
}

func TestKeepLeavesOutAContentThatWasChangedWithoutARelease(t *testing.T) {
	g := NewWithT(t)
	c, kind, release := newGroup(t)
	g.Expect(unstructured.SetNestedField(c.live.Object, int64(60), "spec", "leaderWorkerTemplate", "leaderTemplate", "spec", "terminationGracePeriodSeconds")).To(Succeed())
	g.Expect(c.keeper().Keep(t.Context(), kind, c.live, release)).To(MatchError("the template history is not kept: the content of LeaderWorkerSet default/llm " +
		"doesn't belong to version 49231670b4c52dcb9f80e90556d9ff46, it was changed without a release: release it again"))
	g.Expect(c.calls).To(HaveExactElements("get"))
}

func TestListLeavesOutWhatIsNoContent(t *testing.T) {
	g := NewWithT(t)
	c, kind, release := newGroup(t)
	g.Expect(c.keeper().Keep(t.Context(), kind, c.live, release)).To(Succeed())
	var kept appsv1.ControllerRevisionList
	g.Expect(c.kube.List(t.Context(), &kept)).To(Succeed())
	for _, data := range []string{`{}`, `{"content": {}}`, `{"content": []}`, `{"spec": {"template": {"spec": {}}}}`, `null`} {
		kept.Items[0].Data.Raw = []byte(data)
		g.Expect(c.kube.Update(t.Context(), &kept.Items[0])).To(Succeed())
		g.Expect(c.keeper().List(t.Context(), kind, c.live)).To(BeEmpty(), data)
	}
}
