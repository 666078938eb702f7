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
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// web0 is the pod web-0 with a UID, or as an operator before v0.2 described it.
func web0(uid types.UID) []appv1alpha1.PodSummary {
	return []appv1alpha1.PodSummary{{App: "web", Namespace: "default", Pod: "web-0", UID: uid}}
}

func unpass(uid types.UID) batchOption {
	return func(batch *appv1alpha1.ChangePod) {
		batch.Status.PodResults = append(batch.Status.PodResults, appv1alpha1.PodSummary{Pod: "web-0", UID: uid, Verdict: "unpass"})
	}
}

func TestDecideGivesAPodNoVerdictOfItsPredecessor(t *testing.T) {
	type uids = []types.UID
	for _, row := range []struct {
		name                      string
		batches                   []appv1alpha1.ChangePod
		opened                    uids // in new batches
		checking, passing, failed uids
	}{
		{name: "a pod that passed", batches: []appv1alpha1.ChangePod{newBatch(web0("2"), done)}, passing: uids{"2"}},
		{name: "its predecessor passed", batches: []appv1alpha1.ChangePod{newBatch(web0("1"), done)}, opened: uids{"2"}},
		{name: "its predecessor is being checked", batches: []appv1alpha1.ChangePod{newBatch(web0("1"))}, opened: uids{"2"}, checking: uids{"1"}},
		{name: "its predecessor failed", batches: []appv1alpha1.ChangePod{newBatch(web0("1"), done, unpass("1"))}, opened: uids{"2"}, failed: uids{"1"}},
		{name: "both passed, the predecessor first", batches: []appv1alpha1.ChangePod{newBatch(web0("1"), done), newBatch(web0("2"), done)}, passing: uids{"2"}},
		{name: "both passed, the predecessor last", batches: []appv1alpha1.ChangePod{newBatch(web0("2"), done), newBatch(web0("1"), done)}, passing: uids{"2"}},
		{name: "its predecessor failed afterwards", batches: []appv1alpha1.ChangePod{newBatch(web0("2"), done), newBatch(web0("1"), done, unpass("1"))},
			passing: uids{"2"}, failed: uids{"1"}},
		{name: "it failed, and its predecessor passed", batches: []appv1alpha1.ChangePod{newBatch(web0("1"), done), newBatch(web0("2"), done, unpass("2"))}, failed: uids{"2"}},
		{name: "a user failed the predecessor in its batch", batches: []appv1alpha1.ChangePod{newBatch(web0("2"), done, unpass("1"))},
			passing: uids{"2"}, failed: uids{"1"}},
		{name: "a user failed it by its name", batches: []appv1alpha1.ChangePod{newBatch(web0("2"), done, unpass(""))}, failed: uids{"2"}},
		{name: "the summary has no UID: it passed", batches: []appv1alpha1.ChangePod{newBatch(web0(""), done)}, passing: uids{"2"}},
		{name: "the summary has no UID: it is being checked", batches: []appv1alpha1.ChangePod{newBatch(web0(""))}, checking: uids{""}},
		{name: "the summary has no UID: it failed", batches: []appv1alpha1.ChangePod{newBatch(web0(""), done, unpass(""))}, failed: uids{""}},
		{name: "it passed after an upgrade", batches: []appv1alpha1.ChangePod{newBatch(web0(""), done, unpass("")), newBatch(web0("2"), done)},
			passing: uids{"2"}, failed: uids{""}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(), see(2, finished(web0("2")), batches(row.batches...)), now)
			var opened []appv1alpha1.PodSummary
			for _, batch := range decision.Batches {
				opened = append(opened, batch...)
			}
			for what, lists := range map[string]struct {
				pods []appv1alpha1.PodSummary
				want uids
			}{
				"opened":   {opened, row.opened},
				"checking": {decision.Status.DefenseCheckingPods, row.checking},
				"passed":   {decision.Status.DefenseCheckPassPods, row.passing},
				"failed":   {decision.Status.DefenseCheckFailPods, row.failed},
			} {
				var found uids
				for _, pod := range lists.pods {
					found = append(found, pod.UID)
				}
				g.Expect(found).To(Equal(lists.want), what)
			}
		})
	}
}

func TestFinishedPodsAndFindStuckTakeAPodForItsPredecessorOnlyWithoutAUID(t *testing.T) {
	waiting := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0", UID: "2", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Status: corev1.PodStatus{Phase: corev1.PodPending}}
	for _, row := range []struct {
		name    string
		batches []appv1alpha1.ChangePod
		batched bool
	}{
		{"no batch holds it", nil, false},
		{"a batch holds it", []appv1alpha1.ChangePod{newBatch(web0("2"))}, true},
		{"a batch holds its predecessor", []appv1alpha1.ChangePod{newBatch(web0("1"))}, false},
		{"batches hold it and its predecessor", []appv1alpha1.ChangePod{newBatch(web0("2")), newBatch(web0("1"))}, true},
		{"batches hold its predecessor and it", []appv1alpha1.ChangePod{newBatch(web0("1")), newBatch(web0("2"))}, true},
		{"a batch before v0.2 holds one of its name", []appv1alpha1.ChangePod{newBatch(web0(""))}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			found, _ := decide.FinishedPods("web", []corev1.Pod{waiting}, row.batches, decide.FinishRule{Labelled: true}, now)
			finished := 0
			stuck := "pod web-0: pending"
			if row.batched {
				finished, stuck = 1, ""
			}
			g.Expect(found).To(HaveLen(finished))
			patience := aMinute
			patience.Batched = decide.BatchedPods(row.batches)
			g.Expect(decide.FindStuck(decide.Revision{}, []corev1.Pod{waiting}, patience, now).Message).To(Equal(stuck))
		})
	}
}
