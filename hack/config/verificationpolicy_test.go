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

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	ctrlyaml "sigs.k8s.io/yaml"
)

func TestVerificationPoliciesAreRefused(t *testing.T) {
	judge := judgeOf(t, "app.ops.cloud.alipay.com_verificationpolicies.yaml")
	const source = "sourceRef: {name: a}"
	for name, row := range map[string]struct{ check, message string }{
		"with nothing special":           {`type: Latency, onError: Fail, latency: {` + source + `, metric: b, comparison: {}}`, ""},
		"with a gauge":                   {`type: Gauge, gauge: {` + source + `, metric: b}`, ""},
		"with every alert":               {`type: Alerts, alerts: {` + source + `}`, ""},
		"with one signal":                {`type: PodHealth, podHealth: {signals: [OOMKilled]}`, ""},
		"with an unknown signal":         {`type: PodHealth, podHealth: {signals: [Slow]}`, `Unsupported value: "Slow": supported values: "Restarts", "OOMKilled", "ReadinessLost"`},
		"with signals of another type":   {`type: Server, podHealth: {}`, "podHealth is for type PodHealth only"},
		"of another type":                {`type: Magic`, `Unsupported value: "Magic"`},
		"with what another type has":     {`type: Gauge, latency: {` + source + `, metric: b, comparison: {}}`, "latency is needed for type Latency, and for it only"},
		"without what its type has":      {`type: Gauge`, "gauge is needed for type Gauge, and for it only"},
		"with nothing to compare with":   {`type: Latency, latency: {` + source + `, metric: b}`, "either comparison or threshold is needed"},
		"with two to compare with":       {`type: Latency, latency: {` + source + `, metric: b, comparison: {}, threshold: {max: "1%"}}`, "either comparison or threshold is needed"},
		"with a threshold of no time":    {`type: Latency, latency: {` + source + `, metric: b, threshold: {max: "1%"}}`, "threshold needs thresholdSeconds"},
		"with a metric that is a query":  {`type: Gauge, gauge: {` + source + `, metric: "sum(b)"}`, "metric in body should match"},
		"with a tolerance below one":     {`type: Gauge, gauge: {` + source + `, metric: b, comparison: {tolerance: "0.5"}}`, "tolerance in body should match"},
		"with alerts that are pending":   {`type: Alerts, alerts: {` + source + `, matchLabels: {alertstate: pending}}`, "matchLabels has names of labels, but not alertstate"},
		"with a query without limits":    {`type: Query, query: {` + source + `, query: "up"}`, "max or min is needed"},
		"with a limit that is no number": {`type: Query, query: {` + source + `, query: "up", min: much}`, "min in body should match"},
		"with an unknown variable":       {`type: HTTP, http: {` + source + `, parameters: {model: "$model"}}`, "$namespace, $workload, $kind"},
		"with a condition of no kind":    {`type: Condition, condition: {apiVersion: v1, kind: pod, name: a, type: Ready}`, "kind in body should match"},
		"with a job":                     {`type: Job, job: {image: a, command: [sh], env: [{name: A, value: $release}, {name: B, value: $(A)-b}, {name: C}], resources: {limits: {memory: 64Mi}}}`, ""},
		"with a job of no type":          {`type: HTTP, http: {` + source + `}, job: {image: a}`, "job is needed for type Job, and for it only"},
		"with a type of no job":          {`type: Job`, "job is needed for type Job, and for it only"},
		"with a job of no image":         {`type: Job, job: {image: ""}`, "image in body should be at least 1 chars long"},
		"with a job by root":             {`type: Job, job: {image: a, runAsUser: 0}`, "runAsUser in body should be greater than or equal to 1"},
		"with a job of two hours":        {`type: Job, job: {image: a, timeoutSeconds: 7200}`, "timeoutSeconds in body should be less than or equal to 3600"},
		"with a job of unknown values":   {`type: Job, job: {image: a, env: [{name: A, value: $cluster}]}`, "the variables of env are $namespace, $workload, $kind, $version and $release"},
		"with a job of odd variables":    {`type: Job, job: {image: a, env: [{name: "A=B"}]}`, "name in body should match"},
		"with a job of a long script":    {`type: Job, job: {image: a, command: [` + strings.Repeat("a", 4096) + `, b]}`, "command has at most 4096 characters in all"},
		"with a job of long arguments":   {`type: Job, job: {image: a, args: [` + strings.Repeat("a", 4096) + `, b]}`, "args have at most 4096 characters in all"},
		"with the server":                {`type: Server, onError: Fail, onInconclusive: Fail`, ""},
		"with a hold for the server":     {`type: Server, onInconclusive: Hold, timeoutSeconds: 60, onTimeout: Pass`, "onInconclusive: Hold isn't for type Server: each batch waits for the server anyway"},
		"with an unknown fallback":       {`type: PodHealth, onError: Hold`, `Unsupported value: "Hold": supported values: "Pass", "Fail"`},
		"with a hold":                    {`type: PodHealth, onInconclusive: Hold, timeoutSeconds: 86400, onTimeout: Fail`, ""},
		"with a hold of no time":         {`type: PodHealth, onInconclusive: Hold, onTimeout: Pass`, "timeoutSeconds is needed with onInconclusive: Hold, phase: Before or phase: After, and only with them"},
		"with a hold without an end":     {`type: PodHealth, onInconclusive: Hold, timeoutSeconds: 60`, "onTimeout is needed with onInconclusive: Hold, phase: Before or phase: After, and only with them"},
		"with the time of no hold":       {`type: PodHealth, onInconclusive: Fail, timeoutSeconds: 60`, "timeoutSeconds is needed with onInconclusive: Hold, phase: Before or phase: After, and only with them"},
		"with the end of no hold":        {`type: PodHealth, onTimeout: Fail`, "onTimeout is needed with onInconclusive: Hold, phase: Before or phase: After, and only with them"},
		"with a hold for too long":       {`type: PodHealth, onInconclusive: Hold, timeoutSeconds: 86401, onTimeout: Pass`, "should be less than or equal to 86400"},
		"with a phase before":            {`type: Rule, phase: Before, timeoutSeconds: 60, onTimeout: Fail, rule: {expression: "true"}`, ""},
		"with a phase after":             {`type: Job, phase: After, onInconclusive: Hold, onError: Fail, timeoutSeconds: 60, onTimeout: Pass, job: {image: a}`, ""},
		"with a phase during":            {`type: PodHealth, phase: During, onInconclusive: Fail`, ""},
		"with a phase of its own":        {`type: PodHealth, phase: Later`, `Unsupported value: "Later": supported values: "Before", "During", "After"`},
		"with a phase without time":      {`type: Job, phase: After, onTimeout: Pass, job: {image: a}`, "timeoutSeconds is needed with onInconclusive: Hold, phase: Before or phase: After, and only with them"},
		"with a phase without an end":    {`type: Job, phase: After, timeoutSeconds: 60, job: {image: a}`, "onTimeout is needed with onInconclusive: Hold, phase: Before or phase: After, and only with them"},
		"with the time of no phase":      {`type: PodHealth, phase: During, timeoutSeconds: 60, onTimeout: Pass`, "timeoutSeconds is needed with onInconclusive: Hold, phase: Before or phase: After, and only with them"},
		"with a phase of pods":           {`type: PodHealth, phase: Before, timeoutSeconds: 60, onTimeout: Pass`, "phase: Before and phase: After are for the types Rule, Alerts, Query, HTTP, Condition and Job: the others watch pods while they come"},
		"with a phase of the server":     {`type: Server, phase: After, timeoutSeconds: 60, onTimeout: Pass`, "phase: Before and phase: After are for the types Rule, Alerts, Query, HTTP, Condition and Job: the others watch pods while they come"},
		"with two ends of a phase":       {`type: Job, phase: After, onInconclusive: Fail, timeoutSeconds: 60, onTimeout: Pass, job: {image: a}`, "phase: Before and phase: After wait for a verdict: onTimeout is what follows without one, not onInconclusive"},
		"with a hold that never ends":    {`type: PodHealth, onInconclusive: Hold, timeoutSeconds: 60, onTimeout: Hold`, `Unsupported value: "Hold": supported values: "Pass", "Fail"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, message := judge.apply(t, "spec: {checks: [{name: own, "+row.check+"}]}")
			if row.message == "" {
				NewWithT(t).Expect(message).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(message).To(ContainSubstring(row.message))
		})
	}
}

func TestVerificationPoliciesOfTheSamplesAreTaken(t *testing.T) {
	g := NewWithT(t)
	judge := judgeOf(t, "app.ops.cloud.alipay.com_verificationpolicies.yaml")
	files, err := filepath.Glob(filepath.Join(sources, "samples", "verification", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	taken := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var kind struct{ Kind string }
			g.Expect(ctrlyaml.Unmarshal([]byte(document), &kind)).To(Succeed())
			if kind.Kind != "VerificationPolicy" {
				continue
			}
			_, message := judge.apply(t, document)
			g.Expect(message).To(BeEmpty(), file)
			taken++
		}
	}
	g.Expect(taken).To(BeNumerically(">=", 9))
}
