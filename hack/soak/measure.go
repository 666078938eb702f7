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
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
)

const (
	// idleFor is longer than the manager keeps idle connections: 90 seconds to AlterShield Server, a minute to its own endpoints.
	idleFor      = 100 * time.Second
	measureEvery = 5 * time.Second
)

// measured measures the managers after a part. The second measurement is repeated until they are flat or idle connections are
// closed.
func (s *soak) measured(ctx context.Context) (processes []invariant.Process, err error) {
	err = wait.PollUntilContextTimeout(ctx, measureEvery, idleFor, true, func(ctx context.Context) (bool, error) {
		read, err := s.managers.measure(ctx)
		if err != nil {
			return false, err
		}
		processes = read
		return len(s.report.process) == 0 || len(invariant.Flat(s.report.process[0], read).Violations) == 0, nil
	})
	if wait.Interrupted(err) {
		err = ctx.Err() // the last measurement counts
	}
	return processes, errors.Join(err, s.managers.keepProfiles(ctx, s.options.out, len(s.report.process)+1))
}

// crashes returns the lines of a manager's log that report a panic or a data race.
func crashes(path string) (invariant.Result, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return invariant.Result{}, fmt.Errorf("read the manager's log: %w", err)
	}
	result := invariant.Result{}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, len(content)+1)
	for lines.Scan() {
		result.Observations++
		for _, sign := range []string{"WARNING: DATA RACE", "panic:", "Observed a panic", "fatal error:"} {
			if strings.Contains(lines.Text(), sign) {
				result.Violations = append(result.Violations, fmt.Sprintf("line %d of %s: %s", result.Observations, path, lines.Text()))
			}
		}
	}
	return result, lines.Err()
}

// names returns the names of the objects in a list.
func names(list client.ObjectList) ([]string, error) {
	var left []string
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		left = append(left, fmt.Sprintf("%T %s/%s is left", item, object.GetNamespace(), object.GetName()))
		return nil
	})
	return left, err
}
