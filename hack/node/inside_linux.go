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
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/local/process"
	"github.com/traas-stack/altershield-operator/hack/node/isolate"
	"github.com/traas-stack/altershield-operator/hack/node/registry"
	"github.com/traas-stack/altershield-operator/hack/node/worker"
)

const (
	// startTimeout bounds the start on a slow machine; it takes about ten seconds.
	startTimeout = 10 * time.Minute
	// commandGrace is how long the command may take to exit after a signal.
	commandGrace = 30 * time.Second
)

// inside starts the cluster, in the namespaces, and runs the command. When it returns, the namespaces end with all their
// processes, so nothing has to be stopped.
func inside(ctx context.Context, dir string) (exitCode int, err error) {
	var p plan
	content, err := os.ReadFile(filepath.Join(dir, planFile))
	if err != nil {
		return 0, fmt.Errorf("read the plan: %w", err)
	}
	if err := json.Unmarshal(content, &p); err != nil {
		return 0, fmt.Errorf("read the plan: %w", err)
	}
	begin := time.Now()
	all, err := startCluster(ctx, p)
	if err != nil {
		return 0, fmt.Errorf("start a cluster with real nodes: %w", err)
	}
	fmt.Fprintf(os.Stderr, "the cluster is up, in %s\n", time.Since(begin).Round(100*time.Millisecond))
	exitCode, err = runCommand(ctx, p)
	if exitCode != 0 && ctx.Err() == nil {
		err = errors.Join(err, process.Dead(all.processes()...))
	}
	return exitCode, err
}

// startCluster starts everything and waits until pods can run and Services answer. It returns the processes that have to keep running.
func startCluster(ctx context.Context, p plan) (*running, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := forgetProxies(); err != nil {
		return nil, err
	}
	if err := setUpNetwork(ctx, p.nodes()); err != nil {
		return nil, err
	}
	images, err := startRegistry(ctx, p)
	if err != nil {
		return nil, err
	}
	all := &running{parts: []*process.Process{images}}
	for _, node := range p.nodes() {
		containerd, err := worker.StartContainerd(p.workers(), node)
		if err != nil {
			return nil, err
		}
		all.parts = append(all.parts, containerd)
	}
	all.plane, err = cluster.Start(ctx, cluster.Options{
		Dir: p.Dir, Assets: p.Assets, Ports: cluster.Ports{APIServer: apiServerPort},
		AuditLog: true, AuditReadsOf: operator.User, Log: os.Stderr,
		Real: &cluster.RealNodes{Address: hostAddress, Names: p.names()},
	})
	if err != nil {
		return nil, err
	}
	return all, all.startNodes(ctx, p)
}

// startNodes starts the kubelets and kube-proxy, and waits for them.
func (r *running) startNodes(ctx context.Context, p plan) error {
	shared := p.workers()
	shared.Authority = r.plane.AuthorityFile()
	for _, node := range p.nodes() {
		fmt.Fprintf(os.Stderr, "starting %s\n", node.Name)
		if err := r.await(ctx, "the container runtime of "+node.Name, listening("unix", worker.Socket(shared, node))); err != nil {
			return err
		}
		kubelet, err := worker.StartKubelet(shared, node, r.plane.NodeKubeconfig(node.Name))
		if err != nil {
			return err
		}
		r.parts = append(r.parts, kubelet)
	}
	proxy, err := worker.StartProxy(shared, p.nodes()[0], r.plane.ProxyKubeconfig())
	if err != nil {
		return err
	}
	r.parts = append(r.parts, proxy)
	if err := r.await(ctx, "nodes", r.plane.NodesReady); err != nil {
		return err
	}
	return r.await(ctx, "the Service kubernetes, made by kube-proxy", serviceAnswers(r.plane))
}

// startRegistry starts the registry with the first images.
func startRegistry(ctx context.Context, p plan) (*process.Process, error) {
	running, err := registry.Start(ctx, p.Dir, registryAddress, p.Assets)
	if err != nil {
		return nil, err
	}
	for _, image := range []registry.Image{
		{Program: imageProgram(p.Dir, pause), Paths: []string{"pause"}, References: []string{pauseImage}},
		{
			Program:    imageProgram(p.Dir, busybox),
			Paths:      []string{"bin/busybox", "bin/sleep", "bin/echo", "bin/cat", "bin/sh"},
			References: []string{"library/busybox:latest", "library/busybox:1.37", "library/busybox:1.36"},
		},
	} {
		if err := registry.Push(ctx, p.Dir, registryAddress, p.Assets, image); err != nil {
			return nil, err
		}
	}
	return running, nil
}

// runCommand runs the command, with the terminal if there is one, and returns its exit code.
func runCommand(ctx context.Context, p plan) (exitCode int, err error) {
	// Set before the command is looked up: it may be kubectl.
	if err := os.Setenv("PATH", p.Assets.Dir+":"+os.Getenv("PATH")); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+filepath.Join(p.Dir, "kubeconfig"),
		"NODE_REGISTRY="+registryAddress,
		"NODE_ADDRESS="+hostAddress,
		"NODE_STATE="+p.Dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = commandGrace
	if exitCode, err = isolate.ExitCode(cmd.Run()); err != nil {
		return 0, fmt.Errorf("run %s: %w", p.Command[0], err)
	}
	return exitCode, nil
}

// running are the parts of the cluster.
type running struct {
	plane *cluster.Cluster
	// parts are the processes besides the control plane's.
	parts []*process.Process
}

// processes are all of them.
func (r *running) processes() []*process.Process { return slices.Concat(r.plane.Processes(), r.parts) }

// await polls a condition until it holds. It gives up when a part dies or the context ends.
func (r *running) await(ctx context.Context, what string, holds func(context.Context) error) error {
	return process.Await(ctx, what, holds, r.processes()...)
}

func listening(network, address string) func(context.Context) error {
	return func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
}

// serviceAnswers returns a condition that holds if the API server answers at the address of its Service.
func serviceAnswers(plane *cluster.Cluster) func(context.Context) error {
	return func(ctx context.Context) error {
		config := plane.Config()
		config.Host = "https://" + serviceAddress
		config.Timeout = 2 * time.Second
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			return err
		}
		defer client.CloseIdleConnections()
		return process.Answers(client, config.Host+"/readyz")(ctx)
	}
}
