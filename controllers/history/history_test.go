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

package history_test

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

func TestKeepWritesTheTemplateOfAVerifiedRelease(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 3)
	g.Expect(c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(3))).To(Succeed())
	g.Expect(c.calls).To(HaveExactElements("get", "create"), "a release costs no more")

	var kept appsv1.ControllerRevision
	version := c.version()
	g.Expect(c.kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, &kept)).To(Succeed())
	g.Expect(kept.Labels).To(Equal(map[string]string{
		"admission-webhook-altershield.antgroup.com/version": version, "app.kubernetes.io/deployment-name": "sleep"}))
	yes := true
	g.Expect(kept.OwnerReferences).To(HaveExactElements(metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "uid-1", Controller: &yes, BlockOwnerDeletion: &yes}))
	g.Expect(kept.Revision).To(Equal(int64(3)))
	g.Expect(string(kept.Data.Raw)).To(MatchJSON(`{"spec":{"template":{
		"metadata": {"labels": {"app": "sleep"}},
		"spec": {
			"containers": [{"name": "sleep", "image": "busybox", "env": [{"name": "PASSWORD", "value": "hunter2"}]}],
			"terminationGracePeriodSeconds": 30, "fieldOfTomorrow": {"size": 9007199254740993}
		}
	}}}`))
	g.Expect(kept.Annotations).To(HaveLen(1))
	g.Expect(kept.Annotations["altershield.defense.antgroup.com/released-by"]).To(MatchJSON(
		`{"user": "alice", "time": "2026-11-21T10:00:00Z", "version": "` + version + `", "release": 3}`))
}

// The controller of a StatefulSet adopts, relabels and prunes the ControllerRevisions that the set controls.
func TestKeepOnlyOwnsTheTemplateOfASet(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 3)
	c.live.SetKind("StatefulSet")
	for range 2 { // the second time, it is its own
		g.Expect(c.keeper().Keep(t.Context(), statefulset.Kind{}, slim(), c.release(3))).To(Succeed())
	}
	var kept appsv1.ControllerRevision
	g.Expect(c.kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "statefulsets.sleep--x--" + c.version()}, &kept)).To(Succeed())
	yes := true
	g.Expect(kept.OwnerReferences).To(HaveExactElements(metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "StatefulSet", Name: "sleep", UID: "uid-1", BlockOwnerDeletion: &yes}))
	g.Expect(kept.Labels).To(HaveKeyWithValue("altershield.defense.antgroup.com/workload", "statefulsets.sleep"))
	g.Expect(c.calls).NotTo(ContainElement("delete"))
}

func TestListReturnsTheTemplateItself(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 3)
	g.Expect(c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(3))).To(Succeed())
	listed, err := c.keeper().List(t.Context(), deployment.Kind{}, slim())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(listed).To(HaveLen(1))
	g.Expect(listed[0].Version).To(Equal(c.version()))
	g.Expect(listed[0].Release).To(Equal(int64(3)))
	g.Expect(listed[0].Content.Equal(workload.ContentOf(deployment.Kind{}, c.live.Object))).To(BeTrue(), "numbers are of the same types, too")
	g.Expect(workload.VersionOf(deployment.Kind{}, listed[0].Content)).To(Equal(c.version()))
}

func TestKeepTakesTheLastAppliedConfigurationToo(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 3)
	release := c.release(3)
	annotations := c.live.GetAnnotations()
	annotations["kubectl.kubernetes.io/last-applied-configuration"] = `{"spec":{"replicas":5,"template":{"spec":{"of":"the file","size":9007199254740993}}}}`
	c.live.SetAnnotations(annotations)
	g.Expect(c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), release)).To(Succeed())
	revisions, err := c.keeper().List(t.Context(), deployment.Kind{}, slim())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revisions).To(HaveLen(1))
	g.Expect(revisions[0].Content).To(Equal(workload.ContentOf(deployment.Kind{}, c.live.Object)))
	g.Expect(revisions[0].Applied).To(Equal(workload.Content{"/spec/template": map[string]any{"spec": map[string]any{"of": "the file", "size": int64(9007199254740993)}}}))
}

func TestKeepWritesAnewWhereSomethingElseWasApplied(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 3)
	release := c.release(3)
	g.Expect(c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), release)).To(Succeed())
	annotations := c.live.GetAnnotations()
	annotations["kubectl.kubernetes.io/last-applied-configuration"] = `{"spec":{"template":{"spec":{"of":"the file"}}}}`
	c.live.SetAnnotations(annotations)
	c.calls = nil
	g.Expect(c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), release)).To(Succeed())
	g.Expect(c.calls).To(Equal([]string{"get", "create", "get", "delete", "create"}), "the data of a ControllerRevision never changes")
	revisions, err := c.keeper().List(t.Context(), deployment.Kind{}, slim())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revisions).To(HaveLen(1))
	g.Expect(revisions[0].Applied).To(Equal(workload.Content{"/spec/template": map[string]any{"spec": map[string]any{"of": "the file"}}}))
}

func TestKeepAgainWritesNothing(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 3)
	g.Expect(c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(3))).To(Succeed())
	c.calls = nil
	g.Expect(c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(3))).To(Succeed())
	g.Expect(c.calls).To(HaveExactElements("get", "create", "get"))
}

func TestKeepTakesTheNumberOfTheNewestRelease(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 3)
	g.Expect(c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(3))).To(Succeed())
	key := client.ObjectKey{Namespace: "default", Name: "sleep--x--" + c.version()}
	var kept appsv1.ControllerRevision
	g.Expect(c.kube.Get(t.Context(), key, &kept)).To(Succeed())
	kept.Labels = nil
	kept.Annotations["note"] = "of a user"
	g.Expect(c.kube.Update(t.Context(), &kept)).To(Succeed())

	g.Expect(c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(7))).To(Succeed())
	data := kept.Data.Raw
	g.Expect(c.kube.Get(t.Context(), key, &kept)).To(Succeed())
	g.Expect(kept.Revision).To(Equal(int64(7)))
	g.Expect(kept.Data.Raw).To(MatchJSON(data))
	g.Expect(kept.Labels).To(HaveKeyWithValue("app.kubernetes.io/deployment-name", "sleep"), "it wouldn't be found without")
	g.Expect(kept.Annotations).To(HaveKeyWithValue("note", "of a user"))
	g.Expect(kept.Annotations["altershield.defense.antgroup.com/released-by"]).To(ContainSubstring(`"release":7`))
}

func TestKeepWritesNothingOfAnotherRelease(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*cluster)
	}{
		{"the Deployment is gone", func(c *cluster) { c.live = nil }},
		{"the Deployment is going", func(c *cluster) { c.live.SetDeletionTimestamp(&metav1.Time{Time: metav1.Now().Time}) }},
		{"another Deployment has its name", func(c *cluster) { c.live.SetUID("uid-2") }},
		{"the Deployment has moved on", func(c *cluster) { c.use("busybox:1.37"); c.release(4) }},
		{"the version was released again", func(c *cluster) { c.release(5) }},
		{"the Deployment left change control", func(c *cluster) { c.live.SetLabels(nil) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t, 3)
			release := c.release(3)
			row.change(c)
			g.Expect(c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), release)).To(Succeed())
			g.Expect(c.calls).To(HaveExactElements("get"))
		})
	}
}

func TestKeepRemovesWhatADeletedDeploymentLeft(t *testing.T) {
	g := NewWithT(t)
	version := newCluster(t, 3).version()
	c := newCluster(t, 3, newRevision(version, 9, ownedBy("uid-0")))
	err := c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(3))
	g.Expect(err).To(MatchError("ControllerRevision default/sleep--x--" + version +
		" belonged to another Deployment: it was deleted, retry to keep the template"))
	g.Expect(errors.Is(err, history.ErrNotKept)).To(BeFalse())
	g.Expect(c.revisions()).To(BeEmpty())
	g.Expect(c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(3))).To(Succeed())
	g.Expect(c.revisions()).To(HaveLen(1))
}

func TestKeepDoesNotWaitForARevisionThatIsBeingDeleted(t *testing.T) {
	g := NewWithT(t)
	version := newCluster(t, 3).version()
	c := newCluster(t, 3, newRevision(version, 2, beingDeleted))
	err := c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(3))
	g.Expect(err).To(MatchError("the template history is not kept: ControllerRevision default/sleep--x--" + version + " is still being deleted"))
	g.Expect(err).To(MatchError(history.ErrNotKept))
}

func TestKeepWritesNoTemplateThatIsTooLarge(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 3)
	g.Expect(unstructured.SetNestedField(c.live.Object, strings.Repeat("x", 1<<20), "spec", "template", "metadata", "annotations", "note")).To(Succeed())
	err := c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(3))
	g.Expect(err).To(MatchError(history.ErrNotKept))
	g.Expect(err.Error()).To(HavePrefix("the template history is not kept: the pod template of Deployment default/sleep has 1048"))
	g.Expect(c.calls).To(HaveExactElements("get"))
}

func TestErrNotKeptIsForWhatTheAPIServerRefusesEachTime(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}
	for _, row := range []struct {
		name  string
		err   error
		final bool
	}{
		{"a quota", apierrors.NewForbidden(resource, "x", errors.New("exceeded quota")), true},
		{"an object that is invalid", apierrors.NewInvalid(schema.GroupKind{Kind: "ControllerRevision"}, "x", nil), true},
		{"an object that is too large", apierrors.NewRequestEntityTooLargeError("limit is 3145728"), true},
		{"a webhook's bad request", apierrors.NewBadRequest("no"), true},
		{"a webhook's answer that there is no such thing", testkit.Denied(404), true},
		{"an API server that is busy", apierrors.NewTooManyRequests("later", 1), false},
		{"an API server that fails", apierrors.NewInternalError(errors.New("etcd is down")), false},
		{"a connection that breaks", errors.New("connection refused"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			version := newCluster(t, 3).version()
			keep := func(c *cluster) error { return c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(3)) }
			prune := func(c *cluster) error {
				return c.keeper().Prune(t.Context(), deployment.Kind{}, slim(), decide.Release{Version: "c", Number: 3}, 1, []string{"a"})
			}
			for _, call := range []struct {
				verb     string
				do       func(*cluster) error
				existing *appsv1.ControllerRevision
			}{
				{"create", keep, newRevision("a", 1)},
				{"patch", keep, newRevision(version, 1)},
				{"delete", keep, newRevision(version, 1, ownedBy("uid-0"))},
				{"list", prune, newRevision("a", 1)},
				{"delete", prune, newRevision("a", 1)},
			} {
				g := NewWithT(t)
				c := newCluster(t, 3, call.existing)
				c.refuse = func(verb string) error {
					if verb == call.verb {
						return row.err
					}
					return nil
				}
				err := call.do(c)
				g.Expect(err).To(MatchError(row.err), call.verb)
				g.Expect(errors.Is(err, history.ErrNotKept)).To(Equal(row.final), call.verb)
			}
		})
	}
}

func TestKeepIsTriedAgainWhereTheDeploymentCanNotBeRead(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 3)
	c.refuse = func(string) error { return errors.New("connection refused") }
	err := c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), c.release(3))
	g.Expect(err).To(MatchError("reading Deployment default/sleep: connection refused"))
	g.Expect(errors.Is(err, history.ErrNotKept)).To(BeFalse())
}

// Another build of the operator, or another API server, may lead to another version of the same template.
func TestKeepGoesByTheStampedReplicaSetWhereTheVersionIsNoneOfOurs(t *testing.T) {
	const version = "0123456789abcdef0123456789abcdef"
	for _, row := range []struct {
		name        string
		replicaSets []string // their images; of another Deployment if they begin with "other:"
		kept        []string
	}{
		{"it has this template", []string{"busybox"}, []string{"sleep--x--" + version}},
		{"it has another template, which was changed while no webhook looked", []string{"busybox:1.37"}, []string{}},
		{"two have the version, since the template was changed while no webhook looked", []string{"busybox:1.37", "busybox"}, []string{}},
		{"there is none", nil, []string{}},
		{"another Deployment has one", []string{"other:busybox"}, []string{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			var objects []client.Object
			for i, image := range row.replicaSets {
				objects = append(objects, replicaSet(i, version, image))
			}
			c := newCluster(t, 3, objects...)
			spec := map[string]any{ // as in the fake client
				"containers":                    []any{map[string]any{"name": "sleep", "image": "busybox", "resources": map[string]any{}}},
				"terminationGracePeriodSeconds": int64(30),
			}
			g.Expect(unstructured.SetNestedMap(c.live.Object, spec, "spec", "template", "spec")).To(Succeed())
			c.release(3)
			c.live.SetLabels(map[string]string{"admission-webhook-altershield.antgroup.com/version": version})

			err := c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), decide.Release{Version: version, Number: 3})
			g.Expect(c.revisions()).To(Equal(row.kept))
			if len(row.kept) == 0 {
				g.Expect(err).To(MatchError(history.ErrNotKept))
				g.Expect(err).To(MatchError(ContainSubstring("the pod template of Deployment default/sleep doesn't belong to version " + version)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.calls).To(HaveExactElements("get", "list", "create"))
		})
	}
}

func TestKeepIsTriedAgainWhereTheReplicaSetsCanNotBeRead(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, 3)
	c.use("busybox:1.37")
	c.refuse = func(verb string) error {
		if verb == "list" {
			return errors.New("timeout")
		}
		return nil
	}
	err := c.keeper().Keep(t.Context(), deployment.Kind{}, slim(), decide.Release{
		Version: c.live.GetLabels()["admission-webhook-altershield.antgroup.com/version"], Number: 3})
	g.Expect(err).To(MatchError(ContainSubstring("timeout")))
	g.Expect(err).NotTo(MatchError(history.ErrNotKept))
}
