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

package workloadpatch

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Change is what to write on a Deployment.
type Change struct {
	// Set and Remove are labels.
	Set    map[string]string
	Remove []string
	// Annotate and Unannotate are annotations.
	Annotate   map[string]string
	Unannotate []string
	// Pause pauses the Deployment, Resume ends a pause.
	Pause, Resume bool
	// Given are annotations that the change was decided by: it is not made once one has another value.
	Given map[string]string
}

// IsEmpty says that there is nothing to write.
func (c Change) IsEmpty() bool {
	return len(c.Set)+len(c.Remove)+len(c.Annotate)+len(c.Unannotate) == 0 && !c.Pause && !c.Resume
}

// Operation is one operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// movedOn says that the decision was made for something else: the next event brings the next one.
func (c Change) movedOn(read, current *appsv1.Deployment) bool {
	return current.UID != read.UID ||
		current.Labels[appv1alpha1.LabelVersion] != read.Labels[appv1alpha1.LabelVersion] ||
		current.Annotations[appv1alpha1.AnnotationRelease] != read.Annotations[appv1alpha1.AnnotationRelease] ||
		(c.Pause || c.Resume) && current.Generation != read.Generation ||
		!c.isGiven(current)
}

func (c Change) isGiven(deployment *appsv1.Deployment) bool {
	for key, value := range c.Given {
		if present, found := deployment.Annotations[key]; !found || present != value {
			return false
		}
	}
	return true
}

func (c Change) isMadeIn(deployment *appsv1.Deployment) bool {
	for key, value := range c.Set {
		if deployment.Labels[key] != value {
			return false
		}
	}
	for _, key := range c.Remove {
		if _, present := deployment.Labels[key]; present {
			return false
		}
	}
	for key, value := range c.Annotate {
		if deployment.Annotations[key] != value {
			return false
		}
	}
	for _, key := range c.Unannotate {
		if _, present := deployment.Annotations[key]; present {
			return false
		}
	}
	return (!c.Pause || deployment.Spec.Paused) && (!c.Resume || !deployment.Spec.Paused)
}

func (c Change) operations(deployment *appsv1.Deployment) []Operation {
	operations := []Operation{
		{Op: "test", Path: "/metadata/uid", Value: deployment.UID},
		{Op: "test", Path: LabelPath(appv1alpha1.LabelVersion), Value: deployment.Labels[appv1alpha1.LabelVersion]},
	}
	if release, counted := deployment.Annotations[appv1alpha1.AnnotationRelease]; counted {
		operations = append(operations, Operation{
			Op: "test", Path: AnnotationPath(appv1alpha1.AnnotationRelease), Value: release,
		})
	}
	for key, value := range c.Given {
		operations = append(operations, Operation{Op: "test", Path: AnnotationPath(key), Value: value})
	}
	for key, value := range c.Set {
		operations = append(operations, Operation{Op: "add", Path: LabelPath(key), Value: value})
	}
	for _, key := range c.Remove {
		operations = append(operations, Operation{Op: "remove", Path: LabelPath(key)})
	}
	if len(c.Annotate) > 0 && deployment.Annotations == nil {
		operations = append(operations, Operation{Op: "add", Path: "/metadata/annotations", Value: struct{}{}})
	}
	for key, value := range c.Annotate {
		operations = append(operations, Operation{Op: "add", Path: AnnotationPath(key), Value: value})
	}
	for _, key := range c.Unannotate {
		operations = append(operations, Operation{Op: "remove", Path: AnnotationPath(key)})
	}
	if c.Pause || c.Resume {
		// The generation changes with the spec alone: whoever pauses or resumes meanwhile isn't overruled.
		operations = append(operations, Operation{Op: "test", Path: "/metadata/generation", Value: deployment.Generation})
	}
	if c.Pause {
		operations = append(operations, Operation{Op: "add", Path: "/spec/paused", Value: true})
	}
	if c.Resume {
		// Removed, not set to false, so that the operator owns nothing of the spec afterwards.
		operations = append(operations, Operation{Op: "remove", Path: "/spec/paused"})
	}
	return operations
}

// AnnotationPath is where an annotation is, as a JSON pointer.
func AnnotationPath(key string) string {
	return "/metadata/annotations/" + PointerSegment(key)
}

// LabelPath is where a label is, as a JSON pointer.
func LabelPath(key string) string {
	return "/metadata/labels/" + PointerSegment(key)
}

// PointerSegment makes a label or annotation key one segment of a JSON pointer (RFC 6901).
func PointerSegment(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
