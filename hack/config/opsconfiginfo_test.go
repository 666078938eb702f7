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

package config

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestOpsConfigInfosAreRefused(t *testing.T) {
	judge := judgeOf(t, "app.ops.cloud.alipay.com_opsconfiginfoes.yaml")
	for name, row := range map[string]struct{ spec, message string }{
		"with a number":                   {`{type: isBranch, enable: true, content: "10"}`, ""},
		"without one while it is off":     {`{type: isBranch, enable: false}`, ""},
		"with nothing but the type":       {`{type: isBranch}`, ""},
		"with a word while it is off":     {`{type: isRefusal, content: never}`, ""},
		"with a word while it is on":      {`{type: isRefusal, enable: true, content: never}`, "content must be a whole number of seconds, minutes or hours such as 90s, 2m or 24h"},
		"without a number while it is on": {`{type: isBranch, enable: true}`, "content must be a whole number from 1 to 500 while isBranch is enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, message := judge.apply(t, "spec: "+row.spec); row.message == "" {
				NewWithT(t).Expect(message).To(BeEmpty())
			} else {
				NewWithT(t).Expect(message).To(ContainSubstring(row.message))
			}
		})
	}
}
