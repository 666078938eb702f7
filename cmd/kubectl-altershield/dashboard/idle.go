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

package dashboard

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// idle knows how long there was no call.
type idle struct {
	clock clock.WithTicker
	lock  sync.Mutex
	// open is how many calls go on, last when the last one ended.
	open int
	last time.Time
}

func newIdle(of clock.WithTicker) *idle { return &idle{clock: of, last: of.Now()} }

// begin begins a call, and returns what ends it.
func (i *idle) begin() (done func()) {
	i.lock.Lock()
	defer i.lock.Unlock()
	i.open++
	return func() {
		i.lock.Lock()
		defer i.lock.Unlock()
		i.open--
		i.last = i.clock.Now()
	}
}

// left returns how long the server still waits for a call.
func (i *idle) left() time.Duration {
	i.lock.Lock()
	defer i.lock.Unlock()
	if i.open > 0 {
		return maxIdle
	}
	return maxIdle - i.clock.Since(i.last)
}

// wait waits until there was no call for an hour, until the context ends, whose error it returns, or until the server fails.
func (i *idle) wait(ctx context.Context, failed <-chan error) error {
	for left := maxIdle; left > 0; left = i.left() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case <-i.clock.After(left):
		}
	}
	return nil
}
