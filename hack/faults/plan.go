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

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
)

// plan is one fault in one scenario: of a write, of a view, or a trouble.
type plan struct {
	scenario    string
	fault       *proxy.Fault
	trouble     *trouble
	disturbance proxy.Disturbance
}

// String returns the name of a plan, as used by --only: "walkthrough/patch changepods/status#2/killed-after", "walkthrough/stale pods/5s" or
// "late/trouble/stale-pods".
func (p plan) String() string {
	switch {
	case p.fault != nil:
		return fmt.Sprintf("%s/%s/%s", p.scenario, p.fault.Position, p.fault.Mode)
	case p.trouble != nil:
		return fmt.Sprintf("%s/%s/%s", p.scenario, classTrouble, p.trouble.name)
	}
	return fmt.Sprintf("%s/%s %s/%s", p.scenario, p.disturbance.View, strings.Join(p.disturbance.Resources, "+"), p.disturbance.For)
}

// MarshalText names a plan in the file of results.
func (p plan) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// classTrouble is the class of all troubles.
const classTrouble = "trouble"

// class returns the column of a plan in the table.
func (p plan) class() string {
	switch {
	case p.fault != nil:
		return string(p.fault.Mode)
	case p.trouble != nil:
		return classTrouble
	}
	return string(p.disturbance.View)
}

// parsePlan returns the plan of a name.
func parsePlan(name string) (plan, error) {
	first, last := strings.Index(name, "/"), strings.LastIndex(name, "/")
	if first == last {
		return plan{}, fmt.Errorf("%q is not a plan: expected a name like \"walkthrough/patch changepods/status#2/killed-after\"", name)
	}
	scenario := name[:first]
	for _, known := range slices.Concat(troublePlans(scenarios(), share{every: 1}), viewPlans(scenario)) {
		if known.String() == name {
			return known, nil
		}
	}
	position, err := proxy.ParsePosition(name[first+1 : last])
	mode, wrong := proxy.ParseMode(name[last+1:])
	if err := cmp.Or(err, wrong); err != nil {
		return plan{}, fmt.Errorf("parsing plan %q: %w", name, err)
	}
	return plan{scenario: scenario, fault: &proxy.Fault{Position: position, Mode: mode}}, nil
}

// troublePlans returns the troubles of some scenarios. The part in the middle is the first of each.
func troublePlans(scenarios []scenario, share share) (plans []plan) {
	firsts := share.every > 1 && share.part == middle
	for _, scenario := range scenarios {
		for i := range scenario.troubles {
			if i == 0 || !firsts {
				plans = append(plans, plan{scenario: scenario.name, trouble: &scenario.troubles[i]})
			}
		}
	}
	if firsts {
		return plans
	}
	return sample(plans, share)
}

// writePlans returns the faults of each position of the undisturbed runs.
func writePlans(scenario string, positions []proxy.Position) []plan {
	var plans []plan
	for _, mode := range proxy.Modes() {
		for _, position := range positions {
			if mode == proxy.Conflict && position.Verb == proxy.VerbCall {
				continue // AlterShield Server has no conflicts
			}
			plans = append(plans, plan{scenario: scenario, fault: &proxy.Fault{Position: position, Mode: mode}})
		}
	}
	return plans
}

// viewPlans returns the disturbances of each resource that the manager watches. Each applies a few times in a run, less often with longer periods.
func viewPlans(scenario string) (plans []plan) {
	for _, disturbance := range []proxy.Disturbance{
		{View: proxy.Stale, For: time.Second, Times: 12}, {View: proxy.Stale, For: 3 * time.Second, Times: 4}, {View: proxy.Stale, For: 10 * time.Second, Times: 2},
		{View: proxy.Unobserved, For: time.Second, Times: 3}, {View: proxy.Replay, Times: 1000},
	} {
		for _, resource := range watched() {
			disturbance.Resources = []string{resource}
			plans = append(plans, plan{scenario: scenario, disturbance: disturbance})
		}
	}
	return plans
}

// watched returns the resources that the manager caches.
func watched() []string {
	return []string{
		"namespaces", "deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions", "pods",
		"changeworkloads", "changepods", "opsconfiginfoes", "controlledkinds", "changefreezes", "breakglasses",
		"releasepolicies", "releasegates", "changeapprovals", "changeverdicts", "verificationpolicies", "verificationsources", "changesubscriptions", "webapps",
	}
}

// share is a part of all plans, one of so many.
type share struct{ every, part int }

// middle is the part in the middle.
const middle = -1

// sample returns a share of some plans. Plans of a kind are adjacent, so that no kind is skipped by being in step with the share.
func sample[P any](plans []P, share share) []P {
	part := share.part
	if part == middle {
		part = share.every / 2
	}
	var kept []P
	for i := part; i < len(plans); i += share.every {
		kept = append(kept, plans[i])
	}
	return kept
}

// positions returns the positions of undisturbed runs, in the order of the first run that has them.
func positions(records []proxy.Record) (found []proxy.Position) {
	for _, record := range records {
		if !slices.Contains(found, record.Position) {
			found = append(found, record.Position)
		}
	}
	return found
}
