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

package replay

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Report says what the checks of a policy would have said about a release.
type Report struct {
	Policy    string `json:"policy"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Release is the number of the release, absent for one that has no record.
	Release int64 `json:"release,omitempty"`
	NewPods int   `json:"newPods"`
	// Began is when the release began, Until the time of the last look.
	Began time.Time `json:"began"`
	Until time.Time `json:"until"`
	// Failed reports whether a check would have failed.
	Failed bool    `json:"failed"`
	Checks []Check `json:"checks"`
}

// Check is what one check would have said.
type Check struct {
	Name    string                   `json:"name"`
	Type    appv1alpha1.CheckType    `json:"type"`
	Verdict appv1alpha1.CheckVerdict `json:"verdict"`
	Reason  string                   `json:"reason,omitempty"`
	// After is how long after the release began it would have, 0 for a check without a verdict.
	After   Seconds `json:"afterSeconds,omitempty"`
	Message string  `json:"message,omitempty"`
}

// Seconds is a time in seconds.
type Seconds int64

// String returns the time as in 2m15s, empty for none.
func (s Seconds) String() string {
	if s == 0 {
		return ""
	}
	return (time.Duration(s) * time.Second).String()
}

// NewReport returns the report of the results of a release.
func NewReport(past *Past, policy string, results []appv1alpha1.CheckResult, until time.Time) Report {
	release := &past.Release
	report := Report{
		Policy: policy, Kind: release.Kind, Namespace: release.Namespace, Name: release.Name, Release: release.Number, NewPods: len(release.New),
		Began: release.Began.UTC(), Until: earlier(past.Ended, until).UTC(),
	}
	for i := range results {
		result := &results[i]
		check := Check{Name: result.Name, Type: result.Type, Verdict: result.Verdict, Reason: result.Reason, Message: result.Message}
		if result.Verdict != appv1alpha1.CheckPending && result.Verdict != appv1alpha1.CheckSkipped {
			check.After = Seconds(result.Since.Sub(release.Began) / time.Second)
		}
		report.Checks = append(report.Checks, check)
	}
	report.Failed = slices.ContainsFunc(report.Checks, func(check Check) bool { return check.Verdict == appv1alpha1.CheckFail })
	return report
}

// GoesOn reports whether a check has no verdict yet.
func GoesOn(checks []Check) bool {
	return slices.ContainsFunc(checks, func(check Check) bool { return check.Verdict == appv1alpha1.CheckPending })
}

// Write writes the report as a table.
func (r *Report) Write(out io.Writer) error {
	release := ""
	if r.Release > 0 {
		release = fmt.Sprintf(", release %d", r.Release)
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "%s %s/%s%s, new pods: %d, from %s until %s\n", r.Kind, r.Namespace, r.Name, release, r.NewPods,
		r.Began.Format(time.RFC3339), r.Until.Format(time.RFC3339))
	fmt.Fprintln(table, "CHECK\tTYPE\tVERDICT\tREASON\tAFTER\tMESSAGE")
	for _, check := range r.Checks {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", check.Name, check.Type, check.Verdict, check.Reason, check.After, check.Message)
	}
	conclusion := "No check of %s would have failed.\n"
	switch {
	case r.Failed:
		conclusion = "A check of %s would have failed.\n"
	case GoesOn(r.Checks):
		conclusion = "No check of %s would have failed so far: the release isn't over.\n"
	}
	fmt.Fprintf(table, conclusion, r.Policy)
	return table.Flush()
}
