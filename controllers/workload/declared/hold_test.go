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
	"math"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/expressions"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

func TestHolding(t *testing.T) {
	const partitioned = "{pace: {partition: {path: spec.updateStrategy.partition, counts: Old}}}"
	for _, row := range []struct {
		name, plural, spec, object, held, originals string
	}{
		{"a field that is missing", "rollouts", "hold: [{path: spec.paused, value: true}]", "spec: {}", "spec: {paused: true}", ""},
		{"a field with a value", "rollouts", "hold: [{path: spec.paused, value: true}]", "spec: {paused: false}", "spec: {paused: true}", `{"/spec/paused":false}`},
		{"a field below a missing one", "clonesets", "hold: [{path: spec.updateStrategy.paused, value: true}]",
			"spec: {replicas: 1}", "spec: {replicas: 1, updateStrategy: {paused: true}}", `{"/spec/updateStrategy":null}`},
		{"a field beside another", "clonesets", "hold: [{path: spec.updateStrategy.paused, value: true}]",
			"spec: {updateStrategy: {type: InPlace}}", "spec: {updateStrategy: {type: InPlace, paused: true}}", ""},
		{"two fields below a missing one", "clonesets", "hold: [{path: spec.updateStrategy.paused, value: true}, {path: spec.updateStrategy.type, value: X}]",
			"spec: {}", "spec: {updateStrategy: {paused: true, type: X}}", `{"/spec/updateStrategy":null}`},
		{"an object", "clonesets", "hold: [{path: spec.updateStrategy, value: {type: OnDelete}}]",
			"spec: {updateStrategy: {maxUnavailable: 2}}", "spec: {updateStrategy: {type: OnDelete}}", `{"/spec/updateStrategy":{"maxUnavailable":2}}`},
		{"an annotation", "kubeadmcontrolplanes", `hold: [{path: "metadata.annotations['cluster.x-k8s.io/paused']", value: "true"}]`,
			"{metadata: {name: c}}", `{metadata: {name: c, annotations: {"cluster.x-k8s.io/paused": "true"}}}`, `{"/metadata/annotations":null}`},
		{"a partition", "clonesets", partitioned, "spec: {replicas: 3, updateStrategy: {partition: 1}}",
			"spec: {replicas: 3, updateStrategy: {partition: 2147483647}}", `{"/spec/updateStrategy/partition":1}`},
		{"a partition of percents", "clonesets", partitioned, `spec: {replicas: 3, updateStrategy: {partition: "20%"}}`,
			"spec: {replicas: 3, updateStrategy: {partition: 2147483647}}", `{"/spec/updateStrategy/partition":"20%"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			kind := compiled(t, row.plural, row.spec).(workload.Pauser)
			before := objectOf(t, row.object)
			g.Expect(kind.Paused(before)).To(BeFalse())
			originals := kind.Originals(before)
			g.Expect(originals).To(Equal(row.originals))
			held := before.DeepCopy()
			held.Object = patched(t, before.Object, kind.Pause(before))
			g.Expect(held).To(Equal(objectOf(t, row.held)))
			g.Expect(kind.Paused(held)).To(BeTrue())
			g.Expect(kind.Pause(held)).To(BeEmpty())
			g.Expect(patched(t, held.Object, kind.Resume(held, originals))).To(Equal(before.Object))
			g.Expect(kind.Resume(before, originals)).To(BeEmpty(), "somebody let it go on")
		})
	}
}

func TestHoldingWithDefaultsOfTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	kind := compiled(t, "knativeservices", "hold: [{path: spec.traffic, value: [{revisionName: a, percent: 100}]}]").(workload.Pauser)
	held := objectOf(t, "spec: {traffic: [{revisionName: a, percent: 100, latestRevision: false}]}")
	g.Expect(kind.Paused(held)).To(BeTrue())
	g.Expect(kind.Pause(held)).To(BeEmpty())
	g.Expect(kind.Resume(held, "")).To(Equal([]workload.Operation{{Op: "remove", Path: "/spec/traffic"}}))
	for _, other := range []string{"{}", "spec: {traffic: []}", "spec: {traffic: [a]}", "spec: {traffic: {}}", "spec: {traffic: [{percent: 100}]}",
		"spec: {traffic: [{revisionName: a, percent: 100}, {percent: 0}]}"} {
		g.Expect(kind.Paused(objectOf(t, other))).To(BeFalse(), other)
	}
}

func TestHoldingResumeLeavesWhatAUserChanged(t *testing.T) {
	g := NewWithT(t)
	kind := compiled(t, "clonesets", "hold: [{path: spec.updateStrategy.paused, value: true}, {path: spec.updateStrategy.type, value: X}]").(workload.Pauser)
	changed := objectOf(t, "spec: {updateStrategy: {paused: true, type: InPlace, maxSurge: 1}}")
	g.Expect(kind.Resume(changed, `{"/spec/updateStrategy":null}`)).To(Equal([]workload.Operation{{Op: "remove", Path: "/spec/updateStrategy/paused"}}))
	g.Expect(kind.Resume(changed, "nonsense")).To(Equal([]workload.Operation{{Op: "remove", Path: "/spec/updateStrategy/paused"}}))
	g.Expect(kind.Paused(changed)).To(BeFalse())
}

// The cache has the fields beside a held one whose parent the hold created.
func TestHoldingResumeLeavesWhatAUserAddedToTheCachedWorkload(t *testing.T) {
	for name, spec := range map[string]string{
		"a hold":      "hold: [{path: spec.updateStrategy.paused, value: true}]",
		"a partition": "{pace: {partition: {path: spec.updateStrategy.partition, counts: Old}}}",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			kind := compiled(t, "clonesets", spec)
			slim, err := kind.Slim(objectOf(t, "spec: {replicas: 3, updateStrategy: {paused: true, partition: 2147483647, maxUnavailable: 1}}"))
			g.Expect(err).NotTo(HaveOccurred())
			lever, cached := kind.(workload.Pauser), slim.(client.Object)
			g.Expect(parsePlace("/spec/updateStrategy/maxUnavailable").find(raw(cached))).To(BeEquivalentTo(1))
			for _, operation := range lever.Resume(cached, `{"/spec/updateStrategy":null}`) {
				g.Expect(operation.Path).NotTo(Equal("/spec/updateStrategy"))
			}
		})
	}
}

func TestHoldingWithValuesFromBeforeTheRelease(t *testing.T) {
	g, kind := NewWithT(t), sample(t, "knative-service", "knativeservices")
	old := objectOf(t, "status: {latestReadyRevisionName: web-1}")
	now := objectOf(t, "{metadata: {annotations: {}}, spec: {traffic: [{latestRevision: true, percent: 100}]}, status: {latestReadyRevisionName: web-2}}")
	lever := kind.(workload.Pauser)
	g.Expect(lever.Pause(now)).To(BeEmpty(), "the workload before the release is unknown")
	g.Expect(lever.Paused(now)).To(BeFalse())

	values, err := kind.HoldWith(old.Object, now.Object)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(values).To(MatchJSON(`{"/spec/traffic": [{"revisionName": "web-1", "latestRevision": false, "percent": 100}]}`))
	now.SetAnnotations(map[string]string{"altershield.defense.antgroup.com/hold-with": values})
	originals := lever.Originals(now)
	held := now.DeepCopy()
	held.Object = patched(t, now.Object, lever.Pause(now))
	g.Expect(parsePlace("/spec/traffic/0/revisionName").find(held.Object)).To(Equal("web-1"))
	g.Expect(lever.Paused(held)).To(BeTrue())
	g.Expect(patched(t, held.Object, lever.Resume(held, originals))).To(Equal(now.Object))

	g.Expect(kind.HoldWith(nil, now.Object)).To(BeEmpty(), "a new workload has nothing to stay at")
	_, err = kind.HoldWith(objectOf(t, "status: {}").Object, now.Object)
	g.Expect(err).To(MatchError("evaluating the value that holds /spec/traffic: no such key: latestReadyRevisionName"))
	g.Expect(sample(t, "cloneset", "clonesets").HoldWith(old.Object, now.Object)).To(BeEmpty(), "its value is always the same")
}

func TestExpressionValue(t *testing.T) {
	for text, want := range map[string]any{
		"true":                                   true,
		"1 + 1":                                  int64(2),
		"0.5":                                    0.5,
		"'a' + old.name":                         "ab",
		"[1, 2]":                                 []any{int64(1), int64(2)},
		"{'a': {'b': []}}":                       map[string]any{"a": map[string]any{"b": []any{}}},
		"old.list":                               []any{"x"},
		"timestamp('2026-11-21T10:00:00+01:00')": "2026-11-21T09:00:00Z",
	} {
		t.Run(text, func(t *testing.T) {
			expression, err := compile(compiler(t).hold, text, false)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			old := map[string]any{"name": "b", "list": []any{"x"}}
			NewWithT(t).Expect(expression.Value(map[string]any{"old": old, "object": nil}, expressions.NewBudget())).To(Equal(want))
		})
	}
	for text, problem := range map[string]string{
		"b'bytes'":              "a value of type bytes has no JSON form",
		"[b'bytes']":            "a value of type bytes has no JSON form",
		"{'a': duration('1s')}": "a value of type google.protobuf.Duration has no JSON form",
		"{1: 2}":                "a field name has type int, not string",
		"old.missing":           "no such key: missing",
	} {
		t.Run(text, func(t *testing.T) {
			expression, err := compile(compiler(t).hold, text, false)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			_, err = expression.Value(map[string]any{"old": map[string]any{}, "object": nil}, expressions.NewBudget())
			NewWithT(t).Expect(err).To(MatchError(problem))
		})
	}
}

func TestPacing(t *testing.T) {
	const spec = "{pace: {partition: {path: spec.updateStrategy.partition, counts: Old}}}"
	kind := compiled(t, "clonesets", spec)
	pacer := kind.(workload.Partitioned)
	const partition = "/spec/updateStrategy/partition"
	replace := func(value int64) []workload.Operation {
		return []workload.Operation{{Op: "replace", Path: partition, Value: value}}
	}
	for _, row := range []struct {
		name, object, originals string
		pods                    int32
		want                    []workload.Operation
	}{
		{"some", "spec: {replicas: 5, updateStrategy: {partition: 2147483647}}", "", 2, replace(3)},
		{"none, where there was no partition", "spec: {replicas: 5}", "", 0,
			[]workload.Operation{{Op: "add", Path: "/spec/updateStrategy", Value: map[string]any{"partition": int64(2147483647)}}}},
		{"more than there are, where there was no partition", "spec: {replicas: 5}", "", 7, nil},
		{"more than there are", "spec: {replicas: 5, updateStrategy: {partition: 3}}", "", 7, replace(0)},
		{"as many as before", "spec: {replicas: 5, updateStrategy: {partition: 3}}", "", 2, nil},
		{"after scaling up", "spec: {replicas: 9, updateStrategy: {partition: 3}}", "", 2, replace(7)},
		{"of an unknown number, where there was no partition", "spec: {}", "", 2, nil},
		{"of an unknown number, which counts as one", "spec: {updateStrategy: {partition: 2147483647}}", "", 1, replace(0)},
		{"but not those that the user keeps", "spec: {replicas: 5, updateStrategy: {partition: 2147483647}}", `{"/spec/updateStrategy/partition":4}`, 2, replace(4)},
		{"nor those that the user keeps by a percentage", "spec: {replicas: 5, updateStrategy: {partition: 2147483647}}", `{"/spec/updateStrategy/partition":"50%"}`, 5, replace(3)},
		{"all, with the percentage of the user", "spec: {replicas: 5, updateStrategy: {partition: 3}}", `{"/spec/updateStrategy/partition":"50%"}`, math.MaxInt32,
			[]workload.Operation{{Op: "replace", Path: partition, Value: "50%"}}},
		{"all, with the partition of the user", "spec: {replicas: 5, updateStrategy: {partition: 3}}", `{"/spec/updateStrategy/partition":1}`, math.MaxInt32, replace(1)},
		{"all, which they are", "spec: {replicas: 5, updateStrategy: {partition: 1}}", `{"/spec/updateStrategy/partition":1}`, math.MaxInt32, nil},
		{"all, where there was no partition", "spec: {replicas: 5, updateStrategy: {partition: 3}}", `{}`, math.MaxInt32,
			[]workload.Operation{{Op: "remove", Path: partition}}},
		{"all, where there was no strategy", "spec: {replicas: 5, updateStrategy: {partition: 3}}", `{"/spec/updateStrategy":null}`, math.MaxInt32,
			[]workload.Operation{{Op: "remove", Path: partition}, {Op: "remove", Path: "/spec/updateStrategy"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(pacer.Let(objectOf(t, row.object), row.pods, row.originals)).To(Equal(row.want))
		})
	}
	NewWithT(t).Expect(kind.(workload.Paced).PaceFields()).To(Equal([]string{partition}))
	for text, paused := range map[string]bool{
		"spec: {replicas: 5, updateStrategy: {partition: 4}}":    false,
		"spec: {replicas: 5, updateStrategy: {partition: 5}}":    true,
		"spec: {replicas: 0, updateStrategy: {partition: 0}}":    false,
		"spec: {updateStrategy: {partition: 7}}":                 false,
		"spec: {updateStrategy: {partition: 2147483647}}":        true,
		"spec: {replicas: 5, updateStrategy: {partition: 80%}}":  false,
		"spec: {replicas: 5, updateStrategy: {partition: 100%}}": true,
		"spec: {updateStrategy: {partition: 100%}}":              false,
	} {
		NewWithT(t).Expect(kind.(workload.Pauser).Paused(objectOf(t, text))).To(Equal(paused), text)
	}
	both := sample(t, "cloneset", "clonesets").(workload.Pauser)
	NewWithT(t).Expect(both.Paused(objectOf(t, "spec: {replicas: 5, updateStrategy: {partition: 5}}"))).To(BeFalse(), "paused holds")
	NewWithT(t).Expect(both.Paused(objectOf(t, "spec: {updateStrategy: {paused: true}}"))).To(BeTrue())
}

// A kind with other fields to hold its rollouts is held by them until the first pods may run.
func TestPacingWithFieldsThatHold(t *testing.T) {
	g := NewWithT(t)
	for _, counts := range []string{"Old", "FirstIndex"} {
		kind := compiled(t, "clonesets", "{hold: [{path: spec.updateStrategy.paused, value: true}], "+
			"pace: {partition: {path: spec.updateStrategy.partition, counts: "+counts+"}}}").(workload.Partitioned)
		const originals = `{"/spec/updateStrategy/partition":1}`
		g.Expect(kind.Originals(objectOf(t, "spec: {replicas: 5, updateStrategy: {partition: 1}}"))).To(Equal(originals))
		held := objectOf(t, "spec: {replicas: 5, updateStrategy: {partition: 1, paused: true}}")
		g.Expect(kind.Let(held, 0, originals)).To(BeEmpty())
		g.Expect(kind.Let(held, 2, originals)).To(Equal([]workload.Operation{
			{Op: "replace", Path: "/spec/updateStrategy/partition", Value: int64(3)}, {Op: "remove", Path: "/spec/updateStrategy/paused"}}))
		running := objectOf(t, "spec: {replicas: 5, updateStrategy: {partition: 3}}")
		g.Expect(kind.Let(running, 2, originals)).To(BeEmpty())
		g.Expect(kind.Let(running, math.MaxInt32, originals)).To(Equal([]workload.Operation{
			{Op: "replace", Path: "/spec/updateStrategy/partition", Value: int64(1)}}))
		g.Expect(kind.Let(held, math.MaxInt32, originals)).To(Equal([]workload.Operation{{Op: "remove", Path: "/spec/updateStrategy/paused"}}))
		g.Expect(kind.(workload.Paced).PaceFields()).To(Equal([]string{"/spec/updateStrategy/paused", "/spec/updateStrategy/partition"}))
	}
}

// A user ends a hold by the field that holds. Otherwise the partition stays for ever, and keeps pods of later releases as if the user had set it.
func TestPacingYieldsToAUser(t *testing.T) {
	const path = "pace: {partition: {path: spec.updateStrategy.partition, counts: Old}}}"
	both := compiled(t, "clonesets", "{hold: [{path: spec.updateStrategy.paused, value: true}], "+path).(workload.Partitioned)
	for _, row := range []struct{ name, object, originals, want string }{
		{"without a partition of the user", "spec: {replicas: 5, updateStrategy: {partition: 4, paused: false}}", "",
			"spec: {replicas: 5, updateStrategy: {paused: false}}"},
		{"with one", "spec: {replicas: 5, updateStrategy: {partition: 4}}", `{"/spec/updateStrategy/partition":2}`,
			"spec: {replicas: 5, updateStrategy: {partition: 2}}"},
		{"which is there", "spec: {replicas: 5, updateStrategy: {partition: 4}}", `{"/spec/updateStrategy/partition":4}`,
			"spec: {replicas: 5, updateStrategy: {partition: 4}}"},
		{"without a strategy", "spec: {replicas: 5, updateStrategy: {partition: 4}}", `{"/spec/updateStrategy":null}`, "spec: {replicas: 5}"},
		{"who has paused it again", "spec: {replicas: 5, updateStrategy: {partition: 4, paused: true}}", `{"/spec/updateStrategy":null}`,
			"spec: {replicas: 5, updateStrategy: {paused: true}}"},
	} {
		t.Run(row.name, func(t *testing.T) {
			object := objectOf(t, row.object)
			NewWithT(t).Expect(patched(t, object.Object, both.Yield(object, row.originals))).To(Equal(objectOf(t, row.want).Object))
		})
	}
	alone := compiled(t, "clonesets", "{"+path).(workload.Partitioned)
	NewWithT(t).Expect(alone.Yield(objectOf(t, "spec: {replicas: 5, updateStrategy: {partition: 2}}"), "")).To(BeEmpty(), "it is the user's")
}

func TestParking(t *testing.T) {
	g := NewWithT(t)
	parker := compiled(t, "clonesets", "{pace: {partition: {path: spec.updateStrategy.partition, counts: FirstIndex, park: true}}}").(Parker)
	g.Expect(parker.Park(objectOf(t, "spec: {updateStrategy: {partition: 1}}"))).To(Equal(
		[]workload.Operation{{Op: "replace", Path: "/spec/updateStrategy/partition", Value: int64(2147483647)}}))
	g.Expect(parker.Park(objectOf(t, "spec: {updateStrategy: {partition: 2147483647}}"))).To(BeEmpty())
}

func TestKindImplementsWhatIsDeclared(t *testing.T) {
	const hold, pace = "hold: [{path: spec.paused, value: true}]", "pace: {partition: {path: spec.replicas, counts: Old}}"
	const park = "pace: {partition: {path: spec.replicas, counts: FirstIndex, park: true}}"
	const none, layered = "pods: {by: None}", "pods: {by: Owner, through: [ReplicaSet.apps]}"
	for spec, want := range map[string][]string{
		"{}":                              nil,
		"{" + hold + "}":                  {"Pauser"},
		"{" + pace + "}":                  {"Partitioned", "Pauser"},
		"{" + hold + ", " + pace + "}":    {"Partitioned", "Pauser"},
		"{" + park + "}":                  {"Parker", "Partitioned", "Pauser"},
		"{" + none + "}":                  {"Lister"},
		"{" + none + ", " + hold + "}":    {"Lister", "Pauser"},
		"{" + none + ", " + pace + "}":    {"Lister", "Partitioned", "Pauser"},
		"{" + none + ", " + park + "}":    {"Lister", "Parker", "Partitioned", "Pauser"},
		"{" + layered + "}":               {"Layered"},
		"{" + layered + ", " + hold + "}": {"Layered", "Pauser"},
		"{" + layered + ", " + pace + "}": {"Layered", "Partitioned", "Pauser"},
		"{" + layered + ", " + park + "}": {"Layered", "Parker", "Partitioned", "Pauser"},
	} {
		t.Run(spec, func(t *testing.T) {
			g, kind := NewWithT(t), compiled(t, "rollouts", spec)
			g.Expect(abilities(kind)).To(Equal(want))
			g.Expect(bare(kind).self).To(BeIdenticalTo(kind), "kinds can be compared")
		})
	}
}
