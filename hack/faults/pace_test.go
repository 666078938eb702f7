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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/faults/state"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

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

func TestBeginsCheck(t *testing.T) {
	g := NewWithT(t)
	g.Expect(beginsCheck("submitChangeExecBatchStartNotify")).To(BeTrue())
	g.Expect(beginsCheck("submitChangeExecOrderStartNotify")).To(BeTrue())
	g.Expect(beginsCheck("submitChangeFinishNotify")).To(BeFalse())
}
