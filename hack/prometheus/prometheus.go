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

// Package prometheus runs a real Prometheus with given series, for tests.
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/lock"
)

const (
	// binaries is the folder of the programs in Debian's package.
	binaries = "usr/bin"
	// readyTimeout is how long a start may take.
	readyTimeout = time.Minute
)

// ErrUnavailable is that of a machine without Prometheus and without apt-get, where tests that need it are skipped.
var ErrUnavailable = errors.New("there is no apt-get, which downloads Prometheus: put prometheus and promtool on the PATH")

// Programs has the programs prometheus and promtool.
type Programs struct {
	// Dir is their folder, empty if they are on the PATH.
	Dir string
}

// Ensure finds the programs on the PATH, or else in the user's cache, to which it extracts Debian's package prometheus first. Nothing is
// installed, and no service started.
func Ensure(ctx context.Context, out io.Writer) (Programs, error) {
	if (Programs{}).complete() {
		return Programs{}, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Programs{}, fmt.Errorf("find a folder for Prometheus: %w", err)
	}
	root := filepath.Join(cache, "altershield-operator", "prometheus")
	found := Programs{Dir: filepath.Join(root, binaries)}
	if found.complete() {
		return found, nil
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return Programs{}, fmt.Errorf("create a folder for Prometheus: %w", err)
	}
	release, err := lock.Acquire(ctx, root+".lock", func() { fmt.Fprintln(out, "another command is extracting Prometheus; waiting for it") })
	if err != nil {
		return Programs{}, err
	}
	defer release()
	if found.complete() {
		return found, nil
	}
	return found, extract(ctx, out, root)
}

func (p Programs) complete() bool {
	for _, name := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(filepath.Join(p.Dir, name)); err != nil {
			return false
		}
	}
	return true
}

// extract extracts Debian's package into a folder, which is complete if it is there. It needs no root: the lists of packages are its own.
func extract(ctx context.Context, out io.Writer, root string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return ErrUnavailable
	}
	fmt.Fprintln(out, "downloading Debian's package prometheus")
	dir, err := os.MkdirTemp(filepath.Dir(root), "prometheus-")
	if err != nil {
		return fmt.Errorf("create a folder for Prometheus: %w", err)
	}
	defer os.RemoveAll(dir)
	for _, folder := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return fmt.Errorf("create a folder for apt-get: %w", err)
		}
	}
	own := []string{"-o", "Dir::State::lists=" + filepath.Join(dir, "lists"), "-o", "Dir::Cache=" + filepath.Join(dir, "cache"), "-o", "Debug::NoLocking=1"}
	for _, args := range [][]string{{"update"}, {"download", "prometheus"}} {
		if err := run(ctx, dir, "apt-get", append(own, args...)...); err != nil {
			return fmt.Errorf("%w; without a network, put prometheus and promtool on the PATH", err)
		}
	}
	packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(packages) != 1 {
		return fmt.Errorf("apt-get download prometheus left %d packages, not one", len(packages))
	}
	if err := run(ctx, dir, "dpkg-deb", "--extract", packages[0], "root"); err != nil {
		return err
	}
	if err := os.RemoveAll(root); err != nil {
		return fmt.Errorf("remove an incomplete Prometheus: %w", err)
	}
	if err := os.Rename(filepath.Join(dir, "root"), root); err != nil {
		return fmt.Errorf("keep Prometheus: %w", err)
	}
	return nil
}

// run runs a command in a folder.
func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s %v: %w: %s", name, args, err, output)
	}
	return nil
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
	return p.start(ctx, dir, "{}")
}

// StartScraping starts a Prometheus in an empty folder that scrapes the path /metrics of a host and port every second, and keeps the labels
// of its series. It returns its address once it is ready, and ends by stop, which waits for that.
func (p Programs) StartScraping(ctx context.Context, dir, target string) (address string, stop func(), err error) {
	return p.start(ctx, dir, fmt.Sprintf(
		`{scrape_configs: [{job_name: pods, honor_labels: true, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{targets: [%q]}]}]}`, target))
}

func (p Programs) start(ctx context.Context, dir, config string) (address string, stop func(), err error) {
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		return "", nil, fmt.Errorf("write the configuration of Prometheus: %w", err)
	}
	port := 0
	if err := cluster.FreePorts(&port); err != nil {
		return "", nil, err
	}
	running, cancel := context.WithCancel(ctx)
	listen := "127.0.0.1:" + strconv.Itoa(port)
	// Samples may be of any time, so they are kept for ever.
	cmd := exec.CommandContext(running, filepath.Join(p.Dir, "prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=data",
		"--storage.tsdb.retention.time=100y", "--web.listen-address="+listen)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		cancel()
		return "", nil, fmt.Errorf("start Prometheus: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		close(ended)
	}()
	stop = func() {
		cancel()
		for range ended { // until it is closed
		}
	}
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-ended:
			return false, fmt.Errorf("it ended: %w", err)
		default:
			return ready(ctx, "http://"+listen), nil
		}
	})
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("start Prometheus: %w", err)
	}
	return "http://" + listen, stop, nil
}

func ready(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/-/ready", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}
