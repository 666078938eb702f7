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
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const configuration = `
scrape_configs:
- job_name: monitor
  metrics_path: /metrics
  scheme: https
  tls_config:
    ca_file: /etc/prometheus/certs/0_altershieldoperator-system_webhook-server-cert_ca.crt
    server_name: altershieldoperator-controller-manager-metrics-service.altershieldoperator-system.svc
  bearer_token_file: /var/run/secrets/kubernetes.io/serviceaccount/token
  kubernetes_sd_configs:
  - {role: endpoints, namespaces: {names: [altershieldoperator-system]}}
  relabel_configs:
  - {source_labels: [job], target_label: __tmp_prometheus_job_name}
  - {action: keep, source_labels: [__meta_kubernetes_service_label_app_kubernetes_io_component, x], regex: (metrics);true}
  - {action: keep, source_labels: [__meta_kubernetes_endpoint_port_name], regex: metrics}
`

func TestScrapes(t *testing.T) {
	for name, c := range map[string]struct{ old, wrong, message string }{
		"as the ServiceMonitor says":      {"", "", ""},
		"in plain text":                   {"scheme: https", "scheme: http", "scheme is http, not https"},
		"without a look at the authority": {"server_name", "insecure_skip_verify: true\n    server_name", "insecure_skip_verify is true, not false"},
		"without a token":                 {"bearer_token_file", "token_file", "the token is , not /var/run/secrets/kubernetes.io/serviceaccount/token"},
		"another port":                    {"regex: metrics", "regex: webhook", "the port is webhook, not metrics"},
		"every Service":                   {"(metrics);true", "(.*);true", "the Service's component is (.*);true, not (metrics);true"},
		"another namespace":               {"[altershieldoperator-system]", "[default]", "the discovered namespaces is [default], not [altershieldoperator-system]"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found, err := jobOf([]byte(strings.Replace(configuration, c.old, c.wrong, 1)), "monitor")
			g.Expect(err).NotTo(HaveOccurred())
			if c.message == "" {
				g.Expect(found.scrapes()).To(Succeed())
				return
			}
			g.Expect(found.scrapes()).To(MatchError(c.message))
		})
	}
}

func TestJobOfNamesTheJobsThatThereAre(t *testing.T) {
	_, err := jobOf([]byte(configuration), "other")
	NewWithT(t).Expect(err).To(MatchError("there is no job other, but [monitor]"))
}
