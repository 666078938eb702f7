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

package render

func english() map[key]string {
	return map[key]string{
		"none":             "no releases under change control were found",
		"none.in":          "no releases under change control were found in namespace %s",
		"hidden":           "%d verified (--all shows them)",
		"count":            "%d %s",
		"since":            "%s for %s",
		"release":          "release %d",
		"by":               "by %s",
		"why":              "why",
		"next":             "next",
		"to.release":       "to release %d",
		"to.version":       "to version %s",
		"wanted":           "%d wanted",
		"ready":            "%d ready",
		"old":              "%d old",
		"new":              "%d new",
		"held":             "rollout held by the operator",
		"paused.user":      "paused by a user",
		"suspended":        "suspended: further releases are denied",
		"unknown.workload": "not readable",
		"passed":           "%d passed",
		"failed":           "%d failed",
		"checking":         "%d checking",
		"waiting":          "%d waiting",
		"left":             "%d to come",
		"of":               "of %d",
		"step":             "step %s",
		"batches":          "batches %s",
		"batch.failed":     "failed",
		"batch.checking":   "checking",
		"batch.passed":     "passed",
		"batch.unchecked":  "not checked",
		"due":              "verdict due in %s",
		"overdue":          "verdict overdue",
		"median":           "median",
		"check":            "check %s",
		"pods.failed":      "failed pods",
		"changes":          "changes",
		"more":             "and %d more",
		"kept":             "kept, can be rolled back to",
		"template.kept":    "content kept",
		"took":             "took %s",
		"refused":          "refused until %s",
		"repair":           "repair",
		"rollback.of":      "rollback of release %d",
		"observed":         "only observed",
		"no.record":        "no release is recorded yet",
		"unstamped":        "not under change control: its namespace or kind isn't, or its content hasn't changed since",
		"lack":             "you may not %s %s%s: %s",
		"lack.in":          " in namespace %s",
		"lack.all":         " in all namespaces",
		"lack.workload":    "the workload's own state is not shown",
		"lack.batches":     "batches are not shown",
		"lack.kept":        "which contents are kept is not shown",
		"lack.events":      "some Events are not shown",
		"lack.reviews":     "what you may do is not shown",
		"denied":           "%s would be DENIED: %s",
		"admitted":         "%s would be admitted as release %d, version %s",
		"no.release":       "%s would be admitted and is no release: the content is the same",
		"not.controlled":   "%s would be admitted without change control",
		"frozen":           "would wait for the end of the freeze: %s",
		"paced":            "would be rolled out in the steps of %s",
		"yours":            "yours",
		"warning":          "warning",
		"ways":             "ways out",
		"way.repair":       "repair",
		"way.rollback":     "rollback",
		"way.withdraw":     "withdraw the verdict",
		"may":              "you may",
		"may.not":          "you may not: it needs %s",
		"pod":              "pod %s: %s",
		"nothing":          "nothing holds it back",
		"same":             "no differences",
		"file":             "file %s",
		"new.workload":     "a new workload",
		"no.events":        "no Events; they are kept for an hour",
		"now":              "%s (Ctrl-C ends)",
		"done.success":     "verified",
		"done.suspend":     "suspended",
		"done.rolledback":  "rolled back",
		"done.superseded":  "superseded by release %d",
		"done.unchecked":   "not checked",
		"goes.back":        "%s goes back: %s %s %s",
		"ask":              "Do you want this? [y/N] ",
		"asked":            "asked the operator; kubectl altershield wait %s -n %s follows",
		"not.done":         "nothing was changed: this was a dry run",
		"timeout":          "not decided within %s",
	}
}
