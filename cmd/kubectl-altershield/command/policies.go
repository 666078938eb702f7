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
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/verification"
)

func (t *tool) policies() *cobra.Command {
	var namespace string
	command := &cobra.Command{
		Use: "policies [NAME]", Short: "List the policies and freezes of a workload, and why they concern it",
		Long: `List the ReleasePolicy, the VerificationPolicies and the ChangeFreezes that concern a workload, and why: as the operator finds them. Without a
name, those of the namespace and of the operator's namespace.`,
		Example: "  kubectl altershield policies web",
		Args:    atMost(1),
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 1 {
				return t.runPoliciesOf(command.Context(), args[0], namespace)
			}
			return t.runPolicies(command.Context(), namespace)
		},
		ValidArgsFunction: t.completeNames,
	}
	command.Flags().StringVar(&namespace, "operator-namespace", appv1alpha1.SystemNamespace, "Namespace of the operator.")
	return command
}

func (t *tool) runPoliciesOf(ctx context.Context, name, operator string) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	list, err := cluster.policiesOf(ctx, facts, operator, t.Clock.Now())
	if err != nil {
		return err
	}
	return t.printPolicies(list)
}

// policiesOf reads the policies and freezes of a workload.
func (c *cluster) policiesOf(ctx context.Context, facts view.Facts, operator string, now time.Time) (view.PolicyList, error) {
	list := view.PoliciesOf(view.Argument(facts.Reference))
	object := facts.Workload
	if object == nil {
		return list, fmt.Errorf("%s can't be read, so that it isn't known which policies concern it", view.Argument(facts.Reference))
	}
	reader := &partial{Client: c, notes: &list.Notes}
	policy, err := pace.Reader{Namespaces: reader, Policies: reader, Namespace: operator}.Of(ctx, object, object)
	if err != nil {
		return list, err
	}
	if policy != nil {
		list.AddRelease(policy, object)
	}
	policies, err := verification.Reader{Client: reader, Namespace: operator}.Of(ctx, object, object)
	if err != nil {
		return list, err
	}
	for i := range policies {
		list.AddVerification(&policies[i], object)
	}
	freezes, err := c.freezesOf(ctx, object, operator, now, &list.Notes)
	if err != nil {
		return list, err
	}
	for _, found := range freezes {
		list.AddFreeze(found, object)
	}
	return list, nil
}

// freezesOf reads the freezes that concern a workload, none with a note where the user may not read them.
func (c *cluster) freezesOf(ctx context.Context, object *unstructured.Unstructured, operator string, now time.Time, notes *[]view.Note) ([]freeze.Found, error) {
	reader := &partial{Client: c, notes: notes}
	return freeze.Reader{Namespaces: reader, Freezes: reader, Namespace: operator}.Of(ctx, object, object, now)
}

func (t *tool) printPolicies(list view.PolicyList) error {
	var names []string
	for _, policy := range list.Items {
		names = append(names, strings.ToLower(policy.Kind)+"."+appv1alpha1.GroupVersion.Group+"/"+policy.Name)
	}
	return t.print(list, func() string { return render.Policies(list, t.style()) }, names)
}

func (t *tool) runPolicies(ctx context.Context, operator string) error {
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	list := view.PoliciesOf("")
	reader := &partial{Client: cluster, notes: &list.Notes}
	for _, namespace := range slices.Compact([]string{cluster.namespace, operator}) {
		var releases appv1alpha1.ReleasePolicyList
		var verifications appv1alpha1.VerificationPolicyList
		var freezes appv1alpha1.ChangeFreezeList
		for _, policies := range []client.ObjectList{&releases, &verifications, &freezes} {
			if err := reader.List(ctx, policies, client.InNamespace(namespace)); err != nil {
				return fmt.Errorf("listing policies in namespace %s: %w", namespace, err)
			}
		}
		for i := range releases.Items {
			list.AddRelease(&releases.Items[i], nil)
		}
		for i := range verifications.Items {
			list.AddVerification(&verifications.Items[i], nil)
		}
		for i := range freezes.Items {
			found := &freezes.Items[i]
			if times, problems := freeze.Check(found, operator); len(problems) == 0 {
				list.AddFreeze(freeze.Found{ChangeFreeze: found, State: times.At(t.Clock.Now())}, nil)
			}
		}
	}
	return t.printPolicies(list)
}

// partial reads what the user may read. What the user may not read is as if there were none, with a note.
type partial struct {
	client.Client
	notes *[]view.Note
}

// List lists objects, none without the right.
func (p *partial) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := p.Client.List(ctx, list, options...)
	if !lacksRight(err) {
		return err
	}
	var asked client.ListOptions
	asked.ApplyOptions(options)
	p.lacks(err, "list", asked.Namespace)
	return nil
}

// Get reads an object, which isn't found without the right.
func (p *partial) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := p.Client.Get(ctx, key, object, options...)
	if !lacksRight(err) {
		return err
	}
	p.lacks(err, "get", key.Name)
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// lacks adds a note once.
func (p *partial) lacks(err error, verb, namespace string) {
	note := view.Note{Verb: verb, Resource: "policies", Namespace: namespace, Lacks: view.LacksPolicies}
	if status, ok := statusOf(err); ok && status.Details != nil && status.Details.Kind != "" {
		note.Resource = status.Details.Kind
	}
	if !slices.Contains(*p.notes, note) {
		*p.notes = append(*p.notes, note)
	}
}
