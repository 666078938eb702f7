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

package opsconfiginfo

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/settings"
)

// Reconcile sets whether an OpsConfigInfo is in effect, and creates a missing one with its default.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var object appv1alpha1.OpsConfigInfo
	err := r.Client.Get(ctx, request.NamespacedName, &object)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.restore(ctx, request)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading OpsConfigInfo %s: %w", request, err)
	}
	before := object.DeepCopy()
	condition := settings.Assess(&object, r.Namespace, r.Clock.Now())
	if equality.Semantic.DeepEqual(before.Status, object.Status) {
		return ctrl.Result{}, nil
	}
	if err := r.Client.Status().Patch(ctx, &object, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, scope.IgnoreGone(fmt.Errorf("writing the status of OpsConfigInfo %s: %w", request, err))
	}
	previous := meta.FindStatusCondition(before.Status.Conditions, condition.Type)
	if condition.Status == metav1.ConditionTrue {
		ctrl.LoggerFrom(ctx).Info(condition.Message, "setting", object.Name, "reason", condition.Reason)
	}
	if condition.Status == metav1.ConditionFalse && (previous == nil || previous.Reason != condition.Reason) {
		r.Recorder.Record(events.ConfigIgnored(&object, condition.Message))
	}
	return ctrl.Result{}, nil
}

// restore creates a missing setting, at the first start or after a user deleted it.
func (r *Reconciler) restore(ctx context.Context, request ctrl.Request) error {
	spec, isSetting := settings.Defaults()[request.Name]
	if request.Namespace != r.Namespace || !isSetting {
		return nil
	}
	object := &appv1alpha1.OpsConfigInfo{
		ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name},
		Spec:       spec,
	}
	err := r.Client.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating OpsConfigInfo %s: %w", request, err)
	}
	r.Recorder.Record(events.ConfigRestored(object))
	return nil
}
