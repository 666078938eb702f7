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
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/lab/webapp"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

// install installs the kind WebApp, puts it under change control, and runs its controller.
func (h *half) install(ctx context.Context) error {
	if err := h.Apply(ctx, webapp.Manifest, cluster.WebhookEndpoint{}); err != nil {
		return err
	}
	go webapp.Controller{Kube: h.Kube, As: h.keeper.asUser}.Run(ctx)
	return nil
}

func ofDeclaredKinds() []scenario {
	return []scenario{
		// A release of a WebApp whose first pod fails. It is held by the declared fields, and the next release is denied. It goes on once the
		// verdict is withdrawn, is verified, and is rolled back on request.
		{name: "declared", declared: true, play: inTurn(
			declare, createWebApp, verified(1),
			slowRelease, ready(1), replaced, failed(1), suspended(2), held, denied,
			ready(1), checked(2), withdrawn(1), ready(1), verified(2), requestRollback, verified(3))},
		// WebApps are put under change control, and taken out of it while the rollout of one is held, which then goes on.
		{name: "undeclared", declared: true, objects: []string{"webapps.lab.altershield.io", kindsMutating, kindsValidating}, play: inTurn(
			declare, createWebApp, verified(1),
			slowRelease, ready(1), replaced, failed(1), suspended(2), held,
			undeclare, ready(1), ready(1))},
	}
}

// kindsMutating and kindsValidating are the configurations of the webhooks of declared kinds.
const (
	kindsMutating   = "altershieldoperator-kinds-mutating-webhook-configuration"
	kindsValidating = "altershieldoperator-kinds-validating-webhook-configuration"
)

// declare puts WebApps under change control, unless they are.
func declare(ctx context.Context, s *stage) error {
	controlled, err := webapp.Controlled()
	if err != nil {
		return err
	}
	return s.createReady(ctx, controlled, readyIn(&controlled.Status.Conditions))
}

// undeclare takes WebApps out of change control, and waits until the webhooks are no longer called for them.
func undeclare(ctx context.Context, s *stage) error {
	controlled := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: workload.ControlledKindName(s.kind)}}
	if err := s.write(ctx, "the end of the ControlledKind", func(ctx context.Context) error {
		return client.IgnoreNotFound(s.Kube.Delete(ctx, controlled))
	}); err != nil {
		return err
	}
	return until(ctx, "the end of the change control of "+controlled.Name, func(ctx context.Context) error {
		if err := s.Kube.Get(ctx, client.ObjectKeyFromObject(controlled), controlled); !apierrors.IsNotFound(err) {
			return cmp.Or(err, errors.New("its ControlledKind still exists"))
		}
		var mutating admissionregistrationv1.MutatingWebhookConfiguration
		var validating admissionregistrationv1.ValidatingWebhookConfiguration
		if err := errors.Join(
			s.Kube.Get(ctx, client.ObjectKey{Name: kindsMutating}, &mutating), s.Kube.Get(ctx, client.ObjectKey{Name: kindsValidating}, &validating),
		); err != nil {
			return err
		}
		return expect(!strings.Contains(fmt.Sprint(mutating.Webhooks, validating.Webhooks), controlled.Name), "its webhooks are still called")
	})
}

func createWebApp(ctx context.Context, s *stage) error {
	return s.created(ctx, webapp.New(s.namespace, workloadName, heldReplicas))
}
