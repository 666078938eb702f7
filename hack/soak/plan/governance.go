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

package plan

// governed returns a short sequence of actions on what governs the releases of a namespace.
func (p *planner) governed(at *place) []Action {
	stories := []func(*place) []Action{p.frozen, p.rechecked, p.rechecked}
	if at.namespace != p.options.Approving {
		stories = append(stories, p.repaced, p.repaced)
	}
	return stories[p.IntN(len(stories))](at)
}

// frozen returns a freeze that goes on for a while.
func (p *planner) frozen(*place) []Action {
	how := p.pick("Park", "Park", "Park Hold", "Deny", "Deny Hold", "Warn")
	story := []Action{{Kind: Freeze, Text: how}}
	for range 1 + p.IntN(3) {
		story = append(story, Action{Kind: Freeze, Text: how})
	}
	return append(story, Action{Kind: Thaw})
}

func (p *planner) repaced(*place) []Action {
	return []Action{{Kind: Pace, Text: p.pick("one", "half", "before", "soak", "undo", "park", "deadline", "")}}
}

func (p *planner) rechecked(*place) []Action {
	return []Action{{Kind: Check, Text: p.pick("health", "ask", "ask-before", "ask-after", "observe", "")}}
}

// decided returns a release whose next step is approved, denied, or passed without.
func (p *planner) decided(at *place) []Action {
	story := []Action{p.release(at)}
	switch p.IntN(4) {
	case 0:
		return append(story, Action{Kind: Decide, Text: "Deny"}, p.release(at), Action{Kind: Decide, Text: "Approve"})
	case 1:
		return append(story, Action{Kind: GoOn}, Action{Kind: Decide, Text: "Approve"})
	}
	return append(story, Action{Kind: Decide, Text: "Approve"})
}

// checked returns a release that fails by a check of a VerificationPolicy where there is one, and a way out.
func (p *planner) checked(at *place) []Action {
	if p.IntN(2) == 0 {
		answer := Action{Kind: Answer, Text: p.pick("Fail", "Inconclusive", "error", "slow"), Count: 1 + p.IntN(3)}
		return append([]Action{answer, p.release(at), p.intrude(at)}, p.wayOut(at)...)
	}
	story := append([]Action{p.release(at), {Kind: Crash, Count: p.IntN(maxReplicas)}, p.intrude(at)}, p.wayOut(at)...)
	return append(story, Action{Kind: Crash, Text: "end"})
}

// broken returns a release that may pass by a BreakGlass.
func (p *planner) broken(at *place) []Action {
	return []Action{{Kind: BreakGlass, Text: p.pick("Freeze", "Freeze", "Suspension", "Freeze Suspension", "Pace")}, p.release(at)}
}
