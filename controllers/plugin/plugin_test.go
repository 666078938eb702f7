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

package plugin

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

const system = "altershieldoperator-system"

func release() *checks.Scene {
	return &checks.Scene{
		Version: "6a8f", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "uid-web", Number: 3,
		New: []checks.Pod{{Name: "web-1", UID: "1", Node: "node-1"}, {Name: "web-2", UID: "2", Node: "node-3"}},
	}
}

// newAsker returns an asker of a plug-in, at a time, whose questions a tracer may trace.
func newAsker(ctx context.Context, t *testing.T, url string, clock *testclock.FakeClock, tracers ...*tracing.Tracer) asker {
	t.Helper()
	g := NewWithT(t)
	metrics, err := source.NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	kube := testkit.NewFake(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "placement-key"}, Data: map[string][]byte{"key": []byte("0123456789abcdef01234567")},
	})
	sources := &source.Sources{
		Client: kube, Secrets: kube, Namespace: system, Clock: clock, Metrics: metrics,
		Guard: source.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}
	for _, tracer := range tracers {
		sources.Traced = tracer.Transport
	}
	object := &appv1alpha1.VerificationSource{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "placement"}, Spec: appv1alpha1.VerificationSourceSpec{
		Type: "HTTP", URL: url, Signing: &appv1alpha1.SourceSigning{SecretRef: appv1alpha1.SourceSecret{Name: "placement-key"}},
		Limits: appv1alpha1.SourceLimits{QueriesPerSecond: 10, Burst: 20, Concurrent: 4, TimeoutSeconds: 5, MaxBytes: 65536},
	}}
	failure, err := sources.Look(t.Context(), object)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(failure).To(Succeed())
	return asking(ctx, t, clock, &Asker{Sources: sources, Live: kube})
}

// asker is one whose answers are awaited.
type asker struct {
	*Asker
	t     *testing.T
	woken <-chan string
}

// asking has questions asked until a context ends.
func asking(ctx context.Context, t *testing.T, clock *testclock.FakeClock, of *Asker) asker {
	t.Helper()
	background, woken := testkit.Looks(ctx, t, clock)
	of.Looks = background
	return asker{of, t, woken}
}

// answer returns the answer to a question about the release once it is there, as reconciles do.
func (a asker) answer(asked *plugin.Question) (plugin.Answer, error) {
	record := types.NamespacedName{Namespace: "shop", Name: "web--x--6a8f"}
	defer a.Looks.Counted(record)
	for {
		answer, there, err := a.Answer(a.t.Context(), record, release(), asked)
		if there || err != nil {
			return answer, err
		}
		<-a.woken
	}
}

func question(id, nodes string, until time.Time) *plugin.Question {
	return &plugin.Question{ID: id, Policy: "shop/placement", Check: "placement", At: until.Add(-15 * time.Second), Until: until, HTTP: &appv1alpha1.HTTPCheck{
		SourceRef: appv1alpha1.SourceReference{Name: "placement"}, Parameters: map[string]appv1alpha1.ParameterValue{"nodes": appv1alpha1.ParameterValue(nodes)},
	}}
}

// documented starts a plug-in of docs/plugins.md, counted from 1, with these variables, and returns its address.
func documented(t *testing.T, number int, variables ...string) string {
	t.Helper()
	g := NewWithT(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	page, err := os.ReadFile("../../docs/plugins.md")
	g.Expect(err).NotTo(HaveOccurred())
	scripts := strings.Split(string(page), "```python\n")
	g.Expect(len(scripts)).To(BeNumerically(">", number))
	script, _, found := strings.Cut(scripts[number], "```\n")
	g.Expect(found).To(BeTrue())
	command := exec.CommandContext(t.Context(), python, "-c", script)
	command.Env = append(append(os.Environ(), "PORT=0"), variables...)
	output, err := command.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(command.Start()).To(Succeed())
	t.Cleanup(func() { _ = command.Wait() }) // which the end of the context of the test ended
	line, err := bufio.NewReader(output).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	return "http://127.0.0.1:" + strings.TrimPrefix(strings.TrimSpace(line), "listens on port ")
}

func TestAskerAsksTheDocumentedPlugin(t *testing.T) {
	const unauthorized = "VerificationSource placement: the plug-in accepts no request of the operator (HTTP 401): see spec.auth and spec.signing"
	for name, row := range map[string]struct {
		key, nodes string
		ago        time.Duration
		expected   plugin.Answer
	}{
		"that lets a release pass": {"0123456789abcdef01234567", "node-2", 0, plugin.Answer{Verdict: "Pass", Reason: "CheckPassed", Message: "the plug-in answers Pass"}},
		"that fails a pod": {"0123456789abcdef01234567", "node-1 node-2", 0, plugin.Answer{
			Verdict: "Fail", Reason: "CheckFailed", Message: "RefusedNode: 1 pods", Pods: []appv1alpha1.CheckedPod{{Pod: "web-1", UID: "1", Message: "runs on node-1"}},
		}},
		"with another key":     {"another", "node-1", 0, plugin.Broken("Unauthorized", unauthorized)},
		"with an old question": {"0123456789abcdef01234567", "node-1", 6 * time.Minute, plugin.Broken("Unauthorized", unauthorized)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := time.Now().Add(-row.ago) // the plug-in has no clock of ours
			asker := newAsker(t.Context(), t, documented(t, 1, "KEY="+row.key), testclock.NewFakeClock(now))
			answer, err := asker.answer(question("1", row.nodes, now.Add(time.Minute)))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer).To(Equal(row.expected))
		})
	}
}

func TestAskerAsksOnceALook(t *testing.T) {
	g := NewWithT(t)
	clock, status := testclock.NewFakeClock(time.Unix(1767225600, 0)), http.StatusServiceUnavailable
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost {
			return
		}
		asked = append(asked, request.Header.Get("webhook-id"))
		writer.WriteHeader(status)
		_, _ = writer.Write([]byte(`{"verdict":"Pass","message":"\u001b[31mfine"}`))
	}))
	t.Cleanup(server.Close)
	asker := newAsker(t.Context(), t, server.URL, clock)
	ask := func(id string) plugin.Answer {
		asked := question(id, "", clock.Now().Truncate(15*time.Second).Add(15*time.Second))
		asked.Check, _, _ = strings.Cut(id, "/")
		answer, err := asker.answer(asked)
		g.Expect(err).NotTo(HaveOccurred())
		return answer
	}
	g.Expect(ask("a/1").Reason).To(Equal("SourceUnavailable"))
	clock.Step(14 * time.Second)
	status = http.StatusOK
	g.Expect(ask("a/1").Reason).To(Equal("SourceUnavailable"), "in the same look")
	g.Expect(ask("b/1").Message).To(Equal("[31mfine"), "of another check")
	clock.Step(time.Second)
	g.Expect(ask("a/2").Reason).To(Equal("CheckPassed"), "in the next look")
	g.Expect(ask("a/2").Reason).To(Equal("CheckPassed"))
	g.Expect(asked).To(Equal([]string{"a/1", "b/1", "a/2"}))
	clock.Step(15 * time.Second)
	g.Expect(ask("a/2").Reason).To(Equal("CheckPassed"))
	g.Expect(asked).To(HaveLen(4), "the answer doesn't stand any longer than its look")
	clock.Step(15 * time.Second)
	status = http.StatusTooManyRequests
	g.Expect(ask("a/3").Unsent).To(BeFalse())
	g.Expect(ask("b/3").Unsent).To(BeTrue(), "for as long as the plug-in wants")
}

func TestAskerAnswerIsBrokenWithoutTheSource(t *testing.T) {
	g := NewWithT(t)
	clock := testclock.NewFakeClock(time.Unix(1767225600, 0))
	asker := asking(t.Context(), t, clock, &Asker{Sources: &source.Sources{Client: testkit.NewFake(t), Namespace: system}})
	answer, err := asker.answer(question("1", "", clock.Now()))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Broken).To(BeTrue())
	g.Expect(answer.Reason).To(Equal("SourceMissing"))
}

func TestAskerAnswerEndsWithTheManager(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost {
			cancel()
		}
	}))
	t.Cleanup(server.Close)
	asker := newAsker(ctx, t, server.URL, testclock.NewFakeClock(time.Unix(1767225600, 0)))
	_, err := asker.answer(question("1", "", time.Unix(1767225615, 0)))
	g.Expect(err).To(MatchError("making the check placement of shop/placement: asking VerificationSource placement: context canceled"))
}

// tested returns the Deployment web-6a8f, which stands for any kind, with a condition.
func tested(status corev1.ConditionStatus) client.Object {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-6a8f"},
		Status:     appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: "Passed", Status: status, Reason: "Tested"}}},
	}
}

func TestAskerReadsConditions(t *testing.T) {
	smokeTests := schema.GroupResource{Group: "tests.example.com", Resource: "smoketests"}
	for name, row := range map[string]struct {
		objects  []client.Object
		err      error
		expected plugin.Answer
	}{
		"True":        {[]client.Object{tested("True")}, nil, plugin.Answer{Verdict: "Pass", Reason: "CheckPassed", Message: "Deployment web-6a8f: Passed is True, Tested"}},
		"False":       {[]client.Object{tested("False")}, nil, plugin.Answer{Verdict: "Fail", Reason: "CheckFailed", Message: "Deployment web-6a8f: Passed is False, Tested"}},
		"no object":   {nil, nil, plugin.Answer{Verdict: "Inconclusive", Reason: "ObjectMissing", Message: "there is no Deployment web-6a8f in namespace shop"}},
		"no kind":     {nil, &meta.NoKindMatchError{}, plugin.Answer{Verdict: "Inconclusive", Reason: "ObjectMissing", Message: "the API server has no kind Deployment of apps/v1"}},
		"not granted": {nil, apierrors.NewForbidden(smokeTests, "web-6a8f", errors.New("no")), plugin.Broken("PermissionMissing", `grant the operator a ClusterRole with {apiGroups: ["tests.example.com"], resources: [smoketests], verbs: [get]}`)},
		"away":        {nil, errors.New("no endpoints"), plugin.Broken("ReadFailed", "Deployment web-6a8f in namespace shop can't be read: no endpoints")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			clock, reads := testclock.NewFakeClock(time.Unix(1767225600, 0)), 0
			asker := asking(t.Context(), t, clock, &Asker{Live: reading(t, func() error { reads++; return row.err }, row.objects...)})
			for range 2 {
				answer, err := asker.answer(ofCondition(clock))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(answer).To(Equal(row.expected))
			}
			g.Expect(reads).To(Equal(1))
		})
	}
}

func TestAskerReadsNothingBesideNamespaces(t *testing.T) {
	g := NewWithT(t)
	clock := testclock.NewFakeClock(time.Unix(1767225600, 0))
	asker := asking(t.Context(), t, clock, &Asker{Live: interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return nil
		},
	})})
	answer, err := asker.answer(ofCondition(clock))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer).To(Equal(plugin.Answer{Verdict: "Inconclusive", Reason: "ObjectMissing", Message: "objects of the kind Deployment are in no namespace"}))
}

func TestAskerReadsConditionsUntilTheManagerEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	clock := testclock.NewFakeClock(time.Unix(1767225600, 0))
	asker := asking(ctx, t, clock, &Asker{Live: reading(t, func() error { cancel(); return ctx.Err() })})
	_, err := asker.answer(ofCondition(clock))
	NewWithT(t).Expect(err).To(MatchError("making the check smoke of shop/smoke: reading Deployment web-6a8f in namespace shop: context canceled"))
}

// reading returns a reader that fails as before does.
func reading(t *testing.T, before func() error, objects ...client.Object) client.Reader {
	return interceptor.NewClient(testkit.NewFake(t, objects...), interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := before(); err != nil {
				return err
			}
			return kube.Get(ctx, key, object, options...)
		},
	})
}

func ofCondition(clock *testclock.FakeClock) *plugin.Question {
	return &plugin.Question{ID: "1", Policy: "shop/smoke", Check: "smoke", Until: clock.Now().Add(time.Second), Condition: &appv1alpha1.ConditionCheck{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "$workload-$version", Type: "Passed",
	}}
}
