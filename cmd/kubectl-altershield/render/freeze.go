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
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// Freezes prints ChangeFreezes.
func Freezes(list view.FreezeList, style Style) string {
	if len(list.Items) == 0 {
		return join([]string{style.text("no.freezes")})
	}
	columns := []column{
		{title: "NAMESPACE", shrinks: true}, {title: "NAME", shrinks: true}, {title: "ACTION", drops: 1}, {title: "ACTIVE"}, {title: "UNTIL"}, {title: "NEXT", drops: 2},
		{title: "PARKED"}, {title: "REASON", shrinks: true},
	}
	var rows [][]cell
	for _, freeze := range list.Items {
		with, active := plain, style.text("no")
		if freeze.Active {
			with, active = yellow, style.text("yes")
		}
		parked := ""
		if freeze.Parked > 0 {
			parked = strconv.Itoa(int(freeze.Parked))
		}
		rows = append(rows, []cell{
			{text: freeze.Namespace}, {text: freeze.Name}, {text: freeze.Action}, {active, with}, {style.time(freeze.Until), with}, {text: style.time(freeze.Next)},
			{text: parked}, {text: freeze.Reason},
		})
	}
	return join(style.table(columns, rows))
}

// time returns a time for people, or nothing.
func (s Style) time(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return s.moment(at.Time)
}
