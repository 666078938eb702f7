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

package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
)

// Reader reads an audit log as it grows.
type Reader struct {
	// Path is the path of the log, Operator the operator's user.
	Path, Operator string
	read           int64
	revision       int64
	watches        watches
	led            time.Time
}

// Led returns when a manager wrote the lease last, if that was after the given time, else zero: it leads by then.
func (r *Reader) Led(after time.Time) time.Time {
	if r.led.After(after) {
		return r.led
	}
	return time.Time{}
}

// Sees returns when the last of the watches of all these resources began that each manager has opened after the given time, zero if
// one of them is missing. Watches of a killed API server have no end in its log.
func (r *Reader) Sees(resources []string, after time.Time) time.Time {
	return r.watches.since(resources, after)
}

// Next returns the writes that were logged since the last call, in the order of the log, which may differ from that of their
// revisions. An incomplete line is returned by the next call.
func (r *Reader) Next() ([]Write, error) {
	log, err := os.Open(r.Path)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer log.Close()
	if _, err := log.Seek(r.read, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	added, err := io.ReadAll(log)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	whole := added[:bytes.LastIndexByte(added, '\n')+1]
	var writes []Write
	for line := range bytes.Lines(whole) {
		write, counts, err := r.parse(line)
		if err != nil {
			return nil, fmt.Errorf("read the audit log %s after byte %d: %w", r.Path, r.read, err)
		}
		if counts {
			writes = append(writes, write)
		}
	}
	r.read += int64(len(whole))
	return writes, nil
}

// parse parses a line; counts is false if it isn't a write.
func (r *Reader) parse(line []byte) (write Write, counts bool, err error) {
	var event auditv1.Event
	if err := json.Unmarshal(line, &event); err != nil {
		return Write{}, false, err
	}
	if event.Verb == "watch" && event.User.Username == r.Operator {
		r.watches.note(&event)
	}
	unanswered := isUnanswered(&event)
	if !wrote(&event) && !unanswered {
		return Write{}, false, nil
	}
	if event.ObjectRef.Resource == "leases" && event.User.Username == r.Operator {
		r.led = event.StageTimestamp.Time
	}
	write = Write{
		Time: event.StageTimestamp.Time, Asked: event.RequestReceivedTimestamp.Time, User: event.User.Username, Verb: event.Verb,
		Resource: event.ObjectRef.Resource, Subresource: event.ObjectRef.Subresource,
		Namespace: event.ObjectRef.Namespace, Name: event.ObjectRef.Name, Unanswered: unanswered,
	}
	if write.User == r.Operator && event.RequestObject != nil && event.Verb == "patch" {
		if write.Touched, err = touched(event.RequestObject.Raw); err != nil {
			return Write{}, false, err
		}
	}
	if err := write.take(&event); err != nil {
		return Write{}, false, err
	}
	r.revision = max(r.revision, write.Revision)
	if write.Revision == 0 {
		write.Revision = r.revision
	}
	return write, true, nil
}

// wrote reports whether a request was an admitted write.
func wrote(event *auditv1.Event) bool {
	return writes(event) && event.ResponseStatus.Code < http.StatusBadRequest
}

// isUnanswered reports whether a request was a write to a ChangePod that the API server gave up.
func isUnanswered(event *auditv1.Event) bool {
	return writes(event) && event.ResponseStatus.Code == http.StatusGatewayTimeout && event.ObjectRef.Resource == "changepods"
}

// writes reports whether a request was a write that has ended.
func writes(event *auditv1.Event) bool {
	switch event.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
	default:
		return false
	}
	return event.Stage == auditv1.StageResponseComplete && event.ObjectRef != nil && event.ResponseStatus != nil &&
		!strings.Contains(event.RequestURI, "dryRun=")
}

// take copies the object in the log, if there is one.
func (w *Write) take(event *auditv1.Event) error {
	if event.ResponseObject == nil || w.Unanswered {
		return nil
	}
	content := map[string]any{}
	if err := json.Unmarshal(event.ResponseObject.Raw, &content); err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: content}
	if w.Verb == "delete" {
		w.Ended = endedBy(object)
	}
	if object.GetResourceVersion() == "" {
		return nil
	}
	revision, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return fmt.Errorf("resourceVersion of %s %s/%s: %w", w.Resource, w.Namespace, w.Name, err)
	}
	w.Revision = revision
	if w.Name == "" {
		w.Name = object.GetName()
	}
	switch kind := object.GetKind(); {
	case kind == "Pod":
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		w.PodOver = phase == string(corev1.PodFailed) || phase == string(corev1.PodSucceeded)
		w.PodRuns = phase == string(corev1.PodRunning)
	case kind == "Deployment":
		w.Deployment, err = deploymentOf(object, event)
	case w.Ended != "":
	case object.GetDeletionTimestamp() != nil: // writes to a record during its deletion are irrelevant for its release
		w.Ended = string(object.GetUID())
	case kind == "ChangeWorkload":
		w.Workload, err = workloadOf(content)
	case kind == "ChangePod":
		w.Batch, err = batchOf(content)
	}
	return err
}

// endedBy returns the UID of a deleted object, which the answer has in one of two ways.
func endedBy(answer *unstructured.Unstructured) string {
	if answer.GetKind() == "Status" {
		uid, _, _ := unstructured.NestedString(answer.Object, "details", "uid")
		return uid
	}
	return string(answer.GetUID())
}

func deploymentOf(object *unstructured.Unstructured, event *auditv1.Event) (*Deployment, error) {
	template, err := podtemplate.Of(object.Object).Version()
	if err != nil {
		return nil, err
	}
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	_, suspended := labels[appv1alpha1.LabelSuspend]
	ignored, _ := appv1alpha1.IgnoredSuspendOf(annotations)
	brought := event.RequestObject != nil && bytes.Contains(event.RequestObject.Raw, []byte(strconv.Quote(appv1alpha1.LabelIgnoredSuspend)))
	return &Deployment{
		UID: string(object.GetUID()), Version: labels[appv1alpha1.LabelVersion], Template: template,
		Release: decide.ReleaseNumber(annotations), Generation: object.GetGeneration(),
		Suspended: suspended, MayPass: brought || labels[appv1alpha1.LabelIgnoredSuspend] != "",
		Ignored: ignored, Rollbacks: appv1alpha1.RollbacksOf(annotations),
	}, nil
}

func workloadOf(content map[string]any) (*Workload, error) {
	var workload appv1alpha1.ChangeWorkload
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &workload); err != nil {
		return nil, err
	}
	taken := &Workload{
		UID: string(workload.UID), App: workload.Spec.AppName, Version: workload.Spec.Reversion,
		Release: workload.Spec.Release, Observed: workload.Status.ObservedRelease, Status: workload.Status.Status,
		Desired: workload.Status.Counts.Desired, Passed: workload.Status.Counts.Passed,
	}
	if owner := metav1.GetControllerOf(&workload); owner != nil {
		taken.Deployment = string(owner.UID)
	}
	if verified := meta.FindStatusCondition(workload.Status.Conditions, appv1alpha1.ConditionVerified); verified != nil {
		taken.Verified = verified.Reason
	}
	return taken, nil
}

func batchOf(content map[string]any) (*Batch, error) {
	var changePod appv1alpha1.ChangePod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &changePod); err != nil {
		return nil, err
	}
	taken := &Batch{
		UID: string(changePod.UID), Release: changePod.Spec.Release,
		Done: changePod.Status.Status == appv1alpha1.ChangePodExecuteDone,
	}
	if owner := metav1.GetControllerOf(&changePod); owner != nil {
		taken.Workload = string(owner.UID)
	}
	for _, pod := range changePod.Spec.PodInfos {
		taken.Pods = append(taken.Pods, pod.Pod)
	}
	for _, result := range changePod.Status.PodResults {
		if result.Verdict == appv1alpha1.VerdictUnpass {
			taken.Failed = append(taken.Failed, result.Pod)
		}
	}
	return taken, nil
}

// touched returns the fields changed by a merge patch or a JSON patch, two levels deep.
func touched(patch []byte) ([]string, error) {
	if bytes.HasPrefix(bytes.TrimSpace(patch), []byte("[")) {
		return touchedByOperations(patch)
	}
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, fmt.Errorf("merge patch: %w", err)
	}
	var names []string
	for name, value := range fields {
		inner, nested := value.(map[string]any)
		if !nested {
			names = append(names, name)
			continue
		}
		for below := range inner {
			names = append(names, name+"."+below)
		}
	}
	return names, nil
}

func touchedByOperations(patch []byte) ([]string, error) {
	var operations []struct {
		Operation string `json:"op"`
		Path      string `json:"path"`
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, errors.Join(errors.New("JSON patch"), err)
	}
	var names []string
	for _, operation := range operations {
		parts := strings.Split(strings.TrimPrefix(operation.Path, "/"), "/")
		if operation.Operation != "test" {
			names = append(names, strings.Join(parts[:min(2, len(parts))], "."))
		}
	}
	return names, nil
}
