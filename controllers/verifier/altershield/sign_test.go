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

package altershield_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

func TestSignComputesWhatTheServerComputes(t *testing.T) {
	for _, row := range []struct{ timestamp, content, sign string }{
		{"1700000000000", `{"a":1}`, "M38WRU7HVU9NPVW0GJEC64VWRGFLG2TC8ZRQHOYJUAG="},
		{"1700000000", `{"bizExecOrderId":"o1","title":"发布"}`, "O1OC8HHR224L9UY-DLJ8XNIXDFFRG3URM6-PE-N6KO4="},
		{"1700000000000", `{}`, "XGHRCSUNKXTGO1M0_PEQ4AEKAHUVNOJOXOE5EJYJLOO="},
		{"1700000000000", `{"platform":"kubernetes"}`, "M81XNLPHC4TQXWWLP31Z5HJB7PVKGAHNJHTDA4Y_0GY="},
	} {
		t.Run(row.content, func(t *testing.T) {
			NewWithT(t).Expect(altershield.Sign(row.timestamp, []byte(row.content), "altershield-operator")).To(Equal(row.sign))
		})
	}
}
