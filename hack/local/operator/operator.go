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

// Package operator runs the operator's manager beside a local control plane, with the permissions of its service account.
package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// The manager's service account, as named in config/.
const (
	Namespace      = "altershieldoperator-system"
	ServiceAccount = "altershieldoperator-controller-manager"
	// User is the user name of the manager at the API server.
	User = "system:serviceaccount:" + Namespace + ":" + ServiceAccount
)

const (
	// Name is the name of the manager's process in the state folder.
	Name = "manager"
	// Names of files in the state folder. The name of a kubeconfig begins with that of its manager.
	kubeconfigSuffix = ".kubeconfig"
	servingCerts     = "serving-certs"

	loopback = "127.0.0.1"
	// readyTimeout is how long the manager may take to be ready.
	readyTimeout = 60 * time.Second
)

// Grace is how long the manager may take to exit.
const Grace = 30 * time.Second

// Ports are the TCP ports of the manager on 127.0.0.1. Zero means any free port.
type Ports struct {
	Webhook, Metrics, Probe, Callback int
}

// Options configure a manager.
type Options struct {
	// Name distinguishes managers in a state folder. The default is Name.
	Name string
	// Dir is the state folder, the one of the control plane.
	Dir string
	// Binary is the absolute path of the manager.
	Binary string
	// Args are further arguments of the manager.
	Args []string
	// Env is added to the manager's environment, as NAME=value.
	Env []string
	// Config is the kustomization to install.
	Config string
	// Certificates is the folder with the manager's certificate, if something else keeps that and the CA bundles of the webhook
	// configurations. Without one, Install creates a certificate.
	Certificates string
	Ports        Ports
	// Front is the port at which the API server calls the webhooks, that of the manager if zero.
	Front int
	// Through is a proxy between the manager and the API server, nil for none. The API server's own calls don't use it.
	Through *cluster.APIEndpoint
	// Earlier leaves out the flags that v0.1 doesn't know.
	Earlier bool
	// Detached lets the manager outlive the command that starts it.
	Detached bool
}

// Operator is a manager beside a control plane.
type Operator struct {
	options Options
	argv    []string
	process *process.Process
}

// Install installs the kustomization and creates the manager's certificate and kubeconfig, but doesn't start the manager.
func Install(ctx context.Context, plane *cluster.Cluster, options Options) (*Operator, error) {
	if err := options.Ports.pick(); err != nil {
		return nil, err
	}
	options.Name, options.Front = cmp.Or(options.Name, Name), cmp.Or(options.Front, options.Ports.Webhook)
	certs, ca := options.Certificates, []byte(nil)
	if certs == "" {
		var err error
		certs = filepath.Join(options.Dir, servingCerts)
		if ca, err = cluster.NewServingCert(certs); err != nil {
			return nil, err
		}
	}
	if err := plane.Install(ctx, options.Config, cluster.WebhookEndpoint{Port: options.Front, CABundle: ca}); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(options.Dir, options.Name+kubeconfigSuffix)
	if err := plane.ServiceAccountKubeconfig(ctx, Namespace, ServiceAccount, kubeconfig, options.Through); err != nil {
		return nil, err
	}
	return &Operator{options: options, argv: argv(options, kubeconfig, certs)}, nil
}

// Start starts the manager, instead of a running one, and waits until it is ready.
func (o *Operator) Start(ctx context.Context) error {
	_, err := process.StopIn(ctx, o.options.Dir, Grace, o.options.Name)
	if err != nil {
		return err
	}
	o.process, err = process.Start(process.Spec{
		Dir: o.options.Dir, Name: o.options.Name, Detached: o.options.Detached, Argv: o.argv, Env: o.options.Env,
	})
	if err != nil {
		return err
	}
	if err := o.awaitReady(ctx); err != nil {
		return errors.Join(err, o.process.Stop(ctx, Grace))
	}
	return nil
}

// Stop stops the manager gracefully.
func (o *Operator) Stop(ctx context.Context) error { return o.process.Stop(ctx, Grace) }

// Kill kills the manager at once.
func (o *Operator) Kill(ctx context.Context) error { return o.process.Kill(ctx) }

// Ended returns an error with the end of the log if the manager has exited without Stop or Kill.
func (o *Operator) Ended() error {
	if o.process == nil {
		return nil
	}
	return o.process.Ended()
}

// Pid returns the process id, zero if the manager was never started.
func (o *Operator) Pid() int {
	if o.process == nil {
		return 0
	}
	return o.process.Pid()
}

// Usage returns the resource usage of the manager since its start.
func (o *Operator) Usage() (process.Usage, error) { return o.process.Usage() }

// MetricsAddress returns the address of the metrics, which are served over TLS.
func (o *Operator) MetricsAddress() string {
	return net.JoinHostPort(loopback, strconv.Itoa(o.options.Ports.Metrics))
}

// Options returns the options of Install, with the chosen ports.
func (o *Operator) Options() Options { return o.options }

// CallbackURL returns the URL for callbacks of AlterShield Server.
func (o *Operator) CallbackURL() string { return o.RouterURL() + "/openapi/altershield/callback" }

// RouterURL returns the URL of the router, which is plain HTTP.
func (o *Operator) RouterURL() string {
	return "http://" + net.JoinHostPort(loopback, strconv.Itoa(o.options.Ports.Callback))
}

// LogPath returns the path of the manager's log.
func (o *Operator) LogPath() string { return process.LogPath(o.options.Dir, o.options.Name) }

func (p *Ports) pick() error {
	return cluster.FreePorts(&p.Webhook, &p.Metrics, &p.Probe, &p.Callback)
}

func argv(options Options, kubeconfig, certs string) []string {
	argv := []string{
		options.Binary,
		"--kubeconfig=" + kubeconfig,
		"--webhook-cert-dir=" + certs,
		"--webhook-port=" + strconv.Itoa(options.Ports.Webhook),
		"--metrics-bind-address=" + net.JoinHostPort(loopback, strconv.Itoa(options.Ports.Metrics)),
		"--health-probe-bind-address=" + net.JoinHostPort(loopback, strconv.Itoa(options.Ports.Probe)),
		"--callback-bind-address=" + net.JoinHostPort(loopback, strconv.Itoa(options.Ports.Callback)),
	}
	if !options.Earlier {
		argv = append(argv, "--source-allow-cidr=127.0.0.0/8") // sources of metrics run on this machine, too
	}
	return append(argv, options.Args...)
}

// awaitReady waits until the manager is ready.
func (o *Operator) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	url := fmt.Sprintf("http://%s/readyz", net.JoinHostPort(loopback, strconv.Itoa(o.options.Ports.Probe)))
	err := process.Await(ctx, o.options.Name+" to be ready", process.Answers(http.DefaultClient, url), o.process)
	if err != nil && o.process.Alive() {
		return o.process.Failure(err)
	}
	return err
}
