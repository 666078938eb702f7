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
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

func request(verb, namespace, resource, subresource string, code int32) auditv1.Event {
	return auditv1.Event{
		Verb:           verb,
		ObjectRef:      &auditv1.ObjectReference{Namespace: namespace, Resource: resource, Subresource: subresource},
		ResponseStatus: &metav1.Status{Code: code},
	}
}

func TestWritesOfCountsByVerbAndKindAndFailuresApart(t *testing.T) {
	g := NewWithT(t)
	requests := []auditv1.Event{
		request("patch", "shop", "pods", "", 200),
		request("patch", "shop", "pods", "", 200),
		request("patch", "shop", "changepods", "status", 200),
		request("patch", "shop", "changepods", "status", 409),
		request("create", "shop", "changepods", "", 403),
		request("create", "shop", "events", "", 201),
		request("patch", "shop", "events", "", 409),
		request("get", "shop", "changepods", "", 200),
		request("list", "shop", "pods", "", 200),
		request("watch", "shop", "pods", "", 200),
		request("patch", "elsewhere", "pods", "", 200),
		{Verb: "create"},
	}
	counts := writesOf(requests, "shop")
	g.Expect(counts).To(Equal(map[string]int{
		"patch pods":                         2,
		"patch changepods/status":            1,
		"patch changepods/status (conflict)": 1,
		"create changepods (failed)":         1,
		"events":                             2,
	}))
	g.Expect(total(counts)).To(Equal(5))
	g.Expect(conflicts(counts)).To(Equal(1))
	g.Expect(readsOf(requests)).To(Equal(map[string]int{"get changepods": 1, "list pods": 1}))
}
