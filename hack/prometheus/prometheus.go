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

// Package prometheus runs a real Prometheus, or another server of its API, with given series, for tests.
package prometheus

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// Programs has the programs prometheus and promtool.
type Programs struct {
	// Dir is their folder, empty if they are on the PATH.
	Dir string
	// Listen is the host and port of a Prometheus that is started, free ones if it is empty.
	Listen string
}

// Ensure finds the programs, or extracts Debian's package prometheus.
func Ensure(ctx context.Context, out io.Writer) (Programs, error) {
	dir, err := ensure(ctx, out, "prometheus", "prometheus", "promtool")
	return Programs{Dir: dir}, err
}

// Start starts a Prometheus in an empty folder and returns its address once it is ready. It has the given samples in the OpenMetrics format,
// which ends in # EOF, scrapes nothing, and ends by stop, which waits for that.
func (p Programs) Start(ctx context.Context, dir, samples string) (address string, stop func(), err error) {
	if err := os.WriteFile(filepath.Join(dir, "samples"), []byte(samples), 0o600); err != nil {
		return "", nil, fmt.Errorf("write the samples of Prometheus: %w", err)
	}
	if err := run(ctx, dir, filepath.Join(p.Dir, "promtool"), "tsdb", "create-blocks-from", "openmetrics", "samples", "data"); err != nil {
		return "", nil, err
	}
	return p.StartConfigured(ctx, dir, "{}")
}

// StartScraping starts a Prometheus in an empty folder that scrapes the path /metrics of a host and port every two seconds, and keeps the labels
// of its series. It returns its address once it is ready, and ends by stop, which waits for that.
func (p Programs) StartScraping(ctx context.Context, dir, target string) (address string, stop func(), err error) {
	return p.StartConfigured(ctx, dir, fmt.Sprintf(
		`{scrape_configs: [{job_name: pods, honor_labels: true, scrape_interval: 2s, scrape_timeout: 2s, static_configs: [{targets: [%q]}]}]}`, target))
}

// StartConfigured starts a Prometheus in an empty folder with this configuration. It returns its address once it is ready, and ends by stop, which
// waits for that.
func (p Programs) StartConfigured(ctx context.Context, dir, config string) (address string, stop func(), err error) {
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		return "", nil, fmt.Errorf("write the configuration of Prometheus: %w", err)
	}
	listen := p.Listen
	if listen == "" {
		if listen, err = freeAddress(); err != nil {
			return "", nil, err
		}
	}
	// Samples may be of any time, so they are kept for ever.
	stop, err = serve(ctx, dir, "http://"+listen+"/-/ready", filepath.Join(p.Dir, "prometheus"), "--config.file=prometheus.yml",
		"--storage.tsdb.path=data", "--storage.tsdb.retention.time=100y", "--web.listen-address="+listen)
	return "http://" + listen, stop, err
}

// freeAddress returns a host and port on which nothing listens.
func freeAddress() (string, error) {
	port := 0
	err := cluster.FreePorts(&port)
	return "127.0.0.1:" + strconv.Itoa(port), err
}

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
	// Samples may be of any time, so they are kept for ever.
	stop, err = serve(ctx, dir, address+"/health", filepath.Join(v.Dir, "victoria-metrics"), "-storageDataPath=data", "-retentionPeriod=100y", "-httpListenAddr="+listen)
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

// readyTimeout is how long a start may take.
const readyTimeout = time.Minute

// serve runs a server in a folder until stop, which waits for its end. It returns once the server answers to a URL.
func serve(ctx context.Context, dir, url, program string, args ...string) (stop func(), err error) {
	server, err := process.Start(process.Spec{Dir: dir, Name: filepath.Base(program), Argv: append([]string{program}, args...)})
	if err != nil {
		return nil, err
	}
	stop = func() { _ = server.Kill(ctx) }
	starting, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := process.Await(starting, server.Name, process.Answers(http.DefaultClient, url), server); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}
