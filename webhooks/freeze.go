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

package webhooks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// freezes decides what the ChangeFreezes that are on make of releases.
type freezes struct {
	kind   workload.Kind
	reader freeze.Reader
	// live reads BreakGlasses from the API server: one is often used right after its creation.
	live     client.Reader
	accounts *accounts
	clock    clock.PassiveClock
}

func newFreezes(options Options, past *past, accounts *accounts) *freezes {
	return &freezes{
		reader: freeze.Reader{Namespaces: options.Reader, Freezes: options.Reader, Namespace: options.Namespace},
		live:   past.live, accounts: accounts, clock: options.Clock,
	}
}

// of returns the freezes for workloads of one kind.
func (f freezes) of(kind workload.Kind) *freezes {
	f.kind, f.accounts = kind, f.accounts.of(kind)
	return &f
}

// start is a release, or the end of the pause of a parked one.
type start struct {
	request admission.Request
	object  *unstructured.Unstructured
	// known is the workload from the cache; nil if the cache doesn't confirm the request.
	known client.Object
	// before are the annotations of the workload before the request.
	before map[string]string
	// number is that of the release.
	number int64
	// parked is the freeze that parked a release whose pause the request ends; nil if the release begins with the request.
	parked *appv1alpha1.Frozen
	// isNew reports whether the workload begins with the request.
	isNew bool
	// judgement is of a release of a workload that isn't new.
	judgement
	// paced is how it is rolled out in steps; nil if it isn't.
	paced *pacing
}

// course is what becomes of a start.
type course struct {
	// denial is nil if it is admitted.
	denial   *admission.Response
	warnings []string
	// frozen is the freeze that parks the release, pass is how it passes by a BreakGlass, paced is how it is rolled out in steps; each
	// is nil if it doesn't.
	frozen *appv1alpha1.Frozen
	pass   *appv1alpha1.BreakGlassPass
	paced  *pacing
}

// decide returns what becomes of a start: it is admitted, parked, paced, or denied, and it may pass by a BreakGlass.
func (f *freezes) decide(ctx context.Context, asked start) (course, error) {
	found, err := f.reader.Of(ctx, f.kind, asked.object, f.clock.Now())
	if err != nil {
		return course{}, err
	}
	turn := f.turn(asked, found)
	found = slices.DeleteFunc(found, func(freeze freeze.Found) bool { return !freeze.Active || freeze.Excepts(asked.request.UserInfo) })
	reasons, warnings := f.reasonsOf(asked, found, turn)
	facts := f.factsOf(asked)
	facts.Waits = len(turn) > 0
	if len(found) > 0 { // the strictest comes first
		facts.Freeze = found[0].Spec.Action
	}
	result := course{}
	answer := decide.Admit(facts)
	if len(answer.Stops) > 0 {
		glass, with, pending, err := f.glassFor(ctx, asked, facts)
		switch {
		case err != nil && !answer.OnlySlows():
			return course{}, fmt.Errorf("%w: try again", err)
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("%s: it is rolled out in steps, whatever they override", err))
		}
		if glass != nil {
			answer = with
			result.pass, warnings = f.pass(ctx, asked, glass, with.Uses, reasons, warnings)
		}
		if answer.Denied == appv1alpha1.OverrideFreeze {
			if facts.Freeze == appv1alpha1.FreezePark {
				pending = append([]string{"it can't be parked: " + f.obstacle(asked)}, pending...)
			}
			return f.denied(ctx, asked, answer.Stops, reasons, pending), nil
		}
		warnings = append(warnings, pending...)
	}
	if answer.Denied == appv1alpha1.OverrideSuspension { // the validating webhook decides on that
		facts.Suspended, facts.Refused = false, false
		answer = decide.Admit(facts)
	}
	if answer.Park {
		result.frozen, warnings = f.parked(ctx, asked, found, append(warnings, reasons[appv1alpha1.OverrideFreeze]...))
	}
	if answer.Pace {
		result.paced, warnings = asked.paced, append(warnings, asked.paced.warnings...)
	}
	result.warnings = warnings
	return result, nil
}

// factsOf returns what is known of a start, except for freezes.
func (f *freezes) factsOf(asked start) decide.Admission {
	facts := asked.Admission
	facts.Resumes, facts.MayPark = asked.parked != nil, f.obstacle(asked) == ""
	facts.Steps, facts.Approvals = asked.paced != nil, asked.paced != nil && asked.paced.approvals() != ""
	return facts
}

// turn returns what a parked release waits for after its freeze, empty for other releases and for the users that the freeze excepts.
func (f *freezes) turn(asked start, found []freeze.Found) []string {
	if asked.parked == nil || slices.ContainsFunc(found, func(freeze freeze.Found) bool {
		return slices.Contains(asked.parked.By, freeze.Describe().By) && freeze.Excepts(asked.request.UserInfo)
	}) {
		return nil
	}
	return []string{fmt.Sprintf("%s waits for its turn after ChangeFreeze %s", f.phrase(asked), strings.Join(asked.parked.By, ", "))}
}

// reasonsOf returns the sentences for what stops or slows a start, and warnings of freezes that don't.
func (f *freezes) reasonsOf(
	asked start, found []freeze.Found, turn []string,
) (reasons map[appv1alpha1.BreakGlassOverride][]string, warnings []string) {
	reasons = map[appv1alpha1.BreakGlassOverride][]string{appv1alpha1.OverrideSuspension: {asked.sentence(f.phrase(asked))}}
	for _, one := range found {
		sentence := fmt.Sprintf("%s is frozen: %s", f.phrase(asked), one.Describe().Sentence())
		if one.Spec.Action == appv1alpha1.FreezeWarn {
			warnings = append(warnings, sentence+"; it is admitted all the same")
			continue
		}
		reasons[appv1alpha1.OverrideFreeze] = append(reasons[appv1alpha1.OverrideFreeze], sentence)
	}
	if len(reasons[appv1alpha1.OverrideFreeze]) == 0 {
		reasons[appv1alpha1.OverrideFreeze] = turn
	}
	if asked.paced != nil {
		reasons[appv1alpha1.OverridePace] = []string{asked.paced.steps()}
		reasons[appv1alpha1.OverrideApproval] = []string{asked.paced.approvals()}
	}
	return reasons, warnings
}

// obstacle returns why the pause of a release doesn't keep it, and it alone, from starting; empty if it does.
func (f *freezes) obstacle(asked start) string {
	pauser, pauses := f.kind.(workload.Pauser)
	_, dormant := f.kind.(workload.Dormant)
	_, recurs := f.kind.(workload.Trier)
	switch {
	case !pauses:
		return "its rollout can't be held"
	case asked.isNew && !dormant:
		return "a pause doesn't keep its first pods from starting"
	case pauser.Paused(asked.object):
		return ""
	case recurs && !asked.isNew:
		return "its present schedule would stop until the freeze ends"
	case len(pauser.Pause(asked.object)) == 0:
		return "its rollout can't be held"
	}
	return ""
}

// parked returns the mark of a release that is parked, or stays parked.
func (f *freezes) parked(ctx context.Context, asked start, found []freeze.Found, warnings []string) (*appv1alpha1.Frozen, []string) {
	if asked.parked != nil {
		return asked.parked, append(warnings, "the release stays parked: it starts by itself")
	}
	f.accounts.take(ctx, decisionParked, asked.request, asked.known, decide.Release{Number: asked.number})
	return freeze.Mark(found, asked.number), append(warnings, "the release is parked: it starts when the freeze ends")
}

// denied returns the denial of a start by a freeze. more are further sentences of it.
func (f *freezes) denied(
	ctx context.Context, asked start, stops []appv1alpha1.BreakGlassOverride,
	reasons map[appv1alpha1.BreakGlassOverride][]string, more []string,
) course {
	f.accounts.take(ctx, decisionFrozen, asked.request, asked.known, decide.Release{Number: asked.number})
	var would, needed []string
	for _, stop := range stops {
		if stop == appv1alpha1.OverrideFreeze || stop == appv1alpha1.OverrideSuspension {
			would, needed = append(would, reasons[stop]...), append(needed, string(stop))
		}
	}
	advice := fmt.Sprintf("in an emergency, create a BreakGlass in namespace %s for %s %s with overrides [%s]",
		asked.request.Namespace, f.kind.GroupVersionKind().GroupKind(), asked.request.Name, strings.Join(needed, ", "))
	response := denied(f.phrase(asked)+" is frozen", strings.Join(append(would, more...), "; "), advice)
	return course{denial: &response}
}

func (f *freezes) pass(
	ctx context.Context, asked start, glass *appv1alpha1.BreakGlass, uses []appv1alpha1.BreakGlassOverride,
	reasons map[appv1alpha1.BreakGlassOverride][]string, warnings []string,
) (*appv1alpha1.BreakGlassPass, []string) {
	f.accounts.take(ctx, decisionBreakGlass, asked.request, asked.known, decide.Release{Number: asked.number})
	var would []string
	for _, use := range uses {
		would = append(would, reasons[use]...)
	}
	overrides := slices.Clone(uses)
	if before := appv1alpha1.BreakGlassPassOf(asked.before, asked.number); before != nil { // the release that it lets go on passed that
		overrides = append(overrides, slices.DeleteFunc(before.Overrides, func(one appv1alpha1.BreakGlassOverride) bool { return slices.Contains(uses, one) })...)
	}
	user := asked.request.UserInfo.Username
	return breakGlassPass(glass, user, f.clock.Now(), overrides, would), append(warnings, fmt.Sprintf(
		"%s passes by BreakGlass %s, which is recorded for %s, although %s", f.phrase(asked), glass.Name, user, strings.Join(would, "; ")))
}

func (f *freezes) phrase(asked start) string { return workload.Phrase(f.kind, asked.request.Name) }

// startsParked reports whether an update ends the pause of a release that is parked.
func (m marks) startsParked(old marks) bool {
	return old.paused && !m.beforeFirstCall(old).paused && old.isParked()
}

// settle marks a release by what becomes of it: how it passes by a BreakGlass, the freeze that parks it, and the steps in which it is
// rolled out.
func (m *marks) settle(course course, release int64) error {
	if course.pass != nil {
		if err := m.write(appv1alpha1.AnnotationBreakGlass, appv1alpha1.BreakGlassMark{Release: release, BreakGlassPass: *course.pass}); err != nil {
			return err
		}
	}
	if course.frozen != nil {
		m.annotations[appv1alpha1.AnnotationFrozen] = course.frozen.String()
		m.hold(release)
	}
	return m.pace(course.paced, release)
}

// hold pauses the rollout of a parked release unless it is paused already. A pause of the operator that a user has ended goes on as it was.
func (m *marks) hold(release int64) {
	pauser, ok := m.kind.(workload.Pauser)
	if !ok || m.paused {
		return
	}
	if m.isMarkedHeld() {
		m.paused = true
		return
	}
	m.pause(pauser)
	m.annotations[appv1alpha1.AnnotationHeld] = strconv.FormatInt(release, 10)
}

// pause pauses the rollout, and remembers the fields that this overwrites.
func (m *marks) pause(pauser workload.Pauser) {
	m.paused = true
	if originals := m.originalsOf(pauser); originals != "" {
		m.annotations[appv1alpha1.AnnotationHeldFrom] = originals
	}
}
