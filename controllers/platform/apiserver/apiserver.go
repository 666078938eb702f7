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

// Package apiserver tells what versions of the API server lack.
package apiserver

import "k8s.io/apimachinery/pkg/util/version"

// Lacks returns what an API server of a version lacks by default, and what follows: docs/install.md, "Kubernetes versions".
func Lacks(gitVersion string) (lacks []string) {
	server, err := version.ParseGeneric(gitVersion)
	if err != nil || server.Major() != 1 {
		return nil
	}
	minor := server.Minor()
	if minor < 32 || minor == 33 {
		lacks = append(lacks, "streamed lists: the operator takes more memory when it starts")
	}
	if minor < 36 {
		lacks = append(lacks, "MutatingAdmissionPolicies: only the operator adds gates to the pods of releases in steps")
	}
	return lacks
}
