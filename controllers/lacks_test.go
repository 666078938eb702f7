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

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The log of a manager", func() {
	It("says at its start what the API server lacks", func() {
		Expect(logged()).To(ContainSubstring("Connected to the API server"))
		lack := ContainSubstring("The API server lacks MutatingAdmissionPolicies: only the operator adds gates to the pods of releases in steps")
		if gatesByPolicy() {
			lack = Not(lack)
		}
		Expect(logged()).To(lack)
	})
})
