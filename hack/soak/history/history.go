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

// Package history reads the writes to a cluster from its audit log: each write with its author and, for workloads, what governs them and the
// operator's records, with the resulting object. Unlike a watch, the log has no gap when the API server restarts, and
// never merges two writes into one event.
package history

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Write is an admitted write.
type Write struct {
	// Revision orders the writes: it is the resulting resourceVersion; a deletion has that of the previous write.
	Revision int64
	Time     time.Time
	// Asked is when the API server received the request. Its user decided before that, which can be long before Time on a busy machine.
	Asked time.Time
	// User, Verb, Resource and Subresource are those of the request.
	User, Verb, Resource, Subresource string
	Namespace, Name                   string
	// Touched are the fields named by a patch of the operator, such as "metadata.labels".
	Touched []string
	// Unanswered reports whether the API server gave the write up, which may be stored all the same. Its result isn't known. Only writes to
	// ChangePods are read of this kind.
	Unanswered bool
	// At most one of them is set: the resulting object.
	Released *Released
	Workload *Workload
	Batch    *Batch
	Pod      *Pod
	Freeze   *Freeze
	Glass    *Glass
	Approval *Approval
	// Ended is the UID of an object that was deleted, or of a record with a deletion timestamp.
	Ended string
}

// Released has the relevant fields of a workload, whatever its kind.
type Released struct {
	Kind, UID string
	// Version and Release are those recorded by the operator, Template is a hash of the template itself.
	Version, Template string
	Release           int64
	// Generation is the generation of its spec.
	Generation int64
	// Paused reports whether its rollout is held, by the operator or a user.
	Paused bool
	// Parked reports whether it is marked as waiting for the end of a freeze.
	Parked bool
	// Suspended reports whether it has the label suspend, MayPass whether it has ignored-suspend, or the write set it.
	Suspended, MayPass bool
	// Ignored is the last release that ignored a suspension.
	Ignored appv1alpha1.IgnoredSuspend
	// Pass is how its release passed by a BreakGlass, nil if it didn't.
	Pass *appv1alpha1.BreakGlassPass
	// Rollbacks are its rollbacks, newest first.
	Rollbacks []appv1alpha1.Rollback
}

// Pod has the relevant fields of a pod.
type Pod struct {
	Name, UID string
	// Kind is the kind of its controller.
	Kind string
	// Over reports whether it is Failed or Succeeded: it no longer runs, but isn't deleted. Runs reports whether it is Running.
	Over, Runs bool
}

// Freeze has the relevant fields of a ChangeFreeze.
type Freeze struct {
	UID    string
	Action appv1alpha1.FreezeAction
	// Active reports whether the operator says that it is on.
	Active bool
}

// Glass is a BreakGlass.
type Glass struct {
	Name      string
	Overrides []appv1alpha1.BreakGlassOverride
}

// Approval has the relevant fields of a ChangeApproval.
type Approval struct {
	// Workload is the UID of the workload.
	Workload, Version string
	Release           int64
	// By is who created it.
	By      string
	Decides appv1alpha1.ApprovalDecision
}

// Workload has the relevant fields of a ChangeWorkload.
type Workload struct {
	UID, App, Version string
	// Of is the UID of its workload, Kind the kind of that.
	Of, Kind          string
	Release, Observed int64
	Status            appv1alpha1.ChangeWorkloadPhase
	// Verified and Paced are the reasons of its conditions.
	Verified, Paced string
	Desired, Passed int32
}

// Batch has the relevant fields of a ChangePod.
type Batch struct {
	UID, Workload string
	Release       int64
	Pods          []Pod
	// Failed are the names of those with a bad verdict.
	Failed []string
	// Done reports whether its check has ended.
	Done bool
}

// credential is the API server's annotation for the token of a request: each manager has a token of its own.
const credential = "authentication.kubernetes.io/credential-id"

// watches are the open watches of the operator, by manager and resource. A watch with an expired resource version ends as soon
// as it begins, and after an outage of the API server the next attempt may take a minute.
type watches map[string]map[string]openWatch

type openWatch struct {
	id   types.UID
	from time.Time
}

// managerOf returns which manager made a request.
func managerOf(event *auditv1.Event) string { return strings.Join(event.User.Extra[credential], "") }

func (w *watches) note(event *auditv1.Event) {
	if *w == nil {
		*w = watches{}
	}
	if event.ObjectRef == nil {
		return
	}
	manager, resource := managerOf(event), event.ObjectRef.Resource
	if (*w)[manager] == nil {
		(*w)[manager] = map[string]openWatch{}
	}
	of := (*w)[manager]
	switch event.Stage {
	case auditv1.StageResponseStarted:
		of[resource] = openWatch{event.AuditID, event.StageTimestamp.Time}
	case auditv1.StageResponseComplete, auditv1.StagePanic:
		if of[resource].id == event.AuditID {
			delete(of, resource)
		}
	}
}

// since returns when the last of the watches began that each manager has opened after a time: those of all resources at the leader, and of the
// shared ones at the others. It returns zero if one is missing.
func (w watches) since(shared, all []string, leader string, after time.Time) time.Time {
	var latest time.Time
	for manager, of := range w {
		resources := shared
		if manager == leader {
			resources = all
		}
		for _, resource := range resources {
			open, found := of[resource]
			if !found || !open.from.After(after) {
				return time.Time{}
			}
			if open.from.After(latest) {
				latest = open.from
			}
		}
	}
	return latest
}
