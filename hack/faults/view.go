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
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
)

// disturb plays all scenarios at once while the view of one resource is disturbed: the manager watches a resource once for all
// namespaces.
func (m *matrix) disturb(ctx context.Context, chosen map[string]scenario, disturbance proxy.Disturbance) []result {
	var plans []plan
	for name := range chosen {
		plans = append(plans, plan{scenario: name, disturbance: disturbance})
	}
	m.api.Disturb(disturbance)
	m.nudge(ctx)
	results := m.all(ctx, chosen, plans, len(plans))
	for i := range results {
		results[i].reached = m.api.Disturbed() > 0
	}
	m.api.Disturb(proxy.Disturbance{})
	return results
}

// nudge changes a setting without effect here, so that settings have an event, too.
func (m *matrix) nudge(ctx context.Context) {
	setting := &appv1alpha1.OpsConfigInfo{}
	setting.Namespace, setting.Name = appv1alpha1.SystemNamespace, appv1alpha1.ConfigRefusal
	remark := fmt.Sprintf(`{"spec":{"remark":%q}}`, time.Now().Format(time.RFC3339Nano))
	// Without the event the plan counts as not reached.
	_ = m.lab.Kube.Patch(ctx, setting, client.RawPatch("application/merge-patch+json", []byte(remark)))
}
