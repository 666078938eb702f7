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
	"os"
	"path/filepath"
	"strconv"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

const (
	// argoSystem has the objects of Argo CD.
	argoSystem = "argocd"
	// argoInstallation is what Argo CD expects there beside its definitions.
	argoInstallation = `
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
`
	// withoutChecks has no health checks.
	withoutChecks = "{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}}"
)

// argoCD is the program of Argo CD.
type argoCD struct {
	program string
	// checks is a file with the documented health checks, bare one without any.
	checks, bare string
}

// startArgoCD starts Redis, the repo server and the application controller, which looks at each Application every few seconds.
func (s *stage) startArgoCD(ctx context.Context, out io.Writer) error {
	programs, err := assets.EnsureArgoCD(ctx, out)
	if err != nil {
		return err
	}
	definitions, err := assets.ArgoCDDefinitions(ctx)
	if err != nil {
		return err
	}
	checks, err := documentedChecks("docs/argocd.md")
	if err != nil {
		return err
	}
	scratch := filepath.Join(s.dir, "argocd")
	s.argoCD = &argoCD{program: programs.Path(assets.ArgoCD), checks: filepath.Join(scratch, "checks.yaml"), bare: filepath.Join(scratch, "bare.yaml")}
	err = os.Mkdir(scratch, 0o700)
	if err == nil {
		err = errors.Join(os.WriteFile(s.argoCD.checks, checks, 0o600), os.WriteFile(s.argoCD.bare, []byte(withoutChecks), 0o600))
	}
	if err != nil {
		return fmt.Errorf("starting Argo CD: %w", err)
	}
	err = errors.Join(s.lab.Namespace(ctx, argoSystem, false), s.lab.Plane.Install(ctx, definitions, cluster.WebhookEndpoint{}))
	if err == nil {
		err = errors.Join(s.apply(ctx, []byte(argoInstallation)), s.apply(ctx, checks))
	}
	if err != nil {
		return err
	}
	return s.startParts(ctx, scratch)
}

func (s *stage) startParts(ctx context.Context, scratch string) error {
	kubeconfig, err := s.account(ctx, "argocd")
	if err != nil {
		return err
	}
	var redisPort, repoPort, repoMetrics, metrics int
	if err := cluster.FreePorts(&redisPort, &repoPort, &repoMetrics, &metrics); err != nil {
		return err
	}
	redis, repoServer := fmt.Sprintf("127.0.0.1:%d", redisPort), fmt.Sprintf("127.0.0.1:%d", repoPort)
	for _, argv := range [][]string{
		{"redis", redis},
		{"repo-server", "--disable-tls", "--address=127.0.0.1", "--port=" + strconv.Itoa(repoPort), "--metrics-address=127.0.0.1", "--metrics-port=" + strconv.Itoa(repoMetrics),
			"--redis=" + redis, "--revision-cache-expiration=1s"},
		{"application-controller", "--kubeconfig=" + kubeconfig, "--namespace=" + argoSystem, "--metrics-port=" + strconv.Itoa(metrics),
			"--redis=" + redis, "--repo-server=" + repoServer, "--repo-server-plaintext", "--app-resync=3", "--app-resync-jitter=0", "--persist-resource-health"},
	} {
		err := s.lab.Start("argocd-"+argv[0], append([]string{s.argoCD.program}, argv...), "ARGOCD_FAKE_IN_CLUSTER=true", "KUBECONFIG="+kubeconfig, "ARGOCD_GPG_ENABLED=false",
			"TMPDIR="+scratch, "ARGOCD_TLS_DATA_PATH="+scratch, "ARGOCD_SSH_DATA_PATH="+scratch, "ARGOCD_PLUGINSOCKFILEPATH="+scratch)
		if err != nil {
			return err
		}
	}
	return nil
}

// documentedChecks returns the ConfigMap argocd-cm of a page.
func documentedChecks(page string) ([]byte, error) {
	content, err := os.ReadFile(page)
	if err != nil {
		return nil, fmt.Errorf("reading the health checks (run this at the root of the repository): %w", err)
	}
	for _, block := range bytes.Split(content, []byte("```yaml\n"))[1:] {
		if block, _, _ = bytes.Cut(block, []byte("```")); bytes.Contains(block, []byte("name: argocd-cm")) {
			return block, nil
		}
	}
	return nil, errors.New(page + " has no ConfigMap argocd-cm")
}
