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
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const ray = `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, annotations: {example.com/step: one}}
spec:
  rayVersion: "2"
  headGroupSpec:
    template: {metadata: {labels: {app: ray, admission-webhook-altershield.antgroup.com/version: v}}, spec: {containers: [{name: head, image: ray:1}]}}
  workerGroupSpecs:
  - {groupName: small, replicas: 1, template: {spec: {containers: [{name: worker, image: ray:1}]}}}
  - {groupName: large, replicas: 2, template: {metadata: {labels: {size: large}}, spec: {containers: [{name: worker, image: ray:1}]}}}
`

func TestKindContent(t *testing.T) {
	g := NewWithT(t)
	kind := sample(t, "raycluster", "rayclusters")
	content := kind.Content(objectOf(t, ray).Object)
	text, err := json.Marshal(content)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(MatchJSON(`{
		"/spec/rayVersion": "2",
		"/spec/headGroupSpec/template": {"metadata": {"labels": {"app": "ray"}}, "spec": {"containers": [{"name": "head", "image": "ray:1"}]}},
		"/spec/workerGroupSpecs/0/template": {"spec": {"containers": [{"name": "worker", "image": "ray:1"}]}},
		"/spec/workerGroupSpecs/1/template": {"metadata": {"labels": {"size": "large"}}, "spec": {"containers": [{"name": "worker", "image": "ray:1"}]}}
	}`))
	version, err := content.Version()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(version).To(Equal("35152a83738e45111bd283c595a5433d"))
	var kept workload.Content
	g.Expect(json.Unmarshal(text, &kept)).To(Succeed())
	g.Expect(kept.Equal(content)).To(BeTrue())
	g.Expect(kept.Version()).To(Equal(version))
	g.Expect(kind.TemplatePath()).To(BeNil(), "there are several")
}

// edit changes the value at a place of an object.
func edit(t *testing.T, text, pointer string, value any) map[string]any {
	t.Helper()
	object := objectOf(t, text).Object
	if value == nil {
		parsePlace(pointer).remove(object)
	} else if !parsePlace(pointer).put(object, value) {
		t.Fatalf("%s is not in the object", pointer)
	}
	return object
}

func TestKindIsRelease(t *testing.T) {
	const cluster = `
metadata: {name: c, annotations: {app.kubernetes.io/operation: creating}}
spec: {cluster: {kubeVersion: v1.30, nodeList: [{ip: 10.0.0.2}], masterList: [{ip: 10.0.0.1}]}, addons: {dns: "1"}}
`
	const clone = `
spec: {replicas: 3, paused: false, template: {metadata: {labels: {app: a}, creationTimestamp: null}, spec: {containers: [{name: a, image: a:1}]}}}
`
	const topology = `
spec: {topology: {version: v1.30, controlPlane: {replicas: 3}, workers: {machineDeployments: [{name: a, replicas: 2}, {name: b}]}}}
`
	for _, row := range []struct {
		name, sample, plural, object, pointer string
		value                                 any
		release                               bool
	}{
		{"an image", "cloneset", "clonesets", clone, "/spec/template/spec/containers/0/image", "a:2", true},
		{"a label of the template", "cloneset", "clonesets", clone, "/spec/template/metadata/labels/app", "b", true},
		{"the version label", "cloneset", "clonesets", clone, "/spec/template/metadata/labels/admission-webhook-altershield.antgroup.com~1version", "x", false},
		{"the creation time of the template", "cloneset", "clonesets", clone, "/spec/template/metadata/creationTimestamp", nil, false},
		{"replicas", "cloneset", "clonesets", clone, "/spec/replicas", int64(5), false},
		{"an annotation", "cloneset", "clonesets", clone, "/metadata/annotations/example.com", "x", false},
		{"no template any more", "cloneset", "clonesets", clone, "/spec/template", nil, false},
		{"a node", "kubernetescluster", "kubernetesclusters", cluster, "/spec/cluster/nodeList/0/ip", "10.0.0.3", true},
		{"an add-on", "kubernetescluster", "kubernetesclusters", cluster, "/spec/addons/log", "1", true},
		{"an operation", "kubernetescluster", "kubernetesclusters", cluster, "/metadata/annotations/app.kubernetes.io~1operation", "scaling-up", true},
		{"the end of an operation", "kubernetescluster", "kubernetesclusters", cluster, "/metadata/annotations/app.kubernetes.io~1operation", "create-finished", false},
		{"another field", "kubernetescluster", "kubernetesclusters", cluster, "/spec/cluster/timeoutMinutes", int64(5), false},
		{"a version", "cluster-api-cluster", "clusters", topology, "/spec/topology/version", "v1.31", true},
		{"members that are ignored", "cluster-api-cluster", "clusters", topology, "/spec/topology/controlPlane/replicas", int64(5), false},
		{"an object that holds nothing else", "cluster-api-cluster", "clusters", topology, "/spec/topology/controlPlane", nil, false},
		{"machines that are ignored", "cluster-api-cluster", "clusters", topology, "/spec/topology/workers/machineDeployments/1/replicas", int64(5), false},
		{"machines of another name", "cluster-api-cluster", "clusters", topology, "/spec/topology/workers/machineDeployments/1/name", "c", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			kind := sample(t, row.sample, row.plural)
			released, err := kind.IsRelease(objectOf(t, row.object).Object, edit(t, row.object, row.pointer, row.value))
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(released).To(Equal(row.release))
		})
	}
}

func TestKindIsReleaseOfANewObject(t *testing.T) {
	g, kind := NewWithT(t), sample(t, "rollout", "rollouts")
	own := objectOf(t, "spec: {template: {spec: {containers: []}}}").Object
	g.Expect(kind.IsRelease(nil, own)).To(BeTrue())
	g.Expect(kind.IsRelease(nil, objectOf(t, "spec: {template: {}, workloadRef: {name: web}}").Object)).To(BeFalse())
	g.Expect(kind.IsRelease(nil, objectOf(t, "spec: {replicas: 1}").Object)).To(BeFalse(), "there is nothing that could be released")
	broken := compiled(t, "rollouts", `release: {when: "object.spec.missing == 'x'"}`)
	_, err := broken.IsRelease(nil, own)
	g.Expect(err).To(MatchError("evaluating spec.release.when: no such key: missing"))
}

// By default everything in the spec is a release, but for what scales and holds.
func TestKindContentOfAWholeSpec(t *testing.T) {
	g := NewWithT(t)
	kind := compiled(t, "machinedeployments", `{hold: [{path: spec.paused, value: true}, {path: spec.rollout.strategy.type, value: OnDelete}]}`)
	before := objectOf(t, "spec: {replicas: 3, clusterName: c}").Object
	g.Expect(kind.Content(before)).To(Equal(workload.Content{"/spec": map[string]any{"clusterName": "c"}}))
	g.Expect(before).To(Equal(objectOf(t, "spec: {replicas: 3, clusterName: c}").Object), "it is read only")
	g.Expect(kind.IsRelease(before, objectOf(t, "spec: {replicas: 4, clusterName: c, paused: true, rollout: {strategy: {type: OnDelete}}}").Object)).To(BeFalse())
	g.Expect(kind.IsRelease(before, objectOf(t, "spec: {replicas: 3, clusterName: d}").Object)).To(BeTrue())
}

// A hold, or whoever else writes an ignored field, may find the object above there already.
func TestKindContentOfObjectsWithoutFields(t *testing.T) {
	kind := compiled(t, "machinedeployments", `{hold: [{path: spec.paused, value: true}, {path: spec.rollout.strategy.type, value: OnDelete}]}`)
	held := objectOf(t, "spec: {clusterName: c, paused: true, rollout: {strategy: {type: OnDelete}}}").Object
	for _, row := range []struct {
		name, object string
		release      bool
	}{
		{"without the object above", "spec: {clusterName: c}", false},
		{"with it", "spec: {clusterName: c, rollout: {strategy: {}}}", false},
		{"with that above it", "spec: {clusterName: c, rollout: {}}", false},
		{"with a null", "spec: {clusterName: c, rollout: {strategy: null}}", false},
		{"with another field beside it", "spec: {clusterName: c, rollout: {after: 1m}}", true},
		{"with an object without fields beside it", "spec: {clusterName: c, rollout: {after: {}}}", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, before := NewWithT(t), objectOf(t, row.object).Object
			g.Expect(kind.IsRelease(before, held)).To(Equal(row.release))
			g.Expect(before).To(Equal(objectOf(t, row.object).Object), "it is read only")
		})
	}
}

func TestKindContentOfATemplateWithinAField(t *testing.T) {
	g := NewWithT(t)
	kind := compiled(t, "knativeservices", "release: {fields: [spec], templates: [spec.template]}")
	before := objectOf(t, "spec: {traffic: [{percent: 100}], template: {metadata: {labels: {a: b}}, spec: {}}}").Object
	g.Expect(kind.Content(before)).To(Equal(workload.Content{
		"/spec":          map[string]any{"traffic": []any{map[string]any{"percent": int64(100)}}},
		"/spec/template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "spec": map[string]any{}},
	}))
	stamped := stamp(t, kind, before, "v1")
	g.Expect(kind.IsRelease(before, stamped)).To(BeFalse())
	changed := objectOf(t, "spec: {traffic: [{percent: 50}], template: {metadata: {labels: {a: c}}, spec: {}}}").Object
	operations, err := kind.Restore(changed, kind.Content(before))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(patched(t, changed, operations)).To(Equal(before))
}

// stamp returns an object whose pod templates carry the version label.
func stamp(t *testing.T, kind Kind, object map[string]any, version string) map[string]any {
	t.Helper()
	stamped := runtime.DeepCopyJSON(object)
	for _, pointer := range kind.Templates(object) {
		at := append(parsePlace(pointer), "metadata", "labels", "admission-webhook-altershield.antgroup.com/version")
		if !at.put(stamped, version) {
			t.Fatalf("%s is not in the object", pointer)
		}
	}
	return stamped
}

func TestKindTemplates(t *testing.T) {
	g, kind := NewWithT(t), sample(t, "raycluster", "rayclusters")
	object := edit(t, ray, "/spec/workerGroupSpecs/1/template/metadata/labels/altershield.defense.antgroup.com~1operate-finished", "1")
	g.Expect(kind.Templates(object)).To(Equal([]string{
		"/spec/headGroupSpec/template", "/spec/workerGroupSpecs/0/template", "/spec/workerGroupSpecs/1/template",
	}))
	g.Expect(kind.Content(stamp(t, kind, object, "v")).Equal(kind.Content(object))).To(BeTrue(), "the operator's labels don't count")
	g.Expect(kind.Templates(edit(t, ray, "/spec/headGroupSpec/template", "none"))).To(HaveLen(2))

	byRevision := compiled(t, "clonesets", "release: {identity: {by: Revision, label: controller-revision-hash, path: status.updateRevision}}")
	g.Expect(byRevision.Templates(objectOf(t, "spec: {template: {}}").Object)).To(BeEmpty())
}

func TestKindRestore(t *testing.T) {
	kind := sample(t, "raycluster", "rayclusters")
	kept := kind.Content(objectOf(t, ray).Object)
	for _, row := range []struct {
		name, pointer string
		value         any
		operations    int
	}{
		{"nothing", "/spec/workerGroupSpecs/0/replicas", int64(7), 0},
		{"an image", "/spec/workerGroupSpecs/0/template/spec/containers/0/image", "ray:2", 1},
		{"a field", "/spec/rayVersion", "3", 1},
		{"a field that was removed", "/spec/rayVersion", nil, 1},
		{"a template that was removed", "/spec/headGroupSpec", nil, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, changed := NewWithT(t), edit(t, ray, row.pointer, row.value)
			operations, err := kind.Restore(changed, kept)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(operations).To(HaveLen(row.operations))
			restored := patched(t, changed, operations)
			g.Expect(kind.Content(restored).Equal(kept)).To(BeTrue())
			g.Expect(parsePlace("/spec/workerGroupSpecs/0/replicas").find(restored)).To(Equal(parsePlace("/spec/workerGroupSpecs/0/replicas").find(changed)))
		})
	}
}

func TestKindRestoreOfOtherElements(t *testing.T) {
	g, kind := NewWithT(t), sample(t, "raycluster", "rayclusters")
	kept := kind.Content(objectOf(t, ray).Object)
	fewer := edit(t, ray, "/spec/workerGroupSpecs", []any{})
	_, err := kind.Restore(fewer, kept)
	g.Expect(err).To(MatchError("spec.workerGroupSpecs[*].template has other elements than in the release to restore; change them by hand"))
	_, err = kind.Restore(objectOf(t, ray).Object, kind.Content(fewer))
	g.Expect(err).To(MatchError(HavePrefix("spec.workerGroupSpecs[*].template has other elements")))
}

func TestKindRestoreKeepsWhatIsIgnored(t *testing.T) {
	g, kind := NewWithT(t), sample(t, "cluster-api-cluster", "clusters")
	before := objectOf(t, "spec: {topology: {version: v1.30, controlPlane: {replicas: 3}, workers: {machineDeployments: [{name: a, replicas: 2}]}}}").Object
	after := objectOf(t, "spec: {paused: true, topology: {version: v1.31, controlPlane: {replicas: 5}, workers: {machineDeployments: [{name: a, replicas: 9}]}}}").Object
	operations, err := kind.Restore(after, kind.Content(before))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(patched(t, after, operations)).To(Equal(objectOf(t,
		"spec: {paused: true, topology: {version: v1.30, controlPlane: {replicas: 5}, workers: {machineDeployments: [{name: a, replicas: 9}]}}}").Object))
	gone := objectOf(t, "spec: {paused: true}").Object
	operations, err = kind.Restore(gone, kind.Content(before))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kind.Content(patched(t, gone, operations)).Equal(kind.Content(before))).To(BeTrue())
	operations, err = kind.Restore(before, workload.Content{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(patched(t, before, operations)).To(Equal(map[string]any{"spec": map[string]any{}}))
}
