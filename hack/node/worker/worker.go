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

// Package worker runs real nodes: a containerd and a kubelet for each, and one kube-proxy for all, as they share a network.
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
	// Address is the node's own, where its kubelet listens.
	Address string
	// PodRange are the addresses of its pods, as 10.244.1.0/24.
	PodRange string
	// Cgroup is the path of the control group, made before, that all its pods are below.
	Cgroup string
}

// Options are what all nodes share.
type Options struct {
	// Dir is the state folder: each node has a folder of its own in it.
	Dir    string
	Assets assets.Assets
	// Registry is the host:port where every image is pulled from, whatever registry its name has.
	Registry string
	// PauseImage is the image that holds a pod's namespaces.
	PauseImage string
	// Authority is the path of the certificate of the authority that the API server's client certificate is signed by.
	Authority string
	// DNS is the address that pods ask for names.
	DNS string
	// PodRange are the addresses of the pods of all nodes.
	PodRange string
	// Runc is the path of runc, Plugins the folder of the CNI plugins.
	Runc, Plugins string
}

// Processes of a node are named after it.
func containerdName(node Node) string { return node.Name + "-containerd" }
func kubeletName(node Node) string    { return node.Name + "-kubelet" }

// StartContainerd starts the node's container runtime; kubelet waits for it.
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
		// It looks for its shim there.
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

// Socket is where the node's container runtime listens.
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
