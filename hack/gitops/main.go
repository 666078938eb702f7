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

// Command gitops has Argo CD and Flux apply workloads from Git, and Helm from charts, that fail, are held, parked and rolled back, and are repaired. It prints
// what the tool and the operator show at each step, and checks that no release is lost and that they don't fight about fields.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

// atOnce is how many scenes are played at once.
const atOnce = 5

func main() {
	manager := flag.String("manager", "bin/manager", "`program` of the manager")
	tool := flag.String("tool", "", "play the scenes of this tool alone: argocd, flux or helm")
	only := flag.String("scene", "", "play the scenes whose names match this `regexp`")
	flag.Parse()
	lab.Main("gitops", func(ctx context.Context) error {
		chosen, err := choose(scenes(), *tool, *only)
		if err != nil {
			return err
		}
		return gitops(ctx, *manager, chosen, os.Stdout)
	})
}

// choose returns the scenes of a tool, of all without one, whose names match.
func choose(all []scene, tool, only string) ([]scene, error) {
	matches, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("--scene: %w", err)
	}
	chosen := slices.DeleteFunc(all, func(s scene) bool {
		return tool != "" && s.tool != tool || !matches.MatchString(s.name)
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no scene has the tool %q and a name like %q", tool, only)
	}
	return chosen, nil
}

// gitops plays the scenes, a few at once, and prints each.
func gitops(ctx context.Context, manager string, scenes []scene, out io.Writer) (err error) {
	began := time.Now()
	l, err := lab.Open(ctx, lab.Options{Manager: manager, Config: "config/local"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	s, err := prepare(ctx, l, scenes, out)
	if err != nil {
		return err
	}
	apps := make([]*app, len(scenes))
	failures := make([]error, len(scenes))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, scene := range scenes {
		apps[i] = s.app(scene)
		group.Go(func() error {
			failures[i] = apps[i].play(ctx)
			return nil
		})
	}
	err = group.Wait()
	for _, a := range apps {
		fmt.Fprintf(out, "\n%s\n%s", a.name, a.story.String())
	}
	if err = errors.Join(append(failures, err)...); err == nil {
		fmt.Fprintf(out, "\n%d scenes in %s: no fight, no loss.\n", len(scenes), time.Since(began).Round(time.Second))
	}
	return err
}

// namespace has the workloads.
const namespace = "shop"

// stage is a cluster with the operator, and with the tools that the scenes have.
type stage struct {
	lab *lab.Lab
	// dir is a folder for the tools, git the URL of the Git repositories.
	dir, git string
	argoCD   *argoCD
	helm     *helm
}

func prepare(ctx context.Context, l *lab.Lab, scenes []scene, out io.Writer) (*stage, error) {
	s := &stage{lab: l, dir: filepath.Dir(l.Plane.Kubeconfig())}
	err := l.Serve(ctx, altershield.Options{InsertTime: -1})
	if err == nil {
		err = l.StartOperator(ctx)
	}
	if err == nil {
		err = l.SetBatch(ctx, 1)
	}
	if err == nil {
		err = errors.Join(l.Namespace(ctx, namespace, true), l.Declare(ctx))
	}
	if err == nil {
		s.git, err = serveGit(ctx, filepath.Join(s.dir, "git"))
	}
	for tool, start := range map[string]func(context.Context, io.Writer) error{"argocd": s.startArgoCD, "flux": s.startFlux, "helm": s.prepareHelm} {
		if err == nil && slices.ContainsFunc(scenes, func(s scene) bool { return s.tool == tool }) {
			err = start(ctx, out)
		}
	}
	return s, err
}

// app returns the app of a scene. Its name begins with that of the tool.
func (s *stage) app(of scene) *app {
	a := &app{stage: s, scene: of}
	a.name = of.tool + "-" + of.name
	repository := repository{stage: s, name: a.name, folder: filepath.Join(s.dir, "git", a.name)}
	switch of.tool {
	case "argocd":
		a.tool = &application{repository: repository, scene: of}
	case "flux":
		a.tool = &kustomization{repository: repository, extra: of.kustomization}
	case "helm":
		a.tool = &chart{stage: s, name: a.name, folder: filepath.Join(s.dir, "helm", a.name), flags: of.flags}
	}
	return a
}

// account creates a service account that may do everything, and returns its kubeconfig.
func (s *stage) account(ctx context.Context, name string) (kubeconfig string, err error) {
	if _, err := s.lab.Account(ctx, name, "cluster-admin"); err != nil {
		return "", err
	}
	kubeconfig = filepath.Join(s.dir, name+".kubeconfig")
	return kubeconfig, s.lab.Plane.ServiceAccountKubeconfig(ctx, metav1.NamespaceDefault, name, kubeconfig, nil)
}

func (s *stage) apply(ctx context.Context, content []byte) error {
	return s.lab.Apply(ctx, content, cluster.WebhookEndpoint{})
}
