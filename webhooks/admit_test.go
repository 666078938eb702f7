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
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// Both webhooks together make of a release what decide.Admit makes of it, whatever stops it and lets it through.
func TestWebhooksDoWhatAdmitDecides(t *testing.T) {
	type overrides = []appv1alpha1.BreakGlassOverride
	for bits := range 1 << 4 {
		for _, freeze := range []appv1alpha1.FreezeAction{"", "Park", "Deny"} {
			for _, overridden := range []overrides{nil, {"Suspension"}, {"Freeze", "Approval"}, {"Freeze", "Suspension", "Pace"}} {
				asked := decide.Admission{
					Suspended: bits&1 > 0, Refused: bits&2 > 0, Verified: bits&4 > 0, Ignored: bits&8 > 0,
					Freeze: freeze, MayPark: true, Glass: overridden, Steps: true, Approvals: true,
				}
				t.Run(fmt.Sprintf("%+v", asked), func(t *testing.T) {
					g, want := NewWithT(t), decide.Admit(asked)
					denial, made := admitted(t, asked)
					if want.Denied != "" {
						g.Expect(denial).To(MatchRegexp(`^[^\n]+$`), "one sentence")
						return
					}
					g.Expect(denial).To(BeEmpty())
					annotations := at(made, "metadata", "annotations")
					_, parked := annotations[frozenKey]
					_, paced := annotations[pacedKey]
					_, ignored := annotations["altershield.defense.antgroup.com/ignored-suspend-by"]
					var mark appv1alpha1.BreakGlassMark
					_ = json.Unmarshal([]byte(annotationOf(made, breakGlassKey)), &mark)
					g.Expect([]bool{parked, paced, ignored}).To(Equal([]bool{want.Park, want.Pace, want.Ignores}))
					g.Expect(mark.Overrides).To(Equal(want.Uses))
				})
			}
		}
	}
}

// admitted returns the release as both webhooks leave it, or the sentence that denies it.
func admitted(t *testing.T, asked decide.Admission) (denial string, made object) {
	t.Helper()
	when := func(is bool, change edit) edit {
		if is {
			return change
		}
		return all()
	}
	old := all(stamped(versionOf123, "4"), when(asked.Suspended, suspended), when(asked.Refused, rolledBack(leaving(versionOf1234, "4", refused))))
	known := []client.Object{cached(t, old)}
	if asked.Verified {
		known = append(known, changeWorkload("d-1", versionOf1234, "Success", "AllPodsPassed"))
	}
	rules := []client.Object{careful(), gate()}
	if asked.Freeze != "" {
		rules = append(rules, lock(acting(asked.Freeze)))
	}
	if asked.Glass != nil {
		rules = append(rules, glass(func(glass *appv1alpha1.BreakGlass) { glass.Spec.Overrides = asked.Glass }))
	}
	reader := readerOf(t, interceptor.Funcs{}, known...)
	accounts := accountsOf(t, reader)
	past, freezes := pastOf(reader, accounts), freezesOf(t, accounts, kind.Kind{}, rules...)
	before, updated := deployment(t, old), deployment(t, old, repaired, when(asked.Ignored, ignoring))
	for _, handler := range []admission.Handler{
		&defaulter{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: past, freezes: freezes, paces: pacesOf(t, past, kind.Kind{}, rules...)},
		&validator{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: past, freezes: freezes},
	} {
		response := handler.Handle(t.Context(), requestOf(t, before, updated))
		if !response.Allowed {
			return response.Result.Message, nil
		}
		updated = patched(t, updated, response)
	}
	return "", updated
}
