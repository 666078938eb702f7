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
	// Workload is empty for what concerns several.
	Workload string `json:"workload,omitempty"`
	// Object is what is written, as an argument of kubectl: the workload, or an object about it.
	Object string `json:"object"`
	// From is the release that the workload is at, To the one that a rollback or a repair leads to. Its number is 0 if it isn't known any more.
	From Side `json:"from,omitzero"`
	To   Side `json:"to,omitzero"`
	// At is the state of the object that was read, where something is changed that is no workload: a batch, or a lock that is ended.
	At string `json:"at,omitempty"`
	// By is the author of the release.
	By string `json:"by,omitempty"`
	// Step is the step to go on to, or all.
	Step string `json:"step,omitempty"`
	// Changes are those of the content or of the verdicts of pods, or the fields of what is created.
	Changes []string `json:"changes,omitempty"`
	// Reason is that of the user.
	Reason string `json:"reason,omitempty"`
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
	// ParkRequest asks the operator to have the pods of a release come back as before.
	ParkRequest RequestKind = "ParkRequest"
	// RepairRequest releases a correction past a suspension or a quarantine.
	RepairRequest RequestKind = "RepairRequest"
	// HoldRequest pauses a rollout.
	HoldRequest RequestKind = "HoldRequest"
	// ResumeRequest lets it go on.
	ResumeRequest RequestKind = "ResumeRequest"
	// GoOnRequest asks the operator to go on to a step.
	GoOnRequest RequestKind = "GoOnRequest"
	// ApproveRequest approves a release.
	ApproveRequest RequestKind = "ApproveRequest"
	// DenyRequest denies it.
	DenyRequest RequestKind = "DenyRequest"
	// LockRequest freezes releases from now on.
	LockRequest RequestKind = "FreezeLockRequest"
	// UnlockRequest ends that.
	UnlockRequest RequestKind = "FreezeUnlockRequest"
	// BreakGlassRequest lets releases pass what would stop them.
	BreakGlassRequest RequestKind = "BreakGlassRequest"
	// SettingRequest changes a setting of the operator.
	SettingRequest RequestKind = "SettingRequest"
	// VerdictRequest sets the verdict of pods.
	VerdictRequest RequestKind = "VerdictRequest"
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
