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
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Reader reads an audit log as it grows.
type Reader struct {
	// Path is the path of the log, Operator the operator's user.
	Path, Operator string
	// Kinds are the kinds of workloads.
	Kinds    workload.Registry
	read     int64
	revision int64
	watches  watches
	led      time.Time
	leader   string
}

// Led returns when a manager wrote the lease last, if that was after the given time, else zero: it leads by then.
func (r *Reader) Led(after time.Time) time.Time {
	if r.led.After(after) {
		return r.led
	}
	return time.Time{}
}

// Sees returns when the last of the watches began that each manager has opened after the given time, zero if one of them is missing: of the shared
// resources, and at the leader of its own as well. Watches of a killed API server have no end in its log.
func (r *Reader) Sees(shared, led []string, after time.Time) time.Time {
	return r.watches.since(shared, slices.Concat(shared, led), r.leader, after)
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
		r.led, r.leader = event.StageTimestamp.Time, managerOf(&event)
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
	if err := write.take(&event, r.Kinds); err != nil {
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
func (w *Write) take(event *auditv1.Event, kinds workload.Registry) error {
	if event.ResponseObject == nil || w.Unanswered {
		return nil
	}
	content := map[string]any{}
	if err := utiljson.Unmarshal(event.ResponseObject.Raw, &content); err != nil { // integers as in objects of the API server
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
	switch kind := kinds.ByGroupKind(object.GroupVersionKind().GroupKind()); {
	case object.GetKind() == "Pod":
		w.Pod = podOf(object)
	case kind != nil:
		w.Released, err = releasedOf(kind, object, event)
	case w.Ended != "":
	case object.GetDeletionTimestamp() != nil: // writes to a record during its deletion are irrelevant for its release
		w.Ended = string(object.GetUID())
	default:
		err = w.takeOurs(object)
	}
	return err
}

// takeOurs copies an object of one of the operator's own kinds.
func (w *Write) takeOurs(object *unstructured.Unstructured) (err error) {
	switch object.GetKind() {
	case "ChangeWorkload":
		w.Workload, err = workloadOf(object)
	case "ChangePod":
		w.Batch, err = batchOf(object)
	case "ChangeFreeze":
		w.Freeze, err = freezeOf(object)
	case "BreakGlass":
		w.Glass, err = glassOf(object)
	case "ChangeApproval":
		w.Approval, err = approvalOf(object)
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
