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

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
	"github.com/traas-stack/altershield-operator/hack/faults/state"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

func TestMasksHideTimesNamesOfPodsAndIds(t *testing.T) {
	g, hidden := NewWithT(t), masks("faults-7")
	for text, shown := range map[string]string{
		"2026-11-21T10:00:00Z":        "TIME",
		"2026-11-21T10:00:00.123456Z": "TIME",
		"2026-11-21 10:00:00":         "TIME",
		"1795255200":                  "SECONDS",
		"12":                          "12",
		"pod web-5c698f4449-fsb27 at 10.128.0.7 in faults-7":                          "pod web-POD at IP in NAMESPACE",
		"pod other-5c698f4449-fsb27 at 10.128.0.7":                                    "pod other-POD at IP",
		"pod web-fsb27 at 10.128.0.7":                                                 "pod web-POD at IP",
		"pod web-0 at 10.128.0.7":                                                     "pod web-POD at IP",
		"pod web-5c698f4449-fsb27: ErrImagePull (and 1 more)":                         "pod web-POD: ErrImagePull",
		"web--x--c6c45d23c098bdf181853a85b60b5d74--x--1":                              "web--x--c6c45d23c098bdf181853a85b60b5d74--x--1",
		"default/faults-7/web/0a1b2c/2":                                               "default/NAMESPACE/web/HASH/2",
		"0123456789abcdef0123456789abcdef0123":                                        "ID",
		"4.98% on 2 new pods (1200 events), at most 1% is allowed":                    "SHARE on 2 new pods, at most 1% is allowed",
		"4.98% on 1 new pod (800 events), 0.2% on 2 old pods (x24.9, tolerated x1.5)": "SHARE on 1 new pod, SHARE on old pods (RATIO, tolerated x1.5)",
		"ChangeVerdict web--x--c6c45d23c098bdf181853a85b60b5d74--x--2-0a1b2c3d4e":     "ChangeVerdict web--x--c6c45d23c098bdf181853a85b60b5d74--x--2-HASH",
		"Job web-smoke-2-0a1b2c3d4e":                                                  "Job web-POD-2-HASH",
		`{"user":"admin","time":"2026-11-21T10:00:00Z","release":2}`:                  `{"user":"admin","time":"TIME","release":2}`,
	} {
		g.Expect(hidden.Value(text)).To(Equal(shown))
	}
}

func TestPickKeepsWhatIsCompared(t *testing.T) {
	g := NewWithT(t)
	object := pick(map[string]any{
		"metadata": map[string]any{"name": "web", "labels": map[string]any{"app": "web"}},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Verified", "message": "on the way"}}},
	}, []string{"metadata.labels", "status", "spec"})
	g.Expect(object).To(Equal(map[string]any{
		"metadata.labels": map[string]any{"app": "web"},
		"status":          map[string]any{"conditions": []any{map[string]any{"type": "Verified"}}},
	}))
}

func TestPickKeepsOnlyTheFailedPodsOfASuspendedRelease(t *testing.T) {
	g := NewWithT(t)
	in := func(phase string) map[string]any {
		status := map[string]any{"status": phase, "counts": "1", "defenseCheckFailPods": "2", "defenseCheckPassPods": "3"}
		return pick(map[string]any{"status": status}, []string{"status"})
	}
	g.Expect(in("Suspend")).To(Equal(map[string]any{"status": map[string]any{"status": "Suspend", "defenseCheckFailPods": "2"}}))
	g.Expect(in("Success")["status"]).To(HaveLen(4))
}

func TestMadeCountsWhatSucceeded(t *testing.T) {
	g := NewWithT(t)
	record := func(verb string, status int) proxy.Record {
		return proxy.Record{Position: proxy.Position{Verb: verb, Resource: "changepods"}, Status: status}
	}
	g.Expect(made([]proxy.Record{
		record("create", 201), record("create", 409), record("create", 0), record("create", 201), record("patch", 200), record("delete", 200),
	})).To(Equal(map[string]int{"creates changepods": 2, "deletes changepods": 1}))
}

func TestOrphanIsAnObjectWhileTheOwnerOfAnObjectIsGone(t *testing.T) {
	g := NewWithT(t)
	owner, owned := unstructured.Unstructured{Object: map[string]any{}}, unstructured.Unstructured{Object: map[string]any{}}
	owner.SetUID("1")
	owned.SetUID("2")
	owned.SetKind("ChangePod")
	owned.SetName("web--x--1")
	owned.SetOwnerReferences([]metav1.OwnerReference{{UID: "1"}})
	g.Expect(orphan([]unstructured.Unstructured{owned})).To(MatchError("ChangePod web--x--1 waits to be removed with its owner"))
	g.Expect(orphan([]unstructured.Unstructured{owned, owner})).To(Succeed())
	owner.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	g.Expect(orphan([]unstructured.Unstructured{owned, owner})).NotTo(Succeed())
}

func TestBehindIsAWorkloadWhoseControllerHasNotLooked(t *testing.T) {
	g := NewWithT(t)
	workload := func(kind string, observed, replicas int64) []unstructured.Unstructured {
		object := unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": "web", "generation": int64(2)},
			"spec": map[string]any{"replicas": int64(3)}, "status": map[string]any{"observedGeneration": observed, "replicas": replicas},
		}}
		return []unstructured.Unstructured{object}
	}
	g.Expect(behind(workload("Deployment", 1, 3))).To(MatchError("Deployment web waits for its controller"))
	g.Expect(behind(workload("Deployment", 2, 4))).To(Succeed(), "one more pod may wait for its turn")
	g.Expect(behind(workload("ReplicaSet", 2, 2))).To(MatchError("ReplicaSet web waits for its controller"))
	g.Expect(behind(workload("ReplicaSet", 2, 3))).To(Succeed())
	g.Expect(behind([]unstructured.Unstructured{{Object: map[string]any{"apiVersion": "apps/v1", "kind": "ControllerRevision"}}})).To(Succeed())
}

func TestMasksMakeTheStatesOfTwoNamespacesTheSame(t *testing.T) {
	g := NewWithT(t)
	in := func(namespace, pod string) state.State {
		found := state.State{}
		found.Add("ChangePod web--x--1", map[string]any{"spec": map[string]any{"namespace": namespace, "pod": pod}}, masks(namespace))
		return found
	}
	g.Expect(state.NewReference(in("faults-1", "web-5c698f4449-fsb27")).Differences(in("faults-12", "web-5c698f4449-abcde"))).To(BeEmpty())
}

func TestJudgeSetsTheVerdictOnAPodOrOnAnOrder(t *testing.T) {
	g := NewWithT(t)
	batch := &appv1alpha1.ChangePod{Spec: appv1alpha1.ChangePodSpec{PodInfos: []appv1alpha1.PodSummary{{Pod: "web-a"}, {Pod: "web-b"}}}}
	lab.Judge(batch, "unpass", "find error")
	g.Expect(batch.Status.PodResults).To(HaveExactElements(appv1alpha1.PodSummary{Pod: "web-a", Verdict: "unpass", Message: "find error"}))
	g.Expect(batch.Spec.PodInfos[0].Verdict).To(BeEmpty())

	order := &appv1alpha1.ChangePod{Spec: appv1alpha1.ChangePodSpec{Order: true}}
	lab.Judge(order, "pass", "")
	g.Expect(order.Status.PodResults).To(HaveExactElements(appv1alpha1.PodSummary{Pod: "change order", Verdict: "pass"}))
	g.Expect(order.Status.Message).To(Equal("PostFinish"))
}

func TestAddOrdersTellsTheCheckOfAnOrderFromThatOfItsFirstBatch(t *testing.T) {
	g := NewWithT(t)
	server := altershield.New(altershield.Options{SkipAuth: true, PreDelay: time.Hour})
	defer server.Close()
	call := func(action, fields string) {
		t.Helper()
		request := httptest.NewRequest(http.MethodPost, "/openapi/v1/exe/"+action, strings.NewReader(`{"tenantCode":"default","platform":"kubernetes",`+
			`"changeSceneKey":"com.alipay.altershield.kubernetes.rollingupdate","bizExecOrderId":"o1","executor":"operator",`+fields+`}`))
		for _, name := range []string{"Platform", "Timestamp", "Sign"} {
			request.Header.Set("X-AlterShield-"+name, "1")
		}
		answer := httptest.NewRecorder()
		server.Handler().ServeHTTP(answer, request)
		g.Expect(answer.Body.String()).To(ContainSubstring(`"success":true`))
	}
	call("submitChangeExecOrder", `"changeTitle":"web","creator":"operator","changeScenarioCode":"00","changePhases":["prod_phase"],`+
		`"changeContents":[{"contentType":{"typeName":"paas.pod"},"instanceName":"shop/web"}],"changeParamJson":"{}"`)
	call("submitChangeExecOrderStartNotify", `"startTime":1700000000000`)
	call("submitChangeExecOrderStartNotify", `"startTime":1700000000000`)
	call("submitChangeExecBatchStartNotify", `"batchNo":0,"totalBatchNumInChangePhase":1,"totalBatchNum":1,"isLastBatchInChangePhaseTag":"last",`+
		`"isLastBatchTag":"last","changePhase":"prod_phase","effectiveTargetType":"paas.pod","effectiveTargetLocations":[]`)

	found := state.State{}
	addOrders(found, server, "shop", 1)
	const unchecked = ", PRE false, POST false"
	g.Expect(found).To(And(HaveLen(5), HaveKeyWithValue("order 1 ended", ""),
		HaveKeyWithValue("order 1 as a whole is", HaveSuffix(unchecked)), HaveKeyWithValue("order 1 batch 0 is", HaveSuffix(unchecked)),
		HaveKeyWithValue("order 1 as a whole checks", "1"), HaveKeyWithValue("order 1 batch 0 checks", "1"),
	), "one check of the order was begun in vain")
}
