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

// Command demo plays the documented walkthrough on a control plane of its own: a release is recorded and checked, a bad
// verdict suspends it, the next release is denied, a repair is admitted, releases are rolled back automatically and on request, and a
// StatefulSet is released in steps. Then a test server gives the verdicts. It shows each command with its output, checks each step, and exits non-zero if one differs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
)

func main() {
	manager := flag.String("manager", "bin/manager", "`program` of the manager")
	installed := flag.String("cluster", "", "kubeconfig `file`: play with the kubectl on the PATH in the namespace default of that cluster, where the operator "+
		"is installed without a server; empty: on a cluster of its own")
	flag.Parse()
	lab.Main("demo", func(ctx context.Context) error {
		if *installed != "" {
			return onCluster(ctx, *installed, os.Stdout)
		}
		return demo(ctx, *manager, os.Stdout)
	})
}

// onCluster plays the scenes without a server on a cluster with the operator, and leaves the Deployment sleep there.
func onCluster(ctx context.Context, kubeconfig string, out io.Writer) error {
	begin := time.Now()
	if err := newStage(kubeconfig, "", out).play(ctx, append(walkthrough(), selfHealing()...)); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nEvery step went as documented. %s in total.\n", time.Since(begin).Round(time.Second))
	return nil
}

// demo plays on a cluster in a temporary folder, which it removes.
func demo(ctx context.Context, manager string, out io.Writer) (err error) {
	begin := time.Now()
	if _, err := assets.Ensure(ctx, out); err != nil {
		return err
	}
	fmt.Fprintln(out, "Starting a control plane with fake nodes, and the operator beside it.")
	l, err := lab.Open(ctx, lab.Options{Manager: manager, Config: "config/local"})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, l.Close(ctx))
		if err == nil {
			fmt.Fprintf(out, "\nEvery step went as documented. The cluster is gone. %s in total.\n", time.Since(begin).Round(time.Second))
		}
	}()
	stage := newStage(l.Plane.Kubeconfig(), filepath.Dir(l.Plane.Kubectl()), out)
	// Without a server all batches count as passed, and verdicts are set by hand.
	if err := l.StartOperator(ctx); err != nil {
		return err
	}
	if err := stage.play(ctx, slices.Concat(walkthrough(), selfHealing(), stepwise())); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe operator restarts with --altershield-address and --altershield-token-file: AlterShield Server checks releases from now on.\n")
	if err := l.Serve(ctx, altershield.Options{}); err != nil {
		return err
	}
	if err := l.StartOperator(ctx); err != nil {
		return err
	}
	return stage.play(ctx, checkedReleases(l.Server))
}
