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
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verificationpolicy"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/local/process"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

// setup is the software that handles the Deployments.
type setup struct {
	// batch is the number of pods in a batch, 0 without the operator.
	batch int
	// options are what differs from an installation.
	options []string
	// peer runs instead of the operator, nil for none.
	peer *peer
}

// Options of a setup.
const (
	// server has the test server check the pods.
	server = "server"
	// unlabelled turns the label of finished pods off.
	unlabelled = "label off"
	// unchecked is without VerificationPolicies. A new installation has builtin.
	unchecked = "unchecked"
	// paced is with a ReleasePolicy of two steps, and a VerificationPolicy of three checks beside builtin.
	paced = "paced"
	// other is with the manager to compare with.
	other = "other manager"
	// elected is with leader election.
	elected = "leader election"
)

//go:embed paced.yaml
var pacedPolicies []byte

func (s setup) native() bool { return s.batch == 0 && s.peer == nil }

func (s setup) has(option string) bool { return slices.Contains(s.options, option) }

func (s setup) String() string {
	switch {
	case s.native():
		return "native"
	case s.peer != nil:
		return s.peer.name
	}
	return strings.Join(append([]string{fmt.Sprintf("batches of %d", s.batch)}, s.options...), ", ")
}

// withOther adds the same setups with another manager.
func withOther(setups []setup) []setup {
	both := slices.Clone(setups)
	for _, s := range setups {
		both = append(both, setup{batch: s.batch, options: append(slices.Clone(s.options), other)})
	}
	return both
}

// parseSetups parses setups such as 1,10,server-1: sizes of batches, after what else is so, such as server-unlabelled-paced-10.
func parseSetups(text string) ([]setup, error) {
	named := map[string]string{"server": server, "unlabelled": unlabelled, "unchecked": unchecked, "paced": paced}
	var setups []setup
	for name := range strings.SplitSeq(text, ",") {
		words := strings.Split(name, "-")
		size, _ := strconv.Atoi(words[len(words)-1])
		s := setup{batch: size}
		for _, word := range words[:len(words)-1] {
			s.options = append(s.options, named[word])
		}
		if size < 1 || s.has("") {
			return nil, fmt.Errorf("setup %q: expected a batch size, after any of %s, each with a hyphen", name, slices.Sorted(maps.Keys(named)))
		}
		setups = append(setups, s)
	}
	return setups, nil
}

// testbed is a lab in one setup after the other.
type testbed struct {
	*bench
	*lab.Lab
	// load is the name of the load that is measured.
	load string
	// releases is the number of releases so far.
	releases int
	// declared reports whether the declared kind is under control.
	declared bool
	// peer is the running peer, nil for none.
	peer *process.Process
}

// prepare brings the testbed into a setup, either without the operator's webhooks or with a newly started manager, and waits until it has
// come to rest.
func (t *testbed) prepare(ctx context.Context, s setup) error {
	err := t.stopPeer(ctx)
	switch {
	case err != nil:
	case s.batch > 0:
		err = t.startOperator(ctx, s)
	default:
		err = errors.Join(t.StopOperator(ctx), t.RemoveWebhooks(ctx))
	}
	if err == nil && s.peer != nil {
		t.peer, err = s.peer.start(t.Lab)
	}
	if err != nil {
		return err
	}
	return t.Quiet(ctx)
}

func (t *testbed) startOperator(ctx context.Context, s setup) error {
	err := t.StartOperator(ctx, func(options *operator.Options) {
		if !s.has(server) {
			options.Args = nil
		}
		options.Args = append(options.Args, "--pprof-bind-address="+t.pprof)
		if s.has(elected) {
			options.Args = append(options.Args, "--leader-elect")
		}
		if s.has(other) {
			options.Binary = t.other
		}
	})
	if err != nil {
		return err
	}
	if err := t.SetBatch(ctx, s.batch); err != nil {
		return err
	}
	if err := t.Set(ctx, appv1alpha1.ConfigFinishedLabel, !s.has(unlabelled), ""); err != nil {
		return err
	}
	if err := s.applyPolicies(ctx, t.Kube); err != nil || !t.declared {
		return err
	}
	return t.awaitDeclared(ctx)
}

// stopPeer stops the running peer.
func (t *testbed) stopPeer(ctx context.Context) error {
	if t.peer == nil {
		return nil
	}
	running := t.peer
	t.peer = nil
	return running.Stop(context.WithoutCancel(ctx), peerGrace) // which kills it if it doesn't exit
}

// applyPolicies creates the policies, and deletes those of other setups.
func (s setup) applyPolicies(ctx context.Context, kube client.Client) error {
	wanted := map[client.Object]bool{verificationpolicy.BuiltIn(operator.Namespace, true): !s.has(unchecked)}
	decoded, err := manifests.Decode(bytes.NewReader(pacedPolicies))
	if err != nil {
		return err
	}
	for _, policy := range decoded {
		wanted[policy] = s.has(paced)
	}
	for policy, isWanted := range wanted {
		if isWanted {
			if err := kube.Create(ctx, policy); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("creating the policy %s: %w", policy.GetName(), err)
			}
		} else if err := kube.Delete(ctx, policy); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the policy %s: %w", policy.GetName(), err)
		}
	}
	return nil
}
