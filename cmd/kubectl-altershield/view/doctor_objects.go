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

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	// longSuspended is how long a workload may be suspended until doctor reminds of it.
	longSuspended = 4 * time.Hour
	// longDeleted is how long a finalizer may keep an object: an order is given up after a minute.
	longDeleted = 5 * time.Minute
	// longUnchecked is how long doctor tells of a batch that was not checked. Clusters may keep Events for longer.
	longUnchecked = time.Hour
	// longUnseen is how long an object may be without its condition.
	longUnseen = time.Minute
)

// Conditioned is an object of a kind that has a condition.
type Conditioned struct {
	metav1.ObjectMeta
	Kind       Kind
	Conditions []metav1.Condition
}

// name returns the object as people call it.
func (c Conditioned) name() string {
	return c.Kind.Name + " " + strings.TrimPrefix(c.Namespace+"/"+c.Name, "/")
}

// describe returns the command that shows it.
func (c Conditioned) describe() string {
	return "kubectl describe " + arguments(c.Kind.Resource, c.Namespace, c.Name)
}

// isSwitchedOff reports whether a user wants the object to have no effect.
func (c Conditioned) isSwitchedOff(condition *metav1.Condition) bool {
	return c.Kind.Name == "ChangeSubscription" && condition.Reason == appv1alpha1.ReasonSubscriptionSuspended
}

// arguments returns an object as arguments of kubectl.
func arguments(resource, namespace, name string) string {
	if namespace == "" {
		return resource + " " + name
	}
	return fmt.Sprintf("%s %s -n %s", resource, name, namespace)
}

// objects examines the condition of settings, policies, freezes, sources, subscriptions and kinds.
func (i Installation) objects() []Finding {
	unread := i.Objects.unread(TopicObjects)
	var findings []Finding
	for _, object := range i.Objects.Items {
		if meta.FindStatusCondition(object.Conditions, object.Kind.Condition) == nil && i.now().Sub(object.CreationTimestamp.Time) > longUnseen {
			findings = append(findings, problem(TopicObjects, i.describe(), ObjectUnseen, object.name(), object.Kind.Condition))
		}
		for _, name := range []string{object.Kind.Condition, appv1alpha1.ConditionGated} { // a ReleasePolicy needs both
			condition := meta.FindStatusCondition(object.Conditions, name)
			if condition != nil && condition.Status == metav1.ConditionFalse && condition.ObservedGeneration >= object.Generation && !object.isSwitchedOff(condition) {
				findings = append(findings, problem(TopicObjects, object.describe(), ObjectNotReady, object.name(), condition.Type, condition.Reason, condition.Message))
			}
		}
	}
	if len(findings)+len(unread) == 0 {
		return []Finding{ok(TopicObjects, ObjectsFine, count(len(i.Objects.Items)))}
	}
	return append(findings, unread...)
}

// namespaces examines what is under change control. A Deployment that was there before its namespace was opted in gets its version with its next
// release, so that none is a problem.
func (i Installation) namespaces() []Finding {
	if findings := i.Namespaces.unread(TopicNamespaces); findings != nil {
		return findings
	}
	const label = "kubectl label namespace %s " + appv1alpha1.LabelOptIn + "=" + appv1alpha1.OptInEnabled
	var findings []Finding
	in := i.OptedIn()
	for _, namespace := range i.Namespaces.Items {
		if value := namespace.Labels[appv1alpha1.LabelOptIn]; value != appv1alpha1.OptInEnabled {
			findings = append(findings, note(TopicNamespaces, fmt.Sprintf(label, namespace.Name)+" --overwrite", NamespaceMislabelled, namespace.Name, value))
		}
	}
	if len(in) == 0 {
		return append(findings, note(TopicNamespaces, fmt.Sprintf(label, "NAME"), NamespacesNone))
	}
	findings = append(findings, ok(TopicNamespaces, NamespacesIn, count(len(in)), some(in)))
	var unstamped []string
	for _, deployment := range i.Unstamped.Items {
		if slices.Contains(in, deployment.Namespace) {
			unstamped = append(unstamped, deployment.Namespace+"/"+deployment.Name)
		}
	}
	if len(unstamped) > 0 {
		findings = append(findings, note(TopicNamespaces, "", NeverStamped, count(len(unstamped)), some(unstamped)))
	}
	return append(findings, i.Unstamped.unread(TopicNamespaces)...)
}

// OptedIn returns the namespaces whose workloads are under change control.
func (i Installation) OptedIn() []string {
	var names []string
	for _, namespace := range i.Namespaces.Items {
		isExempt := namespace.Name == i.Namespace || namespace.Name == metav1.NamespaceSystem
		if namespace.Labels[appv1alpha1.LabelOptIn] == appv1alpha1.OptInEnabled && namespace.DeletionTimestamp == nil && !isExempt {
			names = append(names, namespace.Name)
		}
	}
	return names
}

// TrialDeployment returns a Deployment to create by a dry run.
func TrialDeployment(namespace string) *unstructured.Unstructured {
	labels := map[string]any{"app": "altershield-doctor"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": namespace, "name": "altershield-doctor"},
		"spec": map[string]any{
			"replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "trial", "image": "altershield-doctor:dry-run"}}},
			},
		},
	}}
}

// order examines whether AlterShield Server takes orders and checks batches.
func (i Installation) order() []Finding {
	if findings := i.Records.unread(TopicOrder); findings != nil {
		return findings
	}
	var findings []Finding
	for _, record := range newest(i.Records.Items) {
		ordered := meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionOrdered)
		if ordered == nil || ordered.Status == metav1.ConditionTrue || record.Status.ObservedRelease != record.Spec.Release || !isTrouble(ordered.Reason) {
			continue
		}
		of := record.Workload()
		findings = append(findings, problem(TopicOrder, "kubectl describe "+arguments("changeworkload", record.Namespace, record.Name), OrderNotOpen,
			record.Namespace+"/"+of.Name, ordered.Reason, ordered.Message))
	}
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Values[0], b.Values[0]) })
	for k := range i.Unchecked.Items {
		event := &i.Unchecked.Items[k]
		if i.now().Sub(timeOfEvent(event).Time) > longUnchecked {
			continue
		}
		findings = append(findings, problem(TopicOrder, "kubectl describe "+arguments("changeworkload", event.Namespace, event.InvolvedObject.Name),
			BatchUnchecked, event.Namespace, event.Message))
	}
	unread := i.Unchecked.unread(TopicOrder)
	if len(findings)+len(unread) == 0 {
		return []Finding{ok(TopicOrder, OrdersFine)}
	}
	return append(findings, unread...)
}

// isTrouble reports whether a reason of the condition Ordered asks for a person.
func isTrouble(reason string) bool {
	return slices.Contains([]string{
		appv1alpha1.ReasonServerUnavailable, appv1alpha1.ReasonUnauthorized, appv1alpha1.ReasonOrderRefused, appv1alpha1.ReasonOrderUnknown,
	}, reason)
}

// blocking tells that a setting keeps failed releases from being suspended.
func (i Installation) blocking() []Finding {
	if !i.NotBlocking {
		return nil
	}
	help := "kubectl altershield settings blocking on"
	if i.Namespace != appv1alpha1.SystemNamespace {
		help += " --operator-namespace " + i.Namespace
	}
	return []Finding{note(TopicSuspended, help, BlockingOff)}
}

// suspended examines how long workloads are suspended.
func (i Installation) suspended() []Finding {
	if findings := i.Records.unread(TopicSuspended); findings != nil {
		return findings
	}
	var findings []Finding
	for _, release := range ListOf(i.Records.Items, Filter{Suspended: true}).Items {
		of := appv1alpha1.WorkloadReference{APIVersion: release.APIVersion, Kind: release.Kind, Name: release.Workload}
		if release.Since == nil || i.now().Sub(release.Since.Time) < longSuspended {
			continue
		}
		findings = append(findings, problem(TopicSuspended, fmt.Sprintf("kubectl altershield why %s -n %s", Argument(of), release.Namespace), SuspendedLong,
			release.Namespace+"/"+release.Workload, shortly(i.now().Sub(release.Since.Time))))
	}
	if len(findings) == 0 {
		findings = append(findings, ok(TopicSuspended, SuspendedNone, shortly(longSuspended)))
	}
	return append(findings, i.unsuspended()...)
}

// unsuspended finds failed releases whose workloads can't be suspended.
func (i Installation) unsuspended() []Finding {
	var findings []Finding
	for _, record := range newest(i.Records.Items) {
		suspends := meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionSuspended)
		if suspends == nil || suspends.Reason != appv1alpha1.ReasonWorkloadNotWritten || record.Status.ObservedRelease != record.Spec.Release {
			continue
		}
		of := record.Workload()
		findings = append(findings, problem(TopicSuspended, fmt.Sprintf("kubectl altershield why %s -n %s", Argument(of), record.Namespace),
			SuspensionDenied, record.Namespace+"/"+of.Name, suspends.Message))
	}
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Values[0], b.Values[0]) })
	return findings
}

// finalizers examines whether the operator's finalizers keep deleted objects.
func (i Installation) finalizers() []Finding {
	unread := slices.Concat(i.Records.unread(TopicFinalizers), i.Objects.unread(TopicFinalizers))
	var findings []Finding
	hangs := func(object metav1.Object, kind, help, finalizer string) {
		deleted := object.GetDeletionTimestamp()
		if deleted == nil || i.now().Sub(deleted.Time) < longDeleted || !slices.Contains(object.GetFinalizers(), finalizer) {
			return
		}
		name := kind + " " + strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
		findings = append(findings, problem(TopicFinalizers, help, FinalizerHangs, name, shortly(i.now().Sub(deleted.Time)), finalizer))
	}
	for k := range i.Records.Items {
		record := &i.Records.Items[k]
		patch := "kubectl patch " + arguments("changeworkload", record.Namespace, record.Name) + ` --type=merge -p '{"metadata":{"finalizers":null}}'`
		hangs(record, "ChangeWorkload", patch, appv1alpha1.FinalizerOrder)
	}
	for k := range i.Objects.Items {
		object := &i.Objects.Items[k] // a ControlledKind: without its finalizer, rollouts would stay held
		hangs(object, object.Kind.Name, object.describe(), appv1alpha1.FinalizerKind)
	}
	if len(findings)+len(unread) == 0 {
		return []Finding{ok(TopicFinalizers, FinalizersNone)}
	}
	return append(findings, unread[:min(1, len(unread))]...)
}

// NeededRights returns the right that each verb of the plugin takes, in a namespace or in that of the operator.
func NeededRights(namespace, operator string) []Reviewed {
	ours := appv1alpha1.GroupVersion.Group
	return []Reviewed{
		{Verb: "list", Right: Right{Verb: "list", Group: ours, Resource: "changeworkloads", Namespace: namespace}},
		{Verb: "export", Right: Right{Verb: "list", Group: ours, Resource: "changerecords", Namespace: namespace}},
		{Verb: "repair", Right: Right{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: namespace}},
		{Verb: "approve", Right: Right{Verb: "create", Group: ours, Resource: "changeapprovals", Namespace: namespace}},
		{Verb: "verdict", Right: Right{Verb: "patch", Group: ours, Resource: "changepods", Subresource: "status", Namespace: namespace}},
		{Verb: "freeze", Right: Right{Verb: "create", Group: ours, Resource: "changefreezes", Namespace: namespace}},
		{Verb: "break-glass", Right: Right{Verb: "create", Group: ours, Resource: "breakglasses", Namespace: namespace}},
		{Verb: "settings", Right: Right{Verb: "patch", Group: ours, Resource: "opsconfiginfoes", Namespace: operator}},
	}
}

// rights tells which verbs of the plugin the user may not use.
func (i Installation) rights() []Finding {
	if findings := i.Rights.unread(TopicRights); findings != nil {
		return findings
	}
	var lacks []string
	for _, reviewed := range i.Rights.Items {
		if !reviewed.May {
			lacks = append(lacks, fmt.Sprintf("%s (%s)", reviewed.Verb, reviewed.Right))
		}
	}
	if len(lacks) == 0 {
		return []Finding{ok(TopicRights, RightsAll, i.Mine)}
	}
	return []Finding{note(TopicRights, "", RightsSome, i.Mine, strings.Join(lacks, ", "))}
}
