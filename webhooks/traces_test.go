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

package webhooks

import (
	"net"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/hack/collector"
)

func TestAccountsTraceADenialWithTheReleaseBehindIt(t *testing.T) {
	release := all(stamped(versionOf123, "4"), processed)
	next := all(repaired, stamped(versionOf1234, "5"))
	refusing := rolledBack(leaving(versionOf1234, "4", refused))
	for _, row := range []struct {
		name         string
		old, updated edit
		dryRun       bool
		decision     string // empty if nothing is traced
		because      int64
	}{
		{"the release that is suspended", all(release, suspended), all(release, suspended, next), false, "denied", 4},
		{"the release that was rolled back", all(release, refusing), all(release, refusing, next), false, "refused", 3},
		{"none in a dry run", all(release, suspended), all(release, suspended, next), true, "", 0},
		{"none where nothing is denied", release, all(release, next), false, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			g.Expect(err).NotTo(HaveOccurred())
			collected := collector.Start(listener)
			defer collected.Stop()
			validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, cached(t, row.old)))
			validator.accounts.tracer, err = tracing.New(t.Context(), tracing.Config{Endpoint: listener.Addr().String(), Insecure: true})
			g.Expect(err).NotTo(HaveOccurred())
			request := requestOf(t, deployment(t, row.old), deployment(t, row.updated))
			request.DryRun = ptr.To(row.dryRun)
			g.Expect(validator.Handle(t.Context(), request).Allowed).To(Equal(row.decision == "" && !row.dryRun))
			validator.accounts.tracer.Shutdown()

			spans := collected.Spans()
			if row.decision == "" {
				g.Expect(spans).To(BeEmpty())
				return
			}
			g.Expect(spans).To(HaveLen(1))
			g.Expect(spans[0].Name).To(Equal("deny release default/sleep"))
			g.Expect(spans[0].Attributes).To(And(
				HaveKeyWithValue("altershield.admission.decision", row.decision), HaveKeyWithValue("altershield.release.version", versionOf1234)))
			g.Expect(spans[0].Links).To(HaveExactElements(tracing.Release{Workload: "d-1", Number: row.because}.TraceID().String()))
		})
	}
}
