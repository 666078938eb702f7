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

package command

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func TestCollectionLeavesOutNoMoreThanWhatIsTooLarge(t *testing.T) {
	g := NewWithT(t)
	c := newCollection(nil, time.Date(2026, 11, 22, 16, 41, 52, 0, time.UTC), "", "")
	c.add("doctor.txt", []byte("✔ rights\n"), 0, false)
	for i := range maxReport / maxEntry {
		c.add(fmt.Sprint("large-", i), make([]byte, maxEntry), 0, false)
	}
	c.add("small", []byte("one line\n"), 0, false)
	g.Expect(c.report.Missing).To(HaveExactElements(view.ReportGap{Name: "large-11", Why: "the report is too large"}))
	g.Expect(c.report.Items).To(ContainElement(view.ReportEntry{Name: "small", Bytes: 9}))
}
