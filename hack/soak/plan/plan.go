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

// Package plan plans the actions of a soak. A plan depends on its seed and its length only: the result of an action
// doesn't affect the next one.
package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Kind is a kind of action.
type Kind string

// The kinds of actions. By default they are those of an administrator.
const (
	// Create creates a workload with Count replicas, Delete deletes it with the propagation in Text.
	Create Kind = "create"
	Delete Kind = "delete"
	// Release changes the template, Repair does so with ignored-suspend, Intrude as a user who may not override a suspension, in
	// the way named by Text.
	Release Kind = "release"
	Repair  Kind = "repair"
	Intrude Kind = "intrude"
	// Rollback requests a rollback by annotation, or that the release is parked.
	Rollback Kind = "rollback"
	// Scale sets the replicas to Count, Pause and Resume set spec.paused, Edit sets a label and an annotation to Text.
	Scale  Kind = "scale"
	Pause  Kind = "pause"
	Resume Kind = "resume"
	Edit   Kind = "edit"
	// Fail gives the newest batch of the workload a bad verdict by hand, Withdraw withdraws all its bad verdicts.
	Fail     Kind = "fail"
	Withdraw Kind = "withdraw"
	// DeletePod, DeleteBatch and DeleteRecord delete one of the workload's pods, ChangePods or ChangeWorkloads, with the index Count.
	DeletePod    Kind = "delete-pod"
	DeleteBatch  Kind = "delete-changepod"
	DeleteRecord Kind = "delete-changeworkload"
	// Evict fails one of the workload's pods as a kubelet does that evicts it, with the index Count from the newest on, and only among the
	// ready ones if Text is "ready". Crash has one of them crash again and again, or ends that if Text is "end".
	Evict Kind = "evict-pod"
	Crash Kind = "crash-pod"
	// Rule adds a rule of the server for the workload's next check, with the stage and verdict in Text. Answer is what the plug-in answers
	// to the next Count questions about the workload.
	Rule   Kind = "rule"
	Answer Kind = "answer"
	// Freeze freezes the releases of a namespace, or goes on to, as Text says; Thaw ends that. BreakGlass lets a workload pass what Text names.
	Freeze     Kind = "freeze"
	Thaw       Kind = "thaw"
	BreakGlass Kind = "break-glass"
	// Pace and Check give the namespace the ReleasePolicy and the VerificationPolicy named by Text, or take it away if it is empty.
	Pace  Kind = "pace"
	Check Kind = "check"
	// Decide approves the present release of a workload or denies its next step, as Text says. GoOn passes its present step.
	Decide Kind = "decide"
	GoOn   Kind = "go-on"
	// Fault adds a fault of the server, Count times and named by Text; Clear removes all faults.
	Fault Kind = "fault"
	Clear Kind = "clear-faults"
	// Setting enables or disables the OpsConfigInfo Name by Text, with the content Count if that isn't 0.
	Setting Kind = "setting"
	// Restart restarts the manager in the role Name, with the signal in Text. Outage stops the API server for Delay.
	Restart Kind = "restart-manager"
	Outage  Kind = "restart-apiserver"
)

// Of is a kind of workload.
type Of string

// The kinds of workloads. A WebApp is a declared kind.
const (
	Deployment  Of = "Deployment"
	StatefulSet Of = "StatefulSet"
	DaemonSet   Of = "DaemonSet"
	WebApp      Of = "WebApp"
)

// Template is the change that a release makes to the pod template.
type Template struct {
	// Note makes the template unique.
	Note string
	// Start is how the pods fail to start, empty if they don't. ReadyAfter is when they are ready, empty for at once.
	Start, ReadyAfter string
}

// Action is one action of the actor.
type Action struct {
	Number int
	// Pause is how long the actor waits before it.
	Pause time.Duration
	Kind  Kind
	// Of is the kind of the workload, Namespace and Name are its own, or empty.
	Of              Of
	Namespace, Name string
	Template        Template
	Text            string
	Count           int
	Delay           time.Duration
}

// String returns a log line.
func (a Action) String() string {
	parts := []string{fmt.Sprintf("#%d", a.Number), string(a.Kind)}
	if a.Name != "" || a.Namespace != "" {
		parts = append(parts, strings.Trim(a.Namespace+"/"+a.Name, "/"))
	}
	for _, field := range [][2]string{
		{"text", a.Text}, {"note", a.Template.Note}, {"start", a.Template.Start}, {"ready-after", a.Template.ReadyAfter},
	} {
		if field[1] != "" {
			parts = append(parts, fmt.Sprintf("%s=%q", field[0], field[1]))
		}
	}
	if a.Count != 0 || a.Kind == Scale {
		parts = append(parts, fmt.Sprintf("count=%d", a.Count))
	}
	if a.Delay != 0 {
		parts = append(parts, "delay="+a.Delay.String())
	}
	return strings.Join(parts, " ")
}

// Options configure a plan.
type Options struct {
	Seed uint64
	// Duration is the sum of the pauses of the plan.
	Duration time.Duration
	// OptedIn are the namespaces under change control, Outside is one that isn't. Guarded is the opted-in namespace in which only
	// users with the permission can ignore a suspension. Approving is the one whose ReleasePolicy stays, with a step that needs an approval.
	OptedIn                     []string
	Guarded, Outside, Approving string
	// Restarts allows restarts of managers, and outages of the API server in which the leader loses its lease.
	Restarts bool
}

// Roles of managers.
const (
	Leader  = "leader"
	Standby = "standby"
)

const (
	// maxReplicas is the maximum number of the pods of a workload.
	maxReplicas = 4
	// Pauses between two actions.
	minPause, maxPause = 100 * time.Millisecond, 900 * time.Millisecond
	// verdictWait is how long a release waits for a lost verdict: two stages, until the poll.
	verdictWait = 4 * time.Minute
)

// New returns a plan.
func New(options Options) []Action {
	p := &planner{
		options: options, Rand: rand.New(rand.NewPCG(options.Seed, uint64(len(options.OptedIn)))), notes: map[string][]Template{},
	}
	for _, namespace := range options.OptedIn {
		p.places = append(p.places, &place{namespace: namespace})
		p.add(Deployment, namespace, "app-0")
		p.add(Deployment, namespace, "app-1")
		p.add(StatefulSet, namespace, "set-0")
		p.add(DaemonSet, namespace, "daemon-0")
		p.add(WebApp, namespace, "web-0")
	}
	p.add(Deployment, options.Outside, "app-0")
	for p.planned < options.Duration {
		p.next()
	}
	return p.actions
}

// place is a workload, or a namespace, with its next actions.
type place struct {
	of              Of
	namespace, name string
	coming          []Action
}

type planner struct {
	*rand.Rand
	options Options
	places  []*place
	actions []Action
	planned time.Duration
	// notes are the released templates of a place that weren't meant to fail.
	notes map[string][]Template
	made  int
}

func (p *planner) add(of Of, namespace, name string) {
	added := &place{of: of, namespace: namespace, name: name}
	added.coming = []Action{p.create(added)}
	p.places = append(p.places, added)
}

// next plans one action: occasionally one of the whole cluster, otherwise the next one at some place.
func (p *planner) next() {
	if p.IntN(14) == 0 {
		if disturbance, due := p.disturbance(); due {
			p.plan(disturbance)
			return
		}
	}
	at := p.places[p.IntN(len(p.places))]
	if len(at.coming) == 0 {
		at.coming = p.episode(at)
	}
	action := at.coming[0]
	at.coming = at.coming[1:]
	action.Of, action.Namespace, action.Name = at.of, at.namespace, at.name
	p.plan(action)
}

func (p *planner) plan(action Action) {
	action.Number = len(p.actions) + 1
	action.Pause = minPause + time.Duration(p.Int64N(int64(maxPause-minPause)))
	p.planned += action.Pause + action.Delay
	p.actions = append(p.actions, action)
}
