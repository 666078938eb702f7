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

// Verdict is the result of a rule.
type Verdict string

// The verdicts of rules. All but VerdictPass fail the check.
const (
	VerdictPass   Verdict = "PASS"
	VerdictFail   Verdict = "FAIL"
	VerdictInconc Verdict = "INCONC"
)

// Rule is a result that the checks of a stage get. A check without a matching rule passes.
type Rule struct {
	Name    string `json:"name"`
	Message string `json:"message,omitempty"`
	Stage   Stage  `json:"stage"`
	// Deployment limits the rule to orders with this name among their changeApps or instanceNames. A name without
	// a namespace matches in any namespace.
	Deployment string `json:"deployment,omitempty"`
	// Order makes the rule one for whole orders; other rules are for their batches.
	Order bool `json:"order,omitempty"`
	// Batch limits the rule to a batchNo. The first batch is 0.
	Batch   *int    `json:"batch,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Remaining is the number of checks that the rule applies to. Zero means all.
	Remaining int `json:"remaining,omitempty"`
}

// AddRule adds a rule for checks that end from now on.
func (s *Server) AddRule(rule Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, rule)
}

// ClearRules removes all rules, so that every check passes.
func (s *Server) ClearRules() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// Rules returns the current rules.
func (s *Server) Rules() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Rule{}, s.rules...)
}

// validate rejects a rule that could never apply.
func (r Rule) validate() error {
	switch {
	case r.Name == "":
		return errors.New("a rule needs a name")
	case r.Stage != StagePre && r.Stage != StagePost:
		return fmt.Errorf("stage %q is not PRE or POST", r.Stage)
	case r.Verdict != VerdictPass && r.Verdict != VerdictFail && r.Verdict != VerdictInconc:
		return fmt.Errorf("verdict %q is not PASS, FAIL or INCONC", r.Verdict)
	case r.Remaining < 0:
		return errors.New("remaining is negative")
	}
	return nil
}

func (r Rule) matches(checked *node, stage Stage) bool {
	return r.Stage == stage && r.Order == checked.OfOrder && (r.Batch == nil || *r.Batch == checked.BatchNo) &&
		(r.Deployment == "" || checked.order.about(r.Deployment))
}

// about reports whether an order is for a Deployment.
func (o *order) about(deployment string) bool {
	named := func(name string) bool { return name == deployment || strings.HasSuffix(name, "/"+deployment) }
	return slices.ContainsFunc(o.ChangeApps, named) || slices.ContainsFunc(o.InstanceNames, named)
}

// ruleResult is a rule in a callback, with its fields sorted by name.
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

// apply returns the results of the matching rules, and counts their use. Emergencies are not checked. The caller
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
