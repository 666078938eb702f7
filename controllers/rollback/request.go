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

package rollback

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Request asks for a rollback.
type Request struct {
	// Kind is the kind of the workload that goes back, Workload its name.
	Kind     workload.Kind
	Workload client.ObjectKey
	// From is the release to roll back; the zero value is the present release.
	From decide.Release
	// To is the version to go back to. Empty means the newest healthy revision where the reason is PodsNotRunning, else the newest
	// verified version.
	To string
	// Park reports whether the release is to be parked instead of rolled back.
	Park bool
	// Reason is the reason for the rollback.
	Reason appv1alpha1.RollbackReason
	// Message explains the reason to users.
	Message string
	// Patience is what the pods are judged by where the reason is PodsNotRunning.
	Patience decide.Patience
	// User requested the rollback; empty where the operator decided.
	User string
	// Annotation is the value of the annotation that requests it; empty where there is none. Another value is another request.
	Annotation string
}

// countedAsPolicy is the reason in metrics of what a ReleasePolicy requested.
const countedAsPolicy = "ReleasePolicy"

// ByPolicy reports whether a ReleasePolicy requested it. Nobody would repeat the request.
func (r Request) ByPolicy() bool {
	return r.Reason == appv1alpha1.RollbackRequested && strings.HasPrefix(r.User, appv1alpha1.RollbackByPolicy)
}

// CountedAs returns the reason in metrics. Alerts leave out what users requested, but not what a ReleasePolicy requested.
func (r Request) CountedAs() string {
	if r.ByPolicy() {
		return countedAsPolicy
	}
	return string(r.Reason)
}

// CountedReasons returns the reasons in metrics of rollbacks. Prometheus sees no increase when a counter appears, so each starts at 0.
func CountedReasons() []string {
	return []string{
		string(appv1alpha1.RollbackPodsNotRunning), string(appv1alpha1.RollbackPodsFailed), string(appv1alpha1.RollbackRequested), countedAsPolicy,
	}
}

// String names the workload in errors, as Deployment default/sleep.
func (r Request) String() string { return r.Kind.GroupVersionKind().Kind + " " + r.Workload.String() }

// phrase names the workload in messages to users, as deployment sleep.
func (r Request) phrase() string { return workload.Phrase(r.Kind, r.Workload.Name) }
