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
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

const place = "web--x--6a8f--x--3-0123456789"

func awaited() *appv1alpha1.ChangeVerdict {
	return &appv1alpha1.ChangeVerdict{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: place, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeWorkload", Name: "web--x--6a8f", UID: "r-1"},
		}},
		Spec: appv1alpha1.ChangeVerdictSpec{
			Workload: appv1alpha1.ReleasedWorkload{Kind: "Deployment.apps", Name: "web"}, Release: 3, Version: "6a8f", Policy: "shop/placement", Check: "placement",
			Mode: "Enforce",
		},
	}
}

// later has a question answered in a ChangeVerdict.
func later(asked *plugin.Question) *plugin.Question {
	asked.Verdict = awaited()
	return asked
}

// told is a plug-in that takes questions, and the references to ChangeVerdicts in them.
type told struct {
	*httptest.Server
	status int
	uids   []string
}

func newTold(t *testing.T) *told {
	server := &told{status: http.StatusAccepted}
	server.Server = httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost {
			return
		}
		var question struct {
			VerdictRef struct{ Namespace, Name, UID string }
		}
		_ = json.NewDecoder(request.Body).Decode(&question)
		server.uids = append(server.uids, question.VerdictRef.Namespace+"/"+question.VerdictRef.Name+" "+question.VerdictRef.UID)
		writer.WriteHeader(server.status)
		_, _ = writer.Write([]byte(`{"verdict":"Pass"}`)) // which doesn't count
	}))
	t.Cleanup(server.Close)
	return server
}

// report sets the status of the ChangeVerdict.
func report(t *testing.T, kube client.Client, verdict appv1alpha1.ReportedVerdict) {
	t.Helper()
	g, found := NewWithT(t), &appv1alpha1.ChangeVerdict{}
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: place}, found)).To(Succeed())
	found.Status = &appv1alpha1.ChangeVerdictStatus{Verdict: verdict, Reporter: "bob", ReportedAt: metav1.NewTime(testkit.Now())}
	g.Expect(kube.Status().Update(t.Context(), found)).To(Succeed())
}

// withUIDs gives objects the UIDs that the API server would.
func withUIDs(kube client.WithWatch) client.WithWatch {
	created := 0
	return interceptor.NewClient(kube, interceptor.Funcs{
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
			created++
			object.SetUID([]types.UID{"", "v-1", "v-2"}[created])
			return kube.Create(ctx, object, options...)
		},
	})
}

func TestAskerAwaitsAVerdict(t *testing.T) {
	g, clock, server := NewWithT(t), testclock.NewFakeClock(time.Unix(1767225600, 0)), newTold(t)
	asker := newAsker(t.Context(), t, server.URL, clock)
	kube := withUIDs(testkit.NewFake(t))
	asker.Client, asker.Live = kube, kube
	ask := func() plugin.Answer {
		answer, err := asker.answer(later(question("a", "", clock.Now().Truncate(15*time.Second).Add(15*time.Second))))
		g.Expect(err).NotTo(HaveOccurred())
		return answer
	}
	none := plugin.Answer{Verdict: "Inconclusive", Reason: "NoVerdict", Message: "no verdict was reported in ChangeVerdict " + place}
	g.Expect(ask()).To(Equal(none))
	var made appv1alpha1.ChangeVerdict
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: place}, &made)).To(Succeed())
	g.Expect(made.OwnerReferences).To(Equal(awaited().OwnerReferences))
	g.Expect(made.Spec).To(Equal(awaited().Spec))
	g.Expect(ask()).To(Equal(none))
	g.Expect(server.uids).To(Equal([]string{"shop/" + place + " v-1"}), "once a look")
	clock.Step(15 * time.Second)
	g.Expect(ask()).To(Equal(none))
	g.Expect(server.uids).To(HaveLen(2), "again at the next one")

	g.Expect(kube.Delete(t.Context(), &made)).To(Succeed())
	clock.Step(15 * time.Second)
	g.Expect(ask()).To(Equal(none))
	g.Expect(server.uids[2:]).To(Equal([]string{"shop/" + place + " v-2"}), "of the one that took the place of the deleted one")
	server.status = http.StatusInternalServerError
	clock.Step(15 * time.Second)
	g.Expect(ask()).To(Equal(plugin.Broken("SourceUnavailable", "VerificationSource placement: the source failed (HTTP 500)")))
	report(t, kube, "Fail")
	g.Expect(ask()).To(Equal(plugin.Answer{Verdict: "Fail", Reason: "CheckFailed", Message: "bob reports Fail", Final: true}))
	clock.Step(time.Minute)
	g.Expect(ask().Final).To(BeTrue())
	g.Expect(server.uids).To(HaveLen(4), "it isn't asked any more")
}

func TestAskerReplacesWhatStandsInThePlaceOfAVerdict(t *testing.T) {
	for name, forge := range map[string]func(*appv1alpha1.ChangeVerdict){
		"of a deleted record": func(verdict *appv1alpha1.ChangeVerdict) { verdict.OwnerReferences[0].UID = "r-0" },
		"of nobody":           func(verdict *appv1alpha1.ChangeVerdict) { verdict.OwnerReferences = nil },
		"of another release":  func(verdict *appv1alpha1.ChangeVerdict) { verdict.Spec.Release = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			g, clock := NewWithT(t), testclock.NewFakeClock(time.Unix(1767225600, 0))
			forged := awaited()
			forge(forged)
			forged.UID, forged.Status = "forged", &appv1alpha1.ChangeVerdictStatus{Verdict: "Pass", Reporter: "mallory", ReportedAt: metav1.NewTime(testkit.Now())}
			server := newTold(t)
			asker, kube := newAsker(t.Context(), t, server.URL, clock), withUIDs(testkit.NewFake(t, forged))
			asker.Client, asker.Live = kube, kube
			answer, err := asker.answer(later(question("a", "", clock.Now().Add(time.Second))))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer.Reason).To(Equal("NoVerdict"))
			g.Expect(server.uids).To(Equal([]string{"shop/" + place + " v-1"}))
		})
	}
}

func TestAskerReadsTheAPIServerAtTheLastLook(t *testing.T) {
	for name, last := range map[string]bool{"before": false, "at the last look": true} {
		t.Run(name, func(t *testing.T) {
			g, clock := NewWithT(t), testclock.NewFakeClock(time.Unix(1767225600, 0))
			asker := newAsker(t.Context(), t, newTold(t).URL, clock)
			asker.Client, asker.Live = testkit.NewFake(t, awaited()), testkit.NewFake(t, awaited())
			report(t, asker.Live.(client.Client), "Pass")
			asked := later(question("a", "", clock.Now().Add(time.Second)))
			asked.Last = last
			answer, err := asker.answer(asked)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer.Final).To(Equal(last))
		})
	}
}

func TestAskerAwaitsNothingWithoutTheObject(t *testing.T) {
	resource := schema.GroupResource{Group: "app.ops.cloud.alipay.com", Resource: "changeverdicts"}
	exists := apierrors.NewAlreadyExists(resource, place)
	quota := apierrors.NewForbidden(resource, place, errors.New("exceeded quota"))
	away := errors.New("no endpoints")
	for name, row := range map[string]struct {
		read, create, remove, live error
		cached, stored             []client.Object
		reason, err                string
	}{
		"that a quota forbids":           {create: quota, reason: "NotCreated"},
		"while the API server is away":   {create: away, err: "making the check placement of shop/placement: creating ChangeVerdict shop/" + place + ": no endpoints"},
		"while the cache fails":          {read: away, err: "making the check placement of shop/placement: looking for ChangeVerdict shop/" + place + ": no endpoints"},
		"that the cache doesn't show":    {create: exists, stored: []client.Object{awaited()}, reason: "NoVerdict"},
		"whose place is kept":            {create: exists, reason: "NotCreated"},
		"whose place is kept by another": {create: exists, stored: []client.Object{&appv1alpha1.ChangeVerdict{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: place}}}, reason: "NotCreated"},
		"that can't be read":             {create: exists, live: away, err: "making the check placement of shop/placement: reading ChangeVerdict shop/" + place + ": no endpoints"},
		"that nobody may remove":         {remove: quota, cached: []client.Object{&appv1alpha1.ChangeVerdict{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: place}}}, reason: "NotCreated"},
		"that a webhook keeps":           {remove: testkit.Denied(404), cached: []client.Object{&appv1alpha1.ChangeVerdict{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: place}}}, reason: "NotCreated"},
	} {
		t.Run(name, func(t *testing.T) {
			g, clock := NewWithT(t), testclock.NewFakeClock(time.Unix(1767225600, 0))
			asker := newAsker(t.Context(), t, newTold(t).URL, clock)
			asker.Live = reading(t, func() error { return row.live }, row.stored...)
			asker.Client = interceptor.NewClient(testkit.NewFake(t, row.cached...), interceptor.Funcs{
				Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if row.read != nil {
						return row.read
					}
					return kube.Get(ctx, key, object, options...)
				},
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					return row.create
				},
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
					return row.remove
				},
			})
			answer, err := asker.answer(later(question("a", "", clock.Now().Add(time.Second))))
			if row.err != "" {
				g.Expect(err).To(MatchError(row.err))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer.Reason).To(Equal(row.reason))
			g.Expect(answer.Broken).To(Equal(row.reason == "NotCreated"))
		})
	}
}

func TestAskerAsksTheDocumentedPluginThatAnswersLater(t *testing.T) {
	g, patches := NewWithT(t), make(chan string, 1)
	api := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		patches <- request.Method + " " + request.URL.Path + " " + request.Header.Get("Authorization") + " " + request.Header.Get("Content-Type") + " " + string(body)
	}))
	t.Cleanup(api.Close)
	account := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(account, "token"), []byte("secret"), 0o600)).To(Succeed())
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	g.Expect(os.WriteFile(filepath.Join(account, "ca.crt"), trusted, 0o600)).To(Succeed())
	asker := newAsker(t.Context(), t, documented(t, 2, "API="+api.URL, "ACCOUNT="+account), testclock.NewFakeClock(time.Now()))
	kube := withUIDs(testkit.NewFake(t))
	asker.Client, asker.Live = kube, kube
	answer, err := asker.answer(later(question("1", "", time.Now().Add(time.Minute))))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Reason).To(Equal("NoVerdict"))
	g.Eventually(patches).WithTimeout(10 * time.Second).Should(Receive(Equal(
		"PATCH /apis/app.ops.cloud.alipay.com/v1alpha1/namespaces/shop/changeverdicts/" + place + "/status Bearer secret application/merge-patch+json " +
			`{"metadata": {"uid": "v-1"}, "status": {"verdict": "Fail", "reason": "Drift", "message": "psi 0.31"}}`)))
}
