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

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

func branch() *appv1alpha1.OpsConfigInfo {
	return &appv1alpha1.OpsConfigInfo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "branch"},
		Spec:       appv1alpha1.OpsConfigInfoSpec{Type: "isBranch", Content: "10", Remark: "Enabling Batch Protection"},
	}
}

func TestSettingsAreListedAndChanged(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, branch())
	g.Expect(b.run("settings").expects(g, command.OK)).To(And(HavePrefix("SETTING             VALUE              DEFAULT  REMARK\nblocking            on                 yes      Enabling Blockade\n"),
		ContainSubstring("branch              off (would be 10)  yes      Enabling Batch Protection\n")))
	b.in = "y\n"
	answer := b.run("settings", "branch", "20")
	g.Expect(answer.err).To(Equal("opsconfiginfo/branch of the operator is changed\n  enable: false -> true\n  content: 10 -> 20\nDo you want this? [y/N] "))
	g.Expect(answer.out).To(Equal("changed opsconfiginfo/branch; the operator takes it without a restart\n"))
	for _, name := range []string{"opsconfiginfo.app.ops.cloud.alipay.com/branch", "opsconfiginfoes/branch"} {
		g.Expect(b.run("settings", name, "-o", "jsonpath={.items[0].content}").expects(g, command.OK)).To(Equal("20"), name)
		g.Expect(b.run("settings", name, "30", "--dry-run=client").expects(g, command.OK)).To(HavePrefix("opsconfiginfo/branch of the operator is changed\n"), name)
	}
	g.Expect(b.run("settings", "branch", "-o", "jsonpath={.items[0].content}").expects(g, command.OK)).To(Equal("20"))
	g.Expect(b.run("settings", "park", "on", "-y").expects(g, command.OK)).To(HavePrefix("changed opsconfiginfo/park"))
	var park appv1alpha1.OpsConfigInfo
	g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Namespace: "altershieldoperator-system", Name: "park"}, &park)).To(Succeed())
	g.Expect(park.Spec.Enable).To(BeTrue())
	for line, says := range map[string]string{
		"settings brunch":    "there is no setting brunch",
		"settings branch no": `must be a whole number from 1 to 500, not "no"`,
	} {
		answer := b.run(split(line)...)
		g.Expect(answer.code).To(Equal(command.Usage), line)
		g.Expect(answer.err).To(ContainSubstring(says), line)
	}
}

func TestSettingsThatCanNotBeRead(t *testing.T) {
	for line, says := range map[string]string{
		"settings": "may not list opsconfiginfos.g", "settings branch on": "may not get opsconfiginfos.apps",
	} {
		NewWithT(t).Expect(newBenchWith(t, refuses("OpsConfigInfo")).run(split(line)...).err).To(ContainSubstring(says))
	}
}

func TestOutputByATemplate(t *testing.T) {
	b := newBench(t, failed(7, "49"), web(7, "49", suspendedLabel))
	for template, wanted := range map[string]string{
		"{.items[*].workload}":                    "web",
		"{range .items[*]}{.state}{\"\\n\"}{end}": "Suspend\n",
		".counts.Suspend":                         "1",
		"kind":                                    "ReleaseList",
		"{.items[0].none}":                        "",
		"":                                        "",
	} {
		g := NewWithT(t)
		g.Expect(b.run("list", "-o", "jsonpath="+template).expects(g, command.OK)).To(Equal(wanted), template)
	}
	answer := b.run("list", "-o", "jsonpath={.items[")
	NewWithT(t).Expect(answer.code).To(Equal(command.Usage))
	NewWithT(t).Expect(answer.err).To(ContainSubstring(`the template "{.items[" can't be read`))
	answer = b.run("list", "-o", "jsonpath={.items[3].x}")
	NewWithT(t).Expect(answer.code).To(Equal(command.Failed))
	NewWithT(t).Expect(answer.err).To(ContainSubstring("filling the template"))
	NewWithT(t).Expect(b.run("list", "-o", "jsonpath=TEMPLATE").code).To(Equal(command.OK))
	NewWithT(t).Expect(b.run("list", "-o", "text").err).To(ContainSubstring(`--output "text" is none of table, wide, json, yaml, name, jsonpath=TEMPLATE`))
}
