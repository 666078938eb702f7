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
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"
)

// Skew is how far the versions of the plugin and of the operator are apart. The values are a contract.
type Skew string

const (
	// SkewNone means that they fit: they are at most one minor version apart.
	SkewNone Skew = "None"
	// SkewTooFar means that they are more than one minor version apart.
	SkewTooFar Skew = "TooFar"
	// SkewUnknown means that one of them isn't known.
	SkewUnknown Skew = "Unknown"
)

// skewOf compares two versions.
func skewOf(plugin, operator string) Skew {
	one, err := version.ParseGeneric(plugin)
	if err != nil {
		return SkewUnknown
	}
	other, err := version.ParseGeneric(operator)
	switch {
	case err != nil:
		return SkewUnknown
	case one.Major() != other.Major(), max(one.Minor(), other.Minor())-min(one.Minor(), other.Minor()) > 1:
		return SkewTooFar
	}
	return SkewNone
}

// operatorOf returns the Deployment of the operator; nil if there is none.
func operatorOf(deployments []unstructured.Unstructured) *unstructured.Unstructured {
	for i := range deployments {
		if deployments[i].GetName() == manager {
			return &deployments[i]
		}
	}
	return nil
}

// imageOf returns the image of the first container of a Deployment.
func imageOf(deployment *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	for _, container := range containers {
		fields, _ := container.(map[string]any)
		image, _ := fields["image"].(string)
		return image
	}
	return ""
}

// versionOfImage returns the tag of an image if it is a version, else nothing.
func versionOfImage(image string) string {
	image, _, _ = strings.Cut(image, "@")
	tag := image[strings.LastIndex(image, "/")+1:]
	if _, tag, _ = strings.Cut(tag, ":"); tag == "" {
		return ""
	}
	if _, err := version.ParseGeneric(tag); err != nil {
		return ""
	}
	return tag
}

// Version is the versions of the plugin and of the operator.
type Version struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// Version, Commit and Go are those of the plugin.
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	// Operator is the version of the operator, by the tag of its image; nil if it isn't asked for or can't be read.
	Operator *OperatorVersion `json:"operator,omitempty"`
	// Skew is how far they are apart.
	Skew Skew `json:"skew"`
	// Unknown is why the version of the operator can't be read.
	Unknown string `json:"unknown,omitempty"`
}

// OperatorVersion is the version of an operator.
type OperatorVersion struct {
	Namespace string `json:"namespace"`
	Image     string `json:"image"`
	// Version is empty where the tag of the image is none.
	Version string `json:"version,omitempty"`
}

// AddOperator adds the version of the operator.
func (v *Version) AddOperator(namespace string, deployments []unstructured.Unstructured) {
	deployment := operatorOf(deployments)
	if deployment == nil {
		v.Unknown = "there is no Deployment " + manager + " in namespace " + namespace
		return
	}
	image := imageOf(deployment)
	v.Operator = &OperatorVersion{Namespace: namespace, Image: image, Version: versionOfImage(image)}
	v.Skew = skewOf(v.Version, v.Operator.Version)
}
