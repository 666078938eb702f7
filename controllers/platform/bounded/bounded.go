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

// Package bounded reads from the API server where others decide how often: for webhooks any caller who reaches their port can cause these reads.
package bounded

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Limits: reads per second, in a burst, and the timeout of each.
const (
	perSecond, burst = 20, 200
	timeout          = 2 * time.Second
)

// ErrTooManyReads is the error of a read beyond the rate limit.
var ErrTooManyReads = errors.New("too many live reads in this second")

// Reader reads at a limited rate, and not for long.
type Reader struct {
	live    client.Reader
	limiter flowcontrol.PassiveRateLimiter
}

var _ client.Reader = &Reader{}

// NewReader returns a Reader of the API server with a limit of its own.
func NewReader(live client.Reader, clock clock.PassiveClock) *Reader {
	return &Reader{live: live, limiter: flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(perSecond, burst, clock)}
}

// Get fails at once beyond the rate limit.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return r.read(ctx, func(ctx context.Context) error { return r.live.Get(ctx, key, into, options...) })
}

// List fails at once beyond the rate limit.
func (r *Reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.read(ctx, func(ctx context.Context) error { return r.live.List(ctx, list, options...) })
}

func (r *Reader) read(ctx context.Context, read func(context.Context) error) error {
	if !r.limiter.TryAccept() {
		return ErrTooManyReads
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return read(ctx)
}
