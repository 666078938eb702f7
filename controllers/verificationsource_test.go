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

package controllers_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The commands of docs/sources.md", func() {
	BeforeEach(patient)

	It("create sources, whose status shows whether they answer", func(ctx context.Context) {
		var authorized atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			if request.Header.Get("Authorization") == "Bearer abc" && request.Header.Get("X-Scope-OrgID") == "shop" {
				authorized.Store(true)
			}
			_, _ = writer.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
		}))
		DeferCleanup(server.Close)
		DeferCleanup(func(ctx context.Context) {
			bash(ctx, "kubectl delete -n "+system+" vsrc/prometheus vsrc/mimir secret/metrics-token networkpolicy/allow-prometheus --ignore-not-found")
		})
		shown := func(name string) func() string {
			return func() string {
				output, _ := kubectl(ctx, "-n", system, "get", "vsrc", name, "--no-headers")
				return strings.Join(strings.Fields(output), " ")
			}
		}
		first := strings.Join(blocks("sources.md", "A first source"), "")
		bash(ctx, first)
		Eventually(shown("prometheus")).Should(Equal("prometheus Prometheus http://prometheus.monitoring:9090 False SourceUnavailable"))
		bash(ctx, strings.ReplaceAll(first, "http://prometheus.monitoring:9090", server.URL))
		Eventually(shown("prometheus")).Should(Equal("prometheus Prometheus " + server.URL + " True Ready"))

		credentials := strings.Join(blocks("sources.md", "Credentials"), "")
		bash(ctx, strings.ReplaceAll(credentials, "https://mimir.example.com/prometheus", server.URL))
		Eventually(shown("mimir")).Should(Equal("mimir Prometheus " + server.URL + " True Ready"))
		Expect(authorized.Load()).To(BeTrue())
		bash(ctx, strings.Join(blocks("sources.md", "Security"), ""))
	})

	It("have no effect in other namespaces", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		bash(ctx, strings.ReplaceAll(strings.Join(blocks("sources.md", "A first source"), ""), system, namespace))
		Eventually(func() string {
			output, _ := kubectl(ctx, "-n", namespace, "get", "vsrc", "prometheus", "--no-headers")
			return strings.Join(strings.Fields(output), " ")
		}).Should(Equal("prometheus Prometheus http://prometheus.monitoring:9090 False OtherNamespace"))
	})
})
