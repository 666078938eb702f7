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

package plugin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
)

var began = time.Unix(1767225600, 0)

func podsNamed(count int, prefix string) []checks.Pod {
	pods := make([]checks.Pod, count)
	for i := range pods {
		name := fmt.Sprintf("%s%d", prefix, i)
		pods[i] = checks.Pod{
			Name: name, UID: types.UID("uid-" + name), Node: "n1", IP: "10.0.0.7", Since: began.Add(time.Minute),
			Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "c6c4"},
		}
	}
	return pods
}

func release(news, olds int) *checks.Scene {
	return &checks.Scene{
		Version: "6a8f", Number: 3, Kind: "Deployment", Namespace: "scoring", Name: "model", Replicas: 4, Began: began,
		UID: "uid-model", Labels: map[string]string{"model": "v7"},
		New: podsNamed(news, "new-"), Old: podsNamed(olds, "old-"),
	}
}

func question() *plugin.Question {
	return &plugin.Question{
		ID: "1/3/2/drift/7", Policy: "scoring/drift", Check: "drift", Mode: "Enforce", Look: 7, At: began.Add(105 * time.Second), Until: began.Add(2 * time.Minute),
		HTTP: &appv1alpha1.HTTPCheck{Parameters: map[string]appv1alpha1.ParameterValue{
			"a": "$namespace", "b": "$workload", "c": "$kind", "d": "$version", "e": "a $version", "f": "\"},\n",
		}},
	}
}

func TestRequest(t *testing.T) {
	g := NewWithT(t)
	body, err := plugin.Request(release(1, 1), question())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(body).To(MatchJSON(`{
		"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "CheckRequest", "id": "1/3/2/drift/7",
		"policy": "scoring/drift", "check": "drift", "mode": "Enforce", "look": 7, "last": false,
		"deadline": "2026-01-01T00:02:00Z",
		"workload": {"kind": "Deployment", "namespace": "scoring", "name": "model", "uid": "uid-model", "replicas": 4, "labels": {"model": "v7"}},
		"release": {"version": "6a8f", "number": 3, "startedAt": "2026-01-01T00:00:00Z"},
		"window": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:01:45Z"},
		"newPods": [{"name": "new-0", "ip": "10.0.0.7", "node": "n1", "since": "2026-01-01T00:01:00Z"}], "newPodsTotal": 1,
		"oldPods": [{"name": "old-0", "ip": "10.0.0.7", "node": "n1", "since": "2026-01-01T00:01:00Z", "version": "c6c4"}], "oldPodsTotal": 1,
		"parameters": {"a": "scoring", "b": "model", "c": "Deployment", "d": "6a8f", "e": "a $version", "f": "\"},\n"}
	}`))
	before := question()
	before.Phase = "Before"
	unlabelled := release(0, 1)
	unlabelled.Labels, unlabelled.Old[0] = nil, checks.Pod{Name: "old-0", Since: began}
	body, err = plugin.Request(unlabelled, before)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(body)).To(And(ContainSubstring(`"labels":{}`), ContainSubstring(`"oldPods":[{"name":"old-0","node":"","since":"2026-01-01T00:00:00Z"}]`)))
	g.Expect(string(body)).To(ContainSubstring(`"mode":"Enforce","phase":"Before","look":7,`))
	g.Expect(string(body)).To(ContainSubstring(`"newPods":[],"newPodsTotal":0,`))
}

// A verdict that is awaited has the time of the check, of which the time of a look tells nothing.
func TestRequestHasNoDeadlineWhereAVerdictIsAwaited(t *testing.T) {
	g := NewWithT(t)
	asked := question()
	asked.Verdict = &appv1alpha1.ChangeVerdict{}
	body, err := plugin.Request(release(1, 0), asked)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(body)).To(And(ContainSubstring(`"verdictRef"`), Not(ContainSubstring(`"deadline"`))))
}

func TestRequestHasTheFirstLabels(t *testing.T) {
	g := NewWithT(t)
	scene := release(5000, 5000)
	for i := range 1000 {
		scene.Labels[fmt.Sprintf("%s/%s%04d", strings.Repeat("p", 253), strings.Repeat("n", 59), i)] = strings.Repeat("v", 63)
	}
	body, err := plugin.Request(scene, question())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(body)).To(BeNumerically("<=", 65536))
	var read struct {
		Workload struct{ Labels map[string]string }
		NewPods  []struct{}
	}
	g.Expect(json.Unmarshal(body, &read)).To(Succeed())
	g.Expect(read.Workload.Labels).To(And(HaveLen(64), HaveKey("model")), "which is before the others")
	g.Expect(read.NewPods).To(HaveLen(100))
}

func TestRequestIsNoLargerThan64KiB(t *testing.T) {
	for name, row := range map[string]struct {
		pods, prefix, listed int
	}{
		"few pods":                 {2, 10, 2},
		"no pods":                  {0, 10, 0},
		"a hundred of each":        {5000, 63, 100},
		"with the longest names":   {5000, 240, 50},
		"with names beyond reason": {2, 70000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scene := release(0, 0)
			scene.New, scene.Old = podsNamed(row.pods, strings.Repeat("n", row.prefix)), podsNamed(row.pods, strings.Repeat("o", row.prefix))
			for i := range scene.New {
				scene.New[i].Node = strings.Repeat("n", row.prefix)
			}
			body, err := plugin.Request(scene, question())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(body)).To(BeNumerically("<=", 65536))
			var read struct {
				NewPods, OldPods           []struct{}
				NewPodsTotal, OldPodsTotal int
			}
			g.Expect(json.Unmarshal(body, &read)).To(Succeed())
			g.Expect(read.NewPods).NotTo(BeNil())
			g.Expect([]int{len(read.NewPods), len(read.OldPods), read.NewPodsTotal, read.OldPodsTotal}).To(Equal([]int{row.listed, row.listed, row.pods, row.pods}))
		})
	}
}

func TestParse(t *testing.T) {
	unreadable := "the answer of the plug-in is not JSON with verdict, reason, message and pods"
	for name, row := range map[string]struct{ body, expected string }{
		"a pass":               {`{"verdict":"Pass"}`, "Pass CheckPassed false the plug-in answers Pass []"},
		"a pass with text":     {`{"verdict":"Pass","message":"no drift","details":{"psi":"0.1"}}`, "Pass CheckPassed false no drift []"},
		"a failure":            {`{"verdict":"Fail","reason":"Drift","message":"psi 0.31"}`, "Fail CheckFailed false Drift: psi 0.31 []"},
		"a failure of pods":    {`{"verdict":"Fail","reason":"Drift","pods":[{"name":"new-1"},{"name":"new-0","message":"psi\u001b[31m 9"}]}`, "Fail CheckFailed false Drift [{new-1 uid-new-1 Drift} {new-0 uid-new-0 psi [31m 9}]"},
		"one that can't tell":  {`{"verdict":"Inconclusive","reason":"NoTraffic"}`, "Inconclusive Undecided false NoTraffic []"},
		"control characters":   {`{"verdict":"Fail","message":"a\nb\u0000\u202ec` + "\xff" + `"}`, "Fail CheckFailed false a b  c� []"},
		"a long message":       {`{"verdict":"Fail","message":"` + strings.Repeat("é", 300) + `"}`, "Fail CheckFailed false " + strings.Repeat("é", 253) + "... []"},
		"a verdict of its own": {`{"verdict":"Pending"}`, `Inconclusive BadAnswer true the answer of the plug-in: verdict is "Pending": it must be Pass, Fail or Inconclusive []`},
		"no verdict":           {`{}`, `Inconclusive BadAnswer true the answer of the plug-in: verdict is "": it must be Pass, Fail or Inconclusive []`},
		"a bad reason":         {`{"verdict":"Fail","reason":"psi 0.31"}`, `Inconclusive BadAnswer true the answer of the plug-in: reason is "psi 0.31": it must be CamelCase of at most 64 characters []`},
		"a long reason":        {`{"verdict":"Fail","reason":"` + strings.Repeat("A", 65) + `"}`, `Inconclusive BadAnswer true the answer of the plug-in: reason is "` + strings.Repeat("A", 64) + `": it must be CamelCase of at most 64 characters []`},
		"an old pod":           {`{"verdict":"Fail","pods":[{"name":"old-0"}]}`, `Inconclusive BadAnswer true the answer of the plug-in: pods has "old-0", which is no finished pod of the release []`},
		"a pod twice":          {`{"verdict":"Fail","reason":"Drift","pods":[{"name":"new-0","message":"psi 9"},{"name":"new-0","message":"psi 8"}]}`, "Fail CheckFailed false Drift [{new-0 uid-new-0 psi 9}]"},
		"pods that passed":     {`{"verdict":"Pass","pods":[{"name":"new-0"}]}`, `Inconclusive BadAnswer true the answer of the plug-in: pods are those that failed, and verdict is Pass []`},
		"a page":               {`<html>secret</html>`, "Inconclusive BadAnswer true " + unreadable + " []"},
		"two answers":          {`{"verdict":"Pass"}{"verdict":"Fail"}`, "Inconclusive BadAnswer true " + unreadable + " []"},
		"a number":             {`{"verdict":1}`, "Inconclusive BadAnswer true " + unreadable + " []"},
		"nothing":              {``, "Inconclusive BadAnswer true " + unreadable + " []"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := plugin.Parse(release(2, 1), []byte(row.body))
			told := fmt.Sprintf("%s %s %t %s %v", answer.Verdict, answer.Reason, answer.Broken, answer.Message, answer.Pods)
			NewWithT(t).Expect(told).To(Equal(row.expected))
		})
	}
}

func TestJudge(t *testing.T) {
	own := []appv1alpha1.CheckedPod{{Pod: "new-1", UID: "uid-new-1", Message: "drifts"}}
	all := []appv1alpha1.CheckedPod{{Pod: "new-0", UID: "uid-new-0", Message: "drift"}, {Pod: "new-1", UID: "uid-new-1", Message: "drift"}}
	soFar := checks.Finding{Verdict: "Pass", Reason: "CheckPassed", Again: time.Minute}
	for name, row := range map[string]struct {
		answer           plugin.Answer
		before, atTheEnd checks.Finding
	}{
		"a pass": {
			plugin.Answer{Verdict: "Pass", Reason: "CheckPassed", Message: "fine"}, soFar,
			checks.Finding{Verdict: "Pass", Reason: "CheckPassed", Message: "fine", Final: true, Again: time.Minute},
		},
		"a failure": {
			plugin.Answer{Verdict: "Fail", Reason: "CheckFailed", Message: "drift"},
			checks.Finding{Verdict: "Fail", Reason: "CheckFailed", Message: "drift", Pods: all},
			checks.Finding{Verdict: "Fail", Reason: "CheckFailed", Message: "drift", Pods: all},
		},
		"a failure of pods": {
			plugin.Answer{Verdict: "Fail", Reason: "CheckFailed", Message: "drift", Pods: own},
			checks.Finding{Verdict: "Fail", Reason: "CheckFailed", Message: "drift", Pods: own},
			checks.Finding{Verdict: "Fail", Reason: "CheckFailed", Message: "drift", Pods: own},
		},
		"one that can't tell": {
			plugin.Answer{Verdict: "Inconclusive", Reason: "Undecided", Message: "no traffic"}, soFar,
			checks.Finding{Verdict: "Inconclusive", Reason: "Undecided", Message: "no traffic"},
		},
		"no answer": {
			plugin.Broken("SourceUnavailable", "HTTP 500"), soFar,
			checks.Finding{Verdict: "Inconclusive", Reason: "SourceUnavailable", Message: "HTTP 500", Broken: true},
		},
		"a final pass": {
			plugin.Answer{Verdict: "Pass", Reason: "CheckPassed", Message: "fine", Final: true},
			checks.Finding{Verdict: "Pass", Reason: "CheckPassed", Message: "fine", Final: true},
			checks.Finding{Verdict: "Pass", Reason: "CheckPassed", Message: "fine", Final: true},
		},
		"one that will never tell": {
			plugin.Answer{Verdict: "Inconclusive", Reason: "JobTimedOut", Message: "late", Final: true},
			checks.Finding{Verdict: "Inconclusive", Reason: "JobTimedOut", Message: "late"},
			checks.Finding{Verdict: "Inconclusive", Reason: "JobTimedOut", Message: "late"},
		},
		"no question": {
			plugin.Answer{}, soFar,
			checks.Finding{Verdict: "Inconclusive", Reason: "NotAsked", Message: "no pod of the release finished, or it is suspended"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(plugin.Judge(release(2, 0), row.answer, measure.Terms{Again: time.Minute})).To(Equal(row.before))
			g.Expect(plugin.Judge(release(2, 0), row.answer, measure.Terms{Again: time.Minute, Ended: true})).To(Equal(row.atTheEnd))
		})
	}
}

func TestObjectName(t *testing.T) {
	for name, expected := range map[string]string{"smoke": "smoke", "$workload-smoke-$version": "model-smoke-6a8f", "$kind": "$kind"} {
		NewWithT(t).Expect(plugin.ObjectName(release(0, 0), &appv1alpha1.ConditionCheck{Name: name})).To(Equal(expected))
	}
}

func TestOfCondition(t *testing.T) {
	for name, row := range map[string]struct{ conditions, expected string }{
		"True":             {`[{"type":"Other","status":"False"},{"type":"Passed","status":"True","reason":"AllPassed","message":"12 tests"}]`, "Pass CheckPassed SmokeTest smoke: Passed is True, AllPassed: 12 tests"},
		"False":            {`[{"type":"Passed","status":"False","reason":"Failed","message":"a\nb"}]`, "Fail CheckFailed SmokeTest smoke: Passed is False, Failed: a b"},
		"no message":       {`[{"type":"Passed","status":"False"}]`, "Fail CheckFailed SmokeTest smoke: Passed is False"},
		"Unknown":          {`[{"type":"Passed","status":"Unknown","reason":"Running"}]`, "Inconclusive ConditionUnknown SmokeTest smoke: Passed is Unknown, Running"},
		"no status":        {`[{"type":"Passed"}]`, "Inconclusive ConditionUnknown SmokeTest smoke: Passed is Unknown"},
		"of this spec":     {`[{"type":"Passed","status":"True","observedGeneration":2}]`, "Pass CheckPassed SmokeTest smoke: Passed is True"},
		"of an older spec": {`[{"type":"Passed","status":"True","observedGeneration":1}]`, "Inconclusive ConditionUnknown SmokeTest smoke: Passed is older than the spec"},
		"another type":     {`[{"type":"Other","status":"True"}]`, "Inconclusive ConditionUnknown SmokeTest smoke: Passed is not there"},
		"no conditions":    {`null`, "Inconclusive ConditionUnknown SmokeTest smoke: Passed is not there"},
		"no list":          {`"all fine"`, "Inconclusive ConditionUnknown SmokeTest smoke: Passed is not there"},
		"no objects":       {`["Passed"]`, "Inconclusive ConditionUnknown SmokeTest smoke: Passed is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := &unstructured.Unstructured{}
			g.Expect(object.UnmarshalJSON([]byte(`{"apiVersion":"tests.example.com/v1","kind":"SmokeTest","metadata":{"name":"smoke","generation":2},"status":{"conditions":` +
				row.conditions + `}}`))).To(Succeed())
			answer := plugin.OfCondition(object, &appv1alpha1.ConditionCheck{Kind: "SmokeTest", Type: "Passed"})
			g.Expect(answer.Broken).To(BeFalse())
			g.Expect(fmt.Sprintf("%s %s %s", answer.Verdict, answer.Reason, answer.Message)).To(Equal(row.expected))
		})
	}
}
