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
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/soak/history"
)

// Pods reports whether the operator changes only what it may: labels and gates of pods, of whose kinds it deletes only those that it parks, paces
// or unsticks by that; nothing of ReplicaSets; and pod templates only by a rollback that it records in the same write.
func Pods(writes []history.Write, system System) Result {
	var result Result
	templates := map[string]string{}
	kinds := map[string]string{} // of the controllers of pods, by the UID of the pod
	for _, write := range writes {
		if next := write.Released; next != nil {
			old, known := templates[next.UID]
			templates[next.UID] = next.Template
			if write.User == system.Operator && known && old != next.Template && !recorded(next) {
				result.violated("the operator changed a pod template without a record of a rollback: %s", at(write))
			}
		}
		if write.Pod != nil && write.Pod.Kind != "" {
			kinds[write.Pod.UID] = write.Pod.Kind
		}
		if write.User != system.Operator {
			continue
		}
		if touches := touched(write, kinds); touches != "" {
			result.violated("the operator %s (%s %s %v): %s", touches, write.Verb, write.Subresource, write.Touched, at(write))
		}
		if isWorkload(write.Resource) || slices.Contains([]string{"pods", "replicasets"}, write.Resource) {
			result.Observations++
		}
	}
	return result
}

// isWorkload reports whether a resource is that of a kind of workload.
func isWorkload(resource string) bool {
	return slices.Contains([]string{"deployments", "statefulsets", "daemonsets", "webapps"}, resource)
}

// touched returns the reason why the operator must not make a write, "" if it may.
func touched(write history.Write, kinds map[string]string) string {
	patched := write.Verb == "patch" && write.Subresource == ""
	switch {
	case write.Resource == "pods" && write.Verb == "delete":
		if kind := kinds[write.Ended]; kind != "StatefulSet" && kind != "DaemonSet" {
			return fmt.Sprintf("deleted a pod of a %s", cmp.Or(kind, "controller that isn't known"))
		}
	case write.Resource == "pods" && !only(write):
		return "changed more of a pod than its labels and gates"
	case write.Resource == "replicasets":
		return "wrote a ReplicaSet"
	case isWorkload(write.Resource) && !patched:
		return "did not only patch a workload"
	}
	return ""
}

// only reports whether a write patches what the operator may change of a pod, or the fields of the patch's own precondition.
func only(write history.Write) bool {
	allowed := []string{"metadata.labels", "metadata.annotations", "spec.schedulingGates", "metadata.resourceVersion", "metadata.uid"}
	if write.Subresource == "status" {
		allowed = []string{"status.conditions", "metadata.resourceVersion", "metadata.uid"}
		if write.Pod != nil && write.Pod.Kind == "StatefulSet" { // one that waits at its gate fails, to come back with another revision
			allowed = append(allowed, "status.phase", "status.reason", "status.message")
		}
	}
	return write.Verb == "patch" && !slices.ContainsFunc(write.Touched, func(field string) bool { return !slices.Contains(allowed, field) })
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

// Releases reports whether a workload never reuses release numbers: a changed template is the next release, and nothing else is.
func Releases(writes []history.Write, system System) Result {
	var result Result
	before := map[string]*history.Released{}
	highest := map[string]int64{} // by the UID of the ChangeWorkload
	for _, write := range writes {
		if workload := write.Workload; workload != nil {
			result.Observations++
			if workload.Release < highest[workload.UID] || workload.Observed > workload.Release {
				result.violated("its spec has release %d and its status release %d, after release %d: ChangeWorkload %s",
					workload.Release, workload.Observed, highest[workload.UID], at(write))
			}
			highest[workload.UID] = max(workload.Release, highest[workload.UID])
		}
		next := write.Released
		if next == nil || !slices.Contains(system.OptedIn, write.Namespace) {
			continue
		}
		result.Observations++
		old := before[next.UID]
		before[next.UID] = next
		if old == nil {
			continue
		}
		expected := old.Release
		if old.Template != next.Template {
			expected++
		}
		if next.Release != expected {
			result.violated("release %d follows release %d, expected %d: %s", next.Release, old.Release, expected, at(write))
		}
	}
	return result
}

// Complete reports whether the history has every change of a workload's spec, which the other checkers rely on.
func Complete(writes []history.Write) Result {
	var result Result
	last := map[string]int64{}
	for _, write := range writes {
		next := write.Released
		if next == nil {
			continue
		}
		result.Observations++
		if old, known := last[next.UID]; known && next.Generation > old+1 {
			result.violated("generation %d follows generation %d: %s", next.Generation, old, at(write))
		}
		last[next.UID] = next.Generation
	}
	return result
}

// Batches reports whether each pod is in only one batch of a release, not counting batches deleted by users.
func Batches(writes []history.Write, system System) Result {
	var result Result
	type place struct {
		workload string
		release  int64
		pod      string // its UID
	}
	type claim struct{ uid, name string }
	covered := map[place]claim{}
	deleted := map[string]bool{} // by the UID of the ChangePod
	for _, write := range writes {
		if write.Ended != "" && slices.Contains(system.Overriders, write.User) {
			deleted[write.Ended] = true
		}
		batch := write.Batch
		if batch == nil || write.Verb != "create" {
			continue
		}
		result.Observations++
		for _, pod := range batch.Pods {
			taken := place{workload: batch.Workload, release: batch.Release, pod: pod.UID}
			if other, twice := covered[taken]; twice && !deleted[other.uid] {
				result.violated("pod %s of release %d is in ChangePod %s already: ChangePod %s", pod.Name, batch.Release, other.name, at(write))
			}
			covered[taken] = claim{uid: batch.UID, name: write.Name}
		}
	}
	return result
}

// Records reports whether each release is recorded once, unless a user deletes its record.
func Records(writes []history.Write, system System) Result {
	var result Result
	type release struct {
		of, version string
		number      int64
	}
	recorded := map[release]string{} // the UID of its ChangeWorkload
	endedBy := map[string]string{}   // by that
	for _, write := range writes {
		if _, known := endedBy[write.Ended]; !known {
			endedBy[write.Ended] = write.User
		}
		workload := write.Workload
		if workload == nil || write.Verb != "create" {
			continue
		}
		result.Observations++
		of := release{workload.Of, workload.Version, workload.Release}
		if former, again := recorded[of]; again && !slices.Contains(system.Overriders, endedBy[former]) {
			result.violated("release %d is recorded again, after %q deleted its record: ChangeWorkload %s", of.number, endedBy[former], at(write))
		}
		recorded[of] = workload.UID
	}
	return result
}

// Orders reports whether no release has more orders at the server than records, because each record of a release is ordered once. If
// no object is left that could end an order, all orders must have been ended, unless they were never accepted.
func Orders(writes []history.Write, orders []altershield.Order, allEnded bool) Result {
	result := Result{Observations: len(orders)}
	records := map[string]map[string]bool{}
	for _, write := range writes {
		if workload := write.Workload; workload != nil {
			release := fmt.Sprintf("%s/%s/%d", write.Namespace, workload.App, workload.Release)
			if records[release] == nil {
				records[release] = map[string]bool{}
			}
			records[release][workload.UID] = true
		}
	}
	ordered := map[string]int{}
	for _, order := range orders {
		release := releaseOf(order.BizExecOrderID)
		ordered[release]++
		if ordered[release] == len(records[release])+1 {
			result.violated("release %s has %d records and more orders, such as %s", release, len(records[release]), order.BizExecOrderID)
		}
		if allEnded && len(order.Finishes) == 0 {
			result.violated("order %s is still open", order.BizExecOrderID)
		}
	}
	return result
}

// releaseOf parses <cluster>/<namespace>/<deployment>/<hash>/<release>.
func releaseOf(order string) string {
	parts := strings.Split(order, "/")
	if len(parts) != 5 {
		return order
	}
	return parts[1] + "/" + parts[2] + "/" + parts[4]
}
