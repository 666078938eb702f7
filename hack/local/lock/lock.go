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

// Package lock makes commands that use the same files take turns.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// pollEvery is the interval between two attempts to acquire a lock.
const pollEvery = 200 * time.Millisecond

// Acquire locks a file, which it creates if necessary, and returns a function that releases it. While another process
// holds the lock, waiting is called once and the lock is tried until the context ends. The kernel releases the locks of a
// process that dies.
func Acquire(ctx context.Context, path string, waiting func()) (release func(), err error) {
	file, err := try(path)
	if err == nil && file == nil {
		waiting()
		err = wait.PollUntilContextCancel(ctx, pollEvery, true, func(context.Context) (bool, error) {
			file, err = try(path)
			return file != nil, err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("acquire lock %s: %w", path, err)
	}
	return func() { _ = file.Close() }, nil // closing releases the lock
}

// try returns the locked file, or nil if another process holds the lock.
func try(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && stillAt(path, file) {
		return file, nil
	}
	_ = file.Close()
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil
	}
	return nil, err
}

// stillAt reports whether the path is still this file: the previous holder of the lock may have removed it, and the next
// command would lock another file.
func stillAt(path string, file *os.File) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	current, err := os.Stat(path)
	return err == nil && os.SameFile(ours, current)
}
