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
	"time"

	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

// maxRequest is the size of the largest request, in bytes.
const maxRequest = 64 << 10

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

	Workload requestWorkload `json:"workload"`
	Release  requestRelease  `json:"release"`

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
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Replicas  int32  `json:"replicas"`
}

type requestRelease struct {
	Version   string    `json:"version"`
	Number    int64     `json:"number"`
	StartedAt time.Time `json:"startedAt"`
}

type requestPod struct {
	Name  string    `json:"name"`
	Node  string    `json:"node"`
	Since time.Time `json:"since"`
}

// Request returns the question of a check of the type HTTP in JSON. The lists of pods are as long as its size permits.
func Request(release *checks.Scene, asked *Question) ([]byte, error) {
	question := request{
		APIVersion: appv1alpha1.GroupVersion.String(), Kind: "CheckRequest", ID: asked.ID, Policy: asked.Policy, Check: asked.Check, Mode: asked.Mode,
		Phase: asked.Phase, Look: asked.Look, Last: asked.Last,
		Workload:     requestWorkload{Kind: release.Kind, Namespace: release.Namespace, Name: release.Name, Replicas: release.Replicas},
		Release:      requestRelease{Version: release.Version, Number: release.Number, StartedAt: release.Began.UTC()},
		NewPodsTotal: len(release.New), OldPodsTotal: len(release.Old), Parameters: parameters(release, asked.HTTP.Parameters),
	}
	if verdict := asked.Verdict; verdict != nil {
		question.VerdictRef = &requestVerdict{verdict.Namespace, verdict.Name, verdict.UID}
	}
	for most := checks.MaxSample; ; most /= 2 {
		question.NewPods, question.OldPods = requestPods(release.New, most), requestPods(release.Old, most)
		body, err := json.Marshal(question)
		if err != nil {
			return nil, fmt.Errorf("encoding the question of the check %s of %s: %w", asked.Check, asked.Policy, err)
		}
		if len(body) <= maxRequest || most == 0 {
			return body, nil
		}
	}
}

func requestPods(pods []checks.Pod, most int) []requestPod {
	sample := checks.Sample(pods, most)
	listed := make([]requestPod, len(sample))
	for i, pod := range sample {
		listed[i] = requestPod{Name: pod.Name, Node: pod.Node, Since: pod.Since.UTC()}
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
