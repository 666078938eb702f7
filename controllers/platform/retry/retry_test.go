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

package retry_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/platform/retry"
)

func TestLimiterRepeatsWhatFailsHalfAMinuteLaterAtMost(t *testing.T) {
	g, limiter := NewWithT(t), retry.Limiter[string]()
	var waits []time.Duration
	for range 20 {
		waits = append(waits, limiter.When("web"))
	}
	g.Expect(waits[:3]).To(Equal([]time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond}))
	g.Expect(waits[13:]).To(HaveEach(30 * time.Second))
	g.Expect(limiter.When("other")).To(Equal(5 * time.Millisecond))
	limiter.Forget("web")
	g.Expect(limiter.When("web")).To(Equal(5 * time.Millisecond))
}
