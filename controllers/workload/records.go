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
	"reflect"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// RecordName returns the name of the ChangeWorkload of a version of a workload, and of its kept pod template.
func RecordName(kind Kind, name, version string) string {
	return decide.ChangeWorkloadName(kind.RecordName(name), version)
}

// RecordLabel returns the label by which the records, batches and kept pod templates of a workload are found.
func RecordLabel(kind Kind, name string) client.MatchingLabels {
	recorded := kind.RecordName(name)
	if recorded == name { // the documents' name and label
		return client.MatchingLabels{appv1alpha1.LabelDeploymentName: decide.LabelValue(name)}
	}
	return client.MatchingLabels{appv1alpha1.LabelWorkload: decide.LabelValue(recorded)}
}

// RecordLabels returns the labels of the records, batches and kept pod templates of a version of a workload.
func RecordLabels(kind Kind, name, version string) client.MatchingLabels {
	labels := RecordLabel(kind, name)
	labels[appv1alpha1.LabelVersion] = version
	return labels
}

// Noun returns a kind in lower case, as users write it: statefulset.
func Noun(kind Kind) string { return strings.ToLower(kind.GroupVersionKind().Kind) }

// Argument names a kind in commands of kubectl: as users write it, or in full if it is that of a CRD, whose group has a dot. Its short name may be that of
// another kind, as a Service of Knative and its Service.
func Argument(kind Kind) string {
	if strings.Contains(kind.GroupVersionKind().Group, ".") {
		return ControlledKindName(kind)
	}
	return Noun(kind)
}

// RevisionNoun returns what messages to users call a revision of a kind: ReplicaSet, or revision where pods belong to a workload directly.
func RevisionNoun(kind Kind) string {
	if layered, ok := kind.(Layered); ok && !KeepsRevisions(kind) {
		return reflect.TypeOf(layered.Layer()).Elem().Name()
	}
	return "revision"
}

// Phrase names a workload in messages to users: statefulset web.
func Phrase(kind Kind, name string) string { return Noun(kind) + " " + name }

// ContentNoun returns what messages to users call the content of a kind: pod template, or content where it is something else.
func ContentNoun(kind Kind) string {
	if IsTemplate(kind) {
		return "pod template"
	}
	return "content"
}
