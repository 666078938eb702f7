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
	"testing"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

func TestABatchWithABadVerdictIsUrgent(t *testing.T) {
	g := NewWithT(t)
	changePod := &appv1alpha1.ChangePod{}
	changePod.Spec.PodInfos = []appv1alpha1.PodSummary{{Pod: "web-1"}}
	g.Expect(hasFailed(changePod)).To(BeFalse(), "a batch without a verdict")
	changePod.Status.Status = "ExecuteDone"
	changePod.Status.PodResults = []appv1alpha1.PodSummary{{Pod: "web-1", Verdict: "pass"}}
	g.Expect(hasFailed(changePod)).To(BeFalse(), "a batch that passed")
	changePod.Status.PodResults[0].Verdict = "unpass"
	g.Expect(hasFailed(changePod)).To(BeTrue())
}
