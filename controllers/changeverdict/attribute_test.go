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

package changeverdict_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/traas-stack/altershield-operator/controllers/changeverdict"
)

func TestAttributorRecordsTheReporter(t *testing.T) {
	const none, first = `{"spec":{"release":3}}`, `{"status":{"verdict":"Fail","reporter":"carol","reportedAt":"2026-11-21T09:00:00Z"}}`
	by := func(reporter, at string) []string {
		return []string{`{"op":"add","path":"/status/reporter","value":"` + reporter + `"}`, `{"op":"add","path":"/status/reportedAt","value":"` + at + `"}`}
	}
	for name, row := range map[string]struct {
		before, after, user string
		patches             []string
	}{
		"of a verdict":                       {none, `{"status":{"verdict":"Pass"}}`, "bob", by("bob", "2026-11-21T10:00:00Z")},
		"of a verdict that names another":    {none, `{"status":{"verdict":"Pass","reporter":"carol","reportedAt":"never"}}`, "bob", by("bob", "2026-11-21T10:00:00Z")},
		"of a long name":                     {none, `{"status":{"verdict":"Pass"}}`, strings.Repeat("b", 300), by(strings.Repeat("b", 250)+"...", "2026-11-21T10:00:00Z")},
		"of the first verdict":               {first, `{"status":{"verdict":"Fail"}}`, "bob", by("carol", "2026-11-21T09:00:00Z")},
		"of the first of two verdicts":       {first, `{"status":{"verdict":"Pass","reporter":"bob"}}`, "bob", by("carol", "2026-11-21T09:00:00Z")},
		"of a status that the schema denies": {none, `{"status":{}}`, "bob", by("bob", "2026-11-21T10:00:00Z")},
		"of nothing":                         {none, `{"spec":{"release":3}}`, "bob", nil},
		"of a verdict that is taken back":    {first, `{}`, "bob", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			response := handle(t, row.before, row.after, row.user)
			g.Expect(response.Allowed).To(BeTrue())
			var patches []string
			for _, patch := range response.Patches {
				patches = append(patches, patch.Json())
			}
			g.Expect(patches).To(Equal(row.patches))
		})
	}
}

func TestAttributorDeniesWhatIsNoVerdict(t *testing.T) {
	g := NewWithT(t)
	response := handle(t, `{}`, `{"status":"Pass"}`, "bob")
	g.Expect(response.Allowed).To(BeFalse())
	g.Expect(response.Result.Code).To(BeEquivalentTo(400))
	g.Expect(response.Result.Message).To(HavePrefix("decoding ChangeVerdict web: "))
	response = handle(t, `[]`, `{}`, "bob")
	g.Expect(response.Result.Message).To(HavePrefix("decoding ChangeVerdict web as it is: "))
}

// handle returns the answer to an update of the status of a ChangeVerdict.
func handle(t *testing.T, before, after, user string) review.Response {
	t.Helper()
	attributor := changeverdict.Attributor{Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 5, time.UTC))}
	return attributor.Handle(t.Context(), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: "UPDATE", SubResource: "status", Namespace: "shop", Name: "web", UserInfo: authenticationv1.UserInfo{Username: user},
		Object: runtime.RawExtension{Raw: []byte(after)}, OldObject: runtime.RawExtension{Raw: []byte(before)},
	}})
}
