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
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
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

func TestCollectionHasTheNewestLinesOfALog(t *testing.T) {
	for name, row := range map[string]struct {
		lines, length int
		with          string
		least         int
		cut           bool
	}{
		"all of it":              {20, 1000, "", 20_000, false},
		"many lines":             {6000, 100, "", 500_000, true},
		"long lines":             {3000, 2000, "", 2 << 20, true},
		"lines that are longest": {2, 3 << 20, "", 3 << 20, true},
		"longer if redacted":     {4000, 1000, strings.Repeat("token=x ", 6), 4 << 20, true},
	} {
		g := NewWithT(t)
		asked := 0
		ask := func(_ context.Context, path string) (Answer, error) {
			asked++
			where, err := url.Parse(path)
			g.Expect(err).NotTo(HaveOccurred())
			tail, err := strconv.Atoi(where.Query().Get("tailLines"))
			g.Expect(err).NotTo(HaveOccurred())
			var log strings.Builder
			for i := max(1, row.lines-tail+1); i <= row.lines; i++ {
				line := fmt.Sprintf("line %d %s", i, row.with)
				log.WriteString(line + strings.Repeat("x", row.length-len(line)-1) + "\n")
			}
			return Answer{Body: []byte(log.String()[:min(log.Len(), 4<<20)])}, nil // the first bytes of the last lines
		}
		c := newCollection(&cluster{ask: ask}, time.Date(2026, 11, 22, 16, 41, 52, 0, time.UTC), "", "")
		c.addLog(t.Context(), "manager-1", "manager", false)
		g.Expect(c.report.Items).To(HaveLen(1), name)
		g.Expect(c.report.Items[0].Truncated).To(Equal(row.cut), name)
		packed, err := c.finish("")
		g.Expect(err).NotTo(HaveOccurred())
		archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		g.Expect(err).NotTo(HaveOccurred())
		file, err := archive.Open("logs/manager-1-manager.log")
		g.Expect(err).NotTo(HaveOccurred())
		log, err := io.ReadAll(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(bytes.Contains(log, fmt.Appendf(nil, "line %d ", row.lines))).To(BeTrue(), name)
		g.Expect(len(log)).To(And(BeNumerically(">=", row.least), BeNumerically("<=", 4<<20)), name)
		g.Expect(asked).To(BeNumerically("<", 4), name)
	}
}
