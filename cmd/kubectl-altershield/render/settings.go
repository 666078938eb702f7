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

// Settings prints the settings of the operator.
func Settings(list view.SettingList, style Style) string {
	columns := []column{{title: "SETTING"}, {title: "VALUE"}, {title: "DEFAULT", drops: 1}, {title: "PROBLEM", shrinks: true}, {title: "REMARK", shrinks: true, drops: 2}}
	var rows [][]cell
	for _, setting := range list.Items {
		value, usual := "off", style.text("no")
		if setting.Enable {
			value = "on"
		}
		switch {
		case setting.Content != "" && setting.Enable:
			value += " (" + setting.Content + ")"
		case setting.Content != "":
			value += " (" + style.text("would.be", setting.Content) + ")"
		}
		if setting.Default {
			usual = style.text("yes")
		}
		rows = append(rows, []cell{{text: setting.Name}, {text: value}, {text: usual}, {setting.Problem, yellow}, {text: setting.Remark}})
	}
	return join(style.table(columns, rows))
}
