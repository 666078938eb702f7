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
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

const (
	// system has the objects and the service account of Flux.
	system = "flux-system"
	// fluxGrace is how long Flux's controllers may take to exit.
	fluxGrace = 10 * time.Second
)

// flux is Flux's controllers and a Git server.
type flux struct {
	// url is the address at which the repositories are served.
	url         string
	server      *http.Server
	controllers []*process.Process
}

func startFlux(ctx context.Context, s *stage, out io.Writer) (*flux, error) {
	f := &flux{}
	programs, err := assets.EnsureFlux(ctx, out)
	if err == nil {
		err = s.lab.Namespace(ctx, system, false)
	}
	if err == nil {
		err = f.serve(ctx, filepath.Join(s.dir, "flux"))
	}
	if err == nil {
		err = f.start(ctx, s, programs)
	}
	if err != nil {
		return nil, errors.Join(err, f.close(ctx))
	}
	return f, nil
}

func (f *flux) close(ctx context.Context) error {
	var failures []error
	for _, controller := range f.controllers {
		failures = append(failures, controller.Stop(context.WithoutCancel(ctx), fluxGrace))
	}
	if f.server != nil {
		failures = append(failures, f.server.Close())
	}
	return errors.Join(failures...)
}

// serve serves the Git repositories in a folder.
func (f *flux) serve(ctx context.Context, repositories string) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return fmt.Errorf("serving Git repositories: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serving Git repositories: %w", err)
	}
	f.url = "http://" + listener.Addr().String()
	f.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0), // one that is cut off at the end
		Env: []string{"GIT_PROJECT_ROOT=" + repositories, "GIT_HTTP_EXPORT_ALL=1"},
	}}
	go func() { _ = f.server.Serve(listener) }() // it ends with close
	return nil
}

// start starts the two controllers with their service account.
func (f *flux) start(ctx context.Context, s *stage, programs assets.Assets) error {
	definitions, err := assets.FluxDefinitions(ctx)
	if err != nil {
		return err
	}
	for _, folder := range definitions {
		if err := s.lab.Plane.Install(ctx, folder, cluster.WebhookEndpoint{}); err != nil {
			return err
		}
	}
	storage := filepath.Join(s.dir, "artifacts")
	if err := os.Mkdir(storage, 0o700); err != nil {
		return fmt.Errorf("starting Flux: %w", err)
	}
	kubeconfig, err := s.account(ctx, system, "flux")
	if err != nil {
		return err
	}
	port, err := cluster.FreePort()
	if err != nil {
		return err
	}
	artifacts := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for name, flags := range map[string][]string{
		assets.SourceController:    {"--storage-path=" + storage, "--storage-addr=" + artifacts, "--storage-adv-addr=" + artifacts},
		assets.KustomizeController: {},
	} {
		argv := append([]string{programs.Path(name), "--metrics-addr=0", "--health-addr=127.0.0.1:0", "--concurrent=10"}, flags...)
		env := []string{"KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=" + system}
		started, err := process.Start(process.Spec{Dir: s.dir, Name: name, Argv: argv, Env: env})
		if err != nil {
			return err
		}
		f.controllers = append(f.controllers, started)
	}
	return nil
}
