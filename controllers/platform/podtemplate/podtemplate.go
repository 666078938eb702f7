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

// Package podtemplate compares pod templates and computes their versions.
package podtemplate

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// hashLabel is the label that the deployment controller adds to the templates of ReplicaSets.
const hashLabel = "pod-template-hash"

// Template is a pod template as sent by the API server, without the labels of the operator and the deployment controller. It is
// untyped, so that comparisons include fields newer than our types.
type Template map[string]any

// OwnedLabels returns the labels of a pod template that only the operator writes. With the Finished label in a template its pods
// would be checked before they are ready.
func OwnedLabels() []string {
	return []string{appv1alpha1.LabelVersion, appv1alpha1.LabelOperateFinished, appv1alpha1.LabelGate}
}

// Of returns the pod template of a revision, which is in spec.template. The data of a ControllerRevision is a patch with it.
func Of(revision map[string]any) Template {
	if data, isPatch := revision["data"].(map[string]any); isPatch {
		revision = data
	}
	template := At(revision, "spec", "template")
	delete(template, "$patch")
	return template
}

// At returns the pod template at a path of an object, which it doesn't change.
func At(object map[string]any, path ...string) Template {
	raw := object
	for _, field := range path {
		raw, _ = raw[field].(map[string]any)
	}
	bare := maps.Clone(raw)
	metadata, _ := raw["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if labels != nil {
		labels = maps.Clone(labels)
		for _, key := range append(OwnedLabels(), hashLabel) {
			delete(labels, key)
		}
		metadata = maps.Clone(metadata)
		delete(metadata, "labels")
		if len(labels) > 0 {
			metadata["labels"] = labels
		}
	}
	// Depending on its version, the API server writes an absent creationTimestamp as null or omits it.
	if timestamp, present := metadata["creationTimestamp"]; present && timestamp == nil {
		metadata = maps.Clone(metadata)
		delete(metadata, "creationTimestamp")
	}
	delete(bare, "metadata")
	if len(metadata) > 0 {
		bare["metadata"] = metadata
	}
	return bare
}

// Stamped returns the template with the version label.
func (t Template) Stamped(version string) Template {
	metadata, _ := t["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	stamped := maps.Clone(t)
	stampedMetadata, stampedLabels := maps.Clone(metadata), maps.Clone(labels)
	if stampedMetadata == nil {
		stampedMetadata = map[string]any{}
	}
	if stampedLabels == nil {
		stampedLabels = map[string]any{}
	}
	stampedLabels[appv1alpha1.LabelVersion] = version
	stampedMetadata["labels"] = stampedLabels
	stamped["metadata"] = stampedMetadata
	return stamped
}

// Equal reports whether two templates are the same release. It compares the stored templates, not their versions: a library update
// that marshals templates differently must not restart pods.
func (t Template) Equal(other Template) bool {
	return reflect.DeepEqual(t, other)
}

// Version returns the release version of a template: the hexadecimal MD5 of its compact JSON, marshalled by the v1 types with
// metadata.creationTimestamp null, which gives the values in the documents. Fields that these types lack are included too, so that
// two releases never share a version. It fails if a field has a value that the v1 types can't hold.
func (t Template) Version() (string, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("marshalling the pod template: %w", err)
	}
	typed, complete, err := decodeTemplate(raw)
	if err != nil {
		return "", err
	}
	hashed, err := json.Marshal(typed)
	if err != nil {
		return "", fmt.Errorf("marshalling the typed pod template: %w", err)
	}
	if !complete {
		hashed = append(hashed, raw...)
	}
	sum := md5.Sum(hashed)
	return hex.EncodeToString(sum[:]), nil
}

// typedTemplate is corev1.PodTemplateSpec with the metadata from which the versions in the documents were computed.
type typedTemplate struct {
	Metadata typedMetadata  `json:"metadata,omitempty"`
	Spec     corev1.PodSpec `json:"spec,omitempty"`
}

// typedMetadata has the fields of a pod template's metadata in the order of metav1.ObjectMeta. Since Kubernetes 1.34 that type omits
// a zero creationTimestamp; the versions in the documents include it as null.
type typedMetadata struct {
	Name              string                  `json:"name,omitempty"`
	GenerateName      string                  `json:"generateName,omitempty"`
	Namespace         string                  `json:"namespace,omitempty"`
	CreationTimestamp *metav1.Time            `json:"creationTimestamp"`
	Labels            map[string]string       `json:"labels,omitempty"`
	Annotations       map[string]string       `json:"annotations,omitempty"`
	OwnerReferences   []metav1.OwnerReference `json:"ownerReferences,omitempty"`
	Finalizers        []string                `json:"finalizers,omitempty"`
}

// decodeTemplate also reports whether the types hold the complete template.
func decodeTemplate(raw []byte) (typed typedTemplate, complete bool, err error) {
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&typed); err == nil {
		return typed, true, nil
	}
	typed = typedTemplate{}
	if err := json.Unmarshal(raw, &typed); err != nil {
		var mismatch *json.UnmarshalTypeError
		if errors.As(err, &mismatch) {
			return typed, false, fmt.Errorf("spec.template.%s: the value must not be a %s", mismatch.Field, mismatch.Value)
		}
		return typed, false, fmt.Errorf("decoding the pod template: %w", err)
	}
	return typed, false, nil
}
