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
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verificationpolicy"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

// setup is the software that handles the Deployments.
type setup struct {
	// batch is the number of pods in a batch, 0 without the operator.
	batch int
	// server reports whether the test server checks them.
	server bool
	// unlabelled turns the label of finished pods off.
	unlabelled bool
	policies   policies
	// manager is the program of a manager to compare with that of the lab, empty for the latter.
	manager string
	// peer runs instead of the operator, nil for none.
	peer *peer
}

func (s setup) native() bool { return s.batch == 0 && s.peer == nil }

func (s setup) String() string {
	switch {
	case s.native():
		return "native"
	case s.peer != nil:
		return s.peer.name
	}
	name := fmt.Sprintf("batches of %d", s.batch)
	if s.unlabelled {
		name += ", label off"
	}
	if s.policies != installed {
		name += ", " + string(s.policies)
	}
	if s.server {
		name += ", server"
	}
	if s.manager != "" {
		name += ", other manager"
	}
	return name
}

// withOther adds the same setups with another manager.
func withOther(setups []setup, manager string) []setup {
	both := slices.Clone(setups)
	for _, s := range setups {
		s.manager = manager
		both = append(both, s)
	}
	return both
}

// parseSetups parses setups such as 1,10,server-1: sizes of batches, after what else is so, such as server-unlabelled-paced-10.
func parseSetups(text string) ([]setup, error) {
	var setups []setup
	for name := range strings.SplitSeq(text, ",") {
		size, server := strings.CutPrefix(name, "server-")
		size, unlabelled := strings.CutPrefix(size, "unlabelled-")
		s := setup{server: server, unlabelled: unlabelled}
		for _, named := range []policies{unchecked, paced} {
			if rest, isNamed := strings.CutPrefix(size, string(named)+"-"); isNamed {
				s.policies, size = named, rest
			}
		}
		var err error
		if s.batch, err = strconv.Atoi(size); err != nil || s.batch < 1 {
			return nil, fmt.Errorf("setup %q: expected a batch size, after any of server-, unlabelled-, and %s- or %s-, in this order", name, unchecked, paced)
		}
		setups = append(setups, s)
	}
	return setups, nil
}

// prepare brings a lab into the setup, either without the operator's webhooks or with a newly started manager, and waits until it
// has come to rest.
func (s setup) prepare(ctx context.Context, l *lab.Lab, args ...string) error {
	if s.native() {
		if err := l.StopOperator(ctx); err != nil {
			return err
		}
		if err := l.RemoveWebhooks(ctx); err != nil {
			return err
		}
		return l.Quiet(ctx)
	}
	err := l.StartOperator(ctx, func(options *operator.Options) {
		if !s.server {
			options.Args = nil
		}
		options.Args = append(options.Args, args...)
		if s.manager != "" {
			options.Binary = s.manager
		}
	})
	if err != nil {
		return err
	}
	if err := l.SetBatch(ctx, s.batch); err != nil {
		return err
	}
	if err := l.Set(ctx, appv1alpha1.ConfigFinishedLabel, !s.unlabelled, ""); err != nil {
		return err
	}
	if err := s.policies.apply(ctx, l); err != nil {
		return err
	}
	return l.Quiet(ctx)
}

// policies are those that the operator has during a setup.
type policies string

const (
	// installed are those of a new installation: builtin.
	installed policies = ""
	// unchecked are none.
	unchecked policies = "unchecked"
	// paced are a ReleasePolicy of two steps, and a VerificationPolicy of three checks beside builtin.
	paced policies = "paced"
)

//go:embed paced.yaml
var pacedPolicies []byte

// apply creates the policies, and deletes those of other setups.
func (p policies) apply(ctx context.Context, l *lab.Lab) error {
	wanted := map[client.Object]bool{verificationpolicy.BuiltIn(operator.Namespace, true): p != unchecked}
	decoded, err := manifests.Decode(bytes.NewReader(pacedPolicies))
	if err != nil {
		return err
	}
	for _, policy := range decoded {
		wanted[policy] = p == paced
	}
	for policy, isWanted := range wanted {
		if isWanted {
			if err := l.Kube.Create(ctx, policy); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("creating the policy %s: %w", policy.GetName(), err)
			}
		} else if err := l.Kube.Delete(ctx, policy); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the policy %s: %w", policy.GetName(), err)
		}
	}
	return nil
}

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
