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

// Package history reads what was written to a cluster from its audit log: each write with its author and, of Deployments and of
// the operator's records, with what it made of the object. Unlike a watch the log has no gap where the API server restarts, and
// no two writes in one event.
package history

import (
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Write is a write that was admitted.
type Write struct {
	// Revision orders the writes: it is the resourceVersion that a write came to; a deletion has that of the write before it.
	Revision int64
	Time     time.Time
	// User made it, by Verb, of Resource and Subresource.
	User, Verb, Resource, Subresource string
	Namespace, Name                   string
	// Touched are the fields that a patch of the operator's names, such as "metadata.labels".
	Touched []string
	// One of them at most is set: what the object is by now.
	Deployment *Deployment
	Workload   *Workload
	Batch      *Batch
	Pod        *Pod
	// Ended is the UID of an object that was deleted, or of a record that is about to go.
	Ended string
}

// Deployment is what matters of a Deployment.
type Deployment struct {
	UID string
	// Version and Release are what the operator says of its template, Template is a hash of the template itself.
	Version, Template string
	Release           int64
	// Generation counts the changes of its spec.
	Generation int64
	// Suspended reports whether it has the label suspend, MayPass that it has ignored-suspend, or that the write brought it.
	Suspended, MayPass bool
	// Ignored is the release that ignored a suspension last.
	Ignored appv1alpha1.IgnoredSuspend
	// Rollbacks are its rollbacks, newest first.
	Rollbacks []appv1alpha1.Rollback
}

// Workload is what matters of a ChangeWorkload.
type Workload struct {
	UID, Deployment, App, Version string
	Release, Observed             int64
	Status                        appv1alpha1.ChangeWorkloadPhase
	// Verified is the reason of its condition Verified.
	Verified        string
	Desired, Passed int32
}

// Batch is what matters of a ChangePod.
type Batch struct {
	UID, Workload string
	Release       int64
	Pods, Failed  []string
	// Done reports whether its check has ended.
	Done bool
}

// Pod is what matters of a pod.
type Pod struct {
	// Over reports whether it is Failed or Succeeded: it runs no more, and isn't deleted either.
	Over bool
}
