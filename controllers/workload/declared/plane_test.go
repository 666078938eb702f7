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
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

var plane testkit.APIServer

func TestMain(m *testing.M) { os.Exit(plane.Run(m)) }

// apply creates the objects of a file, which stay: a CRD that is deleted right after it was created can take minutes to go. Objects
// that an earlier test created are left alone.
func apply(t *testing.T, kube client.Client, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		NewWithT(t).Expect(client.IgnoreAlreadyExists(kube.Create(t.Context(), object, client.FieldValidation("Strict")))).To(Succeed(), file)
	}
}

func TestControlledKindSamples(t *testing.T) {
	kube := plane.Client(t)
	for _, pattern := range []string{"testdata/crds/*.yaml", crdOf("kubernetesclusters"), samples + "/*.yaml"} {
		files, err := filepath.Glob(pattern)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(files).NotTo(BeEmpty())
		for _, file := range files {
			apply(t, kube, file)
		}
	}
	var kinds appv1alpha1.ControlledKindList
	NewWithT(t).Expect(kube.List(t.Context(), &kinds)).To(Succeed())
	for _, declared := range kinds.Items {
		NewWithT(t).Expect(declared.Spec.Mode).To(Equal(appv1alpha1.ModeObserve))
	}
}

func TestControlledKindIsValidated(t *testing.T) {
	kube := plane.Client(t)
	for _, row := range []struct{ name, object, problem string }{
		{"the least", "{metadata: {name: things.example.com}, spec: {}}", ""},
		{"a kind that is built in", "{metadata: {name: deployments.apps}, spec: {builtIn: true, mode: Enforce}}", ""},
		{"a name without a group", "{metadata: {name: things}, spec: {}}", "a ControlledKind is named like its CRD, <plural>.<group>, such as clonesets.apps.kruise.io"},
		{"a kind that isn't built in", "{metadata: {name: things.example.com}, spec: {builtIn: true}}", "builtIn is true for deployments.apps,"},
		{"a built-in kind that is declared", "{metadata: {name: jobs.batch}, spec: {}}", "builtIn is true for deployments.apps,"},
		{"more than the mode of a built-in kind", "{metadata: {name: jobs.batch}, spec: {builtIn: true, version: v1}}", "only mode can be set for a built-in kind"},
		{"an unknown mode", "{metadata: {name: things.example.com}, spec: {mode: Deny}}", `Unsupported value: "Deny"`},
		{"units beside pods", "{metadata: {name: things.example.com}, spec: {units: {list: spec.nodes, name: ip}}}", "units require pods.by None"},
		{"units", "{metadata: {name: things.example.com}, spec: {pods: {by: None}, units: {list: spec.nodes, name: ip}}}", ""},
		{"a label without a key", "{metadata: {name: things.example.com}, spec: {pods: {by: Label}}}", "key is required for Label and not allowed otherwise"},
		{"a key without a label", "{metadata: {name: things.example.com}, spec: {pods: {by: Owner, key: a}}}", "key is required for Label and not allowed otherwise"},
		{"a selector without a path", "{metadata: {name: things.example.com}, spec: {pods: {by: Selector}}}", "path is required for Selector and not allowed otherwise"},
		{"kinds between a label", "{metadata: {name: things.example.com}, spec: {pods: {by: Label, key: a, through: [Job.batch]}}}", "through is only allowed for Owner"},
		{"an unknown kind between", "{metadata: {name: things.example.com}, spec: {pods: {by: Owner, through: [Pod]}}}", `Unsupported value: "Pod"`},
		{"a revision without a label", "{metadata: {name: things.example.com}, spec: {release: {identity: {by: Revision, path: status.a}}}}", "Revision requires label and path, Stamp allows neither"},
		{"a stamp with a label", "{metadata: {name: things.example.com}, spec: {release: {identity: {by: Stamp, label: a}}}}", "Revision requires label and path, Stamp allows neither"},
		{"a revision", "{metadata: {name: things.example.com}, spec: {release: {identity: {by: Revision, label: a, path: status.a}}}}", ""},
		{"a rule about nothing", "{metadata: {name: things.example.com}, spec: {rules: [{name: a, operations: [], expression: 'true', message: m}]}}", "spec.rules[0].operations"},
		{"a rule about something else", "{metadata: {name: things.example.com}, spec: {rules: [{name: a, operations: [CONNECT], expression: 'true', message: m}]}}", `Unsupported value: "CONNECT"`},
		{"two rules of a name", "{metadata: {name: things.example.com}, spec: {rules: [{name: a, operations: [CREATE], expression: 'true', message: m}, {name: a, operations: [CREATE], expression: 'true', message: m}]}}",
			"Duplicate value"},
		{"any value", "{metadata: {name: things.example.com}, spec: {hold: [{path: spec.a, value: {b: [1]}}, {path: spec.c, value: true}, {path: spec.d, cel: 'old.spec.d'}]}}", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			object := objectOf(t, row.object)
			object.SetAPIVersion("app.ops.cloud.alipay.com/v1alpha1")
			object.SetKind("ControlledKind")
			err := kube.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict"))
			if row.problem != "" {
				g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
				g.Expect(err).To(MatchError(ContainSubstring(row.problem)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// The API server compiles the condition of a webhook when it is told of it.
func TestKindMayChangeIsTakenByTheAPIServer(t *testing.T) {
	g, kube := NewWithT(t), plane.Client(t)
	sideEffects := admissionregistrationv1.SideEffectClassNone
	for i, kind := range []Kind{
		sample(t, "cloneset", "clonesets"), sample(t, "raycluster", "rayclusters"), sample(t, "kubernetescluster", "kubernetesclusters"),
		compiled(t, "clonesets", `release: {fields: ["metadata.annotations['a.b/c \"d\"']", "spec.selector.matchLabels.namespace"]}`),
	} {
		webhook := admissionregistrationv1.ValidatingWebhook{
			Name: "a.example.com", SideEffects: &sideEffects, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:    admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://localhost:1/x")},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "changes", Expression: kind.MayChange()}},
		}
		g.Expect(kube.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "a"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{webhook},
		}, client.DryRunAll)).To(Succeed(), "%d: %s", i, kind.MayChange())
	}
}

func TestPolicyHoldsOnTheAPIServer(t *testing.T) {
	g, kube := NewWithT(t), plane.Client(t)
	apply(t, kube, crdOf("kubernetesclusters"))
	policy, binding := Policy(sample(t, "kubernetescluster", "kubernetesclusters"))
	for _, object := range []client.Object{
		policy, binding,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "infra", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}},
	} {
		g.Expect(kube.Create(t.Context(), object)).To(Succeed())
		t.Cleanup(func() { _ = kube.Delete(context.Background(), object) })
	}
	denied := objectOf(t, kubernetesCluster)
	denied.SetName("denied")
	g.Expect(parsePlace("/spec/cluster/nodeList/0/ip").put(denied.Object, "10.0.0.1")).To(BeTrue())
	// Both the CRD and the policy take effect a moment after they were created.
	g.Eventually(func() error { return kube.Create(t.Context(), denied.DeepCopy(), client.DryRunAll) }, 2*time.Minute, 200*time.Millisecond).
		Should(MatchError(ContainSubstring("a node is a master too")))

	live := objectOf(t, kubernetesCluster)
	g.Expect(kube.Create(t.Context(), live)).To(Succeed())
	g.Expect(unstructured.SetNestedField(live.Object, "Running", "status", "phase")).To(Succeed())
	g.Expect(kube.Status().Update(t.Context(), live)).To(Succeed())
	update := func(pointer string, value any) error {
		changed := live.DeepCopy()
		parsePlace(pointer).put(changed.Object, value)
		return kube.Update(t.Context(), changed, client.DryRunAll)
	}
	node := func(ip string) any { return map[string]any{"ip": ip} }
	g.Expect(update("/spec/cluster/nodeList", []any{node("10.0.0.2"), node("10.0.0.3"), node("10.0.0.4"), node("10.0.0.5")})).To(Succeed())
	g.Expect(update("/spec/cluster/nodeList", []any{node("10.0.0.2")})).To(MatchError(ContainSubstring("remove one node at a time")))
	g.Expect(update("/spec/cluster/masterList", []any{node("10.0.0.9")})).To(MatchError(ContainSubstring("spec.cluster.masterList is immutable")))
	g.Expect(update("/spec/cluster/podCIDR", "10.1.0.0/16")).To(MatchError(ContainSubstring("spec.cluster.podCIDR is immutable")))
	g.Expect(unstructured.SetNestedField(live.Object, "Scaling", "status", "phase")).To(Succeed())
	g.Expect(kube.Status().Update(t.Context(), live)).To(Succeed())
	g.Expect(update("/spec/cluster/kubeVersion", "v1.31.0")).To(MatchError(ContainSubstring("an operation is in progress")))
	g.Expect(update("/metadata/finalizers", []any{"example.com/a"})).To(Succeed())
	g.Expect(kube.Delete(t.Context(), live, client.DryRunAll)).To(MatchError(ContainSubstring("name the cluster in the annotation")))
	live.SetAnnotations(map[string]string{"altershield.defense.antgroup.com/delete": "dev"})
	g.Expect(kube.Update(t.Context(), live)).To(Succeed())
	g.Expect(kube.Delete(t.Context(), live)).To(Succeed())
}
