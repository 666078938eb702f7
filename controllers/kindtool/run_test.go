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

package kindtool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	testingclock "k8s.io/utils/clock/testing"
)

const (
	samples = "../../config/samples/kinds/"
	crds    = "../workload/declared/testdata/crds/"

	cluster = `
apiVersion: ecs.yun.com/v1
kind: KubernetesCluster
metadata: {name: dev, namespace: infra}
spec:
  cluster:
    kubeVersion: v1.30.2
    masterList: [{ip: 10.0.0.1}]
    nodeList: [{ip: 10.0.0.2}, {ip: 10.0.0.3}]
status: {phase: Running, lastTransitionTime: "2026-11-21T09:00:00Z"}
`
	service = `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {template: {spec: {containers: [{image: web:1}]}}}
`
	clone = `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: web, namespace: shop}
spec: {replicas: 2, template: {spec: {containers: [{image: web:1}]}}}
`
)

// run runs a command. Files are written from texts by their names, and the paths of samples and CRDs shortened.
func run(t *testing.T, command string, files map[string]string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	args := strings.Fields(command)
	for i, arg := range args {
		if text, named := files[arg]; named && arg != "-" {
			args[i] = filepath.Join(dir, arg)
			if err := os.WriteFile(args[i], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args[i] = strings.NewReplacer("samples/", samples, "crds/", crds).Replace(args[i])
	}
	var out strings.Builder
	err := Run(args, strings.NewReader(files["-"]), &out, testingclock.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)))
	return out.String(), err
}

func replace(text string, edit ...string) string { return strings.NewReplacer(edit...).Replace(text) }

func TestRunTest(t *testing.T) {
	const observes = "mode: Observe: nothing is written, held or denied. With Enforce:\n"
	const nothingHolds = "hold: not supported; only the next release is denied\n"
	for _, row := range []struct {
		name, command string
		files         map[string]string
		out, problem  string
	}{
		{"a node more", "test --kind samples/kubernetescluster.yaml --crd samples/../kubernetescluster/crd.yaml -f new --old old",
			map[string]string{"old": cluster, "new": replace(cluster, "{ip: 10.0.0.3}", "{ip: 10.0.0.3}, {ip: 10.0.0.4}", "status:", "#")}, `
update of KubernetesCluster dev
` + observes + `release: yes, version c5c603f552d1204a8d4e596f413aec93; changed: /spec/cluster/nodeList
pods: none; reported instead: 10.0.0.2, 10.0.0.3, 10.0.0.4
` + nothingHolds + `health: InProgress (spec.health.current is false)
rules: passed
`, ""},
		{"what rules deny", "test --kind samples/kubernetescluster.yaml -f new --old old",
			map[string]string{"old": replace(cluster, "Running", "Scaling"), "new": replace(cluster, "10.0.0.1}", "10.0.0.9}")}, `
update of KubernetesCluster dev
` + observes + `release: no
pods: none; reported instead: 10.0.0.2, 10.0.0.3
` + nothingHolds + `health: Current (spec.health.current is true)
rule spec.cluster.masterList: spec.cluster.masterList is immutable
rule one-at-a-time: an operation is in progress
`, "denied: spec.cluster.masterList is immutable; an operation is in progress"},
		{"the end of an operation", "test --kind samples/kubernetescluster.yaml -f new --old old",
			map[string]string{"old": cluster, "new": replace(cluster, "{name: dev", "{annotations: {app.kubernetes.io/operation: create-finished}, name: dev")}, `
update of KubernetesCluster dev
` + observes + `release: no, because of spec.release.when; changed: /metadata/annotations/app.kubernetes.io~1operation
pods: none; reported instead: 10.0.0.2, 10.0.0.3
` + nothingHolds + `health: Current (spec.health.current is true)
rules: passed
`, ""},
		{"what the CRD has defaults for", "test --kind kind --crd crd -f new --old old", map[string]string{
			"new": replace(service, "serving.knative.dev", "example.com"), "old": replace(service, "serving.knative.dev", "example.com", "spec: {template", "spec: {region: a, template"),
			"crd": replace(pruning, "{spec: {type: object, properties: {", "{spec: {type: object, properties: {region: {type: string, default: a}, "), "kind": `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata: {name: services.example.com}
spec: {mode: Enforce, immutable: [spec.region], release: {templates: [spec.template], fields: [spec.region]}, pods: {by: None}}
`}, `
update of Service web
release: no
pods: none; reported instead: web
` + nothingHolds + `health: Unknown (the object has no status)
rules: passed
`, ""},
		{"what a rule says of the request", "test --kind kind -f new", map[string]string{"new": clone, "kind": `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata: {name: clonesets.apps.kruise.io}
spec:
  mode: Enforce
  release: {templates: [spec.template]}
  rules:
  - {name: by-hand, operations: [CREATE], message: no user creates one, expression: "!('system:authenticated' in request.userInfo.groups) || request.userInfo.username == 'robot'"}
  - {name: in-v1, operations: [CREATE], message: not in this version, expression: "request.requestKind.version == 'v1alpha1' && request.requestResource.resource == 'clonesets'"}
  - {name: for-real, operations: [CREATE], message: not for real, expression: "!request.dryRun"}
`}, `
creation of CloneSet web
release: yes, version 0ac1ff7edc4b3380391c2d5c71eca3ab; changed: /spec/template
pods: those that it controls, directly or through ReplicaSet.apps, StatefulSet.apps, Job.batch, limited to the release by the label admission-webhook-altershield.antgroup.com/version=0ac1ff7edc4b3380391c2d5c71eca3ab
` + nothingHolds + `health: Unknown (the object has no status)
rule by-hand: no user creates one
`, "denied: no user creates one"},
		{"a deletion", "test --kind samples/kubernetescluster.yaml --old old", map[string]string{"old": cluster}, `
deletion of KubernetesCluster dev
` + observes + `health: Current (spec.health.current is true)
rule said-so: name the cluster in the annotation altershield.defense.antgroup.com/delete to delete it
`, "denied: name the cluster in the annotation altershield.defense.antgroup.com/delete to delete it"},
		{"what it was before holds", "test --kind samples/knative-service.yaml -f new --old old",
			map[string]string{"old": service + "status: {latestReadyRevisionName: web-00001}\n", "new": replace(service, "web:1", "web:2")}, `
update of Service web
` + observes + `release: yes, version 35d47a5a23059de235f971dda6b2cde8; changed: /spec/template
pods: those with the label serving.knative.dev/service=web, limited to the release by the label admission-webhook-altershield.antgroup.com/version=35d47a5a23059de235f971dda6b2cde8
hold: add /spec/traffic [{"latestRevision":false,"percent":100,"revisionName":"web-00001"}]
health: InProgress (spec.health.current is false)
rules: passed
`, ""},
		{"nothing known of before", "test --kind samples/knative-service.yaml -f new --old old",
			map[string]string{"old": service + "status: {}\n", "new": replace(service, "web:1", "web:2")}, `
update of Service web
` + observes + `release: yes, version 35d47a5a23059de235f971dda6b2cde8; changed: /spec/template
warning: evaluating the value that holds /spec/traffic: no such key: latestReadyRevisionName
pods: those with the label serving.knative.dev/service=web, limited to the release by the label admission-webhook-altershield.antgroup.com/version=35d47a5a23059de235f971dda6b2cde8
hold: not possible: its value depends on the object before the release
health: InProgress (spec.health.current is false)
rules: passed
`, ""},
		{"a creation", "test --kind kind -f new", map[string]string{"new": clone, "kind": `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata: {name: clonesets.apps.kruise.io}
spec: {mode: Enforce, release: {templates: [spec.template]}, pods: {by: Selector, path: status.labelSelector}, hold: [{path: spec.updateStrategy.paused, value: true}]}
`}, `
creation of CloneSet web
release: yes, version 0ac1ff7edc4b3380391c2d5c71eca3ab; changed: /spec/template
pods: those that status.labelSelector selects, limited to the release by the label admission-webhook-altershield.antgroup.com/version=0ac1ff7edc4b3380391c2d5c71eca3ab
hold: add /spec/updateStrategy {"paused":true}
health: Unknown (the object has no status)
rules: passed
`, ""},
		{"what is paused", "test --kind samples/cloneset.yaml -f new --old old",
			map[string]string{"old": clone, "new": replace(clone, "{replicas: 2", "{updateStrategy: {paused: true}, replicas: 3")}, `
update of CloneSet web
` + observes + `release: no
pods: those that it controls, directly or through ReplicaSet.apps, StatefulSet.apps, Job.batch, limited to the release by the label admission-webhook-altershield.antgroup.com/version, whose value isn't known yet
hold: already paused
health: Unknown (the object has no status)
rules: passed
`, ""},
		{"what another controls", "test --kind samples/cloneset.yaml -f new", map[string]string{"new": replace(clone, "{name: web",
			"{ownerReferences: [{apiVersion: example.com/v1, kind: App, name: web, uid: a, controller: true}], name: web")}, `
creation of CloneSet web
ignored: another object controls it
`, ""},
		{"what another controlled before", "test --kind samples/cloneset.yaml -f new --old old", map[string]string{"new": clone, "old": replace(clone, "{name: web",
			"{ownerReferences: [{apiVersion: example.com/v1, kind: App, name: web, uid: a, controller: true}], name: web")}, `
update of CloneSet web
ignored: another object controls it
`, ""},
		{"nothing to release", "test --kind samples/cloneset.yaml -f new --old old", map[string]string{"old": clone, "new": replace(clone, "template:", "other:")}, `
update of CloneSet web
` + observes + `release: no, the object has none of the templates and fields
pods: those that it controls, directly or through ReplicaSet.apps, StatefulSet.apps, Job.batch, limited to the release by the label admission-webhook-altershield.antgroup.com/version, whose value isn't known yet
hold: add /spec/updateStrategy {"paused":true}
health: Unknown (the object has no status)
rules: passed
`, ""},
		{"a pod template that is optional", "test --kind kind -f -", map[string]string{"-": replace(clone, "template: {spec: {containers: [{image: web:1}]}}", "image: web:1"), "kind": `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata: {name: clonesets.apps.kruise.io}
spec: {mode: Enforce, release: {templates: [spec.template], fields: [spec.image]}, pods: {by: Label, key: app}}
`}, `
creation of CloneSet web
release: yes, version 855c08264db4e3df02dce8c1122c516a; changed: /spec/image
warning: the object has no pod template, so that its pods get no version label and are not found: add one, or set release.identity
pods: those with the label app=web, limited to the release by the label admission-webhook-altershield.antgroup.com/version=855c08264db4e3df02dce8c1122c516a
hold: not supported; only the next release is denied
health: Unknown (the object has no status)
rules: passed
`, ""},
		{"a label that is dropped", "test --kind kind --crd crd -f -", map[string]string{"-": replace(service, "serving.knative.dev", "example.com"), "crd": pruning, "kind": `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata: {name: services.example.com}
spec: {mode: Enforce}
`}, `
creation of Service web
release: yes, version 0ac1ff7edc4b3380391c2d5c71eca3ab; changed: /spec/template
warning: the CRD drops the version label of spec.template: set release.identity
pods: those that it controls, directly or through ReplicaSet.apps, StatefulSet.apps, Job.batch, limited to the release by the label admission-webhook-altershield.antgroup.com/version=0ac1ff7edc4b3380391c2d5c71eca3ab
hold: not supported; only the next release is denied
health: Unknown (the object has no status)
rules: passed
`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			out, err := run(t, row.command, row.files)
			if row.problem == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(row.problem))
			}
			g.Expect("\n" + out).To(Equal(row.out))
		})
	}
}

const pruning = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: services.example.com}
spec:
  group: example.com
  names: {kind: Service, plural: services}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {template: {type: object, properties: {
      metadata: {type: object}, spec: {type: object, properties: {containers: {type: array, items: {type: object}}}}}}}}}}}
`

func TestRunInfer(t *testing.T) {
	for _, row := range []struct{ name, command, out string }{
		{"a kind with all levers", "infer crds/clonesets.yaml", `
# Check whether spec.updateStrategy.partition counts the old pods (Old) or is the first index that is updated (FirstIndex).
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata:
  name: clonesets.apps.kruise.io
spec:
  counts:
    desired: spec.replicas
    ready: status.readyReplicas
    total: status.replicas
    updated: status.updatedReplicas
  hold:
  - path: spec.updateStrategy.paused
    value: true
  mode: Observe
  pace:
    partition:
      counts: Old
      path: spec.updateStrategy.partition
  pods:
    by: Selector
    path: status.labelSelector
  release:
    templates:
    - spec.template
  version: v1alpha1
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  labels:
    altershield.defense.antgroup.com/aggregate-to-kinds: "true"
  name: altershield-kind-clonesets.apps.kruise.io
rules:
- apiGroups:
  - apps.kruise.io
  resources:
  - clonesets
  verbs:
  - get
  - list
  - watch
  - patch
- apiGroups:
  - apps.kruise.io
  resources:
  - clonesets/finalizers
  verbs:
  - update
`},
		{"an index", "infer --version v1 crds/leaderworkersets.yaml", "counts: FirstIndex\n      path: spec.rolloutStrategy.rollingUpdateConfiguration.partition"},
		{"templates in lists", "infer crds/rayclusters.yaml", `
# Pods are found by their owners. If there are owners in between other than ReplicaSets, StatefulSets and Jobs, use a label.
# No count of the desired pods was found: the first pod that passes verifies a release. Declare counts.desired.
# No field was found that holds a rollout, such as spec.paused: the rollout of a failed release continues, and only the next one is denied.
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata:
  name: rayclusters.ray.io
spec:
  mode: Observe
  pods:
    by: Owner
  release:
    templates:
    - spec.headGroupSpec.template
    - spec.workerGroupSpecs[*].template
  version: v1
---
`},
		{"no pods", "infer crds/machinedeployments.yaml", `
# The CRD has no pod templates: every change of the spec is a release. Restrict release.fields to the relevant fields.
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata:
  name: machinedeployments.cluster.x-k8s.io
spec:
  counts:
    desired: spec.replicas
    ready: status.readyReplicas
    total: status.replicas
  hold:
  - path: spec.paused
    value: true
  mode: Observe
  pods:
    by: None
  release:
    fields:
    - spec
  version: v1beta2
---
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, err := run(t, row.command, nil)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect("\n" + out).To(ContainSubstring(row.out))
		})
	}
}

func TestRunInferWhereLabelsAreDropped(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "infer -", map[string]string{"-": pruning})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("# The CRD drops labels in spec.template, and has no status.observedGeneration, which release.identity needs to tell pods apart: add the field, or have the labels kept.\n"))
	out, err = run(t, "infer -", map[string]string{"-": replace(pruning, "properties: {spec:",
		"properties: {status: {type: object, properties: {observedGeneration: {type: integer}}}, spec:")})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("# The CRD drops labels in spec.template: set release.identity to the label by which its controller distinguishes pods of different revisions.\n"))
	out, err = run(t, "infer -", map[string]string{"-": replace(pruning, "properties: {spec:",
		"properties: {status: {type: object, properties: {observedGeneration: {type: integer}, updateRevision: {type: string}}}, spec:")})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("identity:\n      by: Revision\n      label: controller-revision-hash\n      path: status.updateRevision\n"))
}

// What is inferred compiles.
func TestRunInferredKinds(t *testing.T) {
	files, err := filepath.Glob(crds + "*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			inferred, err := run(t, "infer crds/"+filepath.Base(file), nil)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			_, err = run(t, "policy --crd crds/"+filepath.Base(file)+" --kind kind", map[string]string{"kind": inferred})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("has neither rules nor immutable fields")))
		})
	}
}

func TestRunPolicy(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "policy --kind samples/cluster-api-kubeadmcontrolplane.yaml --crd crds/kubeadmcontrolplanes.yaml", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(HavePrefix("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n"))
	g.Expect(out).To(ContainSubstring("\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n"))
	g.Expect(out).To(ContainSubstring("message: an even number of members of etcd"))
	g.Expect(out).NotTo(ContainSubstring("status"))
}

func TestRunFails(t *testing.T) {
	const kind = "apiVersion: app.ops.cloud.alipay.com/v1alpha1\nkind: ControlledKind\nmetadata: {name: clonesets.apps.kruise.io}\n"
	for _, row := range []struct {
		command string
		files   map[string]string
		problem string
	}{
		{"", nil, `unknown command "" of kind`},
		{"try", nil, `unknown command "try" of kind`},
		{"infer", nil, "expected one file with a CustomResourceDefinition after the flags, got 0 arguments"},
		{"infer a --version v1", nil, "expected one file with a CustomResourceDefinition after the flags, got 3 arguments"},
		{"infer --new a", nil, "flag provided but not defined: -new"},
		{"infer missing", nil, "open missing: no such file or directory"},
		{"infer -", map[string]string{"-": clone}, "there is no CustomResourceDefinition in -"},
		{"infer -", map[string]string{"-": "a: ["}, "reading -: error converting YAML to JSON"},
		{"infer -", map[string]string{"-": "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1beta1\n"},
			"the CustomResourceDefinition in - has apiVersion apiextensions.k8s.io/v1beta1, not apiextensions.k8s.io/v1"},
		{"infer -", map[string]string{"-": "kind: CustomResourceDefinition\nspec: 1\n"}, "reading the CustomResourceDefinition in -: "},
		{"infer --version v9 crds/clonesets.yaml", nil, "version v9 is not served; served versions: v1alpha1"},
		{"policy", nil, "expected --kind and optionally --crd, and no other arguments"},
		{"policy --kind a b", nil, "expected --kind and optionally --crd, and no other arguments"},
		{"policy --new", nil, "flag provided but not defined: -new"},
		{"policy --kind -", map[string]string{"-": kind + "spec: {hold: [{pth: a}]}\n"}, `reading the ControlledKind in -: error unmarshaling JSON: while decoding JSON: json: unknown field "pth"`},
		{"policy --kind - --crd missing", map[string]string{"-": kind + "spec: {}\n"}, "open missing: no such file or directory"},
		{"policy --kind - --crd crds/clonesets.yaml", map[string]string{"-": kind + "spec: {immutable: [spec.size]}\n"},
			`ControlledKind clonesets.apps.kruise.io in -: spec.immutable[0]: Invalid value: "spec.size": spec.size: the CRD has no such field`},
		{"test --kind - --old old", map[string]string{"old": clone, "-": kind + "spec: {rules: [{name: never, operations: [Delete], expression: \"false\", message: never}]}\n"},
			`reading the ControlledKind in -: spec.rules[0].operations[0]: Unsupported value: "Delete": supported values: "CREATE", "UPDATE", "DELETE"`},
		{"test --kind - -f new", map[string]string{"new": clone, "-": kind + "spec: {units: {list: spec.nodes, name: ip}}\n"},
			"reading the ControlledKind in -: spec: Invalid value: units require pods.by None"},
		{"policy --kind -", map[string]string{"-": kind + "spec: {immutable: [spec.size]}\n"},
			"ControlledKind clonesets.apps.kruise.io in - has no spec.version, which a policy needs: set it, or add --crd"},
		{"policy --kind samples/rollout.yaml", nil, "rollout.yaml has neither rules nor immutable fields"},
		{"test --kind a", nil, "expected --kind, at least one of -f and --old, and optionally --crd, and no other arguments"},
		{"test --new", nil, "flag provided but not defined: -new"},
		{"test --kind missing -f new", map[string]string{"new": clone}, "open missing: no such file or directory"},
		{"test --kind samples/cloneset.yaml -f missing", nil, "open missing: no such file or directory"},
		{"test --kind samples/cloneset.yaml -f - --old missing", nil, "open missing: no such file or directory"},
		{"test --kind samples/cloneset.yaml -f -", map[string]string{"-": "# nothing\n"}, "there is no object in -"},
		{"test --kind samples/cloneset.yaml -f -", map[string]string{"-": service},
			"the object is of kind serving.knative.dev/v1, Kind=Service, the declaration of kind apps.kruise.io/v1alpha1, Kind=Service"},
		{"test --kind kind -f -", map[string]string{"-": clone, "kind": kind + "spec: {release: {when: \"object.x == 1\"}}\n"},
			"evaluating spec.release.when: no such key: x"},
	} {
		t.Run(row.command, func(t *testing.T) {
			_, err := run(t, row.command, row.files)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.problem)))
		})
	}
}

func TestRunHelps(t *testing.T) {
	for _, command := range []string{"-h", "--help", "help", "test -h", "infer --help"} {
		out, err := run(t, command, nil)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), command)
		NewWithT(t).Expect(out).To(HavePrefix("Usage:\n  manager kind infer"), command)
	}
}

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestRunReturnsErrorsOfItsOutput(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	object := filepath.Join(t.TempDir(), "clone")
	NewWithT(t).Expect(os.WriteFile(object, []byte(clone), 0o600)).To(Succeed())
	err := Run([]string{"test", "--kind", samples + "cloneset.yaml", "-f", object}, strings.NewReader(""), full{}, clock)
	NewWithT(t).Expect(err).To(MatchError("no space left"))
}

func TestRunFailsForAnObjectThatIsAList(t *testing.T) {
	g := NewWithT(t)
	inferred, err := run(t, "infer -", map[string]string{"-": pruning})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = run(t, "test --kind kind --crd crd -f list", map[string]string{"kind": inferred, "crd": pruning, "list": "- a\n"})
	g.Expect(err).To(MatchError(ContainSubstring("list")))
}

func TestRunWarnsOfATemplateWhoseLabelsAreDropped(t *testing.T) {
	g := NewWithT(t)
	inferred, err := run(t, "infer -", map[string]string{"-": pruning})
	g.Expect(err).NotTo(HaveOccurred())
	out, err := run(t, "test --kind kind --crd crd -f new", map[string]string{"kind": inferred, "crd": pruning, "new": `
apiVersion: example.com/v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {template: {spec: {containers: [{}]}}}
`})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("the CRD drops the version label of spec.template: set release.identity"))
}
