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

package decide

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// shopRecords returns the ChangeRecords of releases of workloads as a GitOps client makes them, the oldest first. Of ten releases of a workload, the
// third fails, and the fourth is the rollback from it. Each fifth one had an approval. They are as the API server stores them, apart from
// metadata.managedFields.
func shopRecords(t *testing.T, workloads, releases int) []*appv1alpha1.ChangeRecord {
	t.Helper()
	g := NewWithT(t)
	var all []*appv1alpha1.ChangeRecord
	for number := range workloads {
		var facts RecordFacts
		for release := range int64(releases) {
			workload, now := shopRelease(number, release+1), time.Unix(1_800_000_000+86_400*release, 0)
			facts.Images = []appv1alpha1.RecordedImage{
				{Container: "web", Image: fmt.Sprintf("registry.example.com/shop/service-%d:1.41.%d", number, release+1), Digest: "sha256:" + strings.Repeat("9f", 32)},
				{Container: "istio-proxy", Image: "docker.io/istio/proxyv2:1.29.2", Digest: "sha256:" + strings.Repeat("7c", 32)},
			}
			facts.Approvals = nil
			if release%5 == 0 {
				facts.Approvals = []appv1alpha1.ChangeApproval{{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now)}, Spec: appv1alpha1.ChangeApprovalSpec{ApprovedBy: "carol@example.com", Reason: "CHG0041877"}}}
			}
			plan := PlanRecord(&appv1alpha1.ChangeWorkload{ObjectMeta: workload.ObjectMeta, Spec: workload.Spec}, &workload.Status, facts.End)
			record := NewChangeRecord(workload, &workload.Status, *plan, facts, now)
			record.SetGroupVersionKind(appv1alpha1.GroupVersion.WithKind("ChangeRecord"))
			record.UID, record.CreationTimestamp, record.Generation = types.UID(fmt.Sprintf("5f0c7d7e-9a55-4be5-8f6f-%012d", len(all))), metav1.NewTime(now), 1
			spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&record.Spec)
			g.Expect(err).NotTo(HaveOccurred())
			facts.Previous = record
			facts.PreviousHash, err = RecordHash(record.Namespace, record.Name, spec)
			g.Expect(err).NotTo(HaveOccurred())
			all = append(all, record)
		}
	}
	return all
}

// shopRelease returns a release that has its outcome.
func shopRelease(number int, release int64) *appv1alpha1.ChangeWorkload {
	name := fmt.Sprintf("service-%d", number)
	workload := ended(appv1alpha1.ChangeWorkloadSuccess, appv1alpha1.ReasonAllPodsPassed)
	workload.Namespace, workload.Labels = fmt.Sprintf("team-%d", number%10), map[string]string{
		"app.kubernetes.io/deployment-name": name, "admission-webhook-altershield.antgroup.com/version": fmt.Sprintf("%032x", release),
	}
	committed := metav1.NewTime(time.Unix(1_800_000_000+86_400*release-7200, 0))
	workload.Spec = appv1alpha1.ChangeWorkloadSpec{
		AppName: name, Release: release, Reversion: fmt.Sprintf("%032x", release), ReleasedBy: "system:serviceaccount:argocd:argocd-application-controller",
		CreateTimeUnix: 1_800_000_000 + 86_400*release - 600, CommitTime: &committed,
		WorkloadRef: &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name, UID: types.UID(fmt.Sprintf("0e3b7b52-1c1c-4d4a-9d51-%012d", number))},
		Changes: []string{
			fmt.Sprintf("spec.containers[web].image: registry.example.com/shop/%s:1.41.%d -> registry.example.com/shop/%s:1.41.%d", name, release-1, name, release),
			"spec.containers[web].env[FEATURES]: changed",
		},
	}
	status := &workload.Status
	status.ObservedRelease, status.Counts = release, appv1alpha1.PodCounts{Desired: 12, Passed: 12}
	status.Conditions[0].Message = "every desired pod finished and passed"
	switch release % 10 {
	case 3:
		status.Status, status.Counts = appv1alpha1.ChangeWorkloadSuspend, appv1alpha1.PodCounts{Desired: 12, Passed: 1, Failed: 2}
		status.Conditions[0].Reason, status.Conditions[0].Message = appv1alpha1.ReasonPodsFailed, "2 pods failed: check errors: 14.2% of requests, 1.1% before"
		for pod := range 2 {
			status.DefenseCheckFailPods = append(status.DefenseCheckFailPods, appv1alpha1.PodSummary{
				Pod: fmt.Sprintf("%s-5d8c7b9f4-x2l%dq", name, pod), Message: "check errors: 14.2% of requests, 1.1% before",
			})
		}
	case 4:
		workload.Spec.Rollback = &appv1alpha1.Rollback{
			Version: fmt.Sprintf("%032x", release-1), Release: release - 1, To: workload.Spec.Reversion, ToRelease: release, Reason: appv1alpha1.RollbackRequested,
			User: "dave@example.com", Time: metav1.NewTime(time.Unix(workload.Spec.CreateTimeUnix, 0)),
		}
	}
	return workload
}

// docs/records.md states the size.
func TestTenThousandChangeRecordsAreSmall(t *testing.T) {
	g, total, largest := NewWithT(t), 0, 0
	records := shopRecords(t, 100, 100)
	for _, record := range records {
		encoded, err := json.Marshal(record)
		g.Expect(err).NotTo(HaveOccurred())
		total += len(encoded)
		largest = max(largest, len(encoded))
	}
	t.Logf("%d records: %d bytes each, at most %d", len(records), total/len(records), largest)
	g.Expect(records).To(HaveLen(10_000))
	g.Expect(total / len(records)).To(And(BeNumerically(">", 1000), BeNumerically("<", 2000)))
	g.Expect(largest).To(BeNumerically("<", 4000))
}
