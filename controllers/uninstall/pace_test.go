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

package uninstall

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// stepping is a clock on which no wait takes time.
type stepping struct{ *clocktesting.FakeClock }

func newStepping() stepping { return stepping{clocktesting.NewFakeClock(testkit.Now())} }

func (s stepping) After(wait time.Duration) <-chan time.Time {
	after := s.FakeClock.After(wait)
	s.Step(wait)
	return after
}

func TestUninstallerLetsPacedReleasesGo(t *testing.T) {
	g := NewWithT(t)
	const gate = "altershield.defense.antgroup.com/verified"
	meta := func(name string, annotations ...string) metav1.ObjectMeta {
		object := metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "u-1", Generation: 1, Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "v4"}, Annotations: map[string]string{"altershield.defense.antgroup.com/release": "4"}}
		for i := 0; i < len(annotations); i += 2 {
			object.Annotations["altershield.defense.antgroup.com/"+annotations[i]] = annotations[i+1]
		}
		return object
	}
	partition := func(of int32) appsv1.StatefulSetSpec {
		return appsv1.StatefulSetSpec{UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate",
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(of)}}}
	}
	const mark = `{"release":4,"policy":"shop/web","lever":"Partition","from":{"partition":2}}`
	stepped := &appsv1.StatefulSet{ObjectMeta: meta("stepped", "paced", mark), Spec: partition(19)}
	failed := &appsv1.StatefulSet{ObjectMeta: meta("failed", "paced", mark, "held", "4"), Spec: partition(2147483647)}
	started := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "started", UID: "p-1", Labels: map[string]string{"altershield.defense.antgroup.com/gate": "start"}}}
	started.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}}
	served := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "served", UID: "p-2", Labels: map[string]string{"altershield.defense.antgroup.com/gate": "ready"}}}
	served.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
	var out bytes.Buffer
	kube := testkit.NewFake(t, stepped, failed, started, served)
	u := &Uninstaller{clock: newStepping(), kinds: testkit.Kinds(), client: kube, out: &out}
	g.Expect(u.letGo(t.Context())).To(Succeed())
	g.Expect(u.letGo(t.Context())).To(Succeed(), "again")
	g.Expect(out.String()).To(And(ContainSubstring("StatefulSet shop/stepped: its release is rolled out at once\n"),
		ContainSubstring("StatefulSet shop/failed: its steps have ended; its rollout stays paused\n")))

	read := func(object client.Object) {
		g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
	}
	read(stepped)
	g.Expect(*stepped.Spec.UpdateStrategy.RollingUpdate.Partition).To(Equal(int32(2)))
	g.Expect(stepped.Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/paced"))
	read(failed)
	g.Expect(*failed.Spec.UpdateStrategy.RollingUpdate.Partition).To(Equal(int32(2147483647)), "it stays held")
	g.Expect(failed.Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/paced"))
	g.Expect(failed.Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/held-from", `{"partition":2}`))
	read(started)
	g.Expect(started.Spec.SchedulingGates).To(BeEmpty())
	read(served)
	g.Expect(served.Status.Conditions).To(ContainElement(And(HaveField("Type", BeEquivalentTo(gate)), HaveField("Status", BeEquivalentTo("True")),
		HaveField("Message", "the operator was removed"))))
}

// Autoscalers, and controllers with gates of their own, go on meanwhile.
func TestUninstallerLetsGoWhatChangesMeanwhile(t *testing.T) {
	g := NewWithT(t)
	stepped := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "stepped", UID: "u-1", Generation: 1, Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "v4"},
		Annotations: map[string]string{
			"altershield.defense.antgroup.com/release": "4", "altershield.defense.antgroup.com/paced": `{"release":4,"policy":"shop/web","lever":"Partition"}`,
		},
	}}
	stepped.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate", RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](19)}}
	gated := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "gated", UID: "p-1", Labels: map[string]string{"altershield.defense.antgroup.com/gate": "start"}}}
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/quota"}, {Name: "altershield.defense.antgroup.com/verified"}}
	met := map[string]bool{}
	kube := interceptor.NewClient(testkit.NewFake(t, stepped, gated), interceptor.Funcs{
		Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if name := object.GetName(); !met[name] {
				met[name] = true
				changed := map[string]client.Object{"stepped": &appsv1.StatefulSet{}, "gated": &corev1.Pod{}}[name]
				g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(object), changed)).To(Succeed())
				if set, ok := changed.(*appsv1.StatefulSet); ok {
					set.Generation, set.Spec.Replicas = 2, ptr.To[int32](40)
				} else {
					changed.(*corev1.Pod).Spec.SchedulingGates = gated.Spec.SchedulingGates[1:]
				}
				g.Expect(kube.Update(ctx, changed)).To(Succeed())
				return apierrors.NewInvalid(schema.GroupKind{}, name, nil) // as the API server answers if a test of the patch fails
			}
			return kube.Patch(ctx, object, patch, options...)
		},
	})
	u := &Uninstaller{clock: newStepping(), kinds: testkit.Kinds(), client: kube, out: &bytes.Buffer{}}
	g.Expect(u.letGo(t.Context())).To(Succeed())
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(stepped), stepped)).To(Succeed())
	g.Expect(stepped.Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/paced"))
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(gated), gated)).To(Succeed())
	g.Expect(gated.Spec.SchedulingGates).To(BeEmpty())
}

// The API server looks only once a second whether there are other policies.
func TestUninstallerOpensTheGatesOfPodsThatItsEndOfAPaceBringsBeforeTheAPIServerNoticesThatThePoliciesAreGone(t *testing.T) {
	g := NewWithT(t)
	of := newStepping()
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-gates"}}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u-1", Generation: 1,
		Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "v4"}, Annotations: map[string]string{
			"altershield.defense.antgroup.com/release": "4",
			"altershield.defense.antgroup.com/paced":   `{"release":4,"policy":"shop/web","lever":"Gates","traffic":"Before","rests":true}`,
		}}}
	web.Spec.Paused = true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "p-1", Labels: map[string]string{"altershield.defense.antgroup.com/gate": "ready"}}}
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "altershield.defense.antgroup.com/verified"}}
	var resumed time.Time
	kube := testkit.NewFake(t, policy, web)
	u := &Uninstaller{clock: of, kinds: testkit.Kinds(), out: io.Discard, client: interceptor.NewClient(kube, interceptor.Funcs{
		Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if object.GetName() == "web" {
				resumed = of.Now()
			}
			return kube.Patch(ctx, object, patch, options...)
		},
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, ok := list.(*corev1.PodList); ok && !resumed.IsZero() && pod.ResourceVersion == "" && of.Since(resumed) >= time.Second {
				g.Expect(kube.Create(ctx, pod)).To(Succeed())
			}
			return kube.List(ctx, list, options...)
		},
	})}
	g.Expect(u.release(t.Context())).To(Succeed())
	g.Expect(apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(policy), policy))).To(BeTrue())
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	g.Expect(pod.Status.Conditions).To(ContainElement(And(HaveField("Type", BeEquivalentTo("altershield.defense.antgroup.com/verified")), HaveField("Status", BeEquivalentTo("True")))))
	g.Expect(of.Since(testkit.Now())).To(Equal(4*time.Second), "the gate was opened after a second")

	g.Expect(u.letGo(t.Context())).To(Succeed())
	g.Expect(of.Since(testkit.Now())).To(Equal(4*time.Second), "nothing has been written since")
}

func TestUninstallerOpensGatesOnceTheAPIServerPermitsIt(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "p-1", Labels: map[string]string{"altershield.defense.antgroup.com/gate": "start"}}}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "altershield.defense.antgroup.com/verified"}}
	attempts := 0
	u := &Uninstaller{clock: newStepping(), out: io.Discard, client: interceptor.NewClient(testkit.NewFake(t, pod), interceptor.Funcs{
		Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if attempts++; attempts == 1 {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-1", errors.New("only the operator opens the gate"))
			}
			return kube.Patch(ctx, object, patch, options...)
		},
	})}
	g.Expect(u.letGo(t.Context())).To(Succeed())
	g.Expect(attempts).To(Equal(2))
	g.Expect(u.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	g.Expect(pod.Spec.SchedulingGates).To(BeEmpty())
}

func TestUninstallerLetsParkedReleasesGo(t *testing.T) {
	const frozen = `{"release":4,"by":["ops/friday"],"concurrent":5}`
	for name, row := range map[string]struct {
		annotations map[string]string
		labels      map[string]string
		paused      bool
		left        []string
	}{
		"its release waits for the end of a freeze": {map[string]string{"held": "4", "frozen": frozen}, nil, false, nil},
		"it is rolled out in steps as well": {
			map[string]string{"frozen": frozen, "paced": `{"release":4,"policy":"shop/web","lever":"Gates","traffic":"Before","rests":true}`}, nil, false, nil,
		},
		"a user paused it as well": {map[string]string{"frozen": frozen}, nil, true, nil},
		"its release failed while a freeze held it": {
			map[string]string{"held": "4", "frozen": frozen}, map[string]string{"altershield.defense.antgroup.com/suspend": "1767225600"}, true, []string{"held", "frozen"},
		},
		"a user parked it for a failure": {
			map[string]string{"held": "4", "frozen": frozen, "parked": `{"release":4}`}, nil, true, []string{"held", "frozen"},
		},
		"its template failed before, as a Job's": {
			map[string]string{"held": "4", "frozen": frozen, "refused": "v3"}, nil, true, []string{"held", "frozen"},
		},
		"its release failed after a freeze of an earlier one": {
			map[string]string{"held": "4", "frozen": `{"release":3,"by":["ops/friday"],"concurrent":5}`}, nil, true, []string{"held", "frozen"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u-1", Generation: 1, Labels: row.labels,
				Annotations: map[string]string{"altershield.defense.antgroup.com/release": "4"}}}
			metav1.SetMetaDataLabel(&web.ObjectMeta, "admission-webhook-altershield.antgroup.com/version", "v4")
			for key, value := range row.annotations {
				web.Annotations["altershield.defense.antgroup.com/"+key] = value
			}
			web.Spec.Paused = true
			u := &Uninstaller{clock: newStepping(), kinds: testkit.Kinds(), client: testkit.NewFake(t, web), out: io.Discard}
			g.Expect(u.letGo(t.Context())).To(Succeed())
			g.Expect(u.letGo(t.Context())).To(Succeed(), "again")
			g.Expect(u.client.Get(t.Context(), client.ObjectKeyFromObject(web), web)).To(Succeed())
			g.Expect(web.Spec.Paused).To(Equal(row.paused))
			for _, key := range []string{"held", "frozen", "paced"} {
				_, left := web.Annotations["altershield.defense.antgroup.com/"+key]
				g.Expect(left).To(Equal(slices.Contains(row.left, key)), key)
			}
		})
	}
}

// For a moment the API server still calls the webhooks of the operator, and applies its policies.
func TestUninstallerLetsGoOnceTheAPIServerPermitsIt(t *testing.T) {
	g := NewWithT(t)
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u-1", Generation: 1,
		Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "v4"}, Annotations: map[string]string{
			"altershield.defense.antgroup.com/release": "4", "altershield.defense.antgroup.com/paced": `{"release":4,"policy":"shop/web","lever":"Gates","traffic":"With"}`,
		}}}
	refusals := []error{
		apierrors.NewInternalError(errors.New(`failed calling webhook "mdeployment.kb.io": connection refused`)),
		apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", errors.New("only the operator writes paced")),
	}
	u := &Uninstaller{clock: newStepping(), kinds: testkit.Kinds(), out: io.Discard, client: interceptor.NewClient(testkit.NewFake(t, web), interceptor.Funcs{
		Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if len(refusals) > 0 {
				refusal := refusals[0]
				refusals = refusals[1:]
				return refusal
			}
			return kube.Patch(ctx, object, patch, options...)
		},
	})}
	g.Expect(u.letGo(t.Context())).To(Succeed())
	g.Expect(u.client.Get(t.Context(), client.ObjectKeyFromObject(web), web)).To(Succeed())
	g.Expect(web.Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/paced"))
}
