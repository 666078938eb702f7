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

// Package worker runs real nodes: a containerd and a kubelet for each, and one kube-proxy for all, because they share a network.
package worker

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// Node is a real node.
type Node struct {
	// Name is the node's name in the cluster.
	Name string
	// Address is the node's own address, on which its kubelet listens.
	Address string
	// PodRange is the range of addresses of its pods, such as 10.244.1.0/24.
	PodRange string
	// Cgroup is the path of the existing control group of all its pods.
	Cgroup string
}

// Options are those of all nodes.
type Options struct {
	// Dir is the state folder: each node has a folder of its own in it.
	Dir    string
	Assets assets.Assets
	// Registry is the host:port from which every image is pulled, whatever registry its name has.
	Registry string
	// PauseImage is the image for a pod's namespaces.
	PauseImage string
	// Authority is the path of the certificate of the authority that signed the API server's client certificate.
	Authority string
	// DNS is the address of the name server of pods.
	DNS string
	// PodRange is the range of addresses of the pods of all nodes.
	PodRange string
	// Runc is the path of runc, Plugins the folder of the CNI plugins.
	Runc, Plugins string
}

// Processes of a node are named after it.
func containerdName(node Node) string { return node.Name + "-containerd" }
func kubeletName(node Node) string    { return node.Name + "-kubelet" }

// StartContainerd starts the node's container runtime; the kubelet waits for it.
func StartContainerd(o Options, n Node) (*process.Process, error) {
	err := writeFiles(map[string]string{
		o.path(n, "containerd.toml"):                   containerdConfig(o, n),
		o.path(n, "certs.d", "_default", "hosts.toml"): registryHosts(o.Registry),
		o.path(n, "cni", "10-pods.conflist"):           networkConfig(o, n),
	})
	if err != nil {
		return nil, err
	}
	return process.Start(process.Spec{
		Dir: o.Dir, Name: containerdName(n),
		Argv: []string{o.Assets.Path(assets.Containerd), "--config=" + o.path(n, "containerd.toml")},
		// It looks for its shim in the PATH.
		Env: []string{"PATH=" + o.Assets.Dir + ":" + os.Getenv("PATH")},
	})
}

// StartKubelet starts the node's kubelet with the kubeconfig of the node, once its container runtime listens.
func StartKubelet(o Options, n Node, kubeconfig string) (*process.Process, error) {
	if err := writeFiles(map[string]string{o.path(n, "kubelet.yaml"): kubeletConfig(o, n)}); err != nil {
		return nil, err
	}
	return process.Start(process.Spec{Dir: o.Dir, Name: kubeletName(n), Argv: []string{
		o.Assets.Path(assets.Kubelet),
		"--config=" + o.path(n, "kubelet.yaml"),
		"--kubeconfig=" + kubeconfig,
		"--hostname-override=" + n.Name,
		"--node-ip=" + n.Address,
		"--root-dir=" + o.path(n, "kubelet"),
		"--cert-dir=" + o.path(n, "kubelet-pki"),
	}})
}

// StartProxy starts the kube-proxy of all nodes.
func StartProxy(o Options, n Node, kubeconfig string) (*process.Process, error) {
	config := filepath.Join(o.Dir, "kube-proxy.yaml")
	if err := writeFiles(map[string]string{config: proxyConfig(o, n, kubeconfig)}); err != nil {
		return nil, err
	}
	return process.Start(process.Spec{Dir: o.Dir, Name: assets.KubeProxy, Argv: []string{o.Assets.Path(assets.KubeProxy), "--config=" + config}})
}

// Socket returns the path of the socket of the node's container runtime.
func Socket(o Options, n Node) string { return o.path(n, "containerd.sock") }

func (o Options) path(n Node, elements ...string) string {
	return filepath.Join(append([]string{o.Dir, n.Name}, elements...)...)
}

func writeFiles(contents map[string]string) error {
	for path, content := range contents {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("write the configuration of nodes: %w", err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("write the configuration of nodes: %w", err)
		}
	}
	return nil
}

// containerdConfig allows several containerds on one machine, which may lack CAP_SYS_RESOURCE.
func containerdConfig(o Options, n Node) string {
	return fmt.Sprintf(`version = 3
root = %q
state = %q

[grpc]
  address = %q

[plugins.'io.containerd.internal.v1.opt']
  path = %q

[plugins.'io.containerd.nri.v1.nri']
  disable = true

[plugins.'io.containerd.cri.v1.images']
  # Works on any file system; the images are small.
  snapshotter = "native"
  # The other way to pull takes neither the snapshotter nor the registry from this section.
  use_local_image_pull = true
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = %q
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = %q

[plugins.'io.containerd.cri.v1.runtime']
  # Without CAP_SYS_RESOURCE no OOM score can be lowered, and runc gives up.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [%q]
    conf_dir = %q
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = %q
      SystemdCgroup = false
`, o.path(n, "containerd"), o.path(n, "containerd-state"), Socket(o, n), o.path(n, "opt"), o.PauseImage, o.path(n, "certs.d"),
		o.Plugins, o.path(n, "cni"), o.Runc)
}

// registryHosts redirects every image to one registry, without a fallback to the one in the image's name.
func registryHosts(registry string) string {
	return fmt.Sprintf("server = %[1]q\n\n[host.%[1]q]\n  capabilities = [\"pull\", \"resolve\"]\n", "http://"+registry)
}

// networkConfig connects each pod by a virtual Ethernet pair, so that all traffic between pods is routed and passes kube-proxy's
// rules; on a bridge the answers of a Service's pods would bypass them.
func networkConfig(o Options, n Node) string {
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [{
    "type": "ptp",
    "ipam": {"type": "host-local", "dataDir": %q, "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}
  }]
}
`, o.path(n, "addresses"), n.PodRange)
}

// kubeletConfig keeps the kubelet's files in the node's folder, and prevents evictions because of the machine's full disk.
func kubeletConfig(o Options, n Node) string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
healthzBindAddress: %[1]s
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[2]q}
authorization: {mode: Webhook}
containerRuntimeEndpoint: %[3]q
cgroupDriver: cgroupfs
cgroupRoot: %[4]q
failCgroupV1: false
enforceNodeAllocatable: []
failSwapOn: false
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
podLogsDir: %[5]q
volumePluginDir: %[6]q
# Nothing answers there; without an address kubelet complains at every pod.
clusterDNS: [%[7]s]
clusterDomain: cluster.local
resolvConf: ""
serializeImagePulls: false
evictionHard: {memory.available: 1Mi, nodefs.available: 0%%, nodefs.inodesFree: 0%%, imagefs.available: 0%%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
`, n.Address, o.Authority, "unix://"+Socket(o, n), n.Cgroup,
		filepath.Join(o.Dir, process.LogsDir, n.Name+"-pods"), o.path(n, "volume-plugins"), o.DNS)
}

// proxyConfig doesn't change the settings of connection tracking, which affect the whole machine. It masquerades everything, because
// the only kube-proxy would otherwise miss pods on other nodes that call themselves through their Service.
func proxyConfig(o Options, n Node, kubeconfig string) string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: %s
detectLocalMode: ClusterCIDR
hostnameOverride: %s
clientConnection: {kubeconfig: %q}
nftables: {masqueradeAll: true}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`, o.PodRange, n.Name, kubeconfig)
}
