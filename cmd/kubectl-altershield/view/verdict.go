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

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// VerdictOf returns the request that sets the verdict of a pod of a batch, of all its pods if none is named, and the batch with these verdicts.
func VerdictOf(batch *appv1alpha1.ChangePod, verdict appv1alpha1.Verdict, pod, reason string) (Request, *appv1alpha1.ChangePod, error) {
	request := Request{
		Kind: VerdictRequest, APIVersion: APIVersion, Namespace: batch.Namespace, Object: "changepod/" + batch.Name, Reason: reason,
		At: fmt.Sprintf("%s/%s", batch.UID, batch.ResourceVersion),
	}
	changed := batch.DeepCopy()
	results := changed.Status.PodResults
	concerned := concernedBy(batch, verdict, pod)
	switch {
	case len(concerned) == 0 && verdict == appv1alpha1.VerdictPass && pod == "":
		return Request{}, nil, fmt.Errorf("no pod of %s failed, and only a failure can be withdrawn", request.Object)
	case len(concerned) == 0 && verdict == appv1alpha1.VerdictPass:
		return Request{}, nil, fmt.Errorf("pod %s of %s didn't fail, and only a failure can be withdrawn", pod, request.Object)
	case len(concerned) == 0:
		return Request{}, nil, fmt.Errorf("%s has no pod %s; its pods are %s", request.Object, pod, strings.Join(podsOf(batch), ", "))
	}
	for _, summary := range concerned {
		at := slices.IndexFunc(results, func(result appv1alpha1.PodSummary) bool { return result.Pod == summary.Pod })
		if at < 0 {
			at, results = len(results), append(results, summary)
		}
		if results[at].Verdict == verdict {
			continue
		}
		request.Changes = append(request.Changes, fmt.Sprintf("%s: %s -> %s", summary.Pod, cmp.Or(results[at].Verdict, "no verdict"), verdict))
		results[at].Verdict, results[at].Message = verdict, reason
	}
	if len(request.Changes) == 0 {
		return Request{}, nil, fmt.Errorf("these pods of %s failed already", request.Object)
	}
	changed.Status.PodResults = results
	return request, changed, nil
}

// concernedBy returns the pods whose verdict is set. A pass is one for pods that failed: nothing else can be withdrawn, and what isn't failed
// passes by the check.
func concernedBy(batch *appv1alpha1.ChangePod, verdict appv1alpha1.Verdict, pod string) []appv1alpha1.PodSummary {
	judgement := decide.Judge(batch)
	pods := slices.Clone(judgement.Failed)
	if verdict == appv1alpha1.VerdictUnpass {
		pods = slices.Concat(pods, judgement.Passed, judgement.Checking)
	}
	return slices.DeleteFunc(pods, func(summary appv1alpha1.PodSummary) bool { return pod != "" && summary.Pod != pod })
}

func podsOf(batch *appv1alpha1.ChangePod) []string {
	var names []string
	for _, pod := range decide.CheckedBy(batch) {
		names = append(names, pod.Pod)
	}
	return names
}
