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

package altershield

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verdict is what a rule finds.
type Verdict string

// The verdicts of rules. All but a pass fail the check.
const (
	VerdictPass   Verdict = "PASS"
	VerdictFail   Verdict = "FAIL"
	VerdictInconc Verdict = "INCONC"
)

// Rule is a finding that the checks of a stage are to have. A check that no rule is for passes.
type Rule struct {
	Name    string `json:"name"`
	Message string `json:"message,omitempty"`
	Stage   Stage  `json:"stage"`
	// Deployment limits the rule to orders with this name among their changeApps or instanceNames. The name alone
	// stands for one in any namespace.
	Deployment string `json:"deployment,omitempty"`
	// Batch limits the rule to a batchNo. The first batch is 0.
	Batch   *int    `json:"batch,omitempty"`
	Verdict Verdict `json:"verdict"`
	// DelaySecond delays nothing.
	DelaySecond int `json:"delaySecond,omitempty"`
	// Remaining is for how many checks the rule holds. Zero is for all.
	Remaining int `json:"remaining,omitempty"`
}

// AddRule lets checks that end from now on have a finding.
func (s *Server) AddRule(rule Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, rule)
}

// ClearRules lets every check pass.
func (s *Server) ClearRules() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// Rules are the rules that hold.
func (s *Server) Rules() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Rule{}, s.rules...)
}

// validate refuses a rule that could never have an effect.
func (r Rule) validate() error {
	switch {
	case r.Name == "":
		return errors.New("a rule needs a name")
	case r.Stage != StagePre && r.Stage != StagePost:
		return fmt.Errorf("stage %q is none of PRE, POST", r.Stage)
	case r.Verdict != VerdictPass && r.Verdict != VerdictFail && r.Verdict != VerdictInconc:
		return fmt.Errorf("verdict %q is none of PASS, FAIL, INCONC", r.Verdict)
	case r.Remaining < 0:
		return errors.New("remaining is negative")
	}
	return nil
}

func (r Rule) matches(checked *node, stage Stage) bool {
	return r.Stage == stage && (r.Batch == nil || *r.Batch == checked.BatchNo) &&
		(r.Deployment == "" || checked.order.about(r.Deployment))
}

// about reports whether an order is about a Deployment.
func (o *order) about(deployment string) bool {
	named := func(name string) bool { return name == deployment || strings.HasSuffix(name, "/"+deployment) }
	return slices.ContainsFunc(o.ChangeApps, named) || slices.ContainsFunc(o.InstanceNames, named)
}

// ruleResult is a rule as callbacks write it, in the order of the names.
type ruleResult struct {
	AllowIgnore bool    `json:"allowIgnore"`
	ControlKey  string  `json:"controlKey"`
	FinishTime  int64   `json:"gmtFinish"`
	StartTime   int64   `json:"gmtStart"`
	GrayStatus  bool    `json:"grayStatus"`
	Ignored     bool    `json:"ignored"`
	Message     string  `json:"msg"`
	Name        string  `json:"name"`
	Owner       string  `json:"owner"`
	RelationID  string  `json:"relationId"`
	ResultJSON  string  `json:"resultJsn"`
	RiskLevel   string  `json:"riskLevel"`
	RuleExeID   string  `json:"ruleExeId"`
	Stage       Stage   `json:"stage"`
	Status      string  `json:"status"`
	URL         string  `json:"url"`
	Verdict     Verdict `json:"verdict"`
}

// apply has the rules that match find what they find, and counts them. Nothing is checked in an emergency. The caller
// holds the lock.
func (s *Server) apply(checked *node, stage Stage, begun time.Time) []ruleResult {
	results := []ruleResult{}
	if checked.emergency {
		return results
	}
	var left []Rule
	for _, rule := range s.rules {
		if rule.matches(checked, stage) {
			results = append(results, rule.result(begun))
			if rule.Remaining == 1 {
				continue
			}
			rule.Remaining = max(rule.Remaining-1, 0)
		}
		left = append(left, rule)
	}
	s.rules = left
	return results
}

func (r Rule) result(begun time.Time) ruleResult {
	status := map[Verdict]string{VerdictPass: "SUCCESS", VerdictFail: "FAIL", VerdictInconc: "TIMEOUT"}[r.Verdict]
	return ruleResult{
		ControlKey: "defender_test_plugin",
		FinishTime: time.Now().UnixMilli(),
		StartTime:  begun.UnixMilli(),
		GrayStatus: true,
		Message:    r.Message,
		Name:       r.Name,
		Owner:      "altershield",
		RelationID: r.Name,
		ResultJSON: "{}",
		RiskLevel:  "BLOCK",
		RuleExeID:  newID(),
		Stage:      r.Stage,
		Status:     status,
		Verdict:    r.Verdict,
	}
}

func allPass(results []ruleResult) bool {
	return !slices.ContainsFunc(results, func(result ruleResult) bool { return result.Verdict != VerdictPass })
}
