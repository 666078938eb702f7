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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
	metricsource "github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// judged is a policy of one rule that always fails, with a message of what it saw.
func judged() *appv1alpha1.VerificationPolicy {
	policy := &appv1alpha1.VerificationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "own", UID: "vp-1"}}
	policy.Spec.Mode = appv1alpha1.CheckObserve
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "sees", Type: appv1alpha1.CheckRule, Rule: &appv1alpha1.RuleCheck{
		Expression: "false", MessageExpression: "string(newPods.size()) + ' new, old: ' + oldPods.map(pod, pod.name).join(' ')",
	}}}
	return policy
}

// oldPod is a pod of the version before, and its ReplicaSet.
func oldPod() []client.Object {
	labels := map[string]string{"admission-webhook-altershield.antgroup.com/version": older}
	return []client.Object{
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-0", UID: "rs-0", Labels: labels, OwnerReferences: ofSleep()}},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-0-1", UID: "old-1", Labels: labels, OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "sleep-0", UID: "rs-0", Controller: ptr.To(true)}}},
			Status: corev1.PodStatus{Phase: "Running", ContainerStatuses: []corev1.ContainerStatus{{Name: "main", RestartCount: 3}}},
		},
	}
}

func TestReconcileJudgesTheNewAndTheOldPodsByARule(t *testing.T) {
	g := NewWithT(t)
	record := recordAt(2, version, "", "")
	record.Status.ObservedRelease = 0
	objects := append(sleepOf(2), record, judged(), finishedPod(1))
	p := newPlane(t, append(objects, oldPod()...), nil)
	rules, err := rule.NewCompiler()
	g.Expect(err).NotTo(HaveOccurred())
	p.Rules = rules
	var found appv1alpha1.ChangeWorkload
	p.reconcile()
	g.Expect(p.api.Get(t.Context(), client.ObjectKeyFromObject(record), &found)).To(Succeed())
	g.Expect(found.Status.Verification).NotTo(BeNil())
	g.Expect(found.Status.Verification.OldPods.Pods).To(Equal(int32(1)))
	g.Expect(found.Status.Verification.OldPods.Restarts).To(Equal(int64(3)))
	p.reconcile()
	g.Expect(p.api.Get(t.Context(), client.ObjectKeyFromObject(record), &found)).To(Succeed())
	g.Expect(found.Status.Checks).To(HaveLen(1))
	g.Expect(found.Status.Checks[0].Message).To(Equal("1 new, old: sleep-0-1"))
}

// Pods that run the version without gates are from before the release.
func TestReconcileComparesWithPodsThatRunTheVersionWithoutGates(t *testing.T) {
	g := NewWithT(t)
	record := recordAt(2, version, "", "")
	record.Status.ObservedRelease = 0
	finished := finishedPod(1)
	finished.OwnerReferences[0].UID = "rs-2"
	p := newPlane(t, append(changedSleep("one"), record, judged(), finished, gatedPod("b", "running")), nil)
	rules, err := rule.NewCompiler()
	g.Expect(err).NotTo(HaveOccurred())
	p.Rules = rules
	p.reconcile()
	p.reconcile()
	g.Expect(p.checkOf("sleep").Message).To(Equal("1 new, old: b"))
}

// The cache may show the Deployment as it was before its release, after a restart of its watch.
func TestReconcileFindsThePoliciesOfAReleaseThatItSeesBeforeItsDeployment(t *testing.T) {
	g := NewWithT(t)
	record := recordAt(3, version, "", "")
	record.Status.ObservedRelease = 0
	p := newPlane(t, append(sleepOf(2), record, judged()), nil)
	p.reconcile()
	var found appv1alpha1.ChangeWorkload
	g.Expect(p.api.Get(t.Context(), client.ObjectKeyFromObject(record), &found)).To(Succeed())
	g.Expect(found.Status.ObservedRelease).To(Equal(int64(3)))
	g.Expect(found.Status.Verification).NotTo(BeNil())
	g.Expect(found.Status.Verification.Policies).To(HaveLen(1))
	g.Expect(found.Status.Verification.Progress).To(BeEmpty())
}

func TestReconcileSkipsTheChecksOfAKindWithoutPods(t *testing.T) {
	g := NewWithT(t)
	record, policy := recordAt(2, version, "", ""), judged()
	record.Status.ObservedRelease = 0
	policy.Spec.FailWhen = "checks.sees == 'Fail'"
	p := newPlane(t, append(sleepOf(2), record, policy), nil)
	p.Kinds = workload.Registry{cluster{}}
	rules, err := rule.NewCompiler()
	g.Expect(err).NotTo(HaveOccurred())
	p.Rules = rules
	p.phase("InProgress")
	var found appv1alpha1.ChangeWorkload
	p.reconcile()
	p.reconcile()
	g.Expect(p.api.Get(t.Context(), client.ObjectKeyFromObject(record), &found)).To(Succeed())
	g.Expect(found.Status.Checks).To(HaveLen(1))
	g.Expect(found.Status.Checks[0].Reason).To(Equal("NoPods"))
	g.Expect(found.Status.Checks[0].Enforced).To(BeFalse())
}

// at is a time on the day of the releases.
func at(hour, minute int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 11, 21, hour, minute, 0, 0, time.UTC))
}

// longAgo has a pod have restarted fifty minutes before the others.
func longAgo(pod *corev1.Pod) *corev1.Pod {
	status := &pod.Status.ContainerStatuses[0]
	status.LastTerminationState.Terminated.FinishedAt = at(9, 9)
	status.State.Running = &corev1.ContainerStateRunning{StartedAt: at(9, 10)}
	return pod
}

// troubledPod is a pod of another workload, which restarted a minute ago.
func troubledPod(name, owner string, labels map[string]string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: labels}}
	if owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: ptr.To(true)}}
	}
	pod.Status = corev1.PodStatus{Phase: "Running", ContainerStatuses: []corev1.ContainerStatus{{Name: "main", RestartCount: 1,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, FinishedAt: at(9, 59)}}}}}
	return pod
}

// watched is a release of pods with a status on the node n1, which began at nine o'clock and whose health is checked.
func watching(statuses ...corev1.PodStatus) (*appv1alpha1.ChangeWorkload, []client.Object) {
	record, policy := recordAt(2, version, "Running", "Verifying"), judged()
	record.Spec.CreateTimeUnix = at(9, 0).Unix()
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "pods", Type: appv1alpha1.CheckPodHealth}}
	record.Status.Verification = &appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{
		{Policy: "default/own", UID: policy.UID, VerificationTerms: policy.Spec.VerificationTerms},
	}}
	objects := append(sleepOf(int32(len(statuses))), record, policy)
	for i, status := range statuses {
		pod, batch := finishedPod(i+1), passedBatch(i+1)
		pod.UID, pod.Spec.NodeName, pod.Status = types.UID(pod.Name), "n1", status
		batch.Spec.PodInfos[0].UID = pod.UID
		objects = append(objects, pod, batch)
	}
	return record, objects
}

// nodeN1 is the node n1, which is ready or not since a time.
func nodeN1(ready corev1.ConditionStatus, since metav1.Time) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: "MemoryPressure", Status: "False"}, {Type: "Ready", Status: ready, LastTransitionTime: since},
	}}}
}

func TestReconcileDoesNotCountTheTroubleOfANode(t *testing.T) {
	lost := corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "False", LastTransitionTime: at(9, 58)}}}
	for name, row := range map[string]struct {
		node    client.Object
		verdict string
	}{
		"that isn't ready":            {nodeN1("Unknown", at(9, 58)), "Pass"},
		"that is gone":                {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}, "Pass"},
		"that is ready again":         {nodeN1("True", at(9, 59)), "Pass"},
		"but does of one that stayed": {nodeN1("True", at(8, 0)), "Fail"},
	} {
		t.Run(name, func(t *testing.T) {
			_, objects := watching(lost, lost)
			p := newPlane(t, append(objects, row.node), nil)
			p.reconcile()
			NewWithT(t).Expect(string(p.checkOf("sleep").Verdict)).To(Equal(row.verdict))
		})
	}
}

func TestReconcileFailsNoReleaseByANodeThatItCantRead(t *testing.T) {
	g := NewWithT(t)
	lost := corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "False", LastTransitionTime: at(9, 58)}}}
	record, objects := watching(lost, lost)
	p := newPlane(t, objects, nil)
	answer := errors.New("timeout")
	p.Live = interceptor.NewClient(p.api, interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, isNode := object.(*corev1.Node); isNode {
				return answer
			}
			return api.Get(ctx, key, object, options...)
		},
	})
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(record)}
	_, err := p.Reconcile(t.Context(), request)
	g.Expect(err).To(MatchError("reading node n1: timeout"), "so that it is tried again")
	var found appv1alpha1.ChangeWorkload
	g.Expect(p.api.Get(t.Context(), request.NamespacedName, &found)).To(Succeed())
	g.Expect(found.Status.Checks).To(BeEmpty())

	answer = apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n1", errors.New("no"))
	_, err = p.Reconcile(t.Context(), request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(p.checkOf("sleep").Verdict)).To(Equal("Fail"), "where the operator may not read nodes")
}

func TestReconcileCountsOtherWorkloadsInTroubleEachOnce(t *testing.T) {
	hash := func(label, value string) map[string]string { return map[string]string{label: value} }
	for name, row := range map[string]struct {
		others   []client.Object
		expected int
	}{
		"pods that restarted fifty minutes before": {[]client.Object{
			longAgo(troubledPod("a", "", nil)), longAgo(troubledPod("b", "", nil)), longAgo(troubledPod("c", "", nil)), troubledPod("d", "", nil)}, 1},
		"a Deployment whose old and new pods restart": {[]client.Object{
			troubledPod("web-5f9-a", "web-5f9", hash("pod-template-hash", "5f9")), troubledPod("web-68c-a", "web-68c", hash("pod-template-hash", "68c"))}, 1},
		"a Rollout whose old and new pods restart": {[]client.Object{
			troubledPod("web-5f9-a", "web-5f9", hash("rollouts-pod-template-hash", "5f9")),
			troubledPod("web-68c-a", "web-68c", hash("rollouts-pod-template-hash", "68c"))}, 1},
		"two Deployments": {[]client.Object{
			troubledPod("web-5f9-a", "web-5f9", hash("pod-template-hash", "5f9")), troubledPod("api-5f9-a", "api-5f9", hash("pod-template-hash", "5f9"))}, 2},
		"ReplicaSets and pods of their own": {[]client.Object{
			troubledPod("a-1", "a", nil), troubledPod("b-1", "b", nil), troubledPod("b-2", "b", nil), troubledPod("c", "", nil), troubledPod("d", "", nil)}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			status := troubledPod("", "", nil).Status
			status.ContainerStatuses[0].RestartCount = 3
			record, objects := watching(status)
			p := newPlane(t, append(append(objects, nodeN1("True", at(8, 0))), row.others...), nil)
			p.prepare()
			seen, _, err := p.decide(t.Context(), record.DeepCopy())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(seen.Verification.Pods.Others).To(Equal(map[appv1alpha1.PodSignal]int{"Restarts": row.expected}))
		})
	}
}

func TestReconcileEndsALookAtMetricsThatCantBeRead(t *testing.T) {
	g := NewWithT(t)
	record, policy := recordAt(2, version, "Success", "AllPodsPassed"), judged()
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "errors", Type: appv1alpha1.CheckRatio, Ratio: &appv1alpha1.RatioCheck{
		SourceRef:      appv1alpha1.SourceReference{Name: "prometheus"},
		RatioObjective: appv1alpha1.RatioObjective{Threshold: &appv1alpha1.RatioThreshold{Max: "1%"}},
	}}}
	record.Status.Verification = &appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{
		{Policy: "default/own", UID: policy.UID, VerificationTerms: policy.Spec.VerificationTerms},
	}}
	record.Status.Checks = []appv1alpha1.CheckResult{{Policy: "default/own", Name: "errors", Type: "Ratio", Mode: "Observe", Verdict: "Pending"}}
	p := newPlane(t, append(append(sleepOf(1), record, policy, finishedPod(1), passedBatch(1)), oldPod()...), nil)
	p.Sources = &metricsource.Sources{Client: p.api, Namespace: "altershieldoperator-system"}
	p.prepare()
	seen, _, err := p.decide(t.Context(), record.DeepCopy())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(seen.Verification.Pods.Old).To(HaveLen(1), "which the new ones are compared with")
	g.Expect(<-p.woken).To(Equal(record.Name))
	p.reconcile()
	g.Expect(string(p.checkOf("sleep").Verdict)).To(Equal("Inconclusive"))
	g.Expect(p.checkOf("sleep").Reason).To(Equal("SourceMissing"))
}

func TestReconcileOpensBatchesForACheckOfTheServer(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*appv1alpha1.VerificationPolicy)
		judged bool
	}{
		"of the platform": {func(policy *appv1alpha1.VerificationPolicy) {
			policy.Namespace, policy.Spec.NamespaceSelector = "altershieldoperator-system", &metav1.LabelSelector{}
		}, true},
		"that the namespace may not have": {func(*appv1alpha1.VerificationPolicy) {}, false},
		"of another type": {func(policy *appv1alpha1.VerificationPolicy) {
			policy.Spec.Checks[0].Type = appv1alpha1.CheckPodHealth
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			record, policy := recordAt(2, version, "", ""), judged()
			record.Status.ObservedRelease = 0
			policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "server", Type: appv1alpha1.CheckServer}}
			row.change(policy)
			p := newPlane(t, append(sleepOf(2), record, policy, finishedPod(1)), nil)
			p.reconcile()
			p.reconcile()
			var batches appv1alpha1.ChangePodList
			g.Expect(p.api.List(t.Context(), &batches)).To(Succeed())
			g.Expect(batches.Items).To(HaveLen(1))
			g.Expect(batches.Items[0].Spec.ServerCheck).To(Equal(row.judged))
		})
	}
}

func TestReconcileReportsAHoldAndItsTimeout(t *testing.T) {
	g := NewWithT(t)
	record, policy := recordAt(2, version, "Running", "Verifying"), judged()
	record.Spec.CountThreshold = 5
	policy.Spec.Mode, policy.Spec.IntervalSeconds = appv1alpha1.CheckEnforce, 15
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{
		Name: "sees", Type: appv1alpha1.CheckRule, Rule: &appv1alpha1.RuleCheck{Expression: "oldPods[0].ready"},
		OnInconclusive: "Hold", TimeoutSeconds: 60, OnTimeout: "Fail",
	}}
	record.Status.Verification = &appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{
		{Policy: "default/own", UID: policy.UID, VerificationTerms: policy.Spec.VerificationTerms},
	}}
	waits := passedBatch(1)
	waits.Status = appv1alpha1.ChangePodStatus{Status: "PostWait"}
	p := newPlane(t, append(sleepOf(2), record, policy, finishedPod(1), waits), nil)
	rules, err := rule.NewCompiler()
	g.Expect(err).NotTo(HaveOccurred())
	p.Rules = rules

	g.Expect(p.reconcile().RequeueAfter).To(Equal(11*time.Second), "the next look, 11 s after a multiple of 15 s by its UID")
	g.Expect(p.recorded.Events).To(Receive(HavePrefix("Warning CheckHolds ")))
	p.reconcile()
	g.Expect(p.recorded.Events).NotTo(Receive())
	p.Since = func() time.Time { return time.Date(2026, 11, 21, 10, 0, 50, 0, time.UTC) }
	p.Clock.(*clocktesting.FakePassiveClock).SetTime(time.Date(2026, 11, 21, 10, 1, 0, 0, time.UTC))
	p.reconcile()
	g.Expect(p.recorded.Events).NotTo(Receive(), "its time begins anew, as another leader began meanwhile")
	p.Clock.(*clocktesting.FakePassiveClock).SetTime(time.Date(2026, 11, 21, 10, 2, 0, 0, time.UTC))
	p.reconcile()
	g.Expect(p.recorded.Events).To(Receive(HavePrefix("Warning ReleaseSuspended ")))
	g.Expect(p.recorded.Events).To(Receive(HavePrefix("Warning HoldTimeout ")))
	var found appv1alpha1.ChangeWorkload
	g.Expect(p.api.Get(t.Context(), client.ObjectKeyFromObject(record), &found)).To(Succeed())
	g.Expect(string(found.Status.Status)).To(Equal("Suspend"))
	g.Expect(found.Status.Checks[0].Message).To(HavePrefix("it could not tell within 60 seconds: evaluating the expression: "))
}
