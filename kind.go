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
	"os"

	"k8s.io/utils/clock"

	"github.com/traas-stack/altershield-operator/controllers/kindtool"
)

// kindCommand, as the first argument, helps to declare kinds of workloads. It needs no cluster.
const kindCommand = "kind"

func tryKind() error {
	return kindtool.Run(os.Args[2:], os.Stdin, os.Stdout, clock.RealClock{})
}
