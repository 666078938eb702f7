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

package changeworkload

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// gadget is a kind whose controller labels pods by their revision.
type gadget struct {
	workload.Kind
	labels bool
}

func (g gadget) LabelsPods() bool { return g.labels }

func (gadget) Identify(_ context.Context, _ client.Reader, owner *unstructured.Unstructured, version string, _ time.Time) (*decide.Revision, error) {
	revision, _, _ := unstructured.NestedString(owner.Object, "status", "revision")
	if revision == "" {
		return nil, nil
	}
	return &decide.Revision{Version: version, Pods: decide.PodsOf{Owner: owner.GetUID(), Label: "gadget-hash", Value: revision}}, nil
}

func gadgetPod(name, owner string, labels map[string]string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: labels}}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gadget", Name: owner, UID: types.UID(owner), Controller: new(true)}}
	return pod
}

func TestLabelPodsSetsTheVersionThatTheirControllerDoesNot(t *testing.T) {
	const label = "admission-webhook-altershield.antgroup.com/version"
	pods := []client.Object{
		gadgetPod("new-1", "lamp", map[string]string{"gadget-hash": "b"}),
		gadgetPod("new-2", "lamp", map[string]string{"gadget-hash": "b", label: version}),
		gadgetPod("again", "lamp", map[string]string{"gadget-hash": "b", label: older}),
		gadgetPod("old", "lamp", map[string]string{"gadget-hash": "a", label: older}),
		gadgetPod("other", "bulb", map[string]string{"gadget-hash": "b"}),
	}
	before := map[string]string{"new-2": version, "again": older, "old": older}
	labelled := map[string]string{"new-1": version, "new-2": version, "again": version, "old": older}
	for name, row := range map[string]struct {
		kind     workload.Kind
		revision string
		edit     func(*plane, *scene)
		between  func(*plane)
		state    string
		wait     time.Duration
		want     map[string]string
		fails    string
	}{
		"those of the revision": {kind: gadget{labels: true}, revision: "b", state: "Running", wait: 2030 * time.Millisecond, want: labelled},
		"those of the revision, before another one is ready for long enough": {kind: gadget{labels: true}, revision: "b", state: "Running", wait: time.Second, want: labelled,
			edit: func(_ *plane, seen *scene) { seen.finishing = time.Second }},
		"none of a kind whose templates carry the label": {kind: gadget{}, revision: "b", state: "Running", want: before},
		"none while no revision is known":                {kind: gadget{labels: true}, state: "Running", wait: 2 * time.Second, want: before},
		"none of a verified release":                     {kind: gadget{labels: true}, revision: "b", state: "Success", want: before},
		"none of a namespace that is opted out": {kind: gadget{labels: true}, revision: "b", state: "Running", want: before,
			edit: func(_ *plane, seen *scene) { seen.OptedIn = false }},
		"none of those that are gone": {kind: gadget{labels: true}, revision: "b", state: "Running", wait: 2030 * time.Millisecond,
			want: map[string]string{"new-2": version, "old": older},
			between: func(p *plane) {
				g := NewWithT(p.t)
				g.Expect(p.api.Delete(p.t.Context(), pods[0].DeepCopyObject().(client.Object))).To(Succeed())
				g.Expect(p.api.Delete(p.t.Context(), pods[2].DeepCopyObject().(client.Object))).To(Succeed())
			}},
		"those that can be, with the error of the others": {kind: gadget{labels: true}, revision: "b", state: "Running", wait: 2030 * time.Millisecond,
			want: map[string]string{"new-2": version, "again": version, "old": older}, fails: "setting the version label of pod default/new-1: no quota",
			edit: func(p *plane, _ *scene) {
				p.Client = interceptor.NewClient(p.Client.(client.WithWatch), interceptor.Funcs{
					Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
						if object.GetName() == "new-1" {
							return errors.New("no quota")
						}
						return kube.Patch(ctx, object, patch, options...)
					},
				})
			}},
		"those that no webhook denies, with the error of the others": {kind: gadget{labels: true}, revision: "b", state: "Running", wait: 2030 * time.Millisecond,
			want: before, fails: `setting the version label of pod default/again: admission webhook "labels.example.com" denied the request: locked` + "\n" +
				`setting the version label of pod default/new-1: admission webhook "labels.example.com" denied the request: no such team`,
			edit: func(p *plane, _ *scene) {
				denials := map[string]metav1.Status{
					"again": {Code: 409, Message: `admission webhook "labels.example.com" denied the request: locked`},
					"new-1": {Code: 404, Message: `admission webhook "labels.example.com" denied the request: no such team`},
				}
				p.Client = interceptor.NewClient(p.Client.(client.WithWatch), interceptor.Funcs{
					Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
						return &apierrors.StatusError{ErrStatus: denials[object.GetName()]}
					},
				})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			g, p := NewWithT(t), newPlane(t, pods, nil)
			p.lists = lru.New(1)
			record := recordAt(2, version, row.state, "Verifying")
			record.Namespace, record.Spec.CreateTimeUnix = "default", p.Clock.Now().Unix()
			owner := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"revision": row.revision}}}
			owner.SetUID("lamp")
			seen := &scene{kind: row.kind, owner: owner}
			seen.OptedIn = true
			if row.edit != nil {
				row.edit(p, seen)
			}
			g.Expect(p.observeUnlabelled(t.Context(), record, seen)).To(Succeed())
			g.Expect(seen.finishing).To(Equal(row.wait))
			if row.between != nil {
				row.between(p)
			}
			err := p.labelPods(t.Context(), record, seen)
			if row.fails == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(row.fails))
			}
			var found corev1.PodList
			g.Expect(p.api.List(t.Context(), &found)).To(Succeed())
			versions := map[string]string{}
			for _, pod := range found.Items {
				if value, ok := pod.Labels[label]; ok {
					versions[pod.Name] = value
				}
			}
			g.Expect(maps.Equal(versions, row.want)).To(BeTrue(), "%v", versions)
		})
	}
}

func TestObserveUnlabelledListsAgainAfterAWhile(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, []client.Object{gadgetPod("new-1", "lamp", map[string]string{"gadget-hash": "b"})}, nil)
	p.lists = lru.New(1)
	clock := p.Clock.(*clocktesting.FakePassiveClock)
	record := recordAt(2, version, "Running", "Verifying")
	record.Namespace, record.Spec.CreateTimeUnix = "default", clock.Now().Unix()
	owner := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"revision": "b"}}}
	owner.SetUID("lamp")
	expect := func(after time.Duration, pods int, wait time.Duration) {
		clock.SetTime(clock.Now().Add(after))
		seen := &scene{kind: gadget{labels: true}, owner: owner}
		seen.OptedIn = true
		g.Expect(p.observeUnlabelled(t.Context(), record, seen)).To(Succeed())
		g.Expect(seen.unlabelled).To(HaveLen(pods), "after %s", after)
		g.Expect(seen.finishing).To(Equal(wait), "after %s", after)
	}
	expect(0, 1, 2010*time.Millisecond)
	expect(time.Second, 0, 2*time.Second)
	expect(1100*time.Millisecond, 1, 2010*time.Millisecond)
	expect(80*time.Second, 1, 10250*time.Millisecond+12500*time.Microsecond)
	expect(time.Hour, 1, time.Minute)
}
