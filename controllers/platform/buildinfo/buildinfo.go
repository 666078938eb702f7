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

// Package buildinfo identifies the build of the operator.
package buildinfo

import (
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Build is the information set by the linker.
type Build struct {
	// Version is the output of git describe: a tag, or the commit if there is none.
	Version string
	// Commit is the built commit.
	Commit string
}

// String returns the build in one line.
func (b Build) String() string {
	return fmt.Sprintf("altershield-operator %s (commit %s, %s)", b.Version, b.Commit, runtime.Version())
}

// Register adds a metric with the build in its labels.
func (b Build) Register(registry prometheus.Registerer) error {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "altershield_build_info",
		Help:        "Always 1; the labels identify the running build of the operator.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go_version": runtime.Version()},
	})
	info.Set(1)
	if err := registry.Register(info); err != nil {
		return fmt.Errorf("registering the metric of the build: %w", err)
	}
	return nil
}
