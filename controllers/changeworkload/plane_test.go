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
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// version is that of the present release of the Deployment sleep, older that of the one before.
const (
	version = "c6c45d23c098bdf181853a85b60b5d74"
	older   = "0123456789abcdef0123456789abcdef"
)

// plane is an API server, a cache of it that may be behind, and a reconciler.
type plane struct {
	*Reconciler
	t        *testing.T
	api      client.WithWatch
	recorded *clientevents.FakeRecorder
	reads    []string
	woken    <-chan string
}

// newPlane has these objects on the API server, and those in the cache: the same where there are none.
func newPlane(t *testing.T, objects, cached []client.Object) *plane {
	t.Helper()
	p := &plane{t: t, recorded: clientevents.NewFakeRecorder(100), api: build(t, objects)}
	cache := p.api
	if cached != nil {
		cache = build(t, cached)
	}
	metrics, err := NewMetrics(prometheus.NewRegistry())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	kube, live := p.writesTo(cache), p.counted()
	p.Reconciler = &Reconciler{
		Kinds: workload.Registry{deployment.Kind{}}, Client: kube, Live: live, Recorder: events.Recorder{Events: p.recorded}, Metrics: metrics, Settings: settings.Reader{Client: kube, Namespace: "altershieldoperator-system"},
		Clock:   clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)),
		Since:   func() time.Time { return time.Time{} },
		History: &history.Keeper{Client: kube, Live: live},
	}
	p.Agreed = p.Clock.Now
	p.Looks, p.woken = testkit.Looks(t.Context(), t, p.Clock)
	return p
}

func build(t *testing.T, objects []client.Object) client.WithWatch {
	t.Helper()
	copies := make([]client.Object, 0, len(objects)) // the fake client writes into what it is given
	for _, object := range objects {
		copies = append(copies, object.DeepCopyObject().(client.Object))
	}
	return testkit.NewFake(t, copies...)
}

// writesTo reads from the cache, and writes to the API server.
func (p *plane) writesTo(cache client.WithWatch) client.WithWatch {
	return interceptor.NewClient(cache, interceptor.Funcs{
		Create: func(ctx context.Context, _ client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return p.api.Create(ctx, object, options...)
		},
		Delete: func(ctx context.Context, _ client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return p.api.Delete(ctx, object, options...)
		},
		Patch: func(ctx context.Context, _ client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return p.api.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, _ client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return p.api.SubResource(part).Patch(ctx, object, patch, options...)
		},
	})
}

// counted notes what is read from the API server of the operator's own kinds.
func (p *plane) counted() client.Reader {
	note := func(verb string, object any) {
		switch object.(type) {
		case *appv1alpha1.ChangeWorkload, *appv1alpha1.ChangeWorkloadList, *appv1alpha1.ChangePod, *appv1alpha1.ChangePodList:
			p.reads = append(p.reads, fmt.Sprintf("%s %T", verb, object))
		}
	}
	return interceptor.NewClient(p.api, interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			note("get", object)
			return api.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, api client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			note("list", list)
			_, isNamespaces := list.(*corev1.NamespaceList) // by their names
			for _, option := range options {
				if _, isIndexed := option.(client.MatchingFields); isIndexed && !isNamespaces {
					return fmt.Errorf("listing %T: field label not supported", list)
				}
			}
			return api.List(ctx, list, options...)
		},
	})
}

// reconcile reconciles the present release once.
func (p *plane) reconcile() ctrl.Result {
	p.t.Helper()
	return p.reconcileOf("sleep")
}

// reconcileOf reconciles the present release of a workload once.
func (p *plane) reconcileOf(workload string) ctrl.Result {
	p.t.Helper()
	result, err := p.Reconcile(p.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: workload + "--x--" + version}})
	NewWithT(p.t).Expect(err).NotTo(HaveOccurred())
	return result
}

// checkOf returns the only check of the present release of a workload.
func (p *plane) checkOf(workload string) appv1alpha1.CheckResult {
	p.t.Helper()
	g, found := NewWithT(p.t), appv1alpha1.ChangeWorkload{}
	g.Expect(p.api.Get(p.t.Context(), client.ObjectKey{Namespace: "default", Name: workload + "--x--" + version}, &found)).To(Succeed())
	g.Expect(found.Status.Checks).To(HaveLen(1))
	return found.Status.Checks[0]
}

func (p *plane) deployment() *appsv1.Deployment {
	p.t.Helper()
	var found appsv1.Deployment
	NewWithT(p.t).Expect(p.api.Get(p.t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep"}, &found)).To(Succeed())
	return &found
}

// statuses maps the versions whose ChangeWorkloads the API server has to their status, and to the versions that they remember as verified.
func (p *plane) statuses() map[string]string {
	p.t.Helper()
	var list appv1alpha1.ChangeWorkloadList
	NewWithT(p.t).Expect(p.api.List(p.t.Context(), &list)).To(Succeed())
	result := map[string]string{}
	for i := range list.Items {
		status := list.Items[i].Status
		result[list.Items[i].Spec.Reversion] = strings.Join(append([]string{string(status.Status)}, status.VerifiedVersions...), " ")
	}
	return result
}

// pass ends the check of a batch.
func (p *plane) pass(number int) {
	p.t.Helper()
	batch := passedBatch(number)
	before := batch.DeepCopy()
	before.Status = appv1alpha1.ChangePodStatus{}
	NewWithT(p.t).Expect(p.api.Status().Patch(p.t.Context(), batch, client.MergeFrom(before))).To(Succeed())
}

// sleepOf is the Deployment sleep of count pods at release 2, with its surroundings except its records.
func sleepOf(count int32, changes ...func(*appsv1.Deployment)) []client.Object {
	labels := map[string]string{"admission-webhook-altershield.antgroup.com/version": version}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "sleep", UID: "d-1", Generation: 4, Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": version},
		Annotations: map[string]string{"altershield.defense.antgroup.com/release": "2"},
	}}
	deployment.Spec.Replicas = ptr.To(count)
	for _, change := range changes {
		change(deployment)
	}
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1", UID: "rs-1", Labels: labels, OwnerReferences: ofSleep()}}
	// No template is kept: this Deployment has none.
	noHistory := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "template-history"}}
	noHistory.Spec.Type = "isTemplateHistory"
	return []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, deployment, replicaSet, noHistory}
}

func suspended(deployment *appsv1.Deployment) {
	deployment.Labels["altershield.defense.antgroup.com/suspend"] = "1795255200"
}

// held is the Deployment while the operator holds its rollout.
func held(deployment *appsv1.Deployment) {
	deployment.Annotations["altershield.defense.antgroup.com/held"] = "2"
	deployment.Spec.Paused = true
}

func ofSleep() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "d-1", Controller: ptr.To(true)}}
}

// recordAt is the ChangeWorkload of a version, with a status and the reason of its condition Verified.
func recordAt(release int64, version, status, reason string) *appv1alpha1.ChangeWorkload {
	workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "sleep--x--" + version, UID: types.UID("cw-" + version), OwnerReferences: ofSleep(),
		Labels: map[string]string{"app.kubernetes.io/deployment-name": "sleep", "admission-webhook-altershield.antgroup.com/version": version},
	}}
	workload.Spec = appv1alpha1.ChangeWorkloadSpec{AppName: "sleep", Reversion: version, Release: release, CountThreshold: 1, WaitTimeThreshold: 60}
	workload.Status.Status, workload.Status.ObservedRelease = appv1alpha1.ChangeWorkloadPhase(status), release
	verified := map[string]metav1.ConditionStatus{"AllPodsPassed": "True", "PodsFailed": "False"}[reason]
	if verified == "" {
		verified = "Unknown"
	}
	workload.Status.Conditions = []metav1.Condition{{Type: "Verified", Status: verified, Reason: reason, LastTransitionTime: metav1.NewTime(time.Unix(1795250000, 0))}}
	return workload
}

// finishedPod is the pod sleep-1-<number>.
func finishedPod(number int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("sleep-1-%d", number),
			Labels: map[string]string{
				"admission-webhook-altershield.antgroup.com/version": version,
				"altershield.defense.antgroup.com/operate-finished":  fmt.Sprint(1795250000 + number),
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "sleep-1", UID: "rs-1", Controller: ptr.To(true)}},
		},
		Status: corev1.PodStatus{Phase: "Running"},
	}
}

// passedBatch is the batch of the pod sleep-1-<number>, which passed.
func passedBatch(number int) *appv1alpha1.ChangePod {
	changePod := &appv1alpha1.ChangePod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: fmt.Sprintf("sleep--x--%s--x--%d", version, number),
		Labels: map[string]string{"app.kubernetes.io/deployment-name": "sleep", "admission-webhook-altershield.antgroup.com/version": version},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeWorkload", Name: "sleep--x--" + version, UID: "cw-" + version, Controller: ptr.To(true)}},
	}}
	changePod.Spec = appv1alpha1.ChangePodSpec{ChangeWorkloadID: "sleep--x--" + version, Release: 2,
		PodInfos: []appv1alpha1.PodSummary{{App: "sleep", Namespace: "default", Pod: fmt.Sprintf("sleep-1-%d", number)}}}
	changePod.Status.Status, changePod.Status.Message = "ExecuteDone", "PostFinish"
	return changePod
}

// failedBatch is the same with a bad verdict.
func failedBatch(number int) *appv1alpha1.ChangePod {
	changePod := passedBatch(number)
	changePod.Status.PodResults = []appv1alpha1.PodSummary{{Pod: fmt.Sprintf("sleep-1-%d", number), Verdict: "unpass", Message: "find error"}}
	return changePod
}
