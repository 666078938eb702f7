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
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

// reported returns the objects of a cluster, with secrets where a report may meet them.
func reported(t *testing.T) []client.Object {
	t.Helper()
	live := web(7, "49")
	live.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TOKEN", Value: "s3cret"}}
	live.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = `{"env":"s3cret"}`
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "manager-1", Labels: map[string]string{"app.kubernetes.io/name": "altershield-operator"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "manager", Env: []corev1.EnvVar{{Name: "X", Value: "s3cret"}}}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "manager", RestartCount: 1}}
	source := &appv1alpha1.VerificationSource{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "prom"}, Spec: appv1alpha1.VerificationSourceSpec{URL: "https://u:s3cret@prom"}}
	source.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "Unreachable", Message: `GET https://u:s3cret@prom: password="s3cret"`}}
	chat := &appv1alpha1.ChangeSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "chat"}}
	return append(installation(t), live, failed(7, "49"), pod, branch(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "x"}, StringData: map[string]string{"x": "s3cret"}},
		source, chat,
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e1"}, Reason: "ReleaseSuspended", Source: corev1.EventSource{Component: "altershield-operator"}},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e2"}, Reason: "Pulled", Message: "s3cret", Source: corev1.EventSource{Component: "kubelet"}},
	)
}

// logs answers the version, and the logs of the operator.
func logs(path string) (command.Answer, error) {
	switch {
	case path == "/version":
		return command.Answer{Body: []byte(`{"gitVersion":"v1.36.1"}`), Date: now}, nil
	case strings.Contains(path, "previous=true"):
		return command.Answer{}, errors.New("previous terminated container not found")
	}
	return command.Answer{Body: []byte("asked " + path + "\nAuthorization: Bearer s3crets3cret\n")}, nil
}

// unpacked returns the files of a zip file.
func unpacked(g Gomega, packed []byte) map[string]string {
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	g.Expect(err).NotTo(HaveOccurred())
	files := map[string]string{}
	for _, file := range archive.File {
		reader, err := file.Open()
		g.Expect(err).NotTo(HaveOccurred())
		text, err := io.ReadAll(reader)
		g.Expect(err).NotTo(HaveOccurred())
		files[file.Name] = string(text)
	}
	return files
}

func TestReportHasWhatIsNeededAndNoSecret(t *testing.T) {
	g := NewWithT(t)
	b := newBenchWith(t, stampsTrials(), reported(t)...)
	b.ask = logs
	file := filepath.Join(t.TempDir(), "out.zip")
	text := b.run("report", "--logs", "-f", file).expects(g, command.OK)
	g.Expect(text).To(Equal("! missing: logs/manager-1-manager-previous.log: previous terminated container not found\n" +
		"wrote 12 files to " + file + ": look at it before you pass it on\n"))
	packed, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	info, err := os.Stat(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(BeEquivalentTo(0o600))
	files := unpacked(g, packed)
	for name, has := range map[string]string{
		"doctor.txt": "✔ trial release", "doctor.json": `"symptom": "ObjectUnseen"`, "version.json": `"version": "v1.2.0"`, "objects/changeworkloads.json": `"name": "web--x--49`,
		"objects/opsconfiginfoes.json": `"name": "branch"`, "objects/verificationsources.json": `"url": "https://(redacted)@prom"`,
		"workloads/deployments.json": `"altershield.defense.antgroup.com/release": "7"`, "events.json": `"reason": "ReleaseSuspended"`,
		"objects/changesubscriptions.json": `"name": "chat"`,
		"operator/deployments.json":        `"image": "registry/altershield-operator:v1.2.0"`, "operator/pods.json": `"restartCount": 1`,
		"logs/manager-1-manager.log": "asked /api/v1/namespaces/" + system + "/pods/manager-1/log?container=manager&limitBytes=4194304&tailLines=5000&timestamps=true\n",
		"report.json":                `"name": "logs/manager-1-manager-previous.log"`,
	} {
		g.Expect(files).To(HaveKeyWithValue(name, ContainSubstring(has)))
	}
	g.Expect(files).To(HaveLen(13))
	g.Expect(files["doctor.txt"]).To(ContainSubstring(`GET https://(redacted)@prom: password="(redacted)"`))
	var diagnosis struct{ Items []any }
	g.Expect(json.Unmarshal([]byte(files["doctor.json"]), &diagnosis)).To(Succeed(), "it is JSON still")
	for name, text := range files {
		g.Expect(text).NotTo(ContainSubstring("s3cret"), name)
	}
}

func TestReportToTheStandardOutput(t *testing.T) {
	g := NewWithT(t)
	b := newBenchWith(t, stampsTrials(), reported(t)...)
	answer := b.run("report", "-f", "-", "-n", "shop")
	g.Expect(answer.code).To(Equal(command.OK))
	g.Expect(answer.err).To(ContainSubstring("wrote 11 files to -: "))
	g.Expect(unpacked(g, []byte(answer.out))).To(HaveKeyWithValue("report.json", ContainSubstring(`"namespace": "shop"`)))
	b.width, b.height = 80, 24
	g.Expect(b.run("report", "-f", "-").code).To(Equal(command.Usage))
	b.width, b.out = 0, broken{}
	g.Expect(b.run("report", "-f", "-").err).To(ContainSubstring("writing the report: broken pipe"))
}

func TestReportHasANameOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	b := newBenchWith(t, stampsTrials(), installation(t)...)
	g.Expect(b.run("report", "-o", "name").expects(g, command.OK)).To(Equal("altershield-report-20261122-164152.zip\n"))
	g.Expect(b.run("report", "-f", "/nonexistent/x.zip").err).To(ContainSubstring("writing the report: open /nonexistent/x.zip"))
	b.ask = func(string) (command.Answer, error) { return command.Answer{}, errors.New("connection refused") }
	g.Expect(b.run("report").code).To(Equal(command.Failed))
}

func TestReportWithoutRightsListsWhatIsMissing(t *testing.T) {
	g := NewWithT(t)
	funcs := stampsTrials()
	funcs.List = func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return forbidden("list", "g", "x")
	}
	file := filepath.Join(t.TempDir(), "out.zip")
	text := newBenchWith(t, funcs, installation(t)...).run("report", "-f", file).expects(g, command.OK)
	g.Expect(text).To(And(ContainSubstring("! missing: objects/changefreezes.json: you may not list changefreezes.app.ops.cloud.alipay.com\n"),
		ContainSubstring("! missing: events.json: you may not list events\n"), ContainSubstring("! missing: operator/pods.json: you may not list pods\n"),
		ContainSubstring("! missing: workloads/deployments.json: you may not list deployments.apps\n"), ContainSubstring("wrote 3 files")))
}

func TestReportListsWhatIsMissingInTheNamespaceOfTheOperator(t *testing.T) {
	g := NewWithT(t)
	funcs := stampsTrials()
	funcs.List = func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		var asked client.ListOptions
		if asked.ApplyOptions(options); asked.Namespace == system {
			return forbidden("list", "g", "x")
		}
		return kube.List(ctx, list, options...)
	}
	text := newBenchWith(t, funcs, reported(t)...).run("report", "-n", "shop", "-f", filepath.Join(t.TempDir(), "out.zip")).expects(g, command.OK)
	g.Expect(text).To(And(
		ContainSubstring("! missing: objects/opsconfiginfoes.json: you may not list opsconfiginfoes.app.ops.cloud.alipay.com in namespace "+system+"\n"),
		ContainSubstring("! missing: workloads/deployments.json: you may not list deployments.apps in namespace "+system+"\n"),
		ContainSubstring("! missing: events.json: you may not list events in namespace "+system+"\n")))
	g.Expect(text).NotTo(ContainSubstring("controlledkinds"))
}

func TestReportIsCut(t *testing.T) {
	g := NewWithT(t)
	funcs := stampsTrials()
	pages := 0
	funcs.List = func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		objects, is := list.(*unstructured.UnstructuredList)
		switch {
		case is && objects.GetKind() == "ChangePodList": // without an end
			pages++
			objects.Items = nil
			for i := range 500 {
				objects.Items = append(objects.Items, unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": fmt.Sprint(pages, "-", i)}}})
			}
			objects.SetContinue("next")
			return nil
		case is && objects.GetKind() == "ChangeRecordList":
			objects.Items = nil
			for range 60 {
				objects.Items = append(objects.Items, unstructured.Unstructured{Object: map[string]any{"spec": strings.Repeat("x", 100_000)}})
			}
			return nil
		}
		return kube.List(ctx, list, options...)
	}
	b := newBenchWith(t, funcs, installation(t)...)
	file := filepath.Join(t.TempDir(), "out.zip")
	g.Expect(b.run("report", "-f", file).expects(g, command.OK)).To(And(ContainSubstring("! cut: objects/changepods.json\n"), ContainSubstring("! cut: objects/changerecords.json\n")))
	g.Expect(pages).To(Equal(2))
	packed, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var cut struct{ Items []any }
	text := unpacked(g, packed)["objects/changerecords.json"]
	g.Expect(len(text)).To(BeNumerically("<=", 4<<20))
	g.Expect(json.Unmarshal([]byte(text), &cut)).To(Succeed(), "it is JSON still")
	g.Expect(len(cut.Items)).To(BeNumerically(">", 20))
}

func TestReportHasAFileForEachOfTwoKindsOfTheSameName(t *testing.T) {
	g := NewWithT(t)
	labels := map[string]string{"admission-webhook-altershield.antgroup.com/version": version("49")}
	native := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "native", Labels: labels}}
	kruise := set("db")
	kruise.Spec.WorkloadRef.APIVersion = "apps.kruise.io/v1beta2"
	file := filepath.Join(t.TempDir(), "out.zip")
	funcs := stampsTrials()
	funcs.List = func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if objects, is := list.(*metav1.PartialObjectMetadataList); is && objects.GroupVersionKind().Group == "apps.kruise.io" {
			objects.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "kruise", Labels: labels}}}
			return nil
		}
		return kube.List(ctx, list, options...)
	}
	b := newBenchWith(t, funcs, append(installation(t), kruise, native)...)
	b.run("report", "-f", file)
	packed, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	files := unpacked(g, packed)
	g.Expect(files).To(HaveKeyWithValue("workloads/statefulsets.json", ContainSubstring(`"name": "native"`)))
	g.Expect(files).To(HaveKeyWithValue("workloads/statefulsets.v1beta2.apps.kruise.io.json", ContainSubstring(`"name": "kruise"`)))
}

func TestReportNamesAKindByItsResource(t *testing.T) {
	g := NewWithT(t)
	proxy := set("edge")
	proxy.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "proxies.edge"}
	proxy.Spec.WorkloadRef.APIVersion, proxy.Spec.WorkloadRef.Kind = "net.example.com/v1", "Proxy"
	funcs := stampsTrials()
	funcs.List = func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if objects, is := list.(*metav1.PartialObjectMetadataList); is && objects.GroupVersionKind().Group == "net.example.com" {
			return forbidden("list", "net.example.com", "proxies")
		}
		return kube.List(ctx, list, options...)
	}
	b := newBenchWith(t, funcs, append(installation(t), proxy)...)
	g.Expect(b.run("report", "-f", filepath.Join(t.TempDir(), "out.zip")).expects(g, command.OK)).
		To(ContainSubstring("! missing: workloads/proxies.json: you may not list proxies.net.example.com\n"))
}
