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

package rollback_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	kinds "github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// web is a StatefulSet or DaemonSet at its second release, whose image is bad. All its pods were of revision web-1 before.
func web(kind kinds.Kind, changes ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	set := decode(fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": %q,
		"metadata": {"namespace": "default", "name": "web", "uid": "s-1",
			"labels": {"altershield.defense.antgroup.com/suspend": "1795255200", "admission-webhook-altershield.antgroup.com/version": %[2]q},
			"annotations": {"altershield.defense.antgroup.com/release": "2"}},
		"spec": {"selector": {"matchLabels": {"app": "web"}}, "updateStrategy": {"type": "RollingUpdate"},
			"template": {"metadata": {"labels": {"app": "web", "admission-webhook-altershield.antgroup.com/version": %[2]q}},
				"spec": {"containers": [{"name": "web", "image": "bad"}]}}},
		"status": {}}`, kind.GroupVersionKind().Kind, versionOfBad))
	if kind == (statefulset.Kind{}) {
		_ = unstructured.SetNestedField(set.Object, int64(2), "spec", "replicas")
		_ = unstructured.SetNestedMap(set.Object, map[string]any{"currentRevision": "web-1", "updateRevision": "web-2"}, "status")
	}
	for _, change := range changes {
		change(set)
	}
	return set
}

func withVolumes(object *unstructured.Unstructured) {
	_ = unstructured.SetNestedSlice(object.Object, []any{map[string]any{"metadata": map[string]any{"name": "data"}}}, "spec", "volumeClaimTemplates")
}

func onDelete(object *unstructured.Unstructured) {
	_ = unstructured.SetNestedMap(object.Object, map[string]any{"type": "OnDelete"}, "spec", "updateStrategy")
}

func setOwner(kind kinds.Kind) string {
	return fmt.Sprintf(`[{"apiVersion": "apps/v1", "kind": %q, "name": "web", "uid": "s-1", "controller": true}]`, kind.GroupVersionKind().Kind)
}

// stampOf is the version label of a version as one more label in JSON; empty for a template that was never stamped.
func stampOf(version string) string {
	if version == "" {
		return ""
	}
	return fmt.Sprintf(`, "admission-webhook-altershield.antgroup.com/version": %q`, version)
}

// native is a revision of the controller of web.
func native(kind kinds.Kind, number int, version, image string) *unstructured.Unstructured {
	return decode(fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": %[1]d,
		"metadata": {"namespace": "default", "name": "web-%[1]d", "ownerReferences": %[2]s,
			"creationTimestamp": "2026-11-20T10:00:0%[1]dZ", "labels": {"app": "web", "controller-revision-hash": "web-%[1]d"%[3]s}},
		"data": {"spec": {"template": {"$patch": "replace", "metadata": {"creationTimestamp": null, "labels": {"app": "web"%[3]s}},
			"spec": {"containers": [{"name": "web", "image": %[4]q}]}}}}}`, number, setOwner(kind), stampOf(version), image))
}

// runningPod is a ready pod of revision web-1.
func runningPod(kind kinds.Kind, version string) *unstructured.Unstructured {
	return decode(fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod",
		"metadata": {"namespace": "default", "name": "web-0", "uid": "p-0", "ownerReferences": %s,
			"labels": {"app": "web", "controller-revision-hash": "web-1"%s}},
		"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}`, setOwner(kind), stampOf(version)))
}

// stuckSetPod is a pod of revision web-2 whose image can't be pulled.
func stuckSetPod(kind kinds.Kind) *unstructured.Unstructured {
	return decode(fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod",
		"metadata": {"namespace": "default", "name": "web-1", "uid": "p-1", "ownerReferences": %s, "creationTimestamp": %q,
			"labels": {"app": "web", "controller-revision-hash": "web-2"%s}},
		"spec": {"nodeName": "node-1"},
		"status": {"phase": "Pending", "containerStatuses": [{"name": "web", "state": {"waiting": {"reason": "ErrImagePull"}}}]}}`,
		setOwner(kind), now.Add(-5*time.Minute).Format(time.RFC3339), stampOf(versionOfBad)))
}

func setRequest(kind kinds.Kind, reason appv1alpha1.RollbackReason, to string) rollback.Request {
	asked := request(reason, to)
	asked.Kind, asked.Workload.Name = kind, "web"
	return asked
}

// template returns the pod template that the one patch writes.
func (b *bench) template(t *testing.T) map[string]any {
	t.Helper()
	var operations []struct {
		Op, Path string
		Value    any
	}
	NewWithT(t).Expect(b.patches).To(HaveLen(1))
	NewWithT(t).Expect(json.Unmarshal([]byte(b.patches[0]), &operations)).To(Succeed())
	for _, operation := range operations {
		if operation.Op == "replace" && operation.Path == "/spec/template" {
			return operation.Value.(map[string]any)
		}
	}
	return nil
}

// keptOf is a verified template of web.
func keptOf(kind kinds.Kind, version, image string) *unstructured.Unstructured {
	revision := decode(fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1,
		"metadata": {"namespace": "default", "name": %q, "ownerReferences": [{"apiVersion": "apps/v1", "kind": %q, "name": "web", "uid": "s-1"}]},
		"data": {"spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": %q}]}}}}}`,
		kinds.RecordName(kind, "web", version), kind.GroupVersionKind().Kind, image))
	revision.SetLabels(kinds.RecordLabels(kind, "web", version))
	return revision
}

// A set's pods keep running if its template becomes the very one of their revision.
func TestRollBackOfASetGoesToTheTemplateOfItsRevision(t *testing.T) {
	const a = "0123456789abcdef0123456789abcdef"
	for _, kind := range []kinds.Kind{statefulset.Kind{}, daemonset.Kind{}} {
		of := func(version string) []client.Object {
			return []client.Object{native(kind, 2, versionOfBad, "bad"), native(kind, 1, version, "good"), runningPod(kind, version), stuckSetPod(kind)}
		}
		for _, row := range []struct {
			name      string
			asked     rollback.Request
			objects   []client.Object
			stamp     string
			unstamped bool
		}{
			{"that was stamped", setRequest(kind, "PodsNotRunning", ""), of(a), a, false},
			{"that was never stamped", setRequest(kind, "PodsNotRunning", ""), of(""), "", true},
			{"that is kept", setRequest(kind, "Requested", ""), append(of(a), keptOf(kind, a, "good")), a, false},
			{"that is kept, by its version", setRequest(kind, "Requested", a), append(of(a), keptOf(kind, a, "good")), a, false},
		} {
			t.Run(kinds.Noun(kind)+" "+row.name, func(t *testing.T) {
				g := NewWithT(t)
				b := newBench(t, nil, append(row.objects, web(kind), optedIn(), node("True", time.Hour))...)
				made, err := b.RollBack(t.Context(), row.asked)
				g.Expect(err).NotTo(HaveOccurred())
				labels := map[string]any{"app": "web"}
				if row.stamp != "" {
					labels["admission-webhook-altershield.antgroup.com/version"] = row.stamp
					g.Expect(made.To).To(Equal(row.stamp), "what the revision carries, not what would be computed")
				}
				g.Expect(made.To).To(MatchRegexp("^[0-9a-f]{32}$"))
				g.Expect(made.Unstamped).To(Equal(row.unstamped))
				g.Expect(b.template(t)).To(Equal(map[string]any{"metadata": map[string]any{"labels": labels},
					"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "good"}}}}))
				if row.unstamped {
					g.Expect(b.written()).To(ContainSubstring(`\"unstamped\":true`))
				} else {
					g.Expect(b.written()).NotTo(ContainSubstring("unstamped"))
				}
			})
		}
	}
}

// away is an old pod that isn't ready on a node.
func away(kind kinds.Kind, on string) *unstructured.Unstructured {
	pod := runningPod(kind, "a")
	pod.SetName("web-2")
	_ = unstructured.SetNestedField(pod.Object, on, "spec", "nodeName")
	_ = unstructured.SetNestedSlice(pod.Object, []any{map[string]any{"type": "Ready", "status": "False"}}, "status", "conditions")
	return pod
}

// Pods of a DaemonSet stay on a node that is gone for long, and its controller doesn't replace them during a hold.
func TestRollBackOfASetLeavesOutOldPodsOnNodesThatAreNotReady(t *testing.T) {
	for _, kind := range []kinds.Kind{statefulset.Kind{}, daemonset.Kind{}} {
		for _, row := range []struct {
			name    string
			objects []client.Object
			made    bool
		}{
			{"beside others that are ready", []client.Object{runningPod(kind, "a"), away(kind, "node-2")}, true},
			{"but not one on a node that is ready", []client.Object{runningPod(kind, "a"), away(kind, "node-1")}, false},
			{"but not one that has no node", []client.Object{runningPod(kind, "a"), away(kind, "")}, false},
			{"but not where no other shows that the revision ran", []client.Object{away(kind, "node-2")}, false},
		} {
			t.Run(kinds.Noun(kind)+" "+row.name, func(t *testing.T) {
				g := NewWithT(t)
				b := newBench(t, nil, append(row.objects, native(kind, 2, versionOfBad, "bad"), native(kind, 1, "a", "good"), stuckSetPod(kind),
					web(kind), optedIn(), node("True", time.Hour))...)
				made, err := b.RollBack(t.Context(), setRequest(kind, "PodsNotRunning", ""))
				if row.made {
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(made.To).To(Equal("a"))
					return
				}
				var obstacle *rollback.Obstacle
				g.Expect(errors.As(err, &obstacle)).To(BeTrue(), "%v", err)
				g.Expect(obstacle.Reason).To(Equal(rollback.ObstacleNoHealthyReplicaSet))
			})
		}
	}
}

func TestRollBackOfASetReturnsAnObstacle(t *testing.T) {
	allowed := annotation("allow-data-rollback", "true")
	for _, row := range []struct {
		name    string
		kind    kinds.Kind
		asked   appv1alpha1.RollbackReason
		change  func(*unstructured.Unstructured)
		objects []client.Object
		reason  rollback.ObstacleReason
		message string
	}{
		{"whose pods have volumes of their own", statefulset.Kind{}, "PodsNotRunning", withVolumes, nil, "Data",
			"statefulset web has volumeClaimTemplates, and a rollback would not take back the data in its volumes: " +
				"annotate it altershield.defense.antgroup.com/allow-data-rollback=true if the earlier version can use the data"},
		{"whose pods have volumes of their own, on request", statefulset.Kind{}, "Requested", withVolumes, nil, "Data",
			"statefulset web has volumeClaimTemplates, and a rollback would not take back the data in its volumes: " +
				"annotate it altershield.defense.antgroup.com/allow-data-rollback=true if the earlier version can use the data"},
		{"whose pods a user deletes", statefulset.Kind{}, "PodsFailed", onDelete, nil, "Paused",
			"statefulset web is paused by a user, so a rollback would have no effect: set its update strategy to RollingUpdate"},
		{"whose pods a user deletes", daemonset.Kind{}, "PodsFailed", onDelete, nil, "Paused",
			"daemonset web is paused by a user, so a rollback would have no effect: set its update strategy to RollingUpdate"},
		{"without a healthy revision of before", daemonset.Kind{}, "PodsNotRunning", allowed,
			[]client.Object{native(daemonset.Kind{}, 2, versionOfBad, "bad"), native(daemonset.Kind{}, 1, "a", "good"), stuckSetPod(daemonset.Kind{})}, "NoHealthyReplicaSet",
			"no older revision of daemonset web still runs all its pods"},
		{"whose first release never ran, and which has no pods of it any more", statefulset.Kind{}, "PodsNotRunning", allowed,
			[]client.Object{native(statefulset.Kind{}, 2, versionOfBad, "bad"), native(statefulset.Kind{}, 1, "a", "bad, too"), stuckSetPod(statefulset.Kind{})},
			"NoHealthyReplicaSet", "no older revision of statefulset web still runs all its pods"},
		{"without a verified version", statefulset.Kind{}, "PodsFailed", allowed, nil, "NoVerifiedVersion", "statefulset web has no other verified version to go back to"},
	} {
		t.Run(kinds.Noun(row.kind)+" "+row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, nil, append(row.objects, web(row.kind, row.change), optedIn(), node("True", time.Hour))...)
			_, err := b.RollBack(t.Context(), setRequest(row.kind, row.asked, ""))
			var obstacle *rollback.Obstacle
			g.Expect(errors.As(err, &obstacle)).To(BeTrue(), "%v", err)
			g.Expect(*obstacle).To(Equal(rollback.Obstacle{Reason: row.reason, Message: row.message}))
			g.Expect(b.patches).To(BeEmpty())
		})
	}
}

func TestRollBackOfASetWithDataIsPermittedByAnAnnotation(t *testing.T) {
	g, kind := NewWithT(t), statefulset.Kind{}
	b := newBench(t, nil, web(kind, withVolumes, annotation("allow-data-rollback", "true")), optedIn(), keptOf(kind, "a", "good"))
	_, err := b.RollBack(t.Context(), setRequest(kind, "PodsFailed", ""))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.imageOf(t)).To(Equal("good"))
}

func TestRollBackCountsByKindAndByWhoAsked(t *testing.T) {
	for _, row := range []struct {
		reason        appv1alpha1.RollbackReason
		user, counted string
	}{
		{"PodsFailed", "", "PodsFailed"},
		{"Requested", "alice", "Requested"},
		{"Requested", "ReleasePolicy shop/steps", "ReleasePolicy"},
	} {
		g, kind := NewWithT(t), statefulset.Kind{}
		b := newBench(t, nil, web(kind), optedIn(), keptOf(kind, "a", "good"))
		asked := setRequest(kind, row.reason, "")
		asked.User = row.user
		_, err := b.RollBack(t.Context(), asked)
		g.Expect(err).NotTo(HaveOccurred())
		families, err := b.registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		var counted []string
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				if metric.GetCounter().GetValue() > 0 {
					counted = append(counted, fmt.Sprint(family.GetName(), metric.GetLabel()[0].GetValue(), metric.GetLabel()[1].GetValue()))
				}
			}
		}
		g.Expect(counted).To(Equal([]string{"altershield_rollbacks_totalStatefulSet" + row.counted}))
	}
}
