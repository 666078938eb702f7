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

package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestClosedGateStray(t *testing.T) {
	enforced, observed := &appv1alpha1.ChangeWorkload{}, &appv1alpha1.ChangeWorkload{}
	observed.Spec.Observed = true
	v2, v3 := decide.Release{Version: "v2", Number: 2}, decide.Release{Version: "v3", Number: 3}
	for _, row := range []struct {
		name string
		gate decide.ClosedGate
		why  string
	}{
		{"without a release", decide.ClosedGate{Version: "v2"}, "its workload has no release"},
		{"without change control", decide.ClosedGate{Version: "v2", Present: v2, Processed: true, Left: true}, "its workload left change control"},
		{"without change control before it was recorded", decide.ClosedGate{Version: "v2", Present: v2, Left: true}, "its workload left change control"},
		{"observed, without change control", decide.ClosedGate{Version: "v2", Present: v2, Processed: true, Record: observed, Left: true}, "its workload left change control"},
		{"observed, and back under change control", decide.ClosedGate{Version: "v2", Present: v2, Processed: true, Record: observed}, "its release was only observed"},
		{"observed, before the present release", decide.ClosedGate{Version: "v2", Present: v3, Record: observed}, "its release was only observed"},

		{"recorded", decide.ClosedGate{Version: "v2", Present: v2, Processed: true, Record: enforced}, ""},
		{"recorded, without change control", decide.ClosedGate{Version: "v2", Present: v2, Processed: true, Record: enforced, Left: true}, ""},
		{"recorded, before the present release", decide.ClosedGate{Version: "v2", Present: v3, Record: enforced}, ""},
		{"to be recorded", decide.ClosedGate{Version: "v2", Present: v2}, ""},
		{"to be recorded again", decide.ClosedGate{Version: "v2", Present: v2, Processed: true}, ""},
		{"observed, to be recorded", decide.ClosedGate{Version: "v2", Present: v2, Record: observed}, ""},
		{"of an earlier release without a record", decide.ClosedGate{Version: "v2", Present: v3, Processed: true}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(row.gate.Stray()).To(Equal(row.why))
		})
	}
}
