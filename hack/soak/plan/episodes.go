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

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

func (p *planner) pick(texts ...string) string { return texts[p.IntN(len(texts))] }

// good returns a new template for a place.
func (p *planner) good(at *place) Template {
	p.made++
	template := Template{Note: strconv.Itoa(p.made)}
	if p.IntN(4) == 0 {
		template.ReadyAfter = fmt.Sprintf("%ds", 1+p.IntN(3))
	}
	p.notes[at.namespace+at.name] = append(p.notes[at.namespace+at.name], template)
	return template
}

// earlier returns the template of one of the last releases, which are good as far as the plan knows.
func (p *planner) earlier(at *place) Template {
	known := p.notes[at.namespace+at.name]
	known = known[max(0, len(known)-5):]
	return known[p.IntN(len(known))]
}

// stuck returns a template whose pods don't start.
func (p *planner) stuck() Template {
	p.made++
	return Template{Note: strconv.Itoa(p.made), Start: p.pick("never", "config-error", "init", "crash", "crash-at-once")}
}

func (p *planner) create(at *place) Action {
	return Action{Kind: Create, Count: 1 + p.IntN(maxReplicas), Template: p.good(at)}
}

func (p *planner) release(at *place) Action { return Action{Kind: Release, Template: p.good(at)} }

func (p *planner) intrude(at *place) Action {
	ways := []string{"patch", "apply", "unlabel", "forge-record", "forge-rollback", "resume"}
	if at.namespace == p.options.Guarded {
		ways = append(ways, "ignored-suspend", "ignored-suspend")
	}
	return Action{Kind: Intrude, Template: p.good(at), Text: p.pick(ways...)}
}

// episode returns a short sequence of related actions at one place.
func (p *planner) episode(at *place) []Action {
	switch {
	case at.namespace == p.options.Outside:
		return []Action{p.release(at), {Kind: Scale, Count: p.IntN(maxReplicas + 1)}}
	case at.name == "":
		return p.governed(at)
	}
	stories := []func(*place) []Action{
		p.plain, p.plain, p.failed, p.failed, p.failed, p.byHand, p.stuckRelease, p.hasty, p.scaled, p.paused, p.edited, p.removed, p.recreated,
		p.evicted, p.evicted, p.created, p.created, p.decided, p.decided, p.checked, p.checked, p.broken,
	}
	if at.namespace == p.options.Approving {
		stories = append(stories, p.decided, p.decided, p.decided, p.decided)
	}
	return stories[p.IntN(len(stories))](at)
}

func (p *planner) plain(at *place) []Action {
	if p.IntN(3) == 0 {
		return []Action{{Kind: Release, Template: p.earlier(at)}}
	}
	return []Action{p.release(at)}
}

// failed returns a release with a bad verdict, attempts to release again, and a repair or rollback.
func (p *planner) failed(at *place) []Action {
	rule := Action{Kind: Rule, Text: p.pick("PRE FAIL", "POST FAIL", "PRE INCONC", "POST INCONC", "POST FAIL")}
	story := []Action{rule, p.release(at), p.intrude(at), p.intrude(at)}
	return append(story, p.wayOut(at)...)
}

func (p *planner) wayOut(at *place) []Action {
	switch p.IntN(6) {
	case 0, 1:
		return []Action{{Kind: Repair, Template: p.good(at)}}
	case 2:
		return []Action{{Kind: Release, Template: p.earlier(at)}}
	case 3:
		way := "true"
		if at.of == StatefulSet {
			way = p.pick("true", "park")
		}
		return []Action{{Kind: Rollback, Text: way}, p.intrude(at)}
	case 4:
		return []Action{{Kind: Withdraw}, p.release(at)}
	}
	return nil
}

// byHand returns a verdict by hand, with time to act on it before the next release.
func (p *planner) byHand(at *place) []Action {
	return append([]Action{{Kind: Fail}, {Kind: Edit, Text: strconv.Itoa(p.IntN(100))}, p.intrude(at)}, p.wayOut(at)...)
}

func (p *planner) stuckRelease(at *place) []Action {
	if at.of == WebApp { // its StatefulSet would stay stuck after a rollback
		return p.hasty(at)
	}
	story := []Action{{Kind: Release, Template: p.stuck()}}
	if p.IntN(2) == 0 {
		return append(story, Action{Kind: Edit, Text: strconv.Itoa(p.IntN(100))}, p.release(at))
	}
	return append(story, Action{Kind: Edit, Text: strconv.Itoa(p.IntN(100))}, Action{Kind: Edit, Text: strconv.Itoa(p.IntN(100))})
}

// hasty returns a release before the previous one is verified.
func (p *planner) hasty(at *place) []Action {
	return []Action{p.release(at), p.release(at), {Kind: Release, Template: p.earlier(at)}}
}

func (p *planner) scaled(at *place) []Action {
	if at.of == DaemonSet {
		return p.edited(at)
	}
	if p.IntN(2) == 0 {
		return []Action{{Kind: Scale, Count: 1 + p.IntN(maxReplicas)}}
	}
	return []Action{{Kind: Scale}, p.release(at), {Kind: Scale, Count: 1 + p.IntN(maxReplicas)}}
}

func (p *planner) paused(at *place) []Action {
	if at.of != Deployment {
		return p.hasty(at)
	}
	return []Action{{Kind: Pause}, p.release(at), {Kind: Resume}}
}

func (p *planner) edited(*place) []Action {
	return []Action{{Kind: Edit, Text: strconv.Itoa(p.IntN(100))}}
}

func (p *planner) removed(*place) []Action {
	kinds := []Kind{DeletePod, DeletePod, Evict, DeleteBatch, DeleteRecord}
	return []Action{{Kind: kinds[p.IntN(len(kinds))], Count: p.IntN(maxReplicas)}}
}

// evicted returns evictions of pods, most of them just checked, during a slow release.
func (p *planner) evicted(at *place) []Action {
	slow := p.good(at)
	slow.ReadyAfter = "4-16s"
	story := []Action{{Kind: Release, Template: slow}}
	for range 2 + p.IntN(2) {
		story = append(story, Action{Kind: Evict, Text: "ready"})
	}
	return append(story, Action{Kind: Evict, Count: p.IntN(maxReplicas)})
}

// created returns the creation of a workload that may be missing, as after a freeze that denied it.
func (p *planner) created(at *place) []Action { return []Action{p.create(at)} }

func (p *planner) recreated(at *place) []Action {
	return []Action{{Kind: Delete, Text: p.pick("Background", "Foreground")}, p.create(at)}
}

// disturbance returns a disturbance of the whole cluster. Lost verdicts and the like don't come so late that the end
// would have to wait for them, unless there is nothing but an end.
func (p *planner) disturbance() (Action, bool) {
	switch p.IntN(11) {
	case 0:
		return Action{Kind: Restart, Name: p.pick(Leader, Leader, Standby), Text: p.pick("SIGTERM", "SIGKILL")}, p.options.Restarts
	case 1:
		delay := time.Duration(1+p.IntN(4)) * time.Second
		if !p.options.Restarts {
			delay = time.Second
		}
		return Action{Kind: Outage, Delay: delay}, p.IntN(2) == 0
	case 2:
		return Action{Kind: Setting, Name: "branch", Text: p.pick("on", "off"), Count: 1 + p.IntN(3)}, true
	case 3:
		return Action{Kind: Setting, Name: "suspended-rollback", Text: p.pick("on", "off", "off")}, true
	case 4:
		return Action{Kind: Setting, Name: "finished-label", Text: p.pick("on", "off")}, true
	case 5:
		return Action{Kind: Clear}, true
	}
	kinds := []string{"callback-twice", "callback-early", "callback-late", "down", "drop", "hang", "status", "stage-timeout"}
	if left := p.options.Duration - p.planned; left > verdictWait || p.planned < p.options.Duration/4 {
		kinds = slices.Concat(kinds, []string{"callback-lost", "callback-wrong-sign"})
	}
	return Action{Kind: Fault, Text: p.pick(kinds...), Count: 1 + p.IntN(8)}, true
}
