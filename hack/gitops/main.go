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

// Command gitops has Flux apply workloads from Git that fail, are held, parked and rolled back, and are repaired in Git. It prints what Flux
// and the operator show at each step, and checks that no release is lost and that they don't fight about fields.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

// atOnce is how many scenes are played at once.
const atOnce = 5

func main() {
	manager := flag.String("manager", "bin/manager", "`program` of the manager")
	only := flag.String("scene", "", "play the scenes whose names match this `regexp`")
	flag.Parse()
	log.SetLogger(logr.Discard()) // the results have all errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := gitops(ctx, *manager, *only, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "gitops: %v\n", err)
		os.Exit(1)
	}
}

// gitops plays the scenes, a few at once, and prints each.
func gitops(ctx context.Context, manager, only string, out io.Writer) (err error) {
	began := time.Now()
	chosen, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("--scene: %w", err)
	}
	l, err := lab.Open(ctx, lab.Options{Manager: manager, Config: "config/local"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	s, err := prepare(ctx, l, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	var played []*app
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, scene := range scenes() {
		if chosen.MatchString(scene.name) {
			a := &app{stage: s, scene: scene}
			played = append(played, a)
			group.Go(func() error {
				a.failure = a.play(ctx)
				return a.failure
			})
		}
	}
	failed := group.Wait() != nil
	for _, a := range played {
		fmt.Fprintf(out, "\n%s\n%s", a.name, a.story.String())
		err = errors.Join(err, a.failure)
	}
	if !failed {
		fmt.Fprintf(out, "\n%d scenes in %s: no fight, no loss.\n", len(played), time.Since(began).Round(time.Second))
	}
	return err
}
