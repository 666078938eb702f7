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
	"bytes"
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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/process"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

const (
	// namespace has the workloads, flux the objects and the service account of Flux.
	namespace, flux = "shop", "flux-system"
	// fluxGrace is how long Flux's controllers may take to exit.
	fluxGrace = 10 * time.Second
	// account is that of Flux's controllers.
	account = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: flux, namespace: flux-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: flux}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: flux, namespace: flux-system}]
`
)

// stage is a cluster with the operator, Flux and a Git server.
type stage struct {
	lab *lab.Lab
	// repositories is the folder of Git repositories, url the address at which they are served.
	repositories, url string
	server            *http.Server
	controllers       []*process.Process
}

func prepare(ctx context.Context, l *lab.Lab, out io.Writer) (*stage, error) {
	s := &stage{lab: l, repositories: filepath.Join(filepath.Dir(l.Plane.Kubeconfig()), "git")}
	programs, err := assets.EnsureFlux(ctx, out)
	if err != nil {
		return nil, err
	}
	err = l.Serve(ctx, altershield.Options{InsertTime: -1})
	if err == nil {
		err = l.StartOperator(ctx)
	}
	if err == nil {
		err = l.SetBatch(ctx, 1)
	}
	if err == nil {
		err = errors.Join(l.Namespace(ctx, namespace, true), l.Namespace(ctx, flux, false), s.declare(ctx))
	}
	if err == nil {
		err = s.serve(ctx)
	}
	if err == nil {
		err = s.startFlux(ctx, programs)
	}
	if err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

func (s *stage) close(ctx context.Context) error {
	var failures []error
	for _, controller := range s.controllers {
		failures = append(failures, controller.Stop(context.WithoutCancel(ctx), fluxGrace))
	}
	if s.server != nil {
		failures = append(failures, s.server.Close())
	}
	return errors.Join(failures...)
}

// declare puts KubernetesClusters under control.
func (s *stage) declare(ctx context.Context) error {
	for _, file := range []string{"config/samples/kubernetescluster/crd.yaml", "config/samples/kinds/kubernetescluster.yaml"} {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("declaring a kind (run this at the root of the repository): %w", err)
		}
		if err := s.apply(ctx, bytes.ReplaceAll(content, []byte("mode: Observe"), []byte("mode: Enforce"))); err != nil {
			return err
		}
	}
	kind := &unstructured.Unstructured{}
	kind.SetAPIVersion("app.ops.cloud.alipay.com/v1alpha1")
	kind.SetKind("ControlledKind")
	kind.SetName("kubernetesclusters.ecs.yun.com")
	return s.until(ctx, kind, "Ready of ControlledKind "+kind.GetName(), "Ready", "True")
}

// apply applies objects as an administrator.
func (s *stage) apply(ctx context.Context, content []byte) error {
	objects, err := manifests.Decode(bytes.NewReader(content))
	if err != nil {
		return err
	}
	for _, object := range objects {
		apply := client.ApplyConfigurationFromUnstructured(object)
		if err := s.lab.Kube.Apply(ctx, apply, client.FieldOwner("admin"), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// until waits until a condition of an object has a status.
func (s *stage) until(ctx context.Context, object *unstructured.Unstructured, what, condition, status string) error {
	return lab.Until(ctx, patience, what, func(ctx context.Context) error {
		if err := s.lab.Kube.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if found := conditionOf(object, condition); found["status"] != status {
			return fmt.Errorf("it is %v", found)
		}
		return nil
	})
}

// serve serves the Git repositories.
func (s *stage) serve(ctx context.Context) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return fmt.Errorf("serving Git repositories: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serving Git repositories: %w", err)
	}
	s.url = "http://" + listener.Addr().String()
	s.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0), // one that is cut off at the end
		Env: []string{"GIT_PROJECT_ROOT=" + s.repositories, "GIT_HTTP_EXPORT_ALL=1"},
	}}
	go func() { _ = s.server.Serve(listener) }() // it ends with close
	return nil
}

// startFlux starts the two controllers with their service account.
func (s *stage) startFlux(ctx context.Context, programs assets.Assets) error {
	definitions, err := assets.FluxDefinitions(ctx)
	if err != nil {
		return err
	}
	for _, folder := range definitions {
		if err := s.lab.Plane.Install(ctx, folder, cluster.WebhookEndpoint{}); err != nil {
			return err
		}
	}
	if err := s.apply(ctx, []byte(account)); err != nil {
		return err
	}
	dir := filepath.Dir(s.repositories)
	storage := filepath.Join(dir, "artifacts")
	if err := os.Mkdir(storage, 0o700); err != nil {
		return fmt.Errorf("starting Flux: %w", err)
	}
	kubeconfig := filepath.Join(dir, "flux.kubeconfig")
	if err := s.lab.Plane.ServiceAccountKubeconfig(ctx, flux, "flux", kubeconfig, nil); err != nil {
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
		env := []string{"KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=" + flux}
		started, err := process.Start(process.Spec{Dir: dir, Name: name, Argv: argv, Env: env})
		if err != nil {
			return err
		}
		s.controllers = append(s.controllers, started)
	}
	return nil
}
