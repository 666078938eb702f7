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
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/podhealth"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// observeNodes reads the nodes of the new pods in trouble, which may come from there.
func (r *Reconciler) observeNodes(ctx context.Context, pods *checks.Scene) error {
	pods.Nodes = map[string]checks.Node{}
	for name := range nodesOf(pods.New) {
		node, err := scope.ReadNode(ctx, r.Live, name)
		if apierrors.IsForbidden(err) {
			ctrl.LoggerFrom(ctx).Info("Not permitted to read nodes: trouble of pods on a node that is not ready counts", "error", err.Error())
			return nil
		}
		if err != nil {
			return err
		}
		pods.Nodes[name] = node
	}
	return nil
}

// observeCauses looks for the trouble of new pods on others, so as not to blame a release for a common cause. It reads all pods, so it is only
// for releases that would fail.
func (r *Reconciler) observeCauses(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene, old []corev1.Pod) error {
	pods := result.Verification.Pods
	var all corev1.PodList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return fmt.Errorf("listing the pods beside those of ChangeWorkload %s/%s: %w", record.Namespace, record.Name, err)
	}
	nodes, own := nodesOf(pods.New), sets.Set[string]{}
	for _, pod := range append(old, result.pods...) {
		own.Insert(workloadOf(&pod))
	}
	troubles := podhealth.TroublesOf(pods, result.now)
	workloads := map[appv1alpha1.PodSignal]sets.Set[string]{}
	for i := range all.Items {
		pod := &all.Items[i]
		beside := pod.Namespace == record.Namespace || nodes.Has(pod.Spec.NodeName)
		if !beside || own.Has(workloadOf(pod)) {
			continue
		}
		for _, signal := range decide.SharedTroubles(pod, troubles, pods.Began, result.now) {
			if workloads[signal] == nil {
				workloads[signal] = sets.Set[string]{}
			}
			workloads[signal].Insert(workloadOf(pod))
		}
	}
	pods.Others = map[appv1alpha1.PodSignal]int{}
	for signal, in := range workloads {
		pods.Others[signal] = len(in)
	}
	return nil
}

// nodesOf returns the nodes of the pods in trouble.
func nodesOf(pods []checks.Pod) sets.Set[string] {
	nodes := sets.Set[string]{}
	for i := range pods {
		if pods[i].IsTroubled() && pods[i].Node != "" {
			nodes.Insert(pods[i].Node)
		}
	}
	return nodes
}

// templateHash ends the labels that tell the pods of the ReplicaSets of a workload apart. The names of these ReplicaSets end with their values.
const templateHash = "pod-template-hash"

// workloadOf identifies the workload of a pod, by its controller, or the pod if it has none. The ReplicaSets of a workload count as one: while it
// is rolled out, it has several.
func workloadOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return string(pod.UID)
	}
	name := owner.Name
	for label, hash := range pod.Labels {
		if strings.HasSuffix(label, templateHash) {
			name = strings.TrimSuffix(name, "-"+hash)
		}
	}
	return strings.Join([]string{pod.Namespace, owner.APIVersion, owner.Kind, name}, "/")
}
