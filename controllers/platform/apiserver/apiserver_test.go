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

package apiserver_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/platform/apiserver"
)

func TestLacks(t *testing.T) {
	const lists = "streamed lists: the operator takes more memory when it starts"
	const policies = "MutatingAdmissionPolicies: only the operator adds gates to the pods of releases in steps"
	for version, lacks := range map[string][]string{
		"v1.31.14": {lists, policies}, "v1.32.0-rc.1": {policies}, "v1.33.13": {lists, policies}, "v1.34.1+k3s1": {policies}, "v1.35.0-eks-1": {policies},
		"v1.36.0": nil, "v1.37.2": nil, "v2.0.0": nil, "unknown": nil,
	} {
		t.Run(version, func(t *testing.T) {
			NewWithT(t).Expect(apiserver.Lacks(version)).To(Equal(lacks))
		})
	}
}
