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
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

const (
	// LeaderWorkerSets is the module of the controller of LeaderWorkerSets.
	LeaderWorkerSets = "sigs.k8s.io/lws@v0.9.0"
	// Controller is the package of its program.
	Controller = "./cmd"
)

// Download downloads Prometheus, and all modules that the controller of LeaderWorkerSets is built from. Nothing is built.
func Download(ctx context.Context, out io.Writer) error {
	if _, err := prometheus.Ensure(ctx, out); err != nil {
		return fmt.Errorf("prepare make e2e: %w", err)
	}
	output, err := command(ctx, "mod", "download", "-json", LeaderWorkerSets).Output()
	if err != nil {
		return fmt.Errorf("download %s: %w\n%s", LeaderWorkerSets, err, output)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		return fmt.Errorf("download %s: %w", LeaderWorkerSets, err)
	}
	// To list the packages go needs the modules of all of them, and of no others.
	if output, err := command(ctx, "list", "-C", module.Dir, "-deps", Controller).CombinedOutput(); err != nil {
		return fmt.Errorf("download the modules of %s: %w\n%s", LeaderWorkerSets, err, output)
	}
	return nil
}

// command returns a command of go outside of any module, to which downloads would be added.
func command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	return cmd
}
