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

package cluster

import (
	"crypto/x509"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
)

func TestClusterForRealNodes(t *testing.T) {
	g := NewWithT(t)
	c := &Cluster{options: Options{Dir: t.TempDir(), Real: &RealNodes{Address: "10.240.0.1", Names: []string{"node-1", "node-2"}}}}
	g.Expect(c.writeState()).To(Succeed())

	g.Expect(c.names()).To(Equal([]string{assets.Etcd, assets.APIServer, assets.ControllerManager, assets.Scheduler}))
	g.Expect(c.apiServer().args).To(And(
		ContainElements("--bind-address=0.0.0.0", "--advertise-address=10.240.0.1"),
		// Webhooks are called at their Services' addresses, as in any cluster.
		Not(ContainElement(HavePrefix("--enable-aggregator-routing"))),
		Not(ContainElement(HavePrefix("--endpoint-reconciler-type")))))

	serving := certificate(t, c.path(pki, "apiserver.crt"))
	for _, host := range []string{"127.0.0.1", "10.240.0.1", "10.96.0.1", "kubernetes.default.svc"} {
		g.Expect(serving.VerifyHostname(host)).To(Succeed())
	}
	// The servers of aggregated APIs believe a client of this name, whoever it says the user is.
	g.Expect(c.apiServer().args).To(ContainElements("--requestheader-allowed-names=front-proxy-client",
		"--requestheader-client-ca-file="+c.path(pki, "ca.crt"), "--proxy-client-cert-file="+c.path(pki, "front-proxy-client.crt")))
	g.Expect(certificate(t, c.path(pki, "front-proxy-client.crt")).Subject.CommonName).To(Equal("front-proxy-client"))
	kubeconfig, err := clientcmd.LoadFromFile(c.NodeKubeconfig("node-2"))
	g.Expect(err).NotTo(HaveOccurred())
	kubelet, err := certutil.ParseCertsPEM(kubeconfig.AuthInfos["system:node:node-2"].ClientCertificateData)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kubelet[0].Subject.CommonName).To(Equal("system:node:node-2"))
	g.Expect(kubelet[0].Subject.Organization).To(Equal([]string{"system:nodes"}))
}

func TestClusterForFakeNodesStaysOnLoopback(t *testing.T) {
	g := NewWithT(t)
	c := &Cluster{options: Options{Dir: t.TempDir()}}
	g.Expect(c.writeState()).To(Succeed())
	g.Expect(c.names()).To(ContainElement(assets.KWOK))
	g.Expect(c.apiServer().args).To(ContainElements("--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"))
	g.Expect(certificate(t, c.path(pki, "apiserver.crt")).VerifyHostname("10.96.0.1")).NotTo(Succeed())
}

func (c *Cluster) names() []string {
	var names []string
	for _, part := range c.components() {
		names = append(names, part.name)
	}
	return names
}

func certificate(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	found, err := certutil.CertsFromFile(path)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return found[0]
}
