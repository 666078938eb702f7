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
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
)

var began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newCompiler(t testing.TB) *rule.Compiler {
	t.Helper()
	compiler, err := rule.NewCompiler()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return compiler
}

// pods returns ready pods on one node.
func pods(count int) []checks.Pod {
	all := make([]checks.Pod, count)
	for i := range all {
		name := fmt.Sprintf("web-%d", i)
		all[i] = checks.Pod{
			Name: name, UID: types.UID("uid-" + name), Node: "n1", Ready: true, Since: began.Add(time.Minute),
			Labels: map[string]string{"zone": "a"},
		}
	}
	return all
}

// release returns a release with two new pods and three old ones.
func release(changes ...func(*checks.Scene)) *checks.Scene {
	scene := &checks.Scene{
		Version: "v2", Number: 7, Began: began, Kind: "Deployment", Namespace: "shop", Name: "web", Replicas: 5, New: pods(2), Old: pods(3),
	}
	for _, change := range changes {
		change(scene)
	}
	return scene
}

func TestJudge(t *testing.T) {
	const spread = "newPods.size() < 2 || newPods.map(p, p.node).distinct().size() >= 2"
	for name, row := range map[string]struct {
		expression, message string
		scene               *checks.Scene
		found               string
	}{
		"true":                    {expression: "newPods.all(p, p.ready)", scene: release(), found: "Pass CheckPassed "},
		"false":                   {expression: spread, scene: release(), found: "Fail CheckFailed the expression is false: " + spread + "; web-0, web-1"},
		"true of other pods":      {expression: spread, scene: release(func(s *checks.Scene) { s.New[1].Node = "n2" }), found: "Pass CheckPassed "},
		"no new pods":             {expression: "false", scene: release(func(s *checks.Scene) { s.New = nil }), found: "Pass CheckPassed "},
		"with a message":          {expression: "false", message: "string(newPods.size()) + ' pods'", scene: release(), found: "Fail CheckFailed 2 pods; web-0, web-1"},
		"with a broken message":   {expression: "false", message: "oldPods[9].name", scene: release(), found: "Fail CheckFailed the expression is false, and evaluating messageExpression failed: index out of bounds: 9; web-0, web-1"},
		"the release":             {expression: "release.version == 'v2' && release.number == 7 && release.time == timestamp('2026-11-20T12:00:00Z')", scene: release(), found: "Pass CheckPassed "},
		"the workload":            {expression: "[workload.kind, workload.namespace, workload.name] == ['Deployment', 'shop', 'web'] && workload.replicas == 5", scene: release(), found: "Pass CheckPassed "},
		"a pod":                   {expression: "newPods[0].name == 'web-0' && newPods[0].node == 'n1' && newPods[0].labels['zone'] == 'a'", scene: release(), found: "Pass CheckPassed "},
		"the time of a pod":       {expression: "newPods[0].since - release.time == duration('1m')", scene: release(), found: "Pass CheckPassed "},
		"restarts":                {expression: "newPods.map(p, p.restarts).sum() <= oldPods.map(p, p.restarts).sum()", scene: release(func(s *checks.Scene) { s.New[0].Restarts = 3 }), found: "Fail CheckFailed the expression is false: newPods.map(p, p.restarts).sum() <= oldPods.map(p, p.restarts).sum(); web-0, web-1"},
		"out of memory":           {expression: "!newPods.exists(p, p.oomKilled)", message: "'memory'", scene: release(func(s *checks.Scene) { s.New[0].OutOfMemory = "main" }), found: "Fail CheckFailed memory; web-0, web-1"},
		"not ready":               {expression: "newPods.all(p, p.ready)", message: "'unready'", scene: release(func(s *checks.Scene) { s.New[1].Ready = false }), found: "Fail CheckFailed unready; web-0, web-1"},
		"the order of pods":       {expression: "newPods[0].name == 'web-0'", scene: release(func(s *checks.Scene) { s.New[0], s.New[1] = s.New[1], s.New[0] }), found: "Pass CheckPassed "},
		"a pod without labels":    {expression: "!('zone' in newPods[0].labels)", scene: release(func(s *checks.Scene) { s.New[0].Labels = nil }), found: "Pass CheckPassed "},
		"an error":                {expression: "oldPods[0].ready", scene: release(func(s *checks.Scene) { s.Old = nil }), found: "Inconclusive EvaluationError evaluating the expression: index out of bounds: 0"},
		"a mistake":               {expression: "newPods.size()", message: "1", scene: release(), found: "Inconclusive EvaluationError expression: the result has type int, not bool; compare it with a value; messageExpression: the result has type int, not string"},
		"too much work":           {expression: "newPods.all(a, newPods.all(b, newPods.all(c, a.name + b.name + c.name != '')))", scene: release(func(s *checks.Scene) { s.New = pods(100) }), found: "Inconclusive EvaluationError evaluating the expression: operation cancelled: actual cost limit exceeded"},
		"the work of 300 pods":    {expression: spread, message: "'one node'", scene: release(func(s *checks.Scene) { s.New, s.Old = pods(300), pods(300); s.New[200].Node = "n2" }), found: "Pass CheckPassed "},
		"quantities as in policy": {expression: "quantity('1Gi').isLessThan(quantity('2Gi'))", scene: release(), found: "Pass CheckPassed "},
	} {
		t.Run(name, func(t *testing.T) {
			found := newCompiler(t).Judge(row.scene, &appv1alpha1.RuleCheck{Expression: row.expression, MessageExpression: row.message})
			var failed []string
			for _, pod := range found.Pods {
				failed = append(failed, pod.Pod)
				NewWithT(t).Expect(string(pod.UID)+" "+pod.Message).To(Equal("uid-"+pod.Pod+" "+found.Message), "a pod says what the release failed for")
			}
			told := string(found.Verdict) + " " + found.Reason + " " + found.Message
			if len(failed) > 0 {
				told += "; " + strings.Join(failed, ", ")
			}
			NewWithT(t).Expect(told).To(Equal(row.found))
			NewWithT(t).Expect(found.Again).To(BeZero())
		})
	}
}

func TestProblemsNameThePlace(t *testing.T) {
	for name, row := range map[string]struct {
		expression, message string
		problems            []string
	}{
		"none":                  {"true", "", nil},
		"a field that is wrong": {"newPods.all(p, p.nde == 'a')", "", []string{"expression: line 1, column 17: undefined field 'nde'"}},
		"the clock":             {"now > release.time", "", []string{"expression: line 1, column 1: undeclared reference to 'now' (in container '')"}},
		"a message":             {"true", "newPods.size()", []string{"messageExpression: the result has type int, not string"}},
	} {
		t.Run(name, func(t *testing.T) {
			compiler := newCompiler(t)
			check := &appv1alpha1.RuleCheck{Expression: row.expression, MessageExpression: row.message}
			NewWithT(t).Expect(compiler.Problems(check)).To(Equal(row.problems))
			NewWithT(t).Expect(compiler.Problems(check)).To(Equal(row.problems), "a rule that is known gives the same")
		})
	}
}

func TestFailWhen(t *testing.T) {
	verdicts := map[string]string{"errors": "Fail", "queue": "Pass", "ready-pods": "Inconclusive"}
	for name, row := range map[string]struct {
		expression string
		holds      bool
		problem    string
	}{
		"one that failed":               {"checks.errors == 'Fail'", true, ""},
		"two of which one failed":       {"checks.errors == 'Fail' && checks.queue == 'Fail'", false, ""},
		"one whose name isn't a field":  {"checks['ready-pods'] == 'Inconclusive'", true, ""},
		"how many failed":               {"checks.filter(name, checks[name] == 'Fail').size() >= 2", false, ""},
		"one that there isn't":          {"checks.latency == 'Fail'", false, "evaluating failWhen: no such key: latency"},
		"one that isn't a condition":    {"checks.errors", false, "the result has type string, not bool; compare it with a value"},
		"one that reads something else": {"newPods.size() > 1", false, "line 1, column 1: undeclared reference to 'newPods' (in container '')"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			holds, err := newCompiler(t).FailWhen(row.expression, verdicts)
			g.Expect(holds).To(Equal(row.holds))
			if row.problem == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(row.problem))
			}
		})
	}
}

func TestFailsAnyhow(t *testing.T) {
	compiler := newCompiler(t)
	for expression, fails := range map[string]bool{
		"checks.a == 'Fail'":                                                     true,
		"checks.a == 'Fail' && checks.b == 'Fail'":                               false,
		"checks.a == 'Fail' || checks.b == 'Fail'":                               true,
		"checks.a == 'Fail' && !(checks.b == 'Pass' && checks.c == 'Fail')":      false, // two pending ones may differ
		"checks.a == 'Fail' && !(checks.b == 'Pass' && checks.b == 'Fail')":      true,
		"checks.filter(name, checks[name] == 'Fail').size() >= 1":                true,
		"checks.filter(name, checks[name] == 'Fail').size() >= 2":                false,
		"checks.a == 'Fail' && checks.b in ['Pass', 'Fail', 'Skipped']":          false, // Inconclusive
		"checks.a == 'Fail' && checks.nope == 'Fail'":                            true,  // excuses nothing
		"checks.b in ['Pass', 'Fail', 'Inconclusive', 'Skipped'] && 1 < 2":       true,
		"checks.a == 'Fail' && (checks.b != 'Pass' || checks.c in ['', 'Pass'])": false,
	} {
		verdicts := map[string]string{"a": "Fail", "b": "Pending", "c": "Pending"}
		NewWithT(t).Expect(compiler.FailsAnyhow(expression, verdicts)).To(Equal(fails), expression)
		NewWithT(t).Expect(verdicts).To(Equal(map[string]string{"a": "Fail", "b": "Pending", "c": "Pending"}))
	}
	verdicts := map[string]string{"a": "Fail", "b": "Pending", "c": "Pending", "d": "Pending", "e": "Pending", "f": "Pending"}
	NewWithT(t).Expect(compiler.FailsAnyhow("checks.a == 'Fail' || checks.b == 'Fail'", verdicts)).To(BeTrue(), "it reads few of them")
	NewWithT(t).Expect(compiler.FailsAnyhow("checks.exists(name, checks[name] == 'Fail')", verdicts)).To(BeFalse(), "it may read all")
	verdicts["b"] = "Pass"
	NewWithT(t).Expect(compiler.FailsAnyhow("checks.exists(name, checks[name] == 'Fail')", verdicts)).To(BeTrue())
	NewWithT(t).Expect(compiler.FailsAnyhow("checks.", verdicts)).To(BeTrue(), "what can't be compiled excuses nothing")
}

func TestFailWhenProblemsNameChecksThatAreMissing(t *testing.T) {
	g, compiler := NewWithT(t), newCompiler(t)
	names := []string{"errors", "queue"}
	g.Expect(compiler.FailWhenProblems("checks.errors == 'Fail' && checks['queue'] == 'Fail'", names)).To(BeEmpty())
	g.Expect(compiler.FailWhenProblems("checks.exists(name, checks[name] == 'Fail')", names)).To(BeEmpty())
	g.Expect(compiler.FailWhenProblems("checks.errors == 'Fail' || checks.latency == 'Fail'", names)).To(HaveExactElements("no check is named latency, only errors, queue"))
	g.Expect(compiler.FailWhenProblems("checks.errors ==", names)).To(HaveExactElements(HavePrefix("line 1, column 17: Syntax error")))
}

func BenchmarkJudge(b *testing.B) {
	compiler := newCompiler(b)
	scene := release(func(s *checks.Scene) { s.New, s.Old = pods(100), pods(100) })
	check := &appv1alpha1.RuleCheck{Expression: "newPods.all(p, p.ready && p.restarts <= 1) && newPods.map(p, p.node).distinct().size() >= 1"}
	for b.Loop() {
		if found := compiler.Judge(scene, check); found.Verdict != "Pass" {
			b.Fatal(found)
		}
	}
}

func TestEvaluateNeedsNoNewPods(t *testing.T) {
	for expression, verdict := range map[string]string{"oldPods.all(p, p.ready)": "Pass", "oldPods.size() == 2": "Fail", "oldPods": "Inconclusive"} {
		found := newCompiler(t).Evaluate(release(func(s *checks.Scene) { s.New = nil }), &appv1alpha1.RuleCheck{Expression: expression})
		NewWithT(t).Expect(string(found.Verdict)).To(Equal(verdict), expression)
	}
}
