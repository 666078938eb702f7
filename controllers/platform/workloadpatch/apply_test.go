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
	"errors"
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// sleep returns a Deployment at its fourth release.
func sleep() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "sleep", UID: "d-1",
		Labels:      map[string]string{"admission-webhook-altershield.antgroup.com/version": "c6c45d23c098bdf181853a85b60b5d74"},
		Annotations: map[string]string{"altershield.defense.antgroup.com/release": "4"},
	}}
}

// sent is a patch that reached the API server.
type sent struct {
	key  client.ObjectKey
	kind types.PatchType
	data string
}

// apply makes the change against an API server with the given response.
func apply(t *testing.T, deployment *appsv1.Deployment, change workloadpatch.Change, answer error, live ...client.Object) (patches []sent, written bool, err error) {
	t.Helper()
	writer := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
			data, err := patch.Data(object)
			patches = append(patches, sent{client.ObjectKeyFromObject(object), patch.Type(), string(data)})
			return errors.Join(err, answer)
		},
	}).Build()
	written, err = workloadpatch.Apply(t.Context(), writer, fake.NewClientBuilder().WithObjects(live...).Build(), kind.Kind{}, deployment, change)
	return patches, written, err
}

const (
	testUID     = `{"op":"test","path":"/metadata/uid","value":"d-1"}`
	testVersion = `{"op":"test","path":"/metadata/labels/admission-webhook-altershield.antgroup.com~1version","value":"c6c45d23c098bdf181853a85b60b5d74"}`
	testRelease = `{"op":"test","path":"/metadata/annotations/altershield.defense.antgroup.com~1release","value":"4"}`
)

func TestApplyGuardsAChangeByTheObjectAndItsRelease(t *testing.T) {
	for _, row := range []struct {
		name       string
		deployment func(*appsv1.Deployment)
		change     workloadpatch.Change
		patch      string
	}{
		{"a label is set", func(*appsv1.Deployment) {},
			workloadpatch.Change{Set: map[string]string{"altershield.defense.antgroup.com/suspend": "1795255200"}},
			"[" + testUID + "," + testVersion + "," + testRelease +
				`,{"op":"add","path":"/metadata/labels/altershield.defense.antgroup.com~1suspend","value":"1795255200"}]`},
		{"a label is removed", func(*appsv1.Deployment) {},
			workloadpatch.Change{Remove: []string{"altershield.defense.antgroup.com/suspend"}},
			"[" + testUID + "," + testVersion + "," + testRelease +
				`,{"op":"remove","path":"/metadata/labels/altershield.defense.antgroup.com~1suspend"}]`},
		{"one is set and one removed", func(*appsv1.Deployment) {},
			workloadpatch.Change{Set: map[string]string{"altershield.defense.antgroup.com/defense-status": "processed"},
				Remove: []string{"altershield.defense.antgroup.com/ignored-suspend"}},
			"[" + testUID + "," + testVersion + "," + testRelease +
				`,{"op":"add","path":"/metadata/labels/altershield.defense.antgroup.com~1defense-status","value":"processed"}` +
				`,{"op":"remove","path":"/metadata/labels/altershield.defense.antgroup.com~1ignored-suspend"}]`},
		{"a pause is the operator's, of the spec that was read", func(deployment *appsv1.Deployment) { deployment.Generation = 7 },
			workloadpatch.Change{Pause: true, Annotate: map[string]string{"altershield.defense.antgroup.com/held": "4"}},
			"[" + testUID + "," + testVersion + "," + testRelease +
				`,{"op":"add","path":"/metadata/annotations/altershield.defense.antgroup.com~1held","value":"4"}` +
				`,{"op":"test","path":"/metadata/generation","value":7},{"op":"add","path":"/spec/paused","value":true}]`},
		{"the end of a pause leaves nothing of it", func(deployment *appsv1.Deployment) { deployment.Generation = 7 },
			workloadpatch.Change{Resume: true, Unannotate: []string{"altershield.defense.antgroup.com/held"}},
			"[" + testUID + "," + testVersion + "," + testRelease +
				`,{"op":"remove","path":"/metadata/annotations/altershield.defense.antgroup.com~1held"}` +
				`,{"op":"test","path":"/metadata/generation","value":7},{"op":"remove","path":"/spec/paused"}]`},
		{"a request that the change was decided by is tested", func(*appsv1.Deployment) {},
			workloadpatch.Change{Unannotate: []string{"rollback"}, Given: map[string]string{"rollback": "true"}},
			"[" + testUID + "," + testVersion + "," + testRelease +
				`,{"op":"test","path":"/metadata/annotations/rollback","value":"true"},{"op":"remove","path":"/metadata/annotations/rollback"}]`},
		{"a Deployment without annotations gets one", func(deployment *appsv1.Deployment) { deployment.Annotations = nil },
			workloadpatch.Change{Annotate: map[string]string{"a": "b"}},
			"[" + testUID + "," + testVersion + `,{"op":"add","path":"/metadata/annotations","value":{}}` +
				`,{"op":"add","path":"/metadata/annotations/a","value":"b"}]`},
		{"a release without a number isn't tested", func(deployment *appsv1.Deployment) { deployment.Annotations = nil },
			workloadpatch.Change{Set: map[string]string{"a": "b"}},
			"[" + testUID + "," + testVersion + `,{"op":"add","path":"/metadata/labels/a","value":"b"}]`},
		{"an empty value is written out", func(*appsv1.Deployment) {},
			workloadpatch.Change{Set: map[string]string{"a": ""}},
			"[" + testUID + "," + testVersion + "," + testRelease + `,{"op":"add","path":"/metadata/labels/a","value":""}]`},
		{"tilde and slash are escaped, the tilde first", func(*appsv1.Deployment) {},
			workloadpatch.Change{Remove: []string{"a~b/c~1"}},
			"[" + testUID + "," + testVersion + "," + testRelease + `,{"op":"remove","path":"/metadata/labels/a~0b~1c~01"}]`},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			deployment := sleep()
			row.deployment(deployment)
			before := deployment.DeepCopy()
			patches, written, err := apply(t, deployment, row.change, nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(written).To(BeTrue())
			g.Expect(patches).To(HaveLen(1))
			g.Expect(patches[0].key.String()).To(Equal("default/sleep"))
			g.Expect(string(patches[0].kind)).To(Equal("application/json-patch+json"))
			var got, want any
			g.Expect(json.Unmarshal([]byte(patches[0].data), &got)).To(Succeed())
			g.Expect(json.Unmarshal([]byte(row.patch), &want)).To(Succeed())
			g.Expect(got).To(Equal(want))
			g.Expect(deployment).To(Equal(before), "what was read stays as it was read")
		})
	}
}

func TestApplyReturnsTheAnswer(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
	// The API server responds alike to a failed test of the patch and to a denial of a policy.
	invalid := apierrors.NewGenericServerResponse(422, "patch", resource, "sleep", "the server rejected our request due to an error in our request", 0, false)
	changed := func(what, key, value string) *appsv1.Deployment {
		deployment := sleep()
		switch what {
		case "labels":
			deployment.Labels[key] = value
		case "annotations":
			deployment.Annotations[key] = value
		default:
			deployment.UID = types.UID(value)
		}
		return deployment
	}
	for _, row := range []struct {
		name    string
		answer  error
		live    *appsv1.Deployment
		written bool
		message string
	}{
		{"it is written", nil, sleep(), true, ""},
		{"a Deployment that moved on to another version is left alone quietly", invalid,
			changed("labels", "admission-webhook-altershield.antgroup.com/version", "6a8ff823a5011291b0f02a1d83c2222d"), false, ""},
		{"a Deployment that moved on to another release is left alone quietly", invalid,
			changed("annotations", "altershield.defense.antgroup.com/release", "6"), false, ""},
		{"a Deployment of the same name is left alone quietly", invalid, changed("uid", "", "d-2"), false, ""},
		{"a Deployment that went meanwhile is left alone quietly", invalid, nil, false, ""},
		{"a change that is there already is made", invalid, changed("labels", "a", "b"), true, ""},
		{"a denial by a policy is an error", invalid, sleep(), false, "patching Deployment default/sleep: "},
		{"a Deployment that is gone is left alone quietly", apierrors.NewNotFound(resource, "sleep"), nil, false, ""},
		{"a denial by a webhook that answers 404 is an error", &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: 404, Reason: metav1.StatusReasonNotFound, Message: `admission webhook "owners.example.com" denied the request: no owner found`,
		}}, sleep(), false, "patching Deployment default/sleep: "},
		{"anything else is an error", apierrors.NewInternalError(errors.New("boom")), sleep(), false, "patching Deployment default/sleep: "},
		{"a refusal is an error", apierrors.NewForbidden(resource, "sleep", errors.New("no")), sleep(), false, "patching Deployment default/sleep: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			var live []client.Object
			if row.live != nil {
				live = append(live, row.live)
			}
			_, written, err := apply(t, sleep(), workloadpatch.Change{Set: map[string]string{"a": "b"}}, row.answer, live...)
			g.Expect(written).To(Equal(row.written))
			if row.message == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(HavePrefix(row.message)))
			g.Expect(errors.Is(err, row.answer)).To(BeTrue())
		})
	}
}

// invalid is the answer to a patch whose test failed.
func invalid() error {
	return apierrors.NewGenericServerResponse(422, "patch", schema.GroupResource{Group: "apps", Resource: "deployments"}, "sleep", "test failed", 0, false)
}

// The API server rejected it, maybe because the same change was made just before.
func TestApplyFindsAChangeMadeWhereTheDeploymentHasAllOfIt(t *testing.T) {
	change := workloadpatch.Change{
		Set: map[string]string{"set": "1"}, Remove: []string{"removed"}, Annotate: map[string]string{"noted": "2"}, Unannotate: []string{"unnoted"}, Pause: true,
	}
	for _, row := range []struct {
		name string
		live func(*appsv1.Deployment)
		made bool
	}{
		{"all of it", func(*appsv1.Deployment) {}, true},
		{"another value of a label", func(live *appsv1.Deployment) { live.Labels["set"] = "2" }, false},
		{"a label that is to go", func(live *appsv1.Deployment) { live.Labels["removed"] = "" }, false},
		{"another value of an annotation", func(live *appsv1.Deployment) { live.Annotations["noted"] = "1" }, false},
		{"an annotation that is to go", func(live *appsv1.Deployment) { live.Annotations["unnoted"] = "" }, false},
		{"no pause", func(live *appsv1.Deployment) { live.Spec.Paused = false }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			live := sleep()
			live.Labels["set"], live.Annotations["noted"], live.Spec.Paused = "1", "2", true
			row.live(live)
			_, written, err := apply(t, sleep(), change, invalid(), live)
			g.Expect(written).To(Equal(row.made))
			g.Expect(err == nil).To(Equal(row.made))
		})
	}
}

func TestLetGo(t *testing.T) {
	const held, from, frozen = "altershield.defense.antgroup.com/held", "altershield.defense.antgroup.com/held-from", "altershield.defense.antgroup.com/frozen"
	for _, row := range []struct {
		name        string
		annotations map[string]string
		paused      bool
		resume      bool
		unannotate  []string
	}{
		{"of what isn't held changes nothing", nil, false, false, nil},
		{"resumes a parked release, and leaves nothing of its hold", map[string]string{held: "4", from: "{}", frozen: "{}"}, true, true, []string{held, from, frozen}},
		{"leaves the pause of a user", map[string]string{frozen: "{}"}, true, false, []string{frozen}},
		{"leaves the pause of a user that follows the operator's", map[string]string{held: "4-overridden"}, true, false, []string{held}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, deployment := NewWithT(t), sleep()
			deployment.Spec.Paused = row.paused
			maps.Copy(deployment.Annotations, row.annotations)
			change := workloadpatch.LetGo(kind.Kind{}, deployment)
			g.Expect(change.Resume).To(Equal(row.resume))
			g.Expect(change.Unannotate).To(ConsistOf(row.unannotate))
		})
	}
}

func TestChangeIsEmpty(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workloadpatch.Change{}.IsEmpty()).To(BeTrue())
	g.Expect(workloadpatch.Change{Given: map[string]string{"a": "b"}}.IsEmpty()).To(BeTrue(), "what it was decided by is no change")
	for _, change := range []workloadpatch.Change{
		{Set: map[string]string{"a": "b"}}, {Remove: []string{"a"}}, {Annotate: map[string]string{"a": "b"}}, {Unannotate: []string{"a"}}, {Pause: true}, {Resume: true},
		{Let: new(int32)}, {Unpace: true},
	} {
		g.Expect(change.IsEmpty()).To(BeFalse(), "%+v", change)
	}
}

func TestApplyLeavesAChangeWhoseRequestIsAnotherByNow(t *testing.T) {
	invalid := apierrors.NewGenericServerResponse(422, "patch", schema.GroupResource{Group: "apps", Resource: "deployments"}, "sleep", "test failed", 0, false)
	change := workloadpatch.Change{Unannotate: []string{"rollback"}, Given: map[string]string{"rollback": "true"}}
	for request, refused := range map[string]bool{"true": true, "other": false, "": false} {
		g := NewWithT(t)
		live := sleep()
		live.Annotations["rollback"] = request
		if request == "" {
			delete(live.Annotations, "rollback")
		}
		_, written, err := apply(t, sleep(), change, invalid, live)
		g.Expect(written).To(BeFalse(), request)
		g.Expect(err != nil).To(Equal(refused), request)
	}
}

func TestApplyWritesOnlyWhereTheGuardsHold(t *testing.T) {
	for _, row := range []struct {
		name    string
		live    func(*appsv1.Deployment)
		written bool
	}{
		{"the same object at the same release is changed", func(*appsv1.Deployment) {}, true},
		{"its status may have changed meanwhile", func(deployment *appsv1.Deployment) { deployment.Status.Replicas = 5 }, true},
		{"another object of the same name isn't", func(deployment *appsv1.Deployment) { deployment.UID = "d-2" }, false},
		{"another version isn't", func(deployment *appsv1.Deployment) {
			deployment.Labels["admission-webhook-altershield.antgroup.com/version"] = "6a8ff823a5011291b0f02a1d83c2222d"
		}, false},
		{"the same version released again isn't", func(deployment *appsv1.Deployment) {
			deployment.Annotations["altershield.defense.antgroup.com/release"] = "6"
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			live := sleep()
			row.live(live)
			writer := fake.NewClientBuilder().WithObjects(live).Build()
			// The fake client returns its own error for a failed test, the API server Invalid.
			written, _ := workloadpatch.Apply(t.Context(), writer, writer, kind.Kind{}, sleep(), workloadpatch.Change{Set: map[string]string{"a": "b"}})
			g.Expect(written).To(Equal(row.written))
			var after appsv1.Deployment
			g.Expect(writer.Get(t.Context(), client.ObjectKeyFromObject(live), &after)).To(Succeed())
			_, changed := after.Labels["a"]
			g.Expect(changed).To(Equal(row.written))
		})
	}
}
