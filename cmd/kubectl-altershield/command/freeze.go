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

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) freeze() *cobra.Command {
	command := &cobra.Command{
		Use: "freeze", Short: "List freezes, freeze releases from now on, or end that", Args: exactly(0),
		Long: "List freezes, freeze the releases of a namespace or of workloads from now on, or end that.",
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(t.freezeList(), t.freezeLock(), t.freezeUnlock())
	return command
}

func (t *tool) freezeList() *cobra.Command {
	command := &cobra.Command{
		Use: "list", Short: "List the ChangeFreezes, those first that are on", Args: exactly(0),
		Long:    "List the ChangeFreezes, those first that are on: what they do to releases, until when and why.",
		Example: "  kubectl altershield freeze list -A",
		RunE: func(command *cobra.Command, _ []string) error {
			return t.runFreezeList(command.Context())
		},
	}
	t.flags.bindAllNamespaces(command)
	return command
}

func (t *tool) runFreezeList(ctx context.Context) error {
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	freezes, err := cluster.freezes(ctx, t.flags.listed(cluster))
	if err != nil {
		return err
	}
	var names []string
	for _, freeze := range freezes.Items {
		names = append(names, "changefreeze."+appv1alpha1.GroupVersion.Group+"/"+freeze.Name)
	}
	return t.print(freezes, func() string { return render.Freezes(freezes, t.style()) }, names)
}

// freezes lists the ChangeFreezes of a namespace, of all for an empty one.
func (c *cluster) freezes(ctx context.Context, namespace string) (view.FreezeList, error) {
	var list appv1alpha1.ChangeFreezeList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return view.FreezeList{}, fmt.Errorf("listing ChangeFreezes: %w", err)
	}
	return view.FreezesOf(list.Items), nil
}

func (t *tool) freezeLock() *cobra.Command {
	var flags acting
	var lock view.Lock
	var action, running string
	command := &cobra.Command{
		Use: "lock LOCK [NAME...]", Short: "Freeze the releases of a namespace, or of some workloads, from now on",
		Long: `Freeze the releases of a namespace, or of some of its workloads, from now on until the lock expires or is ended: a ChangeFreeze is created. By
default releases are parked: they are admitted, and start when the freeze ends.`,
		Example: "  kubectl altershield freeze lock incident-99 --for=2h --reason 'INC-99: checkout is down'\n  kubectl altershield freeze lock incident-99 web statefulset/db --action=Deny --reason INC-99",
		Args:    counted(cobra.MinimumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			lock.Name, lock.Action, lock.Running, lock.Reason = args[0], appv1alpha1.FreezeAction(action), appv1alpha1.FreezeRunning(running), flags.reason
			return t.runFreezeLock(command.Context(), lock, args[1:], flags)
		},
	}
	flags.bind(command)
	flags.bindReason(command, "Why; it is shown to those whose release is frozen.", true)
	set := command.Flags()
	set.DurationVar(&lock.Expires, "for", time.Hour, "How long the lock lasts at most, from 1m to 168h.")
	set.StringVar(&action, "action", string(appv1alpha1.FreezePark), "What happens to a release: Park, Deny or Warn.")
	set.StringVar(&running, "running", string(appv1alpha1.FreezeFinish), "What happens to a release under way: Finish or Hold.")
	return command
}

func (t *tool) runFreezeLock(ctx context.Context, lock view.Lock, names []string, flags acting) error {
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	if lock.Namespace, lock.Workloads, err = cluster.named(ctx, names); err != nil {
		return err
	}
	action, err := locks(lock)
	if err != nil {
		return err
	}
	return t.act(ctx, cluster, flags, action)
}

func locks(lock view.Lock) (*action, error) {
	if !slices.Contains([]appv1alpha1.FreezeAction{appv1alpha1.FreezePark, appv1alpha1.FreezeDeny, appv1alpha1.FreezeWarn}, lock.Action) {
		return nil, usageError(fmt.Errorf("--action %q is none of Park, Deny, Warn", lock.Action))
	}
	if lock.Running != appv1alpha1.FreezeFinish && lock.Running != appv1alpha1.FreezeHold {
		return nil, usageError(fmt.Errorf("--running %q is none of Finish, Hold", lock.Running))
	}
	request, freeze := view.LockOf(lock)
	return &action{request, func(ctx context.Context, writer client.Client, request *view.Request) error {
		if err := writer.Create(ctx, freeze.DeepCopy()); err != nil {
			return fmt.Errorf("creating %s in namespace %s: %w", request.Object, request.Namespace, err)
		}
		return nil
	}}, nil
}

// named returns workloads of one namespace that a user named, and that namespace.
func (c *cluster) named(ctx context.Context, names []string) (string, []appv1alpha1.WorkloadReference, error) {
	namespace := c.namespace
	var found []appv1alpha1.WorkloadReference
	for i, name := range names {
		facts, err := c.find(ctx, name)
		if err != nil {
			return "", nil, err
		}
		if i > 0 && facts.Namespace != namespace {
			return "", nil, usageError(errors.New("the workloads must be of one namespace"))
		}
		namespace, found = facts.Namespace, append(found, facts.Reference)
	}
	return namespace, found, nil
}

func (t *tool) freezeUnlock() *cobra.Command {
	var flags acting
	command := &cobra.Command{
		Use: "unlock LOCK", Short: "End an incident lock",
		Long:    "End an incident lock: its ChangeFreeze is deleted, and releases that it parked start. A freeze by a calendar is left to kubectl.",
		Example: "  kubectl altershield freeze unlock incident-99",
		Args:    exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			return t.runFreezeUnlock(command.Context(), objectName(args[0], "changefreeze"), flags)
		},
	}
	flags.bind(command)
	return command
}

func (t *tool) runFreezeUnlock(ctx context.Context, name string, flags acting) error {
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	action, err := cluster.unlocks(ctx, name)
	if err != nil {
		return err
	}
	return t.act(ctx, cluster, flags, action)
}

func (c *cluster) unlocks(ctx context.Context, name string) (*action, error) {
	var freeze appv1alpha1.ChangeFreeze
	if err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &freeze); err != nil {
		return nil, fmt.Errorf("reading changefreeze/%s in namespace %s: %w", name, c.namespace, err)
	}
	request, err := view.UnlockOf(&freeze)
	if err != nil {
		return nil, err
	}
	return &action{request, func(ctx context.Context, writer client.Client, request *view.Request) error {
		// Another lock of the same name must stay.
		if err := writer.Delete(ctx, &freeze, client.Preconditions{UID: ptr.To(freeze.UID)}); err != nil {
			return fmt.Errorf("deleting %s in namespace %s: %w", request.Object, request.Namespace, err)
		}
		return nil
	}}, nil
}
