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
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
)

// helm is the program, and how it is run.
type helm struct {
	program string
	env     []string
}

func (s *stage) prepareHelm(ctx context.Context, _ io.Writer) error {
	program, err := assets.Helm(ctx)
	if err != nil {
		return err
	}
	kubeconfig, err := s.account(ctx, "helm")
	home := filepath.Join(s.dir, "helm")
	s.helm = &helm{program, []string{"KUBECONFIG=" + kubeconfig, "KUBECACHEDIR=" + home, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home}}
	return err
}

// chart is an app as a chart of Helm. Its versions are values.
type chart struct {
	*stage
	name, folder string
	// flags are for each command.
	flags []string
	// revisions are the versions as Helm numbers them.
	revisions []int
	newest    *attempt
	// count is how often the newest version was applied, 0 until that has ended once.
	count int64
}

// attempt is a command of Helm that brings a version. It runs until the channel is closed.
type attempt struct {
	args   []string
	cancel context.CancelFunc
	ended  chan struct{}
	output []byte
	err    error
}

func (c *chart) begin(context.Context) error {
	files := map[string]string{
		"Chart.yaml":              "{apiVersion: v2, name: app, version: 1.0.0}",
		"templates/workload.yaml": "{{ toYaml .Values.workload }}",
		"templates/config.yaml":   "{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Release.Name }}}, data: {note: {{ quote .Values.note }}}}",
	}
	if err := os.MkdirAll(filepath.Join(c.folder, "templates"), 0o700); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(c.folder, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// bring begins helm upgrade with the version as its values.
func (c *chart) bring(ctx context.Context, next version) error {
	values, err := json.Marshal(map[string]any{"workload": json.RawMessage(next.workload), "note": next.note})
	if err != nil {
		return err
	}
	file := filepath.Join(c.folder, "values.json")
	if err := errors.Join(c.settle(ctx), os.WriteFile(file, values, 0o600)); err != nil {
		return err
	}
	c.count = 0
	c.start(ctx, "upgrade", "--install", c.name, c.folder, "--values="+file)
	return nil
}

// back begins helm rollback.
func (c *chart) back(ctx context.Context, versions int) (string, error) {
	if err := c.settle(ctx); err != nil {
		return "", err
	}
	revision := strconv.Itoa(c.revisions[len(c.revisions)-1-versions])
	c.count = 0
	c.start(ctx, "rollback", c.name, revision)
	return "helm rollback " + c.name + " " + revision, nil
}

// start begins a command, which becomes the newest. It keeps all revisions.
func (c *chart) start(whole context.Context, args ...string) {
	ctx, cancel := context.WithCancel(whole)
	started := &attempt{args: args, cancel: cancel, ended: make(chan struct{})}
	c.newest = started
	command := exec.CommandContext(ctx, c.helm.program, slices.Concat(args, []string{"--namespace=" + namespace, "--history-max=0"}, c.flags)...)
	command.Env = append(os.Environ(), c.helm.env...)
	go func() {
		defer close(started.ended)
		started.output, started.err = command.CombinedOutput()
	}()
}

// settle waits for the end of the newest command, and notes the revision if it was the first of its version.
func (c *chart) settle(ctx context.Context) error {
	if c.newest == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.newest.ended:
	}
	c.newest.cancel()
	if c.count > 0 {
		return nil
	}
	revision, _, err := c.revision(ctx)
	c.revisions, c.count = append(c.revisions, revision), 1
	return err
}

func (c *chart) shows(ctx context.Context) (outcome, error) {
	select {
	case <-c.newest.ended:
	default:
		return outcome{}, fmt.Errorf("helm %s is running", c.newest.args[0])
	}
	_, says, err := c.revision(ctx)
	if c.newest.err != nil {
		says += ": " + problem(c.newest.output)
	}
	return outcome{ok: c.newest.err == nil, says: says, final: true}, err
}

// again runs the newest command once more.
func (c *chart) again(ctx context.Context) (int64, error) {
	if err := c.settle(ctx); err != nil {
		return 0, err
	}
	c.start(ctx, c.newest.args...)
	c.count++
	return c.count, c.settle(ctx)
}

// revision returns the newest revision, and its status.
func (c *chart) revision(ctx context.Context) (number int, status string, err error) {
	secrets := &corev1.SecretList{}
	if err := c.lab.Kube.List(ctx, secrets, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm", "name": c.name}); err != nil {
		return 0, "", err
	}
	number, status = newestRevision(secrets.Items)
	return number, status, nil
}

// newestRevision returns the newest of the revisions that Helm keeps in Secrets, and its status.
func newestRevision(secrets []corev1.Secret) (number int, status string) {
	for _, secret := range secrets {
		if found, err := strconv.Atoi(secret.Labels["version"]); err == nil && found > number {
			number, status = found, secret.Labels["status"]
		}
	}
	return number, status
}

// problem returns the error in the output of Helm, below what it logs. All of the output is one if there is none, as where Helm was killed.
func problem(output []byte) string {
	_, message, found := strings.Cut("\n"+string(output), "\nError: ")
	if !found {
		message = string(output)
	}
	return strings.Join(strings.Fields(message), " ")
}
