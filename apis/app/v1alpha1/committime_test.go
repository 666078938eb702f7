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

package v1alpha1_test

import (
	"testing"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

func TestCommitTimeOf(t *testing.T) {
	for annotation, want := range map[string]string{
		"2026-11-26T08:00:00.5+08:00": "2026-11-26T00:00:00Z",
		"1969-12-31T23:59:59Z":        "",
		"yesterday":                   "",
		"":                            "",
	} {
		got := ""
		if at := appv1alpha1.CommitTimeOf(map[string]string{"altershield.defense.antgroup.com/commit-time": annotation}); at != nil {
			got = at.UTC().Format("2006-01-02T15:04:05.999Z07:00")
		}
		if got != want {
			t.Errorf("%q is the commit time %q, want %q", annotation, got, want)
		}
	}
}
