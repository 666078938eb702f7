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

package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Main runs a program until it ends or is asked to. It exits with 1 after an error.
func Main(name string, run func(context.Context) error) {
	log.SetLogger(logr.Discard()) // the results have all errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\n%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Save writes the results of a program as JSON.
func Save(file string, results any) error {
	content, err := json.MarshalIndent(results, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, append(content, '\n'), 0o644) //nolint:gosec // not a secret
	}
	if err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}
