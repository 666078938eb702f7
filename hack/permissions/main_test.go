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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
)

const code = `package pod

import "context"

// Labels finished pods. It
// patches them.
// +kubebuilder:rbac:groups="",resources=pods,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=deployments/status;replicasets,verbs=get
// Creates settings.
// +kubebuilder:rbac:groups=example.com,resources=settings,verbs=create,namespace=system,resourceNames=a

// Run isn't about permissions.
func Run(context.Context) {}
`

const manifests = `# What it says of the whole role.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- nonResourceURLs: [/metrics]
  verbs: [get]
# Asks who
# somebody is.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: lease}
rules:
# Takes the lease.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: made-from-markers}
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
---
# A binding has no rules.
kind: RoleBinding
`

func TestReadReasonsTakesTheCommentsAboveMarkersAndRules(t *testing.T) {
	g := NewWithT(t)
	reasons, err := readReasons(fstest.MapFS{
		"pod/add.go":      {Data: []byte(code)},
		"pod/add_test.go": {Data: []byte("package pod // +kubebuilder:rbac:")},
		"rbac/roles.yaml": {Data: []byte(manifests)},
		"README.md":       {Data: []byte("text")},
	})
	g.Expect(err).NotTo(HaveOccurred())
	clusterRole, role := grant.Role{Kind: "ClusterRole", Name: "manager-role"}, grant.Role{Kind: "Role", Name: "manager-role"}
	reader := grant.Role{Kind: "ClusterRole", Name: "reader"}
	const pods = "Labels finished pods. It patches them."
	g.Expect(reasons).To(Equal([]reason{
		{grant.Permission{Resource: "pods", Verb: "patch"}, clusterRole, pods, "pod/add.go"},
		{grant.Permission{Group: "apps", Resource: "deployments/status", Verb: "get"}, clusterRole, pods, "pod/add.go"},
		{grant.Permission{Group: "apps", Resource: "replicasets", Verb: "get"}, clusterRole, pods, "pod/add.go"},
		{grant.Permission{Group: "example.com", Resource: "settings", Name: "a", Verb: "create"}, role, "Creates settings.", "pod/add.go"},
		{grant.Permission{URL: "/metrics", Verb: "get"}, reader, "What it says of the whole role.", "rbac/roles.yaml"},
		{grant.Permission{Group: "authentication.k8s.io", Resource: "tokenreviews", Verb: "create"}, reader, "Asks who somebody is.", "rbac/roles.yaml"},
		{grant.Permission{Group: "coordination.k8s.io", Resource: "leases", Verb: "update"}, grant.Role{Kind: "Role", Name: "lease"}, "Takes the lease.", "rbac/roles.yaml"},
	}))
}

func TestReadReasonsRefusesMarkersThatCanNotBeUsed(t *testing.T) {
	for marker, want := range map[string]string{
		"// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get":               "explain the purpose of the permission in a comment above it",
		"// Reads.\n// +kubebuilder:rbac:groups=apps,resources=deployments":              "it grants no permission",
		"// Reads.\n// +kubebuilder:rbac:groups=apps,resource=deployments,verbs=get":     `unknown argument "resource=deployments"`,
		"// Reads.\n\n// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list": "explain the purpose of the permission in a comment above it",
	} {
		t.Run(marker, func(t *testing.T) {
			_, err := readReasons(fstest.MapFS{"a.go": {Data: []byte("package a\n\n" + marker + "\n")}})
			NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("a.go"), ContainSubstring(want))))
		})
	}
}

func TestExplainNeedsGrantsAndReasonsToMeet(t *testing.T) {
	pods, nodes := grant.Permission{Resource: "pods", Verb: "get"}, grant.Permission{Resource: "nodes", Verb: "get"}
	role := grant.Role{Kind: "ClusterRole", Name: "manager-role"}
	granted := grant.Grant{Permission: pods, Role: grant.Role{Kind: "ClusterRole", Name: "altershieldoperator-manager-role"}}
	for name, test := range map[string]struct {
		reasons []reason
		want    []string
	}{
		"they do":               {[]reason{{pods, role, "Reads.", "a.go"}, {pods, role, "Reads, too.", "b.go"}}, nil},
		"a grant has no reason": {nil, []string{"get pods (ClusterRole altershieldoperator-manager-role) is granted without a reason in a comment"}},
		"a reason is for another role": {[]reason{{pods, grant.Role{Kind: "Role", Name: "manager-role"}, "Reads.", "a.go"}}, []string{
			"a.go explains why Role manager-role grants get pods, which it doesn't",
			"get pods (ClusterRole altershieldoperator-manager-role) is granted without a reason in a comment",
		}},
		"a reason is for nothing": {[]reason{{pods, role, "Reads.", "a.go"}, {nodes, role, "Reads.", "a.go"}}, []string{
			"a.go explains why ClusterRole manager-role grants get nodes, which it doesn't"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			rows, problems := explain([]grant.Grant{granted}, test.reasons, "altershieldoperator-")
			g.Expect(problems).To(Equal(test.want))
			g.Expect(rows).To(HaveLen(1))
		})
	}
}

const installed = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: altershieldoperator-manager-role}
rules:
- {apiGroups: [""], resources: [pods], verbs: [patch]}
- {apiGroups: [apps], resources: [deployments/status, replicasets], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: altershieldoperator-manager-role}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: altershieldoperator-manager-role}
subjects: [{kind: ServiceAccount, name: operator, namespace: system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: altershieldoperator-manager-role, namespace: system}
rules:
- {apiGroups: [example.com], resources: [settings], resourceNames: [a], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: altershieldoperator-manager-role, namespace: system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: altershieldoperator-manager-role}
subjects: [{kind: ServiceAccount, name: operator, namespace: system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: altershieldoperator-reader}
rules:
- {nonResourceURLs: [/metrics], verbs: [get]}
`

const reader = `# For those | who scrape.
kind: ClusterRole
metadata: {name: reader}
rules:
- {nonResourceURLs: [/metrics], verbs: [get]}
`

func TestRunWritesARowForEachPermission(t *testing.T) {
	g := NewWithT(t)
	opts := optionsFor(t, map[string]string{"pod/add.go": code, "reader.yaml": reader})
	g.Expect(run(opts, strings.NewReader(installed))).To(Succeed())
	written, err := os.ReadFile(opts.out)
	g.Expect(err).NotTo(HaveOccurred())
	_, tables, _ := strings.Cut(string(written), "\n## ")
	where := "`" + filepath.ToSlash(opts.dirs[0]) + "/pod`: "
	g.Expect(tables).To(Equal(`In the whole cluster

Granted by ClusterRole ` + "`altershieldoperator-manager-role`" + `.

| API group | Resource | Verb | Purpose |
|---|---|---|---|
| core | pods | patch | ` + where + `Labels finished pods. It patches them. |
| apps | deployments/status | get | ` + where + `Labels finished pods. It patches them. |
| apps | replicasets | get | ` + where + `Labels finished pods. It patches them. |

## In the namespace ` + "`system`" + ` only

Granted by Role ` + "`altershieldoperator-manager-role`" + `.

| API group | Resource | Verb | Purpose |
|---|---|---|---|
| example.com | settings, only ` + "`a`" + ` | create | ` + where + `Creates settings. |

## Roles for others

These roles are installed with the operator, which doesn't use them. The roles ` + "`uninstall`" + ` are those of the Helm chart's
pre-delete hook and exist only while a release is uninstalled.

| Role | API group | Resource | Verb | Purpose |
|---|---|---|---|---|
| ClusterRole ` + "`altershieldoperator-reader`" + ` |  | ` + "`/metrics`" + ` | get | For those \| who scrape. |
`))
}

func TestRunWritesNoPageWhereSomethingIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		files     map[string]string
		manifests string
		want      string
	}{
		"a permission without a reason": {map[string]string{"pod/add.go": code}, installed,
			"get /metrics (ClusterRole altershieldoperator-reader) is granted without a reason in a comment"},
		"a permission that is granted twice": {map[string]string{"pod/add.go": code, "reader.yaml": reader},
			strings.ReplaceAll(installed, "verbs: [create]}", "verbs: [create]}\n- {apiGroups: [\"\"], resources: [pods], verbs: [patch]}"),
			"patch pods in namespace system (Role altershieldoperator-manager-role) is granted twice"},
		"no manifests": {nil, "", "the manifests grant ServiceAccount system/operator no permission"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			opts := optionsFor(t, test.files)
			g.Expect(run(opts, strings.NewReader(test.manifests))).To(MatchError(ContainSubstring(test.want)))
			g.Expect(opts.out).NotTo(BeAnExistingFile())
		})
	}
}

func optionsFor(t *testing.T, files map[string]string) options {
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		NewWithT(t).Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		NewWithT(t).Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
	}
	return options{
		account: types.NamespacedName{Namespace: "system", Name: "operator"}, prefix: "altershieldoperator-",
		out: filepath.Join(t.TempDir(), "docs", "permissions.md"), dirs: []string{dir},
	}
}
