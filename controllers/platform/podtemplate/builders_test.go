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

package podtemplate

import (
	"testing"

	"github.com/traas-stack/altershield-operator/controllers/testkit/sleep"
)

const versionOf123 = "c6c45d23c098bdf181853a85b60b5d74"

type (
	object = sleep.Object
	edit   = sleep.Edit
)

var (
	deployment    = sleep.Deployment
	at            = sleep.At
	label         = sleep.Label
	annotation    = sleep.Annotation
	templateLabel = sleep.TemplateLabel
	without       = sleep.Without
	field         = sleep.Field
	all           = sleep.All
	stamped       = sleep.Stamped
	repaired      = sleep.Repaired
)

func versionOf(t testing.TB, deployment object) string {
	t.Helper()
	version, err := Of(deployment).Version()
	if err != nil {
		t.Fatal(err)
	}
	return version
}
