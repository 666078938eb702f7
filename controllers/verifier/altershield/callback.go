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
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

const (
	// checkOfBatch and checkOfOrder are the server's names for the checks of a batch and of an order.
	checkOfBatch, checkOfOrder = "CHANGE_BATCH", "CHANGE_ORDER"
	// maxReason is the maximum length of a verdict's reason, in characters.
	maxReason = 1024
)

// callback is the body of a callback. The server omits fields that are null.
type callback struct {
	CheckType text `json:"changeCheckType"`
	Request   *struct {
		Order   text     `json:"bizExecOrderId"`
		NodeID  text     `json:"nodeId"`
		Stage   text     `json:"defenseStageEnum"`
		Verdict *verdict `json:"verdict"`
	} `json:"callbackRequest"`
}

type verdict struct {
	Verdict   string                   `json:"verdict"`
	AllFinish *bool                    `json:"allFinish"`
	Message   text                     `json:"msg"`
	Rules     lenient[[]lenient[rule]] `json:"rules"`
}

// rule is a checked rule.
type rule struct {
	Name       text `json:"name"`
	Message    text `json:"msg"`
	ControlKey text `json:"controlKey"`
	RelationID text `json:"relationId"`
	Verdict    text `json:"verdict"`
	Ignored    text `json:"ignored"`
}

// ParseCallback parses the callback at the end of a check. The verdict is Undecided if the check isn't that of a batch or an order, or
// another verdict of the stage will follow. The error names the missing or malformed field.
func ParseCallback(body []byte) (verifier.Delivery, error) {
	said := callback{}
	if err := json.Unmarshal(body, &said); err != nil {
		return verifier.Delivery{}, fmt.Errorf("the callback is malformed: %w", err)
	}
	request := said.Request
	switch {
	case request == nil:
		return verifier.Delivery{}, errors.New("the callback has no callbackRequest")
	case request.NodeID == "" || len(request.NodeID) > maxID:
		return verifier.Delivery{}, fmt.Errorf("the callback's nodeId has %d bytes: it must have 1 to %d", len(request.NodeID), maxID)
	case request.Stage != text(appv1alpha1.StagePre) && request.Stage != text(appv1alpha1.StagePost):
		return verifier.Delivery{}, fmt.Errorf("the callback's defenseStageEnum is %q: it must be PRE or POST", oneline.Of(string(request.Stage), maxID))
	case request.Verdict == nil:
		return verifier.Delivery{}, errors.New("the callback has no verdict")
	case request.Verdict.Verdict == "":
		return verifier.Delivery{}, errors.New("the callback's verdict has no verdict text")
	}
	return verifier.Delivery{
		Order: string(request.Order), CheckID: string(request.NodeID), Stage: appv1alpha1.CheckStage(request.Stage), Verdict: said.verdict(),
	}, nil
}

func (c callback) verdict() verifier.Verdict {
	result := c.Request.Verdict
	switch {
	case c.CheckType != checkOfBatch && c.CheckType != checkOfOrder, result.AllFinish != nil && !*result.AllFinish:
		return verifier.Verdict{Reason: "only verdicts of whole batches and orders count"}
	case isFailure(result.Verdict):
		return verifier.Verdict{Outcome: verifier.Fail, Reason: result.reason()}
	}
	return verifier.Verdict{Outcome: verifier.Pass}
}

// isFailure reports whether a verdict is a failure. As at the server, unknown and missing verdicts pass.
func isFailure(verdict string) bool {
	return strings.EqualFold(verdict, "fail") || strings.EqualFold(verdict, "inconc")
}

// reason returns the messages of the failed rules, as the verdict itself rarely has one.
func (v verdict) reason() string {
	var reasons []string
	for _, checked := range v.Rules.value {
		rule := checked.value
		if summary := rule.summary(); isFailure(string(rule.Verdict)) && rule.Ignored != "true" && summary != "" {
			reasons = append(reasons, summary)
		}
	}
	return oneline.Of(cmp.Or(strings.Join(reasons, "; "), string(v.Message)), maxReason)
}

func (r rule) summary() string {
	name, message := strings.TrimSpace(string(r.Name)), strings.TrimSpace(string(r.Message))
	if name != "" && message != "" {
		return name + ": " + message
	}
	return cmp.Or(name, message, string(r.ControlKey), string(r.RelationID))
}
