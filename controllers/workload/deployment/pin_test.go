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

package deployment

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/traas-stack/altershield-operator/controllers/workload"
)

func TestPin(t *testing.T) {
	for _, row := range []struct{ name, strategy, change, originals, restored string }{
		{"shares", `{"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}`,
			`[{"op":"add","path":"/spec/strategy/rollingUpdate/maxUnavailable","value":0}]`, `{"maxUnavailable":"25%"}`,
			`[{"op":"add","path":"/spec/strategy/rollingUpdate/maxUnavailable","value":"25%"}]`},
		{"no surge", `{"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2, "maxSurge": 0}}`,
			`[{"op":"add","path":"/spec/strategy/rollingUpdate/maxUnavailable","value":0},{"op":"add","path":"/spec/strategy/rollingUpdate/maxSurge","value":1}]`,
			`{"maxUnavailable":2,"maxSurge":0}`,
			`[{"op":"add","path":"/spec/strategy/rollingUpdate/maxUnavailable","value":2},{"op":"add","path":"/spec/strategy/rollingUpdate/maxSurge","value":0}]`},
		{"no share of a surge", `{"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "0%"}}`,
			`[{"op":"add","path":"/spec/strategy/rollingUpdate/maxUnavailable","value":0},{"op":"add","path":"/spec/strategy/rollingUpdate/maxSurge","value":1}]`,
			`{"maxUnavailable":"100%","maxSurge":"0%"}`,
			`[{"op":"add","path":"/spec/strategy/rollingUpdate/maxUnavailable","value":"100%"},{"op":"add","path":"/spec/strategy/rollingUpdate/maxSurge","value":"0%"}]`},
		{"the defaults", `{}`,
			`[{"op":"add","path":"/spec/strategy/rollingUpdate","value":{}},{"op":"add","path":"/spec/strategy/rollingUpdate/maxUnavailable","value":0}]`,
			`{"maxUnavailable":"25%"}`, `null`},
		{"a strategy that takes none away", `{"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 3}}`, `null`, ``, `null`},
		{"a strategy that takes no share away", `{"rollingUpdate": {"maxUnavailable": "0%", "maxSurge": 3}}`, `null`, ``, `null`},
		{"a strategy that takes all away", `{"type": "Recreate"}`, `null`, ``, `null`},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			typed := deploymentWith(t, row.strategy)
			change, originals := Kind{}.Pin(typed)
			g.Expect(json.Marshal(change)).To(MatchJSON(row.change))
			g.Expect(originals).To(Equal(row.originals))
			untyped, sameOriginals := Kind{}.Pin(untypedOf(t, typed))
			g.Expect(untyped).To(Equal(change), "untyped")
			g.Expect(sameOriginals).To(Equal(originals))

			if rolling := typed.Spec.Strategy.RollingUpdate; rolling != nil {
				for _, operation := range change {
					switch operation.Path {
					case "/spec/strategy/rollingUpdate/maxUnavailable":
						rolling.MaxUnavailable = ptr.To(intstr.FromInt32(0))
					case "/spec/strategy/rollingUpdate/maxSurge":
						rolling.MaxSurge = ptr.To(intstr.FromInt32(1))
					}
				}
			}
			g.Expect(json.Marshal(Kind{}.Unpin(typed, originals))).To(MatchJSON(row.restored))
		})
	}
}

func TestUnpinLeavesWhatAUserChanged(t *testing.T) {
	g := NewWithT(t)
	const originals = `{"maxUnavailable":2,"maxSurge":0}`
	for strategy, want := range map[string][]workload.Operation{
		`{"rollingUpdate": {"maxUnavailable": 3, "maxSurge": 1}}`: {{Op: "add", Path: surgePath, Value: *limitsOf(deploymentWith(t,
			`{"rollingUpdate": {"maxSurge": 0}}`).Spec.Strategy).MaxSurge}},
		`{"rollingUpdate": {"maxUnavailable": "0%", "maxSurge": 1}}`: nil, // without a surge nothing would be replaced
		`{"rollingUpdate": {"maxUnavailable": 3, "maxSurge": 4}}`:    nil,
		`{"type": "Recreate"}`: nil,
	} {
		g.Expect(Kind{}.Unpin(deploymentWith(t, strategy), originals)).To(Equal(want), strategy)
	}
	g.Expect(Kind{}.Unpin(deploymentWith(t, `{"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}`), "")).To(BeEmpty())
}

func TestPaceFields(t *testing.T) {
	NewWithT(t).Expect(Kind{}.PaceFields()).To(Equal([]string{"/spec/paused", "/spec/strategy/type",
		"/spec/strategy/rollingUpdate/maxUnavailable", "/spec/strategy/rollingUpdate/maxSurge"}))
}

// The cache keeps the strategy of a paced Deployment, to restore it, and of no other.
func TestCacheKeepsThePinnedFields(t *testing.T) {
	g := NewWithT(t)
	deployment := deploymentWith(t, `{"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}`)
	g.Expect(slimDeployment(deployment).Spec.Strategy).To(Equal(appsv1.DeploymentStrategy{Type: "RollingUpdate"}))
	deployment.Annotations = map[string]string{"altershield.defense.antgroup.com/paced": "{}"}
	g.Expect(slimDeployment(deployment).Spec.Strategy).To(Equal(deployment.Spec.Strategy))
}

func deploymentWith(t *testing.T, strategy string) *appsv1.Deployment {
	t.Helper()
	var deployment appsv1.Deployment
	if err := json.Unmarshal([]byte(strategy), &deployment.Spec.Strategy); err != nil {
		t.Fatal(err)
	}
	return &deployment
}

func untypedOf(t *testing.T, deployment *appsv1.Deployment) *unstructured.Unstructured {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: fields}
}
