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
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// IsAwaited reports whether a ChangeVerdict is the one that is awaited: of the same release, policy and check, and with the same owner. Anybody
// may have made another one of this name. The mode may have been lowered since it was created.
func IsAwaited(found, awaited *appv1alpha1.ChangeVerdict) bool {
	spec := found.Spec
	spec.Mode = awaited.Spec.Mode
	return found.DeletionTimestamp == nil && spec == awaited.Spec &&
		slices.ContainsFunc(found.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == awaited.OwnerReferences[0].UID })
}

// OfVerdict returns what is reported in a ChangeVerdict, which is final. It says so if that is nothing yet.
func OfVerdict(release *checks.Scene, verdict *appv1alpha1.ChangeVerdict) Answer {
	status := verdict.Status
	if status == nil {
		return Answer{Verdict: appv1alpha1.CheckInconclusive, Reason: ReasonNoVerdict, Message: "no verdict was reported in ChangeVerdict " + verdict.Name}
	}
	message := fmt.Sprintf("%s reports %s", status.Reporter, status.Verdict)
	if told := said(status.Reason, status.Message); told != "" {
		message += ": " + told
	}
	answer := answerOf(appv1alpha1.CheckVerdict(status.Verdict), oneline.Of(message, maxText))
	answer.Final = true
	answer.Pods, _ = failedPods(release, status.Pods, answer.Message) // a name that is mistyped must not let the release pass
	return answer
}
