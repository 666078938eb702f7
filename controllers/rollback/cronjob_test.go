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

package rollback_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/cronjob"
)

// verifiedBackup is the version of the release of the CronJob backup before the present one.
const verifiedBackup = "0123456789abcdef0123456789abcdef"

// backupJob is a Job of the CronJob backup that was created so long ago.
func backupJob(name, version string, age time.Duration, status string) *unstructured.Unstructured {
	return decode(fmt.Sprintf(`{"apiVersion": "batch/v1", "kind": "Job",
		"metadata": {"namespace": "default", "name": %[1]q, "uid": %[1]q, "creationTimestamp": %[2]q,
			"labels": {"admission-webhook-altershield.antgroup.com/version": %[3]q},
			"ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "backup", "uid": "c-1", "controller": true}]},
		"spec": {"template": {"spec": {}}}, "status": %[4]s}`, name, now.Add(-age).Format(time.RFC3339), version, status))
}

// stuckBackup is the CronJob backup, at its second release, whose image can't be pulled. Its first Job is stuck; one of the release before is complete.
func stuckBackup() []client.Object {
	return []client.Object{
		optedIn(), node("True", time.Hour), testkit.ControlledKind("cronjobs.batch", "Enforce"),
		decode(fmt.Sprintf(`{"apiVersion": "batch/v1", "kind": "CronJob",
			"metadata": {"namespace": "default", "name": "backup", "uid": "c-1",
				"labels": {"admission-webhook-altershield.antgroup.com/version": %q}, "annotations": {"altershield.defense.antgroup.com/release": "2"}},
			"spec": {"schedule": "@hourly", "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "backup", "image": "bad"}]}}}}}}`, versionOfBad)),
		backupJob("old", verifiedBackup, time.Hour, `{"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}`),
		backupJob("new", versionOfBad, 5*time.Minute, `{}`),
		decode(fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod",
			"metadata": {"namespace": "default", "name": "new-1", "uid": "p-1", "creationTimestamp": %q,
				"labels": {"admission-webhook-altershield.antgroup.com/version": %q},
				"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "new", "uid": "new", "controller": true}]},
			"spec": {"nodeName": "node-1", "restartPolicy": "Never"},
			"status": {"phase": "Pending", "containerStatuses": [{"name": "backup", "state": {"waiting": {"reason": "ErrImagePull"}}}]}}`,
			now.Add(-5*time.Minute).Format(time.RFC3339), versionOfBad)),
	}
}

func stuckBackupRequest() rollback.Request {
	asked := request("PodsNotRunning", "")
	asked.Kind, asked.Workload.Name = cronjob.Kind{}, "backup"
	return asked
}

func TestRollBackOfACronJobGoesToAKeptRelease(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, nil, append(stuckBackup(), keptContent("cronjobs.backup", verifiedBackup, "c-1",
		`{"content": {"/spec/schedule": "@daily", "/spec/jobTemplate/spec/template": {"spec": {"containers": [{"name": "backup", "image": "good"}]}}}}`))...)
	made, err := b.RollBack(t.Context(), stuckBackupRequest())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made.Message).To(Equal("pod new-1: container backup: ErrImagePull"))
	g.Expect(b.patches).To(HaveExactElements(And(
		ContainSubstring(`{"op":"replace","path":"/spec/jobTemplate/spec/template","value":{"spec":{"containers":[{"image":"good","name":"backup"}]}}}`),
		ContainSubstring(`{"op":"replace","path":"/spec/schedule","value":"@daily"}`))))
}

func TestRollBackOfACronJobNeedsAKeptRelease(t *testing.T) {
	for reason, want := range map[appv1alpha1.RollbackReason]rollback.Obstacle{
		"PodsNotRunning": {Reason: "NoHealthyReplicaSet",
			Message: "version 0123456789abcdef0123456789abcdef of cronjob backup ran before, but its release is not kept, as that of a verified one is"},
		"Requested": {Reason: "NoVerifiedVersion", Message: "cronjob backup has no other verified version to go back to"},
	} {
		g, asked := NewWithT(t), request(reason, "")
		asked.Kind, asked.Workload.Name = cronjob.Kind{}, "backup"
		b := newBench(t, nil, append(stuckBackup(), verifiedOf("cronjobs.backup", "c-1", verifiedBackup))...)
		_, err := b.RollBack(t.Context(), asked)
		var obstacle *rollback.Obstacle
		g.Expect(errors.As(err, &obstacle)).To(BeTrue(), "%v", err)
		g.Expect(*obstacle).To(Equal(want))
		g.Expect(b.patches).To(BeEmpty())
	}
}

func TestRollBackOfACronJobPassesOverAReleaseThatIsNotKept(t *testing.T) {
	const unverified = "fedcba9876543210fedcba9876543210"
	g := NewWithT(t)
	b := newBench(t, nil, append(stuckBackup(),
		backupJob("between", unverified, 30*time.Minute, `{"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}`),
		keptContent("cronjobs.backup", verifiedBackup, "c-1",
			`{"content": {"/spec/schedule": "@daily", "/spec/jobTemplate/spec/template": {"spec": {"containers": [{"name": "backup", "image": "good"}]}}}}`))...)
	made, err := b.RollBack(t.Context(), stuckBackupRequest())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made.Message).To(Equal("pod new-1: container backup: ErrImagePull"))
	g.Expect(b.patches).To(HaveExactElements(ContainSubstring(`"image":"good"`)))
}
