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

// Command ecosystem has the operator work with cert-manager and with the Prometheus operator, which run beside it on a local control plane. It
// prints what it sees, and fails where that isn't as documented.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

func main() {
	manager := flag.String("manager", "bin/manager", "`program` of the manager")
	flag.Parse()
	lab.Main("ecosystem", func(ctx context.Context) error { return ecosystem(ctx, *manager, os.Stdout) })
}

// ecosystem tries cert-manager, and then with its certificates the Prometheus operator.
func ecosystem(ctx context.Context, manager string, out io.Writer) (err error) {
	began := time.Now()
	l, err := lab.Open(ctx, lab.Options{Manager: manager, Config: overlay})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	if err := l.Serve(ctx, altershield.Options{InsertTime: -1}); err != nil {
		return err
	}
	s := newStage(l, out)
	if err := tryCertManager(ctx, s); err != nil {
		return fmt.Errorf("cert-manager: %w", err)
	}
	if err := tryPrometheusOperator(ctx, s); err != nil {
		return fmt.Errorf("the Prometheus operator: %w", err)
	}
	fmt.Fprintf(out, "\nIn %s: all is as documented.\n", time.Since(began).Round(time.Second))
	return nil
}

const (
	// overlay is the kustomization of the operator.
	overlay = "hack/ecosystem/config"
	// patience is how long a state may take to be reached.
	patience = 2 * time.Minute
)

// stage is a cluster with the operator and the programs beside it.
type stage struct {
	lab *lab.Lab
	out io.Writer
	// dir is the folder of what the programs need, certManager the program of cert-manager.
	dir, certManager string
	// ports are those of the manager, tls is its mounted Secret.
	ports operator.Ports
	tls   mount
}

func newStage(l *lab.Lab, out io.Writer) *stage {
	return &stage{lab: l, out: out, dir: filepath.Dir(l.Plane.Kubeconfig())}
}

// tell prints who showed or did what, in one line.
func (s *stage) tell(who, format string, args ...any) {
	fmt.Fprintf(s.out, "  %-20s %s\n", who, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

// start starts a program with the permissions of a service account.
func (s *stage) start(ctx context.Context, name string, account client.ObjectKey, argv ...string) error {
	kubeconfig := s.kubeconfig(name)
	if err := s.lab.Plane.ServiceAccountKubeconfig(ctx, account.Namespace, account.Name, kubeconfig, nil); err != nil {
		return err
	}
	return s.lab.Start(name, argv, "KUBECONFIG="+kubeconfig)
}

func (s *stage) kubeconfig(name string) string { return filepath.Join(s.dir, name+".kubeconfig") }

// ready returns an error unless the condition Ready of an object is True.
func ready(object *unstructured.Unstructured) error {
	if found := lab.ConditionOf(object, "Ready"); found["status"] != string(metav1.ConditionTrue) {
		return fmt.Errorf("%s %s: Ready is %v: %v %v", object.GetKind(), object.GetName(), found["status"], found["reason"], found["message"])
	}
	return nil
}

const (
	// current is the link to the folder with what a mounted Secret has now.
	current = "..data"
	// pending is that link until it replaces the one before.
	pending = "..data_tmp"
)

// mount is a folder with what a Secret has, as the kubelet keeps it for a pod: each version is a folder of its own, and a link to the newest
// is replaced at once.
type mount string

// follow writes a newer version of the Secret.
func (m mount) follow(data map[string][]byte) error {
	version, err := os.MkdirTemp(string(m), "..version-")
	if err != nil {
		return fmt.Errorf("mounting a Secret: %w", err)
	}
	for name, content := range data {
		if err := os.WriteFile(filepath.Join(version, name), content, 0o600); err != nil {
			return fmt.Errorf("mounting a Secret: %w", err)
		}
	}
	before, _ := os.Readlink(m.path(current)) // none at first
	if err := os.Symlink(filepath.Base(version), m.path(pending)); err != nil {
		return fmt.Errorf("mounting a Secret: %w", err)
	}
	if err := os.Rename(m.path(pending), m.path(current)); err != nil {
		return fmt.Errorf("mounting a Secret: %w", err)
	}
	if before != "" {
		return os.RemoveAll(m.path(before))
	}
	for name := range data {
		if err := os.Symlink(filepath.Join(current, name), m.path(name)); err != nil {
			return fmt.Errorf("mounting a Secret: %w", err)
		}
	}
	return nil
}

func (m mount) path(name string) string { return filepath.Join(string(m), name) }
