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

package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/jsonpointer"
)

// RepairOf returns the repair of a workload, by the trial of the very request.
func RepairOf(facts Facts, trial Trial) (Request, error) {
	request := requestOf(RepairRequest, facts)
	switch trial.Verdict {
	case NoRelease:
		return Request{}, fmt.Errorf("the content of %s is the same already, so that this is no repair", request.Object)
	case NotControlled:
		return Request{}, fmt.Errorf("%s isn't under change control, so that it needs no repair: use kubectl apply or kubectl set image", request.Object)
	}
	request.To, request.Changes = Side{Release: trial.Release, Version: trial.Version}, trial.Changes
	return request, nil
}

// MarkRepair sets the label that lets the next release of a workload through, and its reason if there is one: the file may have its own.
func MarkRepair(object *unstructured.Unstructured, reason string) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[appv1alpha1.LabelIgnoredSuspend] = appv1alpha1.IgnoredSuspendTrue
	object.SetLabels(labels)
	if reason != "" {
		Annotate(object, appv1alpha1.AnnotationReason, reason)
	}
}

// Image is the image of a container, as kubectl set image takes it.
type Image struct{ Container, Image string }

// ParseImage parses CONTAINER=IMAGE.
func ParseImage(argument string) (Image, error) {
	container, image, found := strings.Cut(argument, "=")
	if !found || container == "" || image == "" {
		return Image{}, fmt.Errorf("%q is no image of a container: use CONTAINER=IMAGE", argument)
	}
	return Image{container, image}, nil
}

// SetImages sets images of containers in the pod template of a workload of a built-in kind, or of one that has its template at the same place.
func SetImages(object *unstructured.Unstructured, images []Image) error {
	var containers []map[string]any
	var names []string
	for _, template := range []string{"/spec/template/spec", "/spec/jobTemplate/spec/template/spec"} {
		for _, list := range []string{"containers", "initContainers"} {
			items, _ := jsonpointer.Find(object.Object, append(jsonpointer.Keys(template), list)...).([]any)
			for _, item := range items {
				if container, ok := item.(map[string]any); ok {
					containers = append(containers, container)
					names = append(names, fmt.Sprint(container["name"]))
				}
			}
		}
	}
	if len(containers) == 0 {
		return errors.New("it has no pod template that --image knows: use -f")
	}
	for _, image := range images {
		at := slices.Index(names, image.Container)
		if at < 0 {
			return fmt.Errorf("it has no container %s; its containers are %s", image.Container, strings.Join(names, ", "))
		}
		containers[at]["image"] = image.Image
	}
	return nil
}
