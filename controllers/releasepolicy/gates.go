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
package releasepolicy

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Finds out whether the API server adds the gates of paced releases.
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingadmissionpolicybindings,resourceNames=altershieldoperator-gates,verbs=get
// Finds out whether the webhook that adds the gates of paced releases is installed.
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=altershieldoperator-mutating-webhook-configuration,verbs=get

// What adds gates, as in config/gates and config/webhook.
const (
	bindingName       = "altershieldoperator-gates"
	configurationName = "altershieldoperator-mutating-webhook-configuration"
	webhookName       = "mpod.kb.io"
)

// gates returns what adds gates to pods, as a reason of the condition Gated.
func (r *Reconciler) gates(ctx context.Context) (string, error) {
	err := r.Live.Get(ctx, client.ObjectKey{Name: bindingName}, &admissionv1.MutatingAdmissionPolicyBinding{})
	switch {
	case err == nil:
		return appv1alpha1.ReasonGatedByPolicy, nil
	case !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err): // before Kubernetes 1.36 the kind isn't served
		return "", fmt.Errorf("reading MutatingAdmissionPolicyBinding %s: %w", bindingName, err)
	}
	var configuration admissionv1.MutatingWebhookConfiguration
	if err := r.Live.Get(ctx, client.ObjectKey{Name: configurationName}, &configuration); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading MutatingWebhookConfiguration %s: %w", configurationName, err)
	}
	if slices.ContainsFunc(configuration.Webhooks, func(webhook admissionv1.MutatingWebhook) bool { return webhook.Name == webhookName }) {
		return appv1alpha1.ReasonGatedByWebhook, nil
	}
	return appv1alpha1.ReasonNotGated, nil
}
