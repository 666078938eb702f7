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

package plan_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/soak/plan"
)

func planned(seed uint64) []plan.Action {
	return plan.New(plan.Options{
		Seed: seed, Duration: 30 * time.Minute, OptedIn: []string{"one", "guarded", "approving"}, Guarded: "guarded", Outside: "outside", Approving: "approving", Restarts: true,
	})
}

func TestNewPlansTheSameFromTheSameSeedAlone(t *testing.T) {
	g := NewWithT(t)
	g.Expect(planned(1)).To(Equal(planned(1)))
	g.Expect(planned(2)).NotTo(Equal(planned(1)))
}

func TestNewPlansEveryKindOfActionForTheDuration(t *testing.T) {
	g := NewWithT(t)
	var length time.Duration
	kinds := map[plan.Kind]bool{}
	for number, action := range planned(1) {
		g.Expect(action.Number).To(Equal(number + 1))
		kinds[action.Kind] = true
		length += action.Pause + action.Delay
	}
	g.Expect(length).To(BeNumerically("~", 30*time.Minute, 10*time.Second))
	for _, kind := range []plan.Kind{
		"create", "delete", "release", "repair", "intrude", "rollback", "scale", "pause", "resume", "edit", "fail", "withdraw", "delete-pod",
		"delete-changepod", "delete-changeworkload", "rule", "fault", "clear-faults", "setting", "restart-manager", "restart-apiserver", "evict-pod",
		"crash-pod", "answer", "freeze", "thaw", "break-glass", "pace", "check", "decide", "go-on",
	} {
		g.Expect(kinds).To(HaveKey(kind))
	}
}

func TestNewPlansActionsOnlyWhereTheyMayBe(t *testing.T) {
	g := NewWithT(t)
	for _, action := range planned(3) {
		switch {
		case action.Namespace == "outside":
			g.Expect(action.Kind).To(BeElementOf(plan.Create, plan.Release, plan.Scale))
		case action.Kind == plan.Pace:
			g.Expect(action.Namespace).NotTo(Equal("approving"), "its ReleasePolicy stays")
		case action.Kind == plan.Scale:
			g.Expect(action.Of).NotTo(Equal(plan.DaemonSet))
		case action.Text == "ignored-suspend":
			g.Expect(action.Namespace).To(Equal("guarded"))
		}
	}
	calm := plan.New(plan.Options{Seed: 1, Duration: 30 * time.Minute, OptedIn: []string{"one"}, Outside: "outside"})
	for _, action := range calm {
		g.Expect(action.Kind).NotTo(Equal(plan.Restart))
		g.Expect(action.Delay).To(BeElementOf(time.Duration(0), time.Second), "the leader keeps its lease")
	}
}

func TestNewPlansEachKindOfWorkload(t *testing.T) {
	g, kinds := NewWithT(t), map[plan.Of]bool{}
	for _, action := range planned(1) {
		kinds[action.Of] = kinds[action.Of] || action.Kind == plan.Release
	}
	for _, kind := range []plan.Of{"Deployment", "StatefulSet", "DaemonSet", "WebApp"} {
		g.Expect(kinds).To(HaveKeyWithValue(kind, true))
	}
}

func TestNewRestartsManagersInBothRoles(t *testing.T) {
	g, roles := NewWithT(t), map[string]bool{}
	for _, action := range planned(1) {
		if action.Kind == plan.Restart {
			roles[action.Name+" "+action.Text] = true
		}
	}
	g.Expect(roles).To(HaveLen(4))
	g.Expect(roles).To(And(HaveKey("leader SIGTERM"), HaveKey("leader SIGKILL"), HaveKey("standby SIGTERM"), HaveKey("standby SIGKILL")))
}

func TestActionStringHasAllOfIt(t *testing.T) {
	g := NewWithT(t)
	g.Expect(plan.Action{
		Number: 7, Kind: plan.Release, Namespace: "one", Name: "app-0", Template: plan.Template{Note: "3", Start: "never", ReadyAfter: "2s"},
	}.String()).To(Equal(`#7 release one/app-0 note="3" start="never" ready-after="2s"`))
	g.Expect(plan.Action{Number: 1, Kind: plan.Scale, Namespace: "one", Name: "app-0"}.String()).To(Equal("#1 scale one/app-0 count=0"))
	g.Expect(plan.Action{Number: 3, Kind: plan.Thaw, Namespace: "one"}.String()).To(Equal("#3 thaw one"))
	g.Expect(plan.Action{Number: 8, Kind: plan.Outage, Delay: 2 * time.Second}.String()).To(Equal("#8 restart-apiserver delay=2s"))
	g.Expect(plan.Action{Number: 9, Kind: plan.Setting, Name: "branch", Text: "on", Count: 2}.String()).To(
		Equal(`#9 setting branch text="on" count=2`))
}
