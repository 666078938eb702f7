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

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// ofRevision maps a Pod, or an object between a workload and its pods, to the ChangeWorkload of the present release. It skips those of
// other releases, which a rollout removes, unless they have the label of gates. One that waits at a gate is mapped to both: its own may have none.
func (r *Reconciler) ofRevision(ctx context.Context, object client.Object) []reconcile.Request {
	owner, err := r.Kinds.Snapshot().OwnerOf(ctx, r.Client, object)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to find the workload of an object", "object", client.ObjectKeyFromObject(object))
		return nil
	}
	if owner == nil {
		return nil
	}
	present, versions := decide.ReleaseOf(owner.Object).Version, []string{owner.Version}
	switch {
	case owner.Version == present:
	case gateOf(object) != decide.GateOpen:
		versions = append(versions, present)
	case !hasGate(object):
		return nil
	}
	var found []reconcile.Request
	for _, version := range versions {
		found = append(found, reconcile.Request{NamespacedName: client.ObjectKey{
			Namespace: owner.Object.GetNamespace(), Name: workload.RecordName(owner.Kind, owner.Object.GetName(), version),
		}})
	}
	return found
}

// ofWorkload maps a workload to all its ChangeWorkloads: the current one and those of earlier releases.
func (r *Reconciler) ofWorkload(ctx context.Context, object client.Object) []reconcile.Request {
	workloads, err := index.RecordsOf(ctx, r.Client, object.GetNamespace(), object.GetUID())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the ChangeWorkloads of a workload", "workload", client.ObjectKeyFromObject(object))
		return nil
	}
	return requests(workloads, func(*appv1alpha1.ChangeWorkload) bool { return true })
}

func (r *Reconciler) inNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	return r.list(ctx, client.InNamespace(namespace.GetName()), isUnsettled)
}

// unsettledOnes maps the setting "finished-label", or the mode of a kind, to the releases that depend on it.
func (r *Reconciler) unsettledOnes(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.list(ctx, client.InNamespace(""), isUnsettled)
}

func isUnsettled(workload *appv1alpha1.ChangeWorkload) bool { return !decide.IsSettled(workload) }

// suspendedOnes maps the setting "blocking" to the releases that depend on it.
func (r *Reconciler) suspendedOnes(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.list(ctx, client.InNamespace(""), func(workload *appv1alpha1.ChangeWorkload) bool {
		return workload.Status.Status == appv1alpha1.ChangeWorkloadSuspend
	})
}

func (r *Reconciler) list(ctx context.Context, in client.InNamespace, keep func(*appv1alpha1.ChangeWorkload) bool) []reconcile.Request {
	var workloads appv1alpha1.ChangeWorkloadList
	err := r.Client.List(ctx, &workloads, in, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list ChangeWorkloads", "namespace", string(in))
		return nil
	}
	return requests(workloads.Items, keep)
}

func requests(workloads []appv1alpha1.ChangeWorkload, keep func(*appv1alpha1.ChangeWorkload) bool) []reconcile.Request {
	var result []reconcile.Request
	for i := range workloads {
		if keep(&workloads[i]) {
			result = append(result, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&workloads[i])})
		}
	}
	return result
}
