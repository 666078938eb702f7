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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// patience is how long a state may take to be reached: longer than the two minutes after which a release that fails to start goes back.
	patience = 5 * time.Minute
	// rounds is how often Flux reconciles while nothing may change.
	rounds = 4
)

// app is a workload in a Git repository, which Flux applies together with a ConfigMap. All of it has one name.
type app struct {
	*stage
	scene
	kind schema.GroupVersionKind
	// content is what Git has, head the commit, note its message.
	content    []byte
	head, note string
	story      strings.Builder
	failure    error
}

// play plays the scene. Its error names it.
func (a *app) play(ctx context.Context) error {
	err := a.begin(ctx)
	for i := 0; err == nil && i < len(a.steps); i++ {
		err = a.steps[i](a, ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	return nil
}

// begin commits the manifest, and has Flux apply it every few seconds.
func (a *app) begin(ctx context.Context) (err error) {
	if a.content, err = yaml.YAMLToJSON([]byte(strings.ReplaceAll(a.manifest, "NAME", a.name))); err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(a.content, object); err != nil {
		return err
	}
	a.kind = object.GroupVersionKind()
	if err := os.MkdirAll(a.folder(), 0o700); err != nil {
		return err
	}
	if err := a.git(ctx, "init", "--quiet", "--initial-branch=main"); err != nil {
		return err
	}
	if err := a.commit(ctx, "a good first version", "{}"); err != nil {
		return err
	}
	return a.apply(ctx, fmt.Appendf(nil, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: %[2]s}
spec: {interval: 3s, url: %[3]q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: %[2]s}
spec: {interval: 3s, path: ./, prune: true, targetNamespace: %[4]s, sourceRef: {kind: GitRepository, name: %[1]s}%[5]s}
`, a.name, flux, a.url+"/"+a.name+"/.git", namespace, a.extra))
}

func (a *app) folder() string { return filepath.Join(a.repositories, a.name) }

// commit changes the manifest in Git by a merge patch.
func (a *app) commit(ctx context.Context, note, patch string) (err error) {
	if a.content, err = jsonpatch.MergePatch(a.content, []byte(patch)); err != nil {
		return err
	}
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"note":%q}}`, a.name, note)
	for name, content := range map[string][]byte{"workload.yaml": a.content, "config.yaml": []byte(config)} {
		if err := os.WriteFile(filepath.Join(a.folder(), name), content, 0o600); err != nil {
			return err
		}
	}
	if err := a.git(ctx, "add", "."); err != nil {
		return err
	}
	a.tell("Git", "%s", note)
	return a.pushed(ctx, note, "commit", "--quiet", "--message="+note)
}

// revert reverts the newest commits, with what they changed.
func (a *app) revert(ctx context.Context, commits int) (err error) {
	if err := a.git(ctx, "revert", "--no-commit", fmt.Sprintf("HEAD~%d..HEAD", commits)); err != nil {
		return err
	}
	a.tell("Git", "git revert HEAD~%d..HEAD", commits)
	if err := a.pushed(ctx, "", "commit", "--quiet", "--message=back"); err != nil {
		return err
	}
	a.content, err = os.ReadFile(filepath.Join(a.folder(), "workload.yaml"))
	return err
}

func (a *app) pushed(ctx context.Context, note string, args ...string) error {
	if err := a.git(ctx, args...); err != nil {
		return err
	}
	head, err := os.ReadFile(filepath.Join(a.folder(), ".git", "refs", "heads", "main"))
	a.head, a.note = strings.TrimSpace(string(head)), note
	return err
}

func (a *app) git(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = a.folder()
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=shop", "GIT_AUTHOR_EMAIL=shop@example.com", "GIT_COMMITTER_NAME=shop", "GIT_COMMITTER_EMAIL=shop@example.com")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git %v: %w: %s", args, err, output)
	}
	return nil
}

func (a *app) tell(who, format string, args ...any) {
	text, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	fmt.Fprintf(&a.story, "  %-9s %s\n", who, text)
}

// object returns an object of this name as it is now.
func (a *app) object(ctx context.Context, in string, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, a.lab.Kube.Get(ctx, client.ObjectKey{Namespace: in, Name: a.name}, object)
}

func (a *app) kustomization(ctx context.Context) (*unstructured.Unstructured, error) {
	return a.object(ctx, flux, schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"})
}

// shows waits until the Kustomization has tried the newest commit and shows the condition Ready with this status, reason and message.
func (a *app) shows(ctx context.Context, status metav1.ConditionStatus, reason, message string) error {
	return lab.Until(ctx, patience, fmt.Sprintf("Ready=%s %s: %s", status, reason, message), func(ctx context.Context) error {
		kustomization, err := a.kustomization(ctx)
		if err != nil {
			return err
		}
		tried, _, _ := unstructured.NestedString(kustomization.Object, "status", "lastAttemptedRevision")
		ready := conditionOf(kustomization, "Ready")
		said := fmt.Sprintf("Ready=%s %s: %s", ready["status"], ready["reason"], ready["message"])
		if tried != "main@sha1:"+a.head || ready["status"] != string(status) || ready["reason"] != reason || !strings.Contains(said, message) {
			return fmt.Errorf("it tried %s, and shows %s", tried, said)
		}
		a.tell("Flux", "%s", said)
		return nil
	})
}

// conditionOf returns a condition of an object, empty if there is none.
func conditionOf(object *unstructured.Unstructured, name string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		if found, _ := condition.(map[string]any); found["type"] == name {
			return found
		}
	}
	return nil
}

// configured checks whether the ConfigMap is that of the newest commit, unless that is a revert.
func (a *app) configured(ctx context.Context, want bool) error {
	if a.note == "" {
		return nil
	}
	config := &corev1.ConfigMap{}
	if err := a.lab.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: a.name}, config); err != nil {
		return err
	}
	if got := config.Data["note"] == a.note; got != want {
		return fmt.Errorf("the ConfigMap beside it has the note %q, that of the commit is %q", config.Data["note"], a.note)
	}
	return nil
}

// record returns the record of the newest release.
func (a *app) record(ctx context.Context) (*appv1alpha1.ChangeWorkload, error) {
	workload, err := a.object(ctx, namespace, a.kind)
	records := &appv1alpha1.ChangeWorkloadList{}
	if err := errors.Join(err, a.lab.Kube.List(ctx, records, client.InNamespace(namespace))); err != nil {
		return nil, err
	}
	var newest *appv1alpha1.ChangeWorkload
	for i := range records.Items {
		if record := &records.Items[i]; metav1.IsControlledBy(record, workload) && (newest == nil || record.Spec.Release > newest.Spec.Release) {
			newest = record
		}
	}
	if newest == nil {
		return nil, errors.New("there is no ChangeWorkload")
	}
	return newest, nil
}
