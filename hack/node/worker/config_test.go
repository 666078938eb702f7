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

package worker

import (
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
)

// shared returns the options of all nodes in a test.
func shared() Options {
	return Options{
		Dir: "/state", Assets: assets.Assets{Dir: "/store"}, Registry: "10.240.0.1:5000", PauseImage: "10.240.0.1:5000/pause:local",
		Authority: "/state/pki/ca.crt", DNS: "10.96.0.10", PodRange: "10.244.0.0/16", Runc: "/usr/sbin/runc", Plugins: "/usr/lib/cni",
	}
}

func first() Node {
	return Node{Name: "node-1", Address: "10.240.0.11", PodRange: "10.244.1.0/24", Cgroup: "/group/node-1"}
}

func second() Node {
	return Node{Name: "node-2", Address: "10.240.0.12", PodRange: "10.244.2.0/24", Cgroup: "/group/node-2"}
}

func TestNodeSharesNoPathAndNoAddressToListenOn(t *testing.T) {
	g := NewWithT(t)
	own := func(n Node) []string {
		all := containerdConfig(shared(), n) + networkConfig(shared(), n) + kubeletConfig(shared(), n)
		return regexp.MustCompile(`/(state|group)/[^"\n]+|10\.\d+\.\d+\.\d+(/24)?`).FindAllString(all, -1)
	}
	both := []string{"10.240.0.1", "/state/pki/ca.crt", "10.96.0.10"}
	paths := own(first())
	g.Expect(len(paths)).To(BeNumerically(">", 10))
	for _, path := range own(second()) {
		if path != both[0] && path != both[1] && path != both[2] {
			g.Expect(paths).NotTo(ContainElement(path))
		}
	}
}

func TestKubeletConfig(t *testing.T) {
	g := NewWithT(t)
	var config map[string]any
	g.Expect(yaml.UnmarshalStrict([]byte(kubeletConfig(shared(), first())), &config)).To(Succeed())
	g.Expect(config).To(HaveKeyWithValue("address", "10.240.0.11"))
	g.Expect(config).To(HaveKeyWithValue("healthzBindAddress", "10.240.0.11"))
	g.Expect(config).To(HaveKeyWithValue("containerRuntimeEndpoint", "unix:///state/node-1/containerd.sock"))
	g.Expect(config).To(HaveKeyWithValue("cgroupRoot", "/group/node-1"))
	g.Expect(config).To(HaveKeyWithValue("podLogsDir", "/state/logs/node-1-pods"))
	g.Expect(config["authentication"]).To(HaveKeyWithValue("x509", map[string]any{"clientCAFile": "/state/pki/ca.crt"}))
	g.Expect(config["evictionHard"]).To(HaveKeyWithValue("nodefs.available", "0%"))
}

func TestProxyConfigLeavesTheMachinesConnectionTrackingAlone(t *testing.T) {
	g := NewWithT(t)
	var config map[string]any
	g.Expect(yaml.UnmarshalStrict([]byte(proxyConfig(shared(), first(), "/state/pki/kube-proxy.kubeconfig")), &config)).To(Succeed())
	g.Expect(config["conntrack"]).To(And(
		HaveKeyWithValue("maxPerCore", BeEquivalentTo(0)), HaveKeyWithValue("min", BeEquivalentTo(0)),
		HaveKeyWithValue("tcpEstablishedTimeout", "0s"), HaveKeyWithValue("tcpCloseWaitTimeout", "0s")))
	g.Expect(config["clientConnection"]).To(HaveKeyWithValue("kubeconfig", "/state/pki/kube-proxy.kubeconfig"))
}

func TestRegistryHostsNameTheRegistryAlone(t *testing.T) {
	NewWithT(t).Expect(registryHosts("10.240.0.1:5000")).To(Equal(`server = "http://10.240.0.1:5000"

[host."http://10.240.0.1:5000"]
  capabilities = ["pull", "resolve"]
`))
}

func TestNetworkConfigGivesPodsAddressesOfTheirNode(t *testing.T) {
	g := NewWithT(t)
	var config map[string]any
	g.Expect(yaml.Unmarshal([]byte(networkConfig(shared(), second())), &config)).To(Succeed())
	plugin := config["plugins"].([]any)[0].(map[string]any)
	g.Expect(plugin["ipam"]).To(And(
		HaveKeyWithValue("dataDir", "/state/node-2/addresses"),
		HaveKeyWithValue("ranges", ConsistOf(ConsistOf(HaveKeyWithValue("subnet", "10.244.2.0/24"))))))
}
