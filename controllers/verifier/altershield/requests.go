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

package altershield

import (
	"cmp"
	"fmt"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// Values in the requests, and their limits.
const (
	podType = "paas.pod"
	// deployment is the kind of releases that name none.
	deployment = "Deployment"
	daily      = "00"
	inProd     = "prod_phase"
	lastBatch  = "last"
	notLast    = "not_last"
	// maxTitle is the maximum length of a title, in bytes. Names contain only one-byte characters.
	maxTitle = 256
	// maxField is the maximum size of a field as JSON, in bytes: the server keeps it in a column of 65,535 bytes and always fails beyond
	// that. Only the pods of a batch can make a field that long.
	maxField = 60_000
)

// inOrder identifies the order of a request.
type inOrder struct {
	TenantCode     string `json:"tenantCode"`
	ChangeSceneKey string `json:"changeSceneKey"`
	BizExecOrderID string `json:"bizExecOrderId"`
	Platform       string `json:"platform"`
}

func (c Config) inOrder(release verifier.Release) inOrder {
	return inOrder{TenantCode: c.Tenant, ChangeSceneKey: c.Scene, BizExecOrderID: release.Order, Platform: c.Platform}
}

type openRequest struct {
	inOrder
	ChangeTitle        string    `json:"changeTitle"`
	Creator            string    `json:"creator"`
	ChangeScenarioCode string    `json:"changeScenarioCode"`
	ChangePhases       []string  `json:"changePhases"`
	ChangeContents     []changed `json:"changeContents"`
	ChangeParam        jsonText  `json:"changeParamJson"`
	ChangeApps         []string  `json:"changeApps"`
}

type changed struct {
	ContentType  contentType `json:"contentType"`
	InstanceName string      `json:"instanceName"`
}

type contentType struct {
	TypeName string `json:"typeName"`
}

// param names a Deployment in its own field, and every other workload by Kind and Name.
type param struct {
	Cluster    string `json:"cluster"`
	Namespace  string `json:"namespace"`
	Deployment string `json:"deployment,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
	Version    string `json:"version"`
	Release    int64  `json:"release"`
	// BreakGlass is how the release passed by a BreakGlass.
	BreakGlass *appv1alpha1.BreakGlassPass `json:"breakGlass,omitempty"`
}

func (c Config) param(release verifier.Release) param {
	released := param{
		Cluster: c.Cluster, Namespace: release.Namespace, Version: release.Version, Release: release.Number, BreakGlass: release.Pass,
	}
	if kind := workloadKind(release); kind == deployment {
		released.Deployment = release.Name
	} else {
		released.Kind, released.Name = kind, release.Name
	}
	return released
}

// workloadKind returns the kind of a released workload. Records from before v0.2 name none.
func workloadKind(release verifier.Release) string { return cmp.Or(release.Kind, deployment) }

func (c Config) openRequest(release verifier.Release) openRequest {
	name := release.Namespace + "/" + release.Name
	return openRequest{
		inOrder:            c.inOrder(release),
		ChangeTitle:        oneline.Of(title(release), maxTitle),
		Creator:            agent,
		ChangeScenarioCode: daily,
		ChangePhases:       []string{inProd},
		ChangeContents:     []changed{{ContentType: contentType{TypeName: podType}, InstanceName: name}},
		ChangeParam:        jsonText{c.param(release)},
		ChangeApps:         []string{release.Name},
	}
}

func title(release verifier.Release) string {
	what := "Release"
	if release.Pass != nil {
		what = "Break-glass release"
	}
	return fmt.Sprintf("%s %d of %s %s/%s", what, release.Number, workloadKind(release), release.Namespace, release.Name)
}

type closeRequest struct {
	inOrder
	FinishState appv1alpha1.OrderState `json:"finishState"`
}

// startRequest is all of the request to check an order, and the beginning of that to check a batch.
type startRequest struct {
	inOrder
	Executor  string `json:"executor"`
	StartTime int64  `json:"startTime"`
}

func (c Config) startOf(release verifier.Release, now time.Time) startRequest {
	return startRequest{inOrder: c.inOrder(release), Executor: agent, StartTime: now.UnixMilli()}
}

type beginRequest struct {
	startRequest
	BatchNo                     int        `json:"batchNo"`
	TotalBatchNum               int        `json:"totalBatchNum"`
	TotalBatchNumInChangePhase  int        `json:"totalBatchNumInChangePhase"`
	IsLastBatchTag              string     `json:"isLastBatchTag"`
	IsLastBatchInChangePhaseTag string     `json:"isLastBatchInChangePhaseTag"`
	ChangePhase                 string     `json:"changePhase"`
	EffectiveTargetType         string     `json:"effectiveTargetType"`
	EffectiveTargetLocations    []jsonText `json:"effectiveTargetLocations"`
	ExtInfo                     workload   `json:"extInfo"`
}

type workload struct {
	Namespace string `json:"namespace"`
	Name      string `json:"workloadName"`
	Type      string `json:"workloadType"`
}

func (c Config) beginRequest(batch verifier.Batch, now time.Time) beginRequest {
	tag := notLast
	if batch.Last {
		tag = lastBatch
	}
	return beginRequest{
		startRequest:                c.startOf(batch.Release, now),
		BatchNo:                     batch.Number,
		TotalBatchNum:               batch.Total,
		TotalBatchNumInChangePhase:  batch.Total,
		IsLastBatchTag:              tag,
		IsLastBatchInChangePhaseTag: tag,
		ChangePhase:                 inProd,
		EffectiveTargetType:         podType,
		EffectiveTargetLocations:    locations(batch.Pods),
		ExtInfo:                     workload{Namespace: batch.Release.Namespace, Name: batch.Release.Name, Type: workloadKind(batch.Release)},
	}
}

// locations never returns nil, as the server refuses null.
func locations(summaries []appv1alpha1.PodSummary) []jsonText {
	result := make([]jsonText, 0, len(summaries))
	for _, pod := range summaries {
		pod.Verdict, pod.Message, pod.FinishTimeUnix = "", "", 0
		result = append(result, jsonText{pod})
	}
	return result
}

// Fits returns how many of the pods, from the first on, the server accepts in one batch, at least one.
func (c *Client) Fits(pods []appv1alpha1.PodSummary) int {
	length := len("[]")
	for count, location := range locations(pods) {
		text, err := compact(location)
		if length += len(text) + len(","); err == nil && length > maxField+len(",") {
			return max(count, 1)
		}
	}
	return len(pods)
}

type finishRequest struct {
	inOrder
	NodeID     string `json:"nodeId"`
	Success    bool   `json:"success"`
	FinishTime int64  `json:"finishTime"`
}

type pollRequest struct {
	inOrder
	NodeID       string                 `json:"nodeId"`
	DefenseStage appv1alpha1.CheckStage `json:"defenseStage"`
}
