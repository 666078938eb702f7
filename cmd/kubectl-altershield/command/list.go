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
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) list() *cobra.Command {
	var filter view.Filter
	var since time.Duration
	command := &cobra.Command{
		Use: "list [NAME]", Short: "List workloads by the state of their present release",
		Long:    "List workloads by the state of their present release, those that need a person first. Verified ones are counted; --all lists them.",
		Example: "  kubectl altershield list -A\n  kubectl altershield list --suspended -o name",
		Args:    atMost(1),
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 1 {
				names, err := view.ParseName(args[0])
				if err != nil {
					return usageError(err)
				}
				filter.Names, filter.All = names, true
			}
			if since < 0 {
				return usageError(fmt.Errorf("--since %s is negative", since))
			}
			if since > 0 {
				filter.Since = t.Clock.Now().Add(-since)
			}
			return t.runList(command.Context(), filter)
		},
		ValidArgsFunction: t.completeNames,
	}
	set := command.Flags()
	t.flags.bindAllNamespaces(command)
	set.StringVarP(&t.flags.selector, "selector", "l", "", "Label selector of the records (ChangeWorkloads).")
	set.BoolVar(&filter.All, "all", false, "List verified workloads as well.")
	set.BoolVar(&filter.Suspended, "suspended", false, "List suspended workloads.")
	set.BoolVar(&filter.Running, "running", false, "List workloads whose release goes on or waits.")
	set.BoolVar(&filter.Failed, "failed", false, "List workloads whose release failed: suspended, rolled back or refused.")
	set.DurationVar(&since, "since", 0, "List releases that began within this time.")
	return command
}

func (t *tool) runList(ctx context.Context, filter view.Filter) error {
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	selector, err := labels.Parse(t.flags.selector)
	if err != nil {
		return usageError(fmt.Errorf("--selector: %w", err))
	}
	records, namespace, err := cluster.recordsNamed(ctx, filter.Names, t.flags.listed(cluster), client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return err
	}
	list := view.ListOf(records, filter)
	list.Narrowed = len(filter.Names) > 0 || !selector.Empty()
	return t.print(list, func() string { return render.List(list, t.style(), namespace) }, recordNames(list.Items))
}

// recordsNamed lists the records of the namespaces in which names may be, and returns the last of these. namespace is that of a name without one; it
// is empty for all.
func (c *cluster) recordsNamed(
	ctx context.Context, names []view.Name, namespace string, options ...client.ListOption,
) (found []appv1alpha1.ChangeWorkload, last string, err error) {
	isRead, namespaces := false, []string{namespace}
	if namespace != "" && len(names) > 0 {
		namespaces = nil
		for _, name := range names {
			namespaces = append(namespaces, cmp.Or(name.Namespace, namespace))
		}
		namespaces = slices.Compact(namespaces)
	}
	var denied error
	for _, one := range namespaces {
		records, err := c.records(ctx, append(slices.Clone(options), client.InNamespace(one))...)
		if lacksRight(err) { // what stands before the slash may be a namespace, or a kind
			denied = cmp.Or(denied, err)
			continue
		}
		if err != nil {
			return nil, "", err
		}
		found, last, isRead = append(found, records...), one, true
	}
	if !isRead {
		return nil, "", denied
	}
	return found, last, nil
}
