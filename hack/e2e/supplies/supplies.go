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

// Package supplies has the programs of other projects that the suite e2e runs beside its cluster, which reaches no network but its own.
package supplies

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/traas-stack/altershield-operator/hack/local/gomodule"
	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

const (
	// LeaderWorkerSets is the module of the controller of LeaderWorkerSets.
	LeaderWorkerSets = "sigs.k8s.io/lws@v0.9.0"
	// Controller is the package of its program.
	Controller = "./cmd"
	// MetricsServer is the module of metrics-server.
	MetricsServer = "sigs.k8s.io/metrics-server@v0.9.0"
	// Server is the package of its program.
	Server = "./cmd/metrics-server"
)

// Download downloads Prometheus, and all modules that the other programs are built from. Nothing is built.
func Download(ctx context.Context, out io.Writer) error {
	if _, err := prometheus.Ensure(ctx, out); err != nil {
		return fmt.Errorf("prepare make e2e: %w", err)
	}
	for module, program := range map[string]string{LeaderWorkerSets: Controller, MetricsServer: Server} {
		if err := download(ctx, module, program); err != nil {
			return fmt.Errorf("prepare make e2e: %w", err)
		}
	}
	return nil
}

// download downloads a module, and all modules that one of its programs is built from.
func download(ctx context.Context, module, program string) error {
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
	return nil
}
