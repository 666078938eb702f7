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
package webhooks

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const (
	// MD5s of the JSON of the contents: of group, of group with the image vllm:2 of its workers, of cluster, and of cluster with v1.31.0.
	versionOfGroup   = "dfb50d59e56d81467017ec197e3c3ced"
	versionOfWorkers = "625f66f18d195c6a35315ec9c150979d"
	versionOfCluster = "d5b4f7ff49a1e578df4ea9b882339452"
	versionOfUpgrade = "dd1ed0efb82be3a63d783b1f123730ce"

	versionKey = "admission-webhook-altershield.antgroup.com/version"
)

// group is a LeaderWorkerSet, whose worker template has no metadata.
const group = `{
	"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "llm", "namespace": "default", "uid": "l-1"},
	"spec": {
		"replicas": 2,
		"leaderWorkerTemplate": {
			"size": 2,
			"leaderTemplate": {"metadata": {"labels": {"role": "leader"}}, "spec": {"containers": [{"name": "vllm", "image": "vllm:1"}]}},
			"workerTemplate": {"spec": {"containers": [{"name": "vllm", "image": "vllm:1"}]}}
		},
		"rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"partition": 0, "maxUnavailable": 1}}
	}
}`

// cluster is a KubernetesCluster.
const cluster = `{
	"apiVersion": "ecs.yun.com/v1", "kind": "KubernetesCluster", "metadata": {"name": "prod", "namespace": "default", "uid": "k-1"},
	"spec": {"cluster": {"kubeVersion": "v1.30.2", "masterList": [{"ip": "10.0.0.1"}], "nodeList": [{"ip": "10.0.0.2"}, {"ip": "10.0.0.3"}]}},
	"status": {"phase": "Running"}
}`

const knativeService = `{
	"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default", "uid": "s-1"},
	"spec": {"template": {"spec": {"containers": [{"image": "web:1"}]}}}, "status": {"latestReadyRevisionName": "web-00001"}
}`

func groups(t testing.TB) workload.Kind {
	t.Helper()
	return kinds.Sample(t, "..", "leaderworkerset", "leaderworkersets")
}

func clusters(t testing.TB) workload.Kind {
	t.Helper()
	return kinds.Sample(t, "..", "kubernetescluster", "kubernetesclusters")
}

// objectOf returns an object with the edits.
func objectOf(t testing.TB, text string, edits ...edit) object {
	t.Helper()
	result := object{}
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		t.Fatal(err)
	}
	for _, edit := range edits {
		edit(result)
	}
	return result
}

// image sets the image of a template of a group.
func image(template, image string) edit {
	return func(group object) {
		at(group, "spec", "leaderWorkerTemplate", template, "spec")["containers"] = []any{object{"name": "vllm", "image": image}}
	}
}

// stampedGroup makes a group carry the stamp of a release.
func stampedGroup(version, number string) edit {
	return func(group object) {
		label(versionKey, version)(group)
		annotation("altershield.defense.antgroup.com/release", number)(group)
		for _, template := range []string{"leaderTemplate", "workerTemplate"} {
			at(group, "spec", "leaderWorkerTemplate", template, "metadata", "labels")[versionKey] = version
		}
	}
}

func stampedCluster(version, number string) edit {
	return all(label(versionKey, version), annotation("altershield.defense.antgroup.com/release", number))
}

func controlled(object object) {
	at(object, "metadata")["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": "o-1", "controller": true}}
}

// mutated returns the object of a request as the defaulter admits it.
func mutated(t testing.TB, kind workload.Kind, old, updated object) object {
	t.Helper()
	accounts := accountsOf(t, readerOf(t, interceptor.Funcs{})).of(kind)
	defaulter := &defaulter{kind: kind, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts).of(kind), freezes: freezesOf(t, accounts, kind),
		paces: pacesOf(t, pastOf(nil, accounts).of(kind), kind)}
	request := requestOf(t, old, updated)
	response := defaulter.Handle(t.Context(), request)
	if !response.Allowed {
		t.Fatal(response.Result.Message)
	}
	text, err := json.Marshal(response.Patches)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := patch.Apply(request.Object.Raw)
	if err != nil {
		t.Fatal(err)
	}
	return objectOf(t, string(patched))
}

// judge returns the answer of the validator to a request.
func judge(t testing.TB, kind workload.Kind, operation, name string, old, updated object) admission.Response {
	t.Helper()
	accounts := accountsOf(t, readerOf(t, interceptor.Funcs{})).of(kind)
	validator := &validator{kind: kind, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts).of(kind)}
	request := requestOf(t, old, updated)
	request.Operation, request.Name = admissionv1.Operation(operation), name
	return validator.Handle(t.Context(), request)
}

func TestDefaulterStampsEveryTemplate(t *testing.T) {
	g, kind := NewWithT(t), groups(t)
	g.Expect(mutated(t, kind, nil, objectOf(t, group))).To(Equal(objectOf(t, group, stampedGroup(versionOfGroup, "1"),
		releasedBy("alice", versionOfGroup, "1"))), "of a new workload")
	current := objectOf(t, group, stampedGroup(versionOfGroup, "4"))
	for _, row := range []struct {
		name    string
		updated edit
		want    edit
	}{
		{"with a release of the workers", all(stampedGroup(versionOfGroup, "4"), image("workerTemplate", "vllm:2")),
			all(image("workerTemplate", "vllm:2"), stampedGroup(versionOfWorkers, "5"), releasedBy("alice", versionOfWorkers, "5",
				"spec.leaderWorkerTemplate.workerTemplate.spec.containers[vllm].image: vllm:1 -> vllm:2"))},
		{"with a release that leaves the labels out", image("workerTemplate", "vllm:2"),
			all(image("workerTemplate", "vllm:2"), stampedGroup(versionOfWorkers, "5"), releasedBy("alice", versionOfWorkers, "5",
				"spec.leaderWorkerTemplate.workerTemplate.spec.containers[vllm].image: vllm:1 -> vllm:2"))},
		{"with the same version where replicas change", all(stampedGroup(versionOfGroup, "4"), field(float64(7), "replicas", "spec")),
			all(stampedGroup(versionOfGroup, "4"), field(float64(7), "replicas", "spec"))},
		{"with the same version where the labels are left out", all(), stampedGroup(versionOfGroup, "4")},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(mutated(t, kind, current, objectOf(t, group, row.updated))).To(Equal(objectOf(t, group, row.want)))
		})
	}
	unlabelled := objectOf(t, group)
	g.Expect(mutated(t, kind, unlabelled, objectOf(t, group, label("team", "a")))).To(Equal(objectOf(t, group, label("team", "a"))),
		"not before its first release")
}

func TestDefaulterKeepsLabelsOfATemplateThatAreNoStrings(t *testing.T) {
	g := NewWithT(t)
	labels := map[string]any{"app": "llm", "team": nil, "tier": 1.0}
	created := objectOf(t, group, field(labels, "labels", "spec", "leaderWorkerTemplate", "leaderTemplate", "metadata"))
	stamped := at(mutated(t, groups(t), nil, created), "spec", "leaderWorkerTemplate", "leaderTemplate", "metadata", "labels")
	g.Expect(stamped).To(And(HaveKeyWithValue("app", "llm"), HaveKeyWithValue("team", BeNil()), HaveKeyWithValue("tier", 1.0), HaveKey(versionKey)))
}

func TestDefaulterLetsAHeldGroupGoOnWithTheNextRelease(t *testing.T) {
	stopped := field(float64(2147483647), "partition", "spec", "rolloutStrategy", "rollingUpdateConfiguration")
	holding := all(stampedGroup(versionOfGroup, "4"), suspended, held("4"), stopped,
		annotation("altershield.defense.antgroup.com/held-from", `{"/spec/rolloutStrategy/rollingUpdateConfiguration/partition":0}`))
	repair := mutated(t, groups(t), objectOf(t, group, holding), objectOf(t, group, holding, ignoring, image("workerTemplate", "vllm:2")))
	g := NewWithT(t)
	g.Expect(at(repair, "spec", "rolloutStrategy", "rollingUpdateConfiguration")).To(HaveKeyWithValue("partition", float64(0)))
	g.Expect(at(repair, "metadata", "annotations")).NotTo(HaveKey("altershield.defense.antgroup.com/held"))
	g.Expect(at(repair, "metadata", "annotations")).To(HaveKeyWithValue("altershield.defense.antgroup.com/ignored-suspend-by",
		`{"user":"alice","time":"2026-11-21T10:00:00.000000Z","version":"`+versionOfWorkers+`","release":5}`))
	g.Expect(at(repair, "metadata", "labels")).NotTo(HaveKey("altershield.defense.antgroup.com/ignored-suspend"))
}

func TestDefaulterRemembersWhatAPauseNeedsToKnow(t *testing.T) {
	kind := kinds.Sample(t, "..", "knative-service", "knativeservices")
	released := mutated(t, kind, objectOf(t, knativeService), objectOf(t, knativeService, field([]any{object{"image": "web:2"}}, "containers", "spec", "template", "spec")))
	NewWithT(t).Expect(at(released, "metadata", "annotations")).To(HaveKeyWithValue("altershield.defense.antgroup.com/hold-with",
		ContainSubstring(`"revisionName":"web-00001"`)))
	scaled := mutated(t, kind, released, objectOf(t, string(raw(t, released).Raw),
		annotation("altershield.defense.antgroup.com/hold-with", "{}")))
	NewWithT(t).Expect(at(scaled, "metadata", "annotations")).To(HaveKeyWithValue("altershield.defense.antgroup.com/hold-with",
		ContainSubstring(`"revisionName":"web-00001"`)), "users don't change it")
}

func TestDefaulterStampsAnObjectWithoutTemplates(t *testing.T) {
	g, kind := NewWithT(t), clusters(t)
	upgrade := field("v1.31.0", "kubeVersion", "spec", "cluster")
	g.Expect(mutated(t, kind, nil, objectOf(t, cluster))).To(Equal(objectOf(t, cluster, stampedCluster(versionOfCluster, "1"),
		releasedBy("alice", versionOfCluster, "1"))))
	release := stampedCluster(versionOfCluster, "4")
	g.Expect(mutated(t, kind, objectOf(t, cluster, release), objectOf(t, cluster, release, upgrade))).To(Equal(
		objectOf(t, cluster, upgrade, stampedCluster(versionOfUpgrade, "5"),
			releasedBy("alice", versionOfUpgrade, "5", "spec.cluster.kubeVersion: changed, value not shown"))))

	finished := annotation("app.kubernetes.io/operation", "scaling-finished")
	g.Expect(mutated(t, kind, objectOf(t, cluster, release), objectOf(t, cluster, release, finished))).To(Equal(
		objectOf(t, cluster, release, finished)), "the end of an operation is no release")
	g.Expect(mutated(t, kind, nil, objectOf(t, cluster, finished, release, suspended))).To(Equal(objectOf(t, cluster, finished, func(cluster object) {
		at(cluster, "metadata", "labels")
	})), "nor is such a new object, which keeps no key of the operator")
}

func TestMarksRestoreTemplatesAsTheyWere(t *testing.T) {
	g := NewWithT(t)
	of := func(versions map[string]string) marks {
		result := marks{templates: map[string]templateMarks{}}
		for pointer, version := range versions {
			result.templates[pointer] = templateMarks{labels: map[string]string{"app": "ray"}}
			if version != "" {
				result.templates[pointer].labels[versionKey] = version
			}
		}
		return result
	}
	updated := of(map[string]string{"/a": "", "/b": "forged", "/new": ""})
	updated.restoreTemplates(of(map[string]string{"/a": "v1", "/b": "v1", "/gone": "v1"}))
	g.Expect(updated.templates).To(Equal(of(map[string]string{"/a": "v1", "/b": "v1", "/new": "v1"}).templates), "a new one gets the version, too")
	updated = of(map[string]string{"/a": "forged", "/new": "forged"})
	updated.restoreTemplates(of(map[string]string{"/a": ""}))
	g.Expect(updated.templates).To(Equal(of(map[string]string{"/a": "", "/new": ""}).templates), "before the first release")
}

func TestDefaulterReportsAConditionThatFails(t *testing.T) {
	g, kind := NewWithT(t), clusters(t)
	accounts := accountsOf(t, readerOf(t, interceptor.Funcs{})).of(kind)
	defaulter := &defaulter{kind: kind, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts).of(kind), freezes: freezesOf(t, accounts, kind),
		paces: pacesOf(t, pastOf(nil, accounts).of(kind), kind)}
	request := requestOf(t, nil, objectOf(t, cluster, field(1, "app.kubernetes.io/operation", "metadata", "annotations")))
	request.Name = "prod"
	response := defaulter.Handle(t.Context(), request)
	g.Expect(response.Allowed).To(BeFalse())
	g.Expect(response.Result.Message).To(HavePrefix("kubernetescluster prod: evaluating spec.release.when: "))
}

func TestDefaulterLeavesControlledObjectsAlone(t *testing.T) {
	g, kind := NewWithT(t), groups(t)
	g.Expect(mutated(t, kind, nil, objectOf(t, group, controlled))).To(Equal(objectOf(t, group, controlled)))
	part := objectOf(t, group, controlled, image("workerTemplate", "vllm:2"))
	g.Expect(mutated(t, kind, objectOf(t, group, controlled), part)).To(Equal(part))
	adopted := mutated(t, kind, objectOf(t, group, stampedGroup(versionOfGroup, "4")), part)
	g.Expect(at(adopted, "metadata", "labels")).To(HaveKeyWithValue(versionKey, versionOfWorkers), "an update judges by the object before it")
}

func TestValidatorDeniesReleasesOfADeclaredKind(t *testing.T) {
	release := all(stampedGroup(versionOfGroup, "4"), suspended)
	next := all(stampedGroup(versionOfWorkers, "5"), suspended, image("workerTemplate", "vllm:2"))
	repair := all(next, recorded("alice", "2026-11-21T10:00:00.000000Z", versionOfWorkers, "5"))
	rolledBack := all(stampedGroup(versionOfGroup, "4"), rolledBack(leaving(versionOfWorkers, "4", refused)))
	for _, row := range []struct {
		name         string
		old, updated edit
		denial       string
	}{
		{"while it is suspended", release, next, "leaderworkerset llm is suspended"},
		{"but no repair", release, repair, ""},
		{"but nothing that is no release", release, all(release, field(float64(7), "replicas", "spec")), ""},
		{"of a version that was rolled back", rolledBack, all(rolledBack, next), "leaderworkerset llm refuses version " + versionOfWorkers +
			": it was rolled back at 2026-11-21T08:00:00Z because an unknown user asked for it; it is refused until 2026-11-22T08:00:00Z"},
		{"but none of an object that another one controls", all(release, controlled), all(next, controlled), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			response := judge(t, groups(t), "UPDATE", "llm", objectOf(t, group, row.old), objectOf(t, group, row.updated))
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			if row.denial != "" {
				g.Expect(response.Result.Message).To(Equal(row.denial))
			}
		})
	}
	g, kind := NewWithT(t), clusters(t)
	upgrade := all(stampedCluster(versionOfUpgrade, "5"), suspended, field("v1.31.0", "kubeVersion", "spec", "cluster"))
	response := judge(t, kind, "UPDATE", "prod", objectOf(t, cluster, stampedCluster(versionOfCluster, "4"), suspended), objectOf(t, cluster, upgrade))
	g.Expect(response.Result.Message).To(Equal("kubernetescluster prod is suspended"))
	g.Expect(response.Result.Reason).To(BeEquivalentTo("kubernetescluster prod is suspended"))
}

func TestValidatorLetsADeclaredWorkloadReturnToAVerifiedVersion(t *testing.T) {
	g, kind := NewWithT(t), groups(t)
	bad := all(stampedGroup(versionOfWorkers, "4"), suspended, image("workerTemplate", "vllm:2"))
	known := &unstructured.Unstructured{Object: objectOf(t, group, bad)}
	record := changeWorkload("l-1", versionOfGroup, "Success", "")
	record.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "leaderworkersets.llm"}
	validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, known, record))
	validator.kind, validator.accounts, validator.past = kind, validator.accounts.of(kind), validator.past.of(kind)
	request := requestOf(t, objectOf(t, group, bad), objectOf(t, group, stampedGroup(versionOfGroup, "5"), suspended))
	request.Name = "llm"
	response := validator.Handle(t.Context(), request)
	g.Expect(response.Allowed).To(BeTrue())
	g.Expect(response.Warnings).To(ConsistOf("leaderworkerset llm returns to a verified version and stays suspended until its pods are checked again"))
}

func TestValidatorDeniesWhatBreaksARule(t *testing.T) {
	nodes := func(ips ...string) edit {
		var list []any
		for _, ip := range ips {
			list = append(list, object{"ip": ip})
		}
		return field(list, "nodeList", "spec", "cluster")
	}
	busy := field("Scaling", "phase", "status")
	for _, row := range []struct {
		name, operation string
		old, updated    edit
		denial          string
	}{
		{"a node that is added", "UPDATE", all(), nodes("10.0.0.2", "10.0.0.3", "10.0.0.4"), ""},
		{"a second operation", "UPDATE", busy, all(busy, nodes("10.0.0.2")), "kubernetescluster prod: an operation is in progress"},
		{"another master", "UPDATE", all(), field([]any{object{"ip": "10.0.0.9"}}, "masterList", "spec", "cluster"),
			"kubernetescluster prod: spec.cluster.masterList is immutable"},
		{"two rules at once", "UPDATE", busy, all(busy, nodes("10.0.0.1")), "kubernetescluster prod: an operation is in progress; a node is a master too"},
		{"a creation", "CREATE", nil, nodes("10.0.0.1"), "kubernetescluster prod: a node is a master too"},
		{"a deletion", "DELETE", all(), nil,
			"kubernetescluster prod: name the cluster in the annotation altershield.defense.antgroup.com/delete to delete it"},
		{"a deletion that names it", "DELETE", annotation("altershield.defense.antgroup.com/delete", "prod"), nil, ""},
		{"a deletion of a part of another object", "DELETE", controlled, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			var old, updated object
			if row.old != nil {
				old = objectOf(t, cluster, row.old)
			}
			if row.updated != nil {
				updated = objectOf(t, cluster, row.updated)
			}
			response := judge(t, clusters(t), row.operation, "prod", old, updated)
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			if row.denial != "" {
				g.Expect(response.Result.Message).To(Equal(row.denial))
				g.Expect(response.Result.Code).To(Equal(int32(403)))
			}
		})
	}
}

func TestValidatorNamesAnObjectThatIsDeletedWithItsCollection(t *testing.T) {
	response := judge(t, clusters(t), "DELETE", "", objectOf(t, cluster), nil)
	NewWithT(t).Expect(response.Result.Message).To(Equal(
		"kubernetescluster prod: name the cluster in the annotation altershield.defense.antgroup.com/delete to delete it"))
}

func TestValidatorCountsWhatBreaksARule(t *testing.T) {
	stamped := stampedCluster(versionOfCluster, "4")
	doubled := field([]any{object{"ip": "10.0.0.1"}}, "nodeList", "spec", "cluster")
	for _, row := range []struct {
		name, operation string
		old, updated    edit
		dry             bool
		counted         float64
	}{
		{"an update", "UPDATE", stamped, all(stamped, doubled), false, 1},
		{"an immutable field", "UPDATE", stamped, all(stamped, field([]any{object{"ip": "10.0.0.9"}}, "masterList", "spec", "cluster")), false, 1},
		{"a deletion", "DELETE", stamped, nil, false, 1},
		{"but no dry run", "UPDATE", stamped, all(stamped, doubled), true, 0},
		{"but no update that breaks none", "UPDATE", stamped, stamped, false, 0},
		{"but no creation, which the cache doesn't confirm", "CREATE", nil, doubled, false, 0},
		{"nor an update of an object that isn't in the cache", "UPDATE", all(stamped, field("k-2", "uid", "metadata")), all(stamped, doubled), false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, kind := NewWithT(t), clusters(t)
			known := &unstructured.Unstructured{Object: objectOf(t, cluster, stamped)}
			validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, known))
			validator.kind, validator.accounts, validator.past = kind, validator.accounts.of(kind), validator.past.of(kind)
			var old, updated object
			if row.old != nil {
				old = objectOf(t, cluster, row.old)
			}
			if row.updated != nil {
				updated = objectOf(t, cluster, row.updated)
			}
			request := requestOf(t, old, updated)
			request.Operation, request.Name, request.DryRun = admissionv1.Operation(row.operation), "prod", &row.dry
			validator.Handle(t.Context(), request)
			metrics := validator.accounts.metrics
			g.Expect(testutil.ToFloat64(metrics.decisions.WithLabelValues("rule_broken"))).To(Equal(row.counted))
			g.Expect(decided(metrics)).To(Equal(row.counted))
		})
	}
}
