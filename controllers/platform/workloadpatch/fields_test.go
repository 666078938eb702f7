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

package workloadpatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// remembering is a kind whose pause overwrites fields, as that of a declared kind does.
type remembering struct{ deployment.Kind }

func (remembering) Originals(client.Object) string { return "the fields" }

// pausing is a kind with a pause beside its partition, as a declared kind may have.
type pausing struct{ statefulset.Kind }

func (pausing) Yield(_ client.Object, originals string) []workload.Operation {
	return []workload.Operation{{Op: "add", Path: "/spec/partition", Value: originals}}
}

// The fourth release of each workload is paced.
func TestApplyEndsAPace(t *testing.T) {
	const paced, held = "altershield.defense.antgroup.com/paced", "altershield.defense.antgroup.com/held"
	const partition = "/spec/updateStrategy/rollingUpdate/partition"
	set := func(mark, spec string, marks ...string) *appsv1.StatefulSet {
		set := &appsv1.StatefulSet{ObjectMeta: sleep().ObjectMeta}
		set.Generation, set.Annotations[paced] = 7, mark
		decode(t, spec, &set.Spec)
		if len(marks) > 0 {
			set.Annotations[held] = marks[0]
		}
		return set
	}
	daemons := func(marks ...string) *appsv1.DaemonSet {
		set := &appsv1.DaemonSet{ObjectMeta: sleep().ObjectMeta}
		set.Generation, set.Annotations[paced], set.Spec.UpdateStrategy.Type = 7, `{"release":4,"policy":"a/b","lever":"Nodes"}`, "OnDelete"
		if len(marks) > 0 {
			set.Annotations[held] = marks[0]
		}
		return set
	}
	web := func(rests bool, spec string, marks ...string) *appsv1.Deployment {
		web := sleep()
		web.Generation = 7
		web.Annotations[paced] = fmt.Sprintf(`{"release":4,"policy":"a/b","lever":"Gates","from":{"maxUnavailable":"25%%"},"rests":%t}`, rests)
		decode(t, spec, &web.Spec)
		if len(marks) > 0 {
			web.Annotations[held] = marks[0]
		}
		return web
	}
	const kept = `{"release":4,"policy":"a/b","lever":"Partition","from":{"partition":3}}`
	const none = `{"release":4,"policy":"a/b","lever":"Partition"}`
	const at = `{"replicas": 20, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 15}}}`
	const stopped = `{"replicas": 20, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2147483647}}}`
	const resting = `{"paused": true, "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}}`
	const running = `{"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}}`
	unmark := operation{"remove", "/metadata/annotations/altershield.defense.antgroup.com~1paced", nil}
	later := func(originals string) operation {
		return operation{"add", "/metadata/annotations/altershield.defense.antgroup.com~1held-from", originals}
	}
	unavailable := operation{"add", "/spec/strategy/rollingUpdate/maxUnavailable", "25%"}
	for _, row := range []struct {
		name   string
		kind   workload.Kind
		object client.Object
		change workloadpatch.Change
		want   []operation
	}{
		{"pods of a step may run", statefulset.Kind{}, set(none, at), workloadpatch.Change{Let: ptr.To[int32](10)}, []operation{{"add", partition, 10.0}}},
		{"but not those that the user keeps", statefulset.Kind{}, set(kept, at), workloadpatch.Change{Let: ptr.To[int32](19)}, []operation{{"add", partition, 3.0}}},
		{"gates let pods run, no field", deployment.Kind{}, web(false, running), workloadpatch.Change{Let: ptr.To[int32](10)}, nil},
		{"the end restores the partition", statefulset.Kind{}, set(kept, at), workloadpatch.Change{Unpace: true}, []operation{unmark, {"add", partition, 3.0}}},
		{"also of a release that was never begun", statefulset.Kind{}, set(none, stopped), workloadpatch.Change{Unpace: true},
			[]operation{unmark, {"add", partition, 0.0}}},
		{"a failed release stays held", statefulset.Kind{}, set(kept, stopped, "4"), workloadpatch.Change{Unpace: true},
			[]operation{unmark, later(`{"partition":3}`)}},
		{"unless that ends as well", statefulset.Kind{}, set(kept, stopped, "4"), workloadpatch.Change{Unpace: true, Resume: true},
			[]operation{unmark, {"add", partition, 3.0}}},
		{"or a user has ended it by a partition", statefulset.Kind{}, set(kept, at, "4"), workloadpatch.Change{Unpace: true, Annotate: map[string]string{
			"altershield.defense.antgroup.com/held": "4-overridden",
		}}, []operation{{"add", "/metadata/annotations/altershield.defense.antgroup.com~1held", "4-overridden"}, unmark}},
		{"or ended it before", statefulset.Kind{}, set(kept, at, "4-overridden"), workloadpatch.Change{Unpace: true}, []operation{unmark}},
		{"which restores a partition beside the pause", pausing{}, set(kept, at, "4-overridden"), workloadpatch.Change{Unpace: true},
			[]operation{unmark, {"add", "/spec/partition", `{"partition":3}`}}},
		{"a user has ended the hold of an earlier release", statefulset.Kind{}, set(kept, at, "3-overridden"), workloadpatch.Change{Unpace: true},
			[]operation{unmark, {"add", partition, 3.0}}},
		{"a hold of an earlier release is void", statefulset.Kind{}, set(kept, at, "3"), workloadpatch.Change{Unpace: true},
			[]operation{unmark, {"add", partition, 3.0}}},
		{"a mark of an earlier release is void", statefulset.Kind{}, set(`{"release":3,"policy":"a/b","lever":"Partition"}`, at),
			workloadpatch.Change{Unpace: true}, nil},
		{"a failure remembers the partition where no mark does", statefulset.Kind{}, set("", `{"replicas": 20, "updateStrategy": {"rollingUpdate": {"partition": 3}}}`),
			workloadpatch.Change{Pause: true}, []operation{later(`{"partition":3}`), {"add", partition, 2147483647.0}}},
		{"a failure keeps what the mark remembers", statefulset.Kind{}, set(kept, at), workloadpatch.Change{Pause: true},
			[]operation{{"add", partition, 2147483647.0}}},
		{"a failure remembers the fields", remembering{}, web(false, running), workloadpatch.Change{Pause: true}, []operation{later("the fields"), {"add", "/spec/paused", true}}},
		{"a failure at a step keeps what its pause remembers", remembering{}, web(true, resting), workloadpatch.Change{Pause: true}, []operation{{"add", "/spec/paused", true}}},
		{"which a user has ended", remembering{}, web(true, running), workloadpatch.Change{Pause: true}, []operation{later("the fields"), {"add", "/spec/paused", true}}},
		{"nodes", daemonset.Kind{}, daemons(), workloadpatch.Change{Unpace: true}, []operation{unmark, {"replace", "/spec/updateStrategy/type", "RollingUpdate"}}},
		{"nodes of a release that first nodes hold", daemonset.Kind{}, daemons("4-first-nodes"), workloadpatch.Change{Unpace: true}, []operation{unmark}},
		{"gates", deployment.Kind{}, web(false, running), workloadpatch.Change{Unpace: true}, []operation{unmark, unavailable}},
		{"gates of a Deployment that rests", deployment.Kind{}, web(true, resting), workloadpatch.Change{Unpace: true},
			[]operation{unmark, unavailable, {"remove", "/spec/paused", nil}}},
		{"gates of a Deployment that a user has paused", deployment.Kind{}, web(false, resting), workloadpatch.Change{Unpace: true}, []operation{unmark, unavailable}},
		{"gates of a Deployment that is held", deployment.Kind{}, web(true, resting, "4"), workloadpatch.Change{Unpace: true}, []operation{unmark, unavailable}},
		{"all that holds a release", deployment.Kind{}, web(true, resting), workloadpatch.LetGo(deployment.Kind{}, web(true, resting)),
			[]operation{unmark, unavailable, {"remove", "/spec/paused", nil}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			var patch []operation
			writer := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(_ context.Context, _ client.WithWatch, object client.Object, sent client.Patch, _ ...client.PatchOption) error {
					data, err := sent.Data(object)
					g.Expect(err).NotTo(HaveOccurred())
					return json.Unmarshal(data, &patch)
				},
			}).Build()
			_, err := workloadpatch.Apply(t.Context(), writer, writer, row.kind, row.object, row.change)
			g.Expect(err).NotTo(HaveOccurred())
			var tested []string
			var rest []operation
			for _, one := range patch {
				if one.Op == "test" {
					tested = append(tested, one.Path)
				} else {
					rest = append(rest, one)
				}
			}
			g.Expect(rest).To(Equal(row.want))
			g.Expect(tested).To(ContainElements("/metadata/uid", "/metadata/generation"))
			if row.change.Unpace && len(row.want) > 0 {
				g.Expect(tested).To(ContainElement("/metadata/annotations/altershield.defense.antgroup.com~1paced"), "a user's value may have changed it")
			}
		})
	}
}

// The API server rejected the end of a pace, maybe because it was written just before.
func TestApplyFindsAPaceThatHasEnded(t *testing.T) {
	const paced = "altershield.defense.antgroup.com/paced"
	for _, row := range []struct {
		name    string
		live    string
		written bool
	}{
		{"without the mark", "", false},
		{"with another one", `{"release":4,"policy":"a/b","lever":"Gates","rests":true}`, false},
		{"with the same", `{"release":4,"policy":"a/b","lever":"Gates"}`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, read, live := NewWithT(t), sleep(), sleep()
			read.Annotations[paced] = `{"release":4,"policy":"a/b","lever":"Gates"}`
			if row.live != "" {
				live.Annotations[paced] = row.live
			}
			_, written, err := apply(t, read, workloadpatch.Change{Unpace: true}, invalid(), live)
			g.Expect(written).To(Equal(row.written))
			g.Expect(err != nil).To(Equal(row.live == read.Annotations[paced]), "nothing explains the rejection")
		})
	}
}

// operation is an operation of a JSON patch.
type operation struct {
	Op    string
	Path  string
	Value any
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}
