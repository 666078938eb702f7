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

package verificationsource

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

const system = "altershieldoperator-system"

func define(namespace, url string) *appv1alpha1.VerificationSource {
	return &appv1alpha1.VerificationSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prometheus", UID: "1", Generation: 2},
		Spec: appv1alpha1.VerificationSourceSpec{Type: "Prometheus", URL: url, Limits: appv1alpha1.SourceLimits{
			QueriesPerSecond: 10, Burst: 20, Concurrent: 4, TimeoutSeconds: 5, MaxBytes: 65536, MaxSeries: 10,
		}},
	}
}

func newReconciler(t *testing.T, kube client.Client) *Reconciler {
	t.Helper()
	metrics, err := source.NewMetrics(prometheus.NewRegistry())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	clock := clocktesting.NewFakePassiveClock(testkit.Now())
	return &Reconciler{Client: kube, Clock: clock, Namespace: system, Sources: &source.Sources{
		Client: kube, Secrets: kube, Namespace: system, Clock: clock, Metrics: metrics,
		Guard: source.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}}
}

func request(namespace string) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: "prometheus"}}
}

// ready returns the condition of a source, and its generation.
func ready(t *testing.T, kube client.Client, namespace string) string {
	t.Helper()
	var object appv1alpha1.VerificationSource
	NewWithT(t).Expect(kube.Get(t.Context(), request(namespace).NamespacedName, &object)).To(Succeed())
	NewWithT(t).Expect(object.Status.ObservedGeneration).To(BeEquivalentTo(2))
	found := object.Status.Conditions[0]
	NewWithT(t).Expect(object.Status.Conditions).To(HaveEach(HaveField("ObservedGeneration", BeEquivalentTo(2))))
	return found.Type + " " + string(found.Status) + " " + found.Reason + ": " + found.Message
}

func TestReconcileWritesWhetherASourceAnswersWhenItChanges(t *testing.T) {
	g := NewWithT(t)
	answer := `{"status":"success","data":{"resultType":"vector","result":[]}}`
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) { _, _ = writer.Write([]byte(answer)) }))
	t.Cleanup(server.Close)
	writes := 0
	kube := interceptor.NewClient(testkit.NewFake(t, define(system, server.URL)), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, kube client.Client, of string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			writes++
			return kube.SubResource(of).Patch(ctx, object, patch, options...)
		},
	})
	r := newReconciler(t, kube)
	look := func() time.Duration {
		result, err := r.Reconcile(t.Context(), request(system))
		g.Expect(err).NotTo(HaveOccurred())
		clock, ok := r.Clock.(*clocktesting.FakePassiveClock)
		g.Expect(ok).To(BeTrue())
		clock.SetTime(clock.Now().Add(time.Minute))
		return result.RequeueAfter
	}
	g.Expect(look()).To(Equal(time.Minute))
	g.Expect(look()).To(Equal(time.Minute))
	g.Expect(ready(t, kube, system)).To(Equal("Ready True Ready: the source answers"))
	g.Expect(writes).To(Equal(1))
	answer = "<html>"
	g.Expect(look()).To(Equal(31 * time.Second))
	g.Expect(look()).To(Equal(31 * time.Second))
	g.Expect(ready(t, kube, system)).To(Equal("Ready False SourceUnavailable: the answer is not one of the Prometheus API: see spec.url"))
	g.Expect(writes).To(Equal(2))
	_, err := r.Sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kube.Delete(t.Context(), define(system, ""))).To(Succeed())
	g.Expect(look()).To(BeZero())
	_, err = r.Sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).To(MatchError(ContainSubstring("there is no such source")))
}

// answering returns the address of a source that answers without series.
func answering(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		_, _ = writer.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestReconcileShowsThatTheLimitsAreReached(t *testing.T) {
	g := NewWithT(t)
	object := define(system, answering(t))
	object.Spec.Limits.QueriesPerSecond, object.Spec.Limits.Burst, object.Spec.Limits.TimeoutSeconds = 1, 2, 1
	kube := testkit.NewFake(t, object)
	r := newReconciler(t, kube)
	limits := func() string {
		_, err := r.Reconcile(t.Context(), request(system))
		g.Expect(err).NotTo(HaveOccurred())
		var object appv1alpha1.VerificationSource
		g.Expect(kube.Get(t.Context(), request(system).NamespacedName, &object)).To(Succeed())
		g.Expect(object.Status.Conditions).To(HaveLen(2))
		found := object.Status.Conditions[1]
		return found.Type + " " + string(found.Status) + " " + found.Reason + ": " + found.Message
	}
	g.Expect(limits()).To(Equal("WithinLimits True WithinLimits: no query was left out in the last minute"))
	reader, err := r.Sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).NotTo(HaveOccurred())
	var asking sync.WaitGroup
	for i := range 9 {
		asking.Go(func() { _, _ = reader.Instant(context.Background(), "vector("+strconv.Itoa(i)+")", time.Now()) })
	}
	asking.Wait()
	g.Expect(limits()).To(Equal("WithinLimits False LimitsReached: looks come later than intervalSeconds, as more than limits.queriesPerSecond, 1, " +
		"or limits.concurrent, 4, were wanted: raise them, or intervalSeconds of the policies"))
	g.Expect(limits()).To(HavePrefix("WithinLimits True"))
}

func TestReconcileIgnoresSourcesOfOtherNamespaces(t *testing.T) {
	g := NewWithT(t)
	kube := testkit.NewFake(t, define("shop", "http://127.0.0.1:1"))
	r := newReconciler(t, kube)
	g.Expect(r.Reconcile(t.Context(), request("shop"))).To(Equal(ctrl.Result{}))
	g.Expect(ready(t, kube, "shop")).To(Equal("Ready False OtherNamespace: sources have an effect in namespace altershieldoperator-system only"))
	_, err := r.Sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).To(HaveOccurred())
}

func TestReconcileKeepsTheSourceOfTheNameThatAnotherNamespaceDeletes(t *testing.T) {
	g := NewWithT(t)
	kube := testkit.NewFake(t, define(system, "http://127.0.0.1:1"))
	r := newReconciler(t, kube)
	for _, namespace := range []string{system, "shop"} {
		_, err := r.Reconcile(t.Context(), request(namespace))
		g.Expect(err).NotTo(HaveOccurred())
	}
	_, err := r.Sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).NotTo(HaveOccurred())
}

func TestReconcileShowsThatTheOperatorMayNotReadASecret(t *testing.T) {
	g := NewWithT(t)
	object := define(system, answering(t))
	object.Spec.Auth = appv1alpha1.SourceAuth{Type: "BearerToken", SecretRef: &appv1alpha1.SourceSecret{Name: "token"}}
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "token"}, Data: map[string][]byte{"token": []byte("abc")}}
	var denial error
	kube := interceptor.NewClient(testkit.NewFake(t, object, token), interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if key.Name == "token" && denial != nil {
				return denial
			}
			return kube.Get(ctx, key, object, options...)
		},
	})
	r := newReconciler(t, kube)
	look := func() string {
		result, err := r.Reconcile(t.Context(), request(system))
		g.Expect(err).NotTo(HaveOccurred())
		return result.RequeueAfter.String() + " " + ready(t, kube, system)
	}
	g.Expect(look()).To(Equal("1m0s Ready True Ready: the source answers"))
	denial = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "token", errors.New(`User "operator" cannot get resource "secrets"`))
	g.Expect(look()).To(Equal(`31s Ready False BadSecret: reading Secret altershieldoperator-system/token: ` +
		`secrets "token" is forbidden: User "operator" cannot get resource "secrets"`))
	_, err := r.Sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).NotTo(HaveOccurred(), "checks go on with what was read before")
	denial = nil
	g.Expect(look()).To(Equal("1m0s Ready True Ready: the source answers"))
}

func TestReconcileReturnsErrors(t *testing.T) {
	away := errors.New("the API server is away")
	for name, row := range map[string]struct {
		funcs    interceptor.Funcs
		expected string
	}{
		"of reading": {interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return away
		}},
			"reading VerificationSource altershieldoperator-system/prometheus: the API server is away"},
		"of reading a Secret": {interceptor.Funcs{Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if key.Name == "token" {
				return away
			}
			return kube.Get(ctx, key, object, options...)
		}}, "looking at VerificationSource altershieldoperator-system/prometheus: reading Secret altershieldoperator-system/token: the API server is away"},
		"of writing": {interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return away
		}}, "writing the status of VerificationSource altershieldoperator-system/prometheus: the API server is away"},
	} {
		t.Run(name, func(t *testing.T) {
			object := define(system, "http://127.0.0.1:1")
			if name == "of reading a Secret" {
				object.Spec.Auth = appv1alpha1.SourceAuth{Type: "BearerToken", SecretRef: &appv1alpha1.SourceSecret{Name: "token"}}
			}
			kube := interceptor.NewClient(testkit.NewFake(t, object), row.funcs)
			_, err := newReconciler(t, kube).Reconcile(t.Context(), request(system))
			NewWithT(t).Expect(err).To(MatchError(row.expected))
		})
	}
}
