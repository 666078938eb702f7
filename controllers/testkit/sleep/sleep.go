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

// Package sleep has the documents' Deployment for tests of admission.
package sleep

import (
	"encoding/json"
	"testing"
)

// Manifest is the documents' Deployment as in an AdmissionReview, with the API server's defaults.
const Manifest = `{
	"apiVersion": "apps/v1", "kind": "Deployment",
	"metadata": {"name": "sleep", "namespace": "default", "uid": "d-1", "creationTimestamp": null, "labels": {"app": "sleep"}},
	"spec": {
		"replicas": 5,
		"selector": {"matchLabels": {"app": "sleep"}},
		"template": {
			"metadata": {"creationTimestamp": null, "labels": {"app": "sleep", "test": "123"}},
			"spec": {
				"containers": [{
					"name": "sleep", "image": "busybox", "command": ["/bin/sleep", "infinity"], "resources": {},
					"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent"
				}],
				"restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
				"securityContext": {}, "schedulerName": "default-scheduler"
			}
		},
		"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
		"revisionHistoryLimit": 10, "progressDeadlineSeconds": 600
	},
	"status": {}
}`

// Object is an object as JSON has it.
type Object = map[string]any

// Edit changes a Deployment in place.
type Edit func(deployment Object)

// Deployment returns the documents' Deployment with the edits.
func Deployment(t testing.TB, edits ...Edit) Object {
	t.Helper()
	result := Object{}
	if err := json.Unmarshal([]byte(Manifest), &result); err != nil {
		t.Fatal(err)
	}
	for _, edit := range edits {
		edit(result)
	}
	return result
}

// At returns the object at the path, and creates missing ones on the way.
func At(root Object, path ...string) Object {
	for _, key := range path {
		child, present := root[key].(Object)
		if !present {
			child = Object{}
			root[key] = child
		}
		root = child
	}
	return root
}

// Field sets the key of the object at the path.
func Field(value any, key string, path ...string) Edit {
	return func(deployment Object) { At(deployment, path...)[key] = value }
}

// Without removes the key from the object at the path.
func Without(key string, path ...string) Edit {
	return func(deployment Object) { delete(At(deployment, path...), key) }
}

// Label sets a label.
func Label(key, value string) Edit { return Field(value, key, "metadata", "labels") }

// Annotation sets an annotation.
func Annotation(key, value string) Edit { return Field(value, key, "metadata", "annotations") }

// TemplateLabel sets a label of the pods.
func TemplateLabel(key, value string) Edit {
	return Field(value, key, "spec", "template", "metadata", "labels")
}

// All makes one edit of some.
func All(edits ...Edit) Edit {
	return func(deployment Object) {
		for _, edit := range edits {
			edit(deployment)
		}
	}
}

// Stamped makes the Deployment carry the stamp of a release.
func Stamped(version, number string) Edit {
	return All(Label("admission-webhook-altershield.antgroup.com/version", version),
		TemplateLabel("admission-webhook-altershield.antgroup.com/version", version),
		Annotation("altershield.defense.antgroup.com/release", number))
}

// Repaired is the documents' repair: another template.
func Repaired(deployment Object) { TemplateLabel("test", "1234")(deployment) }
