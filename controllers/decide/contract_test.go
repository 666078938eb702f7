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

package decide_test

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Names that no decision of this package spells, but users, dashboards or the server read.
func TestWireContractNeverChanges(t *testing.T) {
	for spelled, constant := range map[string]string{
		"admission-webhook-altershield": appv1alpha1.LabelOptIn,
		"enabled":                       appv1alpha1.OptInEnabled,
		"admission-webhook-altershield.antgroup.com/version": appv1alpha1.LabelVersion,
		"altershield.defense.antgroup.com/defense-status":    appv1alpha1.LabelDefenseStatus,
		"processed": appv1alpha1.DefenseStatusProcessed,
		"altershield.defense.antgroup.com/operate-finished": appv1alpha1.LabelOperateFinished,
		"altershield.defense.antgroup.com/suspend":          appv1alpha1.LabelSuspend,
		"altershield.defense.antgroup.com/ignored-suspend":  appv1alpha1.LabelIgnoredSuspend,
		"true":                              appv1alpha1.IgnoredSuspendTrue,
		"app.kubernetes.io/deployment-name": appv1alpha1.LabelDeploymentName,
		"altershield.defense.antgroup.com/batch-of":           appv1alpha1.LabelBatchOf,
		"altershield.defense.antgroup.com/release":            appv1alpha1.AnnotationRelease,
		"altershield.defense.antgroup.com/ignored-suspend-by": appv1alpha1.AnnotationIgnoredSuspendBy,
		"altershield.defense.antgroup.com/held":               appv1alpha1.AnnotationHeld,
		"-overridden":                                         appv1alpha1.HeldOverridden,
		"-first-nodes":                                        appv1alpha1.HeldFirstNodes,
		"altershield.defense.antgroup.com/first-nodes":        appv1alpha1.AnnotationFirstNodes,
		"FirstNodes":        appv1alpha1.ConditionFirstNodes,
		"FirstNodesPassed":  appv1alpha1.EventFirstNodesPassed,
		"FirstNodesSkipped": appv1alpha1.EventFirstNodesSkipped,
		"altershield.defense.antgroup.com/released-by":     appv1alpha1.AnnotationReleasedBy,
		"altershield.defense.antgroup.com/rollback":        appv1alpha1.AnnotationRollback,
		"altershield.defense.antgroup.com/commit-time":     appv1alpha1.AnnotationCommitTime,
		"altershield.defense.antgroup.com/reason":          appv1alpha1.AnnotationReason,
		"altershield.defense.antgroup.com/go-on-reason":    appv1alpha1.AnnotationGoOnReason,
		"altershield.defense.antgroup.com/rollback-reason": appv1alpha1.AnnotationRollbackReason,
		"altershield.defense.antgroup.com/pause-reason":    appv1alpha1.AnnotationPauseReason,
		"altershield.defense.antgroup.com/rollback-by":     appv1alpha1.AnnotationRollbackBy,
		"altershield.defense.antgroup.com/rollbacks":       appv1alpha1.AnnotationRollbacks,
		"altershield.defense.antgroup.com/change-order":    appv1alpha1.FinalizerOrder,
		"altershieldoperator-system":                       appv1alpha1.SystemNamespace,
		"app.ops.cloud.alipay.com/v1alpha1":                appv1alpha1.GroupVersion.String(),
		"pass":                                             string(appv1alpha1.VerdictPass),
		"unpass":                                           string(appv1alpha1.VerdictUnpass),
		"PreWait":                                          string(appv1alpha1.ChangePodPreWait),
		"PreSubmitted":                                     string(appv1alpha1.ChangePodPreSubmitted),
		"PreFailed":                                        string(appv1alpha1.ChangePodPreFailed),
		"PreTimeout":                                       string(appv1alpha1.ChangePodPreTimeout),
		"PostWait":                                         string(appv1alpha1.ChangePodPostWait),
		"PostSubmitted":                                    string(appv1alpha1.ChangePodPostSubmitted),
		"PostFinish":                                       string(appv1alpha1.ChangePodPostFinish),
		"PostFailed":                                       string(appv1alpha1.ChangePodPostFailed),
		"PostTimeout":                                      string(appv1alpha1.ChangePodPostTimeout),
		"ExecuteDone":                                      string(appv1alpha1.ChangePodExecuteDone),
		"blocking":                                         appv1alpha1.ConfigBlocking,
		"isBlockingUp":                                     appv1alpha1.TypeBlocking,
		"branch":                                           appv1alpha1.ConfigBranch,
		"isBranch":                                         appv1alpha1.TypeBranch,
		"stuck-rollback":                                   appv1alpha1.ConfigStuckRollback,
		"isStuckRollback":                                  appv1alpha1.TypeStuckRollback,
		"suspended-rollback":                               appv1alpha1.ConfigSuspendedRollback,
		"isSuspendedRollback":                              appv1alpha1.TypeSuspendedRollback,
		"park":                                             appv1alpha1.ConfigPark,
		"isPark":                                           appv1alpha1.TypePark,
		"unstick":                                          appv1alpha1.ConfigUnstick,
		"isUnstick":                                        appv1alpha1.TypeUnstick,
		"altershield.defense.antgroup.com/parked":          appv1alpha1.AnnotationParked,
		"Parked":                                           appv1alpha1.ConditionParked,
		"ReleaseParked":                                    appv1alpha1.EventReleaseParked,
		"ReleaseNotParked":                                 appv1alpha1.EventReleaseNotParked,
		"PodDeleted":                                       appv1alpha1.EventPodDeleted,
		"PodNotDeleted":                                    appv1alpha1.EventPodNotDeleted,
		"refusal":                                          appv1alpha1.ConfigRefusal,
		"isRefusal":                                        appv1alpha1.TypeRefusal,
		"template-history":                                 appv1alpha1.ConfigTemplateHistory,
		"isTemplateHistory":                                appv1alpha1.TypeTemplateHistory,
		"release-history":                                  appv1alpha1.ConfigReleaseHistory,
		"isReleaseHistory":                                 appv1alpha1.TypeReleaseHistory,
		"finished-label":                                   appv1alpha1.ConfigFinishedLabel,
		"isFinishedLabel":                                  appv1alpha1.TypeFinishedLabel,
		"RolledBack":                                       appv1alpha1.ConditionRolledBack,
		"PodsNotRunning":                                   string(appv1alpha1.RollbackPodsNotRunning),
		"Requested":                                        string(appv1alpha1.RollbackRequested),
		"ReleaseRecorded":                                  appv1alpha1.EventReleaseRecorded,
		"ReleaseRolledBack":                                appv1alpha1.EventReleaseRolledBack,
		"ReleaseNotRolledBack":                             appv1alpha1.EventReleaseNotRolledBack,
		"ReleaseRefused":                                   appv1alpha1.EventReleaseRefused,
		"HistoryNotKept":                                   appv1alpha1.EventHistoryNotKept,
		"ReleaseSucceeded":                                 appv1alpha1.EventReleaseSucceeded,
		"ReleaseSuspended":                                 appv1alpha1.EventReleaseSuspended,
		"PodsFailed":                                       appv1alpha1.EventPodsFailed,
		"SuspensionIgnored":                                appv1alpha1.EventSuspensionIgnored,
		"IgnoredSuspendRemoved":                            appv1alpha1.EventIgnoredSuspendRemoved,
		"RolloutHeld":                                      appv1alpha1.EventRolloutHeld,
		"RolloutResumed":                                   appv1alpha1.EventRolloutResumed,
		"OrderRefused":                                     appv1alpha1.EventOrderRefused,
		"ServerUnavailable":                                appv1alpha1.EventServerUnavailable,
		"BatchNotChecked":                                  appv1alpha1.EventBatchNotChecked,
		"ConfigRestored":                                   appv1alpha1.EventConfigRestored,
		"ConfigIgnored":                                    appv1alpha1.EventConfigIgnored,

		"altershield.defense.antgroup.com/ignored-suspend-removed": appv1alpha1.AnnotationIgnoredSuspendRemoved,
	} {
		NewWithT(t).Expect(constant).To(Equal(spelled))
	}
	NewWithT(t).Expect(appv1alpha1.RollbackNewest).To(Equal("true"))
	NewWithT(t).Expect(string(appv1alpha1.RollbackPodsFailed)).To(Equal("PodsFailed"))
}

func TestRollbackNeverChangesItsForm(t *testing.T) {
	g := NewWithT(t)
	written, err := json.Marshal([]appv1alpha1.Rollback{
		{Version: version, Release: 7, To: older, ToRelease: 8, Reason: "PodsNotRunning", Message: "1 of 5 pods: ImagePullBackOff",
			Time: metav1.NewTime(now), RefusedUntil: ptr.To(metav1.NewTime(now.Add(24 * time.Hour)))},
		{Version: older, Release: 5, To: repair, ToRelease: 6, Reason: "Requested", User: "alice", Time: metav1.NewTime(now)},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(written).To(MatchJSON(`[
		{"version": "c6c45d23c098bdf181853a85b60b5d74", "release": 7, "to": "0123456789abcdef0123456789abcdef", "toRelease": 8,
			"reason": "PodsNotRunning", "message": "1 of 5 pods: ImagePullBackOff", "time": "2026-11-21T10:00:00Z", "refusedUntil": "2026-11-22T10:00:00Z"},
		{"version": "0123456789abcdef0123456789abcdef", "release": 5, "to": "6a8ff823a5011291b0f02a1d83c2222d", "toRelease": 6,
			"reason": "Requested", "user": "alice", "time": "2026-11-21T10:00:00Z"}
	]`))
}

func TestReleaseRecordNeverChangesItsForm(t *testing.T) {
	g := NewWithT(t)
	record := appv1alpha1.ReleaseRecord{User: "alice", Time: metav1.NewTime(now), Version: version, Release: 7}
	g.Expect(json.Marshal(record)).To(MatchJSON(
		`{"user": "alice", "time": "2026-11-21T10:00:00Z", "version": "c6c45d23c098bdf181853a85b60b5d74", "release": 7}`))
	record.Changes = []string{"metadata.labels[test]: 123 -> bad"}
	g.Expect(json.Marshal(record)).To(MatchJSON(`{"user": "alice", "time": "2026-11-21T10:00:00Z",
		"version": "c6c45d23c098bdf181853a85b60b5d74", "release": 7, "changes": ["metadata.labels[test]: 123 -> bad"]}`))
}
