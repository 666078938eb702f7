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
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// missing is an error about a workload that isn't there.
type missing struct{ error }

// find returns a workload that a user named, with its records. It is found by its records, or, before its first one, as a built-in workload.
func (c *cluster) find(ctx context.Context, argument string) (view.Facts, error) {
	names, err := view.ParseName(argument)
	if err != nil {
		return view.Facts{}, usageError(err)
	}
	denied := map[view.Name]error{}
	for i := range names {
		if names[i].Namespace == "" {
			names[i].Namespace = c.namespace
		}
		facts, found, err := c.byRecords(ctx, names[i])
		if lacksRight(err) { // what stands before the slash may be a namespace, or a kind
			denied[names[i]] = err
			continue
		}
		if err == nil && found {
			err = c.unambiguous(ctx, names[i], facts.Reference)
		}
		if err != nil || found {
			return facts, err
		}
	}
	if len(denied) == len(names) {
		return view.Facts{}, denied[names[0]]
	}
	for _, name := range names {
		facts, found, err := c.byWorkload(ctx, name)
		if err == nil && found {
			err = c.unambiguous(ctx, name, facts.Reference)
		}
		if err != nil || found {
			return facts, err
		}
	}
	return view.Facts{}, c.nowhere(ctx, names, denied)
}

// nowhere returns that there is no workload of some names, in namespaces of which some may not be read. What stands before a slash is no namespace
// if there is none of that name, as far as the user may know.
func (c *cluster) nowhere(ctx context.Context, names []view.Name, denied map[view.Name]error) error {
	if len(names) > 1 {
		switch err := c.Get(ctx, client.ObjectKey{Name: names[1].Namespace}, &corev1.Namespace{}); {
		case err == nil:
			names = names[1:]
		case apierrors.IsNotFound(err):
			names = names[:1]
		}
	}
	var absent []string
	unread, in := "", ""
	for _, name := range names {
		if denied[name] != nil {
			unread = "; you may not list changeworkloads in namespace " + name.Namespace
			continue
		}
		absent = append(absent, fmt.Sprintf("no workload %s in namespace %s", name, name.Namespace))
		in = cmp.Or(in, name.Namespace)
	}
	if len(absent) == 0 {
		return denied[names[0]]
	}
	return missing{fmt.Errorf("there is %s, or none under change control: kubectl altershield list -n %s --all shows those that are%s",
		strings.Join(absent, " and "), in, unread)}
}

// byRecords finds a workload by its records.
func (c *cluster) byRecords(ctx context.Context, name view.Name) (view.Facts, bool, error) {
	deployments, others := name.Labels()
	operator := selection.In
	if len(view.BuiltIn(name.Kind)) != 1 { // it may be of a declared kind
		operator, others = selection.Exists, nil
	}
	var records []appv1alpha1.ChangeWorkload
	if len(deployments) > 0 {
		found, err := c.labelled(ctx, name.Namespace, appv1alpha1.LabelDeploymentName, selection.In, deployments)
		if err != nil {
			return view.Facts{}, false, err
		}
		records = found
		if len(found) == 0 && operator == selection.In { // a declared kind may be called Deployment
			others = append(others, decide.LabelValue("deployments."+name.Name))
		}
	}
	if operator == selection.Exists || len(others) > 0 {
		found, err := c.labelled(ctx, name.Namespace, appv1alpha1.LabelWorkload, operator, others)
		if err != nil {
			return view.Facts{}, false, err
		}
		records = append(records, found...)
	}
	byKind := name.Of(records)
	if len(byKind) > 1 {
		kinds, arguments := map[string]bool{}, []string{}
		for kind := range byKind {
			kinds[kind.Kind] = true
		}
		argument := view.Argument
		if len(kinds) < len(byKind) { // kinds of the same name
			argument = view.FullArgument
		}
		for _, found := range byKind {
			arguments = append(arguments, argument(found[0].Workload()))
		}
		return view.Facts{}, false, ambiguous(name, arguments)
	}
	for _, found := range byKind {
		reference := view.PresentOf(found).Workload()
		reference.UID = ""
		facts := view.Facts{Namespace: name.Namespace, Reference: reference, Records: found}
		err := c.addWorkload(ctx, &facts)
		return facts, true, err
	}
	return view.Facts{}, false, nil
}

func (c *cluster) labelled(
	ctx context.Context, namespace, label string, operator selection.Operator, values []string,
) ([]appv1alpha1.ChangeWorkload, error) {
	requirement, err := labels.NewRequirement(label, operator, values)
	if err != nil {
		return nil, fmt.Errorf("selecting by the label %s: %w", label, err)
	}
	return c.records(ctx, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*requirement)})
}

// byWorkload finds a workload of a built-in kind without records.
func (c *cluster) byWorkload(ctx context.Context, name view.Name) (view.Facts, bool, error) {
	for _, reference := range view.BuiltIn(name.Kind) {
		reference.Name = name.Name
		live, err := c.workload(ctx, name.Namespace, reference)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err), lacksRight(err) && name.Kind == "":
			continue
		case err != nil:
			return view.Facts{}, false, err
		}
		return view.Facts{Namespace: name.Namespace, Reference: reference, Workload: live}, true, nil
	}
	return view.Facts{}, false, nil
}

// unambiguous returns an error if a name without a kind may also mean a stamped workload of another built-in kind than the found one: it may have
// no record yet, so that a script would go by another workload. One that the user may not read isn't meant, nor a part of another object.
func (c *cluster) unambiguous(ctx context.Context, name view.Name, found appv1alpha1.WorkloadReference) error {
	if name.Kind != "" {
		return nil
	}
	arguments := []string{view.Argument(found)}
	for _, reference := range view.BuiltIn("") {
		if reference.GroupKind() == found.GroupKind() {
			continue
		}
		reference.Name = name.Name
		live, err := c.workload(ctx, name.Namespace, reference)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err), lacksRight(err):
			continue
		case err != nil:
			return err
		}
		if decide.ReleaseOf(live).Version != "" && metav1.GetControllerOfNoCopy(live) == nil {
			arguments = append(arguments, view.Argument(reference))
		}
	}
	if len(arguments) == 1 {
		return nil
	}
	return ambiguous(name, arguments)
}

func ambiguous(name view.Name, arguments []string) error {
	slices.Sort(arguments)
	return usageError(fmt.Errorf("%s may be %s: name the kind as well", name, strings.Join(arguments, " or ")))
}
