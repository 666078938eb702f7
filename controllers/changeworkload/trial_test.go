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

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/cronjob"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// backupAt returns the CronJob backup at a release of version v2.
func backupAt(uid types.UID, release string) *batchv1.CronJob {
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "backup", UID: uid, Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "v2"},
			Annotations: map[string]string{"altershield.defense.antgroup.com/release": release, "altershield.defense.antgroup.com/trial": "true"},
		},
		Spec: batchv1.CronJobSpec{Schedule: "@daily"},
	}
}

func TestTryCreatesTheJobOfTheTrial(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for _, row := range []struct {
		name   string
		live   *batchv1.CronJob
		kind   workload.Kind
		answer error
		// there is the CronJob of a Job of the name of the trial, empty for no such Job.
		there types.UID
		jobs  int
		tried string
		event string
		fails bool
	}{
		{name: "at once", live: backupAt("cron-1", "2"), jobs: 1, tried: "True Job backup-trial-2 runs the release; the schedule is suspended until its pods are checked",
			event: "Normal TrialStarted release v2: Job backup-trial-2 runs the release; the schedule is suspended until its pods are checked"},
		{name: "once", live: backupAt("cron-1", "2"), there: "cron-1", jobs: 1,
			tried: "True Job backup-trial-2 runs the release; the schedule is suspended until its pods are checked",
			event: "Normal TrialStarted release v2: Job backup-trial-2 runs the release; the schedule is suspended until its pods are checked"},
		{name: "but not in place of one that a deleted CronJob of the name left", live: backupAt("cron-1", "2"), there: "cron-0", jobs: 1,
			tried: "False Job backup-trial-2 was not created: one that isn't of this CronJob has its name: delete that, and the operator creates its own",
			event: "Warning TrialDenied release v2: Job backup-trial-2 was not created: one that isn't of this CronJob has its name: delete that, and the operator creates its own; " +
				"the release is checked at the next run"},
		{name: "with the permission alone", live: backupAt("cron-1", "2"), answer: apierrors.NewForbidden(jobs, "backup-trial-2", errors.New(`User "manager" cannot create resource "jobs"`)),
			tried: "False Job backup-trial-2 was not created: the operator may create Jobs only with the ClusterRole of config/components/job-creation " +
				`(chart: jobCreation.enabled): jobs.batch "backup-trial-2" is forbidden: User "manager" cannot create resource "jobs"`,
			event: "Warning TrialDenied release v2: Job backup-trial-2 was not created: the operator may create Jobs only with the ClusterRole of config/components/job-creation " +
				`(chart: jobCreation.enabled): jobs.batch "backup-trial-2" is forbidden: User "manager" cannot create resource "jobs"; the release is checked at the next run`},
		{name: "not where a quota forbids it", live: backupAt("cron-1", "2"), answer: apierrors.NewForbidden(jobs, "backup-trial-2", errors.New("exceeded quota: few")),
			tried: `False jobs.batch "backup-trial-2" is forbidden: exceeded quota: few`,
			event: `Warning TrialDenied release v2: jobs.batch "backup-trial-2" is forbidden: exceeded quota: few; the release is checked at the next run`},
		{name: "again while the API server starts", live: backupAt("cron-1", "2"), answer: apierrors.NewForbidden(jobs, "backup-trial-2", errors.New("not yet ready to handle request")), fails: true},
		{name: "again after any other error", live: backupAt("cron-1", "2"), answer: apierrors.NewInternalError(context.Canceled), fails: true},
		{name: "not of an earlier release", live: backupAt("cron-1", "3")},
		{name: "not of another CronJob of the name", live: backupAt("cron-2", "2")},
		{name: "not of another kind", live: backupAt("cron-1", "2"), kind: kind.Kind{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			objects := []client.Object{row.live}
			if row.there != "" {
				objects = append(objects, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "backup-trial-2", OwnerReferences: []metav1.OwnerReference{
					*metav1.NewControllerRef(backupAt(row.there, "2"), batchv1.SchemeGroupVersion.WithKind("CronJob"))}}})
			}
			kube := interceptor.NewClient(testkit.NewFake(t, objects...), interceptor.Funcs{
				Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
					if row.answer != nil {
						return row.answer
					}
					return kube.Create(ctx, object, options...)
				},
			})
			recorder := clientevents.NewFakeRecorder(5)
			r := &Reconciler{Client: kube, Live: kube, Clock: clocktesting.NewFakePassiveClock(testkit.Now()), Recorder: events.Recorder{Events: recorder}}
			record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cronjobs.backup--x--v2"}}
			record.Spec.Reversion, record.Spec.Release = "v2", 2
			seen := &scene{kind: row.kind, owner: backupAt("cron-1", "2"), Observation: decide.Observation{Kind: "CronJob"}}
			if row.kind == nil {
				seen.kind = cronjob.Kind{}
			}
			decision := decide.Decision{Try: true}
			g.Expect(r.try(t.Context(), record, seen, &decision) != nil).To(Equal(row.fails))

			var created batchv1.JobList
			g.Expect(kube.List(t.Context(), &created)).To(Succeed())
			g.Expect(created.Items).To(HaveLen(row.jobs))
			if row.jobs > 0 && row.there == "" {
				g.Expect(created.Items[0].OwnerReferences).To(HaveExactElements(HaveField("UID", types.UID("cron-1"))))
			}
			g.Expect(decision.WriteStatus).To(Equal(row.tried != ""))
			if row.tried == "" {
				g.Expect(decision.Status.Conditions).To(BeEmpty())
				return
			}
			tried := decision.Status.Conditions[0]
			g.Expect(tried.Type + " " + string(tried.Status) + " " + tried.Message).To(Equal("Tried " + row.tried))
			after := record.DeepCopy()
			after.Status = decision.Status
			r.reportTrial(record, after, seen)
			r.reportTrial(after, after, seen)
			close(recorder.Events)
			g.Expect(<-recorder.Events).To(Equal(row.event))
			g.Expect(recorder.Events).To(BeEmpty(), "once")
		})
	}
}
