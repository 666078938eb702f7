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
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
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

func applicationKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
}

// application is an app that Argo CD applies.
type application struct {
	repository
	scene scene
	// reconciled is when Argo CD reconciled it last, count how often since it was looked at first.
	reconciled string
	count      int64
}

func (a *application) begin(ctx context.Context) error {
	if err := a.repository.begin(ctx); err != nil {
		return err
	}
	return a.apply(ctx, fmt.Appendf(nil, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %[1]s, namespace: %[2]s, annotations: {argocd.argoproj.io/compare-options: "ServerSideDiff=%[5]t"}}
spec:
  project: default
  source: {repoURL: %[3]q, path: ., targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: %[4]s}
  syncPolicy:
    automated: {prune: true, selfHeal: true}
    syncOptions: [ServerSideApply=%[6]t, RespectIgnoreDifferences=true]
    retry: %[7]s
  ignoreDifferences: [%[8]s]
`, a.name, argoSystem, a.url(), namespace, a.scene.serverSideDiff, a.scene.serverSide, cmp.Or(a.scene.retry, "{limit: 0}"), a.scene.ignored))
}

// view is the status of an Application.
type view struct {
	Sync struct{ Status, Revision string }
	// Health is that of all objects together.
	Health         struct{ Status string }
	OperationState struct {
		Phase, Message string
		SyncResult     struct{ Revision string }
	}
	Conditions []struct{ Type, Message string }
	// ReconciledAt changes with each reconciliation.
	ReconciledAt string
}

func (a *application) view(ctx context.Context) (v view, err error) {
	present, err := a.lab.Object(ctx, applicationKind(), argoSystem, a.name)
	if err != nil {
		return v, err
	}
	content, err := json.Marshal(present.Object["status"])
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(content, &v)
}

func (a *application) shows(ctx context.Context) (outcome, error) {
	v, err := a.view(ctx)
	if err != nil {
		return outcome{}, err
	}
	return v.of(a.head)
}

// of returns what it shows of a commit. An operation that is tried again and again has failed.
func (v view) of(commit string) (outcome, error) {
	operation, says := v.OperationState, v.says()
	tried := operation.SyncResult.Revision == commit
	switch {
	case tried && operation.Phase == "Succeeded" && v.Sync.Status == "Synced" && v.Sync.Revision == commit:
		return outcome{ok: true, says: says}, nil
	case tried && (operation.Phase == "Failed" || operation.Phase == "Running" && strings.Contains(operation.Message, "Retrying attempt")):
		return outcome{says: says}, nil
	}
	return outcome{}, fmt.Errorf("the commit that Argo CD tried last is %s, and it shows %s", operation.SyncResult.Revision, says)
}

// says returns all of it in a line.
func (v view) says() string {
	said := fmt.Sprintf("%s, %s; %s: %s", v.Sync.Status, v.Health.Status, v.OperationState.Phase, v.OperationState.Message)
	for _, condition := range v.Conditions {
		said += "; " + condition.Type + ": " + condition.Message
	}
	return strings.ReplaceAll(said, "\n", " ")
}

// again returns how often Argo CD has reconciled, as it does by itself.
func (a *application) again(ctx context.Context) (int64, error) {
	v, err := a.view(ctx)
	if err == nil && v.ReconciledAt != a.reconciled {
		a.reconciled = v.ReconciledAt
		a.count++
	}
	return a.count, err
}

// agrees compares the health of the Application and that of the record.
func (a *application) agrees(ctx context.Context, record *appv1alpha1.ChangeWorkload) error {
	want := map[appv1alpha1.ChangeWorkloadPhase]string{success: "Healthy", suspend: "Degraded", running: "Suspended"}[record.Status.Status]
	v, err := a.view(ctx)
	if err != nil {
		return err
	}
	if v.Health.Status != want {
		return fmt.Errorf("its health is %s, and should be %s", v.Health.Status, want)
	}
	record.SetGroupVersionKind(appv1alpha1.GroupVersion.WithKind("ChangeWorkload"))
	return a.assess(ctx, record, a.argoCD.checks, want)
}

// assess has Argo CD assess an object with the health checks in a file.
func (a *application) assess(ctx context.Context, object any, checks, health string) error {
	content, err := json.Marshal(object)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, a.argoCD.program, "health", checks)
	command.Stdin = bytes.NewReader(content)
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("assessing the health of %s: %w: %s", a.name, err, output)
	}
	if got, _, _ := strings.Cut(string(output), ": "); got != health {
		return fmt.Errorf("the health of %s is %s", a.name, output)
	}
	return nil
}
