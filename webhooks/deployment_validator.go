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

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/index"
	"github.com/traas-stack/altershield-operator/controllers/lifecycle"
)

// deploymentValidator denies releases of a suspended Deployment. Everything but a changed pod template passes, and so
// do a repair that ignores the suspension and the return to a version that was verified.
type deploymentValidator struct {
	// reader reads ChangeWorkloads from the cache.
	reader  client.Reader
	metrics *Metrics
}

var _ admission.Handler = &deploymentValidator{}

// Handle answers one admission review.
func (v *deploymentValidator) Handle(ctx context.Context, request admission.Request) admission.Response {
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
	if !old.suspended() || updated.template.equal(old.template) {
		return admission.Allowed("")
	}
	if record, ignored := admittedRepair(old, updated); ignored {
		v.metrics.count(decisionIgnored, request.DryRun)
		return admission.Allowed("").WithWarnings(fmt.Sprintf(
			"deployment %s stays suspended until this release is verified; the record says that %s let it through",
			request.Name, record.User))
	}
	workloads, err := index.ChangeWorkloadsOf(ctx, v.reader, request.Namespace, oldObject.GetUID())
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if lifecycle.IsVerified(workloads, updated.labels[appv1alpha1.LabelVersion]) {
		v.metrics.count(decisionReturned, request.DryRun)
		return admission.Allowed("").WithWarnings(fmt.Sprintf(
			"deployment %s returns to a verified version and stays suspended until its pods are checked again",
			request.Name))
	}
	v.metrics.count(decisionDenied, request.DryRun)
	return denied(request.Name, old.labels[appv1alpha1.LabelVersion], workloads)
}

// admittedRepair finds the record that the defaulter made for this very release.
func admittedRepair(old, updated marks) (appv1alpha1.IgnoredSuspend, bool) {
	record, found := appv1alpha1.IgnoredSuspendOf(updated.annotations)
	return record, found && record.Release == lifecycle.ReleaseNumber(old.annotations)+1 &&
		record.Version == updated.labels[appv1alpha1.LabelVersion]
}

// denied builds the documents' sentence, which kubectl prints from reason and message, and says in warnings what
// failed and how to get a repair in.
func denied(name, version string, workloads []appv1alpha1.ChangeWorkload) admission.Response {
	sentence := fmt.Sprintf("deployment %s is suspended", name)
	response := admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed: false,
		Result: &metav1.Status{
			Status:  metav1.StatusFailure,
			Code:    http.StatusForbidden,
			Reason:  metav1.StatusReason(sentence),
			Message: sentence,
		},
	}}
	return response.WithWarnings(lifecycle.DenialAdvice(workloads, version)...)
}
