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
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// defaulter stamps releases: it sets the version of a new or changed pod template, numbers the release, records its
// author, pauses its rollout if it is to start on some nodes, consumes ignored-suspend, records the author of a rollback
// request, and restores the operator's keys. It has no side effects, so a dry run is safe.
type defaulter struct {
	kind workload.Kind
	// operator is the user name of the operator, which may write its own keys.
	operator string
	clock    clock.PassiveClock
	accounts *accounts
	past     *past
	freezes  *freezes
	paces    *paces
}

var _ admission.Handler = &defaulter{}

// Handle answers an admission review. It leaves alone objects that another object controls, unless the kind is declared otherwise.
func (d *defaulter) Handle(ctx context.Context, request admission.Request) admission.Response {
	updated, err := decode(request.Object)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	switch request.Operation {
	case admissionv1.Create:
		if d.excludes(updated) {
			return admission.Allowed("")
		}
		request.Name = cmp.Or(request.Name, updated.GetGenerateName()) // the API server makes the name later
		return d.create(ctx, request, updated)
	case admissionv1.Update:
		old, err := decode(request.OldObject)
		switch {
		case err != nil:
			return admission.Errored(http.StatusBadRequest, err)
		case d.excludes(old):
			return admission.Allowed("")
		}
		return d.update(ctx, request, old, updated)
	}
	return admission.Allowed("")
}

// excludes reports whether the kind itself decides that an object isn't under change control.
func (d *defaulter) excludes(object *unstructured.Unstructured) bool {
	_, decides := d.kind.(workload.Selective)
	return decides && !workload.Controls(d.kind, object)
}

// create stamps a new workload. It accounts for nothing, as no cache confirms a new object.
func (d *defaulter) create(ctx context.Context, request admission.Request, created *unstructured.Unstructured) admission.Response {
	released, err := workload.IsRelease(d.kind, nil, created.Object)
	if err != nil {
		return d.unreadable(request, err)
	}
	before := newMarks(d.kind, created)
	if before.isLeftAlone(marks{}) {
		return admission.Patched("", patch(d.kind, before, before.leftAlone(marks{}))...)
	}
	if before, err = before.letGo(); err != nil {
		return d.unreadable(request, err)
	}
	before.exempt = !released
	before.knownAs, before.gate = d.past.orphan(ctx, request.Namespace, created, before)
	given := before
	_, once := d.kind.(workload.Once)
	if once && before.mayBeStampedBy(request.UserInfo.Username, d.clock.Now()) { // an earlier call for this request may have removed its label
		given = before.beforeFirstCall(marks{})
	}
	after, err := stampNew(given, request.UserInfo.Username, d.clock.Now())
	if err != nil {
		return d.unversioned(request, err)
	}
	warnings, err := d.hold(ctx, request, given, &after)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if released {
		course := d.course(ctx, nil, before, start{request: request, object: before.object, number: 1, isNew: true})
		if course.denial != nil {
			return *course.denial
		}
		if err := after.settle(course, 1); err != nil {
			return d.unversioned(request, err)
		}
		warnings = append(warnings, course.warnings...)
	}
	return admission.Patched("", patch(d.kind, before, after)...).WithWarnings(append(warnings, selectorAdvice(d.kind, marks{}, before)...)...)
}

func (d *defaulter) update(ctx context.Context, request admission.Request, oldObject, updated *unstructured.Unstructured) admission.Response {
	old, before, err := marksOfUpdate(d.kind, oldObject, updated)
	if err != nil {
		return d.unreadable(request, err)
	}
	if before.isLeftAlone(old) {
		return admission.Patched("", patch(d.kind, before, before.leftAlone(old))...)
	}
	by := author{user: request.UserInfo.Username, isOperator: request.UserInfo.Username == d.operator}
	isRelease := before.releases(old)
	if by.isOperator && !isRelease && before.release().Number == old.release().Number {
		return admission.Allowed("")
	}
	known := d.accounts.known(ctx, request, oldObject.GetUID())
	if adjusted, _ := before.isAdjustedAfter(old); isRelease || adjusted || before.isStampedAfter(old) {
		if before, err = before.unsteered(old); err != nil {
			return d.unreadable(request, err)
		}
	}
	if isRelease {
		return d.release(ctx, request, known, old, before, by)
	}
	return d.adjust(ctx, request, known, old, before, by)
}

// release answers an update that is a release.
func (d *defaulter) release(ctx context.Context, request admission.Request, known client.Object, old, before marks, by author) admission.Response {
	var warnings []string
	var err error
	if !by.isOperator { // its rollbacks go to all nodes at once
		before.first, warnings = d.firstNodes(ctx, before)
	}
	if before.holdWith, err = workload.HoldWith(d.kind, old.object.Object, before.object.Object); err != nil {
		warnings = append(warnings, fmt.Sprintf("the rollout of this release can't be held: %s", err))
	}
	next := decide.NextRelease(old.annotations)
	named, err := before.name(by, next)
	if err != nil {
		return d.unversioned(request, err)
	}
	version := named.version
	verified := d.past.wasVerified(ctx, known, old, version)
	if by.isOperator || verified {
		before.gate = d.past.gateOf(ctx, old.object, version)
	}
	if !by.isOperator {
		asked := start{request: request, object: holding(before.object, before.holdWith), known: known, before: old.annotations, number: next}
		facts := decide.Admission{Ignored: before.beforeFirstCall(old).ignores(old), Verified: verified}
		if asked.judgement, err = d.past.judge(ctx, known, old, before, version, facts, d.clock.Now()); err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		if asked.refused != nil {
			before.knownAs = asked.refused.Version
		}
		before.course = d.course(ctx, &old, before, asked)
		if before.course.denial != nil {
			return *before.course.denial
		}
		phrase := d.freezes.phrase(asked)
		warnings = slices.Concat(warnings, before.course.warnings, d.past.warned(ctx, phrase, known, old, version), requestAdvice(phrase, old, before, next))
	}
	after, err := stampUpdate(old, before, by, d.clock.Now())
	if err != nil {
		return d.unversioned(request, err)
	}
	d.accounts.take(ctx, decisionStamped, request, known, after.release())
	return admission.Patched("", patch(d.kind, before, after)...).WithWarnings(slices.Concat(warnings, pauseAdvice(after))...)
}

// adjust answers an update that is no release: it restores what the author may not change, and records requests.
func (d *defaulter) adjust(ctx context.Context, request admission.Request, known client.Object, old, before marks, by author) admission.Response {
	phrase, warnings := workload.Phrase(d.kind, request.Name), selectorAdvice(d.kind, old, before)
	if before.startsParked(old) && !by.isOperator {
		release := old.release().Number
		paced, err := d.paces.present(ctx, old)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		before.course = d.freezes.courseOf(ctx, start{
			request: request, object: before.object, known: known, before: old.annotations, number: release,
			parked: appv1alpha1.FrozenOf(old.annotations, release), paced: paced,
		})
		if before.course.denial != nil {
			return *before.course.denial
		}
		warnings = append(warnings, before.course.warnings...)
	}
	after, err := stampUpdate(old, before, by, d.clock.Now())
	if err != nil {
		return d.unversioned(request, err)
	}
	if !by.isOperator {
		advice, err := d.paces.keep(ctx, phrase, old, &after)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		rest, err := d.paces.restAgain(phrase, old, &after)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		warnings = slices.Concat(warnings, advice, rest, goOnAdvice(phrase, old, before))
	}
	warnings = slices.Concat(warnings, keptKeys(old, before, after), labelAdvice(old, before))
	return admission.Patched("", patch(d.kind, before, after)...).WithWarnings(warnings...)
}

// course returns what becomes of a release that a user makes. old is nil for a new workload.
func (d *defaulter) course(ctx context.Context, old *marks, updated marks, asked start) course {
	paced, warnings, err := d.paces.decide(ctx, d.freezes.phrase(asked), old, updated, asked.Verified)
	if err != nil {
		return failed(err)
	}
	if asked.paced = paced; paced != nil {
		paced.setRest(d.freezes.phrase(asked), d.freezes.obstacle(asked))
	}
	result := d.freezes.courseOf(ctx, asked)
	result.warnings = slices.Concat(warnings, result.warnings)
	return result
}

// courseOf returns what becomes of a start. It is denied if the freezes can't be read.
func (f *freezes) courseOf(ctx context.Context, asked start) course {
	decided, err := f.decide(ctx, asked)
	if err != nil {
		return failed(err)
	}
	return decided
}

func failed(err error) course {
	response := admission.Errored(http.StatusInternalServerError, err)
	return course{denial: &response}
}

func (d *defaulter) unreadable(request admission.Request, err error) admission.Response {
	return admission.Errored(http.StatusUnprocessableEntity, fmt.Errorf("%s: %w", workload.Phrase(d.kind, request.Name), err))
}

func (d *defaulter) unversioned(request admission.Request, err error) admission.Response {
	return admission.Errored(http.StatusUnprocessableEntity,
		fmt.Errorf("%s: its release version can't be computed: %w", workload.Phrase(d.kind, request.Name), err))
}

// keptKeys warns a user whose update, without being a release, would have changed keys of the operator. It leaves out the keys
// that the webhook itself changes: rollback-by comes and goes with the user's own request.
func keptKeys(old, updated, stamped marks) []string {
	if updated.releases(old) || updated.isStampedAfter(old) {
		return nil
	}
	var kept []string
	for _, key := range appv1alpha1.OwnedLabels() {
		if old.labels[key] != updated.labels[key] {
			kept = append(kept, key)
		}
	}
	for _, key := range append(appv1alpha1.OwnedAnnotations(), appv1alpha1.AnnotationGoOnReason, appv1alpha1.AnnotationRollbackReason) {
		if old.annotations[key] != updated.annotations[key] && old.annotations[key] == stamped.annotations[key] {
			kept = append(kept, key)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return []string{"not changed, since only the operator writes them: " + strings.Join(kept, ", ")}
}

// decode keeps all fields of the object, also those that our types lack.
func decode(raw runtime.RawExtension) (*unstructured.Unstructured, error) {
	object := map[string]any{}
	if err := json.Unmarshal(raw.Raw, &object); err != nil { // this decoder keeps large integers exact
		return nil, fmt.Errorf("decoding the object of the admission review: %w", err)
	}
	return &unstructured.Unstructured{Object: object}, nil
}
