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

package scope

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Fills the cache with the kinds of workloads and their modes, which the webhooks of every replica read.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=controlledkinds,verbs=list;watch
// Checks the mode of a kind before a held rollout is resumed: the cache may lag.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=controlledkinds,verbs=get

// Controlled reports whether the workloads of a kind in a namespace are under change control: the kind is enforced and the namespace is
// opted in.
func Controlled(ctx context.Context, reader client.Reader, kind workload.Kind, namespace string) (bool, error) {
	enforced, err := workload.Enforced(ctx, reader, kind)
	if err != nil || !enforced {
		return false, err
	}
	return OptedIn(ctx, reader, namespace)
}

// Observed reports whether the workloads of a kind in a namespace are observed: the mode of the kind is Observe and the namespace is opted in.
func Observed(ctx context.Context, reader client.Reader, kind workload.Kind, namespace string) (bool, error) {
	mode, err := workload.Mode(ctx, reader, kind)
	if err != nil || mode != appv1alpha1.ModeObserve {
		return false, err
	}
	return OptedIn(ctx, reader, namespace)
}

// ModeChanged passes ControlledKinds whose workloads may have come or gone under change control.
func ModeChanged() predicate.Predicate { return Changed(workload.ModeOf) }

// LeftControl reports whether the API server confirms that workloads of a kind in a namespace, which the cache shows as not under change
// control, aren't: the kind is not enforced, or the namespace is opted out.
func LeftControl(ctx context.Context, live client.Reader, kind workload.Kind, namespace string) (bool, error) {
	enforced, err := workload.Enforced(ctx, live, kind)
	if err != nil || !enforced {
		return err == nil, err
	}
	return OptedOut(ctx, live, namespace)
}
