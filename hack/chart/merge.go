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
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// variant is a kustomization of everything, which the chart shall equal under a condition.
type variant struct {
	dir, condition string
	objects        []*unstructured.Unstructured
}

func variants() []variant {
	return []variant{
		{dir: "config/overlays/cert-manager", condition: `eq .Values.webhook.certificate "cert-manager"`},
		{dir: "hack/chart/variants/server", condition: ".Values.server.address"},
		{dir: "hack/chart/variants/callback-tls", condition: ".Values.callback.tlsSecret"},
		{dir: "hack/chart/variants/admission-policy", condition: `or .Values.admissionPolicy.enabled (eq .Values.webhook.failurePolicy "Ignore")`},
		{dir: "hack/chart/variants/prometheus"}, // its kinds have conditions of their own
	}
}

// part is an object of the chart and the conditions that it is there on, all of them.
type part struct {
	*unstructured.Unstructured
	conditions []string
}

// condition is empty for a part that is always there.
func (p part) condition() string {
	if len(p.conditions) < 2 {
		return strings.Join(p.conditions, "")
	}
	return "and (" + strings.Join(p.conditions, ") (") + ")"
}

// merge puts what the variants add and leave out into what the default has. Of an object that is in both it sees the lists
// of the Deployment alone; the chart's test finds any other difference.
func merge(base []*unstructured.Unstructured, variants []variant) ([]part, error) {
	var parts []part
	for _, object := range base {
		merged := part{Unstructured: object.DeepCopy()}
		for _, v := range variants {
			same := find(v.objects, object)
			switch {
			case same == nil:
				merged.conditions = append(merged.conditions, "not ("+v.condition+")")
			case object.GetKind() == "Deployment":
				if err := mergeLists(merged.Unstructured, object, same, v.condition); err != nil {
					return nil, fmt.Errorf("merge Deployment %s of %s: %w", object.GetName(), v.dir, err)
				}
			}
		}
		parts = append(parts, merged)
	}
	for _, v := range variants {
		for _, object := range v.objects {
			if find(base, object) != nil {
				continue
			}
			added := part{Unstructured: object.DeepCopy()}
			if v.condition != "" {
				added.conditions = []string{v.condition}
			}
			parts = append(parts, added)
		}
	}
	return parts, nil
}

func find(objects []*unstructured.Unstructured, like *unstructured.Unstructured) *unstructured.Unstructured {
	for _, object := range objects {
		if object.GetKind() == like.GetKind() && object.GetName() == like.GetName() {
			return object
		}
	}
	return nil
}

// mergeLists merges the lists of a Deployment that components and overlays add to.
func mergeLists(merged, base, other *unstructured.Unstructured, condition string) error {
	into, err := openDeployment(merged)
	if err != nil {
		return err
	}
	from, err := openDeployment(base)
	if err != nil {
		return err
	}
	to, err := openDeployment(other)
	if err != nil {
		return err
	}
	for _, field := range []string{"args", "volumeMounts"} {
		into.manager[field] = mergeList(list(into.manager, field), list(from.manager, field), list(to.manager, field), condition)
	}
	into.pod["volumes"] = mergeList(list(into.pod, "volumes"), list(from.pod, "volumes"), list(to.pod, "volumes"), condition)
	return nil
}

// mergeList puts the elements that only the base has, and those that only the variant has, between lines of the condition.
// What is merged begins as the base and takes one variant after the other.
func mergeList(merged, base, variant []any, condition string) []any {
	var result []any
	for _, element := range merged {
		if contains(base, element) && !contains(variant, element) {
			result = append(result, line("if not ("+condition+")"), element, line("end"))
		} else {
			result = append(result, element)
		}
	}
	added := slices.DeleteFunc(slices.Clone(variant), func(element any) bool { return contains(base, element) })
	if len(added) == 0 {
		return result
	}
	result = append(result, line("if "+condition))
	result = append(result, added...)
	return append(result, line("end"))
}

func contains(list []any, element any) bool {
	return slices.ContainsFunc(list, func(other any) bool { return reflect.DeepEqual(other, element) })
}

// deployment is the manager's, opened where the chart changes it.
type deployment struct {
	template, pod, manager map[string]any
}

func openDeployment(object *unstructured.Unstructured) (deployment, error) {
	template, _, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "template")
	if err != nil {
		return deployment{}, err
	}
	opened := deployment{}
	opened.template, _ = template.(map[string]any)
	opened.pod, _ = opened.template["spec"].(map[string]any)
	for _, element := range list(opened.pod, "containers") {
		if container, isMap := element.(map[string]any); isMap && container["name"] == "manager" {
			opened.manager = container
			return opened, nil
		}
	}
	return deployment{}, errors.New("there is no container manager")
}

func list(object map[string]any, field string) []any {
	elements, _ := object[field].([]any)
	return elements
}
