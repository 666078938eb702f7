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

package view

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/concern"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
)

// PolicyList is the policies and freezes of a workload, or of a namespace.
type PolicyList struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// Workload is empty where the policies of a namespace are listed.
	Workload string   `json:"workload,omitempty"`
	Items    []Policy `json:"items"`
	Notes    []Note   `json:"notes,omitempty"`
}

// Policy is a ReleasePolicy, a VerificationPolicy or a ChangeFreeze.
type Policy struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Does is what it does.
	Does string `json:"does"`
	// Because is what it selects, and so why it concerns a workload.
	Because string `json:"because"`
}

// PoliciesOf returns an empty list.
func PoliciesOf(workload string) PolicyList {
	return PolicyList{Kind: "PolicyList", APIVersion: APIVersion, Workload: workload, Items: []Policy{}}
}

// selected is how a policy selects workloads.
type selected struct {
	namespace  string
	namespaces *metav1.LabelSelector
	workloads  []appv1alpha1.WorkloadSelector
}

// AddRelease adds a ReleasePolicy. object is the workload that it concerns; nil for a list of a namespace.
func (l *PolicyList) AddRelease(policy *appv1alpha1.ReleasePolicy, object *unstructured.Unstructured) {
	var does []string
	for _, step := range policy.Spec.Steps {
		text := fmt.Sprintf("%d%%", step.Percent)
		if step.Replicas > 0 {
			text = fmt.Sprint(step.Replicas)
		}
		if step.Approvals > 0 {
			text += fmt.Sprintf(" (approvals: %d)", step.Approvals)
		}
		if step.Soak != nil {
			text += fmt.Sprintf(" (soak: %s)", step.Soak.Duration)
		}
		does = append(does, text)
	}
	steps := "steps: " + strings.Join(does, ", ")
	if len(does) == 0 {
		steps = "no steps"
	}
	if policy.Spec.StuckAfter != nil {
		steps += fmt.Sprintf("; stuckAfter: %s", policy.Spec.StuckAfter.Duration)
	}
	l.add("ReleasePolicy", policy, steps, selected{policy.Namespace, policy.Spec.NamespaceSelector, policy.Spec.Workloads}, object)
}

// AddVerification adds a VerificationPolicy.
func (l *PolicyList) AddVerification(policy *appv1alpha1.VerificationPolicy, object *unstructured.Unstructured) {
	var checks []string
	for _, check := range policy.Spec.Checks {
		checks = append(checks, check.Name)
	}
	does := fmt.Sprintf("mode: %s; checks: %s", policy.Spec.Mode, strings.Join(checks, ", "))
	l.add("VerificationPolicy", policy, does, selected{policy.Namespace, policy.Spec.NamespaceSelector, policy.Spec.Workloads}, object)
}

// AddFreeze adds a ChangeFreeze with its state.
func (l *PolicyList) AddFreeze(found freeze.Found, object *unstructured.Unstructured) {
	does := "action: " + string(found.Spec.Action)
	switch {
	case found.Active && found.Until.IsZero():
		does += "; on"
	case found.Active:
		does += "; on until " + found.Until.UTC().Format(time.RFC3339)
	case !found.Next.IsZero():
		does += "; from " + found.Next.UTC().Format(time.RFC3339)
	default:
		does += "; over"
	}
	if found.Spec.Reason != "" {
		does += ": " + found.Spec.Reason
	}
	l.add("ChangeFreeze", found, does, selected{found.Namespace, found.Spec.Namespaces, found.Spec.Workloads}, object)
}

func (l *PolicyList) add(kind string, policy metav1.Object, does string, by selected, object *unstructured.Unstructured) {
	l.Items = append(l.Items, Policy{Kind: kind, Namespace: policy.GetNamespace(), Name: policy.GetName(), Does: does, Because: by.because(object)})
}

// because returns what selects a workload, or, without one, all that is selected.
func (s selected) because(object *unstructured.Unstructured) string {
	where := "namespace " + s.namespace
	if s.namespaces != nil {
		where = "namespaces with " + labelsOf(s.namespaces)
	}
	var what []string
	for _, selector := range s.workloads {
		if object != nil && !concern.Selects([]appv1alpha1.WorkloadSelector{selector}, object, object) {
			continue
		}
		switch {
		case selector.Name != "":
			what = append(what, selector.Kind+" "+selector.Name)
		case selector.Selector != nil:
			what = append(what, selector.Kind+" with "+labelsOf(selector.Selector))
		default:
			what = append(what, "each "+selector.Kind)
		}
	}
	if len(what) == 0 {
		what = []string{"all workloads"}
	}
	return strings.Join(what, ", ") + " in " + where
}

// labelsOf returns a selector as kubectl takes it.
func labelsOf(selector *metav1.LabelSelector) string {
	if text := metav1.FormatLabelSelector(selector); text != "<none>" {
		return text
	}
	return "any label"
}
