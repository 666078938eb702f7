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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

// script is a tool that does as it is told.
type script struct {
	brought []version
	shown   outcome
	tried   error
	// repeated happens whenever the newest version is applied again.
	repeated func()
	count    int64
}

func (s *script) begin(context.Context) error { return nil }

func (s *script) bring(_ context.Context, next version) error {
	s.brought = append(s.brought, next)
	return nil
}

func (s *script) back(context.Context, int) (string, error) { return "back", nil }

func (s *script) shows(context.Context) (outcome, error) { return s.shown, s.tried }

func (s *script) again(context.Context) (int64, error) {
	s.count++
	s.repeated()
	return s.count, nil
}

// appOf returns an app that a script brings, with a ConfigMap as its workload.
func appOf(t *testing.T, s *script) *app {
	t.Helper()
	g := NewWithT(t)
	kube := fake.NewClientBuilder().WithObjects(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}).Build()
	a := &app{stage: &stage{lab: &lab.Lab{Kube: kube}}, scene: scene{tool: "helm", name: "web", manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, a: 1, b: 1}"}, tool: s}
	g.Expect(a.begin(t.Context())).To(Succeed())
	return a
}

// shortly is a context for what never comes.
func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func TestVersionsDifferByTheirPatches(t *testing.T) {
	g := NewWithT(t)
	tool := &script{}
	a := appOf(t, tool)
	g.Expect(a.commit(t.Context(), "second", `{"a":2}`)).To(Succeed())
	g.Expect(a.commit(t.Context(), "third", `{"a":null,"b":3}`)).To(Succeed())
	g.Expect(tool.brought).To(HaveLen(3))
	g.Expect(tool.brought[1].workload).To(MatchJSON(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"a":2,"b":1}`))
	g.Expect(tool.brought[2].workload).To(MatchJSON(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"b":3}`))
	g.Expect(a.revert(t.Context(), 2)).To(Succeed())
	g.Expect(a.newest()).To(Equal(tool.brought[0]))
	g.Expect(a.story.String()).To(Equal("  user      a good first version\n  user      second\n  user      third\n  user      back\n"))
}

func TestShowsWaitsForTheSuccessAndTheWords(t *testing.T) {
	g := NewWithT(t)
	tool := &script{shown: outcome{says: "failed: denied the request: deployment web is suspended"}}
	a := appOf(t, tool)
	g.Expect(fails("denied the request: deployment NAME is suspended")(a, t.Context())).To(Succeed())
	g.Expect(a.shows(shortly(t), true, "denied")).To(HaveOccurred())
	g.Expect(a.shows(shortly(t), false, "frozen")).To(HaveOccurred())
	tool.tried = errors.New("not yet")
	g.Expect(a.shows(shortly(t), false, "denied")).To(HaveOccurred())
}

func TestShowsDoesNotWaitWhereWhatIsShownIsFinal(t *testing.T) {
	g := NewWithT(t)
	a := appOf(t, &script{shown: outcome{ok: true, says: "deployed", final: true}})
	g.Expect(a.shows(t.Context(), false, "denied")).To(MatchError(ContainSubstring("it shows the success true: deployed")))
}

func TestStillEndsAfterFourThatChangeNothing(t *testing.T) {
	g := NewWithT(t)
	tool := &script{repeated: func() {}}
	a := appOf(t, tool)
	g.Expect(still(a, t.Context())).To(Succeed())
	g.Expect(tool.count).To(BeEquivalentTo(5)) // the first is what the others are compared with
}

func TestStillFindsAFightAboutAField(t *testing.T) {
	tool := &script{}
	a := appOf(t, tool)
	tool.repeated = func() {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"changed":"`+time.Now().String()+`"}}`))
		_ = a.lab.Kube.Patch(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, patch)
	}
	NewWithT(t).Expect(still(a, shortly(t))).To(MatchError(ContainSubstring("4 times the same that change nothing")))
}

func TestStillFindsAnotherOutcome(t *testing.T) {
	tool := &script{shown: outcome{ok: true}}
	tool.repeated = func() { tool.shown.ok = false }
	NewWithT(t).Expect(still(appOf(t, tool), shortly(t))).To(HaveOccurred())
}

func TestUnlikeNamesAFieldThatIsNotAsWanted(t *testing.T) {
	const wanted = `{"spec":{"paused":false,"updateStrategy":{"rollingUpdate":{"partition":0}},"template":{"spec":{"containers":[{"env":[{"name":"MODE"}]}]}}}}`
	for name, c := range map[string]struct{ got, says string }{
		"as wanted":      {wanted, ""},
		"left out":       {`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}},"template":{"spec":{"containers":[{"env":[{"name":"MODE"}]}]}}}}`, ""},
		"paused":         {`{"spec":{"paused":true,"updateStrategy":{"rollingUpdate":{"partition":0}}}}`, "spec.paused is true, and wanted is empty"},
		"held":           {`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":2}}}}`, "spec.updateStrategy.rollingUpdate.partition is 2, and wanted is empty"},
		"another's env":  {`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}},"template":{"spec":{"containers":[{}]}}}}`, "env is <nil>"},
		"no containers":  {`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`, "env is <nil>"},
		"no partition":   {`{"spec":{"template":{"spec":{"containers":[{"env":[{"name":"MODE"}]}]}}}}`, ""},
		"paused as text": {`{"spec":{"paused":"no"}}`, "spec.paused is no"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			want, got := map[string]any{}, map[string]any{}
			g.Expect(json.Unmarshal([]byte(wanted), &want)).To(Succeed())
			g.Expect(json.Unmarshal([]byte(c.got), &got)).To(Succeed())
			err := unlike(want, got)
			if c.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.says)))
			}
		})
	}
}
