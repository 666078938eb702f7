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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

// repository is an app in Git, which Flux applies every few seconds.
type repository struct {
	*stage
	name, folder string
	// extra is further fields of the Kustomization.
	extra string
	// head is the newest commit.
	head string
}

func (r *repository) begin(ctx context.Context) error {
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		return err
	}
	if err := r.git(ctx, "init", "--quiet", "--initial-branch=main"); err != nil {
		return err
	}
	return r.apply(ctx, fmt.Appendf(nil, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: %[2]s}
spec: {interval: 3s, url: %[3]q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: %[2]s}
spec: {interval: 3s, path: ./, prune: true, targetNamespace: %[4]s, sourceRef: {kind: GitRepository, name: %[1]s}%[5]s}
`, r.name, system, r.flux.url+"/"+r.name+"/.git", namespace, r.extra))
}

// bring commits the version.
func (r *repository) bring(ctx context.Context, next version) error {
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"note":%q}}`, r.name, next.note)
	for name, content := range map[string][]byte{"workload.yaml": next.workload, "config.yaml": []byte(config)} {
		if err := os.WriteFile(filepath.Join(r.folder, name), content, 0o600); err != nil {
			return err
		}
	}
	if err := r.git(ctx, "add", "."); err != nil {
		return err
	}
	return r.commit(ctx, next.note)
}

// back reverts the newest commits.
func (r *repository) back(ctx context.Context, versions int) (string, error) {
	reverted := fmt.Sprintf("HEAD~%d..HEAD", versions)
	if err := r.git(ctx, "revert", "--no-commit", reverted); err != nil {
		return "", err
	}
	return "git revert " + reverted, r.commit(ctx, "back")
}

func (r *repository) commit(ctx context.Context, message string) error {
	if err := r.git(ctx, "commit", "--quiet", "--message="+message); err != nil {
		return err
	}
	head, err := os.ReadFile(filepath.Join(r.folder, ".git", "refs", "heads", "main"))
	r.head = strings.TrimSpace(string(head))
	return err
}

func (r *repository) git(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = r.folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=shop", "GIT_AUTHOR_EMAIL=shop@example.com", "GIT_COMMITTER_NAME=shop", "GIT_COMMITTER_EMAIL=shop@example.com")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git %v: %w: %s", args, err, output)
	}
	return nil
}

func (r *repository) kustomization(ctx context.Context) (*unstructured.Unstructured, error) {
	return r.object(ctx, system, r.name, schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"})
}

func (r *repository) shows(ctx context.Context) (outcome, error) {
	kustomization, err := r.kustomization(ctx)
	if err != nil {
		return outcome{}, err
	}
	return ofKustomization(kustomization, r.head)
}

// ofKustomization returns what a Kustomization shows of a commit, the condition Ready.
func ofKustomization(kustomization *unstructured.Unstructured, commit string) (outcome, error) {
	ready := lab.ConditionOf(kustomization, "Ready")
	says := fmt.Sprintf("Ready=%s %s: %s", ready["status"], ready["reason"], ready["message"])
	if tried, _, _ := unstructured.NestedString(kustomization.Object, "status", "lastAttemptedRevision"); tried != "main@sha1:"+commit {
		return outcome{}, fmt.Errorf("the commit that Flux tried last is %s, and it shows %s", tried, says)
	}
	return outcome{ok: ready["status"] == "True", says: says}, nil
}

// again returns how often Flux has reconciled what is in Git now, as it does by itself.
func (r *repository) again(ctx context.Context) (int64, error) {
	kustomization, err := r.kustomization(ctx)
	if err != nil {
		return 0, err
	}
	return reconciliations(kustomization), nil
}

func reconciliations(kustomization *unstructured.Unstructured) int64 {
	history, _, _ := unstructured.NestedSlice(kustomization.Object, "status", "history")
	if len(history) == 0 {
		return 0
	}
	newest, _ := history[0].(map[string]any)
	count, _, _ := unstructured.NestedInt64(newest, "totalReconciliations")
	return count
}
