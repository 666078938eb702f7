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

// Policies prints policies and freezes.
func Policies(list view.PolicyList, style Style) string {
	lines := style.notes(list.Notes)
	if len(list.Items) == 0 {
		return join(append(lines, style.text("no.policies")))
	}
	columns := []column{{title: "KIND"}, {title: "NAMESPACE", shrinks: true, drops: 1}, {title: "NAME", shrinks: true}, {title: "DOES", shrinks: true}, {title: "SELECTS", shrinks: true, drops: 2}}
	var rows [][]cell
	for _, policy := range list.Items {
		rows = append(rows, []cell{{text: policy.Kind}, {text: policy.Namespace}, {text: policy.Name}, {text: policy.Does}, {text: policy.Because}})
	}
	return join(append(lines, style.table(columns, rows)...))
}
