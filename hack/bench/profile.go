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
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

// profileSeconds is how long a profile of the processor time records.
const profileSeconds = 15

// pprofAddress returns a free address for the manager's profiles.
func pprofAddress() (string, error) {
	port, err := cluster.FreePort()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

// prepareProfiled prepares a lab with a manager that serves profiles, and returns their address.
func (s setup) prepareProfiled(ctx context.Context, l *lab.Lab, args ...string) (address string, err error) {
	if address, err = pprofAddress(); err != nil {
		return "", err
	}
	return address, s.prepare(ctx, l, append(args, "--pprof-bind-address="+address)...)
}

// managerArgs returns the manager's arguments for the requested profiles.
func (b *bench) managerArgs() []string {
	if b.profiles == "" {
		return nil
	}
	return []string{"--pprof-bind-address=" + b.pprof}
}

// profile begins to profile the manager, if requested, and returns a function that waits until the profiles are written.
func (b *bench) profile(ctx context.Context, s setup, name string) (wait func()) {
	if b.profiles == "" || s.native() {
		return func() {}
	}
	done := make(chan error, 1)
	go func() {
		done <- b.saveProfile(ctx, fmt.Sprintf("profile?seconds=%d", profileSeconds), name+"-cpu.pprof")
	}()
	return func() { b.closed(errors.Join(<-done, b.saveProfile(ctx, "allocs", name+"-allocs.pprof"))) }
}

func (b *bench) saveProfile(ctx context.Context, profile, name string) error {
	content, err := lab.Profile(ctx, b.pprof, profile)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.profiles, name), content, 0o600)
}

// heapOf makes the manager collect garbage and returns the bytes of its heap.
func heapOf(ctx context.Context, address string) (float64, error) {
	profile, err := lab.Profile(ctx, address, "heap?gc=1&debug=1")
	if err != nil {
		return 0, err
	}
	return parseHeap(string(profile))
}

// parseHeap returns the value of the line # HeapAlloc = <bytes> of a heap profile in text format.
func parseHeap(profile string) (float64, error) {
	_, rest, found := strings.Cut(profile, "\n# HeapAlloc = ")
	if !found {
		return 0, errors.New("the heap profile has no HeapAlloc")
	}
	value, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseFloat(value, 64)
}
