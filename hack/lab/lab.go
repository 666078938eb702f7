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

// Package lab is a laboratory to measure and break the operator: a control plane of its own with fake nodes and an audit
// log, the manager, and optionally AlterShield's test server.
package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/local/process"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

// token is the secret that the manager and the test server share.
const token = "altershield-operator"

// Options configure a lab.
type Options struct {
	// Manager is the program of the manager, Config the kustomization to install.
	Manager, Config string
	// Nodes is the number of fake nodes, 4 if zero.
	Nodes int
	// AuditObjects makes the audit log contain whole Deployments and records, and everything that the manager writes.
	AuditObjects bool
	// Log receives a line for each step; nil for none.
	Log io.Writer
}

// Lab is a control plane with the programs that use it.
type Lab struct {
	// Plane is the control plane, Kube a client with all permissions.
	Plane *cluster.Cluster
	Kube  client.WithWatch
	// Server is the test server, nil until Serve.
	Server *altershield.Server
	// Operator is the running manager, nil if there is none; the first one of several.
	Operator *operator.Operator
	// Replicas are the managers started by StartReplicas.
	Replicas []*operator.Operator

	// ServerURL is the address of the test server, empty until Serve.
	ServerURL string

	options    Options
	dir        string
	serverArgs []string
	stopServer func() error
	// stopFronts stops the load balancers of replicas, nil if there are none.
	stopFronts context.CancelFunc
	// metricsReader reads the metrics as an account that may; nil until it does.
	metricsReader *http.Client
	// programs are those beside the operator.
	programs []*process.Process
}

// Open starts a control plane in a temporary folder.
func Open(ctx context.Context, options Options) (*Lab, error) {
	if options.Log == nil {
		options.Log = io.Discard
	}
	programs, err := assets.Ensure(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	for _, path := range []*string{&options.Manager, &options.Config} {
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, fmt.Errorf("opening a lab: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", "altershield-lab-")
	if err != nil {
		return nil, fmt.Errorf("opening a lab: %w", err)
	}
	l := &Lab{options: options, dir: dir}
	l.Plane, err = cluster.Start(ctx, cluster.Options{
		Dir: dir, Assets: programs, Nodes: options.Nodes, AuditLog: true, AuditReadsOf: operator.User,
		AuditObjects: options.AuditObjects, Log: options.Log,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), appv1alpha1.AddToScheme(scheme))
	if err == nil {
		config := l.Plane.Config()
		config.WarningHandler = rest.NoWarnings{} // the warnings of the webhooks are for users
		l.Kube, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("creating a client: %w", err), l.Close(ctx))
	}
	return l, nil
}

// Close stops everything and removes the folder.
func (l *Lab) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var failures []error
	for _, program := range l.programs {
		failures = append(failures, program.Stop(ctx, programGrace))
	}
	if l.stopServer != nil {
		failures = append(failures, l.stopServer())
	}
	failures = append(failures, l.StopOperator(ctx), l.Plane.Stop(ctx))
	return errors.Join(append(failures, os.RemoveAll(l.dir))...)
}

// Serve starts a test server for the managers that are started from then on.
func (l *Lab) Serve(ctx context.Context, options altershield.Options) error {
	file := filepath.Join(l.dir, "altershield-token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing the token of the test server: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("starting the test server: %w", err)
	}
	options.Token = token
	l.Server = altershield.New(options)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- l.Server.Serve(serving, listener) }()
	l.stopServer = func() error {
		stop()
		l.Server.Close()
		return <-served
	}
	l.ServerURL = "http://" + listener.Addr().String()
	l.serverArgs = []string{"--altershield-address=" + l.ServerURL, "--altershield-token-file=" + file}
	return nil
}

// StartOperator installs the operator and starts its manager, instead of a running one. The edits change the options.
func (l *Lab) StartOperator(ctx context.Context, edits ...func(*operator.Options)) error {
	if err := l.StopOperator(ctx); err != nil {
		return err
	}
	running, err := l.install(ctx, operator.Options{}, edits)
	if err != nil {
		return err
	}
	if err := running.Start(ctx); err != nil {
		return err
	}
	l.Operator = running
	if l.Server != nil {
		l.Server.SetCallbackURL(running.CallbackURL())
	}
	return nil
}

// install installs the operator for a manager in this lab.
func (l *Lab) install(ctx context.Context, options operator.Options, edits []func(*operator.Options)) (*operator.Operator, error) {
	options.Dir, options.Binary, options.Config, options.Args = l.dir, l.options.Manager, l.options.Config, append(options.Args, l.serverArgs...)
	for _, edit := range edits {
		edit(&options)
	}
	return operator.Install(ctx, l.Plane, options)
}

// StopOperator stops the manager or all replicas. The installation stays, including the webhooks.
func (l *Lab) StopOperator(ctx context.Context) error {
	running := l.Replicas
	if l.Operator != nil && len(running) == 0 {
		running = []*operator.Operator{l.Operator}
	}
	l.Operator, l.Replicas = nil, nil
	var failures []error
	for _, manager := range running {
		failures = append(failures, manager.Stop(ctx))
	}
	if l.stopFronts != nil {
		l.stopFronts()
	}
	return errors.Join(failures...)
}

// StopAPIServer stops the API server.
func (l *Lab) StopAPIServer(ctx context.Context) error {
	return l.Plane.StopPart(ctx, assets.APIServer)
}

// StartAPIServer starts it again with its data. It restarts kube-controller-manager, too, which does so itself after losing the API
// server wherever several compete for the lease, and kube-scheduler. Without that the garbage collector may never notice deletions during the
// outage, and leave ReplicaSets and records behind, and the scheduler exits if a pod was bound to another node than it remembers.
func (l *Lab) StartAPIServer(ctx context.Context) error {
	if err := l.Plane.StartPart(ctx, assets.APIServer); err != nil {
		return err
	}
	for _, part := range []string{assets.ControllerManager, assets.Scheduler} {
		if err := errors.Join(l.Plane.StopPart(ctx, part), l.Plane.StartPart(ctx, part)); err != nil {
			return err
		}
	}
	return nil
}

// programGrace is how long a program may take to exit.
const programGrace = 30 * time.Second

// Start starts a program beside the operator. Close stops it.
func (l *Lab) Start(name string, argv []string, env ...string) error {
	started, err := process.Start(process.Spec{Dir: l.dir, Name: name, Argv: argv, Env: env})
	if err == nil {
		l.programs = append(l.programs, started)
	}
	return err
}

// Ended returns an error if one of these programs, or the operator, has ended.
func (l *Lab) Ended() error {
	for _, program := range l.programs {
		if err := program.Ended(); err != nil {
			return err
		}
	}
	if l.Operator == nil {
		return nil
	}
	return l.Operator.Ended()
}

// Apply applies YAML as an administrator. The webhooks in it are called at the endpoint.
func (l *Lab) Apply(ctx context.Context, content []byte, webhooks cluster.WebhookEndpoint) error {
	objects, err := manifests.Decode(bytes.NewReader(content))
	if err != nil {
		return err
	}
	return l.Plane.Apply(ctx, objects, webhooks)
}

// Enforced waits until kinds are under change control, by the names of their ControlledKinds.
func (l *Lab) Enforced(ctx context.Context, names ...string) error {
	return Until(ctx, 5*time.Minute, "the change control of all kinds", func(ctx context.Context) error {
		for _, name := range names {
			controlled := &appv1alpha1.ControlledKind{}
			if err := l.Kube.Get(ctx, client.ObjectKey{Name: name}, controlled); err != nil {
				return err
			}
			if !workload.IsEnforced(controlled) || !meta.IsStatusConditionTrue(controlled.Status.Conditions, appv1alpha1.ConditionReady) {
				return fmt.Errorf("ControlledKind %s isn't ready", name)
			}
		}
		return nil
	})
}

// Declare puts the KubernetesClusters of the samples under control, and waits until they are.
func (l *Lab) Declare(ctx context.Context) error {
	for _, file := range []string{"config/samples/kubernetescluster/crd.yaml", "config/samples/kinds/kubernetescluster.yaml"} {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("declaring a kind (run this at the root of the repository): %w", err)
		}
		if err := l.Apply(ctx, bytes.ReplaceAll(content, []byte("mode: Observe"), []byte("mode: Enforce")), cluster.WebhookEndpoint{}); err != nil {
			return err
		}
	}
	return l.Enforced(ctx, "kubernetesclusters.ecs.yun.com")
}
