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

// Command cmd downloads what the suite e2e needs of other projects.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/traas-stack/altershield-operator/hack/e2e/supplies"
	"github.com/traas-stack/altershield-operator/hack/local/gomodule"
	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := download(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare make e2e:", err)
		os.Exit(1)
	}
}

// download downloads Prometheus, and all modules that the other programs are built from. Nothing is built.
func download(ctx context.Context) error {
	if _, err := prometheus.Ensure(ctx, os.Stderr); err != nil {
		return err
	}
	for module, program := range map[string]string{supplies.LeaderWorkerSets: supplies.Controller, supplies.MetricsServer: supplies.Server} {
		source, err := gomodule.Download(ctx, os.TempDir(), module) // outside of any module, to which it would be added
		if err != nil {
			return err
		}
		// To list the packages go needs the modules of all of them, and of no others.
		list := exec.CommandContext(ctx, "go", "list", "-C", source, "-deps", program)
		list.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
		if output, err := list.CombinedOutput(); err != nil {
			return fmt.Errorf("downloading the modules of %s: %w\n%s", module, err, output)
		}
	}
	return nil
}
