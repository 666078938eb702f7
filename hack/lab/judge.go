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

package lab

import (
	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Judge sets the verdict on the first pod of a batch, or on an order, as a user does by hand.
func Judge(changePod *appv1alpha1.ChangePod, verdict appv1alpha1.Verdict, message string) {
	judged := decide.CheckedBy(changePod)[0]
	judged.Verdict, judged.Message = verdict, message
	changePod.Status.PodResults = []appv1alpha1.PodSummary{judged}
	changePod.Status.Message = string(appv1alpha1.ChangePodPostFinish)
}
