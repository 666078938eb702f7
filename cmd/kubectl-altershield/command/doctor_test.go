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

package command_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

// installation returns the objects of an installed operator, with a namespace under change control.
func installation(t *testing.T) []client.Object {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: system, Name: name} }
	manager := &appsv1.Deployment{
		ObjectMeta: in("altershieldoperator-controller-manager"),
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "manager", Image: "registry/altershield-operator:v1.2.0", Env: []corev1.EnvVar{{Name: "TOKEN", Value: "s3cret"}}}},
		}}},
		Status: appsv1.DeploymentStatus{ReadyReplicas: 2},
	}
	manager.Labels = map[string]string{"app.kubernetes.io/name": "altershield-operator"}
	objects := []client.Object{
		manager,
		&coordinationv1.Lease{ObjectMeta: in("altershieldoperator.app.ops.cloud.alipay.com"), Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("manager-1_x"), RenewTime: &metav1.MicroTime{Time: now}}},
		&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "s", Labels: map[string]string{"kubernetes.io/service-name": "altershieldoperator-webhook-service"}},
			Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
		},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}},
		&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-mutating-webhook-configuration"},
			Webhooks:   []admissionregistrationv1.MutatingWebhook{{Name: "mdeployment.kb.io", ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: authority}}},
		},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-kinds-mutating-webhook-configuration"}},
		&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "another"}, Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "broken"}},
		},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-validating-webhook-configuration"}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-kinds-validating-webhook-configuration"}},
	}
	for _, name := range []string{"altershieldoperator-gate-opening", "altershieldoperator-kinds-webhooks"} {
		objects = append(objects, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}},
			&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name}})
	}
	return append(objects, definitions(t)...)
}

// definitions returns the shipped CustomResourceDefinitions as a cluster has them.
func definitions(t *testing.T) []client.Object {
	t.Helper()
	var copies []client.Object
	for _, crd := range parseDefinitions() {
		copies = append(copies, crd.DeepCopy())
	}
	NewWithT(t).Expect(copies).NotTo(BeEmpty())
	return copies
}

var parseDefinitions = sync.OnceValue(func() []unstructured.Unstructured {
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

// stampsTrials answers dry runs of a creation as the webhook does.
func stampsTrials() interceptor.Funcs {
	return interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, object client.Object, options ...client.CreateOption) error {
		if allows(object) {
			return nil
		}
		var asked client.CreateOptions
		asked.ApplyOptions(options)
		if len(asked.DryRun) == 0 {
			return errors.New("doctor must change nothing")
		}
		object.SetLabels(map[string]string{"admission-webhook-altershield.antgroup.com/version": version("a1")})
		return nil
	}}
}

// allows answers reviews of rights.
func allows(object client.Object) bool {
	review, is := object.(*authorizationv1.SelfSubjectAccessReview)
	if is {
		review.Status.Allowed = true
	}
	return is
}

func TestDoctorExaminesAnInstallation(t *testing.T) {
	g := NewWithT(t)
	b := newBenchWith(t, stampsTrials(), append(installation(t), branch())...)
	answer := b.run("doctor")
	g.Expect(answer.out).To(ContainSubstring("✔ trial release  a dry run of a new Deployment in namespace shop comes back stamped\n"))
	g.Expect(answer.out).To(ContainSubstring("✔ leader         manager-1, renewed 0s ago\n"))
	g.Expect(answer.out).To(ContainSubstring("✔ operator       plugin v1.2.3, operator v1.2.0\n"))
	g.Expect(answer.out).To(ContainSubstring("✖ objects        OpsConfigInfo altershieldoperator-system/branch has no condition Effective: the operator hasn't looked at it\n" +
		"                 kubectl describe pods -n altershieldoperator-system -l app.kubernetes.io/name=altershield-operator\n"))
	g.Expect(answer.out).To(HaveSuffix("problems: 1\n"))
	g.Expect(answer.code).To(Equal(command.Findings))
	g.Expect(answer.err).To(BeEmpty())

	g.Expect(b.run("doctor", "-o", "name").out).To(Equal("ObjectUnseen\n"))
	fine := newBenchWith(t, stampsTrials(), installation(t)...)
	g.Expect(fine.run("doctor").expects(g, command.OK)).To(HaveSuffix("no problems\n"))
	g.Expect(fine.run("doctor", "-o", "jsonpath={.kind} {.problems}").expects(g, command.OK)).To(Equal("Diagnosis 0"))
	g.Expect(fine.run("doctor", "--lang=zh").expects(g, command.OK)).To(HaveSuffix("没有问题\n"))
	g.Expect(fine.run("doctor", "--wait=-1s").code).To(Equal(command.Usage))
}

func TestDoctorTellsThatTheSettingBlockingIsOff(t *testing.T) {
	g := NewWithT(t)
	off := branch()
	off.Name = "blocking"
	off.Spec.Type = "isBlockingUp"
	off.Status.Conditions = []metav1.Condition{{Type: "Effective", Status: "True", Reason: "InEffect"}}
	elsewhere := off.DeepCopy()
	elsewhere.Namespace = "shop"
	b := newBenchWith(t, stampsTrials(), append(installation(t), off)...)
	g.Expect(b.run("doctor").expects(g, command.OK)).To(ContainSubstring("! suspended      the setting blocking is off: no release that fails is suspended, so that no further one is denied\n" +
		"                 kubectl altershield settings blocking on\n"))
	b = newBenchWith(t, stampsTrials(), append(installation(t), elsewhere)...)
	g.Expect(b.run("doctor").out).NotTo(ContainSubstring("blocking"), "it has no effect")
}

func TestDoctorOfANamespaceExaminesThatOneAndTheOperators(t *testing.T) {
	g := NewWithT(t)
	away := branch()
	away.Namespace = "bank"
	b := newBenchWith(t, stampsTrials(), append(installation(t), away)...)
	g.Expect(b.run("doctor", "-n", "shop").expects(g, command.OK)).To(ContainSubstring("no problems\n"))
	g.Expect(b.run("doctor", "-n", "bank").out).To(And(ContainSubstring("bank/branch"), ContainSubstring("no namespace is under change control")))
	g.Expect(b.run("doctor").code).To(Equal(command.Findings))
}

// pacedBy lets the time go on by a second with each diagnosis, and calls a function before each.
func pacedBy(b *bench, before func(diagnosis int) error) *bench {
	diagnoses := 0
	b.ask = func(string) (command.Answer, error) {
		diagnoses++
		return command.Answer{Body: []byte(`{"gitVersion":"v1.36.1"}`), Date: b.clock.Now()}, before(diagnoses)
	}
	b.tick(func(int) {})
	return b
}

func TestDoctorWaitsUntilThereIsNoProblem(t *testing.T) {
	g := NewWithT(t)
	asked := 0
	b := newBenchWith(t, stampsTrials(), append(installation(t), branch())...)
	pacedBy(b, func(diagnosis int) error {
		if asked = diagnosis; diagnosis == 2 {
			return apierrors.NewServiceUnavailable("away")
		}
		if diagnosis == 4 {
			return b.kube.Delete(t.Context(), branch())
		}
		return nil
	})
	g.Expect(b.run("doctor", "--wait=2m").expects(g, command.OK)).To(HaveSuffix("no problems\n"))
	g.Expect(asked).To(Equal(4))
}

func TestDoctorWaitsNoLongerThanAsked(t *testing.T) {
	g := NewWithT(t)
	late := pacedBy(newBenchWith(t, stampsTrials(), append(installation(t), branch())...), func(int) error { return nil })
	answer := late.run("doctor", "--wait=5s")
	g.Expect(answer.code).To(Equal(command.Timeout))
	g.Expect(answer.out).To(ContainSubstring("problems: 1\n"))
	g.Expect(answer.err).To(Equal("error: problems remain after 5s\n"))

	away := pacedBy(newBench(t, installation(t)...), func(int) error { return errors.New("connection refused") })
	answer = away.run("doctor", "--wait=5s")
	g.Expect(answer.code).To(Equal(command.Timeout))
	g.Expect(answer.err).To(Equal("error: reading the version of the API server: connection refused\n"))

	ctx, cancel := context.WithCancel(t.Context())
	stopped := newBenchWith(t, stampsTrials(), append(installation(t), branch())...)
	stopped.ask = func(string) (command.Answer, error) {
		cancel()
		return command.Answer{Body: []byte(`{"gitVersion":"v1.36.1"}`)}, nil
	}
	g.Expect(stopped.runIn(ctx, "doctor", "--wait=5s").code).To(Equal(command.Interrupted))
}

func TestDoctorOfDeploymentsThatAreNotEnforced(t *testing.T) {
	kind := func(mode appv1alpha1.ControlledKindMode) client.Object {
		return &appv1alpha1.ControlledKind{
			ObjectMeta: metav1.ObjectMeta{Name: "deployments.apps"}, Spec: appv1alpha1.ControlledKindSpec{BuiltIn: true, Mode: mode},
			Status: appv1alpha1.ControlledKindStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "True"}}},
		}
	}
	const unstamped = "a dry run of a new Deployment in namespace shop comes back without a version: "
	for name, row := range map[string]struct {
		mode    appv1alpha1.ControlledKindMode
		refused string
		code    command.Code
		says    string
	}{
		"observed":             {"Observe", "", command.OK, "! trial release  " + unstamped + "Deployments are not enforced\n                 kubectl describe controlledkind deployments.apps\n"},
		"enforced":             {"Enforce", "", command.Findings, "✖ trial release  " + unstamped + "the webhook isn't called\n"},
		"no right to the kind": {"Observe", "ControlledKind", command.Findings, "✖ trial release  " + unstamped + "the webhook isn't called\n"},
	} {
		g := NewWithT(t)
		funcs := stampsTrials()
		funcs.Create = func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			allows(object)
			return nil
		}
		if row.refused != "" {
			funcs.Get = refuses(row.refused).Get
		}
		answer := newBenchWith(t, funcs, append(installation(t), kind(row.mode))...).run("doctor")
		g.Expect(answer.out).To(ContainSubstring(row.says), name)
		g.Expect(answer.code).To(Equal(row.code), name)
	}
}

func TestDoctorWithoutRightsNamesThem(t *testing.T) {
	g := NewWithT(t)
	funcs := stampsTrials()
	funcs.List = func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
		return forbidden("list", "g", strings.ToLower(strings.TrimSuffix(list.GetObjectKind().GroupVersionKind().Kind, "List")))
	}
	funcs.Create = func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return forbidden("create", "g", "x")
	}
	b := newBenchWith(t, funcs, installation(t)...)
	text := b.run("doctor").expects(g, command.OK)
	g.Expect(text).To(ContainSubstring("○ CRDs           not examined: you may not list customresourcedefinitions.apiextensions.k8s.io\n"))
	g.Expect(text).To(ContainSubstring("○ trial release  not examined: you may not create deployments.apps\n"), "the namespace of the user may be read alone")
	g.Expect(text).To(ContainSubstring("○ your rights    not examined: you may not create selfsubjectaccessreviews.authorization.k8s.io\n"))
	g.Expect(text).To(HaveSuffix("no problems\n"))

	funcs.Get = func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return forbidden("get", "", "namespaces")
	}
	g.Expect(newBenchWith(t, funcs).run("doctor").expects(g, command.OK)).To(ContainSubstring("○ trial release  not examined: you may not list namespaces\n"))
}

func TestDoctorOfOneNamespaceWithItsRightsAlone(t *testing.T) {
	g := NewWithT(t)
	funcs := stampsTrials()
	funcs.List = func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		var asked client.ListOptions
		if asked.ApplyOptions(options); asked.Namespace != "shop" {
			return forbidden("list", "g", "x")
		}
		return kube.List(ctx, list, options...)
	}
	suspended := failed(7, "49")
	suspended.Status.EntryTimeUnix = now.Add(-5 * time.Hour).Unix()
	unchecked := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "shop", Name: "unchecked"},
		InvolvedObject: corev1.ObjectReference{Kind: "ChangeWorkload", Namespace: "shop", Name: "web--x--1"}, Reason: "BatchNotChecked", Message: "web--x--1--x--2: CheckTimeout",
		EventTime: metav1.NewMicroTime(now.Add(-time.Minute)),
	}
	unready := branch()
	unready.Namespace = "shop"
	text := newBenchWith(t, funcs, append(installation(t), suspended, unchecked, unready)...).run("doctor").out
	g.Expect(text).To(ContainSubstring("✖ suspended      shop/web is suspended for 5h0m0s\n                 kubectl altershield why deployment/web -n shop\n"))
	g.Expect(text).To(ContainSubstring("✖ checks         a batch in namespace shop was not checked: web--x--1--x--2: CheckTimeout\n"))
	g.Expect(text).To(ContainSubstring("✖ objects        OpsConfigInfo shop/branch has no condition Effective"))
	g.Expect(text).To(ContainSubstring("○ objects        not examined: you may not list "))
}

func TestDoctorExaminesWhatFollowsAKindThatTheUserMayNotRead(t *testing.T) {
	off := branch()
	off.Name, off.Spec.Type = "blocking", "isBlockingUp"
	funcs := stampsTrials()
	funcs.List = refuses("ControlledKind").List
	text := newBenchWith(t, funcs, append(installation(t), off)...).run("doctor").out
	NewWithT(t).Expect(text).To(And(ContainSubstring("the setting blocking is off"), ContainSubstring("○ objects        not examined: you may not list controlledkinds.app.ops.cloud.alipay.com\n")))
}

func TestDoctorNamesWhatItCanNotReadInTheNamespaceOfTheOperator(t *testing.T) {
	for _, row := range []struct {
		failure error
		says    string
	}{
		{forbidden("list", "g", "opsconfiginfoes"), "○ objects        not examined: you may not list opsconfiginfoes.app.ops.cloud.alipay.com\n"},
		{apierrors.NewInternalError(errors.New("disk full")), "✖ objects        can't be read: Internal error occurred: disk full in namespace " + system + "\n"},
	} {
		funcs := stampsTrials()
		funcs.List = func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			var asked client.ListOptions
			if asked.ApplyOptions(options); asked.Namespace == system && list.GetObjectKind().GroupVersionKind().Kind == "OpsConfigInfoList" {
				return row.failure
			}
			return kube.List(ctx, list, options...)
		}
		NewWithT(t).Expect(newBenchWith(t, funcs, installation(t)...).run("doctor", "-n", "shop").out).To(ContainSubstring(row.says))
	}
}

func TestDoctorGoesOnAfterErrors(t *testing.T) {
	for kind, says := range map[string]string{
		"Lease": "✖ leader         can't be read: Internal error occurred: disk full", "ChangeFreeze": "✖ objects        can't be read: Internal error", "ChangeWorkload": "✖ suspended      can't be read: ",
	} {
		b := newBenchWith(t, breaks(kind), installation(t)...)
		answer := b.run("doctor")
		NewWithT(t).Expect(answer.out).To(ContainSubstring(says), kind)
		NewWithT(t).Expect(answer.code).To(Equal(command.Findings))
	}
	funcs := stampsTrials()
	funcs.List = func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if kind := list.GetObjectKind().GroupVersionKind().Kind; kind == "ChangeFreezeList" || strings.Contains(fmt.Sprintf("%T", list), "ChangeWorkloadList") {
			return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "g", Kind: kind}}
		}
		return kube.List(ctx, list, options...)
	}
	NewWithT(t).Expect(newBenchWith(t, funcs, installation(t)...).run("doctor").out).To(ContainSubstring("○ suspended      not examined: the cluster doesn't have the kind\n"))
}

func TestDoctorOfAnObjectThatItCanNotDecode(t *testing.T) {
	funcs := stampsTrials()
	funcs.List = func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if list, is := list.(*unstructured.UnstructuredList); is && list.GetKind() == "ChangeFreezeList" {
			list.Items = []unstructured.Unstructured{{Object: map[string]any{"metadata": map[string]any{"name": "odd"}, "status": "x"}}}
			return nil
		}
		return kube.List(ctx, list, options...)
	}
	NewWithT(t).Expect(newBenchWith(t, funcs, installation(t)...).run("doctor").out).To(ContainSubstring("✖ objects        can't be read: reading ChangeFreeze odd: "))
}

func TestDoctorWithoutTheVersionOfTheServerIsAnError(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	b.ask = func(string) (command.Answer, error) { return command.Answer{}, errors.New("connection refused") }
	g.Expect(b.run("doctor").err).To(Equal("error: reading the version of the API server: connection refused\n"))
	b.ask = func(string) (command.Answer, error) { return command.Answer{Body: []byte("x")}, nil }
	g.Expect(b.run("doctor").code).To(Equal(command.Failed))
}

func TestDoctorShowsWhyATrialFails(t *testing.T) {
	funcs := interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
		if allows(object) {
			return nil
		}
		return apierrors.NewInternalError(errors.New(`failed calling webhook "mdeployment.kb.io"`))
	}}
	answer := newBenchWith(t, funcs, installation(t)...).run("doctor")
	NewWithT(t).Expect(answer.out).To(ContainSubstring(`✖ trial release  a dry run of a new Deployment in namespace shop failed: Internal error occurred: failed calling webhook "mdeployment.kb.io"`))
	NewWithT(t).Expect(answer.code).To(Equal(command.Findings))
}

func TestAskReadsThePathsOfAServer(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/denied":
			answer.WriteHeader(http.StatusForbidden)
			g.Expect(json.NewEncoder(answer).Encode(metav1.Status{Code: 403, Message: `pods "x" is forbidden: User "bob" cannot get resource`})).To(Succeed())
		case "/gone":
			answer.WriteHeader(http.StatusBadGateway)
		case "/undated":
			answer.Header()["Date"] = nil
		case "/cut":
			answer.Header().Set("Content-Length", "9")
		default:
			answer.Header().Set("Date", "Sun, 22 Nov 2026 16:41:52 GMT")
			_, _ = answer.Write([]byte(request.URL.RequestURI()))
		}
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	read, err := command.Ask(t.Context(), config, "/version?x=1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read).To(Equal(command.Answer{Body: []byte("/version?x=1"), Date: now}))
	undated, err := command.Ask(t.Context(), config, "/undated")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(undated.Date.IsZero()).To(BeTrue())
	_, err = command.Ask(t.Context(), config, "/denied")
	g.Expect(apierrors.IsForbidden(err) || err.Error() != "").To(BeTrue())
	g.Expect(err).To(MatchError(ContainSubstring(`User "bob" cannot get resource`)))
	_, err = command.Ask(t.Context(), config, "/gone")
	g.Expect(err).To(MatchError("502 Bad Gateway"))
	_, err = command.Ask(t.Context(), config, "/cut")
	g.Expect(err).To(MatchError(ContainSubstring("reading the answer of the API server")))
	for _, broken := range []*rest.Config{{Host: "http://127.0.0.1:1"}, {Host: "http://[", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, {Host: "x", TLSClientConfig: rest.TLSClientConfig{CAFile: "/nonexistent"}}} {
		_, err = command.Ask(t.Context(), broken, "/version")
		g.Expect(err).To(MatchError(ContainSubstring("connecting to")))
	}
	_, err = command.Ask(nil, config, "/version") //nolint:staticcheck // a request can't be made without a context
	g.Expect(err).To(HaveOccurred())
}
