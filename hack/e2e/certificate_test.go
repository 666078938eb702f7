//go:build e2e

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

package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func changesItsCertificate(ctx context.Context) {
	namespace := controlledNamespace(ctx, "certified")
	bothReady(ctx)
	visitor := visit(ctx, namespace)
	visitor.staysFor(ctx, 50)
	before := served(ctx)
	Expect(before).To(HaveLen(2))
	Expect(before[0]).To(Equal(before[1]))
	authority := authorities(ctx)

	By("removing the certificate, so that the operator issues a new one with the same authority")
	kubectl(ctx, "patch", "secret", secretName, "-n", system, "--type=json",
		"-p", `[{"op":"remove","path":"/data/tls.crt"},{"op":"remove","path":"/data/tls.key"}]`)
	Eventually(ctx, served).Should(And(HaveLen(2), HaveEach(Not(Equal(before[0]))), haveOneValue()))
	Expect(authorities(ctx)).To(Equal(authority))
	visitor.staysFor(ctx, 50)
	admitted, failures := visitor.leaves()
	figure("%d releases admitted around a new certificate, %d not", admitted, len(failures))
	Expect(failures).To(BeEmpty())

	By("serving it without a restart")
	for _, pod := range operatorPods(ctx) {
		Expect(pod.Status.ContainerStatuses[0].RestartCount).To(BeZero())
	}

	By("removing everything, including the authority")
	kubectl(ctx, "patch", "secret", secretName, "-n", system, "--type=json", "-p", `[{"op":"remove","path":"/data"}]`)
	Eventually(ctx, authorities).ShouldNot(ContainElement(BeElementOf(authority)))
	Eventually(ctx, func(ctx context.Context) error {
		_, err := release(ctx, namespace, "visited", "after a new authority")
		return err
	}).Should(Succeed())
	Eventually(ctx, served).Should(haveOneValue())
}

// authorities returns the certificate authorities by which the API server trusts the webhooks.
func authorities(ctx context.Context) []string {
	GinkgoHelper()
	var found []string
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	Expect(kube.Get(ctx, client.ObjectKey{Name: "altershieldoperator-mutating-webhook-configuration"}, &mutating)).To(Succeed())
	for _, webhook := range mutating.Webhooks {
		found = append(found, string(webhook.ClientConfig.CABundle))
	}
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	Expect(kube.Get(ctx, client.ObjectKey{Name: "altershieldoperator-validating-webhook-configuration"}, &validating)).To(Succeed())
	for _, webhook := range validating.Webhooks {
		found = append(found, string(webhook.ClientConfig.CABundle))
	}
	return found
}

// served returns the certificates that the replicas serve now, each verified with the authority of the Secret.
func served(ctx context.Context) []string {
	var secret corev1.Secret
	if err := kube.Get(ctx, client.ObjectKey{Namespace: system, Name: secretName}, &secret); err != nil {
		return nil
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(secret.Data["ca.crt"])
	var found []string
	for _, pod := range operatorPods(ctx) {
		dialer := tls.Dialer{
			NetDialer: &net.Dialer{Timeout: 5 * time.Second},
			Config:    &tls.Config{RootCAs: trusted, ServerName: "altershieldoperator-webhook-service." + system + ".svc"},
		}
		connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, "1443"))
		if err != nil {
			return nil
		}
		found = append(found, string(connection.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw))
		if err := connection.Close(); err != nil {
			return nil
		}
	}
	return found
}

// haveOneValue matches a list of equal elements.
func haveOneValue() OmegaMatcher {
	return WithTransform(func(values []string) int {
		different := map[string]bool{}
		for _, value := range values {
			different[value] = true
		}
		return len(different)
	}, Equal(1))
}
