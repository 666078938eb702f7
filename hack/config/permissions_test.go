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

package config

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
)

// A permission that leads to others: who takes over the operator would have the cluster at once.
func TestRolesHaveNoPermissionThatGivesFurtherOnes(t *testing.T) {
	objects := composed(t, "resources: ['{config}/default']\ncomponents: ['{config}/components/job-creation', '{config}/components/pod-deletion']\n")
	for _, kind := range []string{"ClusterRole", "Role"} {
		for _, o := range ofKind(objects, kind) {
			for _, rule := range as[rbacv1.ClusterRole](t, withoutKind(o)).Rules {
				g := NewWithT(t)
				for _, names := range [][]string{rule.Verbs, rule.APIGroups, rule.Resources} {
					g.Expect(names).NotTo(ContainElement("*"), o.GetName())
				}
				g.Expect(rule.Verbs).NotTo(ContainElement(BeElementOf("escalate", "bind", "impersonate", "approve", "sign")), o.GetName())
				g.Expect(rule.Resources).NotTo(ContainElement(BeElementOf("pods/exec", "pods/attach", "pods/portforward", "pods/ephemeralcontainers", "nodes/proxy",
					"services/proxy", "serviceaccounts", "serviceaccounts/token", "roles", "rolebindings", "clusterroles", "clusterrolebindings",
					"persistentvolumes", "certificatesigningrequests", "customresourcedefinitions/status")), o.GetName())
				if kind == "ClusterRole" {
					g.Expect(rule.Resources).NotTo(ContainElement(BeElementOf("secrets", "configmaps")), o.GetName())
				}
			}
		}
	}
}

// Settings and the policy `builtin` are created in the operator's namespace alone.
func TestClusterRolesCreateNothingThatBelongsToTheOperatorsNamespace(t *testing.T) {
	for _, o := range ofKind(shipped(t, "default"), "ClusterRole") {
		for _, rule := range as[rbacv1.ClusterRole](t, withoutKind(o)).Rules {
			if slices.Contains(rule.Verbs, "create") {
				NewWithT(t).Expect(rule.Resources).NotTo(ContainElement(BeElementOf("opsconfiginfoes", "verificationpolicies")), o.GetName())
			}
		}
	}
}
