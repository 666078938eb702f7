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
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
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
	// server reports whether the test server checks them.
	server bool
	// unlabelled turns the label of finished pods off.
	unlabelled bool
	policies   policies
	// elect turns leader election on.
	elect bool
	// manager is the program of a manager to compare with that of the lab, empty for the latter.
	manager string
	// peer runs instead of the operator, nil for none.
	peer *peer
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
		words := strings.Split(name, "-")
		last := len(words) - 1
		size, err := strconv.Atoi(words[last])
		s, known := setup{batch: size}, err == nil && size > 0
		for _, word := range words[:last] {
			switch word {
			case "server":
				s.server = true
			case "unlabelled":
				s.unlabelled = true
			case string(unchecked), string(paced):
				s.policies = policies(word)
			default:
				known = false
			}
		}
		if !known {
			return nil, fmt.Errorf("setup %q: expected a batch size, after any of server-, unlabelled-, and %s- or %s-", name, unchecked, paced)
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
		if !s.server {
			options.Args = nil
		}
		options.Args = append(options.Args, "--pprof-bind-address="+t.pprof)
		if s.elect {
			options.Args = append(options.Args, "--leader-elect")
		}
		options.Binary = cmp.Or(s.manager, options.Binary)
	})
	if err != nil {
		return err
	}
	if err := t.SetBatch(ctx, s.batch); err != nil {
		return err
	}
	if err := t.Set(ctx, appv1alpha1.ConfigFinishedLabel, !s.unlabelled, ""); err != nil {
		return err
	}
	if err := s.policies.apply(ctx, t.Kube); err != nil || !t.declared {
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

// apply creates the policies, and deletes those of other setups.
func (p policies) apply(ctx context.Context, kube client.Client) error {
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
			if err := kube.Create(ctx, policy); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("creating the policy %s: %w", policy.GetName(), err)
			}
		} else if err := kube.Delete(ctx, policy); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the policy %s: %w", policy.GetName(), err)
		}
	}
	return nil
}
