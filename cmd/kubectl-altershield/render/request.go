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

package render

import (
	"cmp"
	"strings"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// Question prints what a request does, and asks for it.
func Question(request view.Request, style Style) string {
	return join(style.request(request)) + style.text("ask")
}

// Request prints a request that was made. What it does was shown with the question.
func Request(request view.Request, style Style) string {
	var lines []string
	if request.DryRun {
		lines = style.request(request)
	}
	for _, warning := range request.Warnings {
		lines = append(lines, style.paragraph("warning", warning, yellow)...)
	}
	last := style.done(request)
	if request.DryRun {
		last = style.text("not.done")
	}
	return join(append(lines, last))
}

// request returns what a request does.
func (s Style) request(request view.Request) []string {
	lines := []string{s.does(request)}
	for _, change := range request.Changes {
		lines = append(lines, "  "+clean(change))
	}
	return append(lines, s.paragraph("reason", request.Reason, plain)...)
}

// does returns a sentence about what a request does.
func (s Style) does(request view.Request) string {
	name, at := request.Namespace+"/"+clean(request.Workload), s.releaseSide(request.From)
	switch request.Kind {
	case view.ParkRequest:
		return s.text("parks", name, at)
	case view.RepairRequest:
		return s.text("is.repaired", name, at, s.arrow(), s.releaseSide(request.To))
	case view.HoldRequest:
		return s.text("pauses", name, at)
	case view.ResumeRequest:
		return s.text("resumes", name, at)
	case view.GoOnRequest:
		if request.Step == "all" {
			return s.text("goes.on.all", name, at)
		}
		return s.text("goes.on", name, at, clean(request.Step))
	case view.ApproveRequest:
		return s.text("approves", name, at, cmp.Or(clean(request.By), "?"))
	case view.DenyRequest:
		return s.text("denies", name, at, cmp.Or(clean(request.By), "?"))
	case view.LockRequest:
		return s.text("locks", request.Namespace)
	case view.UnlockRequest:
		return s.text("unlocks", clean(request.Object), request.Namespace)
	case view.BreakGlassRequest:
		return s.text("breaks", request.Namespace)
	case view.SettingRequest:
		return s.text("sets", clean(request.Object))
	case view.VerdictRequest:
		return s.text("judges", clean(request.Object), request.Namespace)
	}
	return s.text("goes.back", name, at, s.arrow(), s.releaseSide(request.To))
}

// done returns a sentence about what was done.
func (s Style) done(request view.Request) string {
	object := clean(request.Object)
	switch request.Kind {
	case view.ParkRequest:
		return s.text("asked.park", object, request.Namespace)
	case view.RepairRequest:
		return s.text("repaired", object, request.Namespace)
	case view.HoldRequest:
		return s.text("is.paused", object, request.Namespace)
	case view.ResumeRequest:
		if len(request.Warnings) > 0 { // the operator may have kept its pause
			return s.text("resumed.perhaps", object, request.Namespace)
		}
		return s.text("resumed", object, request.Namespace)
	case view.ApproveRequest:
		return s.text("approved", object, request.Namespace)
	case view.DenyRequest:
		return s.text("denied.release", object, request.Namespace)
	case view.LockRequest:
		return s.text("locked", clean(strings.TrimPrefix(request.Object, "changefreeze/")), request.Namespace)
	case view.UnlockRequest:
		return s.text("unlocked", object, request.Namespace)
	case view.BreakGlassRequest:
		return s.text("broken", object, request.Namespace)
	case view.SettingRequest:
		return s.text("set", object)
	case view.VerdictRequest:
		return s.text("judged", object, request.Namespace)
	}
	return s.text("asked", object, request.Namespace)
}

// releaseSide returns a release and its version; the version alone where the release isn't known any more.
func (s Style) releaseSide(side view.Side) string {
	if side.Release == 0 {
		return shortVersion(side.Version)
	}
	return s.side(side)
}
