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

package source

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"
)

// token is an access token.
type token struct {
	value string
	// until is when it ends, zero if the server doesn't say so.
	until time.Time
}

// tokens keep a token, and replace one that ends or was refused.
type tokens struct {
	clock clock.PassiveClock
	// fetch gets a new token.
	fetch func(ctx context.Context) (token, error)
	// turn is held while the token is read or written, so that many requests get one.
	turn *semaphore.Weighted
	kept token
}

// tokenMargin is how long before its end a token is replaced: it must last until the source reads it.
const tokenMargin = 10 * time.Second

func newTokens(clock clock.PassiveClock, fetch func(context.Context) (token, error)) *tokens {
	return &tokens{clock: clock, fetch: fetch, turn: semaphore.NewWeighted(1)}
}

// after returns a token that isn't the refused one: the present one, or else a new one. No token is refused yet if it is empty.
func (t *tokens) after(ctx context.Context, refused string) (string, error) {
	if err := t.turn.Acquire(ctx, 1); err != nil {
		return "", err //nolint:wrapcheck // it is that of the context
	}
	defer t.turn.Release(1)
	if t.kept.value != refused && (t.kept.until.IsZero() || t.clock.Now().Add(tokenMargin).Before(t.kept.until)) {
		return t.kept.value, nil
	}
	fetched, err := t.fetch(ctx)
	if err != nil {
		return "", err
	}
	t.kept = fetched
	return fetched.value, nil
}
