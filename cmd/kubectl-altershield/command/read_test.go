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
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func split(line string) []string { return strings.Fields(line) }

func TestListFormats(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, failed(7, "49"), verified(5, "a1"), set("db"))
	text := b.run("list").expects(g, command.OK)
	g.Expect(text).To(MatchRegexp(`KIND +NAME +REL +STATUS`))
	g.Expect(text).To(MatchRegexp(`Deployment +web +7 +✖ Suspend +1✔ 1✖ of 4 +60s +alice +because of it`))
	g.Expect(text).To(HaveSuffix("1 Suspend · 1 Running\n"))

	var list view.ReleaseList
	g.Expect(json.Unmarshal([]byte(b.run("list", "-o", "json").expects(g, command.OK)), &list)).To(Succeed())
	g.Expect(list.Kind).To(Equal("ReleaseList"))
	g.Expect(list.APIVersion).To(Equal("cli.altershield/v1"))
	g.Expect(list.Items).To(HaveLen(2))
	g.Expect(b.run("list", "-o", "yaml").expects(g, command.OK)).To(ContainSubstring("kind: ReleaseList\n"))
	g.Expect(b.run("list", "--suspended", "-o", "name").expects(g, command.OK)).To(Equal("changeworkload.app.ops.cloud.alipay.com/web--x--" + version("49") + "\n"))
	g.Expect(b.run("list", "-A", "-o", "wide").expects(g, command.OK)).To(ContainSubstring("VERSION"))
	g.Expect(b.run("list", "-n", "pay").expects(g, command.OK)).To(Equal("no releases under change control were found in namespace pay\n"))
	g.Expect(b.run("list", "db").expects(g, command.OK)).NotTo(ContainSubstring("web"))
	g.Expect(b.run("list", "--context=other", "shop/db").expects(g, command.OK)).To(And(ContainSubstring("db"), Not(ContainSubstring("web"))))
	g.Expect(b.run("list", "--context=other", "shop/statefulset/db").expects(g, command.OK)).To(ContainSubstring("db"))
	g.Expect(b.run("list", "shop/none").expects(g, command.OK)).To(Equal("no releases of that name or with these labels were found in namespace shop\n"))
	g.Expect(b.run("list", "--since=30m", "-o", "name").expects(g, command.OK)).To(BeEmpty())
	g.Expect(b.run("list", "-l", "app.kubernetes.io/deployment-name=web", "-o", "name").expects(g, command.OK)).NotTo(ContainSubstring("db"))
}

func TestANoteHasTheResourceOfADeclaredKind(t *testing.T) {
	created := set("web")
	created.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "proxies.web"}
	created.Spec.WorkloadRef.Kind, created.Spec.WorkloadRef.APIVersion = "Proxy", "mesh.example.com/v1"
	text := newBenchWith(t, refuses("Proxy"), created).run("status", "web").expects(NewWithT(t), command.OK)
	NewWithT(t).Expect(text).To(HavePrefix("! you may not get proxies in namespace shop: the workload's own state is not shown"))
}

func TestFlagsReachTheClient(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	b.run("list", "--context=other", "--as=bob", "--as-group=devs", "--request-timeout=3s")
	g.Expect(b.config.Impersonate.UserName).To(Equal("bob"))
	g.Expect(b.config.Impersonate.Groups).To(Equal([]string{"devs"}))
	g.Expect(b.config.Timeout).To(Equal(3 * time.Second))
	g.Expect(b.config.UserAgent).To(Equal("kubectl-altershield/v1.2.3"))
	answer := b.run("list", "--context=absent")
	g.Expect(answer.code).To(Equal(command.Failed))
	g.Expect(answer.err).To(ContainSubstring(`context "absent" does not exist`))
}

func TestLanguageAndColours(t *testing.T) {
	b := newBench(t, failed(7, "49"))
	b.width, b.height = 100, 24
	for _, row := range []struct {
		name           string
		env            map[string]string
		args           []string
		has, hasNot    string
		colour, isWide bool
	}{
		{"a terminal", map[string]string{"LANG": "en_US.UTF-8"}, nil, "✖ Suspend", "", true, false},
		{"without colours", map[string]string{"LANG": "en_US.UTF-8", "NO_COLOR": "1"}, nil, "✖ Suspend", "", false, false},
		{"a dumb one", map[string]string{"LANG": "en_US.UTF-8", "TERM": "dumb"}, nil, "✖ Suspend", "", false, false},
		{"never", nil, []string{"--color=never"}, "x Suspend", "✖", false, false},
		{"an old locale", map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8"}, nil, "x Suspend", "✖", true, false},
		{"Chinese by the locale", map[string]string{"LANG": "zh_CN.UTF-8"}, nil, "共 4", "", true, false},
		{"Chinese by the variable", map[string]string{"LANG": "C.UTF-8", "ALTERSHIELD_LANG": "zh"}, nil, "共 4", "", true, false},
		{"English by the flag", map[string]string{"LANG": "zh_CN.UTF-8"}, []string{"--lang=en"}, "of 4", "共", true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b.env = row.env
			text := b.run(append([]string{"list"}, row.args...)...).expects(g, command.OK)
			g.Expect(text).To(ContainSubstring(row.has))
			if row.hasNot != "" {
				g.Expect(text).NotTo(ContainSubstring(row.hasNot))
			}
			g.Expect(strings.Contains(text, "\x1b[")).To(Equal(row.colour))
		})
	}
	t.Run("a pipe", func(t *testing.T) {
		b.width, b.env = 0, map[string]string{"LANG": "C.UTF-8"}
		NewWithT(t).Expect(b.run("list").out).NotTo(ContainSubstring("\x1b"))
		NewWithT(t).Expect(b.run("list", "--color=always").out).To(ContainSubstring("\x1b[31m"))
	})
}

func TestMissingRightsAreASentence(t *testing.T) {
	for line, kind := range map[string]string{
		"list": "ChangeWorkload", "status web": "ChangeWorkload", "wait web": "ChangeWorkload", "why web": "ChangeWorkload", "history web": "ChangeWorkload",
		"diff web": "ChangeWorkload", "events web": "ChangeWorkload",
	} {
		g := NewWithT(t)
		answer := newBenchWith(t, refuses(kind), failed(7, "49"), web(7, "49")).run(split(line)...)
		g.Expect(answer.code).To(Equal(command.Failed), line)
		g.Expect(answer.err).To(Equal("error: you (bob) may not list changeworkloads.g in namespace shop: "+
			"ask an administrator for this right, or name another namespace with -n\n"), line)
	}
}

func TestListOfAnotherNamespaceNeedsNoRightInThatOfTheContext(t *testing.T) {
	g := NewWithT(t)
	b := newBenchWith(t, interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if within := new(client.ListOptions).ApplyOptions(options); within.Namespace != "shop" {
			return forbidden("list", "g", "changeworkloads")
		}
		return kube.List(ctx, list, options...)
	}}, failed(7, "49"))
	g.Expect(b.run("list", "--context=other", "shop/web").expects(g, command.OK)).To(ContainSubstring("web"))
	g.Expect(b.run("list", "--context=other", "pay/web").err).To(ContainSubstring("you (bob) may not list changeworkloads.g"))
}

func TestPartialRightsGiveAPartialViewWithNotes(t *testing.T) {
	g := NewWithT(t)
	release := failed(7, "49")
	objects := []client.Object{release, batch(release), web(7, "49", suspendedLabel), kept(5, "a1", "web:1.8")}
	for kind, note := range map[string]string{
		"Deployment":         "! you may not get deployments in namespace shop: the workload's own state is not shown",
		"ChangePod":          "! you may not list changepods in namespace shop: batches are not shown",
		"ControllerRevision": "! you may not list controllerrevisions.apps in namespace shop: which contents are kept is not shown",
	} {
		text := newBenchWith(t, refuses(kind), objects...).run("status", "web").expects(g, command.OK)
		g.Expect(text).To(HavePrefix(note), kind)
		g.Expect(text).To(ContainSubstring("✖ Suspend for 60s"))
	}
	b := newBenchWith(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return forbidden("create", "authorization.k8s.io", "selfsubjectaccessreviews")
	}}, objects...)
	g.Expect(b.run("why", "web").expects(g, command.OK)).To(HavePrefix("! you may not create selfsubjectaccessreviews in all namespaces: what you may do is not shown"))
	answer := newBenchWith(t, refuses("Event"), objects...).run("events", "web")
	g.Expect(answer.err).To(ContainSubstring("you (bob) may not list events.g in namespace shop"))
}

func TestAClusterWithoutTheOperatorIsASentence(t *testing.T) {
	g := NewWithT(t)
	b := newBenchWith(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "app.ops.cloud.alipay.com", Kind: "ChangeWorkload"}}
	}})
	answer := b.run("list")
	g.Expect(answer.code).To(Equal(command.Failed))
	g.Expect(answer.err).To(ContainSubstring("this cluster doesn't have the kind: is AlterShield Operator installed?"))
}

// newSilent returns a bench whose API server takes requests, which it notes, and doesn't answer.
func newSilent(t *testing.T, asked func()) *bench {
	t.Helper()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		asked()
		select {
		case <-release:
		case <-request.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	b := newBench(t)
	b.connect = func(config *rest.Config) (client.WithWatch, error) {
		config.Host = server.URL
		return command.Connect(config)
	}
	return b
}

func TestAnAPIServerThatDoesNotAnswerEndsWithTheTimeout(t *testing.T) {
	for _, verb := range []string{"list", "dashboard"} {
		g := NewWithT(t)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		answer := newSilent(t, func() {}).runIn(ctx, verb, "--request-timeout=50ms")
		g.Expect(answer.code).To(Equal(command.Timeout), answer.err)
		g.Expect(answer.err).To(ContainSubstring("the API server didn't answer in time; --request-timeout sets how long to wait"))
		g.Expect(ctx.Err()).NotTo(HaveOccurred())
	}
}

func TestAnInterruptEndsACommandWhileTheAPIServerIsSilent(t *testing.T) {
	for _, verb := range []string{"list", "dashboard"} {
		g := NewWithT(t)
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		g.Expect(newSilent(t, cancel).runIn(ctx, verb, "--request-timeout=20s").code).To(Equal(command.Interrupted))
		g.Expect(time.Since(begun)).To(BeNumerically("<", 15*time.Second))
	}
}

func TestRejectedCredentialsAreASentence(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) { answer.WriteHeader(http.StatusUnauthorized) }))
	defer server.Close()
	b := newBench(t)
	b.connect = func(config *rest.Config) (client.WithWatch, error) {
		config.Host = server.URL
		return command.Connect(config)
	}
	answer := b.run("list")
	g.Expect(answer.code).To(Equal(command.Failed))
	g.Expect(answer.err).To(ContainSubstring("log in again"))
}

func TestANameMayBeThatOfAWorkloadWithoutARecord(t *testing.T) {
	unstamped := func(deployment *appsv1.Deployment) { deployment.Labels = nil }
	part := func(deployment *appsv1.Deployment) {
		deployment.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "App", Name: "web", UID: "a", Controller: ptr.To(true)}}
	}
	stateful := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: web(1, "d1").Labels}}
	const both = "error: web may be deployment/web or statefulset/web: name the kind as well\n"
	for name, row := range map[string]struct {
		funcs    interceptor.Funcs
		objects  []client.Object
		argument string
		says     string
	}{
		"stamped":               {interceptor.Funcs{}, []client.Object{web(1, "a1"), stateful, set("web")}, "web", both},
		"both without a record": {interceptor.Funcs{}, []client.Object{web(1, "a1"), stateful}, "web", both},
		"the kind is named":     {interceptor.Funcs{}, []client.Object{web(1, "a1"), stateful, set("web")}, "sts/web", ""},
		"not stamped":           {interceptor.Funcs{}, []client.Object{web(1, "a1", unstamped), stateful, set("web")}, "web", ""},
		"a part of another one": {interceptor.Funcs{}, []client.Object{web(1, "a1", part), stateful, set("web")}, "web", ""},
		"not readable":          {refuses("Deployment"), []client.Object{web(1, "a1"), stateful, set("web")}, "web", ""},
		"broken":                {breaks("Deployment"), []client.Object{stateful, set("web")}, "web", "error: reading deployment/web in namespace shop: Internal error occurred: disk full\n"},
	} {
		answer := newBenchWith(t, row.funcs, row.objects...).run("status", row.argument)
		NewWithT(t).Expect(answer.err).To(Equal(row.says), name)
		if row.says == "" {
			NewWithT(t).Expect(answer.out).To(ContainSubstring("StatefulSet web"), name)
		}
	}
}

func TestWorkloadsAreFoundByTheirNames(t *testing.T) {
	declared := set("ring")
	declared.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "clonesets.ring"}
	declared.Spec.WorkloadRef.Kind, declared.Spec.WorkloadRef.APIVersion = "CloneSet", "apps.kruise.io/v1alpha1"
	api, declaredAPI := verified(3, "33"), set("api")
	api.Name, api.Labels, api.Spec.AppName = "api--x--"+version("33"), map[string]string{"app.kubernetes.io/deployment-name": "api"}, "api"
	api.Spec.WorkloadRef.Name = "api"
	declaredAPI.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "clonesets.api"}
	declaredAPI.Spec.WorkloadRef.Kind, declaredAPI.Spec.WorkloadRef.APIVersion = "CloneSet", "apps.kruise.io/v1alpha1"
	kruise := set("db2")
	kruise.Name, kruise.Spec.WorkloadRef.APIVersion = "statefulsets.db2--x--e1", "apps.kruise.io/v1beta1"
	ours := set("web")
	ours.Name, ours.Labels = "deployments.web--x--e1", map[string]string{"altershield.defense.antgroup.com/workload": "deployments.web"}
	ours.Spec.WorkloadRef.Kind, ours.Spec.WorkloadRef.APIVersion = "Deployment", "example.com/v1"
	edge := ours.DeepCopy()
	edge.Name, edge.Labels = "deployments.edge--x--e1", map[string]string{"altershield.defense.antgroup.com/workload": "deployments.edge"}
	edge.Spec.AppName, edge.Spec.WorkloadRef.Name = "edge", "edge"
	b := newBenchWith(t, interceptor.Funcs{Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		if kind := object.GetObjectKind().GroupVersionKind(); kind.Kind == "CloneSet" || kind.Group == "example.com" {
			return forbidden("get", kind.Group, strings.ToLower(kind.Kind)+"s")
		}
		return kube.Get(ctx, key, object, options...)
	}}, verified(7, "49"), web(7, "49"), set("web"), set("db"), declared, set("db2"), kruise, api, declaredAPI, ours, edge,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "pay"}})
	for _, row := range []struct {
		argument string
		code     command.Code
		says     string
	}{
		{"deployment/web", 0, "Deployment web"}, {"deploy/web", 0, "Deployment web"}, {"sts/web", 0, "StatefulSet web"}, {"db", 0, "StatefulSet db"},
		{"shop/db", 0, "StatefulSet db"}, {"shop/sts/db", 0, "StatefulSet db"}, {"ring", 0, "CloneSet ring"}, {"cloneset/ring", 0, "CloneSet ring"},
		{"clonesets.apps.kruise.io/ring", 0, "CloneSet ring"},
		{"web", 2, "web may be deployment.apps/web or deployment.example.com/web or statefulset.apps/web: name the kind as well"},
		{"deployment.example.com/web", 0, "shop/web  ◌ Running"}, {"deployments.v1.example.com/web", 0, "shop/web  ◌ Running"}, {"deployment.apps/web", 0, "Deployment web"},
		{"api", 2, "api may be cloneset.apps.kruise.io/api or deployment/api: name the kind as well"},
		{"sts/db2", 2, "sts/db2 may be statefulset.apps.kruise.io/db2 or statefulset.apps/db2: name the kind as well"},
		{"statefulset.apps/db2", 0, "StatefulSet db2"}, {"statefulset.apps.kruise.io/db2", 0, "StatefulSet db2"},
		{"absent", 1, "there is no workload absent in namespace shop, or none under change control: kubectl altershield list -n shop --all shows those that are"},
		{"pay/absent", 1, "there is no workload absent in namespace pay, or none under change control: kubectl altershield list -n pay --all shows those that are"},
		{"cloneset/absent", 1, "there is no workload cloneset/absent in namespace shop, or none under change control: kubectl altershield list -n shop --all shows those that are"},
		{"deployment/edge", 0, "shop/edge  ◌ Running"}, {"deploy/edge", 0, "shop/edge  ◌ Running"}, {"deployment.apps/edge", 1, "there is no workload deployment.apps/edge in namespace shop"},
	} {
		answer := b.run("status", row.argument)
		NewWithT(t).Expect(answer.code).To(Equal(row.code), row.argument+answer.err)
		NewWithT(t).Expect(answer.out+answer.err).To(ContainSubstring(row.says), row.argument)
	}
}

func TestStatusOfAWorkloadWhoseKindHasANewVersionOfItsAPI(t *testing.T) {
	g := NewWithT(t)
	before, present := set("ring"), set("ring")
	before.Labels, present.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "clonesets.ring"}, map[string]string{"altershield.defense.antgroup.com/workload": "clonesets.ring"}
	before.Spec.WorkloadRef.Kind, before.Spec.WorkloadRef.APIVersion = "CloneSet", "apps.kruise.io/v1alpha1"
	present.Spec.WorkloadRef.Kind, present.Spec.WorkloadRef.APIVersion = "CloneSet", "apps.kruise.io/v1"
	present.Name, present.Spec.Release = "clonesets.ring--x--e1", 2
	var read []string
	b := newBenchWith(t, interceptor.Funcs{Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		if kind := object.GetObjectKind().GroupVersionKind(); kind.Kind == "CloneSet" {
			read = append(read, kind.Version)
		}
		return kube.Get(ctx, key, object, options...)
	}}, before, present)
	g.Expect(b.run("status", "cloneset/ring").expects(g, command.OK)).To(And(ContainSubstring("release 2"), ContainSubstring("release 1")))
	g.Expect(read).To(HaveEach("v1"))
}

func TestStatusOfAWorkloadBeforeItsFirstRecord(t *testing.T) {
	g := NewWithT(t)
	g.Expect(newBench(t, web(1, "49")).run("status", "web").expects(g, command.OK)).To(ContainSubstring("no release is recorded yet"))
}

func TestStatusReadsNoBatchesWhereThereAreTooMany(t *testing.T) {
	g := NewWithT(t)
	many := failed(7, "49")
	many.Status.LastChangePod = 201
	text := newBenchWith(t, refuses("ChangePod"), many, web(7, "49")).run("status", "web").expects(g, command.OK)
	g.Expect(text).To(ContainSubstring("1 failed"), "the counts are those of the release")
}

func TestStatusLeavesOutRecordsOfADeletedWorkload(t *testing.T) {
	g := NewWithT(t)
	gone := verified(9, "99")
	gone.Spec.WorkloadRef.UID = "gone"
	g.Expect(newBench(t, gone, verified(7, "49"), web(7, "49")).run("history", "web").expects(g, command.OK)).NotTo(ContainSubstring("9900000"))
}

func TestStatusFollows(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, record(7, "49", "Running", "Unknown", "Verifying"), web(7, "49"))
	b.tick(func(second int) {
		if second == 3 {
			g.Expect(b.kube.Update(context.Background(), newer(b, verified(7, "49")))).To(Succeed())
		}
	})
	text := b.run("status", "web", "-w", "--until=done").expects(g, command.OK)
	g.Expect(strings.Count(text, "◌ Running for")).To(BeNumerically(">=", 1))
	g.Expect(text).To(ContainSubstring("✔ Success for"))
	g.Expect(text).NotTo(ContainSubstring("\x1b"), "it is no terminal")
}

// newer gives an object the version of the stored one.
func newer[T client.Object](b *bench, object T) T {
	stored := object.DeepCopyObject().(T)
	if err := b.kube.Get(context.Background(), client.ObjectKeyFromObject(object), stored); err != nil {
		b.t.Error(err)
	}
	object.SetResourceVersion(stored.GetResourceVersion())
	return object
}

func TestStatusFollowsInPlaceAndRestoresTheTerminal(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, record(7, "49", "Running", "Unknown", "Verifying"), web(7, "49"))
	b.width, b.height = 80, 24
	ctx, cancel := context.WithCancel(t.Context())
	b.tick(func(second int) {
		if second == 4 {
			cancel()
		}
	})
	answer := b.runIn(ctx, "status", "web", "-w", "--color=never")
	g.Expect(answer.code).To(Equal(command.Interrupted))
	g.Expect(answer.err).To(BeEmpty())
	g.Expect(answer.out).To(HavePrefix("\x1b[?1049h\x1b[?25l\x1b[H"))
	head, tail, found := strings.Cut(answer.out, "\x1b[?25h\x1b[?1049l")
	g.Expect(found).To(BeTrue(), "the cursor and the screen are restored")
	g.Expect(head).To(ContainSubstring("\x1b[K\r\n"))
	g.Expect(tail).To(ContainSubstring("shop/web"), "what was shown last stays")
}

func TestHistoryDiffAndEvents(t *testing.T) {
	g := NewWithT(t)
	event := func(name, kind, object, reason string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, InvolvedObject: corev1.ObjectReference{Kind: kind, Name: object}, Reason: reason, Type: "Normal",
			LastTimestamp: metav1.NewTime(now.Add(-time.Minute)),
		}
	}
	b := newBench(t, failed(7, "49"), verified(5, "a1"), web(7, "49"), kept(5, "a1", "web:1.8"), kept(4, "b1", "web:1.7"),
		event("a", "Deployment", "web", "ReleaseSuspended"), event("b", "ChangeWorkload", "web--x--"+version("49"), "BatchNotChecked"),
		event("c", "ChangeWorkload", "other", "Foreign"), event("d", "Deployment", "other", "Foreign"))
	history := b.run("history", "web").expects(g, command.OK)
	g.Expect(history).To(MatchRegexp(`(?m)^7 +4900000 +✖ Suspend`))
	g.Expect(history).To(MatchRegexp(`(?m)^5 \* +a100000 +✔ Success`))
	g.Expect(b.run("history", "web", "-o", "name").expects(g, command.OK)).To(HavePrefix("changeworkload."))

	g.Expect(b.run("diff", "web").expects(g, command.OK)).To(Equal("release 5 a100000 → release 7 4900000\n  spec.containers[web].image: web:1.8 -> web:1.9\n"))
	g.Expect(b.run("diff", "web", "4..5").expects(g, command.OK)).To(ContainSubstring("web:1.7 -> web:1.8"))
	g.Expect(b.run("diff", "web", "4").expects(g, command.OK)).To(ContainSubstring("web:1.7 -> web:1.9"))
	g.Expect(b.run("diff", "web", "6..7").expects(g, command.OK)).To(ContainSubstring("web:1.8 -> web:1.9"), "from the record")
	answer := b.run("diff", "web", "2..5")
	g.Expect(answer.code).To(Equal(command.Failed))
	g.Expect(answer.err).To(ContainSubstring("the content of release 2 of deployment/web isn't kept"))

	events := b.run("events", "web").expects(g, command.OK)
	g.Expect(events).To(And(ContainSubstring("ReleaseSuspended"), ContainSubstring("BatchNotChecked")))
	g.Expect(events).NotTo(ContainSubstring("Foreign"))
}

func TestDiffWithoutAKeptContent(t *testing.T) {
	g := NewWithT(t)
	answer := newBench(t, failed(7, "49"), web(7, "49")).run("diff", "web")
	g.Expect(answer.err).To(ContainSubstring("no content of a release before 7 is kept: kubectl altershield history deployment/web -n shop shows the releases"))
	answer = newBench(t, failed(7, "49")).run("diff", "web")
	g.Expect(answer.err).To(ContainSubstring("deployment/web can't be read"))
	broken := kept(5, "a1", "web:1.8")
	broken.Data.Raw = []byte(`{}`)
	answer = newBench(t, failed(7, "49"), web(7, "49"), broken).run("diff", "web")
	g.Expect(answer.err).To(ContainSubstring("the kept content has no pod template"))
}

func TestVersionAndCompletion(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, failed(7, "49"), set("db"))
	g.Expect(b.run("version").expects(g, command.OK)).To(HavePrefix("kubectl-altershield v1.2.3 (commit abc, go"))
	g.Expect(b.run("version", "-o", "json").expects(g, command.OK)).To(ContainSubstring(`"version": "v1.2.3"`))
	g.Expect(b.run("completion", "kubectl").expects(g, command.OK)).To(Equal("#!/bin/sh\nexec kubectl-altershield __complete \"$@\"\n"))
	for _, shell := range []string{"bash", "zsh", "fish"} {
		g.Expect(b.run("completion", shell).expects(g, command.OK)).To(ContainSubstring("kubectl-altershield"))
	}
	g.Expect(b.run("__complete", "status", "").out).To(And(ContainSubstring("web\n"), ContainSubstring("db\n")))
	g.Expect(b.run("__complete", "status", "web", "").out).NotTo(ContainSubstring("db\n"))
}

func TestANamespaceBeforeTheNameIsReadWithoutRightsInThatOfTheContext(t *testing.T) {
	for argument, says := range map[string]string{
		"pay/web": "Deployment web", "pay/cart": "there is no workload cart in namespace pay, or none under change control: kubectl altershield list -n pay --all shows those that are\n",
		"mine/web": "you (bob) may not list changeworkloads.g in namespace shop",
	} {
		there := func(object client.Object) client.Object { object.SetNamespace("pay"); return object }
		b := newBenchWith(t, interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			var asked client.ListOptions
			if asked.ApplyOptions(options); asked.Namespace != "pay" {
				return forbidden("list", "g", "changeworkloads")
			}
			return kube.List(ctx, list, options...)
		}}, there(verified(7, "49")), there(web(7, "49")), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "pay"}})
		answer := b.run("status", argument)
		NewWithT(t).Expect(answer.out+answer.err).To(ContainSubstring(says), argument)
	}
}

func TestAKindBeforeTheNameNeedsNoRightInANamespaceOfThatName(t *testing.T) {
	g := NewWithT(t)
	ring := set("ring")
	ring.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "clonesets.ring"}
	ring.Spec.WorkloadRef.Kind, ring.Spec.WorkloadRef.APIVersion = "CloneSet", "apps.kruise.io/v1alpha1"
	b := newBenchWith(t, only("shop"), ring)
	g.Expect(b.run("list", "cloneset/ring").expects(g, command.OK)).To(ContainSubstring("CloneSet  ring  1    ◌ Running"))
	answer := b.run("status", "cloneset/absent")
	g.Expect(answer.code).To(Equal(command.Failed))
	g.Expect(answer.err).To(Equal("error: there is no workload cloneset/absent in namespace shop, or none under change control: " +
		"kubectl altershield list -n shop --all shows those that are; you may not list changeworkloads in namespace cloneset\n"))
}

func TestStatusFollowsAWorkloadWithoutChangeControlNotForEver(t *testing.T) {
	uncontrolled := func(deployment *appsv1.Deployment) {
		deployment.Labels, deployment.Annotations, deployment.Generation = nil, nil, 8
	}
	for name, row := range map[string]struct {
		before, then *appv1alpha1.ChangeWorkload
		says         string
	}{
		"none comes":         {nil, nil, "no release is recorded yet"},
		"an observed one":    {nil, observed(failed(8, "bb")), "✖ Suspend for"},
		"the next one of it": {observed(verified(7, "49")), observed(failed(8, "bb")), "✖ Suspend for"},
		"no release of it":   {observed(verified(7, "49")), nil, "✔ Success for"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects := []client.Object{web(0, "49", uncontrolled)}
			if row.before != nil {
				objects = append(objects, row.before)
			}
			b := newBench(t, objects...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.tick(func(second int) {
				if second == 3 && row.then != nil {
					g.Expect(b.kube.Create(context.Background(), row.then)).To(Succeed())
				}
				if second == 30 {
					cancel()
				}
			})
			answer := b.runIn(ctx, "status", "web", "--until=done")
			g.Expect(answer.code).To(Equal(command.OK))
			g.Expect(answer.out).To(ContainSubstring(row.says))
		})
	}
}

func TestEventsOfADeletedWorkloadOfTheSameNameAreLeftOut(t *testing.T) {
	g := NewWithT(t)
	event := func(name, kind, object, uid string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Reason: "Reason-" + name, Type: "Normal", LastTimestamp: metav1.NewTime(now.Add(-time.Minute)),
			InvolvedObject: corev1.ObjectReference{Kind: kind, Name: object, UID: types.UID(uid)},
		}
	}
	of := "web--x--" + version("49")
	b := newBench(t, failed(7, "49"), web(7, "49"), event("mine", "Deployment", "web", "web-uid"), event("unknown", "Deployment", "web", ""),
		event("gone", "Deployment", "web", "gone"), event("record", "ChangeWorkload", of, "uid-49"), event("record-gone", "ChangeWorkload", of, "gone"))
	text := b.run("events", "web").expects(g, command.OK)
	g.Expect(text).To(And(ContainSubstring("Reason-mine "), ContainSubstring("Reason-unknown "), ContainSubstring("Reason-record ")))
	g.Expect(text).NotTo(ContainSubstring("gone"))
}
