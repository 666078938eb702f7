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

package lifecycle_test

import (
	"testing"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// What no decision of this package spells, and users, dashboards or the server read all the same.
func TestTheWireContractNeverChanges(t *testing.T) {
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
		"altershield.defense.antgroup.com/release":            appv1alpha1.AnnotationRelease,
		"altershield.defense.antgroup.com/ignored-suspend-by": appv1alpha1.AnnotationIgnoredSuspendBy,
		"altershield.defense.antgroup.com/held":               appv1alpha1.AnnotationHeld,
		"-overridden":                                         appv1alpha1.HeldOverridden,
		"altershield.defense.antgroup.com/change-order":       appv1alpha1.FinalizerOrder,
		"altershieldoperator-system":                          appv1alpha1.SystemNamespace,
		"app.ops.cloud.alipay.com/v1alpha1":                   appv1alpha1.GroupVersion.String(),
		"pass":                                                string(appv1alpha1.VerdictPass),
		"unpass":                                              string(appv1alpha1.VerdictUnpass),
		"PreWait":                                             string(appv1alpha1.ChangePodPreWait),
		"PreSubmitted":                                        string(appv1alpha1.ChangePodPreSubmitted),
		"PreFailed":                                           string(appv1alpha1.ChangePodPreFailed),
		"PreTimeout":                                          string(appv1alpha1.ChangePodPreTimeout),
		"PostWait":                                            string(appv1alpha1.ChangePodPostWait),
		"PostSubmitted":                                       string(appv1alpha1.ChangePodPostSubmitted),
		"PostFinish":                                          string(appv1alpha1.ChangePodPostFinish),
		"PostFailed":                                          string(appv1alpha1.ChangePodPostFailed),
		"PostTimeout":                                         string(appv1alpha1.ChangePodPostTimeout),
		"ExecuteDone":                                         string(appv1alpha1.ChangePodExecuteDone),
		"ReleaseSucceeded":                                    appv1alpha1.EventReleaseSucceeded,
		"ReleaseSuspended":                                    appv1alpha1.EventReleaseSuspended,
		"PodsFailed":                                          appv1alpha1.EventPodsFailed,
		"SuspensionIgnored":                                   appv1alpha1.EventSuspensionIgnored,
		"IgnoredSuspendRemoved":                               appv1alpha1.EventIgnoredSuspendRemoved,
		"RolloutHeld":                                         appv1alpha1.EventRolloutHeld,
		"RolloutResumed":                                      appv1alpha1.EventRolloutResumed,
		"OrderRefused":                                        appv1alpha1.EventOrderRefused,
		"ServerUnavailable":                                   appv1alpha1.EventServerUnavailable,
		"BatchNotChecked":                                     appv1alpha1.EventBatchNotChecked,
		"ConfigRestored":                                      appv1alpha1.EventConfigRestored,
		"ConfigIgnored":                                       appv1alpha1.EventConfigIgnored,
	} {
		NewWithT(t).Expect(constant).To(Equal(spelled))
	}
}
