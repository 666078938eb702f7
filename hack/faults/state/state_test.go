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

package state_test

import (
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/faults/state"
)

func masks() state.Masks {
	return state.Masks{
		Names:    map[string]string{"shop-17": "NAMESPACE"},
		Patterns: []state.Pattern{{Of: regexp.MustCompile(`web-[a-z0-9]{5}`), Show: "web-POD"}},
		Left:     []string{"uid"},
	}
}

func pod(name, phase string) map[string]any {
	return map[string]any{"uid": "u-" + name, "name": name, "phase": phase}
}

func TestAddHidesWhatDiffersBetweenAnyTwoRuns(t *testing.T) {
	g := NewWithT(t)
	found := state.State{}
	found.Add("ChangePod web--x--1", map[string]any{
		"metadata": map[string]any{"uid": "17", "namespace": "shop-17"},
		"status":   map[string]any{"message": "pod web-abcde in shop-17 failed", "done": true},
	}, masks())
	g.Expect(found).To(Equal(state.State{
		"ChangePod web--x--1 .metadata.namespace": "NAMESPACE",
		"ChangePod web--x--1 .status.message":     "pod web-POD in NAMESPACE failed",
		"ChangePod web--x--1 .status.done":        "true",
	}))
}

func TestAddKeysConditionsByTypeAndOtherListsByContent(t *testing.T) {
	g := NewWithT(t)
	in := func(pods ...any) state.State {
		found := state.State{}
		found.Add("x", map[string]any{
			"conditions": []any{map[string]any{"type": "Verified", "status": "True"}},
			"pods":       pods,
		}, masks())
		return found
	}
	found := in(map[string]any{"pod": "web-bbbbb", "verdict": "unpass"}, map[string]any{"pod": "web-aaaaa", "verdict": "pass"})
	g.Expect(found).To(Equal(state.State{
		"x .conditions[Verified].type": "Verified", "x .conditions[Verified].status": "True",
		"x .pods[0].pod": "web-POD", "x .pods[0].verdict": "pass", "x .pods[1].pod": "web-POD", "x .pods[1].verdict": "unpass",
	}))
	g.Expect(in(map[string]any{"pod": "web-ccccc", "verdict": "pass"}, map[string]any{"pod": "web-ddddd", "verdict": "unpass"})).To(Equal(found))
}

func TestCountCountsObjectsWithoutANameOfTheirOwn(t *testing.T) {
	g := NewWithT(t)
	found := state.State{}
	found.Count("Pod", pod("web-aaaaa", "Running"), masks())
	found.Count("Pod", pod("web-bbbbb", "Running"), masks())
	found.Count("Pod", pod("web-ccccc", "Pending"), masks())
	g.Expect(found).To(Equal(state.State{"Pod .name=web-POD .phase=Running": "2", "Pod .name=web-POD .phase=Pending": "1"}))
}

func TestDifferencesAreWhatIsMissingTooMuchOrOther(t *testing.T) {
	g := NewWithT(t)
	reference := state.NewReference(state.State{"a": "1", "b": "2", "c": "3"}, state.State{"a": "1", "b": "2", "c": "3"})
	g.Expect(reference.Varies).To(BeEmpty())
	g.Expect(reference.Differences(state.State{"a": "1", "b": "2", "c": "3"})).To(BeEmpty())
	g.Expect(reference.Differences(state.State{"a": "1", "b": "4", "d": "5"})).To(Equal([]string{
		`b: "4", expected "2"`, `c: missing, expected "3"`, `d: unexpected "5"`,
	}))
}

func TestDifferencesLeaveOutWhatVariesBetweenUndisturbedRuns(t *testing.T) {
	g := NewWithT(t)
	reference := state.NewReference(state.State{"same": "1", "other": "2", "gone": ""}, state.State{"same": "1", "other": "3", "new": ""})
	g.Expect(reference.Varies).To(Equal([]string{"gone", "new", "other"}))
	g.Expect(reference.Differences(state.State{"same": "1", "other": "9"})).To(BeEmpty())
	g.Expect(reference.Differences(state.State{"same": "2"})).To(Equal([]string{`same: "2", expected "1"`}))
}
