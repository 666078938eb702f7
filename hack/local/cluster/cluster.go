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

// Package cluster runs a real Kubernetes control plane as processes on this machine: etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler. With fake nodes, whose pods KWOK simulates, everything listens on
// 127.0.0.1. Real nodes are started by the caller.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

const (
	// defaultNodes is the default number of fake nodes.
	defaultNodes = 4
	// startTimeout bounds a start on a slow machine; a start takes about ten seconds.
	startTimeout = 5 * time.Minute
	// stopGrace is how long a part may take to exit.
	stopGrace = 10 * time.Second
)

// Options configure a cluster.
type Options struct {
	// Dir holds all files of the cluster: data, keys, logs, process ids. Start reuses existing ones.
	Dir string
	// Assets are the programs to run.
	Assets assets.Assets
	// Ports to listen on; zero means any free port.
	Ports Ports
	// Nodes is the number of fake nodes, 4 if zero.
	Nodes int
	// Real configures a cluster of real nodes, which the caller starts; nil means fake nodes.
	Real *RealNodes
	// Detached lets the cluster outlive the command that starts it.
	Detached bool
	// AuditLog writes every write request to Dir/audit.log, a JSON object a line.
	AuditLog bool
	// AuditReadsOf is a user whose reads are written to the audit log, too.
	AuditReadsOf string
	// AuditObjects adds the written objects to the audit log: whole workloads and objects of the operator's kinds, of all users, and
	// all objects written by AuditReadsOf. The log of an hour may reach its maximum size of one gigabyte.
	AuditObjects bool
	// Log receives a line for each step; nil for none.
	Log io.Writer
}

// RealNodes are the nodes of a cluster without fake ones.
type RealNodes struct {
	// Address is the address at which the nodes and their pods reach the API server, other than loopback. The API server listens on
	// all addresses of the machine, so the caller should run it in a network of its own.
	Address string
	// Names are the nodes' names; each gets credentials.
	Names []string
}

// Cluster is a control plane on this machine.
type Cluster struct {
	options   Options
	admin     *rest.Config
	clients   kubernetes.Interface
	processes []*process.Process // in the order of their start
	started   []*process.Process // those started by Start
}

// Start starts the parts of a cluster and waits until it can run pods; with real nodes, until nodes can join. It keeps running
// parts with the same command line, so that another start in the same folder with the same ports starts only the missing
// ones. If a part fails, all parts started by this call are stopped; their logs stay in the folder.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if options.Nodes == 0 {
		options.Nodes = defaultNodes
	}
	if options.Log == nil {
		options.Log = io.Discard
	}
	var err error
	if options.Dir, err = filepath.Abs(options.Dir); err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	if err := options.Ports.pick(); err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	c := &Cluster{options: options}
	if err := c.writeState(); err != nil {
		return nil, fmt.Errorf("start a cluster in %s: %w", options.Dir, err)
	}
	err = c.startComponents(ctx)
	if err == nil && options.Real == nil {
		err = c.startNodes(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a cluster in %s: %w", options.Dir, err),
			stopAll(context.WithoutCancel(ctx), c.started))
	}
	return c, nil
}

// StopIn stops the cluster that an earlier command started in a folder, and returns the names of the stopped parts.
func StopIn(ctx context.Context, dir string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("stop the cluster: %w", err)
	}
	names := componentNames()
	slices.Reverse(names)
	stopped, err := process.StopIn(ctx, dir, stopGrace, names...)
	if err != nil {
		return nil, fmt.Errorf("stop the cluster in %s: %w", dir, err)
	}
	return stopped, nil
}

// Stop stops every part, the last started first. The folder stays.
func (c *Cluster) Stop(ctx context.Context) error { return stopAll(ctx, c.processes) }

// Started returns the number of parts started by Start; the others were already running.
func (c *Cluster) Started() int { return len(c.started) }

// AuditLog returns the path of the audit log.
func (c *Cluster) AuditLog() string { return c.path(auditLog) }

// Usage returns the resource usage of the parts of the control plane since their start, by name.
func (c *Cluster) Usage() (map[string]process.Usage, error) {
	used := map[string]process.Usage{}
	for _, p := range c.processes {
		usage, err := p.Usage()
		if err != nil {
			return nil, err
		}
		used[p.Name] = usage
	}
	return used, nil
}

// Processes returns the running parts of the control plane.
func (c *Cluster) Processes() []*process.Process { return c.processes }

// await polls a condition until it holds. It gives up when a part dies or the context ends.
func (c *Cluster) await(ctx context.Context, what string, holds func(context.Context) error) error {
	return process.Await(ctx, fmt.Sprintf("%s (logs are in %s)", what, c.path(process.LogsDir)), holds, c.processes...)
}

func (c *Cluster) path(elements ...string) string {
	return filepath.Join(append([]string{c.options.Dir}, elements...)...)
}

func (c *Cluster) logf(format string, args ...any) {
	fmt.Fprintf(c.options.Log, format+"\n", args...)
}

// stopAll stops processes, the last first.
func stopAll(ctx context.Context, processes []*process.Process) error {
	var failures []error
	for _, p := range slices.Backward(processes) {
		failures = append(failures, p.Stop(ctx, stopGrace))
	}
	return errors.Join(failures...)
}

// partGrace is how long a part may take to exit. The API server would wait for its watches, which don't end by themselves; it answers
// all other requests in that time.
const partGrace = 3 * time.Second

// StopPart stops a part of the cluster, such as kube-apiserver, as an upgrade would. The others keep running.
func (c *Cluster) StopPart(ctx context.Context, name string) error {
	found := slices.IndexFunc(c.processes, func(p *process.Process) bool { return p.Name == name })
	if found < 0 {
		return fmt.Errorf("stop %s: it is not running", name)
	}
	if err := c.processes[found].Stop(ctx, partGrace); err != nil {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	c.processes = slices.Delete(c.processes, found, found+1)
	return nil
}

// StartPart starts a stopped part with its data and at its address, and waits until it is ready.
func (c *Cluster) StartPart(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	parts := c.components()
	found := slices.IndexFunc(parts, func(part component) bool { return part.name == name })
	if found < 0 {
		return fmt.Errorf("start %s: the cluster has no such part", name)
	}
	err := c.start(ctx, parts[found])
	// The first started is the last stopped.
	order := componentNames()
	slices.SortStableFunc(c.processes, func(a, b *process.Process) int {
		return slices.Index(order, a.Name) - slices.Index(order, b.Name)
	})
	return err
}
