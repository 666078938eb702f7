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

// Command chart makes the templates of the Helm chart in config/chart from the kustomizations beside it. The chart's other
// files, values.yaml before all, are written by hand.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/traas-stack/altershield-operator/hack/manifests"
)

const (
	defaultDir   = "config/default"
	templatesDir = "config/chart/templates"
	notice       = "{{- /* Made by \"make chart\" from the kustomizations in config/: change those. */ -}}\n"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run makes the templates anew, in the repository that is the working directory.
func run(ctx context.Context) error {
	files, err := made(ctx)
	if err != nil {
		return err
	}
	return write(templatesDir, files)
}

// made are the templates that the kustomizations make at present.
func made(ctx context.Context) (map[string]string, error) {
	base, err := kustomize(ctx, defaultDir)
	if err != nil {
		return nil, err
	}
	all := variants()
	for i := range all {
		if all[i].objects, err = kustomize(ctx, all[i].dir); err != nil {
			return nil, err
		}
	}
	return templates(base, all)
}

// templates are the templates of a chart, by the names of their files.
func templates(base []*unstructured.Unstructured, variants []variant) (map[string]string, error) {
	parts, err := merge(base, variants)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, p := range parts {
		if p.GetKind() == "Namespace" {
			continue // Helm keeps the release there, so it has to be there before
		}
		name := strings.ToLower(p.GetKind()) + "-" + strings.TrimPrefix(p.GetName(), "altershieldoperator-") + ".yaml"
		if _, taken := files[name]; taken {
			return nil, fmt.Errorf("two objects are to be template %s", name)
		}
		p, err := parametrize(p)
		if err != nil {
			return nil, err
		}
		text, err := template(p.Object, p.condition())
		if err != nil {
			return nil, fmt.Errorf("template %s: %w", name, err)
		}
		files[name] = notice + text
	}
	return files, nil
}

// write leaves these templates and no other objects in the folder.
func write(dir string, files map[string]string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list the old templates: %w", err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("remove an old template: %w", err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write a template: %w", err)
		}
	}
	return nil
}

// kustomize builds a folder.
func kustomize(ctx context.Context, dir string) ([]*unstructured.Unstructured, error) {
	return manifests.Build(exec.CommandContext(ctx, "go", "tool", "-modfile=hack/tools/kustomize/go.mod", "kustomize", "build", dir), dir)
}
