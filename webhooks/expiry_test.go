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

package webhooks

import (
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"github.com/prometheus/client_golang/prometheus"
)

func TestRegisterExpiryShowsTheCertificateThatIsServed(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	g.Expect(RegisterExpiry(registry, server.Listener.Addr().String())).To(Succeed())
	shows := func(value types.GomegaMatcher) {
		t.Helper()
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(families).To(HaveLen(1))
		g.Expect(families[0].GetName()).To(Equal("altershield_serving_certificate_expiry_timestamp_seconds"))
		g.Expect(families[0].GetMetric()[0].GetGauge().GetValue()).To(value)
	}
	shows(BeEquivalentTo(3600000000)) // the certificate of httptest expires in 2084
	server.Close()
	shows(Satisfy(math.IsNaN))
}
