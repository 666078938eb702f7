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

package grant_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
)

const manifests = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator, namespace: system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: everywhere}
rules:
- {apiGroups: [""], resources: [pods], verbs: [watch, list]}
- {apiGroups: [apps], resources: [deployments/status], verbs: [patch]}
- {nonResourceURLs: [/metrics], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everywhere}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everywhere}
subjects:
- {kind: ServiceAccount, name: operator, namespace: system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: lease, namespace: system}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [leader], verbs: [update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: lease, namespace: other}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: lease, namespace: system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: lease}
subjects:
- {kind: ServiceAccount, name: operator}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: secrets}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: secrets, namespace: system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: secrets}
subjects:
- {kind: ServiceAccount, name: operator, namespace: system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: viewer}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: viewer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}
subjects:
- {kind: ServiceAccount, name: operator, namespace: elsewhere}
- {kind: Group, name: "system:serviceaccounts"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewer, namespace: system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}
subjects:
- {kind: User, name: operator}
`

var operator = types.NamespacedName{Namespace: "system", Name: "operator"}

func sentences(granted []grant.Grant) []string {
	var list []string
	for _, each := range granted {
		list = append(list, each.String())
	}
	return list
}

func TestOfAndOthersFollowTheBindingsOfAnAccount(t *testing.T) {
	g := NewWithT(t)
	objects, err := grant.Decode(strings.NewReader(manifests))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sentences(objects.Of(operator))).To(Equal([]string{
		"list pods (ClusterRole everywhere)",
		"watch pods (ClusterRole everywhere)",
		"patch deployments.apps/status (ClusterRole everywhere)",
		"get /metrics (ClusterRole everywhere)",
		"get secrets in namespace system (ClusterRole secrets)",
		"update leases.coordination.k8s.io leader in namespace system (Role lease)",
	}))
	g.Expect(sentences(objects.Others(operator))).To(Equal([]string{
		"get deployments.apps (ClusterRole viewer)",
		"delete leases.coordination.k8s.io in namespace other (Role lease)",
	}))
}

func TestOfReadsABindingWithoutANamespaceAsOneOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	objects, err := grant.Decode(strings.NewReader(manifests))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects.Of(types.NamespacedName{Namespace: "other", Name: "operator"})).To(BeEmpty())
}

func TestDecodeRefusesManifestsThatCanNotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"no YAML":       "a: b: c",
		"no valid role": "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: odd}\nrules: none",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := grant.Decode(strings.NewReader(text))
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("reading manifests")))
		})
	}
}

func TestTwiceFindsWhatIsGrantedTwice(t *testing.T) {
	pods := grant.Permission{Resource: "pods", Verb: "get"}
	wide := grant.Grant{Permission: pods, Role: grant.Role{Kind: "ClusterRole", Name: "wide"}}
	same := grant.Grant{Permission: pods, Role: grant.Role{Kind: "ClusterRole", Name: "same"}}
	within := grant.Grant{Permission: pods, Role: grant.Role{Kind: "Role", Name: "within"}, Namespace: "system"}
	one := wide
	one.Name, one.Role.Name = "leader", "one"
	other := grant.Grant{Permission: grant.Permission{Resource: "pods", Verb: "list"}, Role: wide.Role}
	for name, test := range map[string]struct {
		granted []grant.Grant
		want    []string
	}{
		"nothing twice":            {[]grant.Grant{wide, other}, nil},
		"by two roles":             {[]grant.Grant{wide, same}, []string{"get pods (ClusterRole same) is granted twice: ClusterRole wide grants it, too"}},
		"in a namespace as well":   {[]grant.Grant{within, wide}, []string{"get pods in namespace system (Role within) is granted twice: ClusterRole wide grants it, too"}},
		"for one object as well":   {[]grant.Grant{one, wide}, []string{"get pods leader (ClusterRole one) is granted twice: ClusterRole wide grants it, too"}},
		"in two namespaces, apart": {[]grant.Grant{within, {Permission: pods, Namespace: "other"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(grant.Twice(slices.Clone(test.granted))).To(Equal(test.want))
		})
	}
}
