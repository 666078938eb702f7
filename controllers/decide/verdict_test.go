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
	"testing"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestJudge(t *testing.T) {
	type names = []string
	for _, row := range []struct {
		name                              string
		options                           []batchOption
		checking, passed, failed, unknown names
	}{
		{name: "pods of a batch that was not reconciled yet are being checked",
			checking: names{"sleep-1", "sleep-2"}},
		{name: "pods of a batch under way are being checked",
			options:  []batchOption{func(batch *appv1alpha1.ChangePod) { batch.Status.Status = "PostSubmitted" }},
			checking: names{"sleep-1", "sleep-2"}},
		{name: "a pass before the end of the check is not the end",
			options:  []batchOption{result("sleep-1", "pass", "")},
			checking: names{"sleep-1", "sleep-2"}},
		{name: "a check that could not be made lets its pods pass",
			options: []batchOption{done},
			passed:  names{"sleep-1", "sleep-2"}},
		{name: "an explicit pass passes",
			options: []batchOption{done, result("sleep-1", "pass", "")},
			passed:  names{"sleep-1", "sleep-2"}},
		{name: "an unpass fails its pod and no other",
			options: []batchOption{done, result("sleep-2", "unpass", "find error")},
			passed:  names{"sleep-1"}, failed: names{"sleep-2"}},
		{name: "an unpass counts before the end of the check",
			options:  []batchOption{result("sleep-1", "unpass", "find error")},
			checking: names{"sleep-2"}, failed: names{"sleep-1"}},
		{name: "an unpass counts whatever a second result of the pod is",
			options: []batchOption{done, result("sleep-1", "unpass", ""), result("sleep-1", "pass", "")},
			passed:  names{"sleep-2"}, failed: names{"sleep-1"}},
		{name: "an unpass of a pod that the batch doesn't hold counts",
			options: []batchOption{done, result("slep-1", "unpass", "typing error")},
			passed:  names{"sleep-1", "sleep-2"}, failed: names{"slep-1"}, unknown: names{"slep-1"}},
		{name: "an unpass of an unknown pod counts beside one of a known pod",
			options: []batchOption{done, result("stranger", "unpass", ""), result("sleep-2", "unpass", "")},
			passed:  names{"sleep-1"}, failed: names{"sleep-2", "stranger"}, unknown: names{"stranger"}},
		{name: "a pass of a pod that the batch doesn't hold changes nothing",
			options: []batchOption{done, result("stranger", "pass", "")},
			passed:  names{"sleep-1", "sleep-2"}},
		{name: "a result without a verdict changes nothing",
			options: []batchOption{done, result("sleep-1", "", "still looking")},
			passed:  names{"sleep-1", "sleep-2"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			batch := newBatch(pods(1, 2), row.options...)
			judgement := decide.Judge(&batch)
			g.Expect(namesOf(judgement.Checking)).To(HaveExactElements(row.checking), "checking")
			g.Expect(namesOf(judgement.Passed)).To(HaveExactElements(row.passed), "passed")
			g.Expect(namesOf(judgement.Failed)).To(HaveExactElements(row.failed), "failed")
			g.Expect(namesOf(judgement.Unknown)).To(HaveExactElements(row.unknown), "unknown")
		})
	}
}

func TestJudgeAddsVerdictAndMessageToAFailedPod(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 1), done, result("sleep-1", "unpass", "find error"))
	g.Expect(decide.Judge(&batch).Failed).To(HaveExactElements(appv1alpha1.PodSummary{
		App: "sleep", HostName: "sleep-1", IP: "10.244.1.198", Namespace: "default", Pod: "sleep-1", WorkSpace: "default",
		Verdict: "unpass", Message: "find error",
	}))
}

func TestJudgeFailsAnUnknownPodOnce(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 1), done, result("stranger", "unpass", ""), result("stranger", "unpass", ""))
	g.Expect(namesOf(decide.Judge(&batch).Failed)).To(HaveExactElements("stranger"))
}

func TestJudgeLeavesTheBatchAsItIs(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 2), done, result("sleep-1", "unpass", "find error"))
	before := batch.DeepCopy()
	decide.Judge(&batch)
	g.Expect(&batch).To(Equal(before), "it is shared with the cache")
}
