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
package rollback_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
	kindof "github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
)

// versionOfGroup is the MD5 of the JSON of the kept content of a group.
const versionOfGroup = "7be086a6cf3f4288b4cf72fedf12af13"

// group is a LeaderWorkerSet at its second release, of which the workers have a bad image.
func group() *unstructured.Unstructured {
	return decode(`{"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
		"metadata": {"namespace": "default", "name": "llm", "uid": "l-1",
			"labels": {"altershield.defense.antgroup.com/suspend": "1795255200", "admission-webhook-altershield.antgroup.com/version": "` + versionOfBad + `"},
			"annotations": {"altershield.defense.antgroup.com/release": "2",
				"kubectl.kubernetes.io/last-applied-configuration": ` + quoted(`{"spec":{"replicas":2,"leaderWorkerTemplate":{"workerTemplate":{"note":"<bad>"}}}}`) + `}},
		"spec": {"replicas": 2, "leaderWorkerTemplate": {
			"leaderTemplate": {"metadata": {"labels": {"admission-webhook-altershield.antgroup.com/version": "` + versionOfBad + `"}},
				"spec": {"containers": [{"name": "vllm", "image": "vllm:1"}]}},
			"workerTemplate": {"metadata": {"labels": {"admission-webhook-altershield.antgroup.com/version": "` + versionOfBad + `"}},
				"spec": {"containers": [{"name": "vllm", "image": "bad"}]}}}}}`)
}

// keptContent is the verified content of a version of a declared workload.
func keptContent(record, version, uid, data string) *unstructured.Unstructured {
	return decode(fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1,
		"metadata": {"namespace": "default", "name": "%s--x--%s",
			"labels": {"altershield.defense.antgroup.com/workload": "%s", "admission-webhook-altershield.antgroup.com/version": "%s"},
			"ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "%s"}]},
		"data": %s}`, record, version, record, version, uid, data))
}

func verifiedOf(name, uid, version string) *appv1alpha1.ChangeWorkload {
	record := workload(version, "Success", 1)
	record.Labels = map[string]string{appv1alpha1.LabelWorkload: name}
	record.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "K", Name: "n", UID: types.UID(uid), Controller: ptr.To(true)}}
	return record
}

func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

func TestRollBackRestoresTheContentOfADeclaredKind(t *testing.T) {
	g, kind := NewWithT(t), kinds.Sample(t, "../..", "leaderworkerset", "leaderworkersets")
	b := newBench(t, nil, optedIn(), group(), testkit.ControlledKind("leaderworkersets.leaderworkerset.x-k8s.io", "Enforce"), verifiedOf("leaderworkersets.llm", "l-1", versionOfGroup),
		keptContent("leaderworkersets.llm", versionOfGroup, "l-1", `{
			"content": {
				"/spec/leaderWorkerTemplate/leaderTemplate": {"spec": {"containers": [{"name": "vllm", "image": "vllm:1"}]}},
				"/spec/leaderWorkerTemplate/workerTemplate": {"spec": {"containers": [{"name": "vllm", "image": "vllm:1"}]}}
			},
			"lastApplied": {"content": {"/spec/leaderWorkerTemplate/workerTemplate": {"note": "<good>"}}}
		}`))
	made, err := b.RollBack(t.Context(), rollback.Request{
		Kind: kind, Workload: client.ObjectKey{Namespace: "default", Name: "llm"}, Reason: "PodsFailed", Message: "find error",
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made.To).To(Equal(versionOfGroup))
	g.Expect(made.ToRelease).To(Equal(int64(3)))
	g.Expect(b.patches).To(HaveLen(1))
	var operations []kindof.Operation
	g.Expect(json.Unmarshal([]byte(b.patches[0]), &operations)).To(Succeed())
	template := func(image, version string) map[string]any {
		result := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "vllm", "image": image}}}}
		if version != "" {
			result["metadata"] = map[string]any{"labels": map[string]any{"admission-webhook-altershield.antgroup.com/version": version}}
		}
		return result
	}
	lastApplied := "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"
	g.Expect(operations).To(HaveExactElements(
		kindof.Operation{Op: "test", Path: "/metadata/uid", Value: "l-1"},
		kindof.Operation{Op: "test", Path: "/metadata/labels/admission-webhook-altershield.antgroup.com~1version", Value: versionOfBad},
		kindof.Operation{Op: "test", Path: "/spec/leaderWorkerTemplate/leaderTemplate", Value: template("vllm:1", versionOfBad)},
		kindof.Operation{Op: "test", Path: "/spec/leaderWorkerTemplate/workerTemplate", Value: template("bad", versionOfBad)},
		kindof.Operation{Op: "test", Path: "/metadata/annotations/altershield.defense.antgroup.com~1release", Value: "2"},
		HaveField("Path", lastApplied),
		kindof.Operation{Op: "replace", Path: "/spec/leaderWorkerTemplate/workerTemplate", Value: template("vllm:1", "")},
		HaveField("Path", "/metadata/annotations/altershield.defense.antgroup.com~1rollbacks"),
		kindof.Operation{Op: "add", Path: lastApplied,
			Value: `{"spec":{"replicas":2,"leaderWorkerTemplate":{"workerTemplate":{"note":"<good>"}}}}` + "\n"},
	))
}

// An API server prunes fields that the CRD doesn't have, unless it is asked to validate them.
func TestRollBackDoesNotLoseFieldsThatTheKindHasNoMore(t *testing.T) {
	g, kind := NewWithT(t), kinds.Sample(t, "../..", "leaderworkerset", "leaderworkersets")
	b := newBench(t, nil, optedIn(), group(), testkit.ControlledKind("leaderworkersets.leaderworkerset.x-k8s.io", "Enforce"), verifiedOf("leaderworkersets.llm", "l-1", versionOfGroup),
		keptContent("leaderworkersets.llm", versionOfGroup, "l-1", `{"content": {"/spec/workerTemplate": {"spec": {}}}}`))
	b.Client = interceptor.NewClient(b.objects, interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, options ...client.PatchOption) error {
			if (&client.PatchOptions{}).ApplyOptions(options).AsPatchOptions().FieldValidation != metav1.FieldValidationStrict {
				return nil
			}
			return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
				field.Invalid(field.NewPath("patch"), `{"spec":{"workerTemplate":{}}}`, `strict decoding error: unknown field "spec.workerTemplate"`),
			})
		},
	})
	_, err := b.RollBack(t.Context(), rollback.Request{Kind: kind, Workload: client.ObjectKey{Namespace: "default", Name: "llm"}, Reason: "PodsFailed"})
	g.Expect(err).To(Equal(&rollback.Obstacle{Reason: "Denied", Message: "leaderworkerset llm can't go back, since the API server denied its earlier content: " +
		`strict decoding error: unknown field "spec.workerTemplate"`}))
}

func TestRollBackNeedsTheElementsOfTheEarlierRelease(t *testing.T) {
	const version = "42a67999d4d4c5ad1f897512fced663e"
	g, kind := NewWithT(t), kinds.Sample(t, "../..", "raycluster", "rayclusters")
	ray := decode(`{"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"namespace": "default", "name": "ray", "uid": "r-1",
			"labels": {"altershield.defense.antgroup.com/suspend": "1795255200", "admission-webhook-altershield.antgroup.com/version": "` + versionOfBad + `"}, "annotations": {"altershield.defense.antgroup.com/release": "2"}},
		"spec": {"headGroupSpec": {"template": {"spec": {"nodeName": "a"}}}, "workerGroupSpecs": []}}`)
	b := newBench(t, nil, optedIn(), ray, testkit.ControlledKind("rayclusters.ray.io", "Enforce"), verifiedOf("rayclusters.ray", "r-1", version),
		keptContent("rayclusters.ray", version, "r-1", `{"content": {"/spec/headGroupSpec/template": {"spec": {}}, "/spec/workerGroupSpecs/0/template": {"spec": {}}}}`))
	asked := rollback.Request{Kind: kind, Workload: client.ObjectKey{Namespace: "default", Name: "ray"}, Reason: "PodsFailed"}
	_, err := b.RollBack(t.Context(), asked)
	g.Expect(err).To(Equal(&rollback.Obstacle{Reason: "OtherElements", Message: "raycluster ray can't go back: " +
		"spec.workerGroupSpecs[*].template has other elements than in the release to restore; change them by hand"}))
	g.Expect(b.patches).To(BeEmpty())
}

// irreversible is a kind whose releases are not rolled back.
type irreversible struct{ kindof.Kind }

func (irreversible) MayUndo() bool { return false }

func TestObstacleOfAKindWithoutUndo(t *testing.T) {
	g, asked := NewWithT(t), request("Requested", "")
	asked.Kind = irreversible{asked.Kind}
	b := newBench(t, nil, optedIn(), sleep())
	_, err := b.RollBack(t.Context(), asked)
	g.Expect(err).To(Equal(&rollback.Obstacle{Reason: "NotReversible", Message: "deployment sleep can't be rolled back: its ControlledKind has undo: None"}))
}

func TestObstacleOfAJob(t *testing.T) {
	asked := request("Requested", "")
	asked.Kind = job.Kind{}
	NewWithT(t).Expect(rollback.ObstacleOf(sleep(), true, asked)).To(Equal(&rollback.Obstacle{
		Reason: "NotReversible", Message: "job sleep can't be rolled back: a Job is one release, so there is nothing to go back to"}))
}
