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

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// down stops everything that up started in the folder and removes its files.
func down(ctx context.Context, dir string, out io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(out, "nothing to stop: there is no %s\n", dir)
		return nil
	}
	release, err := takeTurn(ctx, dir, out)
	if err != nil {
		return err
	}
	defer release()
	stopped, err := stopEverything(ctx, dir)
	if err != nil {
		return err
	}
	if len(stopped) == 0 {
		fmt.Fprintln(out, "nothing was running")
	} else {
		fmt.Fprintln(out, "stopped", strings.Join(stopped, ", "))
	}
	if err := removeState(dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "removed the data in %s\n", dir)
	return nil
}

// stopEverything stops the manager, the test server and then the control plane, and returns the names of the stopped ones.
func stopEverything(ctx context.Context, dir string) ([]string, error) {
	var stopped []string
	for _, name := range []string{operator.Name, serverName} {
		running, err := process.Find(dir, name)
		if err != nil {
			return nil, err
		}
		if running == nil {
			continue
		}
		if err := running.Stop(ctx, operator.Grace); err != nil {
			return nil, err
		}
		stopped = append(stopped, name)
	}
	parts, err := cluster.StopIn(ctx, dir)
	return append(stopped, parts...), err
}

// removeState removes the files of up, and the folder if it is empty then.
func removeState(dir string) error {
	if err := cluster.RemoveState(dir); err != nil {
		return err
	}
	for _, entry := range append(operator.Files(), lockFile, tokenFile) {
		if err := os.RemoveAll(filepath.Join(dir, entry)); err != nil {
			return fmt.Errorf("remove the state: %w", err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("remove the state: %w", err)
	}
	if len(left) > 0 {
		return nil
	}
	return os.Remove(dir)
}
