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

package source

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestSourcesReaderIsForKnownSources(t *testing.T) {
	g := NewWithT(t)
	sources := newSources(t)
	missing := MatchError("VerificationSource prometheus: there is no such source in namespace altershieldoperator-system")
	_, err := sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).To(missing)
	g.Expect(kindOf(err)).To(BeEquivalentTo("SourceMissing"))
	object := define(serve(t, says(200, one)))
	g.Expect(look(t, sources, object)).To(Succeed())
	found, err := sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Labels).To(Equal(appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"}))
	g.Expect(testutil.CollectAndCount(sources.Metrics.requests, "altershield_source_requests_total")).To(Equal(10), "the counter of each outcome begins at 0")
	g.Expect(testutil.CollectAndCount(sources.Metrics.up, "altershield_source_up")).To(Equal(1))
	sources.Forget("prometheus")
	_, err = sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).To(missing)
	g.Expect(testutil.CollectAndCount(sources.Metrics.requests) + testutil.CollectAndCount(sources.Metrics.up)).To(BeZero())
}

func TestSourcesLookCountsFromTheStartForASourceThatCanNotBeAsked(t *testing.T) {
	object := define("http://127.0.0.1:9090", func(s *appv1alpha1.VerificationSourceSpec) {
		s.Auth = appv1alpha1.SourceAuth{Type: "BearerToken", SecretRef: &appv1alpha1.SourceSecret{Name: "token"}}
	})
	missing, forbidden := newSources(t), newSources(t)
	forbidden.Secrets = interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "token", errors.New("no role"))
		},
	})
	for name, sources := range map[string]*Sources{"missing": missing, "forbidden": forbidden} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(look(t, sources, object)).NotTo(Succeed())
			g.Expect(testutil.CollectAndCount(sources.Metrics.requests)).To(Equal(10), "the alert would end with a restart")
			sources.Forget("prometheus")
			g.Expect(testutil.CollectAndCount(sources.Metrics.requests)).To(BeZero())
		})
	}
}

func TestSourcesReaderReadsASourceThatWasNotLookedAtYet(t *testing.T) {
	g := NewWithT(t)
	object := define(serve(t, says(200, one)))
	sources := newSources(t, object)
	first, err := sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = first.Instant(t.Context(), "vector(1)", at("2026-01-01T00:00:00Z"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(look(t, sources, object)).To(Succeed())
	second, err := sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second.endpoint).To(BeIdenticalTo(first.endpoint), "it was read once")
	sources.Forget("prometheus")
	sources.Client = broken(t, "the cache isn't filled")
	_, err = sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).To(MatchError("reading VerificationSource altershieldoperator-system/prometheus: the cache isn't filled"))
	g.Expect(kindOf(err)).To(BeEmpty(), "the check is made again, as nothing is known of its source")
}

func TestSourcesReaderFailsIfTheSecretsCantBeRead(t *testing.T) {
	sources := newSources(t, define("http://127.0.0.1:9090", func(s *appv1alpha1.VerificationSourceSpec) {
		s.Auth = appv1alpha1.SourceAuth{Type: "BearerToken", SecretRef: &appv1alpha1.SourceSecret{Name: "token"}}
	}))
	sources.Secrets = broken(t, "the API server is away")
	_, err := sources.Reader(t.Context(), "prometheus", "shop")
	NewWithT(t).Expect(err).To(MatchError("reading Secret altershieldoperator-system/token: the API server is away"))
}

func TestSourcesReaderIsForAllowedNamespaces(t *testing.T) {
	g := NewWithT(t)
	sources := newSources(t, namespace("shop", map[string]string{"team": "a"}), namespace("bank", map[string]string{"team": "b"}))
	object := define(serve(t, says(200, one)), func(s *appv1alpha1.VerificationSourceSpec) {
		s.AllowedNamespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	})
	g.Expect(look(t, sources, object)).To(Succeed())
	_, err := sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).NotTo(HaveOccurred())
	for _, other := range []string{"bank", "nowhere"} {
		_, err = sources.Reader(t.Context(), "prometheus", other)
		g.Expect(err).To(MatchError("VerificationSource prometheus: spec.allowedNamespaces doesn't select namespace " + other))
		g.Expect(kindOf(err)).To(BeEquivalentTo("NamespaceNotAllowed"))
	}
	sources.Client = broken(t, "the cache isn't filled")
	_, err = sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).To(MatchError("reading namespace shop: the cache isn't filled"))
	g.Expect(kindOf(err)).To(BeEmpty())
}

func broken(t *testing.T, message string) client.Reader {
	return interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New(message)
		},
	})
}

func TestSourcesLookReadsSecretsAgain(t *testing.T) {
	g := NewWithT(t)
	var tokens []string
	address := serve(t, func(writer http.ResponseWriter, request *http.Request) {
		tokens = append(tokens, request.Header.Get("Authorization"))
		says(200, one)(writer, request)
	})
	elsewhere := secret("token", map[string]string{"token": "stolen"})
	elsewhere.SetNamespace("shop")
	sources := newSources(t, elsewhere)
	object := define(address, func(s *appv1alpha1.VerificationSourceSpec) {
		s.Auth = appv1alpha1.SourceAuth{Type: "BearerToken", SecretRef: &appv1alpha1.SourceSecret{Name: "token"}}
	})
	missing := "VerificationSource prometheus: spec.auth.secretRef: there is no Secret token in the namespace of the operator"
	g.Expect(look(t, sources, object)).To(MatchError(missing), "Secrets of other namespaces don't count")
	_, err := sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).To(MatchError(missing))
	kube, ok := sources.Secrets.(client.Client)
	g.Expect(ok).To(BeTrue())
	token := secret("token", map[string]string{"token": "old"})
	g.Expect(kube.Create(t.Context(), token)).To(Succeed())
	g.Expect(look(t, sources, object)).To(Succeed())
	kept := sources.find("prometheus").endpoint
	g.Expect(look(t, sources, object)).To(Succeed())
	g.Expect(sources.find("prometheus").endpoint).To(BeIdenticalTo(kept), "its breaker and its answers are kept")
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(token), token)).To(Succeed())
	renewed, isSecret := token.(*corev1.Secret)
	g.Expect(isSecret).To(BeTrue())
	renewed.Data["token"] = []byte("new")
	g.Expect(kube.Update(t.Context(), renewed)).To(Succeed())
	g.Expect(look(t, sources, object)).To(Succeed())
	g.Expect(tokens).To(Equal([]string{"Bearer old", "Bearer old", "Bearer new"}))
	sources.Secrets = broken(t, "the API server is away")
	_, err = sources.Look(t.Context(), object)
	g.Expect(err).To(MatchError("reading Secret altershieldoperator-system/token: the API server is away"))
	_, err = sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).NotTo(HaveOccurred(), "the source can still be asked")
}

func TestSourcesLookFollowsTheSpec(t *testing.T) {
	g := NewWithT(t)
	sources := newSources(t)
	object := define(serve(t, says(500, "")))
	g.Expect(look(t, sources, object)).NotTo(Succeed())
	object.Spec.URL, object.Generation = serve(t, says(200, one)), 2
	g.Expect(look(t, sources, object)).To(Succeed())
	object.Spec.URL, object.Generation = "nowhere", 3
	g.Expect(look(t, sources, object)).To(MatchError("VerificationSource prometheus: spec.url is no URL with a host"))
}

func TestSourcesLookDropsTheAnswersWhoseTimeIsOver(t *testing.T) {
	g := NewWithT(t)
	var down atomic.Bool
	sources := newSources(t)
	clock := clocktesting.NewFakePassiveClock(time.Now())
	sources.Clock = clock
	object := define(serve(t, func(writer http.ResponseWriter, request *http.Request) {
		if down.Load() {
			writer.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		says(http.StatusOK, one)(writer, request)
	}))
	asked := reader(t, sources, object)
	_, err := asked.endpoint.queryInstant(t.Context(), "up", clock.Now())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked.endpoint.kept).To(HaveLen(2), "with that of the look")
	down.Store(true)
	clock.SetTime(clock.Now().Add(instantPeriod - time.Second))
	g.Expect(look(t, sources, object)).NotTo(Succeed())
	g.Expect(asked.endpoint.kept).To(HaveLen(2))
	clock.SetTime(clock.Now().Add(time.Second))
	g.Expect(look(t, sources, object)).NotTo(Succeed())
	g.Expect(asked.endpoint.kept).To(BeEmpty(), "although the source doesn't answer")
}

func TestSourcesLookEndsWithTheManager(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newSources(t).Look(ctx, define(serve(t, says(200, one))))
	NewWithT(t).Expect(err).To(MatchError("asking VerificationSource prometheus: context canceled"))
}

func TestSourcesLookEndsWithTheManagerWhileTheSourceIsAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	address := serve(t, func(http.ResponseWriter, *http.Request) {
		cancel()
		<-asked
	})
	_, err := newSources(t).Look(ctx, define(address))
	close(asked)
	NewWithT(t).Expect(err).To(MatchError("asking VerificationSource prometheus: context canceled"))
}

func TestSourcesForgetLeavesNoMetricsBehindWhileAQueryIsUnderWay(t *testing.T) {
	g := NewWithT(t)
	under, ends := make(chan struct{}), make(chan struct{})
	sources := newSources(t)
	asked := reader(t, sources, define(serve(t, func(writer http.ResponseWriter, request *http.Request) {
		if request.FormValue("query") == "up" {
			close(under)
			<-ends
			writer.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		says(http.StatusOK, one)(writer, request)
	})))
	failed := make(chan error)
	go func() {
		_, err := asked.Instant(t.Context(), "up", at("2026-01-01T00:00:00Z"))
		failed <- err
	}()
	<-under
	sources.Forget("prometheus")
	close(ends)
	g.Expect(kindOf(<-failed)).To(BeEquivalentTo("SourceUnavailable"))
	g.Expect(testutil.CollectAndCount(sources.Metrics.requests)+testutil.CollectAndCount(sources.Metrics.up)).To(BeZero(), "the source would seem to be down for ever")
}

func TestSourcesReaderForgetsASourceThatGoesWhileItIsRead(t *testing.T) {
	g := NewWithT(t)
	object := define("http://127.0.0.1:9090", func(s *appv1alpha1.VerificationSourceSpec) {
		s.Auth = appv1alpha1.SourceAuth{Type: "BearerToken", SecretRef: &appv1alpha1.SourceSecret{Name: "token"}}
	})
	sources := newSources(t, object, secret("token", map[string]string{"token": "abc"}))
	kube, ok := sources.Client.(client.WithWatch)
	g.Expect(ok).To(BeTrue())
	forgotten := make(chan struct{})
	sources.Secrets = interceptor.NewClient(kube, interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			g.Expect(kube.Delete(ctx, object)).To(Succeed())
			go func() {
				defer close(forgotten)
				sources.Forget("prometheus")
			}()
			select { // it needn't wait until the source is read
			case <-forgotten:
			case <-time.After(100 * time.Millisecond):
			}
			return kube.Get(ctx, key, into, options...)
		},
	})
	_, err := sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).NotTo(HaveOccurred())
	<-forgotten
	_, err = sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).To(MatchError("VerificationSource prometheus: there is no such source in namespace altershieldoperator-system"))
	g.Expect(testutil.CollectAndCount(sources.Metrics.requests)).To(BeZero())
}

func TestNewMetricsFailsIfTheyAreRegistered(t *testing.T) {
	registry := prometheus.NewRegistry()
	_, err := NewMetrics(registry)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, err = NewMetrics(registry)
	NewWithT(t).Expect(err).To(MatchError(HavePrefix("registering the metrics of VerificationSources: ")))
}
