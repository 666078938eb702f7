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

package verificationpolicy

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Creates the policy that the operator comes with.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=verificationpolicies,verbs=create,namespace=system
// Finds out whether that policy was created before, and remembers that it was.
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=altershieldoperator-kinds-mutating-webhook-configuration,verbs=get;update

const (
	// builtIn is the name of the policy that the operator comes with.
	builtIn = "builtin"
	// builtInWatch is how long it watches a verified release, in seconds: long enough for a crash loop, or a leak that a start shows.
	builtInWatch = 300
	// kindsMutating is the webhook configuration on which it is remembered that the policy was created, as in config/webhook.
	kindsMutating = "altershieldoperator-kinds-mutating-webhook-configuration"
)

// introduce creates the policy builtin once: if a user deletes it, it stays deleted. That it was created is kept on the mutating webhook
// configuration of the kinds; without that, it isn't created.
func (r *Reconciler) introduce(ctx context.Context) error {
	var configuration admissionv1.MutatingWebhookConfiguration
	for _, reader := range []client.Reader{r.Client, r.Live} { // the cache nearly always says that there is nothing to do
		err := reader.Get(ctx, client.ObjectKey{Name: kindsMutating}, &configuration)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading MutatingWebhookConfiguration %s: %w", kindsMutating, err)
		}
		if _, introduced := configuration.Annotations[appv1alpha1.AnnotationBuiltInPolicy]; introduced {
			return nil
		}
	}
	var record appv1alpha1.ChangeWorkloadList
	if err := r.Live.List(ctx, &record, client.Limit(1)); err != nil {
		return fmt.Errorf("looking for releases of an earlier installation: %w", err)
	}
	if err := r.create(ctx, BuiltIn(r.Namespace, len(record.Items) == 0)); err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&configuration.ObjectMeta, appv1alpha1.AnnotationBuiltInPolicy, r.Namespace+"/"+builtIn)
	if err := r.Client.Update(ctx, &configuration); err != nil {
		return fmt.Errorf("remembering in MutatingWebhookConfiguration %s that VerificationPolicy %s was created: %w", kindsMutating, builtIn, err)
	}
	return nil
}

func (r *Reconciler) create(ctx context.Context, policy *appv1alpha1.VerificationPolicy) error {
	err := r.Client.Create(ctx, policy)
	if apierrors.IsAlreadyExists(err) { // by a user, or by a process that ended before it remembered this
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating VerificationPolicy %s/%s: %w", policy.Namespace, policy.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Created the VerificationPolicy that the operator comes with", "verificationPolicy", policy.Name, "mode", policy.Spec.Mode)
	return nil
}

// BuiltIn returns the policy that the operator comes with. It checks the health of the pods of all releases, and delays none. Releases that
// a new version of the operator could check are only observed until a user asks for more.
func BuiltIn(namespace string, isNew bool) *appv1alpha1.VerificationPolicy {
	mode := appv1alpha1.CheckObserve
	if isNew {
		mode = appv1alpha1.CheckEnforce
	}
	return &appv1alpha1.VerificationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: builtIn},
		Spec: appv1alpha1.VerificationPolicySpec{
			NamespaceSelector: &metav1.LabelSelector{},
			VerificationTerms: appv1alpha1.VerificationTerms{
				Mode: mode, WatchSeconds: builtInWatch,
				Checks: []appv1alpha1.VerificationCheck{{Name: "pods", Type: appv1alpha1.CheckPodHealth}},
			},
		},
	}
}
