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
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

func TestDashboardPrintsItsAddressAndOpensIt(t *testing.T) {
	for _, row := range []struct {
		args, says string
		opens      bool
	}{
		{"dashboard", "the page reads, with your rights; Ctrl-C ends it\nkeep the address to yourself", true},
		{"dashboard --read-only=false", "the page reads and acts, with your rights", true},
		{"dashboard --open=false --lang=zh", "页面只读取，使用您的权限", false},
	} {
		g := NewWithT(t)
		b := newBench(t)
		opened := make(chan string, 1)
		b.browse = func(url string) error { opened <- url; return errors.New("no browser") }
		p := b.page(split(row.args)[1:]...)
		g.Expect(p.said).To(MatchRegexp(`^http://127\.0\.0\.1:\d+/#[A-Za-z0-9_-]{43}\n`))
		g.Expect(p.said).To(ContainSubstring(row.says))
		if row.opens {
			var once string
			g.Eventually(opened).Should(Receive(&once))
			g.Expect(once).To(MatchRegexp(`^http://` + regexp.QuoteMeta(p.address) + `/#once=[A-Za-z0-9_-]{43}$`))
			g.Expect(once).NotTo(ContainSubstring(p.key), "others see it in the list of processes")
			_, text, _ := strings.Cut(once, "once=")
			code, body := p.call("POST", "/api/key", `{"ticket":"`+text+`"}`)
			g.Expect(code).To(Equal(200))
			g.Expect(body).To(Equal(`{"key":"` + p.key + `"}` + "\n"))
		} else {
			g.Consistently(opened, "50ms").ShouldNot(Receive())
		}
		p.stop()
		ended := <-p.ended
		p.ended <- ended
		g.Expect(ended.code).To(Equal(command.Interrupted))
		g.Expect(ended.err).To(BeEmpty())
	}
}

func TestDashboardEndsAfterAnHourWithoutACall(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	p := b.page()
	g.Eventually(b.clock.HasWaiters).Should(BeTrue())
	b.clock.Step(time.Hour)
	ended := <-p.ended
	p.ended <- ended
	g.Expect(ended.code).To(Equal(command.OK))
	g.Expect(ended.err).To(Equal("there was no call for an hour: the page has ended\n"))
}

func TestDashboardThatCanNotBegin(t *testing.T) {
	g := NewWithT(t)
	g.Expect(newBench(t).run("dashboard", "--port=70000").err).To(Equal("error: --port 70000 is no port\n"))
	g.Expect(newBench(t).run("dashboard", "--port=-1").code).To(Equal(command.Usage))

	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	taken := newBench(t).run("dashboard", fmt.Sprintf("--port=%d", listener.Addr().(*net.TCPAddr).Port))
	g.Expect(taken.err).To(HavePrefix("error: listening for the browser: "))

	unreachable := newBenchWith(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return errors.New("connection refused")
	}})
	g.Expect(unreachable.run("dashboard").err).To(Equal("error: asking the API server who you are: connection refused\n"))
	b := newBench(t)
	b.out = broken{}
	g.Expect(b.run("dashboard", "--open=false").err).To(Equal("error: writing the address: broken pipe\n"))
}

func TestTheSessionOfAPage(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	p := b.page("--lang=zh", "--read-only=false")
	g.Expect(p.get(g, "/api/session")).To(MatchRegexp(`^{"cluster":"test","server":"http://127.0.0.1:1","user":"alice","readOnly":false,"version":"v1.2.3","namespace":"shop","language":"zh",` +
		`"context":"test","kubeconfig":"/[^"]+/config","now":"2026-11-22T16:41:52Z"}\n$`))
	g.Expect(b.config.Timeout).To(BeZero(), "it would end each watch")
	g.Expect(newBench(t).page("-A").get(g, "/api/session")).To(ContainSubstring(`"readOnly":true,"version":"v1.2.3","namespace":"","language":"en"`))

	g.Expect(newBench(t).page("--context=other").get(g, "/api/session")).To(ContainSubstring(`"context":"other"`))
	g.Expect(newBench(t).page("--as=bob", "--as-group=dev", "--as-group=ops").get(g, "/api/session")).To(ContainSubstring(`"as":"bob","asGroups":["dev","ops"]`))

	file := filepath.Join(t.TempDir(), "config")
	g.Expect(os.WriteFile(file, []byte(strings.Replace(kubeconfig, "http://", "https://bob:hunter2@", 1)), 0o600)).To(Succeed())
	t.Chdir(filepath.Dir(file))
	given := newBench(t).page("--kubeconfig", "config").get(g, "/api/session")
	g.Expect(given).To(ContainSubstring(`"server":"https://127.0.0.1:1"`))
	g.Expect(given).To(ContainSubstring(`"kubeconfig":"`+file+`"`), "the lines are used in another folder")
	t.Setenv("KUBECONFIG", file)
	g.Expect(newBench(t).page("--kubeconfig=").get(g, "/api/session")).NotTo(ContainSubstring(`"kubeconfig"`))

	nameless := newBenchWith(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return forbidden("create", "authentication.k8s.io", "selfsubjectreviews")
	}})
	g.Expect(nameless.page("--request-timeout=0").get(g, "/api/session")).To(ContainSubstring(`"user":""`))
}

// shopObjects are those of a workload about which there is something to read.
func shopObjects() []client.Object {
	of := failed(7, "49")
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "shop", Name: "e"},
		InvolvedObject: corev1.ObjectReference{Kind: "Deployment", Namespace: "shop", Name: "web"}, Reason: "ReleaseSuspended", Message: "it failed", LastTimestamp: metav1.NewTime(now),
	}
	setting := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "branch"}}
	return []client.Object{
		of, verified(5, "a1"), web(7, "49", suspendedLabel), kept(5, "a1", "web:1.8"), batch(of), event, setting, changeFreeze("shop", "inc-99", time.Hour), set("db"),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
	}
}

const ofWeb = "?namespace=shop&kind=Deployment&name=web"

// pageReads are the calls that read, with the verb that prints the same.
func pageReads() map[string]string {
	return map[string]string{
		"/api/status" + ofWeb: "status web", "/api/history" + ofWeb: "history web", "/api/why" + ofWeb: "why web", "/api/events" + ofWeb: "events web",
		"/api/policies" + ofWeb: "policies web", "/api/diff" + ofWeb: "diff web", "/api/diff" + ofWeb + "&from=5&to=7": "diff web 5..7", "/api/diff" + ofWeb + "&from=5": "diff web 5",
		"/api/freezes?namespace=shop": "freeze list", "/api/freezes": "freeze list -A", "/api/settings": "settings", "/api/doctor": "doctor",
		"/api/releases?namespace=shop": "export --format=json", "/api/releases?from=2026-11-01&to=2026-11-22T10:00:00Z": "export --format=json -A --from=2026-11-01 --to=2026-11-22T10:00:00Z",
	}
}

func TestThePageReadsWhatTheVerbsPrint(t *testing.T) {
	b := newBench(t, shopObjects()...)
	p := b.page()
	for target, line := range pageReads() {
		g := NewWithT(t)
		printed := b.run(append(split(line), "-o", "json")...)
		g.Expect(printed.out).NotTo(BeEmpty(), line+printed.err)
		g.Expect(compact(t, p.get(g, target))).To(Equal(compact(t, printed.out)), target)
	}
}

func TestThePageReadsTheKindOfTheGroupThatItNames(t *testing.T) {
	g := NewWithT(t)
	kruise, edge := set("db"), set("edge")
	kruise.Name, kruise.Spec.WorkloadRef.APIVersion = "statefulsets.db--x--e2", "apps.kruise.io/v1beta1"
	edge.Labels, edge.Spec.AppName = map[string]string{"altershield.defense.antgroup.com/workload": "statefulsets.edge"}, "edge"
	edge.Name, edge.Spec.WorkloadRef.Name, edge.Spec.WorkloadRef.APIVersion = "statefulsets.edge--x--e2", "edge", "apps.kruise.io/v1beta1"
	p := newBench(t, append(shopObjects(), kruise, edge)...).page()
	g.Expect(p.get(g, "/api/history?namespace=shop&name=db&kind=StatefulSet")).To(ContainSubstring(`"workloadAPIVersion":"apps/v1"`))
	g.Expect(p.get(g, "/api/history?namespace=shop&name=db&kind=StatefulSet.apps.kruise.io")).To(ContainSubstring(`"workloadAPIVersion":"apps.kruise.io/v1beta1"`))
	code, body := p.call(http.MethodGet, "/api/history?namespace=shop&name=edge&kind=StatefulSet", "")
	g.Expect(code).To(Equal(404), body)
}

func TestThePageReadsNoSecretsAndNoConfigMaps(t *testing.T) {
	var lock sync.Mutex
	read := map[string]bool{}
	note := func(object runtime.Object) {
		lock.Lock()
		defer lock.Unlock()
		kind := object.GetObjectKind().GroupVersionKind().Kind
		read[kind+fmt.Sprintf(" %T", object)] = true
	}
	b := newBenchWith(t, interceptor.Funcs{
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			note(list)
			return kube.List(ctx, list, options...)
		},
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			note(object)
			return kube.Get(ctx, key, object, options...)
		},
	}, shopObjects()...)
	p := b.page()
	for target := range pageReads() {
		p.get(NewWithT(t), target)
	}
	for _, target := range []string{"/api/may" + ofWeb, "/api/may-lock?namespace=shop", "/api/pods" + ofWeb, "/api/session"} {
		p.get(NewWithT(t), target)
	}
	NewWithT(t).Expect(len(read)).To(BeNumerically(">", 8))
	for what := range read {
		NewWithT(t).Expect(what).NotTo(Or(ContainSubstring("Secret"), ContainSubstring("ConfigMap")))
	}
}

func TestThePageKnowsWhatTheUserMayDo(t *testing.T) {
	g := NewWithT(t)
	answered := newBench(t, shopObjects()...).page().get(g, "/api/may"+ofWeb)
	g.Expect(answered).To(HavePrefix(`{"kind":"ActionList","apiVersion":"cli.altershield/v1","items":[{"verb":"rollback","needs":{"verb":"patch","group":"apps","resource":"deployments",` +
		`"namespace":"shop","name":"web"},"right":"patch deployments.apps","may":true},`))
	g.Expect(answered).To(ContainSubstring(`"right":"patch changepods.app.ops.cloud.alipay.com/status","may":false}`))

	g.Expect(newBench(t, shopObjects()...).page().get(g, "/api/may-lock?namespace=shop")).To(Equal(`{"kind":"ActionList","apiVersion":"cli.altershield/v1","items":[` +
		`{"verb":"freeze-lock","needs":{"verb":"create","group":"app.ops.cloud.alipay.com","resource":"changefreezes","namespace":"shop"},"right":"create changefreezes.app.ops.cloud.alipay.com","may":true},` +
		`{"verb":"freeze-unlock","needs":{"verb":"delete","group":"app.ops.cloud.alipay.com","resource":"changefreezes","namespace":"shop"},"right":"delete changefreezes.app.ops.cloud.alipay.com","may":true}]}` + "\n"))

	unknown := newBenchWith(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return forbidden("create", "authorization.k8s.io", "selfsubjectaccessreviews")
	}}, shopObjects()...).page().get(g, "/api/may"+ofWeb)
	g.Expect(unknown).To(ContainSubstring(`"notes":[{"verb":"create","resource":"selfsubjectaccessreviews","lacks":"reviews"}]`))
	g.Expect(unknown).NotTo(ContainSubstring(`"may"`))
}

// pod returns a pod of a version.
func pod(name, digits string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{
			"admission-webhook-altershield.antgroup.com/version": version(digits), "app": "web", "topology.kubernetes.io/zone": "a",
		}},
		Spec: corev1.PodSpec{NodeName: "node-1"},
	}
}

func TestThePodsOfAPage(t *testing.T) {
	g := NewWithT(t)
	other := pod("api-1", "49")
	other.Labels["app"] = "api"
	leaving := pod("web-3", "49")
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: now}, []string{"a/b"}
	objects := append(shopObjects(), pod("web-1", "49"), pod("web-2", "49"), leaving, pod("web-0", "a1"), other)
	g.Expect(newBench(t, objects...).page().get(g, "/api/pods"+ofWeb)).To(Equal(`{"kind":"PodList","apiVersion":"cli.altershield/v1","release":7,"version":"` + version("49") + `","items":[` +
		`{"name":"web-1","node":"node-1","zone":"a","batch":1,"changePod":"web--x--` + version("49") + `--x--1","state":"failed","reason":"5xx above 1%"},{"name":"web-2","node":"node-1","zone":"a","state":"waiting"}],` +
		`"counts":{"failed":1,"waiting":1}}` + "\n"))
	g.Expect(newBench(t, web(1, "49")).page().get(g, "/api/pods"+ofWeb)).To(Equal(`{"kind":"PodList","apiVersion":"cli.altershield/v1","items":[],"counts":{}}` + "\n"))
}

func TestAPageWithoutARightHasANote(t *testing.T) {
	for target, row := range map[string]struct{ kind, has string }{
		"/api/status" + ofWeb:   {"ControllerRevision", `"notes":[{"verb":"list","resource":"controllerrevisions.apps","namespace":"shop","lacks":"kept"}]`},
		"/api/why" + ofWeb:      {"ChangePod", `"notes":[{"verb":"list","resource":"changepods","namespace":"shop","lacks":"batches"}]`},
		"/api/history" + ofWeb:  {"ChangeRecord", `"lacks":"recorded"`},
		"/api/policies" + ofWeb: {"ChangeFreeze", `"lacks":"policies"`},
		"/api/pods" + ofWeb:     {"Pod", `"lacks":"pods"`},
	} {
		g := NewWithT(t)
		g.Expect(newBenchWith(t, refuses(row.kind), shopObjects()...).page().get(g, target)).To(ContainSubstring(row.has), target)
	}
	for target, kind := range map[string]string{
		"/api/status" + ofWeb: "ChangeWorkload", "/api/freezes": "ChangeFreeze", "/api/settings": "OpsConfigInfo", "/api/releases": "ChangeRecord", "/api/events" + ofWeb: "Event",
		"/api/stream": "ChangeWorkload",
	} {
		g := NewWithT(t)
		code, body := newBenchWith(t, refuses(kind), shopObjects()...).page().call("GET", target, "")
		g.Expect(code).To(Equal(403), target)
		g.Expect(body).To(ContainSubstring(`{"reason":"Forbidden","error":"you (bob) may not list `), target)
	}
}

func TestAnErrorOfAPageIsASentence(t *testing.T) {
	answering := func(err error) interceptor.Funcs {
		return interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err }}
	}
	status := func(code int32, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: message}}
	}
	for name, row := range map[string]struct {
		err        error
		target     string
		code       int
		reason, is string
	}{
		"a wrong time":     {nil, "/api/releases?from=yesterday", 400, "Invalid", `--from \"yesterday\" is neither a day`},
		"wrong releases":   {nil, "/api/diff" + ofWeb + "&from=x", 400, "Invalid", "names no releases"},
		"no such workload": {nil, "/api/status?namespace=shop&kind=Deployment&name=none", 404, "NotFound", "there is no workload deployment.apps/none in namespace shop"},
		"a kind's group":   {nil, "/api/status?namespace=shop&kind=Deployment.example.com&name=web", 404, "NotFound", "there is no workload Deployment.example.com/web in namespace shop"},
		"no group":         {nil, "/api/status?namespace=shop&kind=Deployment.../x&name=web", 400, "Invalid", "is no kind"},
		"no content":       {nil, "/api/diff" + ofWeb + "&from=1&to=2", 422, "Invalid", "isn't kept"},
		"no such kind":     {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "X"}}, "/api/freezes", 404, "NotFound", "is AlterShield Operator installed?"},
		"no login":         {apierrors.NewUnauthorized("expired"), "/api/freezes", 503, "Unavailable", "log in again"},
		"a broken server":  {status(500, "disk full"), "/api/freezes", 503, "Unavailable", "disk full"},
		"too many":         {apierrors.NewTooManyRequests("slow down", 1), "/api/freezes", 503, "Unavailable", "slow down"},
		"no answer":        {context.DeadlineExceeded, "/api/freezes", 503, "Unavailable", "the API server didn't answer in time"},
		"no connection":    {&url.Error{Op: "Get", URL: "https://x", Err: errors.New("connection refused")}, "/api/freezes", 503, "Unavailable", "connection refused"},
		"gone":             {status(404, "gone"), "/api/freezes", 404, "NotFound", "gone"},
	} {
		g := NewWithT(t)
		funcs := interceptor.Funcs{}
		if row.err != nil {
			funcs = answering(row.err)
		}
		if name == "gone" {
			funcs = answering(apierrors.NewNotFound(schema.GroupResource{}, "gone"))
		}
		code, body := newBenchWith(t, funcs, shopObjects()...).page().call(http.MethodGet, row.target, "")
		g.Expect(code).To(Equal(row.code), name+body)
		g.Expect(body).To(HavePrefix(`{"reason":"`+row.reason+`"`), name)
		g.Expect(body).To(ContainSubstring(row.is), name)
	}
	for target, kind := range map[string]string{"/api/pods" + ofWeb: "Pod", "/api/doctor": "", "/api/diff" + ofWeb: "ControllerRevision"} {
		b := newBenchWith(t, breaks(kind+"None"), shopObjects()...)
		if kind != "" {
			b = newBenchWith(t, breaks(kind), shopObjects()...)
		} else {
			b.ask = func(string) (command.Answer, error) { return command.Answer{}, status(500, "disk full") }
		}
		code, body := b.page().call(http.MethodGet, target, "")
		NewWithT(t).Expect(code).To(Equal(503), target+body)
		NewWithT(t).Expect(body).To(ContainSubstring("disk full"), target)
	}
	reviewless := newBenchWith(t, interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
		if strings.Contains(fmt.Sprintf("%T", object), "AccessReview") {
			return status(500, "disk full")
		}
		return nil
	}}, shopObjects()...)
	code, _ := reviewless.page().call(http.MethodGet, "/api/may"+ofWeb, "")
	NewWithT(t).Expect(code).To(Equal(503))
}
