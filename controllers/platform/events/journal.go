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

// Package events records decisions: an Event for the author of a release, and a log line at level info for administrators.
package events

import (
	"fmt"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Recorder logs each Event that it records, with the keys namespace, deployment, version, release and reason; those about
// an OpsConfigInfo have the key setting instead of what tells a release.
type Recorder struct {
	events.EventRecorder
	// Log takes the lines.
	Log logr.Logger
}

// Eventf records and logs. A workload is at the release of the related ChangeWorkload, where there is one.
func (r Recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, note, args...)
	line := fmt.Sprintf(note, args...)
	if reason == appv1alpha1.EventReleaseRecorded {
		line = "A release began" // the note tells what has changed in the pod template, which is not for the log
	}
	r.Log.Info(line, subject(regarding, related, reason)...)
}

func subject(regarding, related runtime.Object, reason string) []any {
	switch object := regarding.(type) {
	case *appv1alpha1.ChangeWorkload:
		return append([]any{"namespace", object.Namespace}, Of(object, reason)...)
	case *appv1alpha1.OpsConfigInfo:
		return []any{"namespace", object.Namespace, "setting", object.Name, "reason", reason}
	case metav1.Object:
		release := decide.ReleaseOf(object)
		if workload, known := related.(*appv1alpha1.ChangeWorkload); known {
			release = decide.Release{Version: workload.Spec.Reversion, Number: workload.Spec.Release}
		}
		if release.Version != "" {
			return append([]any{"namespace", object.GetNamespace()}, Release(object.GetName(), release, reason)...)
		}
	}
	return []any{"reason", reason}
}

// Of tells the release of a ChangeWorkload in a line of the log that has the namespace already, as those of a reconcile do.
func Of(workload *appv1alpha1.ChangeWorkload, reason string) []any {
	return Release(workload.Spec.AppName, decide.Release{Version: workload.Spec.Reversion, Number: workload.Spec.Release}, reason)
}

// Release tells a release in a line of the log that has the namespace already.
func Release(deployment string, release decide.Release, reason string) []any {
	return []any{"deployment", deployment, "version", release.Version, "release", release.Number, "reason", reason}
}
