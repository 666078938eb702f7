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

package decide

import (
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

func TestEdgesOfAreDrawnInThePackageComment(t *testing.T) {
	g := NewWithT(t)
	comment, err := os.ReadFile("doc.go")
	g.Expect(err).NotTo(HaveOccurred())
	var drawn []string
	for line := range strings.Lines(string(comment)) {
		if row, found := strings.CutPrefix(line, "//\t"); found {
			drawn = append(drawn, strings.Join(strings.Fields(row), " "))
		}
	}
	named := func(phase appv1alpha1.ChangePodPhase) string {
		switch {
		case phase == "":
			return "-"
		case edgesOf(phase).call == CallNone:
			return string(phase) + " *"
		}
		return string(phase)
	}
	expected := []string{"phase call taken pass fail unchecked"}
	for _, phase := range []appv1alpha1.ChangePodPhase{
		"PreWait", "PreSubmitted", "PostWait", "PostSubmitted", "PreTimeout", "PostFailed", "PostTimeout", "PreFailed", "PostFinish",
	} {
		ways, name, call := edgesOf(phase), named(phase), "-"
		if phase == "PreWait" {
			name = `"", PreWait`
		}
		if ways.call != CallNone {
			call = string(ways.call)
		}
		expected = append(expected, fmt.Sprintf("%s %s %s %s %s %s", name, call, named(ways.taken), named(ways.pass), named(ways.fail), named(ways.unchecked)))
	}
	g.Expect(drawn).To(Equal(expected))
	g.Expect(edgesOf("")).To(Equal(edgesOf("PreWait")))
	g.Expect(edgesOf("ExecuteDone")).To(BeZero())
}
