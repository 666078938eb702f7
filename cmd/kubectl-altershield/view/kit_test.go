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

package view_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

var now = time.Date(2026, 11, 22, 16, 41, 52, 0, time.UTC)

// version returns a version of 32 hex digits that begins with these.
func version(digits string) string { return digits + strings.Repeat("0", 32-len(digits)) }

type recordOption func(*appv1alpha1.ChangeWorkload)

// record returns the record of a verified release of the Deployment web.
func record(number int64, digits string, options ...recordOption) appv1alpha1.ChangeWorkload {
	started := now.Add(-time.Hour).Unix() + number
	created := appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web--x--" + version(digits), UID: types.UID("uid-of-" + digits),
			Labels: map[string]string{"app.kubernetes.io/deployment-name": "web"},
		},
		Spec: appv1alpha1.ChangeWorkloadSpec{
			AppName: "web", WorkloadRef: &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web-uid"},
			Reversion: version(digits), Release: number, CreateTimeUnix: started, ReleasedBy: "alice@corp",
			Changes: []string{"spec.containers[web].image: web:1.8 -> web:1.9"},
		},
		Status: appv1alpha1.ChangeWorkloadStatus{
			Status: "Success", ObservedRelease: number, EntryTimeUnix: started + 250, LastChangePod: 4, FirstChangePod: 1,
			Counts:     appv1alpha1.PodCounts{Desired: 4, Passed: 4},
			Conditions: []metav1.Condition{{Type: "Verified", Status: "True", Reason: "AllPodsPassed", Message: "all 4 pods passed"}},
		},
	}
	for _, option := range options {
		option(&created)
	}
	return created
}

// is sets the status and the condition Verified.
func is(phase, verified, reason, message string) recordOption {
	return func(record *appv1alpha1.ChangeWorkload) {
		record.Status.Status = appv1alpha1.ChangeWorkloadPhase(phase)
		record.Status.Conditions = []metav1.Condition{{Type: "Verified", Status: metav1.ConditionStatus(verified), Reason: reason, Message: message}}
	}
}

// has adds a condition.
func has(kind, status, reason, message string) recordOption {
	return func(record *appv1alpha1.ChangeWorkload) {
		record.Status.Conditions = append(record.Status.Conditions,
			metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message})
	}
}

// counts sets the counts of pods.
func counts(desired, passed, failed int32) recordOption {
	return func(record *appv1alpha1.ChangeWorkload) {
		record.Status.Counts = appv1alpha1.PodCounts{Desired: desired, Passed: passed, Failed: failed}
	}
}

func failedPods(names ...string) recordOption {
	return func(record *appv1alpha1.ChangeWorkload) {
		for _, name := range names {
			record.Status.DefenseCheckFailPods = append(record.Status.DefenseCheckFailPods,
				appv1alpha1.PodSummary{Pod: name, Verdict: "unpass", Message: "5xx above 1%"})
		}
	}
}

// suspended is a release that failed.
func suspended(record *appv1alpha1.ChangeWorkload) {
	is("Suspend", "False", "PodsFailed", "pod web-5 failed its check: 5xx above 1%")(record)
	counts(20, 4, 2)(record)
	failedPods("web-5", "web-6")(record)
	record.Status.EntryTimeUnix = now.Add(-12 * time.Minute).Unix()
}

// of makes a record that of another workload.
func of(namespace, kind, name string) recordOption {
	return func(record *appv1alpha1.ChangeWorkload) {
		resource := strings.ToLower(kind) + "s"
		record.Namespace, record.Spec.AppName = namespace, name
		record.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(name + "-uid")}
		if kind != "Deployment" {
			record.Labels = map[string]string{"altershield.defense.antgroup.com/workload": resource + "." + name}
		} else {
			record.Labels = map[string]string{"app.kubernetes.io/deployment-name": name}
		}
	}
}

// workload returns the Deployment web at a release.
func workload(number int64, digits string, changes ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"namespace": "shop", "name": "web", "uid": "web-uid",
			"labels":      map[string]any{"admission-webhook-altershield.antgroup.com/version": version(digits)},
			"annotations": map[string]any{"altershield.defense.antgroup.com/release": fmt.Sprint(number)},
		},
		"spec":   map[string]any{"replicas": int64(20)},
		"status": map[string]any{"replicas": int64(22), "readyReplicas": int64(20), "updatedReplicas": int64(6)},
	}}
	for _, change := range changes {
		change(object)
	}
	return object
}

func annotated(key, value string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		annotations := object.GetAnnotations()
		annotations["altershield.defense.antgroup.com/"+key] = value
		object.SetAnnotations(annotations)
	}
}

// isSuspended is a Deployment that is suspended and held.
func isSuspended(object *unstructured.Unstructured) {
	labels := object.GetLabels()
	labels["altershield.defense.antgroup.com/suspend"] = "1"
	object.SetLabels(labels)
	annotated("held", "7")(object)
	object.Object["spec"].(map[string]any)["paused"] = true
}

// wentBack adds rollbacks.
func wentBack(rollbacks ...appv1alpha1.Rollback) func(*unstructured.Unstructured) {
	text, _ := json.Marshal(rollbacks)
	return annotated("rollbacks", string(text))
}

func rollback(from, to int64, digits string) appv1alpha1.Rollback {
	until := metav1.NewTime(now.Add(21 * time.Hour))
	return appv1alpha1.Rollback{
		Version: version(digits), Release: from, To: version("a1"), ToRelease: to, Reason: "PodsNotRunning", Message: "ImagePullBackOff",
		Time: metav1.NewTime(now.Add(-3 * time.Hour)), RefusedUntil: &until,
	}
}

// facts returns the facts of the Deployment web.
func facts(object *unstructured.Unstructured, records ...appv1alpha1.ChangeWorkload) view.Facts {
	return view.Facts{
		Namespace: "shop", Reference: appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, Workload: object, Records: records,
	}
}
