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

package verifier_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// rules is a verifier inside the operator: it needs no announcements and is asked for its verdicts.
type rules struct{ verifier.Verifier }

func (rules) Name() string { return "Rules" }

// remote is a verifier with all optional interfaces.
type remote struct {
	rules
	off bool
}

func (remote) OrderID(verifier.Release) string                                       { return "" }
func (remote) Open(context.Context, verifier.Release) (string, error)                { return "", nil }
func (remote) Close(context.Context, verifier.Release, appv1alpha1.OrderState) error { return nil }
func (remote) Fits([]appv1alpha1.PodSummary) int                                     { return 7 }
func (remote) BeginOrder(context.Context, verifier.Release) (string, error)          { return "", nil }
func (r remote) SwitchedOff() bool                                                   { return r.off }
func (remote) Paths() []string                                                       { return nil }
func (remote) CheckHeader(http.Header, time.Time) error                              { return nil }
func (remote) Receive(http.Header, []byte, time.Time) (delivery verifier.Delivery, err error) {
	return delivery, nil
}

func TestStateOfAVerifierFollowsFromWhatItImplements(t *testing.T) {
	for _, row := range []struct {
		name       string
		verifier   verifier.Verifier
		failClosed bool
		state      verifier.State
		fits       int
	}{
		{"none, whatever the policy", nil, true, verifier.State{}, 0},
		{"one that is asked", rules{}, false, verifier.State{Configured: true, Name: "Rules"}, 0},
		{"one that is announced to and delivers", remote{}, true,
			verifier.State{Configured: true, Name: "Rules", Announced: true, ChecksOrders: true, Delivers: true, FailClosed: true}, 7},
		{"one that is switched off", remote{off: true}, false,
			verifier.State{Configured: true, Name: "Rules", Announced: true, ChecksOrders: true, Delivers: true, SwitchedOff: true}, 7},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			state := verifier.StateOf(row.verifier, row.failClosed)
			fits := 0
			if state.Fits != nil {
				fits = state.Fits(nil)
			}
			g.Expect(fits).To(Equal(row.fits))
			state.Fits = nil
			g.Expect(state).To(Equal(row.state))
		})
	}
}
