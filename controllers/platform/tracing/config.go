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

package tracing

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"strconv"
)

// Config configures the export of spans, together with the variables of OpenTelemetry: OTEL_EXPORTER_OTLP_*, OTEL_TRACES_SAMPLER,
// OTEL_RESOURCE_ATTRIBUTES and others.
type Config struct {
	// Endpoint is the host:port of a collector for OTLP over gRPC. If it is empty, tracing is off.
	Endpoint string
	// Insecure turns TLS off.
	Insecure bool
}

// Bind defines the flags that fill the configuration.
func (c *Config) Bind(flags *flag.FlagSet) {
	flags.StringVar(&c.Endpoint, "traces-endpoint", "",
		"Host and port of an OpenTelemetry collector for traces of releases (OTLP over gRPC). Empty: no traces. "+
			"OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_TRACES_SAMPLER and the other variables of OpenTelemetry apply.")
	flags.BoolVar(&c.Insecure, "traces-insecure", false, "Send traces to --traces-endpoint without TLS.")
}

// Validate returns one error that names every invalid flag.
func (c Config) Validate() error {
	if c.Endpoint == "" {
		if c.Insecure {
			return errors.New("--traces-insecure: it has no effect without --traces-endpoint")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(c.Endpoint)
	if number, malformed := strconv.ParseUint(port, 10, 16); err != nil || host == "" || malformed != nil || number == 0 {
		return fmt.Errorf("--traces-endpoint %q: it must be host:port, as in otel-collector.observability:4317", c.Endpoint)
	}
	return nil
}
