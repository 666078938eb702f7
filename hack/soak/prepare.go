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
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
	"github.com/traas-stack/altershield-operator/hack/lab/webapp"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/soak/plan"
)

// prepare creates what the actor needs: its users, the kind WebApp with its controller, and the plug-in as a source.
func (a *actor) prepare(ctx context.Context) (err error) {
	if a.intruder, err = a.intruderClient(ctx); err != nil {
		return err
	}
	if a.approver, err = a.lab.As(approver); err != nil {
		return err
	}
	declared, err := webapp.Kind()
	if err != nil {
		return err
	}
	a.kinds = map[plan.Of]workload.Kind{
		plan.Deployment: deployment.Kind{}, plan.StatefulSet: statefulset.Kind{}, plan.DaemonSet: daemonset.Kind{}, plan.WebApp: declared,
	}
	if err := a.lab.Apply(ctx, webapp.Manifest, cluster.WebhookEndpoint{}); err != nil {
		return err
	}
	go webapp.Controller{Kube: a.lab.Kube}.Run(ctx)
	var address string
	if a.plugin, address, err = servePlugin(ctx); err != nil {
		return err
	}
	source := &appv1alpha1.VerificationSource{ObjectMeta: governing(appv1alpha1.SystemNamespace)}
	source.Spec.Type, source.Spec.URL = appv1alpha1.SourceHTTP, address
	if err := a.lab.Kube.Create(ctx, source); err != nil {
		return fmt.Errorf("create the source: %w", err)
	}
	return a.lab.Enforced(ctx, "deployments.apps", "statefulsets.apps", "daemonsets.apps", "webapps.lab.altershield.io")
}

// intruderClient returns the client of a user who may only patch workloads.
func (a *actor) intruderClient(ctx context.Context) (client.Client, error) {
	verbs := []string{"get", "patch", "update"}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: intruder},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets", "daemonsets"}, Verbs: verbs},
			{APIGroups: []string{webapp.GroupVersionKind().Group}, Resources: []string{"webapps"}, Verbs: verbs},
		},
	}
	if err := a.lab.Kube.Create(ctx, role); err != nil {
		return nil, fmt.Errorf("create the intruder: %w", err)
	}
	config, err := a.lab.Account(ctx, intruder, intruder)
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: a.lab.Kube.Scheme()})
}
