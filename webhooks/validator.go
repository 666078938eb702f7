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
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// validator denies releases of suspended workloads and of quarantined versions, and requests that break a rule of the kind. It admits
// updates that are no release, the operator's own rollbacks, releases with the label ignored-suspend, and during a suspension the return
// to a verified version. Its only side effect, except in a dry run, is to report denials.
type validator struct {
	kind workload.Kind
	// operator is the user name of the operator, whose rollbacks are admitted.
	operator string
	clock    clock.PassiveClock
	accounts *accounts
	past     *past
	freezes  *freezes
}

var _ admission.Handler = &validator{}

// Handle answers an admission review.
func (v *validator) Handle(ctx context.Context, request admission.Request) admission.Response {
	began := v.clock.Now()
	if _, ruled := v.kind.(workload.Ruled); !ruled && request.Operation != admissionv1.Update {
		return admission.Allowed("")
	}
	oldObject, updatedObject, err := decodeBoth(request)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if !v.controls(oldObject, updatedObject) {
		return admission.Allowed("")
	}
	request.Name = cmp.Or(updatedObject, oldObject).GetName() // the request has none where a whole collection is deleted, as with a namespace
	if violations := v.violations(request, oldObject, updatedObject); len(violations) > 0 {
		v.countViolation(ctx, request, oldObject, updatedObject)
		return denied(string(metav1.StatusReasonForbidden), v.phrase(request)+": "+strings.Join(violations, "; "))
	}
	if request.Operation != admissionv1.Update {
		return admission.Allowed("")
	}
	old, updated, err := marksOfUpdate(v.kind, oldObject, updatedObject)
	if err != nil {
		return admission.Errored(http.StatusUnprocessableEntity, fmt.Errorf("%s: %w", v.phrase(request), err))
	}
	if !updated.releases(old) {
		return v.adjusted(request, old, updated)
	}
	asked := release{
		Release: updated.release(), old: old, request: request, began: began,
		known: v.accounts.known(ctx, request, oldObject.GetUID()),
	}
	facts := decide.Admission{Own: v.isOwnRollback(request, old, updated)}
	_, facts.Ignored = admittedRepair(old, updated)
	passed := appv1alpha1.BreakGlassPassOf(updated.annotations, decide.NextRelease(old.annotations))
	facts.Glass, err = v.freezes.overrides(ctx, start{request: request, object: updatedObject}, passed)
	if err == nil {
		asked.judgement, err = v.past.judge(ctx, asked.known, old, updated, asked.Version, facts, v.clock.Now())
	}
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	switch answer := decide.Admit(asked.Admission); {
	case answer.Denied != "":
		return v.deny(ctx, asked)
	case answer.Ignores:
		return v.letThrough(ctx, asked, updated)
	case answer.Returns:
		v.accounts.take(ctx, decisionReturned, request, asked.known, asked.Release)
		return admission.Allowed("").WithWarnings(v.phrase(request) + " returns to a verified version and stays suspended until its pods are checked again")
	}
	return admission.Allowed("")
}

// adjusted denies an update that is no release if it lets another release go on, or none.
func (v *validator) adjusted(request admission.Request, old, updated marks) admission.Response {
	if denial := goOnDenial(v.phrase(request), old, updated); denial != "" {
		return denied(string(metav1.StatusReasonForbidden), denial)
	}
	return admission.Allowed("")
}

// release is a requested release.
type release struct {
	// Release is the requested release.
	decide.Release
	judgement
	// old are the marks of the current workload.
	old     marks
	request admission.Request
	began   time.Time
	// known is the workload from the cache; nil if the cache doesn't confirm the request.
	known client.Object
}

// phrase names the workload of a request.
func (v *validator) phrase(request admission.Request) string {
	return workload.Phrase(v.kind, request.Name)
}

// isOwnRollback reports whether the request comes from the operator and records a rollback.
func (v *validator) isOwnRollback(request admission.Request, old, updated marks) bool {
	return request.UserInfo.Username == v.operator && updated.rollbackTo(decide.NextRelease(old.annotations)) != nil
}

// letThrough admits a release whose override the defaulter recorded.
func (v *validator) letThrough(ctx context.Context, asked release, updated marks) admission.Response {
	record, _ := admittedRepair(asked.old, updated)
	request, release := asked.request, decide.Release{Version: record.Version, Number: record.Release}
	if !asked.Suspended {
		v.accounts.take(ctx, decisionRefusalIgnored, request, asked.known, release)
		return admission.Allowed("").WithWarnings(fmt.Sprintf(
			"%s: version %s was rolled back before and is released again; the override is recorded for %s",
			v.phrase(request), record.Version, record.User))
	}
	v.accounts.take(ctx, decisionIgnored, request, asked.known, release)
	warnings := []string{fmt.Sprintf("%s stays suspended until this release is verified; the override is recorded for %s",
		v.phrase(request), record.User)}
	if decide.IsIgnoredSuspendSpent(asked.old.annotations) {
		warnings = append(warnings, fmt.Sprintf("the label %s was also set at the previous release; %s",
			appv1alpha1.LabelIgnoredSuspend, takeOut(asked.old.noun())))
	}
	return admission.Allowed("").WithWarnings(warnings...)
}

// deny denies a release in a suspension or of a quarantined version.
func (v *validator) deny(ctx context.Context, asked release) admission.Response {
	phrase, sentence := v.phrase(asked.request), asked.sentence(v.phrase(asked.request))
	if !asked.Suspended {
		v.recordDenial(ctx, asked, decisionRefused, asked.refused.Release)
		return denied(phrase+" refuses this version", sentence, append(refusalAdvice(asked.old, asked.refused), spentAdvice(asked.old)...)...)
	}
	workloads, err := v.past.workloads(ctx, asked.known)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	v.recordDenial(ctx, asked, decisionDenied, decide.ReleaseNumber(asked.old.annotations))
	var advice []string
	if asked.refused != nil {
		advice = append(advice, refusalSentence(phrase, asked.refused))
	}
	rollbacks := appv1alpha1.RollbacksOf(asked.old.annotations)
	advice = append(advice, decide.DenialAdvice(asked.old.noun(), workloads, asked.old.release().Version, rollbacks, v.clock.Now())...)
	// kubectl prints the documented sentence from reason and message.
	return denied(sentence, sentence, append(advice, spentAdvice(asked.old)...)...)
}

// admittedRepair returns the record that the defaulter wrote for this release.
func admittedRepair(old, updated marks) (appv1alpha1.IgnoredSuspend, bool) {
	record, found := appv1alpha1.IgnoredSuspendOf(updated.annotations)
	return record, found && record.Release == decide.NextRelease(old.annotations) &&
		record.Version == updated.labels[appv1alpha1.LabelVersion]
}

// recordDenial counts, logs, traces and reports a denial that is due to the release with the number because.
func (v *validator) recordDenial(ctx context.Context, asked release, made decision, because int64) {
	if !v.accounts.take(ctx, made, asked.request, asked.known, asked.Release) {
		return
	}
	wanted := tracing.Release{Kind: v.kind.GroupVersionKind().Kind, Workload: asked.known.GetUID(), Namespace: asked.known.GetNamespace(), Name: asked.known.GetName()}
	if isVersion(asked.Version) {
		wanted.Version = asked.Version
	}
	cause := wanted
	cause.Number = because
	v.accounts.tracer.Denied(wanted, cause, string(made), asked.began, v.clock.Now())
	if asked.refused != nil {
		v.accounts.reportRefusal(asked.known, asked.refused.Version)
	}
}

// denied returns a denial with advice in its warnings.
func denied(reason, message string, advice ...string) admission.Response {
	response := admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed: false,
		Result: &metav1.Status{
			Status:  metav1.StatusFailure,
			Code:    http.StatusForbidden,
			Reason:  metav1.StatusReason(reason),
			Message: message,
		},
	}}
	return response.WithWarnings(advice...)
}
