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

package webhooks

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
)

// jobRecord is the record of a Job whose check failed.
func jobRecord(t *testing.T, created object) *appv1alpha1.ChangeWorkload {
	t.Helper()
	version, err := workload.VersionOf(job.Kind{}, workload.ContentOf(job.Kind{}, created))
	if err != nil {
		t.Fatal(err)
	}
	return &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "jobs.first--x--1", Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": version},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "first", UID: "j-1", Controller: ptr.To(true)}}},
		Spec: appv1alpha1.ChangeWorkloadSpec{Reversion: version, WorkloadRef: &appv1alpha1.WorkloadReference{Kind: "Job", Name: "first"}},
		Status: appv1alpha1.ChangeWorkloadStatus{Status: "Suspend", Conditions: []metav1.Condition{
			{Type: "Suspended", Status: "True", Reason: "PodsFailed"},
		}},
	}
}

// failedJob is the Job of jobRecord.
func failedJob() *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first", UID: "j-1"}}
}

func TestDefaulterSuspendsACreatedJobWhoseTemplateFailedBefore(t *testing.T) {
	suspend := field(true, "suspend", "spec")
	otherNamespace := func(record *appv1alpha1.ChangeWorkload) { record.Namespace = "other" }
	gone := func(record *appv1alpha1.ChangeWorkload) { record.OwnerReferences[0].Name = "before" }
	createdAgain := func(record *appv1alpha1.ChangeWorkload) { record.OwnerReferences[0].UID = "j-0" }
	for _, row := range []struct {
		name     string
		created  edit
		change   func(*appv1alpha1.ChangeWorkload)
		held     bool
		warnings []string
	}{
		{"with the way to run it", all(), nil, true, []string{
			"the pod template of job sleep failed its check before, in ChangeWorkload jobs.first--x--1, so it is suspended",
			"to run it all the same, set its spec.suspend to false, or create it with the label altershield.defense.antgroup.com/ignored-suspend=true",
		}},
		{"unless its creator knows", ignoring, nil, false, []string{"the pod template of job sleep failed its check before, in ChangeWorkload jobs.first--x--1; it runs all the same"}},
		{"unless it is suspended anyhow", suspend, nil, false, []string{"the pod template of job sleep failed its check before, in ChangeWorkload jobs.first--x--1"}},
		{"again for the same request", all(suspend, held("1"), annotation("altershield.defense.antgroup.com/refused", "jobs.first--x--1")), nil, true, []string{
			"the pod template of job sleep failed its check before, in ChangeWorkload jobs.first--x--1, so it is suspended",
			"to run it all the same, set its spec.suspend to false, or create it with the label altershield.defense.antgroup.com/ignored-suspend=true",
		}},
		{"not because of another namespace", all(), otherNamespace, false, nil},
		{"not once the Job that failed is gone", all(), gone, false, nil},
		{"not once there is another one of its name", all(), createdAgain, false, nil},
		{"not another template", repaired, nil, false, nil},
		{"not one of a CronJob", field([]any{object{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "c-1", "controller": true}}, "ownerReferences", "metadata"), nil, false, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			record := jobRecord(t, deployment(t))
			if row.change != nil {
				row.change(record)
			}
			accounts := accountsOf(t, readerOf(t, interceptor.Funcs{}, record, failedJob())).of(job.Kind{})
			patcher := &defaulter{kind: job.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts).of(job.Kind{}), freezes: freezesOf(t, accounts, job.Kind{}),
				paces: pacesOf(t, pastOf(nil, accounts).of(job.Kind{}), job.Kind{})}
			response := patcher.Handle(t.Context(), requestOf(t, nil, deployment(t, row.created)))
			g.Expect(response.Allowed).To(BeTrue())
			g.Expect(response.Warnings).To(Equal(row.warnings))
			patch := operations(response.Patches)
			if !row.held {
				g.Expect(patch).NotTo(HaveKey("add /spec/suspend"))
				return
			}
			if row.name != "again for the same request" {
				g.Expect(patch).To(HaveKeyWithValue("add /spec/suspend", true))
				annotations := patch["add /metadata/annotations"]
				g.Expect(annotations).To(And(HaveKeyWithValue("altershield.defense.antgroup.com/held", "1"),
					HaveKeyWithValue("altershield.defense.antgroup.com/refused", "jobs.first--x--1")))
				return
			}
			g.Expect(patch).NotTo(HaveKey(HavePrefix("remove /metadata/annotations")), "it stays held")
		})
	}
}

// The API server calls the webhook again if another one changes the Job, which has no label ignored-suspend by then.
func TestDefaulterKnowsTheLabelOfACreatedJobWhenItIsCalledAgain(t *testing.T) {
	g := NewWithT(t)
	accounts := accountsOf(t, readerOf(t, interceptor.Funcs{}, jobRecord(t, deployment(t)), failedJob())).of(job.Kind{})
	patcher := &defaulter{kind: job.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts).of(job.Kind{}), freezes: freezesOf(t, accounts, job.Kind{}),
		paces: pacesOf(t, pastOf(nil, accounts).of(job.Kind{}), job.Kind{})}
	created := deployment(t, ignoring)
	for range 3 {
		response := patcher.Handle(t.Context(), requestOf(t, nil, created))
		g.Expect(response.Warnings).To(ConsistOf("the pod template of job sleep failed its check before, in ChangeWorkload jobs.first--x--1; it runs all the same"))
		created = with(t, patched(t, created, response), annotation("injected", "true"))
		g.Expect(at(created, "metadata", "labels")).NotTo(HaveKey("altershield.defense.antgroup.com/ignored-suspend"))
		g.Expect(at(created, "spec")).NotTo(HaveKey("suspend"))
	}
}

// kubectl replace --force, or a backup, creates a Job again from one that ran by its label.
func TestDefaulterSuspendsAJobThatIsCreatedAgainFromOneThatIgnoredItsPast(t *testing.T) {
	for _, row := range []struct {
		name, user, time string
		held             bool
	}{
		{"a day after it", "alice", "2026-11-20T10:00:00Z", true},
		{"half a minute after it", "alice", "2026-11-21T09:59:29Z", true},
		{"by another user", "bob", "2026-11-21T10:00:00Z", true},
		{"at a time to come", "alice", "2026-11-21T10:00:31Z", true},
		{"but not in the same request", "alice", "2026-11-21T09:59:30Z", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			created := deployment(t, annotation("altershield.defense.antgroup.com/released-by",
				`{"user":"`+row.user+`","time":"`+row.time+`","version":"`+versionOf123+`","release":1,"ended":{"ignoredSuspend":true}}`))
			accounts := accountsOf(t, readerOf(t, interceptor.Funcs{}, jobRecord(t, created), failedJob())).of(job.Kind{})
			patcher := &defaulter{kind: job.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts).of(job.Kind{}), freezes: freezesOf(t, accounts, job.Kind{}),
				paces: pacesOf(t, pastOf(nil, accounts).of(job.Kind{}), job.Kind{})}
			response := patcher.Handle(t.Context(), requestOf(t, nil, created))
			g.Expect(response.Allowed).To(BeTrue())
			_, suspended := operations(response.Patches)["add /spec/suspend"]
			g.Expect(suspended).To(Equal(row.held))
		})
	}
}

func TestDefaulterAdmitsNoJobWithoutKnowingItsPast(t *testing.T) {
	g := NewWithT(t)
	accounts := accountsOf(t, readerOf(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("no cache")
	}})).of(job.Kind{})
	patcher := &defaulter{kind: job.Kind{}, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts).of(job.Kind{}), freezes: freezesOf(t, accounts, job.Kind{}),
		paces: pacesOf(t, pastOf(nil, accounts).of(job.Kind{}), job.Kind{})}
	response := patcher.Handle(t.Context(), requestOf(t, nil, deployment(t)))
	g.Expect(response.Allowed).To(BeFalse())
	g.Expect(response.Result.Message).To(ContainSubstring("no cache"))
}
