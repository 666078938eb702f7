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

import "github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"

// Report prints what is in a report, and what is missing.
func Report(report view.Report, style Style) string {
	var lines []string
	for _, gap := range report.Missing {
		lines = append(lines, style.paint(yellow, "! "+style.text("report.missing", clean(gap.Name), clean(gap.Why))))
	}
	for _, entry := range report.Items {
		if entry.Truncated {
			lines = append(lines, style.paint(yellow, "! "+style.text("report.truncated", clean(entry.Name))))
		}
	}
	return join(append(lines, style.text("report.written", len(report.Items), report.File)))
}
