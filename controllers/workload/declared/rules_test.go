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
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/yaml"

	"github.com/traas-stack/altershield-operator/controllers/platform/expressions"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const kubernetesCluster = `
apiVersion: ecs.yun.com/v1
kind: KubernetesCluster
metadata: {name: dev, namespace: infra}
spec:
  cluster:
    kubeVersion: v1.30.2
    masterList: [{ip: 10.0.0.1}]
    nodeList: [{ip: 10.0.0.2}, {ip: 10.0.0.3}, {ip: 10.0.0.4}]
status: {phase: Running}
`

func TestKindViolations(t *testing.T) {
	kind := sample(t, "kubernetescluster", "kubernetesclusters")
	node := func(ip string) map[string]any { return map[string]any{"ip": ip} }
	for _, row := range []struct {
		name, pointer string
		value         any
		messages      []string
	}{
		{"nothing", "/metadata/name", "dev", nil},
		{"a version", "/spec/cluster/kubeVersion", "v1.31.0", nil},
		{"a node more", "/spec/cluster/nodeList", []any{node("10.0.0.2"), node("10.0.0.3"), node("10.0.0.4"), node("10.0.0.5")}, nil},
		{"a node less", "/spec/cluster/nodeList", []any{node("10.0.0.2"), node("10.0.0.3")}, nil},
		{"two nodes less", "/spec/cluster/nodeList", []any{node("10.0.0.2")}, []string{"remove one node at a time"}},
		{"another master", "/spec/cluster/masterList", []any{node("10.0.0.9")}, []string{"spec.cluster.masterList is immutable"}},
		{"a network that wasn't set", "/spec/cluster/podCIDR", "10.1.0.0/16", []string{"spec.cluster.podCIDR is immutable"}},
		{"a master as a node", "/spec/cluster/nodeList/0/ip", "10.0.0.1", []string{"a node is a master too"}},
		{"several", "/spec/cluster/nodeList", []any{node("10.0.0.1")}, []string{"a node is a master too", "remove one node at a time"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			found := kind.Violations(&admissionv1.AdmissionRequest{Operation: "UPDATE"}, objectOf(t, kubernetesCluster).Object,
				edit(t, kubernetesCluster, row.pointer, row.value))
			var messages []string
			for _, violation := range found {
				messages = append(messages, violation.Message)
			}
			NewWithT(t).Expect(messages).To(Equal(row.messages))
		})
	}
}

func TestKindViolationsWhileAnOperationRuns(t *testing.T) {
	g, kind := NewWithT(t), sample(t, "kubernetescluster", "kubernetesclusters")
	busy := edit(t, kubernetesCluster, "/status/phase", "Scaling")
	updated := edit(t, kubernetesCluster, "/spec/cluster/kubeVersion", "v1.31.0")
	g.Expect(kind.Violations(&admissionv1.AdmissionRequest{Operation: "UPDATE"}, busy, updated)).To(Equal([]workload.Violation{{Rule: "one-at-a-time", Message: "an operation is in progress"}}))
	g.Expect(kind.Violations(&admissionv1.AdmissionRequest{Operation: "UPDATE"}, busy, edit(t, kubernetesCluster, "/metadata/finalizers", []any{}))).To(BeEmpty())
}

func TestKindViolationsOfCreationAndDeletion(t *testing.T) {
	g, kind := NewWithT(t), sample(t, "kubernetescluster", "kubernetesclusters")
	g.Expect(kind.Violations(&admissionv1.AdmissionRequest{Operation: "CREATE"}, nil, objectOf(t, kubernetesCluster).Object)).To(BeEmpty())
	g.Expect(kind.Violations(&admissionv1.AdmissionRequest{Operation: "CREATE"}, nil, edit(t, kubernetesCluster, "/spec/cluster/nodeList/0/ip", "10.0.0.1"))).
		To(Equal([]workload.Violation{{Rule: "no-double-role", Message: "a node is a master too"}}))
	deletion := &admissionv1.AdmissionRequest{Operation: "DELETE"}
	g.Expect(kind.Violations(deletion, objectOf(t, kubernetesCluster).Object, nil)).To(Equal([]workload.Violation{
		{Rule: "said-so", Message: "name the cluster in the annotation altershield.defense.antgroup.com/delete to delete it"},
	}))
	g.Expect(kind.Violations(deletion, edit(t, kubernetesCluster, "/metadata/annotations/altershield.defense.antgroup.com~1delete", "dev"), nil)).To(BeEmpty())
	g.Expect(kind.Operations()).To(HaveExactElements(BeEquivalentTo("CREATE"), BeEquivalentTo("DELETE"), BeEquivalentTo("UPDATE")))
}

func TestSampleOfCloneSetsDeniesReleasesInPlace(t *testing.T) {
	kind := sample(t, "cloneset", "clonesets")
	of := func(image, strategy string) map[string]any {
		return objectOf(t, `{spec: {replicas: 1, template: {spec: {containers: [{name: web, image: `+image+`}]}}, updateStrategy: `+strategy+`}}`).Object
	}
	for _, row := range []struct {
		name        string
		old, now    map[string]any
		isForbidden bool
	}{
		{"a CloneSet that replaces pods", nil, of("a", "{type: ReCreate}"), false},
		{"one by default", nil, of("a", "{}"), false},
		{"one without a strategy", nil, objectOf(t, "{spec: {}}").Object, false},
		{"one that updates in place", nil, of("a", "{type: InPlaceOnly}"), true},
		{"a release of one that replaces pods", of("a", "{type: ReCreate}"), of("b", "{type: ReCreate}"), false},
		{"a release by default", of("a", "{}"), of("b", "{}"), false},
		{"a release in place", of("a", "{type: InPlaceIfPossible}"), of("b", "{type: InPlaceIfPossible}"), true},
		{"a change to updates in place", of("a", "{}"), of("a", "{type: InPlaceIfPossible}"), true},
		{"a change to another kind of them", of("a", "{type: InPlaceIfPossible}"), of("a", "{type: InPlaceOnly}"), true},
		{"a change to replacements", of("a", "{type: InPlaceIfPossible}"), of("b", "{type: ReCreate}"), false},
		{"another update of one that updates in place", of("a", "{type: InPlaceIfPossible}"), of("a", "{type: InPlaceIfPossible, paused: true}"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			request := &admissionv1.AdmissionRequest{Operation: "UPDATE"}
			if row.old == nil {
				request.Operation = "CREATE"
			}
			var denied []workload.Violation
			if row.isForbidden {
				denied = []workload.Violation{{Rule: "no-updates-in-place", Message: "pods that are updated in place aren't checked again: set spec.updateStrategy.type to ReCreate"}}
			}
			NewWithT(t).Expect(kind.Violations(request, row.old, row.now)).To(Equal(denied))
		})
	}
}

func TestKindViolationsOfARuleThatCanNotBeEvaluated(t *testing.T) {
	g := NewWithT(t)
	kind := compiled(t, "clonesets", `rules: [{name: named, operations: [UPDATE], expression: "object.spec.missing == 1", message: m}]`)
	object := objectOf(t, "spec: {}").Object
	g.Expect(kind.Violations(&admissionv1.AdmissionRequest{Operation: "UPDATE"}, object, object)).To(Equal([]workload.Violation{
		{Rule: "named", Message: "rule named failed to evaluate: no such key: missing"},
	}))
}

func TestKindViolationsKnowTheRequest(t *testing.T) {
	g := NewWithT(t)
	kind := compiled(t, "clonesets", `rules: [{name: who, operations: [CREATE], message: only ops, expression: "'ops' in request.userInfo.groups && request.namespace == 'shop' && request.operation == 'CREATE'"}]`)
	request := &admissionv1.AdmissionRequest{Operation: "CREATE", Namespace: "shop", UserInfo: authenticationv1.UserInfo{Username: "alice", Groups: []string{"ops"}}}
	g.Expect(kind.Violations(request, nil, map[string]any{})).To(BeEmpty())
	request.UserInfo.Groups = []string{"dev"}
	g.Expect(kind.Violations(request, nil, map[string]any{})).To(Equal([]workload.Violation{{Rule: "who", Message: "only ops"}}))
}

func TestPolicy(t *testing.T) {
	g := NewWithT(t)
	policy, binding := Policy(compiled(t, "kubernetesclusters", `
immutable: [spec.cluster.masterList, "metadata.annotations['example.com/owner']"]
rules:
- {name: steps, operations: [UPDATE], expression: "object.spec.a == 1 || true", message: in steps}
- {name: always, operations: [CREATE, UPDATE, DELETE], expression: "true", message: always}
`))
	text, err := yaml.Marshal([]any{policy.Spec, binding.Spec, policy.Name, binding.Name})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(MatchYAML(`
- failurePolicy: Fail
  matchConditions:
  - name: is-not-owned
    expression: "!(oldObject != null ? oldObject : object).metadata.?ownerReferences.orValue([]).exists(owner, owner.?controller.orValue(false))"
  matchConstraints:
    resourceRules:
    - {apiGroups: [ecs.yun.com], apiVersions: [v1], operations: [CREATE, DELETE, UPDATE], resources: [kubernetesclusters]}
  validations:
  - expression: request.operation != 'UPDATE' || object.?spec.?cluster.?masterList == oldObject.?spec.?cluster.?masterList
    message: spec.cluster.masterList is immutable
  - expression: request.operation != 'UPDATE' || object.?metadata.?annotations[?"example.com/owner"] == oldObject.?metadata.?annotations[?"example.com/owner"]
    message: metadata.annotations['example.com/owner'] is immutable
  - expression: request.operation != 'UPDATE' || (object.spec.a == 1 || true)
    message: in steps
  - {expression: "true", message: always}
- policyName: altershieldoperator-rules-kubernetesclusters.ecs.yun.com
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {admission-webhook-altershield: enabled}}}
- altershieldoperator-rules-kubernetesclusters.ecs.yun.com
- altershieldoperator-rules-kubernetesclusters.ecs.yun.com
`))
	policy, _ = Policy(compiled(t, "kubernetesclusters", "{owned: Control, immutable: [spec.cluster.masterList]}"))
	g.Expect(policy.Spec.MatchConditions).To(BeEmpty())
	none, noBinding := Policy(compiled(t, "clonesets", "{}"))
	g.Expect(none).To(BeNil())
	g.Expect(noBinding).To(BeNil())
}

// What is rendered decides as the operator does.
func TestPolicyDecidesAsTheOperator(t *testing.T) {
	kind := sample(t, "kubernetescluster", "kubernetesclusters")
	policy, _ := Policy(kind)
	for _, row := range []struct {
		operation    string
		old, updated map[string]any
	}{
		{"CREATE", nil, objectOf(t, kubernetesCluster).Object},
		{"CREATE", nil, edit(t, kubernetesCluster, "/spec/cluster/nodeList/0/ip", "10.0.0.1")},
		{"UPDATE", objectOf(t, kubernetesCluster).Object, edit(t, kubernetesCluster, "/spec/cluster/podCIDR", "10.1.0.0/16")},
		{"UPDATE", objectOf(t, kubernetesCluster).Object, edit(t, kubernetesCluster, "/spec/cluster/kubeVersion", "v2")},
		{"UPDATE", edit(t, kubernetesCluster, "/status", nil), edit(t, kubernetesCluster, "/spec/cluster/kubeVersion", "v2")},
		{"UPDATE", objectOf(t, kubernetesCluster).Object, edit(t, kubernetesCluster, "/spec/cluster/nodeList", []any{})},
		{"DELETE", objectOf(t, kubernetesCluster).Object, nil},
	} {
		request := &admissionv1.AdmissionRequest{Operation: admissionv1.Operation(row.operation)}
		var want, got []string
		for _, violation := range kind.Violations(request, row.old, row.updated) {
			want = append(want, violation.Message)
		}
		variables := map[string]any{"object": nilOr(row.updated), "oldObject": nilOr(row.old), "request": requestOf(request)}
		for _, validation := range policy.Spec.Validations {
			expression, err := compile(compiler(t).rule, validation.Expression, true)
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), validation.Expression)
			holds, err := expression.Holds(variables, expressions.NewBudget())
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), validation.Expression)
			if !holds {
				got = append(got, validation.Message)
			}
		}
		NewWithT(t).Expect(got).To(Equal(want), row.operation)
	}
}

// The webhooks leave an object alone that another one controls, as does the policy. What counts is who controlled it before an update.
func TestPolicyLeavesOwnedObjectsAlone(t *testing.T) {
	g := NewWithT(t)
	policy, _ := Policy(sample(t, "cluster-api-kubeadmcontrolplane", "kubeadmcontrolplanes"))
	g.Expect(policy.Spec.MatchConditions).To(HaveLen(1))
	matches, err := compile(compiler(t).rule, policy.Spec.MatchConditions[0].Expression, true)
	g.Expect(err).NotTo(HaveOccurred())
	free := objectOf(t, "metadata: {name: a}").Object
	named := objectOf(t, "metadata: {name: a, ownerReferences: [{name: b}]}").Object
	owned := objectOf(t, "metadata: {name: a, ownerReferences: [{name: b}, {name: c, controller: true}]}").Object
	for _, row := range []struct {
		old, updated any
		ruled        bool
	}{
		{nil, free, true}, {nil, named, true}, {nil, owned, false},
		{free, owned, true}, {owned, free, false}, {free, nil, true}, {owned, nil, false},
	} {
		holds, err := matches.Holds(map[string]any{"object": row.updated, "oldObject": row.old, "request": nil}, expressions.NewBudget())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(holds).To(Equal(row.ruled), "%v, %v", row.old, row.updated)
	}
}

func TestKindMayBreak(t *testing.T) {
	g := NewWithT(t)
	g.Expect(sample(t, "kubernetescluster", "kubernetesclusters").MayBreak()).To(Equal("true"), "it has rules for updates")
	g.Expect(sample(t, "rollout", "rollouts").MayBreak()).To(Equal("false"))
	g.Expect(compiled(t, "clonesets", `{immutable: [spec.selector], rules: [{name: n, operations: [DELETE], expression: "true", message: m}]}`).MayBreak()).
		To(Equal("object.?spec.?selector != oldObject.?spec.?selector"))
}

func TestKindMayChange(t *testing.T) {
	g := NewWithT(t)
	for plural, want := range map[string]string{
		"clonesets":   "oldObject == null || object.?spec.?template != oldObject.?spec.?template",
		"rayclusters": "oldObject == null || object.?spec.?headGroupSpec.?template != oldObject.?spec.?headGroupSpec.?template || object.?spec.?workerGroupSpecs != oldObject.?spec.?workerGroupSpecs",
	} {
		g.Expect(compiled(t, plural, "{}").MayChange()).To(Equal(want))
	}
	reserved := compiled(t, "clonesets", `release: {fields: ["metadata.annotations['a/b']", "spec.selector.matchLabels.namespace"]}`).MayChange()
	g.Expect(reserved).To(ContainSubstring(`object.?metadata.?annotations[?"a/b"] != oldObject`))
	g.Expect(reserved).To(ContainSubstring(`object.?spec.?selector.?matchLabels[?"namespace"] != oldObject`))
	for _, row := range []struct {
		old, updated string
		changes      bool
	}{
		{"", "spec: {}", true},
		{"spec: {template: {a: b}}", "spec: {template: {a: b}, replicas: 2}", false},
		{"spec: {template: {a: b}}", "spec: {template: {a: c}}", true},
		{"spec: {}", "{}", false},
	} {
		expression, err := compile(compiler(t).when, compiled(t, "clonesets", "{}").MayChange(), true)
		g.Expect(err).NotTo(HaveOccurred())
		variables := map[string]any{"object": objectOf(t, row.updated).Object, "oldObject": nil}
		if row.old != "" {
			variables["oldObject"] = objectOf(t, row.old).Object
		}
		g.Expect(expression.Holds(variables, expressions.NewBudget())).To(Equal(row.changes), strings.Join([]string{row.old, row.updated}, " -> "))
	}
}
