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
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// maxData is the maximum size of a kept content, in bytes. It is below etcd's limit of 1.5 MB, beyond which the API server returns an
// error that looks temporary.
const maxData = 1 << 20

// Revision is the content of a verified version.
type Revision struct {
	// Version is the version of the content.
	Version string
	// Release is the number of the last verified release of the version.
	Release int64
	// Content is the content.
	Content workload.Content
	// Applied is the content in the last applied configuration at that time; nil if there was none.
	Applied workload.Content
}

// newRevision returns a ControllerRevision with the content of a workload at a release, and the author and time of the release.
func newRevision(kind workload.Kind, live *unstructured.Unstructured, release decide.Release) (*appsv1.ControllerRevision, error) {
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       live.GetNamespace(),
			Name:            workload.RecordName(kind, live.GetName(), release.Version),
			Labels:          workload.RecordLabels(kind, live.GetName(), release.Version),
			OwnerReferences: []metav1.OwnerReference{ownerReference(kind, live)},
		},
		Revision: release.Number,
	}
	data, err := json.Marshal(dataOf(kind, live))
	if err != nil {
		return nil, fmt.Errorf("encoding the %s of %s %s/%s: %w", workload.ContentNoun(kind), live.GetKind(), live.GetNamespace(), live.GetName(), err)
	}
	if len(data) > maxData {
		return nil, fmt.Errorf("%w: the %s of %s %s/%s has %d bytes, more than %d",
			ErrNotKept, workload.ContentNoun(kind), live.GetKind(), live.GetNamespace(), live.GetName(), len(data), maxData)
	}
	revision.Data = runtime.RawExtension{Raw: data}
	if record, found := decide.ReleaseRecordOf(live.GetAnnotations(), release); found {
		record.Changes, record.Ended = nil, nil // the changes may be long, and the ChangeWorkload has them
		note, err := json.Marshal(record)
		if err != nil {
			return nil, fmt.Errorf("encoding the author of the release of %s %s/%s: %w", live.GetKind(), live.GetNamespace(), live.GetName(), err)
		}
		revision.Annotations = map[string]string{appv1alpha1.AnnotationReleasedBy: string(note)}
	}
	return revision, nil
}

// dataOf returns what is kept of a workload: {"spec": {"template": ...}} if the content is a pod template, else {"content": ...}; and the
// same part of the last applied configuration.
func dataOf(kind workload.Kind, live *unstructured.Unstructured) map[string]any {
	content := workload.ContentOf(kind, live.Object)
	applied := workload.AppliedContent(kind, live.GetAnnotations())
	if workload.IsTemplate(kind) {
		data := map[string]any{"spec": map[string]any{"template": workload.TemplateOf(kind, content)}}
		if applied != nil {
			data["lastApplied"] = map[string]any{"template": workload.TemplateOf(kind, applied)}
		}
		return data
	}
	data := map[string]any{"content": content}
	if applied != nil {
		data["lastApplied"] = map[string]any{"content": applied}
	}
	return data
}

// ownerReference makes a workload the owner of what is kept of it. Kinds whose own history are ControllerRevisions only own it: their
// controllers release, relabel and prune the ControllerRevisions that they control. Controllers of declared kinds may do so.
func ownerReference(kind workload.Kind, live *unstructured.Unstructured) metav1.OwnerReference {
	owner := *metav1.NewControllerRef(live, live.GroupVersionKind())
	if workload.KeepsRevisions(kind) || !workload.IsTemplate(kind) {
		owner.Controller = nil
	}
	return owner
}

// isOwned reports whether a workload owns a revision.
func isOwned(revision *appsv1.ControllerRevision, owner metav1.Object) bool {
	return slices.ContainsFunc(revision.OwnerReferences, func(reference metav1.OwnerReference) bool { return reference.UID == owner.GetUID() })
}

// sameContent reports whether two revisions of a version hold the same data. Their contents are equal, but they may stem from different
// manifests.
func sameContent(kind workload.Kind, a, b *appsv1.ControllerRevision) bool {
	one, errOne := revisionOf(kind, a)
	two, errTwo := revisionOf(kind, b)
	return errOne == nil && errTwo == nil && one.Applied.Equal(two.Applied)
}

// revisionOf decodes a ControllerRevision of newRevision. Numbers have the types of unstructured objects, so that contents can be
// compared.
func revisionOf(kind workload.Kind, kept *appsv1.ControllerRevision) (Revision, error) {
	var data map[string]any
	if err := utiljson.Unmarshal(kept.Data.Raw, &data); err != nil {
		return Revision{}, fmt.Errorf("decoding the data: %w", err)
	}
	revision := Revision{Version: versionOf(kept), Release: kept.Revision}
	lastApplied, _ := data["lastApplied"].(map[string]any)
	if !workload.IsTemplate(kind) {
		content, _ := data["content"].(map[string]any)
		if len(content) == 0 {
			return Revision{}, errors.New("the data has no content")
		}
		applied, _ := lastApplied["content"].(map[string]any)
		revision.Content, revision.Applied = content, applied
		return revision, nil
	}
	template := podtemplate.Of(data)
	if len(template) == 0 {
		return Revision{}, errors.New("the data has no pod template")
	}
	revision.Content = workload.TemplateContent(kind, template)
	if applied, isObject := lastApplied["template"].(map[string]any); isObject {
		revision.Applied = workload.TemplateContent(kind, applied)
	}
	return revision, nil
}

// isAt reports whether a workload is at a release.
func isAt(live *unstructured.Unstructured, release decide.Release) bool {
	return decide.ReleaseOf(live) == release
}

// prunable returns the revisions to delete from a list, newest first. The list may lack the revision of version: it was created just now, or
// couldn't be kept. It counts all the same, but then another one stays, as it may be the only one. In the list, the revision stays even if the
// numbers of releases began anew.
func prunable(revisions []appsv1.ControllerRevision, version string, retain int, failed []string) []*appsv1.ControllerRevision {
	var result []*appsv1.ControllerRevision
	left := retain - 1
	if !slices.ContainsFunc(revisions, func(revision appsv1.ControllerRevision) bool { return versionOf(&revision) == version }) {
		left = max(left, 1)
	}
	for i := range revisions {
		of := versionOf(&revisions[i])
		switch {
		case of == version:
		case left <= 0, slices.Contains(failed, of):
			result = append(result, &revisions[i])
		default:
			left--
		}
	}
	return result
}

func versionOf(revision *appsv1.ControllerRevision) string {
	return revision.Labels[appv1alpha1.LabelVersion]
}
