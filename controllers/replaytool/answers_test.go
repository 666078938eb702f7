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

package replaytool_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/replaytool"
)

// serve returns the address of a source that answers, and that answers queries for a range with a body.
func serve(t *testing.T, status int, body string, asked func(query string)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/api/v1/query" {
			_, _ = writer.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
			return
		}
		asked(request.FormValue("query"))
		writer.WriteHeader(status)
		_, _ = writer.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestRunMakesQueriesOfAPolicyAsTheOperatorDoes(t *testing.T) {
	const ones = `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1767225645,"1"],[1767225660,"1"],[1767225675,"1"]]}]}}`
	var asked string
	address := serve(t, http.StatusOK, ones, func(query string) { asked = query })
	reader := cluster(t, address)
	connect := func() (client.Reader, error) { return reader, nil }
	for name, row := range map[string]struct{ metadata, url, query string }{
		"of the operator's namespace":       {"{name: web, namespace: altershieldoperator-system}", address, "up"},
		"of a namespace":                    {"{name: web, namespace: shop}", address, `up{namespace="shop"}`},
		"without one, as in the workload's": {"{name: web}", address, `up{namespace="shop"}`},
		"by a source of the cluster":        {"{name: web}", "", `up{namespace="shop"}`},
	} {
		t.Run(name, func(t *testing.T) {
			policy := write(t, `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: VerificationPolicy
metadata: `+row.metadata+`
spec: {checks: [{name: up, type: Query, query: {sourceRef: {name: prometheus}, query: up, min: "1"}}]}
`)
			out, _, err := run(t, replaytool.Options{Policy: policy, Workload: "shop/web", Release: 3, SourceURL: row.url, Output: "table"}, connect)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(out).To(ContainSubstring("up      Query   Pass"))
			NewWithT(t).Expect(asked).To(Equal(row.query))
		})
	}
}

func TestRunSaysWhyNoPodIsFound(t *testing.T) {
	address := serve(t, http.StatusBadRequest, `{"status":"error","errorType":"bad_data","error":"unknown function"}`, func(string) {})
	_, _, err := run(t, replaytool.Options{
		Policy: write(t, twoChecks), Workload: "shop/web", From: "2026-01-01T00:00:00Z", To: "2026-01-01T00:08:00Z", NewPods: "web-.*", SourceURL: address, Output: "table",
	}, nil)
	NewWithT(t).Expect(err).To(MatchError("no pod of Deployment.apps shop/web in the series matches --new-pods web-.*: " +
		"VerificationSource prometheus: the source refuses the query (HTTP 400): unknown function"))
}
