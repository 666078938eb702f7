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

// Package testkit provides a real API server with the operator's kinds, its clients, a stub of AlterShield Server, and objects for
// component tests.
package testkit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
)

// APIServer is an etcd and a kube-apiserver for the tests of one package. It starts at the first use. The zero value is ready to use.
type APIServer struct {
	once        sync.Once
	environment envtest.Environment
	config      *rest.Config
	err         error
}

// Run runs the tests, stops the API server, and returns the exit code.
func (s *APIServer) Run(tests *testing.M) int {
	code := tests.Run()
	if s.config == nil {
		return code
	}
	if err := s.environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		return 1
	}
	return code
}

// Client returns a client with the rights of a cluster admin.
func (s *APIServer) Client(t *testing.T) client.WithWatch {
	t.Helper()
	return s.ClientOf(t, "")
}

// ClientOf returns a client of a user, who has no rights of its own.
func (s *APIServer) ClientOf(t *testing.T, user string) client.WithWatch {
	t.Helper()
	g := gomega.NewWithT(t)
	config := s.Config(t)
	config.Impersonate.UserName = user
	kube, err := client.NewWithWatch(config, client.Options{Scheme: Scheme()})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return kube
}

// Config returns the configuration of clients with the rights of a cluster admin.
func (s *APIServer) Config(t *testing.T) *rest.Config {
	t.Helper()
	s.once.Do(func() { s.config, s.err = s.start(t.Context()) })
	gomega.NewWithT(t).Expect(s.err).NotTo(gomega.HaveOccurred())
	return rest.CopyConfig(s.config)
}

// startTimeout is for a machine with other work: the default of 20 seconds makes a test depend on its speed.
const startTimeout = 5 * time.Minute

func (s *APIServer) start(ctx context.Context) (*rest.Config, error) {
	programs, err := assets.Ensure(context.WithoutCancel(ctx), os.Stderr)
	if err != nil {
		return nil, err
	}
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	s.environment = envtest.Environment{
		BinaryAssetsDirectory: programs.Dir,
		CRDInstallOptions: envtest.CRDInstallOptions{
			Paths: []string{filepath.Join(root, "config", "crd", "bases")}, ErrorIfPathMissing: true, MaxTime: startTimeout,
		},
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
	}
	return s.environment.Start()
}

// moduleRoot returns the closest parent directory with a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("finding the module: no directory above the tests has a go.mod")
		}
		dir = parent
	}
}

// Namespace creates a namespace for a test, under change control if controlled is set: then all kinds are enforced.
func Namespace(t *testing.T, kube client.Client, controlled bool) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if controlled {
		namespace.Labels = map[string]string{"admission-webhook-altershield": "enabled"}
		for _, kind := range Kinds() {
			err := kube.Create(t.Context(), ControlledKind(workload.ControlledKindName(kind), appv1alpha1.ModeEnforce))
			gomega.NewWithT(t).Expect(client.IgnoreAlreadyExists(err)).To(gomega.Succeed())
		}
	}
	gomega.NewWithT(t).Expect(kube.Create(t.Context(), namespace)).To(gomega.Succeed())
	return namespace.Name
}
