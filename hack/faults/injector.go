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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// injectLabel marks the Deployments whose templates get injectedAnnotation.
	injectLabel        = "faults.altershield.io/inject"
	injectedAnnotation = "injected"
	// injectorName sorts behind that of the operator's webhook, which is then called again.
	injectorName = "zz-injector"
)

// createInjected creates a Deployment whose template the webhook completes, which is its first release.
func (s *stage) createInjected(ctx context.Context) error {
	return s.createLabelled(ctx, map[string]string{injectLabel: "true"})
}

// inject installs a mutating webhook as platforms use them, and waits until it is called.
func (h *half) inject(ctx context.Context, ca []byte) error {
	address, err := serve(ctx, http.HandlerFunc(injector), anyPort, h.dir)
	if err != nil {
		return err
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: injectorName},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "injector.faults.altershield.io",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + address), CABundle: ca},
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{injectLabel: "true"}},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			ReinvocationPolicy:      ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy),
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
			}},
		}},
	}
	if err := h.lab.Kube.Create(ctx, configuration); err != nil {
		return fmt.Errorf("installing the webhook %s: %w", injectorName, err)
	}
	return until(ctx, "an answer of the webhook "+injectorName, func(ctx context.Context) error {
		probe := lab.Deployment(metav1.NamespaceDefault, workloadName, 0)
		probe.Labels[injectLabel] = "true"
		if err := h.lab.Kube.Create(ctx, probe, client.DryRunAll); err != nil {
			return err
		}
		if probe.Spec.Template.Annotations[injectedAnnotation] == "" {
			return errors.New("it isn't called")
		}
		return nil
	})
}

// injector is the webhook: it adds its annotation to a pod template without it.
func injector(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	var deployment appsv1.Deployment
	err := json.NewDecoder(r.Body).Decode(&review)
	if err == nil && review.Request == nil {
		err = errors.New("a review without a request")
	}
	if err == nil {
		err = json.Unmarshal(review.Request.Object.Raw, &deployment)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if patch := injection(deployment.Spec.Template.Annotations); patch != nil {
		review.Response.Patch, review.Response.PatchType = patch, ptr.To(admissionv1.PatchTypeJSONPatch)
	}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // fails only if the API server is gone
}

// injection returns the JSON patch that adds the annotation to those of a pod template, nil if it has it.
func injection(annotations map[string]string) []byte {
	switch {
	case annotations[injectedAnnotation] != "":
		return nil
	case annotations == nil:
		return fmt.Appendf(nil, `[{"op":"add","path":"/spec/template/metadata/annotations","value":{%q:"true"}}]`, injectedAnnotation)
	}
	return fmt.Appendf(nil, `[{"op":"add","path":"/spec/template/metadata/annotations/%s","value":"true"}]`, injectedAnnotation)
}
