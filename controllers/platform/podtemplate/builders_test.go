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

package podtemplate

import (
	"encoding/json"
	"testing"
)

const versionOf123 = "c6c45d23c098bdf181853a85b60b5d74"

// sleep is the documents' Deployment as in an AdmissionReview, with the API server's defaults.
const sleep = `{
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

type object = map[string]any

// edit changes a Deployment in place.
type edit func(deployment object)

// deployment returns sleep with the edits.
func deployment(t testing.TB, edits ...edit) object {
	t.Helper()
	result := object{}
	if err := json.Unmarshal([]byte(sleep), &result); err != nil {
		t.Fatal(err)
	}
	for _, edit := range edits {
		edit(result)
	}
	return result
}

// at returns the object at the path, and creates missing ones on the way.
func at(root object, path ...string) object {
	for _, key := range path {
		child, present := root[key].(object)
		if !present {
			child = object{}
			root[key] = child
		}
		root = child
	}
	return root
}

func label(key, value string) edit {
	return func(deployment object) { at(deployment, "metadata", "labels")[key] = value }
}

func annotation(key, value string) edit {
	return func(deployment object) { at(deployment, "metadata", "annotations")[key] = value }
}

func templateLabel(key, value string) edit {
	return func(deployment object) { at(deployment, "spec", "template", "metadata", "labels")[key] = value }
}

func without(key string, path ...string) edit {
	return func(deployment object) { delete(at(deployment, path...), key) }
}

func field(value any, key string, path ...string) edit {
	return func(deployment object) { at(deployment, path...)[key] = value }
}

func all(edits ...edit) edit {
	return func(deployment object) {
		for _, edit := range edits {
			edit(deployment)
		}
	}
}

// stamped makes the Deployment carry the stamp of a release.
func stamped(version, number string) edit {
	return all(label("admission-webhook-altershield.antgroup.com/version", version),
		templateLabel("admission-webhook-altershield.antgroup.com/version", version),
		annotation("altershield.defense.antgroup.com/release", number))
}

func versionOf(t testing.TB, deployment object) string {
	t.Helper()
	version, err := Of(deployment).Version()
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// repaired is the documents' repair: another template.
func repaired(deployment object) { templateLabel("test", "1234")(deployment) }
