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

package workload

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Partitioned is a Pauser with a field that keeps a number of pods at the previous revision. The objects may be untyped.
type Partitioned interface {
	Pauser
	// Let returns what lets the controller of a workload replace that many pods, those that it has replaced already included; none where
	// the field has that value. The originals are the fields from before the operator paced the release.
	Let(workload client.Object, pods int32, originals string) []Operation
	// Yield returns what restores that field of a workload whose hold a user has ended, by the originals; none where the user ended the hold
	// by it. The pause stays as it is.
	Yield(workload client.Object, originals string) []Operation
}

// Pinned is a Pauser whose strategy may take pods away before new ones are available. The objects may be untyped.
type Pinned interface {
	Pauser
	// Pin returns what makes the strategy take no pod away, and the fields that this overwrites, in JSON; neither where it takes none away,
	// or where it has to.
	Pin(workload client.Object) (change []Operation, originals string)
	// Missing returns how many of the desired pods the strategy may take away before new ones are available.
	Missing(workload client.Object, desired int32) int
	// Unpin returns what restores the fields that Pin overwrote. There is no operation for a field that has been changed since.
	Unpin(workload client.Object, originals string) []Operation
}

// Paced is a Pauser whose releases can be rolled out in steps.
type Paced interface {
	Pauser
	// PaceFields returns the JSON pointers of the fields that the operator writes to pace a release. Others can't change them meanwhile.
	PaceFields() []string
}

// LeverOf returns what can hold back the pods of the releases of a kind: a field or the operator's own deletions where the kind has
// that, and gates otherwise, with a pause where it has one. It is empty where the pods can't be held back: gates need pods that the operator sees,
// with a label of their template.
func LeverOf(kind Kind) appv1alpha1.Lever {
	if _, partitioned := kind.(Partitioned); partitioned {
		return appv1alpha1.LeverPartition
	}
	if _, bound := kind.(NodeBound); bound {
		return appv1alpha1.LeverNodes
	}
	_, runs := kind.(Once)
	_, recurs := kind.(Trier)
	_, pauses := kind.(Pauser)
	if runs || recurs || !pauses && !getsGates(kind) || len(kind.TemplatePath()) == 0 {
		return ""
	}
	return appv1alpha1.LeverGates
}

// getsGates reports whether the pods of a kind can get gates.
func getsGates(kind Kind) bool {
	_, lists := kind.(Lister)
	labelled, ok := kind.(Labelled)
	return !lists && (!ok || !labelled.LabelsPods())
}
