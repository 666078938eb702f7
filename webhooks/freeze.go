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
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	object  client.Object
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
	// suspension is why the release is denied if no freeze is on, empty if it isn't.
	suspension string
}

// course is what becomes of a start.
type course struct {
	// denial is nil if it is admitted.
	denial   *admission.Response
	warnings []string
	// frozen is the freeze that parks the release, broken is how it passes by a BreakGlass; nil if neither.
	frozen *appv1alpha1.Frozen
	broken *appv1alpha1.BreakGlassPass
}

// decide returns what becomes of a start: it is admitted, parked, or denied, or it passes by a BreakGlass.
func (f *freezes) decide(ctx context.Context, asked start) (course, error) {
	found, err := f.reader.Of(ctx, f.kind, asked.object, f.clock.Now())
	if err != nil {
		return course{}, err
	}
	var warnings, would []string
	parks, turn := true, f.turn(asked, found)
	found = slices.DeleteFunc(found, func(freeze freeze.Found) bool { return !freeze.Active || freeze.Excepts(asked.request.UserInfo) })
	for _, one := range found {
		sentence := fmt.Sprintf("%s is frozen: %s", f.phrase(asked), one.Describe().Sentence())
		if one.Spec.Action == appv1alpha1.FreezeWarn {
			warnings = append(warnings, sentence+"; it is admitted all the same")
			continue
		}
		would, parks = append(would, sentence), parks && one.Spec.Action == appv1alpha1.FreezePark
	}
	if len(would) == 0 {
		would = turn
	}
	needed := overrides(len(would) > 0, asked.suspension != "")
	if len(needed) == 0 {
		return course{warnings: warnings}, nil
	}
	if asked.suspension != "" {
		would = append(would, asked.suspension)
	}
	glass, pending, err := f.glassFor(ctx, asked, needed, nil)
	if err != nil {
		return course{}, err
	}
	if glass != nil {
		return f.broken(ctx, asked, glass, would, warnings), nil
	}
	warnings = append(warnings, pending...)
	switch {
	case !slices.Contains(needed, appv1alpha1.OverrideFreeze): // the validating webhook decides
		return course{warnings: warnings}, nil
	case !parks:
		return f.denied(ctx, asked, append(would, pending...), needed), nil
	case asked.parked != nil:
		warnings = append(append(warnings, would...), "the release stays parked: it starts by itself")
		return course{frozen: asked.parked, warnings: warnings}, nil
	}
	if obstacle := f.obstacle(asked); obstacle != "" {
		return f.denied(ctx, asked, append(append(would, "it can't be parked: "+obstacle), pending...), needed), nil
	}
	return f.parked(ctx, asked, freeze.Mark(found, asked.number), append(warnings, would...)), nil
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

func overrides(frozen, suspended bool) (needed []appv1alpha1.BreakGlassOverride) {
	if frozen {
		needed = append(needed, appv1alpha1.OverrideFreeze)
	}
	if suspended {
		needed = append(needed, appv1alpha1.OverrideSuspension)
	}
	return needed
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
		return "its first pods would start"
	case pauser.Paused(asked.object):
		return ""
	case recurs && !asked.isNew:
		return "its present schedule would stop until the freeze ends"
	case len(pauser.Pause(asked.object)) == 0:
		return "its rollout can't be held"
	}
	return ""
}

func (f *freezes) parked(ctx context.Context, asked start, mark *appv1alpha1.Frozen, warnings []string) course {
	f.accounts.take(ctx, decisionParked, asked.request, asked.known, decide.Release{Number: asked.number})
	return course{frozen: mark, warnings: append(warnings, "the release is parked: it starts when the freeze ends")}
}

func (f *freezes) denied(ctx context.Context, asked start, would []string, needed []appv1alpha1.BreakGlassOverride) course {
	f.accounts.take(ctx, decisionFrozen, asked.request, asked.known, decide.Release{Number: asked.number})
	advice := fmt.Sprintf("in an emergency, create a BreakGlass in namespace %s for %s %s with overrides %s",
		asked.request.Namespace, f.kind.GroupVersionKind().GroupKind(), f.name(asked), strings.ReplaceAll(fmt.Sprint(needed), " ", ", "))
	response := denied(f.phrase(asked)+" is frozen", strings.Join(would, "; "), advice)
	return course{denial: &response}
}

func (f *freezes) broken(ctx context.Context, asked start, glass *appv1alpha1.BreakGlass, would, warnings []string) course {
	f.accounts.take(ctx, decisionBroken, asked.request, asked.known, decide.Release{Number: asked.number})
	return course{
		broken: breakGlassPass(glass, asked.request.UserInfo.Username, f.clock.Now(), would),
		warnings: append(warnings, fmt.Sprintf("%s passes by BreakGlass %s, which is recorded for %s, although %s",
			f.phrase(asked), glass.Name, asked.request.UserInfo.Username, strings.Join(would, "; "))),
	}
}

func (f *freezes) phrase(asked start) string { return workload.Phrase(f.kind, f.name(asked)) }

func (f *freezes) name(asked start) string {
	return cmp.Or(asked.request.Name, asked.object.GetName(), asked.object.GetGenerateName())
}

// startsParked reports whether an update ends the pause of a release that is parked.
func (m marks) startsParked(old marks) bool {
	return old.paused && !m.beforeFirstCall(old).paused && appv1alpha1.FrozenOf(old.annotations, old.release().Number) != nil
}

// settle marks a release by what becomes of it: how it passes by a BreakGlass, or the freeze that parks it, which pauses its rollout unless
// that is paused already. A pause of the operator that a user has ended goes on as it was.
func (m *marks) settle(given marks, course course, release int64) error {
	if course.broken != nil {
		if err := m.write(appv1alpha1.AnnotationBreakGlass, appv1alpha1.BreakGlassMark{Release: release, BreakGlassPass: *course.broken}); err != nil {
			return err
		}
	}
	if course.frozen == nil {
		return nil
	}
	m.annotations[appv1alpha1.AnnotationFrozen] = course.frozen.String()
	pauser, ok := m.kind.(workload.Pauser)
	if !ok || m.paused {
		return nil
	}
	m.paused = true
	if isHeld(m.annotations) {
		return nil
	}
	originals := m.originals // of the pause of the previous release, which goes on, or of the first call's
	if !given.paused && !pauser.Paused(m.object) {
		originals = pauser.Originals(m.object)
	}
	if originals != "" {
		m.annotations[appv1alpha1.AnnotationHeldFrom] = originals
	}
	m.annotations[appv1alpha1.AnnotationHeld] = strconv.FormatInt(release, 10)
	return nil
}
