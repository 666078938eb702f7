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
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// leftovers are the traces of the operator that remain in the cluster.
type leftovers struct {
	// resume are the commands that resume the rollouts paused by the operator.
	resume []string
	// unknown are the declared kinds whose workloads can't be looked at.
	unknown []unknown
	// namespaces are the opted-in namespaces.
	namespaces []string
	// workloads are the kinds that have workloads with traces, and their numbers.
	workloads       []marked
	pods, revisions int
}

// marked counts the workloads of a kind with labels or annotations of the operator.
type marked struct {
	kind  workload.Kind
	count int
}

// survey finds the leftovers.
func (u *Uninstaller) survey(ctx context.Context) (leftovers, error) {
	left := leftovers{unknown: u.unknown}
	for _, kind := range u.kinds {
		found, err := index.List(ctx, u.client, kind)
		if err != nil {
			return left, fmt.Errorf("listing %ss: %w", kind.GroupVersionKind().Kind, err)
		}
		for _, object := range found {
			if err := left.add(kind, object); err != nil {
				return left, err
			}
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
	left.pods = len(pods)
	for _, recordLabel := range recordLabels() {
		revisions, err := u.list(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
			client.HasLabels{appv1alpha1.LabelVersion, recordLabel})
		if err != nil {
			return left, err
		}
		left.revisions += len(revisions)
	}
	return left, nil
}

// add counts a workload with labels or annotations of the operator.
func (l *leftovers) add(kind workload.Kind, object client.Object) error {
	if !slices.ContainsFunc(workloadLabels(), func(key string) bool { return has(object.GetLabels(), key) }) &&
		!slices.ContainsFunc(workloadAnnotations(), func(key string) bool { return has(object.GetAnnotations(), key) }) {
		return nil
	}
	if len(l.workloads) == 0 || l.workloads[len(l.workloads)-1].kind != kind {
		l.workloads = append(l.workloads, marked{kind: kind})
	}
	l.workloads[len(l.workloads)-1].count++
	if workload.IsHeld(kind, object) {
		command, err := workload.ResumeCommand(kind, object, appv1alpha1.OriginalsOf(object.GetAnnotations()))
		if err != nil {
			return err
		}
		if command != "" { // a user may have ended the pause in another way
			l.resume = append(l.resume, command)
		}
	}
	return nil
}

func has(keys map[string]string, key string) bool {
	_, found := keys[key]
	return found
}

func workloadLabels() []string {
	return append(appv1alpha1.OwnedLabels(), appv1alpha1.LabelIgnoredSuspend)
}

func workloadAnnotations() []string {
	return append(appv1alpha1.OwnedAnnotations(), appv1alpha1.AnnotationRollback, appv1alpha1.AnnotationRollbackReason, appv1alpha1.AnnotationGoOnReason)
}

// recordLabels returns the labels that distinguish the operator's ControllerRevisions from those of StatefulSets and DaemonSets, which carry a
// version as well.
func recordLabels() []string {
	return []string{appv1alpha1.LabelDeploymentName, appv1alpha1.LabelWorkload}
}

// String lists the leftovers and the commands that remove them.
func (l leftovers) String() string {
	var text strings.Builder
	text.WriteString("\nAlterShield Operator is removed. Workloads keep running.\n")
	if len(l.resume) > 0 {
		fmt.Fprintf(&text, "\nPAUSED ROLLOUTS: the operator paused %d because their releases failed, or wait for their first nodes. Resume them yourself:\n", len(l.resume))
		for _, command := range l.resume {
			fmt.Fprintf(&text, "  %s\n", command)
		}
	}
	for _, kind := range l.unknown {
		text.WriteString(kind.String())
	}
	if len(l.workloads)+l.pods+l.revisions+len(l.namespaces) == 0 {
		return text.String()
	}
	var parts []string
	for _, workloads := range l.workloads {
		parts = append(parts, fmt.Sprintf("%d %ss", workloads.count, workloads.kind.GroupVersionKind().Kind))
	}
	objects := fmt.Sprintf("%d pods", l.pods)
	if len(parts) > 0 {
		objects = strings.Join(parts, ", ") + " and " + objects
	}
	text.WriteString("\nThe following remains, without effect:\n")
	fmt.Fprintf(&text, "  labels and annotations on %s\n", objects)
	fmt.Fprintf(&text, "  %d ControllerRevisions with pod templates of verified releases, owned by their workloads\n", l.revisions)
	if len(l.namespaces) > 0 {
		fmt.Fprintf(&text, "  the label %s on the namespaces %s\n", appv1alpha1.LabelOptIn, strings.Join(l.namespaces, ", "))
	}
	text.WriteString("To remove it as well, unless an operator is to be installed again (no pod restarts, as the labels in pod templates stay):\n")
	for _, workloads := range l.workloads {
		fmt.Fprintf(&text, "  kubectl annotate %s -A --all %s\n", workload.ControlledKindName(workloads.kind), removals(workloadAnnotations()))
		fmt.Fprintf(&text, "  kubectl label %s -A --all %s\n", workload.ControlledKindName(workloads.kind), removals(workloadLabels()))
	}
	fmt.Fprintf(&text, "  kubectl label pods -A -l %[1]s %[1]s-\n", appv1alpha1.LabelOperateFinished)
	for _, recordLabel := range recordLabels() {
		fmt.Fprintf(&text, "  kubectl delete controllerrevisions -A -l %s,%s\n", appv1alpha1.LabelVersion, recordLabel)
	}
	fmt.Fprintf(&text, "  kubectl label namespaces -l %[1]s %[1]s-\n", appv1alpha1.LabelOptIn)
	return text.String()
}

// removals returns the kubectl arguments that remove keys.
func removals(keys []string) string { return strings.Join(keys, "- ") + "-" }
