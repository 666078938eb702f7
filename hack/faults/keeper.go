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
	"sync"
	"sync/atomic"

	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

// keeper kills and restarts the manager. Users write nothing meanwhile, because releases that bypass the webhooks aren't tested here.
type keeper struct {
	// ctx is the context of the whole run: the manager restarts whatever happens to the request at which it was killed.
	ctx context.Context
	// down is held for writing while the manager is dead, and for reading by users who write.
	down     sync.RWMutex
	operator *operator.Operator
	kills    atomic.Int64
	// fail ends the run if the manager doesn't restart.
	fail context.CancelCauseFunc
}

// kill kills the manager of a connection, and returns when it is dead. It returns false if another fault killed it first.
func (k *keeper) kill(connection context.Context) bool {
	k.down.Lock()
	if connection.Err() != nil {
		k.down.Unlock()
		return false
	}
	k.kills.Add(1)
	err := k.operator.Kill(k.ctx)
	go func() {
		defer k.down.Unlock()
		if err == nil {
			err = k.operator.Start(k.ctx)
		}
		if err != nil {
			k.fail(fmt.Errorf("the manager doesn't restart: %w", err))
		}
	}()
	return true
}

// away stops the manager while act runs, and restarts it.
func (k *keeper) away(ctx context.Context, act func(context.Context) error) error {
	k.down.Lock()
	defer k.down.Unlock()
	k.kills.Add(1)
	if err := k.operator.Kill(ctx); err != nil {
		return err
	}
	err := act(ctx)
	return errors.Join(err, k.operator.Start(k.ctx))
}

// asUser acts as a user, while the manager is running.
func (k *keeper) asUser(act func() error) error {
	k.down.RLock()
	defer k.down.RUnlock()
	return act()
}
