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

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/traas-stack/altershield-operator/hack/node/preflight"
	"github.com/traas-stack/altershield-operator/hack/node/worker"
)

// Addresses in the network of the cluster. It is a namespace of its own, so they can't collide with the machine's.
const (
	// hostAddress is the address at which pods reach the API server, the registry and the servers of the command.
	hostAddress    = "10.240.0.1"
	apiServerPort  = 6443
	registryPort   = "5000"
	serviceRange   = "10.96.0.0/16"
	serviceAddress = "10.96.0.1"
	dnsAddress     = "10.96.0.10"
	podRange       = "10.244.0.0/16"
	pauseImage     = "pause:local"

	registryAddress = hostAddress + ":" + registryPort
)

func (p plan) nodes() []worker.Node {
	var nodes []worker.Node
	for i := range p.Nodes {
		name := fmt.Sprintf("node-%d", i+1)
		nodes = append(nodes, worker.Node{
			Name:     name,
			Address:  fmt.Sprintf("10.240.0.%d", 11+i),
			PodRange: fmt.Sprintf("10.244.%d.0/24", 1+i),
			Cgroup:   path.Join(p.Cgroup, name),
		})
	}
	return nodes
}

func (p plan) names() []string {
	var names []string
	for _, node := range p.nodes() {
		names = append(names, node.Name)
	}
	return names
}

// workers returns the options of all nodes.
func (p plan) workers() worker.Options {
	runc, err := exec.LookPath(preflight.Runc)
	if err != nil {
		runc = preflight.Runc // removed since the preflight check; containerd will report it
	}
	return worker.Options{
		Dir: p.Dir, Assets: p.Assets, Registry: registryAddress, PauseImage: registryAddress + "/" + pauseImage,
		DNS: dnsAddress, PodRange: podRange, Runc: runc, Plugins: filepath.Dir(preflight.Plugin),
	}
}

// setUpNetwork gives the new network namespace its addresses. They are on the loopback interface, the only one:
// each pod gets a virtual Ethernet pair.
func setUpNetwork(ctx context.Context, nodes []worker.Node) error {
	commands := [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", hostAddress + "/32", "dev", "lo"},
		// kube-proxy changes the destination of packets to a Service, but they need a route first.
		{"route", "add", serviceRange, "dev", "lo", "src", hostAddress},
	}
	for _, node := range nodes {
		commands = append(commands, []string{"address", "add", node.Address + "/32", "dev", "lo"})
	}
	for _, args := range commands {
		cmd := exec.CommandContext(ctx, "ip", args...)
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", cmd, err, output)
		}
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return fmt.Errorf("route between pods: %w", err)
	}
	return nil
}

// forgetProxies unsets the proxy variables: the cluster's network can't reach the machine's proxies.
func forgetProxies() error {
	for _, variable := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
		for _, name := range []string{variable, strings.ToLower(variable)} {
			if err := os.Unsetenv(name); err != nil {
				return fmt.Errorf("unset the proxy: %w", err)
			}
		}
	}
	return nil
}
