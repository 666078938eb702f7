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

import (
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/verification/replay"
)

// Replay prints what checks would have said.
func Replay(past view.Replay, style Style) string {
	head := style.paint(bold, clean(past.Namespace+"/"+past.Workload))
	if past.Release > 0 {
		head += gap + style.text("release", past.Release)
	}
	lines := []string{
		head + gap + style.text("replay.pods", past.NewPods),
		"  " + style.moment(past.Began) + " " + style.arrow() + " " + style.moment(past.Until),
	}
	columns := []column{{title: "CHECK", shrinks: true}, {title: "TYPE", drops: 1}, {title: "VERDICT"}, {title: "REASON", drops: 2}, {title: "AFTER"}, {title: "MESSAGE", shrinks: true}}
	var rows [][]cell
	for _, check := range past.Checks {
		of := markOfVerdict(string(check.Verdict))
		rows = append(rows, []cell{
			{text: check.Name}, {text: string(check.Type)}, {style.sign(of) + " " + string(check.Verdict), of.colour}, {text: check.Reason},
			{text: check.After.String()}, {text: check.Message},
		})
	}
	if len(rows) > 0 {
		lines = append(lines, style.table(columns, rows)...)
	}
	conclusion := style.text("replay.passed", clean(past.Policy))
	switch {
	case past.Failed:
		conclusion = style.paint(red, style.text("replay.failed", clean(past.Policy)))
	case replay.GoesOn(past.Checks):
		conclusion = style.text("replay.pending", clean(past.Policy))
	}
	return join(append(lines, conclusion))
}
