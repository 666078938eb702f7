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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// versionOfBad is the version in the labels: the version of the template that is left is not computed.
const versionOfBad = "f0000000000000000000000000000bad"

// sleep is a Deployment at its second release, whose image is bad.
func sleep(changes ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	deployment := decode(`{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": {"namespace": "default", "name": "sleep", "uid": "d-1",
			"labels": {"altershield.defense.antgroup.com/suspend": "1795255200", "admission-webhook-altershield.antgroup.com/version": "` + versionOfBad + `"},
			"annotations": {"altershield.defense.antgroup.com/release": "2", "note": "mine"}},
		"spec": {"replicas": 5, "selector": {"matchLabels": {"app": "sleep"}}, "strategy": {"type": "RollingUpdate"},
			"template": {"metadata": {"labels": {"app": "sleep", "admission-webhook-altershield.antgroup.com/version": "` + versionOfBad + `"}},
				"spec": {"containers": [{"name": "sleep", "image": "bad"}]}}}}`)
	for _, change := range changes {
		change(deployment)
	}
	return deployment
}

func annotation(key, value string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		annotations := object.GetAnnotations()
		annotations["altershield.defense.antgroup.com/"+key] = value
		object.SetAnnotations(annotations)
	}
}

func paused(object *unstructured.Unstructured) {
	_ = unstructured.SetNestedField(object.Object, true, "spec", "paused")
}

func recreating(object *unstructured.Unstructured) {
	_ = unstructured.SetNestedField(object.Object, "Recreate", "spec", "strategy", "type")
}

func unstamped(object *unstructured.Unstructured) { object.SetLabels(nil) }

func lifted(object *unstructured.Unstructured) {
	unstructured.RemoveNestedField(object.Object, "metadata", "labels", "altershield.defense.antgroup.com/suspend")
}

// replicaSet has two pods, as many of them ready as it says, and a template with an image.
func replicaSet(version, image string, revision int, ready int) *unstructured.Unstructured {
	return decode(fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "ReplicaSet",
		"metadata": {"namespace": "default", "name": "sleep-%d", "uid": "rs-%d", "annotations": {"deployment.kubernetes.io/revision": "%d"},
			"labels": {"app": "sleep", "admission-webhook-altershield.antgroup.com/version": "%s"},
			"ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "sleep", "uid": "d-1", "controller": true}]},
		"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "sleep"}},
			"template": {"metadata": {"labels": {"app": "sleep", "pod-template-hash": "5f", "admission-webhook-altershield.antgroup.com/version": "%s"}},
				"spec": {"containers": [{"name": "sleep", "image": "%s"}]}}},
		"status": {"replicas": 2, "readyReplicas": %d}}`, revision, revision, revision, version, version, image, ready))
}

// stranger makes a ReplicaSet that of another Deployment with the same selector.
func stranger(replicaSet *unstructured.Unstructured) *unstructured.Unstructured {
	replicaSet.SetName("stranger")
	owners := replicaSet.GetOwnerReferences()
	owners[0].UID = "d-2"
	replicaSet.SetOwnerReferences(owners)
	return replicaSet
}

// kept is a verified template.
func kept(version, image string, release int) *unstructured.Unstructured {
	return decode(fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": %d,
		"metadata": {"namespace": "default", "name": "sleep--x--%s",
			"labels": {"app.kubernetes.io/deployment-name": "sleep", "admission-webhook-altershield.antgroup.com/version": "%s"},
			"ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "sleep", "uid": "d-1", "controller": true}]},
		"data": {"spec": {"template": {"metadata": {"labels": {"app": "sleep"}}, "spec": {"containers": [{"name": "sleep", "image": "%s"}]}}}}}`,
		release, version, version, image))
}

func workload(version, phase string, release int64) *appv1alpha1.ChangeWorkload {
	return &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "sleep--x--" + version, Labels: map[string]string{"app.kubernetes.io/deployment-name": "sleep"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "d-1", Controller: ptr.To(true)}},
		},
		Spec:   appv1alpha1.ChangeWorkloadSpec{Reversion: version, Release: release},
		Status: appv1alpha1.ChangeWorkloadStatus{Status: appv1alpha1.ChangeWorkloadPhase(phase), ObservedRelease: release},
	}
}

func decode(text string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		panic(err)
	}
	return object
}

// bench is a Roller with the patches that it sent.
type bench struct {
	*rollback.Roller
	recorder *clientevents.FakeRecorder
	patches  []string
	// patched answers a patch, in place of the answer that was given.
	patched  func(client.Client, client.Patch) error
	registry *prometheus.Registry
	// objects is where the Roller reads and writes.
	objects client.WithWatch
}

// newBench has the namespace default under change control, and these objects. answer is that of the API server to a patch.
func newBench(t *testing.T, answer error, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{recorder: clientevents.NewFakeRecorder(5), registry: prometheus.NewRegistry()}
	metrics, err := rollback.NewMetrics(b.registry, testkit.Kinds()[:1])
	if err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(objects...).
		WithObjects(testkit.ControlledKind("statefulsets.apps", "Enforce"), testkit.ControlledKind("daemonsets.apps", "Enforce")).
		WithIndex(&corev1.Namespace{}, "metadata.name", func(object client.Object) []string { return []string{object.GetName()} }).
		WithIndex(&corev1.Event{}, "reason", func(object client.Object) []string { return []string{object.(*corev1.Event).Reason} }).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(_ context.Context, kube client.WithWatch, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
				data, err := patch.Data(object)
				if patch.Type() != types.JSONPatchType || err != nil {
					t.Errorf("no JSON patch: %s, %v", patch.Type(), err)
				}
				b.patches = append(b.patches, string(data))
				if b.patched != nil {
					return b.patched(kube, patch)
				}
				return answer
			},
		}).Build()
	b.objects = kube
	b.Roller = &rollback.Roller{
		Client: kube, Live: kube, History: &history.Keeper{Client: kube, Live: kube}, Recorder: events.Recorder{Events: b.recorder}, Metrics: metrics,
		Clock: clocktesting.NewFakePassiveClock(now), Agreed: func() time.Time { return now }, Settings: settings.Reader{Client: kube, Namespace: "altershieldoperator-system"},
	}
	return b
}

// stuckPod is one of the second release that was created five minutes ago and whose image can't be pulled.
func stuckPod(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "sleep-2-1", UID: "p-1", CreationTimestamp: metav1.NewTime(now.Add(-5 * time.Minute)),
			Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": versionOfBad},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "sleep-2", UID: "rs-2", Controller: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{NodeName: "node-1"},
		Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "sleep", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}},
		}}},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// node became ready, or ceased to be, so long ago.
func node(ready corev1.ConditionStatus, ago time.Duration) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: "MemoryPressure", Status: "False", LastTransitionTime: metav1.NewTime(now)},
		{Type: "Ready", Status: ready, LastTransitionTime: metav1.NewTime(now.Add(-ago))},
	}}}
}

// stuckRelease is what makes the second release stuck.
func stuckRelease() []client.Object { return []client.Object{stuckPod(), node("True", time.Hour)} }

func optedIn() client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}
}

func request(reason appv1alpha1.RollbackReason, to string) rollback.Request {
	asked := rollback.Request{Kind: deployment.Kind{}, Workload: client.ObjectKey{Namespace: "default", Name: "sleep"}, Reason: reason, To: to, Message: "find error"}
	if reason == "PodsNotRunning" {
		asked.Patience.Threshold = 2 * time.Minute
	}
	if reason == "Requested" {
		asked.User, asked.Message = "alice", "alice asked for it"
	}
	return asked
}

// imageOf is the image that the one patch goes back to.
func (b *bench) imageOf(t *testing.T) string {
	t.Helper()
	if len(b.patches) != 1 {
		t.Fatalf("%d patches", len(b.patches))
	}
	var operations []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal([]byte(b.patches[0]), &operations); err != nil {
		t.Fatal(err)
	}
	for _, operation := range operations {
		if template, isObject := operation.Value.(map[string]any); isObject && operation.Op == "replace" && operation.Path == "/spec/template" {
			return template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"].(string)
		}
	}
	return ""
}

// written is what the first patch writes, without its guards.
func (b *bench) written() string {
	return b.patches[0][strings.Index(b.patches[0], `{"op":"replace"`):]
}

func TestRollBackGoesToTheTemplate(t *testing.T) {
	bad := replicaSet(versionOfBad, "bad", 2, 0)
	for _, row := range []struct {
		name    string
		asked   rollback.Request
		objects []client.Object
		image   string
	}{
		{"of the healthy ReplicaSet of before when its pods don't run", request("PodsNotRunning", ""),
			[]client.Object{bad, replicaSet("a", "good", 1, 2)}, "good"},
		{"of its own ReplicaSet, not of one with the same labels", request("PodsNotRunning", ""),
			[]client.Object{bad, replicaSet("y", "older", 0, 2), stranger(replicaSet("a", "strange", 1, 2))}, "older"},
		{"of the newest verified version when its pods failed", request("PodsFailed", ""),
			[]client.Object{bad, replicaSet("a", "good", 1, 2), kept("y", "kept", 7), kept("z", "older", 5)}, "kept"},
		{"of a verified version that only a ReplicaSet has", request("PodsFailed", ""),
			[]client.Object{bad, replicaSet("a", "good", 1, 0), verified("a", 1)}, "good"},
		{"that is kept, although its ReplicaSet is there, too", request("Requested", "a"),
			[]client.Object{bad, replicaSet("a", "good", 1, 0), kept("a", "kept", 1)}, "kept"},
		{"of the version that was asked for", request("Requested", "z"), []client.Object{bad, kept("y", "kept", 7), kept("z", "older", 5)}, "older"},
		{"of another version where the newest failed since", request("Requested", ""),
			[]client.Object{bad, kept("y", "kept", 7), kept("z", "older", 5), workload("y", "Suspend", 7)}, "older"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, nil, append(append(row.objects, sleep(), optedIn()), stuckRelease()...)...)
			_, err := b.RollBack(t.Context(), row.asked)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.imageOf(t)).To(Equal(row.image))
		})
	}
}

// verified is a release that all pods passed.
func verified(version string, release int64) *appv1alpha1.ChangeWorkload {
	object := workload(version, "Success", release)
	object.Status.Conditions = []metav1.Condition{{Type: "Verified", Status: "True", Reason: "AllPodsPassed"}}
	return object
}

func TestRollBackChangesTheTemplateAndItsRecordAlone(t *testing.T) {
	g := NewWithT(t)
	before := `[{"version":"z","release":1,"to":"y","toRelease":2,"reason":"PodsFailed","time":"2026-11-20T10:00:00Z"}]`
	deployment := sleep(annotation("rollbacks", before), annotation("rollback", "true"), annotation("rollback-by", "alice"))
	b := newBench(t, nil, deployment, optedIn(), replicaSet(versionOfBad, "bad", 2, 0), kept("a", "good", 1))
	made, err := b.RollBack(t.Context(), request("Requested", "a"))
	g.Expect(err).NotTo(HaveOccurred())
	until := metav1.NewTime(now.Add(24 * time.Hour))
	g.Expect(*made).To(Equal(appv1alpha1.Rollback{
		Version: versionOfBad, Release: 2, To: made.To, ToRelease: 3, Reason: "Requested", Message: "alice asked for it", User: "alice",
		Time: metav1.NewTime(now), RefusedUntil: &until,
	}))
	g.Expect(made.To).To(MatchRegexp("^[0-9a-f]{32}$"), "the version that the webhook will compute, not the label of the template")
	record := `[{\"version\":\"` + versionOfBad + `\",\"release\":2,\"to\":\"` + made.To + `\",\"toRelease\":3,\"reason\":\"Requested\",` +
		`\"message\":\"alice asked for it\",\"user\":\"alice\",\"time\":\"2026-11-21T10:00:00Z\",\"refusedUntil\":\"2026-11-22T10:00:00Z\"},` +
		`{\"version\":\"z\",\"release\":1,\"to\":\"y\",\"toRelease\":2,\"reason\":\"PodsFailed\",\"time\":\"2026-11-20T10:00:00Z\"}]`
	g.Expect(b.patches).To(HaveExactElements(MatchJSON(`[
		{"op": "test", "path": "/metadata/uid", "value": "d-1"},
		{"op": "test", "path": "/metadata/labels/admission-webhook-altershield.antgroup.com~1version", "value": "` + versionOfBad + `"},
		{"op": "test", "path": "/spec/template", "value": {"metadata": {"labels": {"app": "sleep", "admission-webhook-altershield.antgroup.com/version": "` + versionOfBad + `"}},
			"spec": {"containers": [{"name": "sleep", "image": "bad", "resources": {}}]}}},
		{"op": "test", "path": "/metadata/annotations/altershield.defense.antgroup.com~1release", "value": "2"},
		{"op": "test", "path": "/metadata/annotations/altershield.defense.antgroup.com~1rollbacks", "value": "` + strings.ReplaceAll(before, `"`, `\"`) + `"},
		{"op": "test", "path": "/metadata/annotations/altershield.defense.antgroup.com~1rollback", "value": "true"},
		{"op": "test", "path": "/metadata/annotations/altershield.defense.antgroup.com~1rollback-by", "value": "alice"},
		{"op": "replace", "path": "/spec/template", "value": {"metadata": {"labels": {"app": "sleep"}}, "spec": {"containers": [{"name": "sleep", "image": "good"}]}}},
		{"op": "add", "path": "/metadata/annotations/altershield.defense.antgroup.com~1rollbacks", "value": "` + record + `"},
		{"op": "remove", "path": "/metadata/annotations/altershield.defense.antgroup.com~1rollback"},
		{"op": "remove", "path": "/metadata/annotations/altershield.defense.antgroup.com~1rollback-by"}]`)))
	g.Expect(b.recorder.Events).To(Receive(Equal("Warning ReleaseRolledBack release 2, version " + versionOfBad + ", goes back to version " + made.To +
		": alice asked for it; the version is refused until 2026-11-22T10:00:00Z")))
}

func TestRollBackRestoresTheLastAppliedConfiguration(t *testing.T) {
	lastApplied := func(object *unstructured.Unstructured) {
		annotations := object.GetAnnotations()
		annotations["kubectl.kubernetes.io/last-applied-configuration"] = `{"spec":{"replicas":5,"template":{"spec":{"of":"bad"}}}}`
		object.SetAnnotations(annotations)
	}
	remembering := kept("a", "good", 1)
	if err := unstructured.SetNestedField(remembering.Object, map[string]any{"spec": map[string]any{"of": "good"}}, "data", "lastApplied", "template"); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name       string
		deployment *unstructured.Unstructured
		kept       *unstructured.Unstructured
		patched    bool
	}{
		{"where both are known", sleep(lastApplied), remembering, true},
		{"not where nothing was applied", sleep(), remembering, false},
		{"not where the history doesn't know it", sleep(lastApplied), kept("a", "good", 1), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, nil, row.deployment, optedIn(), row.kept)
			_, err := b.RollBack(t.Context(), request("PodsFailed", ""))
			g.Expect(err).NotTo(HaveOccurred())
			if !row.patched {
				g.Expect(b.written()).NotTo(ContainSubstring("last-applied"))
				return
			}
			g.Expect(b.patches[0]).To(ContainSubstring(`{"op":"add","path":"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",` +
				`"value":"{\"spec\":{\"replicas\":5,\"template\":{\"spec\":{\"of\":\"good\"}}}}\n"}`))
		})
	}
}

func TestRollBackLeavesOutTheLabelsOfControllers(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, nil, append(stuckRelease(), sleep(), optedIn(), replicaSet(versionOfBad, "bad", 2, 0), replicaSet("a", "good", 1, 2))...)
	_, err := b.RollBack(t.Context(), request("PodsNotRunning", ""))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.written()).NotTo(Or(ContainSubstring("pod-template-hash"), ContainSubstring("antgroup.com/version")))
}

func TestRollBackRefusesNothingWhereThatIsSwitchedOff(t *testing.T) {
	g := NewWithT(t)
	off := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "refusal"}, Spec: appv1alpha1.OpsConfigInfoSpec{Type: "isRefusal"}}
	b := newBench(t, nil, sleep(), optedIn(), off, kept("a", "good", 1))
	made, err := b.RollBack(t.Context(), request("PodsFailed", ""))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made.RefusedUntil).To(BeNil())
	g.Expect(made.User).To(BeEmpty())
	g.Expect(b.recorder.Events).To(Receive(HaveSuffix(": find error")))
}

func TestRollBackReturnsAnObstacle(t *testing.T) {
	refused := `[{"version":"a","release":1,"to":"y","toRelease":7,"reason":"PodsFailed","time":"2026-11-20T10:00:00Z","refusedUntil":"2026-11-22T10:00:00Z"}]`
	left := func(reason string, toRelease int) func(*unstructured.Unstructured) {
		return annotation("rollbacks", fmt.Sprintf(`[{"version":"%s","release":1,"to":"y","toRelease":%d,"reason":%q,"time":"2026-11-20T10:00:00Z"}]`, versionOfBad, toRelease, reason))
	}
	from := func(release decide.Release) rollback.Request {
		asked := request("PodsFailed", "")
		asked.From = release
		return asked
	}
	anonymous, annotated := request("Requested", ""), request("Requested", "a")
	anonymous.User, annotated.Annotation = "", "a"
	healthy := []client.Object{replicaSet(versionOfBad, "bad", 2, 0), replicaSet("y", "good", 1, 2), kept("a", "good", 1)}
	for _, row := range []struct {
		name       string
		asked      rollback.Request
		deployment *unstructured.Unstructured
		objects    []client.Object
		reason     rollback.ObstacleReason
		message    string
	}{
		{"that was never released", request("PodsFailed", ""), sleep(unstamped), append(healthy, optedIn()), "NotControlled",
			"deployment sleep is not under change control: label its namespace admission-webhook-altershield=enabled and release it once"},
		{"whose namespace is not under change control", request("PodsFailed", ""), sleep(), healthy, "NotControlled",
			"deployment sleep is not under change control: label its namespace admission-webhook-altershield=enabled and release it once"},
		{"whose namespace was opted out, which the cache doesn't show", request("PodsFailed", ""), sleep(),
			append(healthy, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}), "NotControlled",
			"deployment sleep is not under change control: label its namespace admission-webhook-altershield=enabled and release it once"},
		{"that is at another version by now", from(decide.Release{Version: "b", Number: 2}), sleep(), append(healthy, optedIn()), "MovedOn",
			"deployment sleep is at another release now"},
		{"that released the same version again", from(decide.Release{Version: versionOfBad, Number: 1}), sleep(), append(healthy, optedIn()), "MovedOn",
			"deployment sleep is at another release now"},
		{"whose suspension was lifted, which the cache doesn't show", request("PodsFailed", ""), sleep(lifted), append(healthy, optedIn()), "MovedOn",
			"deployment sleep is not suspended any more"},
		{"that a user paused", request("Requested", "a"), sleep(paused), append(healthy, optedIn()), "Paused",
			"deployment sleep is paused by a user, so a rollback would have no effect: run kubectl rollout resume"},
		{"that a user paused after they had resumed it", request("Requested", "a"), sleep(paused, annotation("held", "2-overridden")), append(healthy, optedIn()), "Paused",
			"deployment sleep is paused by a user, so a rollback would have no effect: run kubectl rollout resume"},
		{"whose pods don't run, with the strategy Recreate", request("PodsNotRunning", ""), sleep(recreating), append(healthy, optedIn()), "RecreateStrategy",
			"the strategy of deployment sleep is Recreate, so no older ReplicaSet is running"},
		{"whose pods don't run, without a healthy ReplicaSet of before", request("PodsNotRunning", ""), sleep(),
			[]client.Object{optedIn(), replicaSet(versionOfBad, "bad", 2, 0), replicaSet("a", "good", 1, 1)}, "NoHealthyReplicaSet",
			"no older ReplicaSet of deployment sleep still runs all its pods"},
		{"without a verified version", request("PodsFailed", ""), sleep(), []client.Object{optedIn(), replicaSet("a", "good", 1, 2)}, "NoVerifiedVersion",
			"deployment sleep has no other verified version to go back to"},
		{"to a version whose template is gone", request("PodsFailed", ""), sleep(), []client.Object{optedIn(), verified("a", 1)}, "NoVerifiedVersion",
			"deployment sleep has no other verified version to go back to"},
		{"to a version that was never verified", request("Requested", "b"), sleep(), append(healthy, optedIn()), "UnknownVersion",
			`deployment sleep can't go back to version "b", which is not among its available verified versions: a`},
		{"to a version that is refused", request("Requested", "a"), sleep(annotation("rollbacks", refused)), append(healthy, optedIn()), "UnknownVersion",
			`deployment sleep can't go back to version "a", which is not among its available verified versions; it is refused until ` +
				"2026-11-22T10:00:00Z, because release 1 was rolled back: release it with the label altershield.defense.antgroup.com/ignored-suspend=true"},
		{"to the version that it is at", request("Requested", versionOfBad), sleep(), append(healthy, optedIn(), kept(versionOfBad, "bad", 2)), "UnknownVersion",
			`deployment sleep can't go back to version "` + versionOfBad + `", which is not among its available verified versions: a`},
		{"on the request of an unknown user", anonymous, sleep(annotation("rollback", "true")), append(healthy, optedIn()), "NoUser",
			"the user who asked for the rollback of deployment sleep is unknown, because the webhooks did not see the annotation: set it again"},
		{"on a request that became another one", annotated, sleep(annotation("rollback", "b")), append(healthy, optedIn()), "MovedOn",
			"deployment sleep has another rollback request now, or none"},
		{"on a request that was taken back", annotated, sleep(), append(healthy, optedIn()), "MovedOn", "deployment sleep has another rollback request now, or none"},
		{"to a version whose template was changed while no webhook looked", request("PodsFailed", ""), sleep(),
			[]client.Object{optedIn(), verified("a", 1), replicaSet("a", "verified", 1, 2), replicaSet("a", "unseen", 0, 0)}, "NoVerifiedVersion",
			"deployment sleep has no other verified version to go back to"},
		{"to the template that it has already", request("PodsFailed", ""), sleep(), []client.Object{optedIn(), verified("a", 1), replicaSet("a", "bad", 1, 2)}, "SameTemplate",
			"deployment sleep already has that pod template"},
		{"a second time automatically", request("PodsNotRunning", ""), sleep(left("PodsNotRunning", 9)), append(healthy, optedIn()), "AlreadyRolledBack",
			"version " + versionOfBad + " of deployment sleep was rolled back before; the operator rolls a version back automatically only once"},
		{"from a rollback automatically", request("PodsFailed", ""), sleep(left("Requested", 2)), append(healthy, optedIn()), "IsRollback",
			"release 2 of deployment sleep is a rollback itself: name the version to go back to"},
		{"from a rollback, asked without a version", request("Requested", ""), sleep(left("Requested", 2)), append(healthy, optedIn()), "IsRollback",
			"release 2 of deployment sleep is a rollback itself: name the version to go back to"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, nil, append(append(row.objects, row.deployment), stuckRelease()...)...)
			_, err := b.RollBack(t.Context(), row.asked)
			var obstacle *rollback.Obstacle
			g.Expect(errors.As(err, &obstacle)).To(BeTrue(), "%v", err)
			g.Expect(*obstacle).To(Equal(rollback.Obstacle{Reason: row.reason, Message: row.message}))
			g.Expect(err).To(MatchError(ContainSubstring(row.message)))
			g.Expect(b.patches).To(BeEmpty())
			g.Expect(b.recorder.Events).To(BeEmpty())
		})
	}
}

// behind returns a reader whose cache has other ChangeWorkloads than the API server.
func behind(kube client.WithWatch, cached ...appv1alpha1.ChangeWorkload) client.Client {
	return interceptor.NewClient(kube, interceptor.Funcs{
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if records, ok := list.(*appv1alpha1.ChangeWorkloadList); ok {
				records.Items = cached
				return nil
			}
			return kube.List(ctx, list, options...)
		},
	})
}

func TestRollBackGoesToNoVersionThatFailedWhichTheCacheDoesNotShow(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, nil, sleep(), optedIn(), replicaSet("a", "good", 1, 2), workload("a", "Suspend", 1))
	b.Client = behind(b.objects, *verified("a", 1))
	_, err := b.RollBack(t.Context(), request("Requested", "a"))
	g.Expect(err).To(Equal(&rollback.Obstacle{
		Reason: "UnknownVersion", Message: `deployment sleep can't go back to version "a", which is not among its available verified versions`,
	}))
	g.Expect(b.patches).To(BeEmpty())
}

func TestRollBackGoesBackAllTheSame(t *testing.T) {
	left := func(reason string, toRelease int) func(*unstructured.Unstructured) {
		return annotation("rollbacks", fmt.Sprintf(`[{"version":"%s","release":1,"to":"y","toRelease":%d,"reason":%q,"time":"2026-11-20T10:00:00Z"}]`, versionOfBad, toRelease, reason))
	}
	for _, row := range []struct {
		name       string
		asked      rollback.Request
		deployment *unstructured.Unstructured
	}{
		{"while the operator holds it", request("PodsNotRunning", ""), sleep(paused, annotation("held", "2"))},
		{"when its pods failed, whatever its strategy", request("PodsFailed", ""), sleep(recreating)},
		{"when a user asks again", request("Requested", ""), sleep(left("PodsNotRunning", 9))},
		{"automatically for the first time, after a user asked before", request("PodsNotRunning", ""), sleep(left("Requested", 9))},
		{"after another version was rolled back", request("PodsNotRunning", ""),
			sleep(annotation("rollbacks", `[{"version":"z","release":1,"to":"y","toRelease":9,"reason":"PodsNotRunning","time":"2026-11-20T10:00:00Z"}]`))},
		{"from a rollback to a version by name", request("Requested", "a"), sleep(left("PodsNotRunning", 2))},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, nil, append(stuckRelease(), row.deployment, optedIn(), replicaSet(versionOfBad, "bad", 2, 0), replicaSet("y", "good", 1, 2), kept("a", "good", 1))...)
			_, err := b.RollBack(t.Context(), row.asked)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(b.imageOf(t)).To(Equal("good"))
		})
	}
}

func TestRollBackSendsNoEventWhereTheWriteFails(t *testing.T) {
	g := NewWithT(t)
	conflict := apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "deployments"}, "sleep", errors.New("it has been modified"))
	b := newBench(t, conflict, sleep(), optedIn(), kept("a", "good", 1))
	_, err := b.RollBack(t.Context(), request("PodsFailed", ""))
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError(HavePrefix("rolling back Deployment default/sleep: ")))
	g.Expect(b.recorder.Events).To(BeEmpty())
}

func TestRollBackReturnsAnObstacleWhereAPolicyDeniesTheTemplate(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for _, answer := range []error{
		apierrors.NewForbidden(deployments, "sleep", errors.New("images of this registry are forbidden")),
		apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "sleep", nil),
		apierrors.NewBadRequest("denied"), apierrors.NewRequestEntityTooLargeError("too large"),
		answered(409, "", `admission webhook "images.example.com" denied the request: it is locked`),
		answered(404, "", `admission webhook "images.example.com" denied the request: no such image`),
		answered(401, "Unauthorized", `deployments.apps "sleep" is forbidden: ValidatingAdmissionPolicy 'images' with binding 'images' denied request: not signed`),
	} {
		g := NewWithT(t)
		_, err := newBench(t, answer, sleep(), optedIn(), kept("a", "good", 1)).RollBack(t.Context(), request("PodsFailed", ""))
		var obstacle *rollback.Obstacle
		g.Expect(errors.As(err, &obstacle)).To(BeTrue(), "%v", err)
		g.Expect(obstacle.Reason).To(BeEquivalentTo("Denied"))
		g.Expect(obstacle.Message).To(Equal("deployment sleep can't go back, since the API server denied its earlier pod template: " + answer.Error()))
	}
}

func TestRollBackReturnsAnObstacleWhereAWebhookRestoresTheTemplate(t *testing.T) {
	before := `[{"version":"z","release":1,"to":"y","toRelease":1,"reason":"PodsFailed","time":"2026-11-20T10:00:00Z"}]`
	applied := `{"spec":{"template":{"metadata":{"labels":{"app":"sleep"}},"spec":{"containers":[{"name":"sleep","image":"bad"}]}}}}`
	byPolicy := request("Requested", "")
	byPolicy.Annotation, byPolicy.User = "true", "ReleasePolicy default/web"
	for _, row := range []struct {
		name   string
		object *unstructured.Unstructured
		undone string
		asked  rollback.Request
	}{
		{"of a first rollback", sleep(), `{"op":"remove","path":"/metadata/annotations/altershield.defense.antgroup.com~1rollbacks"}`, request("PodsFailed", "")},
		{"of a later one", sleep(annotation("rollbacks", before)),
			`{"op":"add","path":"/metadata/annotations/altershield.defense.antgroup.com~1rollbacks","value":"` + strings.ReplaceAll(before, `"`, `\"`) + `"}`,
			request("PodsFailed", "")},
		{"of one that was applied", sleep(func(object *unstructured.Unstructured) {
			object.SetAnnotations(map[string]string{"altershield.defense.antgroup.com/release": "2", "kubectl.kubernetes.io/last-applied-configuration": applied})
		}), `{"op":"add","path":"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration","value":"` + strings.ReplaceAll(applied, `"`, `\"`) + `"}`,
			request("PodsFailed", "")},
		{"of one that a ReleasePolicy requested", sleep(annotation("rollback", "true"), annotation("rollback-by", "ReleasePolicy default/web")),
			`{"op":"add","path":"/metadata/annotations/altershield.defense.antgroup.com~1rollback","value":"true"}`, byPolicy},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, nil, row.object, optedIn(), kept("a", "good", 1))
			b.Client = interceptor.NewClient(b.objects, interceptor.Funcs{
				Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
					if err := kube.Patch(ctx, object, patch, options...); err != nil {
						return err
					}
					return kube.Get(ctx, client.ObjectKeyFromObject(object), object) // with the template as it was
				},
			})
			_, err := b.RollBack(t.Context(), row.asked)
			var obstacle *rollback.Obstacle
			g.Expect(errors.As(err, &obstacle)).To(BeTrue(), "%v", err)
			g.Expect(obstacle.Reason).To(BeEquivalentTo("Reverted"))
			g.Expect(obstacle.Message).To(Equal("deployment sleep can't go back: another mutating admission webhook restored the pod template that it has; " +
				"see kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies"))
			g.Expect(b.patches).To(HaveLen(2))
			g.Expect(b.patches[1]).To(ContainSubstring(row.undone))
			g.Expect(b.recorder.Events).To(BeEmpty())
		})
	}
}

func TestRollBackLeavesWhatMayPassToTheNextAttempt(t *testing.T) {
	for _, answer := range []error{
		answered(500, "", `admission webhook "images.example.com" denied the request: the registry does not answer`),
		answered(429, "", `admission webhook "images.example.com" denied the request: too many requests`),
		answered(401, "Unauthorized", "Unauthorized"),
	} {
		_, err := newBench(t, answer, sleep(), optedIn(), kept("a", "good", 1)).RollBack(t.Context(), request("PodsFailed", ""))
		var obstacle *rollback.Obstacle
		NewWithT(t).Expect(errors.As(err, &obstacle)).To(BeFalse(), "%v", err)
	}
}

// answered is an answer of the API server. An admission webhook chooses the code of its denial.
func answered(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func TestRollBackDoesNotFindADeploymentThatIsGone(t *testing.T) {
	_, err := newBench(t, nil, optedIn()).RollBack(t.Context(), request("PodsFailed", ""))
	NewWithT(t).Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
}

func TestRollBackShortensALongMessage(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, nil, sleep(), optedIn(), kept("a", "good", 1))
	asked := request("PodsFailed", "")
	for range 100 {
		asked.Message += " find error"
	}
	made, err := b.RollBack(t.Context(), asked)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made.Message).To(HaveLen(400))
	g.Expect(made.IsSound()).To(BeTrue())
}
