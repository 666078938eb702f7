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

package declared

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// pods compiles the source of pods. It defaults to Owner, or to None without pod templates.
func (c *compilation) pods(spec *appv1alpha1.ControlledKindSpec, hasTemplates bool) podSource {
	declared := spec.Pods
	if declared == nil {
		declared = &appv1alpha1.PodSource{By: appv1alpha1.PodsByOwner}
		if !hasTemplates {
			declared.By = appv1alpha1.PodsByNone
		}
	}
	at := c.spec.Child("pods")
	result := podSource{by: declared.By, key: declared.Key, selector: c.read(at.Child("path"), declared.Path)}
	c.mustSelect(at.Child("path"), result.selector)
	c.checkPods(at, declared)
	if declared.By == appv1alpha1.PodsByOwner {
		through := declared.Through
		if len(through) == 0 {
			through = []string{"ReplicaSet.apps", "StatefulSet.apps", "Job.batch"}
		}
		for i, text := range through {
			named := schema.ParseGroupKind(text)
			if _, known := layers()[named]; !known {
				c.problems = append(c.problems, field.NotSupported(at.Child("through").Index(i), text, layerNames()))
			}
			result.through = append(result.through, named)
		}
	}
	identity := identityOf(spec)
	identityAt := c.spec.Child("release", "identity")
	if identity.By == appv1alpha1.IdentityByRevision {
		c.checkLabel(identityAt.Child("label"), identity.Label)
		if identity.Path == "" {
			c.problems = append(c.problems, field.Required(identityAt.Child("path"), "the path to the value of the label"))
		}
		result.revision, result.current = identity.Label, c.read(identityAt.Child("path"), identity.Path)
		c.mustBe(identityAt.Child("path"), result.current, identity.Path, "string")
		if declared.By != appv1alpha1.PodsByNone && !c.definition.observesGenerations() {
			c.invalid(identityAt.Child("by"), identity.By, "the CRD has no status.observedGeneration, without which pods of the release before would count as those "+
				"of the next: add it, or have the CRD keep the labels of pod templates and use Stamp")
		}
	} else if !hasTemplates && declared.By != appv1alpha1.PodsByNone {
		c.problems = append(c.problems, field.Required(identityAt, "must be Revision: there are no pod templates that could carry the version label"))
	}
	return result
}

func (c *compilation) checkPods(at *field.Path, declared *appv1alpha1.PodSource) {
	switch declared.By {
	case appv1alpha1.PodsByLabel:
		c.checkLabel(at.Child("key"), declared.Key)
	case appv1alpha1.PodsBySelector:
		if declared.Path == "" {
			c.problems = append(c.problems, field.Required(at.Child("path"), "the path to the label selector"))
		}
	case appv1alpha1.PodsByOwner, appv1alpha1.PodsByNone:
	default:
		c.problems = append(c.problems, field.NotSupported(at.Child("by"), declared.By, []appv1alpha1.PodsBy{
			appv1alpha1.PodsByOwner, appv1alpha1.PodsByLabel, appv1alpha1.PodsBySelector, appv1alpha1.PodsByNone,
		}))
	}
}

// mustSelect reports a field that is no label selector in the CRD, as labels alone: it would select no pods.
func (c *compilation) mustSelect(at *field.Path, path Path) {
	schema, err := c.definition.at(path)
	if path.isZero() || err != nil || schema == nil || schema.Type == "string" || keepsUnknown(schema) {
		return
	}
	_, hasLabels := schema.Properties["matchLabels"]
	if _, hasExpressions := schema.Properties["matchExpressions"]; !hasLabels && !hasExpressions {
		c.invalid(at, path.String(), "must lead to a label selector, an object with matchLabels or a string")
	}
}

func (c *compilation) checkLabel(at *field.Path, key string) {
	if faults := validation.IsQualifiedName(key); len(faults) > 0 {
		c.invalid(at, key, "%s", faults[0])
	}
}

func identityOf(spec *appv1alpha1.ControlledKindSpec) appv1alpha1.PodIdentity {
	if spec.Release == nil || spec.Release.Identity == nil {
		return appv1alpha1.PodIdentity{By: appv1alpha1.IdentityByStamp}
	}
	return *spec.Release.Identity
}

func layerNames() []string {
	var names []string
	for named := range layers() {
		names = append(names, named.String())
	}
	slices.Sort(names)
	return names
}

func (c *compilation) unitSource(declared *appv1alpha1.UnitSource) listing {
	if declared == nil {
		return listing{}
	}
	at := c.spec.Child("units")
	list := c.read(at.Child("list"), declared.List)
	if declared.List == "" {
		c.problems = append(c.problems, field.Required(at.Child("list"), "the path to a list"))
	}
	c.mustBe(at.Child("list"), list, declared.List, "array")
	if declared.Name == "" {
		c.problems = append(c.problems, field.Required(at.Child("name"), "the field with the name of an element"))
	} else if !list.isZero() {
		name := list.elements().child(declared.Name)
		if _, err := c.definition.at(name); err != nil {
			c.invalid(at.Child("name"), declared.Name, "%v", err)
		}
		c.mustBe(at.Child("name"), name, declared.Name, "string")
	}
	return listing{list: list, name: declared.Name}
}
