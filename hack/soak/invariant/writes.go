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

package invariant

import (
	"slices"

	"github.com/traas-stack/altershield-operator/hack/soak/history"
)

// Pods reports whether the operator itself neither restarts nor deletes pods: it changes only labels of pods, nothing of ReplicaSets,
// and pod templates only by a rollback that it records in the same write.
func Pods(writes []history.Write, system System) Result {
	var result Result
	templates := map[string]string{}
	for _, write := range writes {
		if next := write.Deployment; next != nil {
			old, known := templates[next.UID]
			templates[next.UID] = next.Template
			if write.User == system.Operator && known && old != next.Template && !recorded(next) {
				result.violated("the operator changed a pod template without a record of a rollback: Deployment %s", at(write))
			}
		}
		if write.User != system.Operator {
			continue
		}
		if touches := touched(write); touches != "" {
			result.violated("the operator %s (%s %s %v): %s", touches, write.Verb, write.Subresource, write.Touched, at(write))
		}
		if slices.Contains([]string{"pods", "replicasets", "deployments"}, write.Resource) {
			result.Observations++
		}
	}
	return result
}

// touched returns the reason why the operator must not make a write, "" if it may.
func touched(write history.Write) string {
	patched := write.Verb == "patch" && write.Subresource == ""
	switch {
	case write.Resource == "pods" && (!patched || !onlyLabels(write.Touched)):
		return "changed more of a pod than its labels"
	case write.Resource == "replicasets":
		return "wrote a ReplicaSet"
	case write.Resource == "deployments" && !patched:
		return "did not only patch a Deployment"
	}
	return ""
}

// onlyLabels also allows the fields of the patch's own precondition.
func onlyLabels(touched []string) bool {
	return slices.Contains(touched, "metadata.labels") && !slices.ContainsFunc(touched, func(field string) bool {
		return field != "metadata.labels" && field != "metadata.resourceVersion" && field != "metadata.uid"
	})
}

// Scope reports whether the operator writes only to opted-in namespaces and its own.
func Scope(writes []history.Write, system System) Result {
	var result Result
	for _, write := range writes {
		if write.User != system.Operator || write.Namespace == "" {
			continue
		}
		result.Observations++
		if write.Namespace != system.Own && !slices.Contains(system.OptedIn, write.Namespace) {
			result.violated("the operator wrote to a namespace that isn't opted in (%s): %s", write.Verb, at(write))
		}
	}
	return result
}

// Rest reports every write of the operator at rest: there must be none, except of leases.
func Rest(writes []history.Write, system System) Result {
	result := Result{Observations: 1}
	for _, write := range writes {
		if write.User == system.Operator && write.Resource != "leases" {
			result.violated("the operator wrote at rest (%s %s): %s", write.Verb, write.Subresource, at(write))
		}
	}
	return result
}
