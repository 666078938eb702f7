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

package webhooks

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// server records the registered handlers.
type server struct {
	webhook.Server
	handlers map[string]admission.Handler
}

func (s *server) Register(path string, hook http.Handler) {
	s.handlers[path] = hook.(closeOnShutdown).handler.(*admission.Webhook).Handler
}

func denies(message string) admission.Handler {
	return admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return admission.Denied(message) })
}

func TestRegisterServesTheWebhooksUnderTheirDocumentedPaths(t *testing.T) {
	g := NewWithT(t)
	served := &server{handlers: map[string]admission.Handler{}}
	seen := &recorder{}
	refusing := all(stamped(versionOf123, "4"), rolledBack(leaving(versionOf1234, "4", refused)))
	reader := readerOf(t, interceptor.Funcs{}, cached(t, refusing))
	g.Expect(Register(served, Options{
		Kinds: workload.Registry{kind.Kind{}}, Reader: reader, Live: reader, Operator: operator, Clock: clocktesting.NewFakePassiveClock(now),
		Recorder: events.Recorder{Events: seen}, Metrics: prometheus.NewRegistry(),
		ControlledKinds: denies("a bad path"), ChangeFreezes: denies("a bad time zone"), BreakGlasses: denies("no author"),
	})).To(Succeed())
	g.Expect(slices.Sorted(maps.Keys(served.handlers))).To(Equal([]string{
		"/mutate-apps-v1-deployment", "/mutate-breakglass", "/mutate-changeapproval", "/mutate-changeverdict", "/mutate-kind", "/mutate-pods",
		"/validate-apps-v1-deployment", "/validate-changefreeze", "/validate-controlledkind", "/validate-kind", "/validate-releasepolicy", "/validate-verificationpolicy",
	}))
	g.Expect(served.handlers["/validate-controlledkind"].Handle(t.Context(), admission.Request{}).Result.Message).To(Equal("a bad path"))
	g.Expect(served.handlers["/validate-changefreeze"].Handle(t.Context(), admission.Request{}).Result.Message).To(Equal("a bad time zone"))
	g.Expect(served.handlers["/mutate-breakglass"].Handle(t.Context(), admission.Request{}).Result.Message).To(Equal("no author"))
	pod := requestOf(t, nil, object{"metadata": object{"labels": object{gateKey: "start"}}})
	g.Expect(served.handlers["/mutate-pods"].Handle(t.Context(), pod).Allowed).To(BeTrue(), "the API server has no ReleaseGate either")
	release := all(stamped(versionOf123, "4"), suspended)
	request := requestOf(t, deployment(t, release), deployment(t, release, repaired))
	g.Expect(served.handlers["/mutate-apps-v1-deployment"].Handle(t.Context(), request).Patches).NotTo(BeEmpty())
	g.Expect(served.handlers["/validate-apps-v1-deployment"].Handle(t.Context(), request).Allowed).To(BeFalse())
	request = requestOf(t, deployment(t, release), deployment(t, release, processed))
	request.UserInfo.Username = "system:serviceaccount:altershieldoperator-system:altershieldoperator-controller-manager"
	g.Expect(served.handlers["/mutate-apps-v1-deployment"].Handle(t.Context(), request).Patches).To(BeEmpty())
	g.Expect(served.handlers["/validate-apps-v1-deployment"].Handle(t.Context(), request).Allowed).To(BeTrue())

	request = requestOf(t, deployment(t, refusing), deployment(t, refusing, repaired, stamped(versionOf1234, "5")))
	g.Expect(served.handlers["/validate-apps-v1-deployment"].Handle(t.Context(), request).Allowed).To(BeFalse())
	g.Expect(seen.reported).To(HaveLen(1))
	request = requestOf(t, deployment(t, refusing), deployment(t, refusing, repaired, stamped(versionOf1234, "5"), rolledBack(leaving(versionOf123, "5"))))
	request.UserInfo.Username = "system:serviceaccount:altershieldoperator-system:altershieldoperator-controller-manager"
	g.Expect(served.handlers["/validate-apps-v1-deployment"].Handle(t.Context(), request).Allowed).To(BeTrue())
}

func TestRegisterKeepsWarningsInOneLine(t *testing.T) {
	g := NewWithT(t)
	release := all(stamped(versionOf123, "4"), suspended)
	failing := changeWorkload("d-1", versionOf123, "Suspend", "PodsFailed")
	failing.Status.DefenseCheckFailPods[0].Message = "find error:\n\t* timeout"
	reader := readerOf(t, interceptor.Funcs{}, cached(t, release), failing)
	served := &server{handlers: map[string]admission.Handler{}}
	g.Expect(Register(served, Options{
		Kinds: workload.Registry{kind.Kind{}}, Reader: reader, Live: reader, Operator: operator, Clock: clocktesting.NewFakePassiveClock(now),
		Recorder: events.Recorder{Events: &recorder{}}, Metrics: prometheus.NewRegistry(),
	})).To(Succeed())
	request := requestOf(t, deployment(t, release), deployment(t, release, repaired, stamped(versionOf1234, "5")))
	response := served.handlers["/validate-apps-v1-deployment"].Handle(t.Context(), request)
	g.Expect(response.Allowed).To(BeFalse())
	g.Expect(response.Warnings).To(ContainElement(ContainSubstring("failed its check: find error:  * timeout (see:")))
	for _, warning := range response.Warnings { // as the API server sends it
		_, err := utilnet.NewWarningHeader(299, "-", warning)
		g.Expect(err).NotTo(HaveOccurred())
	}
}
