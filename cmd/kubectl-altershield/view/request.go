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

import "github.com/traas-stack/altershield-operator/controllers/decide"

// Request is what a user asks for by a verb that writes.
type Request struct {
	// Kind is RollbackRequest, or that of another verb.
	Kind       RequestKind `json:"kind"`
	APIVersion string      `json:"apiVersion"`
	Namespace  string      `json:"namespace"`
	Workload   string      `json:"workload"`
	// Object is what is written, as an argument of kubectl: the workload, or an object about it.
	Object string `json:"object"`
	// From is the release that the workload is at, To the one that a rollback or a repair leads to. Its number is 0 if it isn't known any more.
	From Side `json:"from,omitzero"`
	To   Side `json:"to,omitzero"`
	// Changes are those of the content.
	Changes []string `json:"changes,omitempty"`
	// Warnings are those of the API server.
	Warnings []string `json:"warnings,omitempty"`
	// DryRun reports whether nothing was changed.
	DryRun bool `json:"dryRun,omitempty"`
}

// RequestKind is the kind of a request. The values are a contract.
type RequestKind string

const (
	// RollbackRequest asks the operator to go back to a verified version.
	RollbackRequest RequestKind = "RollbackRequest"
)

// requestOf returns a request about a workload.
func requestOf(kind RequestKind, facts Facts) Request {
	request := Request{Kind: kind, APIVersion: APIVersion, Namespace: facts.Namespace, Workload: facts.Reference.Name, Object: Argument(facts.Reference)}
	if facts.Workload != nil {
		present := decide.ReleaseOf(facts.Workload)
		request.From = Side{Release: present.Number, Version: present.Version}
	}
	return request
}
