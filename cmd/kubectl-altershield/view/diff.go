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
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/traas-stack/altershield-operator/controllers/platform/jsonpointer"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
)

// Difference is what two contents of a workload differ in.
type Difference struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// From and To are the sides.
	From Side `json:"from"`
	To   Side `json:"to"`
	// Changes are the differences; values that may be secret are not shown.
	Changes []string `json:"changes"`
	// Full are the lines of both contents that differ, with values that may be secret; only where a user asks for them.
	Full []string `json:"full,omitempty"`
	// NotControlled reports whether the content isn't under change control, so that its changes aren't known.
	NotControlled bool `json:"notControlled,omitempty"`
}

// Side is one side of a difference: a release, or a file.
type Side struct {
	Release int64  `json:"release,omitempty"`
	Version string `json:"version,omitempty"`
	File    string `json:"file,omitempty"`
}

// Content is the content of a release: values by their JSON pointers.
type Content map[string]any

// templatePointer is where the kinds whose content is a pod template have it: then a kept content doesn't name its place.
const templatePointer = "/spec/template"

// KeptContent returns the content in the data of a ControllerRevision that the operator keeps.
func KeptContent(data map[string]any) (Content, error) {
	if content, found, err := unstructured.NestedMap(data, "content"); found && err == nil {
		return content, nil
	}
	template, found, err := unstructured.NestedMap(data, "spec", "template")
	if err != nil || !found {
		return nil, errors.New("the kept content has no pod template")
	}
	return Content{templatePointer: template}, nil
}

// ContentOf returns the content of a workload: what it has at the places that a kept content names.
func ContentOf(object map[string]any, like Content) Content {
	content := Content{}
	for pointer := range like {
		if value := jsonpointer.Find(object, jsonpointer.Keys(pointer)...); value != nil {
			content[pointer] = value
		}
	}
	return content
}

// ChangesOf returns the differences of two contents, as the records of releases show them. What the webhook writes into templates is left out.
func ChangesOf(from, to Content) []string {
	union := maps.Clone(from)
	maps.Copy(union, to)
	pointers := slices.Sorted(maps.Keys(union))
	if len(pointers) == 1 && pointers[0] == templatePointer {
		before, _ := bare(from[templatePointer]).(map[string]any)
		after, _ := bare(to[templatePointer]).(map[string]any)
		return podtemplate.Changes(before, after)
	}
	var parts []podtemplate.Part
	for _, pointer := range pointers {
		parts = append(parts, podtemplate.Part{Keys: jsonpointer.Keys(pointer), Old: bare(from[pointer]), Updated: bare(to[pointer])})
	}
	return podtemplate.PartChanges(parts)
}

// bare returns a part of a content without what the webhook and some API servers write into pod templates.
func bare(value any) any {
	if template, isObject := value.(map[string]any); isObject {
		return map[string]any(podtemplate.At(template))
	}
	return value
}

// ParseReleases parses the releases of a comparison: N..M, or N for N..present.
func ParseReleases(argument string) (from, to int64, err error) {
	first, second, isRange := strings.Cut(argument, "..")
	if from, err = strconv.ParseInt(first, 10, 64); err == nil && isRange && second != "" {
		to, err = strconv.ParseInt(second, 10, 64)
	}
	if err != nil || from < 1 || to < 0 {
		return 0, 0, fmt.Errorf("%q names no releases: use 5..7, or 5 to compare release 5 with the present one", argument)
	}
	return from, to, nil
}
