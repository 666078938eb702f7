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

package servingcert_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A manager that keeps its certificate in a Secret", func() {
	It("names the remedy if there is no Secret", func(ctx context.Context) {
		Expect(replicas[0].Start(ctx)).To(MatchError(ContainSubstring(
			`--webhook-cert-secret: reading Secret altershieldoperator-system/webhook-server-cert: secrets "webhook-server-cert" not found: ` +
				`apply config/default, or use --webhook-cert-dir alone`)))
	})

	It("fills it, serves it, and has the webhook configurations trust it", func(ctx context.Context) {
		emptySecret(ctx)
		run(ctx, replicas[0])
		kept := secret(ctx)
		Expect(kept).To(And(HaveLen(4), HaveKey("ca.key"), HaveKey("tls.key")))
		authority := string(kept["ca.crt"])
		Expect(trusted(ctx)).To(HaveEach(authority), "each webhook")
		Expect(shown(ctx, webhookAddress(replicas[0]), webhookName, authority)).To(Equal(string(kept["tls.crt"])))
		Expect(shown(ctx, replicas[0].MetricsAddress(), metricsName, authority)).To(Equal(string(kept["tls.crt"])))
		Expect(shown(ctx, webhookAddress(replicas[0]), "altershieldoperator-callback-service.altershieldoperator-system.svc", authority)).NotTo(BeEmpty())

		Expect(replicas[0].Start(ctx)).To(Succeed(), "once more, with a Secret that is full")
		Expect(secret(ctx)).To(Equal(kept))
	})

	It("ends with one certificate where two begin at once", func(ctx context.Context) {
		emptySecret(ctx)
		run(ctx, replicas...)
		for _, replica := range replicas {
			Eventually(func() string {
				certificate, _ := shown(ctx, webhookAddress(replica), webhookName, string(secret(ctx)["ca.crt"]))
				return certificate
			}).Should(Equal(string(secret(ctx)["tls.crt"])))
		}
		Expect(trusted(ctx)).To(HaveEach(string(secret(ctx)["ca.crt"])))
	})

	It("renews the certificate on every replica without a gap where it is removed from the Secret", func(ctx context.Context) {
		emptySecret(ctx)
		run(ctx, replicas...)
		before := secret(ctx)
		authority := string(before["ca.crt"])
		without(ctx, "tls.crt", "tls.key")
		for _, replica := range replicas {
			Eventually(func(g Gomega) {
				certificate, err := shown(ctx, webhookAddress(replica), webhookName, authority)
				if err != nil {
					StopTrying("a client was turned away").Wrap(err).Now()
				}
				g.Expect(certificate).NotTo(Equal(string(before["tls.crt"])))
				g.Expect(certificate).To(Equal(string(secret(ctx)["tls.crt"])))
			}).Should(Succeed())
			Eventually(func() (string, error) {
				return shown(ctx, replica.MetricsAddress(), metricsName, authority)
			}).Should(Equal(string(secret(ctx)["tls.crt"])))
		}
		Expect(secret(ctx)["ca.crt"]).To(Equal(before["ca.crt"]))
		Expect(trusted(ctx)).To(HaveEach(authority))
	})

	It("renews the authority where that is removed from the Secret", func(ctx context.Context) {
		emptySecret(ctx)
		run(ctx, replicas...)
		before := string(secret(ctx)["ca.crt"])
		without(ctx, "ca.crt")
		Eventually(func() []string { return trusted(ctx) }).ShouldNot(ContainElement(before))
		for _, replica := range replicas {
			Eventually(func() (string, error) {
				return shown(ctx, webhookAddress(replica), webhookName, trusted(ctx)[0])
			}).Should(Equal(string(secret(ctx)["tls.crt"])))
		}
	})

	It("puts the authority back where a webhook configuration loses it", func(ctx context.Context) {
		emptySecret(ctx)
		run(ctx, replicas[1])
		authority := string(secret(ctx)["ca.crt"])
		lost := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		lost.Name = "altershieldoperator-validating-webhook-configuration"
		Expect(kube.Patch(ctx, lost, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`)))).To(Succeed())
		Eventually(func() []string { return trusted(ctx) }).Should(HaveEach(authority))
	})
})
