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

// Package gomodule builds programs of other projects from their Go modules.
package gomodule

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// Build downloads a pinned module and builds a package of it, such as "./cmd", into the file program. It returns the folder of the module.
func Build(ctx context.Context, module, pkg, program string) (source string, err error) {
	source, err = Download(ctx, os.TempDir(), module) // outside of any module, to which it would be added
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-C", source, "-o", program, pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", module, err, output)
	}
	return source, nil
}

// Download downloads a module, such as one that the go.mod in dir pins, and returns its folder.
func Download(ctx context.Context, dir, module string) (source string, err error) {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	download.Dir = dir
	output, err := download.Output()
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w\n%s", module, err, output)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(output, &downloaded); err != nil {
		return "", fmt.Errorf("downloading %s: %w", module, err)
	}
	return downloaded.Dir, nil
}
