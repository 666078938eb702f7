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

package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// awaitEvery is the interval at which conditions are polled.
	awaitEvery = 100 * time.Millisecond
	// answerTimeout bounds a single request, so that the death of a process is noticed even if another program holds its port and doesn't answer.
	answerTimeout = 5 * time.Second
)

// Await polls a condition until it holds. It gives up when one of the processes has exited or the context ends.
func Await(ctx context.Context, what string, holds func(context.Context) error, processes ...*Process) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, awaitEvery, true, func(ctx context.Context) (bool, error) {
		if last = holds(ctx); last == nil {
			return true, nil
		}
		return false, Dead(processes...)
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("wait for %s: %w; last: %w", what, ctx.Err(), last)
	}
	return err
}

// Dead returns an error with the processes that have exited, and the ends of their logs.
func Dead(processes ...*Process) error {
	var failures []error
	for _, p := range processes {
		if !p.Alive() {
			failures = append(failures, p.Failure(errors.New("it has exited")))
		}
	}
	return errors.Join(failures...)
}

// Answers returns a condition that holds if a URL answers with status 200.
func Answers(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}
