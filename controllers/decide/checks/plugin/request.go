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

package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

const (
	// maxRequest is the size of the largest request, in bytes.
	maxRequest = 64 << 10
	// maxLabels is the most labels of a workload in it, which leaves half of it to the pods.
	maxLabels = 64
)

// request is the question to a plug-in. Its fields are a contract: they may be added, never renamed.
type request struct {
	APIVersion string                `json:"apiVersion"`
	Kind       string                `json:"kind"`
	ID         string                `json:"id"`
	Policy     string                `json:"policy"`
	Check      string                `json:"check"`
	Mode       appv1alpha1.CheckMode `json:"mode"`
	// Phase is Before or After, empty for During.
	Phase appv1alpha1.CheckPhase `json:"phase,omitempty"`
	Look  int64                  `json:"look"`
	Last  bool                   `json:"last"`
	// Deadline is missing where the answer is awaited in a ChangeVerdict.
	Deadline *time.Time `json:"deadline,omitempty"`

	Workload requestWorkload `json:"workload"`
	Release  requestRelease  `json:"release"`
	Window   requestWindow   `json:"window"`

	NewPods      []requestPod                          `json:"newPods"`
	NewPodsTotal int                                   `json:"newPodsTotal"`
	OldPods      []requestPod                          `json:"oldPods"`
	OldPodsTotal int                                   `json:"oldPodsTotal"`
	Parameters   map[string]appv1alpha1.ParameterValue `json:"parameters"`

	VerdictRef *requestVerdict `json:"verdictRef,omitempty"`
}

// requestVerdict is the ChangeVerdict in which the answer is awaited.
type requestVerdict struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

type requestWorkload struct {
	Kind      string            `json:"kind"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	UID       types.UID         `json:"uid"`
	Replicas  int32             `json:"replicas"`
	Labels    map[string]string `json:"labels"`
}

type requestRelease struct {
	Version   string    `json:"version"`
	Number    int64     `json:"number"`
	StartedAt time.Time `json:"startedAt"`
}

// requestWindow is the time that the question is about.
type requestWindow struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

type requestPod struct {
	Name string `json:"name"`
	// IP is missing until the pod has one.
	IP    string    `json:"ip,omitempty"`
	Node  string    `json:"node"`
	Since time.Time `json:"since"`
	// Version is that of an old pod, missing for one without.
	Version string `json:"version,omitempty"`
}

// Request returns the question of a check of the type HTTP in JSON. The lists of pods are as long as its size permits.
func Request(release *checks.Scene, asked *Question) ([]byte, error) {
	question := request{
		APIVersion: appv1alpha1.GroupVersion.String(), Kind: "CheckRequest", ID: asked.ID, Policy: asked.Policy, Check: asked.Check, Mode: asked.Mode,
		Phase: asked.Phase, Look: asked.Look, Last: asked.Last,
		Workload: requestWorkload{
			Kind: release.Kind, Namespace: release.Namespace, Name: release.Name, UID: release.UID, Replicas: release.Replicas, Labels: firstLabels(release.Labels),
		},
		Release:      requestRelease{Version: release.Version, Number: release.Number, StartedAt: release.Began.UTC()},
		Window:       requestWindow{From: release.Began.UTC(), To: asked.At.UTC()},
		NewPodsTotal: len(release.New), OldPodsTotal: len(release.Old), Parameters: parameters(release, asked.HTTP.Parameters),
	}
	if verdict := asked.Verdict; verdict != nil {
		question.VerdictRef = &requestVerdict{verdict.Namespace, verdict.Name, verdict.UID}
	} else {
		until := asked.Until.UTC()
		question.Deadline = &until
	}
	for most := checks.MaxSample; ; most /= 2 {
		question.NewPods, question.OldPods = requestPods(release.New, most, ""), requestPods(release.Old, most, appv1alpha1.LabelVersion)
		body, err := json.Marshal(question)
		if err != nil {
			return nil, fmt.Errorf("encoding the question of the check %s of %s: %w", asked.Check, asked.Policy, err)
		}
		if len(body) <= maxRequest || most == 0 {
			return body, nil
		}
	}
}

// firstLabels returns the first labels by their names.
func firstLabels(labels map[string]string) map[string]string {
	first := make(map[string]string, min(len(labels), maxLabels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if len(first) == maxLabels {
			break
		}
		first[key] = labels[key]
	}
	return first
}

// requestPods returns a sample of pods, with the version that a label has.
func requestPods(pods []checks.Pod, most int, version string) []requestPod {
	sample := checks.Sample(pods, most)
	listed := make([]requestPod, len(sample))
	for i, pod := range sample {
		listed[i] = requestPod{Name: pod.Name, IP: pod.IP, Node: pod.Node, Since: pod.Since.UTC(), Version: pod.Labels[version]}
	}
	return listed
}

// parameters returns the values of parameters.
func parameters(release *checks.Scene, spec map[string]appv1alpha1.ParameterValue) map[string]appv1alpha1.ParameterValue {
	of, values := variables(release), make(map[string]appv1alpha1.ParameterValue, len(spec))
	for name, value := range spec {
		values[name] = of.value(value)
	}
	return values
}

// replacements are the values of variables.
type replacements map[appv1alpha1.ParameterValue]string

// variables returns the values of the variables of all checks.
func variables(release *checks.Scene) replacements {
	return replacements{"$namespace": release.Namespace, "$workload": release.Name, "$kind": release.Kind, "$version": release.Version}
}

// value returns the value of a parameter. A variable is a value of its own, so that a value can't be made of others.
func (r replacements) value(of appv1alpha1.ParameterValue) appv1alpha1.ParameterValue {
	if value, isVariable := r[of]; isVariable {
		return appv1alpha1.ParameterValue(value)
	}
	return of
}
