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

// Package concern finds out which workloads the selectors of policies, freezes and the like select.
package concern

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Selection is how a policy selects workloads.
type Selection struct {
	// Kind is the kind of the policy, Namespace its namespace.
	Kind, Namespace string
	// Namespaces selects namespaces by their labels, nil for that of the policy.
	Namespaces *metav1.LabelSelector
	// Workloads are the selectors of workloads.
	Workloads []appv1alpha1.WorkloadSelector
}

// Problems returns why a selection is unusable, each with its place; none if it is usable. operatorNamespace is the namespace of the
// operator, whose policies alone may select other namespaces.
func (s Selection) Problems(operatorNamespace string) (problems []string) {
	if s.Namespaces != nil {
		if s.Namespace != operatorNamespace {
			problems = append(problems, "spec.namespaceSelector: only a "+s.Kind+" in namespace "+operatorNamespace+" may select other namespaces")
		}
		if _, err := metav1.LabelSelectorAsSelector(s.Namespaces); err != nil {
			problems = append(problems, fmt.Sprintf("spec.namespaceSelector: %s", err))
		}
	}
	for i, selected := range s.Workloads {
		if selected.Selector == nil {
			continue
		}
		if _, err := metav1.LabelSelectorAsSelector(selected.Selector); err != nil {
			problems = append(problems, fmt.Sprintf("spec.workloads[%d].selector: %s", i, err))
		}
	}
	return problems
}

// Advice returns what a user who applies a policy of a name should know of its selection: that it may concern less than it seems to.
func (s Selection) Advice(name, operatorNamespace string, kinds workload.Registry) (warnings []string) {
	if s.Namespace == operatorNamespace && s.Namespaces == nil {
		warnings = append(warnings, fmt.Sprintf(
			"%s %s concerns only workloads in namespace %s: to select others, set spec.namespaceSelector", s.Kind, name, operatorNamespace))
	}
	for i := range s.Workloads {
		if kind := s.Workloads[i].Kind; kinds.ByGroupKind(schema.ParseGroupKind(kind)) == nil {
			warnings = append(warnings, fmt.Sprintf("%s %s concerns no %s: the kind isn't under change control", s.Kind, name, kind))
		}
	}
	return warnings
}

// HasNamespace reports whether a usable selection selects workloads of a namespace. reader reads namespaces from the cache, which holds those
// that are opted in.
func (s Selection) HasNamespace(ctx context.Context, reader client.Reader, namespace string) (bool, error) {
	if s.Namespaces == nil {
		return s.Namespace == namespace, nil
	}
	var object corev1.Namespace
	err := reader.Get(ctx, client.ObjectKey{Name: namespace}, &object, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return false, client.IgnoreNotFound(fmt.Errorf("reading namespace %s: %w", namespace, err))
	}
	return Matches(s.Namespaces, object.Labels), nil
}

// Selects reports whether selectors select a workload. No selectors select all.
func Selects(selectors []appv1alpha1.WorkloadSelector, kind workload.Typed, object client.Object) bool {
	return len(selectors) == 0 || slices.ContainsFunc(selectors, func(selector appv1alpha1.WorkloadSelector) bool {
		switch {
		case schema.ParseGroupKind(selector.Kind) != kind.GroupVersionKind().GroupKind():
			return false
		case selector.Name != "":
			return selector.Name == object.GetName()
		}
		return selector.Selector == nil || Matches(selector.Selector, object.GetLabels())
	})
}

// Matches reports whether a selector matches labels. An unusable one matches none.
func Matches(selector *metav1.LabelSelector, set labels.Set) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(set)
}
