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

package changeworkload

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// Removes the verdicts on earlier releases of a version.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeverdicts,verbs=delete

// forgetVerdicts removes the ChangeVerdicts of earlier releases of a version, for which nothing waits any more.
func (r *Reconciler) forgetVerdicts(ctx context.Context, record *appv1alpha1.ChangeWorkload) error {
	verdicts, err := index.ChangeVerdictsOf(ctx, r.Client, record)
	if err != nil {
		return err
	}
	for i := range verdicts {
		verdict := &verdicts[i]
		if verdict.Spec.Release >= record.Spec.Release || verdict.DeletionTimestamp != nil {
			continue
		}
		// The next reconcile tries again what the cache shows still.
		err := r.Client.Delete(ctx, verdict, client.Preconditions{UID: &verdict.UID}, client.DisableReadYourWritesConsistency)
		if scope.IgnoreGone(err) != nil {
			return fmt.Errorf("removing ChangeVerdict %s/%s of an earlier release: %w", verdict.Namespace, verdict.Name, err)
		}
	}
	return nil
}

// reported passes ChangeVerdicts that get their verdict. The operator creates them, and one that is deleted is missed at the next look.
func reported() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, isOld := e.ObjectOld.(*appv1alpha1.ChangeVerdict)
			after, isNew := e.ObjectNew.(*appv1alpha1.ChangeVerdict)
			return isOld && isNew && before.Status == nil && after.Status != nil
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
