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
	"encoding/pem"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

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

	serving := certificate(t, read(t, c.path(pki, "apiserver.crt")))
	for _, host := range []string{"127.0.0.1", "10.240.0.1", "10.96.0.1", "kubernetes.default.svc"} {
		g.Expect(serving.VerifyHostname(host)).To(Succeed())
	}
	// The servers of aggregated APIs believe a client of this name, whoever it says the user is.
	g.Expect(c.apiServer().args).To(ContainElements("--requestheader-allowed-names=front-proxy-client",
		"--requestheader-client-ca-file="+c.path(pki, "ca.crt"), "--proxy-client-cert-file="+c.path(pki, "front-proxy-client.crt")))
	g.Expect(certificate(t, read(t, c.path(pki, "front-proxy-client.crt"))).Subject.CommonName).To(Equal("front-proxy-client"))
	kubeconfig, err := clientcmd.LoadFromFile(c.NodeKubeconfig("node-2"))
	g.Expect(err).NotTo(HaveOccurred())
	kubelet := certificate(t, kubeconfig.AuthInfos["system:node:node-2"].ClientCertificateData).Subject
	g.Expect(kubelet.CommonName).To(Equal("system:node:node-2"))
	g.Expect(kubelet.Organization).To(Equal([]string{"system:nodes"}))
}

func TestClusterForFakeNodesStaysOnLoopback(t *testing.T) {
	g := NewWithT(t)
	c := &Cluster{options: Options{Dir: t.TempDir()}}
	g.Expect(c.writeState()).To(Succeed())
	g.Expect(c.names()).To(ContainElement(assets.KWOK))
	g.Expect(c.apiServer().args).To(ContainElements("--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"))
	g.Expect(certificate(t, read(t, c.path(pki, "apiserver.crt"))).VerifyHostname("10.96.0.1")).NotTo(Succeed())
}

func (c *Cluster) names() []string {
	var names []string
	for _, part := range c.components() {
		names = append(names, part.name)
	}
	return names
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func certificate(t *testing.T, content []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(content)
	if block == nil {
		t.Fatal("not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
