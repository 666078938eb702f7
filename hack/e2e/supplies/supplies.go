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

// Package supplies has the programs of other projects that the suite e2e runs beside its cluster, which reaches no network but its own.
package supplies

const (
	// LeaderWorkerSets is the module of the controller of LeaderWorkerSets.
	LeaderWorkerSets = "sigs.k8s.io/lws@v0.9.0"
	// Controller is the package of its program.
	Controller = "./cmd"
	// MetricsServer is the module of metrics-server.
	MetricsServer = "sigs.k8s.io/metrics-server@v0.9.0"
	// Server is the package of its program.
	Server = "./cmd/metrics-server"
)
