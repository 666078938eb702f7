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

package grant

import (
	"context"
	"fmt"
	"io"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/manifests"
)

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
	bound := map[source]bool{}
	for _, grant := range o.Of(account) {
		bound[grant.source()] = true
	}
	var left []Grant
	for _, role := range o.ClusterRoles {
		left = append(left, o.grants(rbacv1.RoleRef{Kind: "ClusterRole", Name: role.Name}, "")...)
	}
	for _, role := range o.Roles {
		left = append(left, o.grants(rbacv1.RoleRef{Kind: "Role", Name: role.Name}, role.Namespace)...)
	}
	var others []Grant
	for _, grant := range left {
		if !bound[grant.source()] {
			others = append(others, grant)
		}
	}
	return sorted(others)
}

// source identifies a role.
type source struct {
	Role
	namespace string
}

func (g Grant) source() source {
	if g.Role.Kind == "ClusterRole" {
		return source{Role: g.Role}
	}
	return source{g.Role, g.Namespace}
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
