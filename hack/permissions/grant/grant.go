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
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/manifests"
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

// Objects are the RBAC objects of an installation or of a cluster.
type Objects struct {
	ClusterRoles        []rbacv1.ClusterRole
	Roles               []rbacv1.Role
	ClusterRoleBindings []rbacv1.ClusterRoleBinding
	RoleBindings        []rbacv1.RoleBinding
}

// Decode decodes the RBAC objects in a stream of manifests and skips all others.
func Decode(stream io.Reader) (Objects, error) {
	objects, err := manifests.Decode(stream)
	if err != nil {
		return Objects{}, err
	}
	var found Objects
	for _, object := range objects {
		if object.GroupVersionKind().GroupVersion() != rbacv1.SchemeGroupVersion {
			continue
		}
		if err := found.add(object); err != nil {
			return Objects{}, fmt.Errorf("reading manifests: %w", err)
		}
	}
	return found, nil
}

func (o *Objects) add(object *unstructured.Unstructured) error {
	var err error
	switch object.GetKind() {
	case "ClusterRole":
		o.ClusterRoles, err = appended(o.ClusterRoles, object)
	case "Role":
		o.Roles, err = appended(o.Roles, object)
	case "ClusterRoleBinding":
		o.ClusterRoleBindings, err = appended(o.ClusterRoleBindings, object)
	case "RoleBinding":
		o.RoleBindings, err = appended(o.RoleBindings, object)
	}
	return err
}

func appended[T any](list []T, object *unstructured.Unstructured) ([]T, error) {
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed); err != nil {
		return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return append(list, typed), nil
}

// List reads all RBAC objects of a cluster.
func List(ctx context.Context, reader client.Reader) (Objects, error) {
	var clusterRoles rbacv1.ClusterRoleList
	var roles rbacv1.RoleList
	var clusterRoleBindings rbacv1.ClusterRoleBindingList
	var roleBindings rbacv1.RoleBindingList
	for _, list := range []client.ObjectList{&clusterRoles, &roles, &clusterRoleBindings, &roleBindings} {
		if err := reader.List(ctx, list); err != nil {
			return Objects{}, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	return Objects{clusterRoles.Items, roles.Items, clusterRoleBindings.Items, roleBindings.Items}, nil
}

// Of returns the grants of the bindings that name a ServiceAccount, in a stable order. It leaves out those of all users or
// of all ServiceAccounts.
func (o Objects) Of(account types.NamespacedName) []Grant {
	var granted []Grant
	for _, binding := range o.ClusterRoleBindings {
		if names(binding.Subjects, account, "") {
			granted = append(granted, o.grants(binding.RoleRef, "")...)
		}
	}
	for _, binding := range o.RoleBindings {
		if names(binding.Subjects, account, binding.Namespace) {
			granted = append(granted, o.grants(binding.RoleRef, binding.Namespace)...)
		}
	}
	return sorted(granted)
}

// Others returns the grants of the roles that are not bound to a ServiceAccount, in a stable order.
func (o Objects) Others(account types.NamespacedName) []Grant {
	bound := map[Grant]bool{}
	for _, grant := range o.Of(account) {
		bound[grant.source()] = true
	}
	var others []Grant
	for _, role := range o.ClusterRoles {
		others = append(others, o.grants(rbacv1.RoleRef{Kind: "ClusterRole", Name: role.Name}, "")...)
	}
	for _, role := range o.Roles {
		others = append(others, o.grants(rbacv1.RoleRef{Kind: "Role", Name: role.Name}, role.Namespace)...)
	}
	return sorted(slices.DeleteFunc(others, func(grant Grant) bool { return bound[grant.source()] }))
}

// source returns the role alone, with its namespace if it has one.
func (g Grant) source() Grant {
	if g.Role.Kind == "ClusterRole" {
		return Grant{Role: g.Role}
	}
	return Grant{Role: g.Role, Namespace: g.Namespace}
}

// names reports whether a binding, in a namespace or cluster-wide, names a ServiceAccount.
func names(subjects []rbacv1.Subject, account types.NamespacedName, namespace string) bool {
	for _, subject := range subjects {
		if subject.Kind != rbacv1.ServiceAccountKind || subject.Name != account.Name {
			continue
		}
		if subject.Namespace == account.Namespace || subject.Namespace == "" && namespace == account.Namespace {
			return true
		}
	}
	return false
}

// grants returns the grants of a role in a namespace, or in all if that is empty.
func (o Objects) grants(role rbacv1.RoleRef, namespace string) []Grant {
	var rules []rbacv1.PolicyRule
	for _, candidate := range o.ClusterRoles {
		if role.Kind == "ClusterRole" && candidate.Name == role.Name {
			rules = append(rules, candidate.Rules...)
		}
	}
	for _, candidate := range o.Roles {
		if role.Kind == "Role" && candidate.Name == role.Name && candidate.Namespace == namespace {
			rules = append(rules, candidate.Rules...)
		}
	}
	var granted []Grant
	for _, rule := range rules {
		for _, permission := range Permissions(rule) {
			granted = append(granted, Grant{Permission: permission, Role: Role{role.Kind, role.Name}, Namespace: namespace})
		}
	}
	return granted
}
