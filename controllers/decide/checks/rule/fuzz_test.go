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

package rule_test

import (
	"testing"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
)

func FuzzARule(f *testing.F) {
	for _, text := range [][2]string{
		{"newPods.all(p, p.ready)", "string(newPods.size())"}, {"newPods[5].ready", ""}, {"release.number / (release.number - 7) == 0", "newPods[9].name"},
		{"newPods.map(p, p.node).distinct().size() >= 2", "workload.kind + ': ' + release.version"}, {"newPods.all(a, oldPods.all(b, newPods.all(c, oldPods.all(d, a.name < b.name))))", ""},
		{"newPods.exists(p, p.labels['a'].matches('^(a+)+$'))", ""}, {"timestamp('x') < release.time", ""}, {"1", "1"}, {"(", ""},
	} {
		f.Add(text[0], text[1])
	}
	compiler, err := rule.NewCompiler()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, expression, message string) {
		check := &appv1alpha1.RuleCheck{Expression: expression, MessageExpression: message}
		found := compiler.Judge(release(), check)
		switch {
		case found.Verdict != "Pass" && found.Verdict != "Fail" && found.Verdict != "Inconclusive":
			t.Errorf("the verdict of %q is %q", expression, found.Verdict)
		case found.Verdict != "Inconclusive" && len(compiler.Problems(check)) > 0:
			t.Errorf("%q is unusable, and the verdict is %s", expression, found.Verdict)
		case found.Verdict == "Fail" && len(found.Pods) != 2:
			t.Errorf("%q is false, and %d of 2 pods fail", expression, len(found.Pods))
		case found.Verdict != "Pass" && found.Message == "":
			t.Errorf("%q has the verdict %s without a message", expression, found.Verdict)
		}
	})
}
