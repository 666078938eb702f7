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

package uninstall

import (
	"context"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// checkNamespace returns an error if the webhooks are those of an operator in another namespace: without its admission and its records, it
// would run on. An operator without webhooks is half removed.
func (u *Uninstaller) checkNamespace(ctx context.Context) error {
	var list admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := u.client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing the ValidatingWebhookConfigurations: %w", err)
	}
	for _, configuration := range list.Items {
		if !strings.HasPrefix(configuration.Name, prefix) {
			continue
		}
		for _, webhook := range configuration.Webhooks {
			if service := webhook.ClientConfig.Service; service != nil && service.Namespace != u.Namespace {
				return fmt.Errorf("the operator isn't in namespace %s: the webhooks of ValidatingWebhookConfiguration %s are served in namespace %s: "+
					"run it with --namespace=%s", u.Namespace, configuration.Name, service.Namespace, service.Namespace)
			}
		}
	}
	return nil
}

// removeNamespace removes the namespace with its contents, if it was made for the operator: another may have more than the operator.
func (u *Uninstaller) removeNamespace(ctx context.Context) error {
	var namespace corev1.Namespace
	err := u.client.Get(ctx, client.ObjectKey{Name: u.Namespace}, &namespace)
	if err == nil && namespace.Name != appv1alpha1.SystemNamespace && namespace.Labels[labelName] != operatorLabel {
		fmt.Fprintf(u.out, "Namespace %s stays, as it has no label %s=%s: delete what remains of the operator in it\n", namespace.Name, labelName, operatorLabel)
		return u.removeManager(ctx)
	}
	if err == nil {
		err = u.client.Delete(ctx, &namespace)
	}
	if scope.IsGone(err) {
		return nil
	}
	if err != nil && !scope.IsConflict(err) { // a conflict means that it is already being deleted
		return fmt.Errorf("deleting namespace %s: %w", u.Namespace, err)
	}
	fmt.Fprintf(u.out, "deleted Namespace %s, waiting for its contents to be deleted\n", u.Namespace)
	err = u.await(ctx, namespaceTimeout, func(ctx context.Context) (bool, error) {
		err := u.client.Get(ctx, client.ObjectKeyFromObject(&namespace), &namespace)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("waiting for the deletion of namespace %s: %w%s", u.Namespace, err, obstacles(&namespace))
	}
	return nil
}

// obstacles returns the conditions that delay the deletion of a namespace.
func obstacles(namespace *corev1.Namespace) string {
	var text strings.Builder
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			text.WriteString("; " + condition.Message)
		}
	}
	return text.String()
}
