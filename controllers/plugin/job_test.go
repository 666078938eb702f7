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

package plugin

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// script asks what the Job web-smoke-3 says.
func script(clock *testclock.FakeClock) *plugin.Question {
	now := clock.Now()
	return &plugin.Question{
		ID: now.String(), Policy: "shop/smoke", Check: "smoke", At: now, Until: now.Add(15 * time.Second), Job: &appv1alpha1.JobCheck{Image: "busybox", TimeoutSeconds: 300, RunAsUser: 65532},
		Run: plugin.Run{Name: "web-smoke-3", Record: "web--x--6a8f", UID: "uid", Release: "uid.3", Labels: map[string]string{"app.kubernetes.io/deployment-name": "web"}},
	}
}

// job returns a Job of a check of a workload.
func job(name, workload, release string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: "1",
		Labels:          map[string]string{"app.kubernetes.io/deployment-name": workload, "altershield.defense.antgroup.com/check-of": release},
		OwnerReferences: []metav1.OwnerReference{{UID: "uid", Controller: ptr.To(true)}},
	}}
}

func TestAskerRunsAJobOnce(t *testing.T) {
	g := NewWithT(t)
	clock, created := testclock.NewFakeClock(time.Unix(1767225600, 0)), 0
	unrelated := job("own", "web", "uid.2")
	delete(unrelated.Labels, "altershield.defense.antgroup.com/check-of")
	kube := interceptor.NewClient(testkit.NewFake(t, job("web-smoke-2", "web", "uid.2"), job("web-other-3", "web", "uid.3"), job("db-smoke-2", "db", "uid.2"), job("web-smoke-10", "web", "uid.10"), unrelated), interceptor.Funcs{
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
			created++
			object.SetUID("2")
			return kube.Create(ctx, object, options...)
		},
	})
	ask := func() plugin.Answer {
		asker := asking(t.Context(), t, clock, &Asker{Live: kube, Jobs: kube}) // of another leader each time
		answer, err := asker.answer(script(clock))
		g.Expect(err).NotTo(HaveOccurred())
		return answer
	}
	running := plugin.Answer{Verdict: "Inconclusive", Reason: "JobRunning", Message: "Job web-smoke-3: not finished yet"}
	g.Expect(ask()).To(Equal(running))
	g.Expect(ask()).To(Equal(running))
	var jobs batchv1.JobList
	g.Expect(kube.List(t.Context(), &jobs)).To(Succeed())
	names := make([]string, len(jobs.Items))
	for i := range jobs.Items {
		names[i] = jobs.Items[i].Name
	}
	g.Expect(names).To(ConsistOf("web-smoke-3", "web-other-3", "web-smoke-10", "db-smoke-2", "own"), "the one of the release before is gone, not that of a later one")

	var made batchv1.Job
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-smoke-3"}, &made)).To(Succeed())
	made.Status.Conditions = []batchv1.JobCondition{{Type: "Failed", Status: "True", Reason: "BackoffLimitExceeded"}}
	g.Expect(kube.Status().Update(t.Context(), &made)).To(Succeed())
	g.Expect(kube.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-smoke-3-x", Labels: map[string]string{"batch.kubernetes.io/job-name": "web-smoke-3"},
			OwnerReferences: []metav1.OwnerReference{{UID: "2", Controller: ptr.To(true)}},
		},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "check", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "no healthz", StartedAt: metav1.Now()},
		}}}},
	})).To(Succeed())
	g.Expect(ask()).To(Equal(plugin.Answer{Verdict: "Fail", Reason: "CheckFailed", Message: "Job web-smoke-3: exit code 1: no healthz", Final: true}))
	g.Expect(created).To(Equal(2), "a Job and a pod")
}

func TestAskerRunsAJobThatWasDeletedBeforeItWasRead(t *testing.T) {
	g := NewWithT(t)
	clock, kube := testclock.NewFakeClock(time.Unix(1767225600, 0)), testkit.NewFake(t)
	asker := asking(t.Context(), t, clock, &Asker{Live: kube, Jobs: kube})
	for range 2 {
		_, err := asker.answer(script(clock))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kube.Delete(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-smoke-3"}})).To(Succeed())
		clock.Step(15 * time.Second)
	}
	last := script(clock)
	last.Last = true
	answer, err := asker.answer(last)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer).To(Equal(plugin.Answer{Verdict: "Inconclusive", Reason: "NotAsked", Message: "the check ended before Job web-smoke-3 in namespace shop was created"}))
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-smoke-3"}, &batchv1.Job{})).NotTo(Succeed())
}

func TestAskerDeletesNoJobsOfAnUnnamedWorkload(t *testing.T) {
	g := NewWithT(t)
	clock, kube := testclock.NewFakeClock(time.Unix(1767225600, 0)), testkit.NewFake(t, job("db-smoke-2", "db", "uid.2"))
	asked := script(clock)
	asked.Run.Labels = nil
	_, err := asking(t.Context(), t, clock, &Asker{Live: kube, Jobs: kube}).answer(asked)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db-smoke-2"}, &batchv1.Job{})).To(Succeed())
}

func TestAskerRunsNoJobOfSomebodyElse(t *testing.T) {
	g := NewWithT(t)
	other := job("web-smoke-3", "web", "uid.3")
	other.OwnerReferences[0].UID = "other"
	clock, kube := testclock.NewFakeClock(time.Unix(1767225600, 0)), testkit.NewFake(t, other)
	answer, err := asking(t.Context(), t, clock, &Asker{Live: kube, Jobs: kube}).answer(script(clock))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer).To(Equal(plugin.Broken("JobDenied", "Job web-smoke-3 in namespace shop was not created by the operator: delete it")))
}

func TestAskerSaysWhyAJobCantRun(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	permission := plugin.Broken("PermissionMissing", "the operator may create Jobs only with the ClusterRole of config/components/job-creation (chart: jobCreation.enabled)")
	rbac := func(verb, name string) error {
		return apierrors.NewForbidden(jobs, name, errors.New(`User "system:serviceaccount:a:b" cannot `+verb+` resource "jobs" in API group "batch" in the namespace "shop"`))
	}
	for name, row := range map[string]struct {
		verb     string
		err      error
		expected plugin.Answer
	}{
		"not granted":          {"create", rbac("create", ""), permission},
		"deletion not granted": {"delete", rbac("delete", "web-smoke-2"), permission},
		"a quota":              {"create", apierrors.NewForbidden(jobs, "web-smoke-3", errors.New("exceeded quota: few")), plugin.Broken("JobDenied", `creating Job web-smoke-3 in namespace shop: jobs.batch "web-smoke-3" is forbidden: exceeded quota: few`)},
		"away at the creation": {"create", errors.New("no endpoints"), plugin.Broken("ReadFailed", "creating Job web-smoke-3 in namespace shop: no endpoints")},
		"away at the deletion": {"delete", errors.New("no endpoints"), plugin.Broken("ReadFailed", "deleting the Jobs of earlier releases before Job web-smoke-3 in namespace shop: deleting Job web-smoke-2: no endpoints")},
		"a webhook that keeps the one before": {"delete", testkit.Denied(404), plugin.Broken("JobDenied", "deleting the Jobs of earlier releases before Job web-smoke-3 in namespace shop: deleting Job web-smoke-2: "+
			`admission webhook "guard.example.com" denied the request: no`)},
		"away at the list":        {"list jobs", errors.New("no endpoints"), plugin.Broken("ReadFailed", "deleting the Jobs of earlier releases before Job web-smoke-3 in namespace shop: listing them: no endpoints")},
		"away":                    {"get", errors.New("no endpoints"), plugin.Broken("ReadFailed", "reading Job web-smoke-3 in namespace shop: no endpoints")},
		"away at the pods":        {"list pods", errors.New("no endpoints"), plugin.Broken("ReadFailed", "listing the pods of Job web-smoke-3 in namespace shop: no endpoints")},
		"one that exists already": {"create", apierrors.NewAlreadyExists(jobs, "web-smoke-3"), plugin.Answer{Verdict: "Inconclusive", Reason: "JobRunning", Message: "Job web-smoke-3: not finished yet"}},
		"one that is gone":        {"delete", apierrors.NewNotFound(jobs, "web-smoke-2"), plugin.Answer{Verdict: "Inconclusive", Reason: "JobRunning", Message: "Job web-smoke-3: not finished yet"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects := []client.Object{job("web-smoke-2", "web", "uid.2")}
			if row.verb == "list pods" {
				objects = append(objects, job("web-smoke-3", "web", "uid.3"))
			}
			kube := failingAt(t, row.verb, func() error { return row.err }, objects...)
			clock := testclock.NewFakeClock(time.Unix(1767225600, 0))
			answer, err := asking(t.Context(), t, clock, &Asker{Live: kube, Jobs: kube}).answer(script(clock))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer).To(Equal(row.expected))
		})
	}
}

func TestAskerRunsJobsUntilTheManagerEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	kube := failingAt(t, "create", func() error { cancel(); return ctx.Err() })
	clock := testclock.NewFakeClock(time.Unix(1767225600, 0))
	_, err := asking(ctx, t, clock, &Asker{Live: kube, Jobs: kube}).answer(script(clock))
	NewWithT(t).Expect(err).To(MatchError("making the check smoke of shop/smoke: creating Job web-smoke-3 in namespace shop: context canceled"))
}

// failingAt returns a client that fails at a verb.
func failingAt(t *testing.T, verb string, failure func() error, objects ...client.Object) client.Client {
	at := func(called string, call func() error) error {
		if called == verb {
			return failure()
		}
		return call()
	}
	return interceptor.NewClient(testkit.NewFake(t, objects...), interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return at("get", func() error { return kube.Get(ctx, key, object, options...) })
		},
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			what := "list jobs"
			if _, pods := list.(*corev1.PodList); pods {
				what = "list pods"
			}
			return at(what, func() error { return kube.List(ctx, list, options...) })
		},
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return at("create", func() error { return kube.Create(ctx, object, options...) })
		},
		Delete: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return at("delete", func() error { return kube.Delete(ctx, object, options...) })
		},
	})
}
