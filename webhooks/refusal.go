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

package webhooks

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// refusalSentence gives the reason and the end of a version's quarantine. It is the same each time, and free of control
// characters: the API server drops warnings with them.
func refusalSentence(name string, rollback *appv1alpha1.Rollback) string {
	return strings.Map(func(char rune) rune {
		if unicode.IsControl(char) {
			return ' '
		}
		return char
	}, fmt.Sprintf("%s refuses version %s: it was rolled back at %s because %s; it is refused until %s",
		name, rollback.Version, rollback.Time.UTC().Format(time.RFC3339), cause(rollback), refusedUntil(rollback)))
}

// refusalAdvice lists the options after a denial.
func refusalAdvice(old marks, rollback *appv1alpha1.Rollback) []string {
	other := "to release something else, change the pod template: only this exact template is refused"
	if !workload.IsTemplate(old.kind) {
		other = "to release something else, change it: only this exact content is refused"
	}
	return []string{
		other,
		fmt.Sprintf("to let this version through, set the label %s=%s on the %s in the same update",
			appv1alpha1.LabelIgnoredSuspend, appv1alpha1.IgnoredSuspendTrue, old.noun()),
		"or wait until " + refusedUntil(rollback),
	}
}

func cause(rollback *appv1alpha1.Rollback) string {
	switch {
	case rollback.Message != "":
		return rollback.Message
	case rollback.Reason == appv1alpha1.RollbackPodsNotRunning:
		return "its pods didn't run"
	case rollback.Reason == appv1alpha1.RollbackPodsFailed:
		return "its pods failed their check"
	case rollback.User != "":
		return rollback.User + " asked for it"
	}
	return "an unknown user asked for it"
}

func refusedUntil(rollback *appv1alpha1.Rollback) string {
	return rollback.RefusedUntil.UTC().Format(time.RFC3339)
}

// reportRefusal writes an Event about the denial of a quarantined version. Its content comes only from the cached workload.
func (a *accounts) reportRefusal(known client.Object, version string) {
	refused := decide.RefusalOf(appv1alpha1.RollbacksOf(known.GetAnnotations()), version, a.clock.Now())
	if refused == nil {
		return
	}
	a.recorder.Record(events.ReleaseRefused(a.kind, known, refused.Version, refusalSentence(workload.Phrase(a.kind, known.GetName()), refused)))
}
