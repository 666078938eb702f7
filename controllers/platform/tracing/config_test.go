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

package tracing_test

import (
	"flag"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
)

func TestConfigTracesNothingWithoutAFlag(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
	var config tracing.Config
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	config.Bind(flags)
	g.Expect(flags.Parse(nil)).To(Succeed())
	g.Expect(config.Validate()).To(Succeed())
	g.Expect(tracing.New(t.Context(), config)).To(BeNil())
	g.Expect(flags.Parse([]string{"--traces-endpoint=otel-collector.observability:4317", "--traces-insecure"})).To(Succeed())
	g.Expect(config).To(Equal(tracing.Config{Endpoint: "otel-collector.observability:4317", Insecure: true}))
}

func TestConfigValidateTakesAHostAndAPort(t *testing.T) {
	for _, endpoint := range []string{"otel-collector.observability:4317", "10.96.0.7:4317", "[fd00::7]:4317"} {
		NewWithT(t).Expect(tracing.Config{Endpoint: endpoint}.Validate()).To(Succeed(), endpoint)
	}
	for _, endpoint := range []string{
		"otel-collector", "http://otel-collector:4317", ":4317", "otel-collector:", "otel-collector:0", "otel-collector:otlp", "otel-collector:65536",
	} {
		NewWithT(t).Expect(tracing.Config{Endpoint: endpoint}.Validate()).To(MatchError(And(
			ContainSubstring("--traces-endpoint"), ContainSubstring("it must be host:port, as in otel-collector.observability:4317"))), endpoint)
	}
	NewWithT(t).Expect(tracing.Config{Insecure: true}.Validate()).To(MatchError(ContainSubstring("--traces-insecure")))
}
