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

package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
)

// podGates adds the gates of pods, as the MutatingAdmissionPolicy does where the API server has such policies: to a pod with the gate label
// whose version isn't verified in its namespace.
type podGates struct {
	// cache holds the ReleaseGates, live reads one that it doesn't show.
	cache, live client.Reader
}

var _ admission.Handler = &podGates{}

// Handle answers an admission review of a new pod.
func (p *podGates) Handle(ctx context.Context, request admission.Request) admission.Response {
	var pod corev1.Pod
	if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decoding a pod in namespace %s: %w", request.Namespace, err))
	}
	if pod.Labels[appv1alpha1.LabelGate] == "" {
		return admission.Allowed("")
	}
	gate, err := releaseGateOf(ctx, p.cache, p.live, request.Namespace)
	switch {
	case errors.Is(err, bounded.ErrTooManyReads): // a namespace whose steps are history scales up, which isn't held up
		return admission.Allowed("")
	case err != nil: // as the policy fails closed: a refused pod is created again moments later, one without its gate can't be held back any more
		return admission.Errored(http.StatusInternalServerError, err)
	case gate == nil:
		return admission.Allowed("")
	}
	if _, verified := gate.Spec.Verified[pod.Labels[appv1alpha1.LabelVersion]]; verified {
		return admission.Allowed("")
	}
	return admission.Patched("", gateOperations(&pod, gate.Spec.GatedFrom)...)
}

// releaseGateOf returns the ReleaseGate of a namespace, nil if there is none. It asks the API server where the cache shows none: the cache may
// lag behind a new one, and pods that came at once can't be held back any more.
func releaseGateOf(ctx context.Context, cache, live client.Reader, namespace string) (*appv1alpha1.ReleaseGate, error) {
	var gate appv1alpha1.ReleaseGate
	key := client.ObjectKey{Namespace: namespace, Name: appv1alpha1.ReleaseGateName}
	err := cache.Get(ctx, key, &gate, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	switch {
	case err == nil:
		return &gate, nil
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading the ReleaseGate of namespace %s: %w", namespace, err)
	}
	var gates appv1alpha1.ReleaseGateList
	if err := live.List(ctx, &gates, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the ReleaseGates of namespace %s on the API server: %w", namespace, err)
	}
	at := slices.IndexFunc(gates.Items, func(gate appv1alpha1.ReleaseGate) bool { return gate.Name == appv1alpha1.ReleaseGateName })
	if at < 0 {
		return nil, nil
	}
	return &gates.Items[at], nil
}

// gateOperations returns the operations that add the gates of a pod; none that it has.
func gateOperations(pod *corev1.Pod, gatedFrom map[string]int32) []jsonpatch.Operation {
	var operations []jsonpatch.Operation
	hasStart := slices.ContainsFunc(pod.Spec.SchedulingGates, func(gate corev1.PodSchedulingGate) bool { return gate.Name == appv1alpha1.PodGate })
	if startsByStep(pod, gatedFrom) && !hasStart && pod.Spec.NodeName == "" { // a pod that is bound can't be held back
		operations = adding("/spec/schedulingGates", len(pod.Spec.SchedulingGates), map[string]any{"name": appv1alpha1.PodGate})
	}
	hasReady := slices.ContainsFunc(pod.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool { return gate.ConditionType == appv1alpha1.PodGate })
	if pod.Labels[appv1alpha1.LabelGate] == appv1alpha1.GateReady && !hasReady {
		operations = append(operations, adding("/spec/readinessGates", len(pod.Spec.ReadinessGates), map[string]any{"conditionType": appv1alpha1.PodGate})...)
	}
	return operations
}

// startsByStep reports whether a pod gets a gate before it starts. Where the ReleaseGate has an ordinal for the version, a numbered pod gets
// it from there on, whatever the label asks for.
func startsByStep(pod *corev1.Pod, gatedFrom map[string]int32) bool {
	from, listed := gatedFrom[pod.Labels[appv1alpha1.LabelVersion]]
	if index, numbered := decide.IndexOf(pod); listed && numbered {
		return index >= from
	}
	return pod.Labels[appv1alpha1.LabelGate] == appv1alpha1.GateStart
}

// adding returns the operation that adds an element to a list of some length.
func adding(path string, length int, element map[string]any) []jsonpatch.Operation {
	if length == 0 {
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", path, []any{element})}
	}
	return []jsonpatch.Operation{jsonpatch.NewOperation("add", path+"/-", element)}
}
