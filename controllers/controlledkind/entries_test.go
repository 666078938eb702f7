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

package controlledkind

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/traas-stack/altershield-operator/controllers/platform/expressions"
	"github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

const operator = "system:serviceaccount:altershieldoperator-system:altershieldoperator-controller-manager"

func byService(path string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{
			Namespace: "altershieldoperator-system", Name: "altershieldoperator-webhook-service", Path: &path, Port: ptr.To[int32](443),
		},
		CABundle: []byte("authority"),
	}
}

func byURL(url string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: []byte("authority")}
}

// optedInNamespaces is the namespace selector of the webhooks of Deployments.
func optedInNamespaces() *metav1.LabelSelector {
	return &metav1.LabelSelector{
		MatchLabels: map[string]string{"admission-webhook-altershield": "enabled"},
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "kubernetes.io/metadata.name", Operator: "NotIn", Values: []string{"kube-system", "altershieldoperator-system"}}},
	}
}

// fixedMutate and fixedValidate return webhooks of Deployments as the API server shows them.
func fixedMutate(config admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.MutatingWebhook {
	return admissionregistrationv1.MutatingWebhook{
		Name: "mdeployment.kb.io", ClientConfig: config, AdmissionReviewVersions: []string{"v1"},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}, Scope: ptr.To(admissionregistrationv1.AllScopes)},
		}},
		FailurePolicy: ptr.To(admissionregistrationv1.Fail), MatchPolicy: ptr.To(admissionregistrationv1.Exact),
		NamespaceSelector: optedInNamespaces(), ObjectSelector: &metav1.LabelSelector{}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds: ptr.To[int32](10), ReinvocationPolicy: ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy),
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "release", Expression: "object.spec.template != oldObject.spec.template"}},
	}
}

func fixedValidate(config admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: "vdeployment.kb.io", ClientConfig: config, AdmissionReviewVersions: []string{"v1"},
		FailurePolicy: ptr.To(admissionregistrationv1.Ignore), MatchPolicy: ptr.To(admissionregistrationv1.Equivalent),
		NamespaceSelector: optedInNamespaces(), ObjectSelector: &metav1.LabelSelector{}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNoneOnDryRun),
		TimeoutSeconds: ptr.To[int32](7),
	}
}

func TestMutatingEntriesFollowTheWebhookOfDeployments(t *testing.T) {
	g := NewWithT(t)
	template := fixedMutate(byService("/mutate-apps-v1-deployment"))
	before := template.DeepCopy()
	entries, err := mutatingEntries([]workload.Kind{daemonset.Kind{}, statefulset.Kind{}}, &template, operator)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(HaveLen(2))
	g.Expect(entries[0].Name).To(Equal("daemonsets.apps.altershield.defense.antgroup.com"))
	g.Expect(entries[0].Rules[0].Resources).To(Equal([]string{"daemonsets"}))
	wanted := fixedMutate(byService("/mutate-kind"))
	wanted.Name = "statefulsets.apps.altershield.defense.antgroup.com"
	wanted.MatchPolicy = ptr.To(admissionregistrationv1.Equivalent)
	wanted.Rules = []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"statefulsets"}, Scope: ptr.To(admissionregistrationv1.NamespacedScope)},
	}}
	wanted.MatchConditions = entries[1].MatchConditions
	const firstNodes = "'altershield.defense.antgroup.com/first-nodes'"
	g.Expect(entries[0].MatchConditions).To(ContainElement(HaveField("Expression", ContainSubstring(firstNodes))))
	g.Expect(entries[1].MatchConditions).NotTo(ContainElement(HaveField("Expression", ContainSubstring(firstNodes))))
	g.Expect(entries[1]).To(Equal(wanted))
	g.Expect(template).To(Equal(*before))
}

func TestValidatingEntriesFollowTheWebhookOfDeployments(t *testing.T) {
	g := NewWithT(t)
	template := fixedValidate(byURL("https://127.0.0.1:9443/validate-apps-v1-deployment"))
	entries, err := validatingEntries([]workload.Kind{statefulset.Kind{}}, &template)
	g.Expect(err).NotTo(HaveOccurred())
	wanted := fixedValidate(byURL("https://127.0.0.1:9443/validate-kind"))
	wanted.Name = "statefulsets.apps.altershield.defense.antgroup.com"
	wanted.Rules = []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"UPDATE"},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"statefulsets"}, Scope: ptr.To(admissionregistrationv1.NamespacedScope)},
	}}
	wanted.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "release-that-may-be-denied",
		Expression: "(object.?spec.?template != oldObject.?spec.?template" +
			" && ('altershield.defense.antgroup.com/suspend' in oldObject.metadata.?labels.orValue({})" +
			" || 'altershield.defense.antgroup.com/rollbacks' in oldObject.metadata.?annotations.orValue({})))" +
			" || ['altershield.defense.antgroup.com/go-on'].exists(key, object.metadata.?annotations[?key] != oldObject.metadata.?annotations[?key])"}}
	g.Expect(entries).To(Equal([]admissionregistrationv1.ValidatingWebhook{wanted}))
}

// notOwned begins the conditions of kinds that leave alone what another object controls.
const notOwned = "!(oldObject != null ? oldObject : object).metadata.?ownerReferences.orValue([]).exists(owner, owner.?controller.orValue(false))"

func TestMutatingEntriesCompareTheContentOfADeclaredKind(t *testing.T) {
	g := NewWithT(t)
	groups := kinds.Sample(t, filepath.Join("..", ".."), "leaderworkerset", "leaderworkersets")
	entries, err := mutatingEntries([]workload.Kind{groups}, ptr.To(fixedMutate(byService("/"))), operator)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries[0].Name).To(Equal("leaderworkersets.leaderworkerset.x-k8s.io.altershield.defense.antgroup.com"))
	g.Expect(entries[0].MatchConditions[0].Expression).To(HavePrefix(notOwned + " && (request.operation == 'CREATE' || (oldObject == null" +
		" || object.?spec.?leaderWorkerTemplate.?leaderTemplate != oldObject.?spec.?leaderWorkerTemplate.?leaderTemplate" +
		" || object.?spec.?leaderWorkerTemplate.?workerTemplate != oldObject.?spec.?leaderWorkerTemplate.?workerTemplate)" +
		" || (request.userInfo.username != '" + operator + "'"))
}

func TestValidatingEntriesAreCalledForTheRulesOfADeclaredKind(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, row := range []struct {
		kind       workload.Kind
		operations []admissionregistrationv1.OperationType
		name       string
		condition  string
	}{
		{kinds.Sample(t, root, "leaderworkerset", "leaderworkersets"), []admissionregistrationv1.OperationType{"UPDATE"},
			"release-that-may-be-denied", notOwned + " && (((oldObject == null || object.?spec.?leaderWorkerTemplate"},
		{kinds.Sample(t, root, "kubernetescluster", "kubernetesclusters"), []admissionregistrationv1.OperationType{"CREATE", "DELETE", "UPDATE"},
			"rules-or-release-that-may-be-denied", notOwned + " && (request.operation != 'UPDATE' || true || ((oldObject == null || object.?spec.?cluster"},
	} {
		g := NewWithT(t)
		entries, err := validatingEntries([]workload.Kind{row.kind}, ptr.To(fixedValidate(byService("/"))))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(entries[0].Rules[0].Operations).To(Equal(row.operations))
		g.Expect(entries[0].MatchConditions).To(HaveLen(1))
		g.Expect(entries[0].MatchConditions[0].Name).To(Equal(row.name))
		g.Expect(entries[0].MatchConditions[0].Expression).To(HavePrefix(row.condition))
	}
}

// called reports whether the API server calls a webhook for a request, by its conditions. An object that there isn't is nil.
func called(t *testing.T, conditions []admissionregistrationv1.MatchCondition, user string, old, updated *unstructured.Unstructured) bool {
	t.Helper()
	g := NewWithT(t)
	env, err := expressions.Env(30, []cel.EnvOption{cel.Variable("request", cel.DynType), cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType)})
	g.Expect(err).NotTo(HaveOccurred())
	variables := map[string]any{"object": nil, "oldObject": nil}
	request := map[string]any{"operation": "UPDATE", "userInfo": map[string]any{"username": user}}
	if updated == nil {
		request["operation"] = "DELETE"
	} else {
		variables["object"] = updated.Object
	}
	if old == nil {
		request["operation"] = "CREATE"
	} else {
		variables["oldObject"] = old.Object
	}
	variables["request"] = request
	for _, condition := range conditions {
		compiled, err := expressions.Compile(env, condition.Expression, nil)
		g.Expect(err).NotTo(HaveOccurred())
		holds, err := compiled.Holds(variables, expressions.NewBudget())
		g.Expect(err).NotTo(HaveOccurred())
		if !holds {
			return false
		}
	}
	return true
}

// objectOf returns an object with the metadata, in YAML.
func objectOf(t *testing.T, metadata string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	NewWithT(t).Expect(yaml.Unmarshal([]byte("metadata: "+metadata), &object.Object)).To(Succeed())
	return object
}

// A kind leaves alone what another object controls. Nor is its webhook called for that: runs of CronJobs start while no replica answers.
func TestEntriesAreCalledForNoObjectThatTheKindLeavesAlone(t *testing.T) {
	withRules := kinds.Sample(t, filepath.Join("..", ".."), "kubernetescluster", "kubernetesclusters")
	free := objectOf(t, "{name: a}")
	named := objectOf(t, "{name: a, ownerReferences: [{name: b}]}")
	owned := objectOf(t, "{name: a, ownerReferences: [{name: b, controller: true}]}")
	forged := objectOf(t, "{name: a, annotations: {altershield.defense.antgroup.com/released-by: x}}")
	forgedOwned := objectOf(t, "{name: a, annotations: {altershield.defense.antgroup.com/released-by: x}, ownerReferences: [{name: b, controller: true}]}")
	for _, row := range []struct {
		name         string
		kind         workload.Kind
		old, updated *unstructured.Unstructured
		called       bool
	}{
		{"a new Job", job.Kind{}, nil, free, true},
		{"a new Job that another object owns, but doesn't control", job.Kind{}, nil, named, true},
		{"a new Job of a CronJob", job.Kind{}, nil, owned, false},
		{"a forged record on a Job", job.Kind{}, free, forged, true},
		{"a forged record on a Job of a CronJob", job.Kind{}, owned, forgedOwned, false},
		{"a forged record on a Job that gets a controller", job.Kind{}, free, forgedOwned, true},
		{"a forged record on a Job that loses its controller", job.Kind{}, owned, forged, false},
		{"a new object of a declared kind", withRules, nil, free, true},
		{"a new object of a declared kind that another one controls", withRules, nil, owned, false},
		{"a new StatefulSet that another object controls, which is to have no keys of the operator", statefulset.Kind{}, nil, owned, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			entries, err := mutatingEntries([]workload.Kind{row.kind}, ptr.To(fixedMutate(byService("/"))), operator)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(called(t, entries[0].MatchConditions, "alice", row.old, row.updated)).To(Equal(row.called))
		})
	}
	entries, err := validatingEntries([]workload.Kind{withRules}, ptr.To(fixedValidate(byService("/"))))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, row := range map[string]struct {
		old, updated *unstructured.Unstructured
		called       bool
	}{
		"creation": {nil, free, true}, "creation of one that is controlled": {nil, owned, false},
		"update": {free, owned, true}, "update of one that is controlled": {owned, free, false},
		"deletion": {free, nil, true}, "deletion of one that is controlled": {owned, nil, false},
	} {
		NewWithT(t).Expect(called(t, entries[0].MatchConditions, "alice", row.old, row.updated)).To(Equal(row.called), name)
	}
}

// The garbage collector takes its finalizer away by an update, once nothing of a workload is left.
func TestEntriesAreNotCalledForTheEndOfADeletion(t *testing.T) {
	const collector = "system:serviceaccount:kube-system:generic-garbage-collector"
	entries, err := mutatingEntries([]workload.Kind{statefulset.Kind{}}, ptr.To(fixedMutate(byService("/"))), operator)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, mark := range []string{"paced", "frozen"} {
		marked := "annotations: {altershield.defense.antgroup.com/" + mark + ": x}"
		present := objectOf(t, "{name: a, "+marked+"}")
		deleted := objectOf(t, "{name: a, deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: [foregroundDeletion], "+marked+"}")
		for name, row := range map[string]struct {
			old, updated *unstructured.Unstructured
			called       bool
		}{
			"its finalizer is removed":             {deleted, objectOf(t, "{name: a, deletionTimestamp: '2026-11-21T10:00:00Z', "+marked+"}"), false},
			"its finalizer and mark are removed":   {deleted, objectOf(t, "{name: a, deletionTimestamp: '2026-11-21T10:00:00Z'}"), true},
			"a finalizer is removed while it runs": {objectOf(t, "{name: a, finalizers: [b], "+marked+"}"), present, true},
		} {
			NewWithT(t).Expect(called(t, entries[0].MatchConditions, collector, row.old, row.updated)).To(Equal(row.called), mark+", "+name)
		}
	}
}

// The API server compiles the conditions of a webhook when it is configured.
func TestEntriesOfDeclaredKindsAreTakenByTheAPIServer(t *testing.T) {
	g, kube, root := NewWithT(t), apiServer.Client(t), filepath.Join("..", "..")
	declared := []workload.Kind{
		kinds.Sample(t, root, "leaderworkerset", "leaderworkersets"), kinds.Sample(t, root, "kubernetescluster", "kubernetesclusters"),
		kinds.Sample(t, root, "raycluster", "rayclusters"),
	}
	mutating, err := mutatingEntries(declared, ptr.To(fixedMutate(byURL("https://127.0.0.1:1/"))), operator)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kube.Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "entries"}, Webhooks: mutating,
	}, client.DryRunAll)).To(Succeed())
	validating, err := validatingEntries(declared, ptr.To(fixedValidate(byURL("https://127.0.0.1:1/"))))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kube.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "entries"}, Webhooks: validating,
	}, client.DryRunAll)).To(Succeed())
}

// clusterScoped is a kind of cluster-scoped workloads.
type clusterScoped struct{ workload.Kind }

func (clusterScoped) Namespaced() bool { return false }

func TestMutatingEntriesOfAClusterScopedKind(t *testing.T) {
	g := NewWithT(t)
	entries, err := mutatingEntries([]workload.Kind{clusterScoped{daemonset.Kind{}}}, ptr.To(fixedMutate(byService("/"))), operator)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries[0].Rules[0].Scope).To(HaveValue(Equal(admissionregistrationv1.ClusterScope)))
}

// Each key of the operator is in the condition once: a change of it by others is undone.
func TestReleaseOrKeysHasEveryKeyOnce(t *testing.T) {
	made := releaseOrKeys(statefulset.Kind{}, operator)
	for _, key := range []string{
		"admission-webhook-altershield.antgroup.com/version", "altershield.defense.antgroup.com/defense-status",
		"altershield.defense.antgroup.com/suspend", "altershield.defense.antgroup.com/ignored-suspend",
		"altershield.defense.antgroup.com/release", "altershield.defense.antgroup.com/released-by", "altershield.defense.antgroup.com/ignored-suspend-by",
		"altershield.defense.antgroup.com/ignored-suspend-removed", "altershield.defense.antgroup.com/held", "altershield.defense.antgroup.com/held-from",
		"altershield.defense.antgroup.com/hold-with", "altershield.defense.antgroup.com/parked", "altershield.defense.antgroup.com/rollback",
		"altershield.defense.antgroup.com/rollback-by", "altershield.defense.antgroup.com/rollbacks",
		"altershield.defense.antgroup.com/rollback-reason",
		"altershield.defense.antgroup.com/go-on", "altershield.defense.antgroup.com/go-on-by", "altershield.defense.antgroup.com/go-on-reason",
	} {
		NewWithT(t).Expect(strings.Count(made, "'"+key+"'")).To(Equal(1), key)
	}
}

func TestMutatingEntriesAreNoneWithoutKindsOrWebhookOfDeployments(t *testing.T) {
	g := NewWithT(t)
	g.Expect(mutatingEntries(nil, ptr.To(fixedMutate(byService("/"))), operator)).To(BeNil())
	g.Expect(mutatingEntries([]workload.Kind{statefulset.Kind{}}, nil, operator)).To(BeNil())
	g.Expect(validatingEntries(nil, ptr.To(fixedValidate(byService("/"))))).To(BeNil())
	g.Expect(validatingEntries([]workload.Kind{statefulset.Kind{}}, nil)).To(BeNil())
}

func TestMutatingEntriesNeedAURLThatCanBeRead(t *testing.T) {
	g := NewWithT(t)
	broken := byURL("https://[::1")
	_, err := mutatingEntries([]workload.Kind{statefulset.Kind{}}, ptr.To(fixedMutate(broken)), operator)
	g.Expect(err).To(MatchError(ContainSubstring("reading the URL of the webhooks of Deployments")))
	_, err = validatingEntries([]workload.Kind{statefulset.Kind{}}, ptr.To(fixedValidate(broken)))
	g.Expect(err).To(HaveOccurred())
}

// The conditions of Deployments are in config/, those of other kinds are made here: they must say the same.
func TestReleaseOrKeysIsWhatConfigSaysOfDeployments(t *testing.T) {
	for file, made := range map[string]string{
		"mutating_scope.yaml":   releaseOrKeys(deployment.Kind{}, operator),
		"validating_scope.yaml": mayBeDenied(deployment.Kind{}),
	} {
		g := NewWithT(t)
		content, err := os.ReadFile(filepath.Join("..", "..", "config", "webhook", file))
		g.Expect(err).NotTo(HaveOccurred())
		_, shipped, found := strings.Cut(string(content), "expression: >-")
		g.Expect(found).To(BeTrue())
		made = strings.ReplaceAll(made, ".?spec.?template", ".spec.template")
		g.Expect(words(made)).To(Equal(words(shipped)), file)
	}
}

func words(expression string) string {
	return regexp.MustCompile(`\s+`).ReplaceAllString(strings.TrimSpace(expression), " ")
}

func TestQuoted(t *testing.T) {
	g := NewWithT(t)
	g.Expect(quoted("system:admin")).To(Equal("'system:admin'"))
	g.Expect(quoted(`o'hara\`)).To(Equal(`'o\'hara\\'`))
}
