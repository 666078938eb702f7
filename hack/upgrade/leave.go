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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// leaving is the namespace of the guests.
const leaving = "leaving"

// upgradeAndLeave upgrades, brings workloads to states that the earlier version doesn't know, and goes back as docs/install.md says.
func (r *run) upgradeAndLeave(ctx context.Context, earlier, present version) error {
	err := r.unchanged(ctx, "the second upgrade", func(ctx context.Context) error { return r.lab.ReplaceReplicas(ctx, present.run) })
	if err != nil {
		return err
	}
	if err := r.invite(ctx); err != nil {
		return err
	}
	gates, err := r.closedGates(ctx)
	if err != nil {
		return err
	}
	records, err := r.changeRecords(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%d workloads in %d states that %s doesn't know, with %d closed gates and %d ChangeRecords.\n",
		len(r.guests), len(unknowns()), earlier.name, gates, len(records))
	var said string
	err = r.unchanged(ctx, "the way back", func(ctx context.Context) (err error) {
		if said, err = r.leave(ctx, present); err != nil {
			return err
		}
		return r.lab.StartReplicas(ctx, []string{"manager-1", "manager-2"}, earlier.run)
	})
	if err != nil {
		return err
	}
	if err := each(ctx, r.guests, func(g *guest, ctx context.Context) error { return g.stay(ctx, said) }); err != nil {
		return err
	}
	return r.nothingLost(ctx, records)
}

// leave stops the present version and removes what must not outlive it. It returns what was printed.
func (r *run) leave(ctx context.Context, present version) (string, error) {
	if err := r.lab.StopOperator(ctx); err != nil { // outside of the cluster, the command doesn't find its Deployment
		return "", err
	}
	return r.bash(ctx, present.manager+" uninstall --keep-records", "")
}

// invite brings all guests to their states, under the present version.
func (r *run) invite(ctx context.Context) error {
	if err := r.lab.Namespace(ctx, leaving, true); err != nil {
		return err
	}
	if _, err := r.bash(ctx, prepareKinds, widgets); err != nil {
		return err
	}
	for _, state := range unknowns() {
		guest, err := newGuest(r, state)
		if err != nil {
			return err
		}
		r.guests = append(r.guests, guest)
	}
	if err := each(ctx, r.guests, (*guest).begin); err != nil {
		return err
	}
	var beside strings.Builder
	for _, guest := range r.guests {
		beside.WriteString("---\n" + guest.objectsBeside())
	}
	if _, err := r.bash(ctx, prepareBeside, beside.String()); err != nil {
		return err
	}
	return each(ctx, r.guests, (*guest).arrive)
}

// changeRecords returns the names of all ChangeRecords.
func (r *run) changeRecords(ctx context.Context) (sets.Set[string], error) {
	var list appv1alpha1.ChangeRecordList
	if err := r.lab.Kube.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing the ChangeRecords: %w", err)
	}
	names := sets.New[string]()
	for i := range list.Items {
		names.Insert(list.Items[i].Namespace + "/" + list.Items[i].Name)
	}
	return names, nil
}

// nothingLost checks that the ChangeRecords are still there.
func (r *run) nothingLost(ctx context.Context, before sets.Set[string]) error {
	after, err := r.changeRecords(ctx)
	if err != nil {
		return err
	}
	if gone := before.Difference(after); len(gone) > 0 {
		return fmt.Errorf("ChangeRecords are gone: %v", sets.List(gone))
	}
	gates, err := r.closedGates(ctx)
	if err != nil {
		return err
	}
	if gates > 0 {
		return fmt.Errorf("%d pods are behind their gates", gates)
	}
	fmt.Fprintf(r.out, "All %d workloads can be released, %d ChangeRecords are as before, and no gate is closed.\n", len(r.guests), len(before))
	return nil
}

// bash runs commands with kubectl as an administrator, and returns what they print.
func (r *run) bash(ctx context.Context, commands, input string) (string, error) {
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	command.Env = append(os.Environ(), "KUBECONFIG="+r.lab.Plane.Kubeconfig(), "PATH="+filepath.Dir(r.lab.Plane.Kubectl())+":"+os.Getenv("PATH"))
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", commands, err, output)
	}
	return string(output), nil
}

// closedGates returns the number of pods behind their gates.
func (r *run) closedGates(ctx context.Context) (int, error) {
	var pods corev1.PodList
	if err := r.lab.Kube.List(ctx, &pods); err != nil {
		return 0, fmt.Errorf("listing the pods: %w", err)
	}
	return len(slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return decide.Gated(&pod) == decide.GateOpen })), nil
}
