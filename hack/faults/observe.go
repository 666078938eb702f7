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
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
	"github.com/traas-stack/altershield-operator/hack/faults/state"
	"github.com/traas-stack/altershield-operator/hack/lab/webapp"
)

// kind is a kind of objects, with the fields that are compared.
type kind struct {
	schema.GroupVersionKind
	fields []string
	// nameless kinds have random names.
	nameless bool
}

func kinds() []kind {
	workload := []string{
		"metadata.labels", "metadata.annotations", "spec.paused", "spec.replicas", "spec.template", "spec.updateStrategy",
		"status.replicas", "status.readyReplicas", "status.updatedReplicas",
		"status.desiredNumberScheduled", "status.numberReady", "status.updatedNumberScheduled",
	}
	own, apps, whole := appv1alpha1.GroupVersion, appsv1.SchemeGroupVersion, []string{"spec", "status"}
	return []kind{
		{GroupVersionKind: apps.WithKind("Deployment"), fields: workload},
		{GroupVersionKind: apps.WithKind("StatefulSet"), fields: workload},
		{GroupVersionKind: apps.WithKind("DaemonSet"), fields: workload},
		{GroupVersionKind: webapp.GroupVersionKind(), fields: []string{"metadata.labels", "metadata.annotations", "spec", "status"}},
		// The deployment controller writes its annotations, and copies those of the Deployment that it happens to see.
		{GroupVersionKind: apps.WithKind("ReplicaSet"), fields: []string{"metadata.labels", "spec.replicas", "status.readyReplicas"}},
		{GroupVersionKind: apps.WithKind("ControllerRevision"), fields: []string{"metadata.labels", "metadata.annotations", "data", "revision"}},
		{GroupVersionKind: own.WithKind("ChangeWorkload"), fields: []string{"metadata.labels", "metadata.finalizers", "spec", "status"}},
		{GroupVersionKind: own.WithKind("ChangeFreeze"), fields: whole},
		{GroupVersionKind: own.WithKind("BreakGlass"), fields: whole},
		{GroupVersionKind: own.WithKind("ChangePod"), fields: []string{"metadata.labels", "spec", "status"}},
		{GroupVersionKind: own.WithKind("ChangeVerdict"), fields: whole, nameless: true},
		{GroupVersionKind: batchv1.SchemeGroupVersion.WithKind("Job"), fields: []string{"status.succeeded"}, nameless: true},
		{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), fields: []string{"metadata.labels", "status.phase"}, nameless: true},
	}
}

// masks hide times, and random names and ids, in the state of a namespace.
func masks(namespace string) state.Masks {
	show := func(expression, text string) state.Pattern {
		return state.Pattern{Of: regexp.MustCompile(expression), Show: text}
	}
	return state.Masks{
		Names: map[string]string{namespace: "NAMESPACE"},
		Patterns: []state.Pattern{
			show(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "TIME"),
			show(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`, "TIME"),
			show(`^\d{10}$`, "SECONDS"),
			// The names of Jobs and ChangeVerdicts end with a hash of UIDs.
			show(`-(\d+)-[0-9a-f]{10}\b`, "-$1-HASH"),
			// Pods that finish within the same second are checked in the order of their names.
			show(`\b(`+workloadName+`|`+otherName+`)-(\d|([a-z0-9]{6,10}-)?[a-z0-9]{5})\b`, "$1-POD"),
			// One late pod is enough: whether there are more by then depends on the machine.
			show(` \(and \d+ more\)`, ""),
			// What a look counts depends on its time.
			show(`[0-9.e-]+% on (\d+ new pods?) \(\d+ events\)`, "SHARE on $1"),
			show(`, [0-9.e-]+% on \d+ old pods? \(x[0-9.e+]+, `, ", SHARE on old pods (RATIO, "),
			show(`\b\d+\.\d+\.\d+\.\d+\b`, "IP"),
			show(`\b[0-9a-f]{36}\b`, "ID"),
			show(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`, "UID"),
			show(`/`+workloadName+`/[0-9a-f]+/`, "/"+workloadName+"/HASH/"),
		},
		// Deadlines appear and disappear with waits. A polled verdict has no time, and a verdict that overtakes the answer to the notify
		// leaves no time of the notify. Early verdicts that were applied stay listed. The server returns the id of an order only once. What the
		// old pods had been through depends on when the release was first looked at, and what a look counts on its time.
		Left: []string{
			"deadline", "waitDeadline", "openDeadline", "closeDeadline", "verdictTime", "postSubmitTime", "postSubmitTimeUnix", "earlyVerdicts",
			"orderId", "lastTransitionTime", "since", "oldPods", "numbers", "observedGeneration", webapp.GenerationAnnotation,
		},
	}
}

// look returns the state of the namespace, and the work of the manager and AlterShield Server for it. abandoned is the number of
// checks that may have begun unnecessarily.
func (s *stage) look(ctx context.Context, abandoned int64) (state.State, error) {
	found, hidden, all := state.State{}, masks(s.namespace), []unstructured.Unstructured{}
	for _, kind := range kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := s.watched.List(ctx, list, client.InNamespace(s.namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the objects of kind %s: %w", kind.Kind, err)
		}
		all = append(all, list.Items...)
		for i := range list.Items {
			object := pick(list.Items[i].Object, kind.fields)
			if kind.nameless {
				found.Count(kind.Kind, object, hidden)
			} else {
				found.Add(kind.Kind+" "+list.Items[i].GetName(), object, hidden)
			}
		}
	}
	if err := errors.Join(orphan(all), behind(all)); err != nil {
		return nil, err
	}
	for what, count := range made(s.api.Records(s.namespace)) {
		found["the manager "+what] = strconv.Itoa(count)
	}
	if s.Server != nil {
		addOrders(found, s.Server, s.namespace, abandoned)
	}
	return found, nil
}

// orphan returns an error for an object whose owner is gone: the garbage collector takes seconds, and until then nothing is settled.
func orphan(objects []unstructured.Unstructured) error {
	present := sets.New[types.UID]()
	for i := range objects {
		if objects[i].GetDeletionTimestamp() == nil {
			present.Insert(objects[i].GetUID())
		}
	}
	for i := range objects {
		for _, owner := range objects[i].GetOwnerReferences() {
			if !present.Has(owner.UID) {
				return fmt.Errorf("%s %s waits to be removed with its owner", objects[i].GetKind(), objects[i].GetName())
			}
		}
	}
	return nil
}

// behind returns an error for an object whose controller has yet to act: a busy one may take longer than the rest that ends a run.
func behind(objects []unstructured.Unstructured) error {
	for i := range objects {
		object := &objects[i]
		if object.GroupVersionKind().Group != appsv1.GroupName {
			continue
		}
		observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		wanted, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
		present, _, _ := unstructured.NestedInt64(object.Object, "status", "replicas")
		if observed < object.GetGeneration() || object.GetKind() == "ReplicaSet" && present != wanted {
			return fmt.Errorf("%s %s waits for its controller", object.GetKind(), object.GetName())
		}
	}
	return nil
}

// pick copies some fields of an object, without the messages of conditions. Of a suspended release it leaves only the pods that failed: as long as
// the status stays the same, the others are updated minutes later.
func pick(object map[string]any, fields []string) map[string]any {
	kept := map[string]any{}
	for _, field := range fields {
		if value, found, err := unstructured.NestedFieldCopy(object, strings.Split(field, ".")...); found && err == nil {
			kept[field] = value
		}
	}
	status, _ := kept["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, condition := range conditions {
		if fields, ok := condition.(map[string]any); ok {
			delete(fields, "message")
		}
	}
	if status["status"] == string(appv1alpha1.ChangeWorkloadSuspend) {
		for _, late := range []string{"defensePreparingPods", "defenseCheckingPods", "defenseCheckPassPods", "counts"} {
			delete(status, late)
		}
	}
	return kept
}

// made counts the objects created and deleted, by kind.
func made(records []proxy.Record) map[string]int {
	counts := map[string]int{}
	for _, record := range records {
		if slices.Contains([]string{"create", "delete"}, record.Verb) && record.Status >= 200 && record.Status < 300 {
			counts[record.Verb+"s "+record.Resource]++
		}
	}
	return counts
}

// addOrders adds the orders of a namespace at AlterShield Server, with their own checks and their batches, each in the state of its last check.
func addOrders(found state.State, server *altershield.Server, namespace string, abandoned int64) {
	number := map[string]int{}
	for _, order := range server.Orders() {
		if !slices.Contains(order.InstanceNames, namespace+"/"+workloadName) {
			continue
		}
		number[order.BizExecOrderID] = len(number) + 1
		var ends []string
		for _, finish := range order.Finishes {
			ends = append(ends, finish.State)
		}
		found[fmt.Sprintf("order %d ended", number[order.BizExecOrderID])] = strings.Join(slices.Compact(ends), " ")
	}
	checks := map[string]int64{}
	for _, node := range server.Nodes() {
		order, ours := number[node.BizExecOrderID]
		if !ours {
			continue
		}
		checked := fmt.Sprintf("order %d batch %d", order, node.BatchNo)
		if node.OfOrder {
			checked = fmt.Sprintf("order %d as a whole", order)
		}
		found[checked+" is"] = fmt.Sprintf("%s, PRE %t, POST %t", node.State, node.PrePass, node.PostPass)
		checks[checked]++
	}
	for checked, count := range checks {
		if count > 1 {
			vain := min(count-1, abandoned)
			count, abandoned = count-vain, abandoned-vain
		}
		found[checked+" checks"] = strconv.FormatInt(count, 10)
	}
}
