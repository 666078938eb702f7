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

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// pollEvery is the interval at which conditions are polled.
const pollEvery = 100 * time.Millisecond

// answerTimeout bounds a single request, so that the death of a part is noticed even if another program holds its port and
// doesn't answer.
const answerTimeout = 5 * time.Second

// await polls a condition until it holds; it gives up when a part dies or the context ends.
func (c *Cluster) await(ctx context.Context, what string, holds func(context.Context) error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		if dead := c.Alive(); dead != nil {
			return dead
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s (logs are in %s): %w; last: %w", what, c.path(process.LogsDir), ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// answersOK returns a condition that holds if a URL answers with status 200.
func answersOK(client *http.Client, url string) func(context.Context) error {
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
