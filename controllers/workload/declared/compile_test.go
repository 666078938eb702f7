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

package declared

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/config/crd"
)

func TestCompileNamesThePlaceOfAProblem(t *testing.T) {
	for _, row := range []struct {
		name, plural, spec string
		problems           []string
	}{
		{"a bad path", "clonesets", `release: {templates: ["spec..template"]}`,
			[]string{`spec.release.templates[0]: Invalid value: "spec..template": spec..template: missing field name at character 6`}},
		{"a field that isn't there", "clonesets", `counts: {ready: status.ready}`,
			[]string{`spec.counts.ready: Invalid value: "status.ready": status.ready: the CRD has no such field`}},
		{"a list without [*]", "rayclusters", `release: {templates: [spec.workerGroupSpecs.template]}`,
			[]string{`spec.release.templates[0]: Invalid value: "spec.workerGroupSpecs.template": spec.workerGroupSpecs.template: its parent is a list: use [*] for the elements`}},
		{"no list", "clonesets", `release: {fields: ["spec.selector[*]"]}`,
			[]string{`spec.release.fields[0]: Invalid value: "spec.selector[*]": spec.selector[*]: the CRD has neither a list nor a map there`}},
		{"no pod template", "clusters", `release: {templates: [spec.topology]}`,
			[]string{`spec.release.templates[0]: Invalid value: "spec.topology": not a pod template in the CRD: it has no spec.containers`}},
		{"the same path twice", "leaderworkersets", `release: {fields: [spec.networkConfig, spec.networkConfig.subdomainPolicy]}`,
			[]string{`spec.release.fields[1]: Invalid value: "spec.networkConfig.subdomainPolicy": overlaps with another path of the list`}},
		{"status that is written", "clonesets", `release: {fields: [status.replicas]}`,
			[]string{`spec.release.fields[0]: Invalid value: "status.replicas": status is not writable by users`}},
		{"metadata that is written", "clonesets", `release: {fields: [metadata.labels.app]}`,
			[]string{`spec.release.fields[0]: Invalid value: "metadata.labels.app": only annotations are supported in metadata, such as metadata.annotations['example.com/step']`}},
		{"the operator's annotations", "clonesets", `release: {fields: ["metadata.annotations['altershield.defense.antgroup.com/held']"]}`,
			[]string{`spec.release.fields[0]: Invalid value: "metadata.annotations['altershield.defense.antgroup.com/held']": annotations of the operator are not supported`}},
		{"what is ignored elsewhere", "clonesets", `release: {templates: [spec.template], ignore: [spec.replicas]}`,
			[]string{`spec.release.ignore[0]: Invalid value: "spec.replicas": must be below a template or field of the release`}},
		{"elements that are ignored", "clusters", `release: {fields: [spec.topology], ignore: ["spec.topology.variables[*]"]}`,
			[]string{`spec.release.ignore[0]: Invalid value: "spec.topology.variables[*]": must lead to a field: elements of a list can't be ignored`}},
		{"a lever that is a release", "clonesets", `{release: {fields: [spec.updateStrategy.paused]}, hold: [{path: spec.updateStrategy.paused, value: true}]}`,
			[]string{`spec.release: Invalid value: "spec.updateStrategy.paused": a field that holds rollouts can't be part of a release`}},
		{"a lever in the template", "rollouts", `hold: [{path: spec.template.metadata.annotations.hold, value: "x"}]`,
			[]string{`spec.hold: Invalid value: "spec.template.metadata.annotations.hold": a field of a pod template can't hold rollouts`}},
		{"neither value nor expression", "clonesets", `hold: [{path: spec.updateStrategy.paused}]`,
			[]string{`spec.hold[0]: Invalid value: "spec.updateStrategy.paused": exactly one of value and cel is required`}},
		{"both", "clonesets", `hold: [{path: spec.updateStrategy.paused, value: true, cel: "true"}]`,
			[]string{`spec.hold[0]: Invalid value: "spec.updateStrategy.paused": exactly one of value and cel is required`}},
		{"a value of another type", "clonesets", `hold: [{path: spec.updateStrategy.paused, value: "yes"}]`,
			[]string{`spec.hold[0].value: Invalid value: "\"yes\"": spec.updateStrategy.paused has type boolean in the CRD`}},
		{"a number for an object", "clonesets", `hold: [{path: spec.updateStrategy, value: 1}]`,
			[]string{`spec.hold[0].value: Invalid value: "1": spec.updateStrategy has type object in the CRD`}},
		{"half of a number", "clonesets", `hold: [{path: spec.replicas, value: 0.5}]`,
			[]string{`spec.hold[0].value: Invalid value: "0.5": spec.replicas has type integer in the CRD`}},
		{"an object for a number", "clonesets", `hold: [{path: spec.replicas, value: {}}]`,
			[]string{`spec.hold[0].value: Invalid value: "{}": spec.replicas has type integer in the CRD`}},
		{"a list for a number", "clonesets", `hold: [{path: spec.replicas, value: []}]`,
			[]string{`spec.hold[0].value: Invalid value: "[]": spec.replicas has type integer in the CRD`}},
		{"nothing", "clonesets", `hold: [{path: "", value: true}]`,
			[]string{`spec.hold[0].path: Required value: a path, such as spec.template`}},
		{"null", "clonesets", `hold: [{path: spec.updateStrategy.paused, value: null}]`,
			[]string{`spec.hold[0]: Invalid value: "spec.updateStrategy.paused": exactly one of value and cel is required`}},
		{"an annotation that is no string", "clonesets", `hold: [{path: "metadata.annotations['example.com/paused']", value: true}]`,
			[]string{`spec.hold[0].value: Invalid value: "true": must be a string, as the value of an annotation`}},
		{"a value beyond a limit", "clusters", `hold: [{path: spec.clusterNetwork.apiServerPort, value: 0}]`,
			[]string{`spec.hold[0].value: Invalid value: "0": the CRD doesn't admit it: spec.clusterNetwork.apiServerPort: Invalid value: 0: ` +
				`spec.clusterNetwork.apiServerPort in body should be greater than or equal to 1`}},
		{"several fields at once", "rayclusters", `hold: [{path: "spec.workerGroupSpecs[*].suspend", value: true}]`,
			[]string{`spec.hold[0].path: Invalid value: "spec.workerGroupSpecs[*].suspend": must lead to one field: [*] is not allowed here`}},
		{"a partition that is no number", "clonesets", `pace: {partition: {path: spec.updateStrategy.paused, counts: Old}}`,
			[]string{`spec.pace.partition.path: Invalid value: "spec.updateStrategy.paused": spec.updateStrategy.paused has type boolean in the CRD`}},
		{"a limited partition", "clusters", `{counts: {desired: status.observedGeneration}, pace: {partition: {path: spec.clusterNetwork.apiServerPort, counts: Old}}}`,
			[]string{`spec.pace.partition.path: Invalid value: "spec.clusterNetwork.apiServerPort": the CRD doesn't admit 2147483647, which keeps all pods back: ` +
				`spec.clusterNetwork.apiServerPort: Invalid value: 2147483647: spec.clusterNetwork.apiServerPort in body should be less than or equal to 65535`}},
		{"a partition of nothing", "clusters", `{pods: {by: None}, pace: {partition: {path: spec.topology.controlPlane.replicas, counts: Old}}}`,
			[]string{`spec.counts.desired: Required value: required by the partition`}},
		{"a count that is no number", "clonesets", `counts: {ready: status.labelSelector}`,
			[]string{`spec.counts.ready: Invalid value: "status.labelSelector": status.labelSelector has type string in the CRD`}},
		{"an expression that doesn't compile", "clonesets", `health: {current: "object.status.x == ready"}`,
			[]string{`spec.health.current: Invalid value: "object.status.x == ready": line 1, column 20: undeclared reference to 'ready' (in container '')`}},
		{"an expression that is no condition", "clonesets", `release: {when: "object.spec.paused"}`,
			[]string{`spec.release.when: Invalid value: "object.spec.paused": the result has type dyn, not bool; compare it with a value`}},
		{"an unknown field of the release", "clonesets", `health: {current: "release.name == 'x'"}`,
			[]string{`spec.health.current: Invalid value: "release.name == 'x'": line 1, column 8: undefined field 'name'`}},
		{"a variable of another place", "clonesets", `rules: [{name: a, operations: [UPDATE], expression: "old == object", message: m}]`,
			[]string{`spec.rules[0].expression: Invalid value: "old == object": line 1, column 1: undeclared reference to 'old' (in container '')`}},
		{"two rules of a name", "clonesets", `rules: [{name: a, operations: [UPDATE], expression: "true", message: m}, {name: a, operations: [UPDATE], expression: "true", message: m}]`,
			[]string{`spec.rules[1].name: Duplicate value: "a"`}},
		{"an unknown kind between", "clonesets", `pods: {by: Owner, through: [Pod.core]}`,
			[]string{`spec.pods.through[0]: Unsupported value: "Pod.core": supported values: "DaemonSet.apps", "Deployment.apps", "Job.batch", "ReplicaSet.apps", "StatefulSet.apps"`}},
		{"an unknown way to find pods", "clonesets", `pods: {by: Name}`,
			[]string{`spec.pods.by: Unsupported value: "Name": supported values: "Owner", "Label", "Selector", "None"`}},
		{"a bad label", "clonesets", `pods: {by: Label, key: "a b"}`,
			[]string{`spec.pods.key: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{"no selector", "clonesets", `pods: {by: Selector}`,
			[]string{`spec.pods.path: Required value: the path to the label selector`}},
		{"a selector of labels alone", "clonesets", `pods: {by: Selector, path: spec.selector.matchLabels}`,
			[]string{`spec.pods.path: Invalid value: "spec.selector.matchLabels": must lead to a label selector, an object with matchLabels or a string`}},
		{"a selector that is a number", "clonesets", `pods: {by: Selector, path: spec.replicas}`,
			[]string{`spec.pods.path: Invalid value: "spec.replicas": must lead to a label selector, an object with matchLabels or a string`}},
		{"a revision that is a number", "clonesets", `release: {identity: {by: Revision, label: controller-revision-hash, path: status.replicas}}`,
			[]string{`spec.release.identity.path: Invalid value: "status.replicas": status.replicas has type integer in the CRD`}},
		{"a revision of an unknown generation", "jobsets", `release: {identity: {by: Revision, label: a, path: status.terminalState}}`,
			[]string{`spec.release.identity.by: Invalid value: "Revision": the CRD has no status.observedGeneration, without which pods of the release before ` +
				`would count as those of the next: add it, or have the CRD keep the labels of pod templates and use Stamp`}},
		{"pods without templates", "clusters", `{release: {fields: [spec.topology]}, pods: {by: Owner}}`,
			[]string{`spec.release.identity: Required value: must be Revision: there are no pod templates that could carry the version label`}},
		{"a revision without a path", "clonesets", `release: {identity: {by: Revision, label: controller-revision-hash}}`,
			[]string{`spec.release.identity.path: Required value: the path to the value of the label`}},
		{"units without a name", "kubernetesclusters", `{pods: {by: None}, units: {list: spec.cluster.nodeList, name: ""}}`,
			[]string{`spec.units.name: Required value: the field with the name of an element`}},
		{"units without a list", "kubernetesclusters", `{pods: {by: None}, units: {list: "", name: ip}}`,
			[]string{`spec.units.list: Required value: the path to a list`}},
		{"units with an unknown name", "kubernetesclusters", `{pods: {by: None}, units: {list: spec.cluster.nodeList, name: host}}`,
			[]string{`spec.units.name: Invalid value: "host": spec.cluster.nodeList[*].host: the CRD has no such field`}},
		{"units whose name is a number", "leaderworkersets", `{release: {fields: [spec.replicas]}, pods: {by: None}, units: {list: status.conditions, name: observedGeneration}}`,
			[]string{`spec.units.name: Invalid value: "observedGeneration": status.conditions[*].observedGeneration has type integer in the CRD`}},
		{"units that are no list", "kubernetesclusters", `{pods: {by: None}, units: {list: spec.cluster.podCIDR, name: ip}}`, []string{
			`spec.units.list: Invalid value: "spec.cluster.podCIDR": spec.cluster.podCIDR has type string in the CRD`,
			`spec.units.name: Invalid value: "ip": spec.cluster.podCIDR[*]: the CRD has neither a list nor a map there`,
		}},
		{"several at once", "clonesets", `{version: v9, builtIn: true}`, []string{
			`spec.builtIn: Invalid value: true: clonesets.apps.kruise.io is not built in`,
			`spec.version: Invalid value: "v9": the definition has version v1alpha1`,
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, definition := NewWithT(t), definitionOf(t, row.plural)
			kind, problems := compiler(t).Compile(&appv1alpha1.ControlledKind{
				ObjectMeta: metav1.ObjectMeta{Name: definition.Name()}, Spec: specOf(t, row.spec),
			}, definition)
			g.Expect(kind).To(BeNil())
			var texts []string
			for _, problem := range problems {
				texts = append(texts, problem.Error())
			}
			g.Expect(texts).To(Equal(row.problems))
		})
	}
}

// The API server sets defaults before it validates.
func TestCompileTakesAValueThatDefaultsComplete(t *testing.T) {
	g, definition := NewWithT(t), definitionOf(t, "clonesets")
	fields := definition.Schema.Properties["spec"].Properties
	strategy, kind := fields["updateStrategy"], fields["updateStrategy"].Properties["type"]
	kind.Default = &apiextensionsv1.JSON{Raw: []byte(`"ReCreate"`)}
	strategy.Required, strategy.Properties["type"] = []string{"type"}, kind
	fields["updateStrategy"] = strategy
	_, problems := compiler(t).Compile(&appv1alpha1.ControlledKind{
		ObjectMeta: metav1.ObjectMeta{Name: definition.Name()}, Spec: specOf(t, `{release: {templates: [spec.template]}, hold: [{path: spec.updateStrategy, value: {paused: true}}]}`),
	}, definition)
	g.Expect(problems).To(BeEmpty())
}

func TestCompileWantsTheNameOfTheCRD(t *testing.T) {
	_, problems := compiler(t).Compile(&appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "clonesets"}}, definitionOf(t, "clonesets"))
	NewWithT(t).Expect(problems.ToAggregate()).To(MatchError(
		`metadata.name: Invalid value: "clonesets": must be clonesets.apps.kruise.io, the name of the resource`))
}

func TestCompileFindsDefaultsInTheCRD(t *testing.T) {
	for _, row := range []struct {
		plural, spec string
		content      []string // of an object that has everything
		counts       [4]string
		pods         appv1alpha1.PodsBy
	}{
		{"clonesets", "{}", []string{"spec.template"}, [4]string{"spec.replicas", "status.replicas", "status.updatedReplicas", "status.readyReplicas"}, "Owner"},
		{"leaderworkersets", "{}", []string{"spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"},
			[4]string{"spec.replicas", "status.replicas", "status.updatedReplicas", "status.readyReplicas"}, "Owner"},
		{"jobsets", "{}", []string{"spec.replicatedJobs[*].template.spec.template"}, [4]string{}, "Owner"},
		{"rayclusters", "{}", []string{"spec.headGroupSpec.template", "spec.workerGroupSpecs[*].template"}, [4]string{}, "Owner"},
		{"rollouts", "{counts: {total: status.replicas}}", []string{"spec.template"},
			[4]string{"spec.replicas", "status.replicas", "status.updatedReplicas", "status.readyReplicas"}, "Owner"},
		{"knativeservices", "{}", []string{"spec.template"}, [4]string{}, "Owner"},
		{"machinedeployments", "{}", []string{"spec"}, [4]string{"spec.replicas", "status.replicas", "", "status.readyReplicas"}, "None"},
		{"kubernetesclusters", "{}", []string{"spec"}, [4]string{}, "None"},
		{"kubernetesclusters", "{release: {fields: [spec.addons]}}", []string{"spec.addons"}, [4]string{}, "None"},
	} {
		t.Run(row.plural+" "+row.spec, func(t *testing.T) {
			g := NewWithT(t)
			kind := bare(compiled(t, row.plural, row.spec))
			var content []string
			for _, path := range append(kind.templates, kind.fields...) {
				content = append(content, path.String())
			}
			g.Expect(content).To(Equal(row.content))
			counts := [4]string{kind.counts.desired.String(), kind.counts.total.String(), kind.counts.updated.String(), kind.counts.ready.String()}
			g.Expect(counts).To(Equal(row.counts))
			g.Expect(kind.pods.by).To(Equal(row.pods))
		})
	}
}

func TestCompileWithoutACRD(t *testing.T) {
	g := NewWithT(t)
	definition := definitionOf(t, "clonesets")
	definition.Schema, definition.Scale = nil, nil
	declared := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: definition.Name()}}
	kind, problems := compiler(t).Compile(declared, definition)
	g.Expect(problems).To(BeEmpty())
	g.Expect(bare(kind).fields).To(Equal([]Path{pathOf("spec")}), "nothing is known")
	declared.Spec = specOf(t, `{release: {templates: [spec.anything.template]}, counts: {desired: spec.size}, hold: [{path: spec.off, value: true}]}`)
	kind, problems = compiler(t).Compile(declared, definition)
	g.Expect(problems).To(BeEmpty())
	g.Expect(kind.TemplatePath()).To(Equal([]string{"spec", "anything", "template"}))
}

func TestCompileTakesATemplateWhoseSpecHasNoSchema(t *testing.T) {
	definition := definitionOf(t, "knativeservices")
	var template apiextensionsv1.JSONSchemaProps
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(`{type: object, properties: {metadata: {type: object, x-kubernetes-preserve-unknown-fields: true},
		spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`), &template)).To(Succeed())
	definition.Schema.Properties["spec"].Properties["template"] = template
	_, problems := compiler(t).Compile(&appv1alpha1.ControlledKind{
		ObjectMeta: metav1.ObjectMeta{Name: definition.Name()}, Spec: specOf(t, "release: {templates: [spec.template]}"),
	}, definition)
	NewWithT(t).Expect(problems).To(BeEmpty())
}

func TestKindUnstampable(t *testing.T) {
	const podSpec = "spec: {type: object, properties: {containers: {type: array}}}"
	for _, row := range []struct {
		name, template string
		pruned         bool
	}{
		{"no metadata", "{type: object, properties: {" + podSpec + "}}", true},
		{"metadata without a field", "{type: object, properties: {metadata: {type: object}, " + podSpec + "}}", true},
		{"that also in a template of any kind", "{x-kubernetes-preserve-unknown-fields: true, properties: {metadata: {type: object}, " + podSpec + "}}", true},
		{"metadata with labels", "{type: object, properties: {metadata: {type: object, properties: {labels: {type: object, additionalProperties: {type: string}}}}, " + podSpec + "}}", false},
		{"labels of any kind", "{type: object, properties: {metadata: {type: object, properties: {labels: {type: object, x-kubernetes-preserve-unknown-fields: true}}}, " + podSpec + "}}", false},
		{"labels without a field", "{type: object, properties: {metadata: {type: object, properties: {labels: {type: object}}}, " + podSpec + "}}", true},
		{"labels that are listed", "{type: object, properties: {metadata: {type: object, properties: {labels: {type: object, properties: {app: {type: string}}}}}, " + podSpec + "}}", true},
		{"an embedded resource", "{type: object, x-kubernetes-embedded-resource: true, properties: {metadata: {type: object}, " + podSpec + "}}", false},
		{"metadata of any kind", "{type: object, properties: {metadata: {type: object, x-kubernetes-preserve-unknown-fields: true}, " + podSpec + "}}", false},
		{"a template of any kind", "{x-kubernetes-preserve-unknown-fields: true, properties: {" + podSpec + "}}", false},
		{"nothing known", "{x-kubernetes-preserve-unknown-fields: true}", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, definition := NewWithT(t), definitionOf(t, "knativeservices")
			var template apiextensionsv1.JSONSchemaProps
			g.Expect(yaml.UnmarshalStrict([]byte(row.template), &template)).To(Succeed())
			_, structural, err := crd.Schema(&template)
			g.Expect(err).NotTo(HaveOccurred())
			stamped := objectOf(t, "metadata: {labels: {"+versionLabel+": v}}").Object
			pruning.Prune(stamped, structural, false)
			g.Expect(pathOf("metadata", "labels", versionLabel).find(stamped) == nil).To(Equal(row.pruned), "what the API server does")
			definition.Schema.Properties["spec"].Properties["template"] = template
			declared := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: definition.Name()}}
			kind, problems := compiler(t).Compile(declared, definition)
			g.Expect(problems).To(BeEmpty())
			g.Expect(kind.TemplatePath()).To(Equal([]string{"spec", "template"}))
			if row.pruned {
				g.Expect(kind.Unstampable()).To(Equal([]string{"spec.template"}))
			} else {
				g.Expect(kind.Unstampable()).To(BeEmpty())
			}
			declared.Spec = specOf(t, "release: {identity: {by: Revision, label: app.example.com/revision, path: status.latestReadyRevisionName}}")
			kind, problems = compiler(t).Compile(declared, definition)
			g.Expect(problems).To(BeEmpty())
			g.Expect(kind.Unstampable()).To(BeEmpty(), "nothing is stamped")
		})
	}
}

func TestDefinitionOf(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	NewWithT(t).Expect(yaml.Unmarshal([]byte(`
spec:
  group: example.com
  scope: Cluster
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true}, {name: v2, served: true, storage: true, subresources: {scale: {}}}, {name: v3}]
`), crd)).To(Succeed())
	for version, row := range map[string]struct{ version, problem string }{
		"":   {"v2", ""},
		"v1": {"v1", ""},
		"v3": {"", "version v3 is not served; served versions: v1, v2"},
		"v4": {"", "version v4 is not served; served versions: v1, v2"},
	} {
		t.Run("version "+version, func(t *testing.T) {
			g := NewWithT(t)
			definition, err := DefinitionOf(crd, version)
			if row.problem != "" {
				g.Expect(err).To(MatchError(NotServedError{Version: version, Served: []string{"v1", "v2"}}))
				g.Expect(err).To(MatchError(row.problem))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(definition.GroupVersionKind.String()).To(Equal("example.com/" + row.version + ", Kind=Thing"))
			g.Expect(definition.Name()).To(Equal("things.example.com"))
			g.Expect(definition.Namespaced).To(BeFalse())
			g.Expect(definition.Scale != nil).To(Equal(row.version == "v2"))
		})
	}
	crd.Spec.Versions[1].Served = false
	_, err := DefinitionOf(crd, "")
	NewWithT(t).Expect(err).To(MatchError("version of storage is not served; served versions: v1"))
}
