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

package view_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// bundle returns an authority that is valid until a time.
func bundle(t *testing.T, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// crds returns the shipped CustomResourceDefinitions as a cluster has them.
func crds(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	var copies []unstructured.Unstructured
	for _, crd := range parseCRDs() {
		copies = append(copies, *crd.DeepCopy())
	}
	NewWithT(t).Expect(copies).NotTo(BeEmpty())
	return copies
}

var parseCRDs = sync.OnceValue(func() []unstructured.Unstructured {
	files, _ := filepath.Glob("../../../config/crd/bases/*.yaml")
	var all []unstructured.Unstructured
	for _, file := range files {
		text, _ := os.ReadFile(file)
		var crd unstructured.Unstructured
		if yaml.Unmarshal(text, &crd.Object) != nil {
			return nil
		}
		crd.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
		all = append(all, crd)
	}
	return all
})

func called(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func policy(name string) admissionregistrationv1.ValidatingAdmissionPolicy {
	return admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: called(name)}
}

func binding(name string) admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return admissionregistrationv1.ValidatingAdmissionPolicyBinding{Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name}}
}

func operatorDeployment(image string, ready int64) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "altershieldoperator-controller-manager"},
		"spec": map[string]any{"replicas": int64(2), "template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"image": image},
		}}}},
		"status": map[string]any{"readyReplicas": ready},
	}}
}

// sound returns an installation without a problem.
func sound(t *testing.T) *view.Installation {
	t.Helper()
	authority := bundle(t, now.Add(365*24*time.Hour))
	client := admissionregistrationv1.WebhookClientConfig{CABundle: authority}
	return &view.Installation{
		Namespace: "altershieldoperator-system", Mine: "shop", Plugin: "v0.2.0", Server: "v1.36.1", Local: now, Remote: now.Add(-2 * time.Second),
		Operators: view.Part[unstructured.Unstructured]{Items: []unstructured.Unstructured{operatorDeployment("registry:5000/altershield-operator:v0.2.1", 2)}},
		CRDs:      view.Part[unstructured.Unstructured]{Items: crds(t)},
		Mutating: view.Part[admissionregistrationv1.MutatingWebhookConfiguration]{Items: []admissionregistrationv1.MutatingWebhookConfiguration{
			{ObjectMeta: called("altershieldoperator-mutating-webhook-configuration"), Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "mdeployment.kb.io", ClientConfig: client}}},
			{ObjectMeta: called("altershieldoperator-kinds-mutating-webhook-configuration")},
		}},
		Validating: view.Part[admissionregistrationv1.ValidatingWebhookConfiguration]{Items: []admissionregistrationv1.ValidatingWebhookConfiguration{
			{ObjectMeta: called("altershieldoperator-validating-webhook-configuration"), Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "vdeployment.kb.io", ClientConfig: client}}},
			{ObjectMeta: called("altershieldoperator-kinds-validating-webhook-configuration")},
		}},
		Slices: view.Part[discoveryv1.EndpointSlice]{Items: []discoveryv1.EndpointSlice{
			{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kubernetes.io/service-name": "altershieldoperator-webhook-service"}}, Endpoints: []discoveryv1.Endpoint{
				{Addresses: []string{"10.0.0.1"}}, {Addresses: []string{"10.0.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}},
			}},
			{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kubernetes.io/service-name": "another"}}, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.3"}}}},
		}},
		Leases: view.Part[coordinationv1.Lease]{Items: []coordinationv1.Lease{{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("manager-abc_uuid"), RenewTime: &metav1.MicroTime{Time: now.Add(-4 * time.Second)},
		}}}},
		Policies: view.Part[admissionregistrationv1.ValidatingAdmissionPolicy]{Items: []admissionregistrationv1.ValidatingAdmissionPolicy{
			policy("altershieldoperator-gate-opening"), policy("altershieldoperator-kinds-webhooks"), policy("altershieldoperator-deployment-keys"),
			policy("altershieldoperator-pod-keys"), policy("altershieldoperator-records"), policy("altershieldoperator-suspension"),
		}},
		Bindings: view.Part[admissionregistrationv1.ValidatingAdmissionPolicyBinding]{Items: []admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			binding("altershieldoperator-gate-opening"), binding("altershieldoperator-kinds-webhooks"), binding("altershieldoperator-deployment-keys"),
			binding("altershieldoperator-pod-keys"), binding("altershieldoperator-records"), binding("altershieldoperator-suspension"),
		}},
		Namespaces: view.Part[metav1.PartialObjectMetadata]{Items: []metav1.PartialObjectMetadata{optedIn("shop", "enabled"), optedIn("kube-system", "enabled")}},
		Trials:     view.Part[view.TrialRelease]{Items: []view.TrialRelease{{Namespace: "shop", Trial: view.Trial{Verdict: "Admitted"}}}},
		Records:    view.Part[appv1alpha1.ChangeWorkload]{Items: []appv1alpha1.ChangeWorkload{record(1, "a1"), record(2, "b1", suspended)}},
		Objects:    view.Part[view.Conditioned]{Items: []view.Conditioned{effective("ChangeFreeze", "friday", "Ready", "True"), effective("OpsConfigInfo", "branch", "Effective", "True")}},
		Rights:     view.Part[view.Reviewed]{Items: permitted(view.NeededRights("shop", "altershieldoperator-system"))},
	}
}

func optedIn(name, value string) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"admission-webhook-altershield": value}}}
}

func permitted(reviewed []view.Reviewed) []view.Reviewed {
	for i := range reviewed {
		reviewed[i].May = true
	}
	return reviewed
}

// kindOf returns a kind of the operator.
func kindOf(name string) view.Kind {
	for _, kind := range view.Kinds() {
		if kind.Name == name {
			return kind
		}
	}
	return view.Kind{}
}

func effective(kind, name, condition, status string) view.Conditioned {
	return view.Conditioned{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 2, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}, Kind: kindOf(kind),
		Conditions: []metav1.Condition{{Type: condition, Status: metav1.ConditionStatus(status), ObservedGeneration: 2, Reason: "Invalid", Message: "no times"}},
	}
}

func TestDoctorFindsNoProblemOfASoundInstallation(t *testing.T) {
	g := NewWithT(t)
	diagnosis := view.DiagnosisOf(*sound(t))
	g.Expect(diagnosis.Kind).To(Equal("Diagnosis"))
	g.Expect(diagnosis.Problems).To(BeZero())
	var topics []view.Topic
	for _, finding := range diagnosis.Items {
		g.Expect(finding.Result).To(BeEquivalentTo("OK"), "%v", finding)
		topics = append(topics, finding.Topic)
	}
	g.Expect(topics).To(Equal([]view.Topic{"APIServer", "Clock", "CRDs", "Operator", "Operator", "Lease", "Webhooks", "Endpoints", "Policies", "Namespaces",
		"Trial", "Objects", "Server", "Suspended", "Finalizers", "Rights"}))
}

func TestDoctorKnowsEachShippedKindWithItsFields(t *testing.T) {
	g := NewWithT(t)
	var shipped, known []string
	for _, crd := range crds(t) {
		shipped = append(shipped, crd.GetName())
	}
	for _, kind := range view.Kinds() {
		known = append(known, kind.CRD())
	}
	g.Expect(known).To(ConsistOf(shipped), "each kind has an entry")
	chart, err := os.ReadFile("../../../config/chart/Chart.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(chart)).To(ContainSubstring(`kubeVersion: ">=1.30.0-0"`), "doctor asks for 1.30 as well")
}

// finding is what is expected of one.
type finding struct{ result, symptom, values, help string }

func findingsOf(t *testing.T, topic view.Topic, change func(*view.Installation)) []finding {
	t.Helper()
	installation := sound(t)
	change(installation)
	var found []finding
	diagnosis := view.DiagnosisOf(*installation)
	NewWithT(t).Expect(render.Diagnosis(diagnosis, render.Style{})).NotTo(ContainSubstring("%!"), "each sentence has as many placeholders as values")
	for _, item := range diagnosis.Items {
		if item.Topic == topic {
			found = append(found, finding{string(item.Result), string(item.Symptom), strings.Join(item.Values, "|"), item.Help})
		}
	}
	return found
}

const pods = "kubectl describe pods -n altershieldoperator-system -l app.kubernetes.io/name=altershield-operator"

func TestDoctorNamesWhatIsWrongWithTheOperator(t *testing.T) {
	restart := "kubectl rollout restart -n altershieldoperator-system deployment/altershieldoperator-controller-manager"
	for name, row := range map[string]struct {
		topic  view.Topic
		change func(*view.Installation)
		wanted []finding
	}{
		"an old API server":     {"APIServer", func(i *view.Installation) { i.Server = "v1.29.9" }, []finding{{"Problem", "ServerTooOld", "v1.29.9|1.30", ""}}},
		"an unknown API server": {"APIServer", func(i *view.Installation) { i.Server = "main" }, []finding{{"Unknown", "ServerUnknown", "main", ""}}},
		"a clock that is ahead": {"Clock", func(i *view.Installation) { i.Local = now.Add(time.Minute) }, []finding{{"Problem", "ClocksDiffer", "1m2s", ""}}},
		"no time of the server": {"Clock", func(i *view.Installation) { i.Remote = time.Time{} }, []finding{{"Unknown", "ClockUnknown", "", ""}}},
		"pods that aren't ready": {"Operator", func(i *view.Installation) { i.Operators.Items[0] = operatorDeployment("x:v0.2.0", 1) },
			[]finding{{"Problem", "OperatorNotReady", "1|2", pods}, {"OK", "VersionsFit", "v0.2.0|v0.2.0", ""}}},
		"versions far apart": {"Operator", func(i *view.Installation) { i.Operators.Items[0] = operatorDeployment("x:v0.4.0@sha256:12", 2) },
			[]finding{{"OK", "OperatorReady", "2|2", ""}, {"Problem", "VersionSkew", "v0.2.0|v0.4.0", ""}}},
		"another major version": {"Operator", func(i *view.Installation) { i.Operators.Items[0] = operatorDeployment("x:v1.2.0", 2) },
			[]finding{{"OK", "OperatorReady", "2|2", ""}, {"Problem", "VersionSkew", "v0.2.0|v1.2.0", ""}}},
		"an image by its digest": {"Operator", func(i *view.Installation) { i.Operators.Items[0] = operatorDeployment("x@sha256:12", 2) },
			[]finding{{"OK", "OperatorReady", "2|2", ""}, {"Note", "VersionUnknown", "v0.2.0|x@sha256:12", ""}}},
		"a plugin without a version": {"Operator", func(i *view.Installation) { i.Plugin = "dev" },
			[]finding{{"OK", "OperatorReady", "2|2", ""}, {"Note", "VersionUnknown", "dev|registry:5000/altershield-operator:v0.2.1", ""}}},
		"a tag that is no version": {"Operator", func(i *view.Installation) {
			i.Operators.Items[0] = operatorDeployment("x:latest", 1)
			delete(i.Operators.Items[0].Object["spec"].(map[string]any), "replicas")
		}, []finding{{"OK", "OperatorReady", "1|1", ""}, {"Note", "VersionUnknown", "v0.2.0|x:latest", ""}}},
		"no container": {"Operator", func(i *view.Installation) { delete(i.Operators.Items[0].Object["spec"].(map[string]any), "template") },
			[]finding{{"OK", "OperatorReady", "2|2", ""}, {"Note", "VersionUnknown", "v0.2.0|", ""}}},
		"no operator": {"Operator", func(i *view.Installation) { i.Operators.Items = nil },
			[]finding{{"Problem", "OperatorMissing", "altershieldoperator-system", "kubectl get deployments -A -l app.kubernetes.io/name=altershield-operator"}}},
		"an operator outside": {"Operator", func(i *view.Installation) { i.Operators.Items = nil; outside(i) }, []finding{{"Note", "OperatorOutside", "altershieldoperator-system", ""}}},
		"webhooks outside":    {"Endpoints", outside, []finding{{"Note", "EndpointsOutside", "https://127.0.0.1:9443/x", ""}}},
		"a stale Lease": {"Lease", func(i *view.Installation) { i.Leases.Items[0].Spec.RenewTime.Time = now.Add(-5 * time.Minute) },
			[]finding{{"Problem", "LeaseStale", "manager-abc|4m58s", "kubectl logs -n altershieldoperator-system deployment/altershieldoperator-controller-manager"}}},
		"a Lease from the future": {"Lease", func(i *view.Installation) { i.Leases.Items[0].Spec.RenewTime.Time = now.Add(5 * time.Minute) },
			[]finding{{"Problem", "LeaseAhead", "manager-abc|5m2s", ""}}},
		"no leader": {"Lease", func(i *view.Installation) { i.Leases.Items[0].Spec.HolderIdentity = ptr.To("") }, []finding{{"Problem", "LeaseFree", "", pods}}},
		"no Lease":  {"Lease", func(i *view.Installation) { i.Leases.Items = nil }, []finding{{"Problem", "LeaseMissing", "altershieldoperator-system", pods}}},
		"no Lease of an operator outside": {"Lease", func(i *view.Installation) { i.Leases.Items = nil; outside(i) },
			[]finding{{"Note", "LeaseMissing", "altershieldoperator-system", ""}}},
		"local time": {"Lease", func(i *view.Installation) { i.Remote = time.Time{} }, []finding{{"OK", "LeaseFresh", "manager-abc|4s", ""}}},
		"no webhooks": {"Webhooks", func(i *view.Installation) { i.Mutating.Items = i.Mutating.Items[1:] },
			[]finding{{"Problem", "WebhooksMissing", "altershieldoperator-mutating-webhook-configuration", "kubectl apply -k config/default"}}},
		"no caBundle":       {"Webhooks", bundled(nil), []finding{{"Problem", "BundleMissing", "mdeployment.kb.io", restart}}},
		"a broken caBundle": {"Webhooks", bundled([]byte("x")), []finding{{"Problem", "BundleBroken", "mdeployment.kb.io|no certificate in PEM", restart}}},
		"an unreadable certificate": {"Webhooks", bundled(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})),
			[]finding{{"Problem", "BundleBroken", "mdeployment.kb.io|x509: malformed certificate", restart}}},
		"an expired caBundle": {"Webhooks", bundled(bundle(t, now.Add(-time.Hour))), []finding{{"Problem", "BundleExpired", "mdeployment.kb.io|2026-11-22", restart}}},
		"an authority before a renewal": {"Webhooks", bundled(append(bundle(t, now.Add(-time.Hour)), bundle(t, now.Add(48*time.Hour))...)),
			[]finding{{"OK", "WebhooksTrusted", "2|2026-11-24", ""}}},
		"no endpoint": {"Endpoints", func(i *view.Installation) { i.Slices.Items[0].Endpoints = i.Slices.Items[0].Endpoints[1:] },
			[]finding{{"Problem", "EndpointsNone", "altershieldoperator-webhook-service", pods}}},
		"no policy": {"Policies", func(i *view.Installation) { i.Policies.Items = i.Policies.Items[1:] },
			[]finding{{"Problem", "PolicyMissing", "altershieldoperator-gate-opening", "kubectl apply -k config/default"}}},
		"no binding": {"Policies", func(i *view.Installation) { i.Bindings.Items = i.Bindings.Items[:5] },
			[]finding{{"Problem", "PolicyUnbound", "altershieldoperator-suspension", "kubectl apply -k config/admission-policy"}}},
		"no optional policy": {"Policies", func(i *view.Installation) {
			i.Policies.Items, i.Bindings.Items = i.Policies.Items[:2], i.Bindings.Items[:2]
		}, []finding{{"OK", "PoliciesInstalled", "2", ""}, {"Note", "PoliciesOptional", "", "kubectl apply -k config/admission-policy"}}},
	} {
		NewWithT(t).Expect(findingsOf(t, row.topic, row.change)).To(Equal(row.wanted), name)
	}
}

func outside(i *view.Installation) {
	i.Validating.Items[0].Webhooks[0].ClientConfig.URL = ptr.To("https://127.0.0.1:9443/x")
}

func bundled(authority []byte) func(*view.Installation) {
	return func(i *view.Installation) { i.Mutating.Items[0].Webhooks[0].ClientConfig.CABundle = authority }
}

func TestDoctorComparesTheFieldsOfCRDs(t *testing.T) {
	properties := func(crd *unstructured.Unstructured, path ...string) map[string]any {
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		schema := versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)
		for _, name := range path {
			property := schema[name].(map[string]any)
			if items, is := property["items"].(map[string]any); is {
				property = items
			}
			schema = property["properties"].(map[string]any)
		}
		crd.Object["spec"].(map[string]any)["versions"] = versions
		return schema
	}
	const apply = "kubectl apply -k config/crd"
	for name, row := range map[string]struct {
		change func(*view.Installation)
		wanted []finding
	}{
		"a field less": {func(i *view.Installation) { delete(properties(&i.CRDs.Items[2], "spec", "windows"), "timeZone") },
			[]finding{{"Problem", "CRDOlder", "changefreezes.app.ops.cloud.alipay.com|spec.windows.timeZone", apply}}},
		"a field more": {func(i *view.Installation) {
			properties(&i.CRDs.Items[2], "spec")["colour"] = map[string]any{"type": "string"}
		},
			[]finding{{"Note", "CRDNewer", "changefreezes.app.ops.cloud.alipay.com|spec.colour", ""}}},
		"many fields less": {func(i *view.Installation) { clear(properties(&i.CRDs.Items[2], "status")) },
			[]finding{{"Problem", "CRDOlder", "changefreezes.app.ops.cloud.alipay.com|status.active, status.conditions, status.next, … (6)", apply}}},
		"another version": {func(i *view.Installation) {
			i.CRDs.Items[2].Object["spec"].(map[string]any)["versions"] = []any{map[string]any{"name": "v1"}}
		}, []finding{{"Problem", "CRDOlder", "changefreezes.app.ops.cloud.alipay.com|v1alpha1", apply}}},
		"none": {func(i *view.Installation) { i.CRDs.Items = i.CRDs.Items[1:] }, []finding{{"Problem", "CRDMissing", "breakglasses.app.ops.cloud.alipay.com", apply}}},
		"one that isn't established": {func(i *view.Installation) {
			i.CRDs.Items[0].Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "False", "reason": "NotAccepted", "message": "names"}}}
		}, []finding{{"Problem", "CRDNotEstablished", "breakglasses.app.ops.cloud.alipay.com|NotAccepted: names", "kubectl describe crd breakglasses.app.ops.cloud.alipay.com"}}},
		"one without conditions": {func(i *view.Installation) { delete(i.CRDs.Items[0].Object, "status") },
			[]finding{{"Problem", "CRDNotEstablished", "breakglasses.app.ops.cloud.alipay.com|Established: ?", "kubectl describe crd breakglasses.app.ops.cloud.alipay.com"}}},
	} {
		NewWithT(t).Expect(findingsOf(t, "CRDs", row.change)).To(Equal(row.wanted), name)
	}
}

func TestDoctorNamesWhatNeedsAPerson(t *testing.T) {
	unordered := record(3, "c1", has("Ordered", "False", "OrderRefused", "no such tenant"), of("bank", "StatefulSet", "ledger"))
	finished := record(3, "c2", has("Ordered", "Unknown", "OrderUnfinished", "it is closed soon"), of("bank", "StatefulSet", "other"))
	longSuspended := record(4, "d1", suspended, of("shop", "Deployment", "cart"))
	longSuspended.Status.EntryTimeUnix = now.Add(-5 * time.Hour).Unix()
	failedOnly := record(4, "d1", is("Suspend", "False", "PodsFailed", "5xx above 1%"), has("Suspended", "False", "Observing", "it is only observed"), of("shop", "Deployment", "cart"))
	failedOnly.Status.EntryTimeUnix = now.Add(-5 * time.Hour).Unix()
	const denial = "further releases of the Deployment are not denied yet, as it can't be suspended: a policy denies it"
	unsuspended := record(4, "d1", is("Suspend", "False", "PodsFailed", "5xx above 1%"), has("Suspended", "False", "WorkloadNotWritten", denial), of("shop", "Deployment", "cart"))
	job := func(name string, options ...recordOption) appv1alpha1.ChangeWorkload {
		run := record(1, "f1", append(options, of("shop", "Job", name))...)
		run.Spec.WorkloadRef.APIVersion = "batch/v1"
		run.Status.EntryTimeUnix = now.Add(-5 * time.Hour).Unix()
		return run
	}
	deleted := record(5, "e1")
	deleted.DeletionTimestamp, deleted.Finalizers = &metav1.Time{Time: now.Add(-time.Hour)}, []string{"altershield.defense.antgroup.com/change-order"}
	records := func(added ...appv1alpha1.ChangeWorkload) func(*view.Installation) {
		return func(i *view.Installation) { i.Records.Items = append(i.Records.Items, added...) }
	}
	unchecked := func(ago time.Duration) func(*view.Installation) {
		return func(i *view.Installation) {
			i.Unchecked.Items = []corev1.Event{{
				ObjectMeta:     metav1.ObjectMeta{Namespace: "shop", CreationTimestamp: metav1.NewTime(now.Add(-3 * time.Hour))},
				InvolvedObject: corev1.ObjectReference{Name: "web--x--1"}, Message: "web--x--1--x--2: CheckTimeout", LastTimestamp: metav1.NewTime(now.Add(-ago)),
			}}
		}
	}
	for name, row := range map[string]struct {
		topic  view.Topic
		change func(*view.Installation)
		wanted []finding
	}{
		"an order that isn't open": {"Server", records(unordered, finished), []finding{{"Problem", "OrderNotOpen", "bank/ledger|OrderRefused|no such tenant",
			"kubectl describe changeworkload " + unordered.Name + " -n bank"}}},
		"a batch that was not checked":          {"Server", unchecked(59 * time.Minute), []finding{{"Problem", "BatchNotChecked", "shop|web--x--1--x--2: CheckTimeout", "kubectl describe changeworkload web--x--1 -n shop"}}},
		"a batch that was not checked long ago": {"Server", unchecked(61 * time.Minute), []finding{{"OK", "OrdersFine", "", ""}}},
		"a long suspension":                     {"Suspended", records(longSuspended), []finding{{"Problem", "SuspendedLong", "shop/cart|4h59m58s", "kubectl altershield why deployment/cart -n shop"}}},
		"a failure that suspends nothing":       {"Suspended", records(failedOnly), []finding{{"OK", "SuspendedNone", "4h0m0s", ""}}},
		"a failure that can't suspend": {"Suspended", records(unsuspended), []finding{{"OK", "SuspendedNone", "4h0m0s", ""},
			{"Problem", "SuspensionDenied", "shop/cart|" + denial, "kubectl altershield why deployment/cart -n shop"}}},
		"a Job that failed": {"Suspended", records(job("migrate", is("Suspend", "False", "PodsFailed", "exit code 1"))), []finding{{"OK", "SuspendedNone", "4h0m0s", ""}}},
		"a Job that is suspended": {"Suspended", records(job("migrate", is("Running", "Unknown", "Refused", "its template failed before"))),
			[]finding{{"Problem", "SuspendedLong", "shop/migrate|4h59m58s", "kubectl altershield why job/migrate -n shop"}}},
		"a setting that keeps releases from being suspended": {"Suspended", func(i *view.Installation) { i.NotBlocking = true },
			[]finding{{"Note", "BlockingOff", "", "kubectl altershield settings blocking on"}, {"OK", "SuspendedNone", "4h0m0s", ""}}},
		"the same of an operator elsewhere": {"Suspended", func(i *view.Installation) { i.NotBlocking, i.Namespace = true, "ops" },
			[]finding{{"Note", "BlockingOff", "", "kubectl altershield settings blocking on --operator-namespace ops"}, {"OK", "SuspendedNone", "4h0m0s", ""}}},
		"a deleted record": {"Finalizers", records(deleted), []finding{{"Problem", "FinalizerHangs", "ChangeWorkload shop/web--x--" + version("e1") + "|59m58s|altershield.defense.antgroup.com/change-order",
			"kubectl patch changeworkload web--x--" + version("e1") + ` -n shop --type=merge -p '{"metadata":{"finalizers":null}}'`}}},
		"a deleted kind": {"Finalizers", func(i *view.Installation) {
			kind := effective("ControlledKind", "clonesets.apps.kruise.io", "Ready", "True")
			kind.Namespace, kind.DeletionTimestamp, kind.Finalizers = "", &metav1.Time{Time: now.Add(-time.Hour)}, []string{"altershield.defense.antgroup.com/kind"}
			i.Objects.Items = append(i.Objects.Items, kind)
		}, []finding{{"Problem", "FinalizerHangs", "ControlledKind clonesets.apps.kruise.io|59m58s|altershield.defense.antgroup.com/kind", "kubectl describe controlledkinds clonesets.apps.kruise.io"}}},
		"an object that isn't in effect": {"Objects", func(i *view.Installation) { i.Objects.Items[0].Conditions[0].Status = "False" },
			[]finding{{"Problem", "ObjectNotReady", "ChangeFreeze shop/friday|Ready|Invalid|no times", "kubectl describe changefreezes friday -n shop"}}},
		"steps without gates": {"Objects", func(i *view.Installation) {
			policy := effective("ReleasePolicy", "steps", "Ready", "True")
			policy.Conditions = append(policy.Conditions, metav1.Condition{Type: "Gated", Status: "False", ObservedGeneration: 2, Reason: "NotInstalled", Message: "apply config/gates"})
			i.Objects.Items = append(i.Objects.Items, policy)
		}, []finding{{"Problem", "ObjectNotReady", "ReleasePolicy shop/steps|Gated|NotInstalled|apply config/gates", "kubectl describe releasepolicies steps -n shop"}}},
		"a subscription that can't be used": {"Objects", func(i *view.Installation) {
			i.Objects.Items = append(i.Objects.Items, effective("ChangeSubscription", "chat", "Ready", "False"))
		}, []finding{{"Problem", "ObjectNotReady", "ChangeSubscription shop/chat|Ready|Invalid|no times", "kubectl describe changesubscriptions chat -n shop"}}},
		"a suspended subscription": {"Objects", func(i *view.Installation) {
			chat := effective("ChangeSubscription", "chat", "Ready", "False")
			chat.Conditions[0].Reason = "Suspended"
			i.Objects.Items = append(i.Objects.Items, chat)
		}, []finding{{"OK", "ObjectsFine", "3", ""}}},
		"a freeze with such a reason": {"Objects", func(i *view.Installation) {
			i.Objects.Items[0].Conditions[0].Status, i.Objects.Items[0].Conditions[0].Reason = "False", "Suspended"
		}, []finding{{"Problem", "ObjectNotReady", "ChangeFreeze shop/friday|Ready|Suspended|no times", "kubectl describe changefreezes friday -n shop"}}},
		"an object that has changed since": {"Objects", func(i *view.Installation) {
			i.Objects.Items[0].Conditions[0].Status, i.Objects.Items[0].Generation = "False", 3
		}, []finding{{"OK", "ObjectsFine", "2", ""}}},
		"an object without its condition": {"Objects", func(i *view.Installation) { i.Objects.Items[0].Conditions = nil }, []finding{{"Problem", "ObjectUnseen", "ChangeFreeze shop/friday|Ready", pods}}},
		"a new object": {"Objects", func(i *view.Installation) {
			i.Objects.Items[0].Conditions, i.Objects.Items[0].CreationTimestamp.Time = nil, now
		}, []finding{{"OK", "ObjectsFine", "2", ""}}},
		"no namespace": {"Namespaces", func(i *view.Installation) { i.Namespaces.Items = i.Namespaces.Items[1:] },
			[]finding{{"Note", "NamespacesNone", "", "kubectl label namespace NAME admission-webhook-altershield=enabled"}}},
		"another value": {"Namespaces", func(i *view.Installation) { i.Namespaces.Items = append(i.Namespaces.Items, optedIn("bank", "true")) },
			[]finding{{"Note", "NamespaceMislabelled", "bank|true", "kubectl label namespace bank admission-webhook-altershield=enabled --overwrite"}, {"OK", "NamespacesIn", "1|shop", ""}}},
		"Deployments without a version": {"Namespaces", func(i *view.Installation) {
			i.Unstamped.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "old"}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "old"}}}
		}, []finding{{"OK", "NamespacesIn", "1|shop", ""}, {"Note", "NeverStamped", "1|shop/old", ""}}},
		"lacking rights": {"Rights", func(i *view.Installation) { i.Rights.Items[4].May, i.Rights.Items[7].May = false, false }, []finding{{"Note", "RightsSome",
			"shop|verdict (patch changepods.app.ops.cloud.alipay.com/status), settings (patch opsconfiginfoes.app.ops.cloud.alipay.com)", ""}}},
	} {
		NewWithT(t).Expect(findingsOf(t, row.topic, row.change)).To(Equal(row.wanted), name)
	}
}

func TestDoctorJudgesATrial(t *testing.T) {
	tried := func(trial view.TrialRelease) func(*view.Installation) {
		trial.Namespace = "shop"
		return func(i *view.Installation) { i.Trials.Items[0] = trial }
	}
	const frozen = `admission webhook "mdeployment.kb.io" denied the request: frozen`
	for name, row := range map[string]struct {
		change func(*view.Installation)
		wanted finding
	}{
		"without a version":     {tried(view.TrialRelease{Trial: view.Trial{Verdict: "NotControlled"}}), finding{"Problem", "TrialUnstamped", "shop", "kubectl get mutatingwebhookconfigurations altershieldoperator-mutating-webhook-configuration -o yaml"}},
		"without enforcement":   {tried(view.TrialRelease{Trial: view.Trial{Verdict: "NotControlled"}, NotEnforced: true}), finding{"Note", "TrialNotEnforced", "shop", "kubectl describe controlledkind deployments.apps"}},
		"failed":                {tried(view.TrialRelease{Failure: "failed calling webhook"}), finding{"Problem", "TrialFailed", "shop|failed calling webhook", pods}},
		"denied by the webhook": {tried(view.TrialRelease{Trial: view.Trial{Verdict: "Denied", Sentence: frozen}}), finding{"OK", "TrialAnswered", "shop|" + frozen, ""}},
		"denied by another":     {tried(view.TrialRelease{Trial: view.Trial{Verdict: "Denied", Sentence: "no quota"}}), finding{"Unknown", "TrialDenied", "shop|no quota", ""}},
		"nowhere":               {func(i *view.Installation) { i.Trials.Items = nil }, finding{"Unknown", "TrialNowhere", "", ""}},
		"no right to list namespaces": {func(i *view.Installation) { i.Namespaces.Lacks = &view.Right{Verb: "list", Resource: "namespaces"} },
			finding{"Unknown", "MayNotRead", "list namespaces", ""}},
	} {
		NewWithT(t).Expect(findingsOf(t, "Trial", row.change)).To(Equal([]finding{row.wanted}), name)
	}
	deployment := view.TrialDeployment("shop")
	NewWithT(t).Expect(deployment.GetNamespace()).To(Equal("shop"))
}

func TestDoctorNamesWhatItCanNotRead(t *testing.T) {
	right := &view.Right{Verb: "list", Resource: "x"}
	for topic, lack := range map[view.Topic]func(*view.Installation){
		"CRDs": func(i *view.Installation) { i.CRDs.Lacks = right }, "Operator": func(i *view.Installation) { i.Operators.Lacks = right },
		"Lease": func(i *view.Installation) { i.Leases.Lacks = right }, "Webhooks": func(i *view.Installation) { i.Mutating.Lacks, i.Validating.Lacks = right, right },
		"Endpoints": func(i *view.Installation) { i.Slices.Lacks = right }, "Policies": func(i *view.Installation) { i.Bindings.Lacks = right },
		"Namespaces": func(i *view.Installation) { i.Namespaces.Lacks = right }, "Trial": func(i *view.Installation) { i.Trials.Lacks = right },
		"Objects": func(i *view.Installation) { i.Objects.Lacks = right }, "Server": func(i *view.Installation) { i.Records.Lacks = right },
		"Suspended": func(i *view.Installation) { i.Records.Lacks = right }, "Finalizers": func(i *view.Installation) { i.Objects.Lacks = right },
		"Rights": func(i *view.Installation) { i.Rights.Lacks = right },
	} {
		NewWithT(t).Expect(findingsOf(t, topic, lack)).To(Equal([]finding{{"Unknown", "MayNotRead", "list x", ""}}), string(topic))
	}
	NewWithT(t).Expect(findingsOf(t, "Server", func(i *view.Installation) { i.Unchecked.Lacks = right })).To(Equal([]finding{{"Unknown", "MayNotRead", "list x", ""}}))
	NewWithT(t).Expect(findingsOf(t, "Objects", func(i *view.Installation) { i.Objects.Lacks, i.Objects.Items[0].Conditions = right, nil })).
		To(Equal([]finding{{"Problem", "ObjectUnseen", "ChangeFreeze shop/friday|Ready", pods}, {"Unknown", "MayNotRead", "list x", ""}}))
	NewWithT(t).Expect(findingsOf(t, "Lease", func(i *view.Installation) { i.Leases.Failure = "disk full" })).To(Equal([]finding{{"Problem", "CanNotRead", "disk full", ""}}))
	NewWithT(t).Expect(findingsOf(t, "Server", func(i *view.Installation) { i.Records.Absent = true })).To(Equal([]finding{{"Unknown", "KindAbsent", "", ""}}))
}
