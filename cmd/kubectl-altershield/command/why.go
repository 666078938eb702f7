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
	"time"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) why() *cobra.Command {
	var file, operator string
	var serverSide bool
	command := &cobra.Command{
		Use: "why NAME | why -f FILE", Short: "Explain why a workload is suspended, refused or slow, or whether a file would be let in",
		Long: `Explain why a workload is suspended, refused, paused or slow, and what you may do about it.
With -f it asks the API server what would become of that file, by a server-side dry run of the very request that kubectl apply sends: every
webhook and policy answers, and nothing changes. It exits with 4 if the file would be denied.`,
		Example: "  kubectl altershield why web\n  kubectl altershield why -f web.yaml && kubectl apply -f web.yaml",
		Args:    atMost(1),
		RunE: func(command *cobra.Command, args []string) error {
			switch {
			case file != "":
				return t.runTrial(command.Context(), args, file, serverSide)
			case len(args) != 1:
				return usageError(errors.New("name a workload, or a file with -f"))
			}
			return t.runWhy(command.Context(), args[0], operator)
		},
		ValidArgsFunction: t.completeNames,
	}
	command.Flags().StringVarP(&file, "filename", "f", "", "File with the workload, - for the standard input.")
	command.Flags().BoolVar(&serverSide, "server-side", false, "Ask for kubectl apply --server-side.")
	command.Flags().StringVar(&operator, "operator-namespace", appv1alpha1.SystemNamespace, "Namespace of the operator.")
	return command
}

func (t *tool) runWhy(ctx context.Context, name, operator string) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	why, err := cluster.whyOf(ctx, facts, operator, t.Clock.Now())
	if err != nil {
		return err
	}
	return t.print(why, func() string { return render.Why(why, t.style()) }, workloadName(facts.Reference))
}

// whyOf reads why a workload is as it is, and which ways the user may go.
func (c *cluster) whyOf(ctx context.Context, facts view.Facts, operator string, now time.Time) (view.Why, error) {
	if err := errors.Join(c.addBatches(ctx, &facts), c.addKept(ctx, &facts), c.addPods(ctx, &facts, operator)); err != nil {
		return view.Why{}, err
	}
	why := view.WhyOf(facts, now)
	if facts.Workload != nil {
		freezes, err := c.freezesOf(ctx, facts.Workload, operator, now, &why.Notes)
		if err != nil {
			return view.Why{}, err
		}
		why.AddFreezes(freezes)
	}
	err := c.review(ctx, &why)
	return why, err
}

// runTrial asks what would become of the workloads in a file, one after another, and ends with Denied if one of them is.
func (t *tool) runTrial(ctx context.Context, args []string, file string, serverSide bool) error {
	objects, err := t.workloads(file)
	if err != nil {
		return err
	}
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	code := OK
	asked, show := 0, t.print
	for _, object := range objects {
		if len(args) == 1 && object.GetName() != args[0] {
			continue
		}
		asked++
		why, err := t.try(ctx, cluster, object, serverSide)
		if err != nil {
			return err
		}
		if why.Trial.Verdict == view.Denied {
			code = Denied
		}
		if err := show(why, func() string { return render.Why(why, t.style()) }, []string{string(why.Trial.Verdict)}); err != nil {
			return err
		}
		show = t.printMore
	}
	if asked == 0 {
		return usageError(fmt.Errorf("there is no workload in %s, or none of that name", file))
	}
	return told(code)
}

// review asks the API server which ways the user may go.
func (c *cluster) review(ctx context.Context, why *view.Why) error {
	for i := range why.Ways {
		needs := why.Ways[i].Needs
		may, err := c.may(ctx, needs)
		if lacksRight(err) {
			why.Notes = append(why.Notes, lacksReviews())
			return nil
		}
		if err != nil {
			return err
		}
		why.Ways[i].May = &may
	}
	return nil
}

func lacksReviews() view.Note {
	return view.Note{Verb: "create", Resource: "selfsubjectaccessreviews", Lacks: view.LacksReviews}
}

// may asks the API server whether the user has a right.
func (c *cluster) may(ctx context.Context, right view.Right) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: right.Namespace, Verb: right.Verb, Group: right.Group, Resource: right.Resource, Subresource: right.Subresource, Name: right.Name,
		},
	}}
	if err := c.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking whether you may %s: %w", right, err)
	}
	return review.Status.Allowed, nil
}
