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
	"slices"
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// ActionList is the verbs that write, and which of them the user may use for a workload.
type ActionList struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Items      []Action `json:"items"`
	Notes      []Note   `json:"notes,omitempty"`
}

// Action is a verb that writes.
type Action struct {
	Verb string `json:"verb"`
	// Needs is the right that it takes, Right the same as a user would ask an administrator for it.
	Needs Right  `json:"needs"`
	Right string `json:"right"`
	// May reports whether the user has it; nil if that isn't known.
	May *bool `json:"may,omitempty"`
}

// ActionsOf returns the verbs that write about a workload.
func ActionsOf(facts Facts) ActionList {
	list := ActionList{Kind: "ActionList", APIVersion: APIVersion, Items: []Action{}, Notes: facts.Notes}
	ours := func(verb, resource, subresource string) Right {
		return Right{Verb: verb, Group: appv1alpha1.GroupVersion.Group, Resource: resource, Subresource: subresource, Namespace: facts.Namespace}
	}
	change := changeRight(facts)
	for _, verb := range []struct {
		name  string
		needs Right
	}{
		{"rollback", change},
		{"go-on", change},
		{"hold", change},
		{"resume", change},
		{"approve", ours("create", "changeapprovals", "")},
		{"deny", ours("create", "changeapprovals", "")},
		{"verdict", ours("patch", "changepods", "status")},
		{"freeze-lock", ours("create", "changefreezes", "")},
		{"freeze-unlock", ours("delete", "changefreezes", "")},
		{"break-glass", ours("create", "breakglasses", "")},
	} {
		list.Items = append(list.Items, Action{Verb: verb.name, Needs: verb.needs, Right: verb.needs.String()})
	}
	return list
}

// LockActionsOf returns the verbs about the incident locks of a namespace.
func LockActionsOf(namespace string) ActionList {
	list := ActionsOf(Facts{Namespace: namespace})
	list.Items = slices.DeleteFunc(list.Items, func(action Action) bool { return !strings.HasPrefix(action.Verb, "freeze-") })
	return list
}
