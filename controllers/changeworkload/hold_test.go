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
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func TestSteerEndsTheOperatorsPauseOfAWorkloadThatLeftChangeControl(t *testing.T) {
	going := metav1.Now()
	for _, row := range []struct {
		name string
		// live is the namespace at the API server.
		live *corev1.Namespace
		// optedIn is the namespace in the cache.
		optedIn bool
		// mode is that of the kind at the API server, and in the cache.
		mode    appv1alpha1.ControlledKindMode
		cached  appv1alpha1.ControlledKindMode
		resumed bool
		event   string
	}{
		{"it is opted out", &corev1.Namespace{}, false, "Enforce", "Enforce", true,
			"Warning RolloutResumed release v2: the rollout continues: the namespace was opted out of change control"},
		{"its label has another value", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"admission-webhook-altershield": "off"}}}, false, "Enforce", "Enforce", true,
			"Warning RolloutResumed release v2: the rollout continues: the namespace was opted out of change control"},
		{"it has returned, which the cache doesn't know",
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}, false, "Enforce", "Enforce", false, ""},
		{"it is being deleted", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &going, Finalizers: []string{"kubernetes"}}}, false, "Enforce", "Enforce", false, ""},
		{"it is opted in, and no pod is failed any more",
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}, true, "Enforce", "Enforce", true,
			"Normal RolloutResumed release v2: the rollout continues: the release has no failed pods any more"},
		{"its kind is observed",
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}, false, "Observe", "Observe", true,
			"Warning RolloutResumed release v2: the rollout continues: the mode of its kind is no longer Enforce"},
		{"its kind is enforced again, which the cache doesn't know",
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}, false, "Enforce", "Observe", false, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			deployment := sleepAt(t)
			deployment.Generation, deployment.Spec.Paused = 7, true
			deployment.Annotations["altershield.defense.antgroup.com/held"] = "2"
			row.live.Name = "default"
			other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
			controlled := testkit.ControlledKind("deployments.apps", row.mode)
			kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(deployment, row.live, other, controlled).
				WithIndex(&corev1.Namespace{}, "metadata.name", func(object client.Object) []string { return []string{object.GetName()} }).Build()
			recorder := clientevents.NewFakeRecorder(10)
			r := &Reconciler{Client: kube, Live: kube, Recorder: events.Recorder{Events: recorder}}
			workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--v2"}}
			workload.Spec.Reversion, workload.Spec.Release = "v2", 2
			seen := &scene{kind: kind.Kind{}, owner: deployment.DeepCopy(), Observation: decide.Observation{
				Current: true, OptedIn: row.optedIn, NotEnforced: row.cached != appv1alpha1.ModeEnforce, Hold: decide.Held}}

			movedOn, err := r.steer(t.Context(), workload, seen, decide.Decision{Resume: true})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(movedOn).To(Equal(!row.resumed))
			g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
			g.Expect(deployment.Spec.Paused).To(Equal(!row.resumed))
			close(recorder.Events)
			g.Expect(<-recorder.Events).To(Equal(row.event))
			if row.resumed {
				g.Expect(deployment.Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/held"))
			} else {
				g.Expect(deployment.Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/held", "2"))
			}
		})
	}
}

func TestSteerLeavesNothingOfAHoldThatEnds(t *testing.T) {
	held := map[string]string{"held": "2", "frozen": `{"release":2,"by":["ops/friday"],"concurrent":5}`,
		"parked": `{"release":2,"reason":"PodsFailed","time":"2026-11-21T09:00:00Z"}`}
	for _, row := range []struct {
		name     string
		decision decide.Decision
		hold     decide.Hold
		paused   bool
		left     []string
	}{
		{"at the end of a freeze", decide.Decision{Resume: true, Thaw: true}, decide.Held, false, []string{"parked"}},
		{"whose verdict was withdrawn", decide.Decision{Resume: true, Unpark: true}, decide.Held, false, nil},
		{"or just a park", decide.Decision{Unpark: true}, decide.Held, true, []string{"held", "frozen"}},
		{"of a verified release, whose freeze isn't observed any more", decide.Decision{Resume: true}, decide.Held, false, []string{"parked"}},
		{"that a user has ended", decide.Decision{Unhold: true, Thaw: true}, decide.Resumed, true, []string{"parked"}},
		{"where a pod failed meanwhile, but the hold for that", decide.Decision{Thaw: true}, decide.Held, true, []string{"held", "parked"}},
		{"unless the release is verified and still frozen", decide.Decision{Lift: true}, decide.Held, true, []string{"held", "frozen", "parked"}},
		{"that a user overrode, once the release is verified", decide.Decision{Lift: true}, decide.Overridden, true, []string{"parked"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			deployment := sleepAt(t)
			deployment.Generation, deployment.Spec.Paused, deployment.Labels["altershield.defense.antgroup.com/suspend"] = 7, true, "1795255200"
			for key, value := range held {
				deployment.Annotations["altershield.defense.antgroup.com/"+key] = value
			}
			kube := testkit.NewFake(t, deployment)
			r := &Reconciler{Client: kube, Live: kube, Recorder: events.Recorder{Events: clientevents.NewFakeRecorder(10)}}
			workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--v2"}}
			workload.Spec.Reversion, workload.Spec.Release = "v2", 2
			movedOn, err := r.steer(t.Context(), workload, &scene{kind: kind.Kind{}, owner: deployment.DeepCopy(),
				Observation: decide.Observation{Current: true, OptedIn: true, Hold: row.hold}}, row.decision)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(movedOn).To(BeFalse())
			g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
			g.Expect(deployment.Spec.Paused).To(Equal(row.paused))
			for key := range held {
				_, found := deployment.Annotations["altershield.defense.antgroup.com/"+key]
				g.Expect(found).To(Equal(slices.Contains(row.left, key)), key)
			}
		})
	}
}

// A policy denies each update of a workload that doesn't comply, also one of the operator.
func TestSteerTellsThatAWriteIsDenied(t *testing.T) {
	policy := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: "Forbidden", Message: `admission webhook "owners.example.com" denied the request: no owner`}}
	for name, row := range map[string]struct {
		answer error
		event  string
	}{
		"by a policy": {policy, "Warning WorkloadNotWritten release v2: it can't be suspended, held or let go on: " +
			`patching Deployment default/sleep: admission webhook "owners.example.com" denied the request: no owner`},
		"but not that it fails for a moment": {errors.New("the API server is away"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, deployment := NewWithT(t), sleepAt(t)
			deployment.Generation = 7
			kube := interceptor.NewClient(testkit.NewFake(t, deployment), interceptor.Funcs{
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return row.answer
				},
			})
			recorder := clientevents.NewFakeRecorder(10)
			r := &Reconciler{Client: kube, Live: kube, Recorder: events.Recorder{Events: recorder}, Clock: clocktesting.NewFakePassiveClock(testkit.Now())}
			workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--v2"}}
			workload.Spec.Reversion, workload.Spec.Release = "v2", 2
			_, err := r.steer(t.Context(), workload, &scene{kind: kind.Kind{}, owner: deployment.DeepCopy(),
				Observation: decide.Observation{Current: true, OptedIn: true}}, decide.Decision{Suspend: true})
			g.Expect(err).To(MatchError(row.answer), "it is tried again")
			close(recorder.Events)
			g.Expect(<-recorder.Events).To(Equal(row.event))
		})
	}
}

// It says so in the status, once: each write would bring the next try at once.
func TestReconcileSavesTheFailureOfAReleaseWhoseSuspensionIsDenied(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(sleepOf(2), finishedPod(1), failedBatch(1), recordAt(2, version, "Running", "Verifying")), nil)
	var denied error = &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: "Forbidden", Message: `admission webhook "owners.example.com" denied the request: no owner`}}
	kube, written := p.Client.(client.WithWatch), 0
	p.Client = interceptor.NewClient(kube, interceptor.Funcs{
		Patch: func(ctx context.Context, _ client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if denied != nil {
				return denied
			}
			return kube.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, _ client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			written++
			return kube.SubResource(part).Patch(ctx, object, patch, options...)
		},
	})
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}}
	conditions := func() (told []string) {
		var found appv1alpha1.ChangeWorkload
		g.Expect(p.api.Get(t.Context(), request.NamespacedName, &found)).To(Succeed())
		for _, condition := range found.Status.Conditions {
			told = append(told, fmt.Sprintf("%s %s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
		}
		return append(told, string(found.Status.Status))
	}
	for range 2 {
		_, err := p.Reconcile(t.Context(), request)
		g.Expect(err).To(MatchError(denied), "it is tried again")
	}
	g.Expect(conditions()).To(Equal([]string{
		"Verified False PodsFailed: pod sleep-1-1 failed its check: find error",
		`Suspended False WorkloadNotWritten: further releases of the Deployment are not denied yet, as it can't be suspended: patching Deployment default/sleep: ` +
			`admission webhook "owners.example.com" denied the request: no owner`,
		"Suspend",
	}))
	g.Expect(written).To(Equal(1))
	g.Expect(<-p.recorded.Events).To(HavePrefix("Warning WorkloadNotWritten release " + version + ": "))
	g.Expect(<-p.recorded.Events).To(Equal("Warning PodsFailed release " + version + ": pod sleep-1-1 failed its check: find error"))
	g.Expect(<-p.recorded.Events).To(HavePrefix("Warning WorkloadNotWritten release " + version + ": "))

	denied = nil
	p.reconcile()
	g.Expect(p.deployment().Labels).To(HaveKey("altershield.defense.antgroup.com/suspend"))
	g.Expect(conditions()).To(ContainElement(HavePrefix("Suspended True PodsFailed: ")))
	g.Expect(<-p.recorded.Events).To(HavePrefix("Warning ReleaseSuspended release " + version + ": "))
}

// An alert fires as long as they are tried and denied.
func TestSteerCountsTheSuspensionsThatAreDenied(t *testing.T) {
	rolling := func(deployment *appsv1.Deployment) { deployment.Status.Replicas = 2 }
	resumed := func(deployment *appsv1.Deployment) { held(deployment); deployment.Spec.Paused = false }
	for name, row := range map[string]struct {
		objects []client.Object
		denied  float64
	}{
		"of a workload that goes on":                {sleepOf(2), 2},
		"of the rollout of one that is suspended":   {sleepOf(2, suspended, rolling), 2},
		"but not that a user has resumed a rollout": {sleepOf(2, suspended, resumed), 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPlane(t, append(optIn(row.objects), finishedPod(1), failedBatch(1), recordAt(2, version, "Running", "Verifying")), nil)
			denied := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "sleep", errors.New("a policy denies it"))
			p.Client = interceptor.NewClient(p.Client.(client.WithWatch), interceptor.Funcs{
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return denied
				},
			})
			for range 2 {
				_, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}})
				g.Expect(err).To(MatchError(denied), "it is tried again")
			}
			g.Expect(testutil.CollectAndCount(p.Metrics.denied, "altershield_suspensions_denied_total")).To(Equal(1), "also before the first one")
			g.Expect(testutil.ToFloat64(p.Metrics.denied)).To(Equal(row.denied))
		})
	}
}

// A write that is denied asked for nothing.
func TestReconcileAsksForTheUndoOfAStepOnceItsWorkloadCanBeWritten(t *testing.T) {
	g := NewWithT(t)
	objects := append(inSteps(), gatedPod("a", "gated"))
	for _, object := range objects {
		if policy, ok := object.(*appv1alpha1.ReleasePolicy); ok {
			policy.Spec.OnFail = "Undo"
		}
	}
	p := newPlane(t, objects, nil)
	p.settle()
	g.Expect(p.api.Create(t.Context(), failedBatch(1))).To(Succeed())
	var denied error = &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: "Forbidden", Message: `admission webhook "lock.example.com" denied the request: it is locked`}}
	kube := p.Client.(client.WithWatch)
	p.Client = interceptor.NewClient(kube, interceptor.Funcs{
		Patch: func(ctx context.Context, _ client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if denied != nil {
				return denied
			}
			return kube.Patch(ctx, object, patch, options...)
		},
	})
	_, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p.found())})
	g.Expect(err).To(MatchError(denied))
	g.Expect(p.paced()).To(HaveSuffix("True StepFailed"))
	denied = nil
	p.settle()
	g.Expect(p.deployment().Labels).To(HaveKey("altershield.defense.antgroup.com/suspend"))
	g.Expect(p.deployment().Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/rollback", "true"))
}

// unholdable is a declared kind without fields that hold its rollouts, valueless one whose values for that aren't known.
type (
	unholdable struct{ workload.Kind }
	valueless  struct{ kind.Kind }
)

func (valueless) Pause(client.Object) []workload.Operation { return nil }

func TestReconcileKeepsTheStepOfAFailedReleaseThatCannotBeHeld(t *testing.T) {
	for name, of := range map[string]workload.Kind{"without fields": unholdable{kind.Kind{}}, "without values": valueless{}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects := optIn(pacedSleep(func(deployment *appsv1.Deployment) { deployment.Status.Replicas = 20 }))
			policy := &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
			policy.Spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100}}
			record := recordAt(2, version, "Running", "Paced")
			record.Status.Pace = &appv1alpha1.ReleasePace{Policy: "default/web", Lever: "Gates", Step: 1, Target: 1}
			record.Status.Conditions = append(record.Status.Conditions, metav1.Condition{Type: "Paced", Status: "True", Reason: "StepRunning"})
			p := newPlane(t, append(objects, policy, record, finishedPod(1), failedBatch(1), gatedPod("sleep-1-2", "gated")), nil)
			p.Kinds = workload.Registry{of}
			for range 4 {
				p.reconcile()
			}
			g.Expect(p.running()).To(ConsistOf("sleep-1-1"))
			g.Expect(p.deployment().Labels).To(HaveKey("altershield.defense.antgroup.com/suspend"))
			g.Expect(p.deployment().Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/held"))
		})
	}
}

func TestReconcileTellsThatAWebhookDeniesTheStatusWhateverItsCode(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(sleepOf(1), recordAt(2, version, "Running", ""), finishedPod(1), passedBatch(1)), nil)
	p.Client = interceptor.NewClient(p.Client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return testkit.Denied(404)
		},
	})
	_, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}})
	g.Expect(err).To(MatchError("writing the status of ChangeWorkload default/sleep--x--" + version + `: admission webhook "guard.example.com" denied the request: no`))
}
