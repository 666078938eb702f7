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

package command_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

func TestDiffShowsValuesThatMayBeSecretOnlyAfterAQuestion(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, verified(7, "49"), verified(5, "a1"), web(7, "49"), kept(5, "a1", "web:1.8"))
	answer := b.run("diff", "web", "--full")
	g.Expect(answer.code).To(Equal(command.Failed))
	g.Expect(answer.out).To(BeEmpty())
	g.Expect(answer.err).To(Equal("Values may be secret. Show them? [y/N] error: nothing was changed; -y answers yes\n"))
	g.Expect(b.run("diff", "web", "--full", "-y").expects(g, command.OK)).To(And(HavePrefix("release 5 a100000 → release 7 4900000\n"),
		ContainSubstring("\n-     - image: web:1.8\n+     - image: web:1.9\n        name: web\n")))
	g.Expect(b.run("diff", "web").out).NotTo(ContainSubstring("- image"))
	g.Expect(b.run("diff", "web", "--full", "-y", "-o", "json").expects(g, command.OK)).To(ContainSubstring(`"-     - image: web:1.8"`))
}

func TestFullDifferencesNeedTheContents(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, failed(7, "49"), failed(6, "48"), verified(5, "a1"), web(7, "49"), kept(5, "a1", "web:1.8"))
	g.Expect(b.run("diff", "web", "5..6", "-y").expects(g, command.OK)).NotTo(BeEmpty(), "the record has what it changed")
	g.Expect(b.run("diff", "web", "5..6", "--full", "-y").err).To(ContainSubstring("the content of release 6 of deployment/web isn't kept"))
	answer := b.run("diff", "-f", "web.yaml", "--full")
	g.Expect(answer.code).To(Equal(command.Usage))
	g.Expect(answer.err).To(ContainSubstring("--full compares releases, not files"))
}

// A kind that was observed first counts its releases anew once it is under change control.
func TestDiffNamesTheNewerOfTwoReleasesWithOneNumber(t *testing.T) {
	g := NewWithT(t)
	before := observed(failed(6, "00"))
	before.Spec.CreateTimeUnix, before.Spec.Changes = now.Add(-24*time.Hour).Unix(), []string{"of an observed release"}
	b := newBench(t, failed(7, "49"), failed(6, "48"), before, verified(5, "a1"), web(7, "49"), kept(5, "a1", "web:1.8"))
	g.Expect(b.run("diff", "web", "5..6").expects(g, command.OK)).To(And(HavePrefix("release 5 a100000 → release 6 4800000\n"), Not(ContainSubstring("observed"))))
}
