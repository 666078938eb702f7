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

package controlledkind

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// problem is why webhooks aren't called, with the reason of a condition; nil if they are.
type problem struct{ reason, message string }

// admission is which webhooks are called: those of Deployments, and those of all other kinds.
type admission struct{ fixed, kinds *problem }

// denied reports whether the API server denied the change of the webhooks of the kinds.
func (a admission) denied() bool {
	return a.kinds != nil && a.kinds.reason == appv1alpha1.ReasonConfigurationDenied
}

// called returns the names of the mutating webhooks of the kinds.
func (r *Reconciler) called(ctx context.Context) (map[string]bool, error) {
	var configuration admissionregistrationv1.MutatingWebhookConfiguration
	if _, err := read(ctx, r.Client, kindsMutating, &configuration); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range configuration.Webhooks {
		names[configuration.Webhooks[i].Name] = true
	}
	return names, nil
}

// admit writes the webhook configurations of the kinds.
func (r *Reconciler) admit(ctx context.Context, enforced []workload.Kind) (admission, error) {
	var fixedMutate, ownMutate admissionregistrationv1.MutatingWebhookConfiguration
	mutate, err := follow(ctx, r,
		configuration[admissionregistrationv1.MutatingWebhook]{fixedMutating, &fixedMutate, &fixedMutate.Webhooks},
		configuration[admissionregistrationv1.MutatingWebhook]{kindsMutating, &ownMutate, &ownMutate.Webhooks},
		func(webhook *admissionregistrationv1.MutatingWebhook) (string, []byte) {
			return webhook.Name, webhook.ClientConfig.CABundle
		},
		func(template *admissionregistrationv1.MutatingWebhook) ([]admissionregistrationv1.MutatingWebhook, error) {
			return mutatingEntries(enforced, template, r.Operator)
		})
	if err != nil {
		return admission{}, err
	}
	var fixedValidate, ownValidate admissionregistrationv1.ValidatingWebhookConfiguration
	validate, err := follow(ctx, r,
		configuration[admissionregistrationv1.ValidatingWebhook]{fixedValidating, &fixedValidate, &fixedValidate.Webhooks},
		configuration[admissionregistrationv1.ValidatingWebhook]{kindsValidating, &ownValidate, &ownValidate.Webhooks},
		func(webhook *admissionregistrationv1.ValidatingWebhook) (string, []byte) {
			return webhook.Name, webhook.ClientConfig.CABundle
		},
		func(template *admissionregistrationv1.ValidatingWebhook) ([]admissionregistrationv1.ValidatingWebhook, error) {
			return validatingEntries(enforced, template)
		})
	return admission{fixed: firstOf(mutate.fixed, validate.fixed), kinds: firstOf(mutate.kinds, validate.kinds)}, err
}

// configuration is a webhook configuration with webhooks of type W.
type configuration[W any] struct {
	name     string
	object   client.Object
	webhooks *[]W
}

// follow writes the webhook configuration of the kinds, which follows the webhook of Deployments in another: if this is missing, no webhook
// is called for any kind. While it has no CA bundle, the other is left as it is. view returns the name and the CA bundle of a webhook.
func follow[W any](
	ctx context.Context, r *Reconciler, fixed, own configuration[W], view func(*W) (name string, bundle []byte),
	entriesOf func(template *W) ([]W, error),
) (admission, error) {
	if _, err := read(ctx, r.Client, fixed.name, fixed.object); err != nil {
		return admission{}, err
	}
	found, err := read(ctx, r.Client, own.name, own.object)
	if err != nil {
		return admission{}, err
	}
	var seen admission
	var template *W
	if template, seen.fixed = templateOf(fixed, view); template != nil && seen.fixed != nil {
		seen.kinds = seen.fixed
		return seen, nil
	}
	if !found {
		seen.kinds = missing(own.name)
		return seen, nil
	}
	seen.kinds = seen.fixed
	entries, err := entriesOf(template)
	if err != nil || equality.Semantic.DeepEqual(*own.webhooks, entries) {
		return seen, err
	}
	*own.webhooks = entries
	err = r.Client.Update(ctx, own.object)
	if scope.IsDenied(err) {
		ctrl.LoggerFrom(ctx).Error(err, "The webhooks of the kinds can't be changed", "configuration", own.name)
		seen.kinds = &problem{appv1alpha1.ReasonConfigurationDenied, err.Error()}
		return seen, nil
	}
	if err != nil {
		return seen, fmt.Errorf("writing webhook configuration %s: %w", own.name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Changed the webhooks of the kinds", "configuration", own.name, "webhooks", len(entries))
	return seen, nil
}

// templateOf returns the webhook of Deployments, nil if there is none, and why it isn't called.
func templateOf[W any](fixed configuration[W], view func(*W) (name string, bundle []byte)) (*W, *problem) {
	for i := range *fixed.webhooks {
		webhook := &(*fixed.webhooks)[i]
		switch name, bundle := view(webhook); {
		case name != mutateDeployments && name != validateDeployments:
			continue
		case len(bundle) == 0:
			return webhook, &problem{appv1alpha1.ReasonCABundleMissing, fmt.Sprintf("webhook configuration %s has no CA bundle yet", fixed.name)}
		}
		return webhook, nil
	}
	return nil, missing(fixed.name)
}

func missing(name string) *problem {
	return &problem{appv1alpha1.ReasonConfigurationMissing, fmt.Sprintf("webhook configuration %s is missing: apply config/default again", name)}
}

func firstOf(problems ...*problem) *problem {
	for _, problem := range problems {
		if problem != nil {
			return problem
		}
	}
	return nil
}
