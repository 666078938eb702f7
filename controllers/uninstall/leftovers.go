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
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
)

// leftovers are the traces of the operator that remain in the cluster.
type leftovers struct {
	// held are the Deployments whose rollout is paused by the operator.
	held []client.ObjectKey
	// namespaces are the opted-in namespaces.
	namespaces                   []string
	deployments, pods, revisions int
}

// survey finds the leftovers.
func (u *Uninstaller) survey(ctx context.Context) (leftovers, error) {
	var left leftovers
	for _, kind := range u.kinds {
		found, err := index.List(ctx, u.client, kind)
		if err != nil {
			return left, fmt.Errorf("listing %ss: %w", kind.GroupVersionKind().Kind, err)
		}
		for _, object := range found {
			left.add(object, kind.Rollout(object).Paused)
		}
	}
	var namespaces corev1.NamespaceList
	if err := u.client.List(ctx, &namespaces, client.HasLabels{appv1alpha1.LabelOptIn}); err != nil {
		return left, fmt.Errorf("listing namespaces: %w", err)
	}
	for i := range namespaces.Items {
		left.namespaces = append(left.namespaces, namespaces.Items[i].Name)
	}
	pods, err := u.list(ctx, corev1.SchemeGroupVersion.WithKind("Pod"), client.HasLabels{appv1alpha1.LabelVersion})
	if err != nil {
		return left, err
	}
	revisions, err := u.list(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}, client.HasLabels{appv1alpha1.LabelVersion})
	left.pods, left.revisions = len(pods), len(revisions)
	return left, err
}

// add counts a workload with labels or annotations of the operator.
func (l *leftovers) add(workload client.Object, paused bool) {
	if !slices.ContainsFunc(deploymentLabels(), func(key string) bool { return has(workload.GetLabels(), key) }) &&
		!slices.ContainsFunc(deploymentAnnotations(), func(key string) bool { return has(workload.GetAnnotations(), key) }) {
		return
	}
	l.deployments++
	// An unreadable number belongs to no release, as does 0.
	release, err := strconv.ParseInt(workload.GetAnnotations()[appv1alpha1.AnnotationRelease], 10, 64)
	if err == nil && decide.HoldOf(workload, paused, release) == decide.Held {
		l.held = append(l.held, client.ObjectKeyFromObject(workload))
	}
}

func has(keys map[string]string, key string) bool {
	_, found := keys[key]
	return found
}

func deploymentLabels() []string {
	return []string{
		appv1alpha1.LabelVersion, appv1alpha1.LabelDefenseStatus, appv1alpha1.LabelSuspend, appv1alpha1.LabelIgnoredSuspend,
	}
}

func deploymentAnnotations() []string {
	return []string{
		appv1alpha1.AnnotationRelease, appv1alpha1.AnnotationReleasedBy, appv1alpha1.AnnotationIgnoredSuspendBy, appv1alpha1.AnnotationIgnoredSuspendRemoved,
		appv1alpha1.AnnotationRollback, appv1alpha1.AnnotationRollbackBy, appv1alpha1.AnnotationRollbacks, appv1alpha1.AnnotationHeld,
	}
}

// String lists the leftovers and the commands that remove them.
func (l leftovers) String() string {
	var text strings.Builder
	text.WriteString("\nAlterShield Operator is removed. Workloads keep running.\n")
	if len(l.held) > 0 {
		fmt.Fprintf(&text, "\nPAUSED ROLLOUTS: the operator paused %d because their releases failed. Resume them yourself:\n", len(l.held))
		for _, key := range l.held {
			fmt.Fprintf(&text, "  kubectl -n %s rollout resume deployment/%s\n", key.Namespace, key.Name)
		}
	}
	if l.deployments+l.pods+l.revisions+len(l.namespaces) == 0 {
		return text.String()
	}
	text.WriteString("\nThe following remains, without effect:\n")
	fmt.Fprintf(&text, "  labels and annotations on %d Deployments and %d pods\n", l.deployments, l.pods)
	fmt.Fprintf(&text, "  %d ControllerRevisions with pod templates of verified releases, owned by their Deployments\n", l.revisions)
	if len(l.namespaces) > 0 {
		fmt.Fprintf(&text, "  the label %s on the namespaces %s\n", appv1alpha1.LabelOptIn, strings.Join(l.namespaces, ", "))
	}
	text.WriteString("To remove it as well (no pod restarts, as the version label in pod templates stays):\n")
	fmt.Fprintf(&text, "  kubectl annotate deployments -A --all %s\n", removals(deploymentAnnotations()))
	fmt.Fprintf(&text, "  kubectl label deployments -A --all %s\n", removals(deploymentLabels()))
	fmt.Fprintf(&text, "  kubectl label pods -A -l %[1]s %[1]s-\n", appv1alpha1.LabelOperateFinished)
	fmt.Fprintf(&text, "  kubectl delete controllerrevisions -A -l %s\n", appv1alpha1.LabelVersion)
	fmt.Fprintf(&text, "  kubectl label namespaces -l %[1]s %[1]s-\n", appv1alpha1.LabelOptIn)
	return text.String()
}

// removals returns the kubectl arguments that remove keys.
func removals(keys []string) string { return strings.Join(keys, "- ") + "-" }
