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
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/index"
	"github.com/traas-stack/altershield-operator/controllers/lifecycle"
	"github.com/traas-stack/altershield-operator/controllers/tracing"
)

// deploymentValidator denies releases of a suspended Deployment, and of a version that was rolled back and is refused.
// Everything but a changed pod template passes, and so do the operator's own rollback, a release that asks to pass, and in
// a suspension the return to a version that was verified. It changes nothing but its answer and, unless it is a dry run,
// reports what it refused.
type deploymentValidator struct {
	// reader reads ChangeWorkloads from the cache.
	reader client.Reader
	// operator is the user name of the operator itself, whose rollbacks pass.
	operator string
	clock    clock.PassiveClock
	recorder events.EventRecorder
	metrics  *Metrics
	tracer   *tracing.Tracer
}

var _ admission.Handler = &deploymentValidator{}

// Handle answers one admission review.
func (v *deploymentValidator) Handle(ctx context.Context, request admission.Request) admission.Response {
	began := v.clock.Now()
	if request.Operation != admissionv1.Update {
		return admission.Allowed("")
	}
	oldObject, err := decode(request.OldObject)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	updatedObject, err := decode(request.Object)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	old, updated := newMarks(oldObject), newMarks(updatedObject)
	if updated.template.Equal(old.template) || v.isOwnRollback(request, old, updated) {
		return admission.Allowed("")
	}
	if record, ignored := admittedRepair(old, updated); ignored {
		return v.letThrough(ctx, request, old, record)
	}
	asked := release{
		Release: updated.release(),
		request: request, began: began, deployment: oldObject.GetUID(),
		at: old.labels[appv1alpha1.LabelVersion], number: lifecycle.ReleaseNumber(old.annotations),
		rollbacks: appv1alpha1.RollbacksOf(old.annotations),
	}
	asked.refused = lifecycle.RefusalOf(asked.rollbacks, asked.Version, v.clock.Now())
	switch {
	case old.suspended():
		return v.whileSuspended(ctx, asked)
	case asked.refused != nil:
		v.turnAway(ctx, asked, decisionRefused, asked.refused.Release)
		sentence := refusalSentence(request.Name, asked.refused)
		v.report(asked, sentence)
		return denied(fmt.Sprintf("deployment %s refuses this version", request.Name), sentence, refusalAdvice(asked.refused)...)
	}
	return admission.Allowed("")
}

// release is what a request asks for.
type release struct {
	// Release is the one that is asked for.
	lifecycle.Release
	request admission.Request
	began   time.Time
	// deployment is released, and is at a version and at the release with a number.
	deployment types.UID
	at         string
	number     int64
	// rollbacks are those of the Deployment.
	rollbacks []appv1alpha1.Rollback
	// refused is the rollback that has the version refused, nil where it isn't.
	refused *appv1alpha1.Rollback
}

// isOwnRollback says whether the operator goes back to an earlier version, and says so itself.
func (v *deploymentValidator) isOwnRollback(request admission.Request, old, updated marks) bool {
	return request.UserInfo.Username == v.operator && updated.rollbackTo(lifecycle.NextRelease(old.annotations)) != nil
}

// letThrough admits a release that the defaulter recorded as one that ignores what denies it.
func (v *deploymentValidator) letThrough(ctx context.Context, request admission.Request, old marks, record appv1alpha1.IgnoredSuspend) admission.Response {
	release := lifecycle.Release{Version: record.Version, Number: record.Release}
	if !old.suspended() {
		v.metrics.tell(ctx, decisionRefusalIgnored, request, release)
		return admission.Allowed("").WithWarnings(fmt.Sprintf(
			"deployment %s takes version %s again, which was rolled back; the record says that %s let it through",
			request.Name, record.Version, record.User))
	}
	v.metrics.tell(ctx, decisionIgnored, request, release)
	return admission.Allowed("").WithWarnings(fmt.Sprintf(
		"deployment %s stays suspended until this release is verified; the record says that %s let it through",
		request.Name, record.User))
}

// whileSuspended lets nothing in but a verified version that isn't refused.
func (v *deploymentValidator) whileSuspended(ctx context.Context, asked release) admission.Response {
	request := asked.request
	workloads, err := index.ChangeWorkloadsOf(ctx, v.reader, request.Namespace, asked.deployment)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if asked.refused == nil && lifecycle.IsVerified(workloads, asked.Version) {
		v.metrics.tell(ctx, decisionReturned, request, asked.Release)
		return admission.Allowed("").WithWarnings(fmt.Sprintf(
			"deployment %s returns to a verified version and stays suspended until its pods are checked again",
			request.Name))
	}
	v.turnAway(ctx, asked, decisionDenied, asked.number)
	advice := lifecycle.DenialAdvice(workloads, asked.at, asked.rollbacks, v.clock.Now())
	if asked.refused != nil {
		sentence := refusalSentence(request.Name, asked.refused)
		v.report(asked, sentence)
		advice = append([]string{sentence}, advice...)
	}
	// The documents' sentence, which kubectl prints from reason and message.
	suspended := fmt.Sprintf("deployment %s is suspended", request.Name)
	return denied(suspended, suspended, advice...)
}

// admittedRepair finds the record that the defaulter made for this very release.
func admittedRepair(old, updated marks) (appv1alpha1.IgnoredSuspend, bool) {
	record, found := appv1alpha1.IgnoredSuspendOf(updated.annotations)
	return record, found && record.Release == lifecycle.NextRelease(old.annotations) &&
		record.Version == updated.labels[appv1alpha1.LabelVersion]
}

// turnAway counts, logs and traces a denial, which is due to the release with the given number.
func (v *deploymentValidator) turnAway(ctx context.Context, asked release, made decision, because int64) {
	v.metrics.tell(ctx, made, asked.request, asked.Release)
	if ptr.Deref(asked.request.DryRun, false) {
		return
	}
	wanted := tracing.Release{
		Deployment: asked.deployment, Namespace: asked.request.Namespace, Name: asked.request.Name, Version: asked.Version,
	}
	cause := wanted
	cause.Number = because
	v.tracer.Denied(wanted, cause, string(made), asked.began, v.clock.Now())
}

// denied forbids, and says in warnings what to do.
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
