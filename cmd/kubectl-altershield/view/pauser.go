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
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/jsonpointer"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/cronjob"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// builtInPauser returns how the operator pauses workloads of a built-in kind, nil for others. A Job isn't one: its pause deletes pods that run.
func builtInPauser(reference appv1alpha1.WorkloadReference) workload.Pauser {
	if !IsBuiltIn(reference) {
		return nil
	}
	switch reference.Kind {
	case "Deployment":
		return deployment.Kind{}
	case "StatefulSet":
		return statefulset.Kind{}
	case "DaemonSet":
		return daemonset.Kind{}
	case "CronJob":
		return cronjob.Kind{}
	}
	return nil
}

// IsBuiltIn reports whether the kind of a workload needs no ControlledKind.
func IsBuiltIn(reference appv1alpha1.WorkloadReference) bool {
	for _, known := range builtInKinds() {
		if known.kind == reference.Kind && known.apiVersion == reference.APIVersion {
			return true
		}
	}
	return false
}

// isJob reports whether a workload is a Job, and not one of a declared kind of that name.
func isJob(reference appv1alpha1.WorkloadReference) bool {
	return reference.Kind == "Job" && IsBuiltIn(reference)
}

// pauserOf returns how a workload is paused, or why it can't be.
func pauserOf(facts Facts) (workload.Pauser, error) {
	argument := Argument(facts.Reference)
	pauser := facts.Pauser
	switch {
	case facts.Workload == nil:
		return nil, fmt.Errorf("%s can't be read, so that it isn't known whether it is paused", argument)
	case !IsBuiltIn(facts.Reference) && pauser == nil:
		return nil, fmt.Errorf("%s has no pause: there is no spec.hold in the ControlledKind %s", argument, KindName(facts))
	case isJob(facts.Reference):
		return nil, fmt.Errorf("%s has no rollout: spec.suspend would delete its pods", argument)
	case pauser == nil:
		pauser = builtInPauser(facts.Reference)
	}
	return pauser, nil
}

// Deployments is the ControlledKind of the kind that is under change control without one, too.
const Deployments = "deployments.apps"

// KindName returns the name of the ControlledKind of a workload.
func KindName(facts Facts) string {
	group, _, _ := strings.Cut(facts.Reference.APIVersion, "/")
	return ResourceOf(facts) + "." + group
}

// lost returns what the operations of a pause would overwrite that resume couldn't restore, empty for nothing. A field that is false or 0 is as good as
// none. Originals has fields besides that pace releases, by their pointers, which a pause leaves alone.
func lost(pauser workload.Pauser, object *unstructured.Unstructured, operations []workload.Operation) string {
	originals := pauser.Originals(object)
	var fields map[string]any
	if originals == "" || json.Unmarshal([]byte(originals), &fields) != nil {
		return ""
	}
	for name, value := range fields {
		isLeft := strings.HasPrefix(name, "/") && len(operations) > 0 &&
			!slices.ContainsFunc(operations, func(operation workload.Operation) bool { return operation.Path == name })
		if isLeft || value == nil || value == false || value == 0.0 {
			delete(fields, name)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	text, _ := json.Marshal(fields) // what was decoded can be encoded
	return string(text)
}

// changesBy returns the fields that operations set, for users.
func changesBy(operations []workload.Operation) []string {
	var changes []string
	for _, operation := range operations {
		field := strings.Join(jsonpointer.Keys(operation.Path), ".")
		if operation.Op == "remove" {
			changes = append(changes, field+": removed")
			continue
		}
		value, _ := json.Marshal(operation.Value) // it goes into a patch
		changes = append(changes, field+": "+string(value))
	}
	return changes
}

// apply makes operations on an object.
func apply(object *unstructured.Unstructured, operations []workload.Operation) error {
	for _, operation := range operations {
		keys := jsonpointer.Keys(operation.Path)
		if operation.Op == "remove" {
			unstructured.RemoveNestedField(object.Object, keys...)
			continue
		}
		encoded, err := json.Marshal(operation.Value)
		if err != nil {
			return fmt.Errorf("writing the value of %s: %w", operation.Path, err)
		}
		var value any
		if err := utiljson.Unmarshal(encoded, &value); err != nil {
			return fmt.Errorf("reading the value of %s: %w", operation.Path, err)
		}
		if err := unstructured.SetNestedField(object.Object, value, keys...); err != nil {
			return fmt.Errorf("setting %s: %w", operation.Path, err)
		}
	}
	return nil
}
