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

package prometheus

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
)

// VictoriaMetrics has the program victoria-metrics, the second implementation of the API of Prometheus.
type VictoriaMetrics struct {
	// Dir is its folder, empty if it is on the PATH.
	Dir string
}

// EnsureVictoriaMetrics finds the program, or extracts Debian's package victoria-metrics.
func EnsureVictoriaMetrics(ctx context.Context, out io.Writer) (VictoriaMetrics, error) {
	dir, err := ensure(ctx, out, "victoria-metrics", "victoria-metrics")
	return VictoriaMetrics{Dir: dir}, err
}

// Start starts a VictoriaMetrics in an empty folder and returns its address once it has the given samples in the OpenMetrics format, whose
// times are whole seconds. It ends by stop, which waits for that.
func (v VictoriaMetrics) Start(ctx context.Context, dir, samples string) (address string, stop func(), err error) {
	listen, err := freeAddress()
	if err != nil {
		return "", nil, err
	}
	address = "http://" + listen
	stop, err = serve(ctx, func(running context.Context) *exec.Cmd {
		// Samples may be of any time, so they are kept for ever.
		return exec.CommandContext(running, filepath.Join(v.Dir, "victoria-metrics"), "-storageDataPath="+dir, "-retentionPeriod=100y", "-httpListenAddr="+listen)
	}, address, "/health")
	if err != nil {
		return "", nil, err
	}
	if err := load(ctx, address, samples); err != nil {
		stop()
		return "", nil, err
	}
	return address, stop, nil
}

// load imports samples, and has them found at once.
func load(ctx context.Context, address, samples string) error {
	var text strings.Builder
	for line := range strings.Lines(samples) {
		if !strings.HasPrefix(line, "#") {
			text.WriteString(strings.TrimSuffix(line, "\n") + "000\n") // milliseconds
		}
	}
	for _, path := range []string{"/api/v1/import/prometheus", "/internal/force_flush"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+path, strings.NewReader(text.String()))
		if err != nil {
			return fmt.Errorf("import samples: %w", err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("import samples: %w", err)
		}
		_ = response.Body.Close() // nothing in it is read
		if response.StatusCode >= http.StatusMultipleChoices {
			return fmt.Errorf("import samples: %s answers %s", path, response.Status)
		}
	}
	return nil
}
