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
	"fmt"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// Version prints the versions of the plugin and of the operator.
func Version(version view.Version, style Style) string {
	lines := []string{fmt.Sprintf("kubectl-altershield %s (commit %s, %s)", version.Version, version.Commit, version.Go)}
	switch operator := version.Operator; {
	case version.Unknown != "":
		lines = append(lines, style.text("version.unknown", clean(version.Unknown)))
	case operator != nil:
		lines = append(lines, style.text("version.operator", clean(operator.Image), operator.Namespace))
	}
	if version.Skew == view.SkewTooFar {
		lines = append(lines, style.paint(yellow, "! "+style.text("version.skew")))
	}
	return join(lines)
}
