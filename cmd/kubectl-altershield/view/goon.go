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
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// GoOnOf returns the request that a release that is rolled out in steps goes on to a step, to the next one if none is named, and the value of
// its annotation.
func GoOnOf(facts Facts, step string) (request Request, value string, err error) {
	request = requestOf(GoOnRequest, facts)
	switch {
	case facts.Workload == nil:
		return Request{}, "", fmt.Errorf("%s can't be read, so that it can't be asked to go on", request.Object)
	case appv1alpha1.PacedOf(facts.Workload.GetAnnotations(), request.From.Release) == nil:
		return Request{}, "", fmt.Errorf("release %d of %s isn't rolled out in steps", request.From.Release, request.Object)
	}
	at, steps := progressOf(facts)
	if step == "" {
		step = strconv.FormatInt(at+1, 10)
		if steps > 0 && at >= steps {
			step = appv1alpha1.GoOnAll
		}
	}
	request.Step = step
	if step != appv1alpha1.GoOnAll {
		number, err := strconv.ParseInt(step, 10, 32)
		if err != nil || number < 1 || steps > 0 && number > steps {
			return Request{}, "", fmt.Errorf("%q is no step of release %d of %s: use %s, or all", step, request.From.Release, request.Object, numbersTo(steps))
		}
		if steps > 0 {
			request.Step = fmt.Sprintf("%d/%d", number, steps)
		}
	}
	if waitsForApproval(facts) {
		request.Warnings = append(request.Warnings, fmt.Sprintf("an approval that is missing isn't passed: kubectl altershield approve %s", facts.Arguments()))
	}
	return request, fmt.Sprintf("%d:%s", request.From.Release, step), nil
}

func numbersTo(steps int64) string {
	if steps == 0 {
		return "a number"
	}
	return fmt.Sprintf("1 to %d", steps)
}

// progressOf returns the step that the present release is at, and the number of steps; 0 for what isn't known.
func progressOf(facts Facts) (at, steps int64) {
	record := presentRecord(facts)
	if record == nil || record.Status.Pace == nil {
		return 0, 0
	}
	_, all, _ := strings.Cut(record.Status.Pace.Progress, "/")
	steps, err := strconv.ParseInt(all, 10, 32)
	if err != nil {
		return int64(record.Status.Pace.Step), 0
	}
	return int64(record.Status.Pace.Step), steps
}

func waitsForApproval(facts Facts) bool {
	record := presentRecord(facts)
	if record == nil {
		return false
	}
	paced := meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionPaced)
	return paced != nil && (paced.Reason == appv1alpha1.ReasonAwaitingApproval || paced.Reason == appv1alpha1.ReasonApprovalDenied)
}

// presentRecord returns the record of the release that the workload is at, the newest one if it can't be read; nil if there is none yet.
func presentRecord(facts Facts) *appv1alpha1.ChangeWorkload {
	if facts.Workload == nil {
		return PresentOf(facts.Records)
	}
	present := decide.ReleaseOf(facts.Workload)
	for i := range facts.Records {
		if decide.Recorded(&facts.Records[i]) == present {
			return &facts.Records[i]
		}
	}
	return nil
}
