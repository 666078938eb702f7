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

// Package grant lists the RBAC permissions of a user, by verb and resource.
package grant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Permission is one verb on one resource, or on one non-resource URL of the API server.
type Permission struct {
	// Group is the API group, empty for the core group.
	Group string
	// Resource may have a subresource, as in deployments/status.
	Resource string
	// Name is the only object of the permission; empty for all.
	Name string
	// URL is set instead of a resource.
	URL  string
	Verb string
}

// Role is the ClusterRole or Role that grants a permission.
type Role struct {
	// Kind is ClusterRole or Role.
	Kind, Name string
}

// Grant is a permission granted by a role.
type Grant struct {
	Permission
	Role Role
	// Namespace is the only namespace of the permission; empty for all namespaces and for cluster-scoped objects.
	Namespace string
}

func (p Permission) String() string {
	if p.URL != "" {
		return p.Verb + " " + p.URL
	}
	resource, subresource, isSub := strings.Cut(p.Resource, "/")
	if p.Group != "" {
		resource += "." + p.Group
	}
	if isSub {
		resource += "/" + subresource
	}
	if p.Name != "" {
		resource += " " + p.Name
	}
	return p.Verb + " " + resource
}

func (r Role) String() string { return r.Kind + " " + r.Name }

func (g Grant) String() string {
	where := ""
	if g.Namespace != "" {
		where = " in namespace " + g.Namespace
	}
	return fmt.Sprintf("%s%s (%s)", g.Permission, where, g.Role)
}

// Permissions returns the permissions of a rule.
func Permissions(rule rbacv1.PolicyRule) []Permission {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var found []Permission
	for _, verb := range rule.Verbs {
		for _, url := range rule.NonResourceURLs {
			found = append(found, Permission{URL: url, Verb: verb})
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					found = append(found, Permission{Group: group, Resource: resource, Name: name, Verb: verb})
				}
			}
		}
	}
	return found
}

// Twice returns a sentence for each permission that another role, or a wider rule, grants as well.
func Twice(granted []Grant) []string {
	var sentences []string
	for i, grant := range granted {
		for j, other := range granted {
			if i != j && other.includes(grant) && (j < i || !grant.includes(other)) {
				sentences = append(sentences, fmt.Sprintf("%s is granted twice: %s grants it, too", grant, other.Role))
				break
			}
		}
	}
	return sentences
}

// includes reports whether g makes the other grant redundant.
func (g Grant) includes(other Grant) bool {
	return g.Group == other.Group && g.Resource == other.Resource && g.URL == other.URL && g.Verb == other.Verb &&
		(g.Name == "" || g.Name == other.Name) && (g.Namespace == "" || g.Namespace == other.Namespace)
}

func sorted(granted []Grant) []Grant {
	slices.SortFunc(granted, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.URL, b.URL), cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb),
			cmp.Compare(a.Role.String(), b.Role.String()))
	})
	return slices.Compact(granted)
}
