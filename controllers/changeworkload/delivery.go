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
	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
)

// reportDelivery counts how a release passed what would have stopped it, the pods that a stop spares, and the wait for approvals. What its
// outcome is counts with its ChangeRecord.
func (r *Reconciler) reportDelivery(before, after *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision) {
	known := appv1alpha1.ChangeWorkloadStatus{}
	if before.Status.ObservedRelease == after.Spec.Release {
		known = before.Status
	} else if after.Spec.IgnoredSuspend {
		r.Delivery.Bypassed(delivery.ByIgnoredSuspend)
	}
	for range decide.NewPasses(&known, &after.Status) {
		r.Delivery.Bypassed(delivery.ByGoOn)
	}
	if wait, waited := decide.ApprovalWait(&known, &after.Status); waited {
		r.Delivery.Approved(after.Namespace, wait)
	}
	isHeld := decision.Pause || scene.Hold.IsHeld()
	if known.Status != appv1alpha1.ChangeWorkloadSuspend && after.Status.Status == appv1alpha1.ChangeWorkloadSuspend && scene.Current && isHeld {
		r.Delivery.Spared(after.Namespace, decide.Spared(&after.Status, len(scene.pods)))
	}
}
