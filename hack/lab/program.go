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
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Glance is the interval between two looks at a state that is waited for.
const Glance = 100 * time.Millisecond

// Pause waits for a duration or the end of the context, whose error it returns.
func Pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Until polls until holds returns nil, for as long as the patience. Its error says what is missing.
func Until(whole context.Context, patience time.Duration, what string, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(whole, patience)
	defer cancel()
	last := errors.New("it was never checked")
	for {
		if err := holds(ctx); err == nil {
			return nil
		} else if ctx.Err() == nil {
			last = err
		}
		if Pause(ctx, Glance) == nil {
			continue
		}
		if whole.Err() != nil {
			return fmt.Errorf("%s: %w", what, context.Cause(whole))
		}
		return fmt.Errorf("%s: timed out after %s: %w", what, patience, last)
	}
}

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

// KeepLog copies the log of a manager to a file that outlives the lab, and returns the number of its lines and those that report a crash.
func KeepLog(log, file string) (lines int, crashes []string, err error) {
	content, err := os.ReadFile(log)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o600))
	}
	if err != nil {
		return 0, nil, fmt.Errorf("keeping the manager's log: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		lines++
		crashed := func(sign string) bool { return strings.Contains(line, sign) }
		if slices.ContainsFunc([]string{"WARNING: DATA RACE", "panic:", "Observed a panic", "fatal error:"}, crashed) {
			crashes = append(crashes, fmt.Sprintf("line %d of %s: %s", lines, file, strings.TrimSpace(line)))
		}
	}
	return lines, crashes, nil
}
