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

// Package events writes the Events of the operator, each with a line of its log.
package events

import (
	"reflect"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientevents "k8s.io/client-go/tools/events"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// maxNote is the most bytes of a note: the API server rejects an Event with a longer one.
const maxNote = 1024

// Recorder writes Events. It logs each with the keys namespace, deployment, version, release and reason, or with the key setting for an
// OpsConfigInfo.
type Recorder struct {
	Events clientevents.EventRecorder
	// Log takes the lines; the zero value logs nothing.
	Log logr.Logger
}

// Record writes an Event and logs it.
func (r Recorder) Record(event Event) {
	note := decide.Shorten(event.Note, maxNote)
	r.Events.Eventf(event.Regarding, event.Related, event.Type, event.Reason, event.Action, "%s", note)
	if event.Reason == appv1alpha1.EventReleaseRecorded {
		note = "Release recorded" // the note has the changes of the pod template, which must not be logged
	}
	r.Log.Info(note, subject(event)...)
}

// subject returns the log keys of what an Event is about.
func subject(event Event) []any {
	switch object := event.Regarding.(type) {
	case *appv1alpha1.ChangeWorkload:
		return append([]any{"namespace", object.Namespace}, Of(object, event.Reason)...)
	case *appv1alpha1.OpsConfigInfo:
		return []any{"namespace", object.Namespace, "setting", object.Name, "reason", event.Reason}
	case metav1.Object:
		release := decide.ReleaseOf(object)
		if workload, known := event.Related.(*appv1alpha1.ChangeWorkload); known {
			release = decide.Recorded(workload)
		}
		if release.Version != "" {
			return append([]any{"namespace", object.GetNamespace()}, Release(kindOf(event.Regarding), object.GetName(), release, event.Reason)...)
		}
	}
	return []any{"reason", event.Reason}
}

// Of returns the log keys of the release of a ChangeWorkload, without the namespace: the logger of a reconcile has it.
func Of(workload *appv1alpha1.ChangeWorkload, reason string) []any {
	return Release(workload.WorkloadKind(), workload.Spec.AppName, decide.Recorded(workload), reason)
}

// kindOf returns the kind of a workload. Objects of the cache have it in their type alone.
func kindOf(workload runtime.Object) string {
	if kind := workload.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.TypeOf(workload).Elem().Name()
}

// Release returns the log keys of a release, without the namespace. The name of the workload has its kind as key: deployment.
func Release(kind, name string, release decide.Release, reason string) []any {
	return []any{strings.ToLower(kind), name, "version", release.Version, "release", release.Number, "reason", reason}
}
