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
	"net/http"
	"slices"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// writesOf counts the writes to a namespace by verb and kind, with conflicts and failures separately. Events are counted
// under "events", whatever their result.
func writesOf(requests []auditv1.Event, namespace string) map[string]int {
	counts := map[string]int{}
	for _, request := range requests {
		object := request.ObjectRef
		if object == nil || object.Namespace != namespace || isRead(request.Verb) {
			continue
		}
		if object.Resource == "events" {
			counts["events"]++
			continue
		}
		kind := request.Verb + " " + object.Resource
		if object.Subresource != "" {
			kind += "/" + object.Subresource
		}
		if status := request.ResponseStatus; status != nil && status.Code == http.StatusConflict {
			kind += " (conflict)"
		} else if status != nil && status.Code >= http.StatusBadRequest {
			kind += " (failed)"
		}
		counts[kind]++
	}
	return counts
}

func isRead(verb string) bool { return slices.Contains([]string{"get", "list", "watch"}, verb) }

// total returns the number of writes, without Events.
func total(counts map[string]int) int {
	sum := 0
	for kind, count := range counts {
		if kind != "events" {
			sum += count
		}
	}
	return sum
}

// readsOf counts the GETs and LISTs by verb and kind.
func readsOf(requests []auditv1.Event) map[string]int {
	counts := map[string]int{}
	for _, request := range requests {
		if request.ObjectRef != nil && (request.Verb == "get" || request.Verb == "list") {
			counts[request.Verb+" "+request.ObjectRef.Resource]++
		}
	}
	return counts
}
