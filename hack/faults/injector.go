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
	"fmt"
	"net/http"

	"gomodules.xyz/jsonpatch/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

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
func createInjected(ctx context.Context, s *stage) error {
	return s.createLabelled(ctx, map[string]string{injectLabel: "true"})
}

// inject installs a mutating webhook as platforms use them, and waits until it is called.
func (h *half) inject(ctx context.Context) error {
	address, err := serve(ctx, &admission.Webhook{Handler: admission.HandlerFunc(injector)}, anyPort, h.dir)
	if err != nil {
		return err
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: injectorName},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "injector.faults.altershield.io",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + address), CABundle: h.authority},
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
	if err := h.Kube.Create(ctx, configuration); err != nil {
		return fmt.Errorf("installing the webhook %s: %w", injectorName, err)
	}
	return until(ctx, "an answer of the webhook "+injectorName, func(ctx context.Context) error {
		probe := lab.Deployment(metav1.NamespaceDefault, workloadName, 0)
		probe.Labels[injectLabel] = "true"
		if err := h.Kube.Create(ctx, probe, client.DryRunAll); err != nil {
			return err
		}
		return expect(probe.Spec.Template.Annotations[injectedAnnotation] != "", "it isn't called")
	})
}

// injector is the webhook: it adds its annotation to a pod template without it.
func injector(_ context.Context, request admission.Request) admission.Response {
	var deployment appsv1.Deployment
	if err := json.Unmarshal(request.Object.Raw, &deployment); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	const at = "/spec/template/metadata/annotations"
	switch annotations := deployment.Spec.Template.Annotations; {
	case annotations == nil:
		return admission.Patched("", jsonpatch.NewOperation("add", at, map[string]string{injectedAnnotation: "true"}))
	case annotations[injectedAnnotation] == "":
		return admission.Patched("", jsonpatch.NewOperation("add", at+"/"+injectedAnnotation, "true"))
	}
	return admission.Allowed("")
}
