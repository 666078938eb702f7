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

package encode

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
)

var update = flag.Bool("update", false, "write the golden files")

func now() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

// event returns an event of release 7 of the Deployment web.
func event(name appv1alpha1.SubscribedEvent, edits ...func(*notice.Event)) notice.Event {
	made := notice.Event{
		ID: notice.IDOf("u-1", 7, now().Add(-time.Minute), name, 1), Name: name, At: now(), Namespace: "shop",
		Workload: appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "u-1"},
		Release:  7, Version: "491e30c0000000000000000000000000", By: "alice@corp", Changes: []string{"image web 1.8 -> 1.9", "env LOG_LEVEL", "label a", "label b"},
		Counts: appv1alpha1.PodCounts{Desired: 20, Passed: 4, Failed: 2}, Reason: "PodsFailed", Message: "2 pods failed: 5xx above 1%", Began: now().Add(-time.Minute),
	}
	for _, edit := range edits {
		edit(&made)
	}
	return made
}

// ofFreeze makes an event one of the ChangeFreeze lock.
func ofFreeze(e *notice.Event) {
	e.Workload = appv1alpha1.WorkloadReference{APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeFreeze", Name: "lock", UID: "f-1"}
	e.Release, e.Version, e.By, e.Changes, e.Counts, e.Reason, e.Message, e.Until = 0, "", "", nil, appv1alpha1.PodCounts{}, "Park", "INC-7", now().Add(8*time.Hour)
}

// hostile is a text that would ring, link or break the message where it isn't escaped.
const hostile = "@all <at id=all></at> <!channel> <@U1> *b* _i_ [x](http://evil) `c` \\ & \"q\" ~s~ \u0007"

func spec(kind appv1alpha1.SinkType, edits ...func(*appv1alpha1.ChangeSubscriptionSpec)) *appv1alpha1.ChangeSubscriptionSpec {
	made := &appv1alpha1.ChangeSubscriptionSpec{Sink: appv1alpha1.SubscriptionSink{Type: kind}, Environment: "prod", Language: "en"}
	for _, edit := range edits {
		edit(made)
	}
	return made
}

// encoded returns the indented body of a message.
func encoded(t *testing.T, spec *appv1alpha1.ChangeSubscriptionSpec, batch notice.Batch, facts Facts) string {
	t.Helper()
	message, err := Encode(spec, batch, facts)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var indented bytes.Buffer
	NewWithT(t).Expect(json.Indent(&indented, message.Body, "", "  ")).To(Succeed())
	return indented.String() + "\n"
}

func TestEncodeWritesTheMessagesOfTheGoldenFiles(t *testing.T) {
	chinese := func(s *appv1alpha1.ChangeSubscriptionSpec) { s.Language = "zh" }
	linked := func(s *appv1alpha1.ChangeSubscriptionSpec) { s.LinkBase = "https://pages.example.com/" }
	rollback := event("RollbackVerified", func(e *notice.Event) {
		e.Rollback = &appv1alpha1.Rollback{Release: 6, Version: "ac18b340000000000000000000000000"}
		e.Changes, e.Observed = nil, true
	})
	attack := event("ReleaseSuspended", func(e *notice.Event) { e.By, e.Message, e.Changes = hostile, hostile, []string{hostile} })
	passed := event("BatchChecked", func(e *notice.Event) {
		e.Batch, e.Counts, e.Message = 2, appv1alpha1.PodCounts{Desired: 5, Passed: 5}, "no pod failed"
	})
	failed := event("BatchChecked", func(e *notice.Event) {
		e.Batch, e.Failed, e.Counts = 3, true, appv1alpha1.PodCounts{Desired: 5, Passed: 3, Failed: 2}
	})
	given := event("ApprovalGiven", func(e *notice.Event) { e.Message = "bob approves it: CHG-7" })
	denied := event("ApprovalDenied", func(e *notice.Event) { e.Message = "bob denies it: no tests" })
	deleted := event("WorkloadDeleted", func(e *notice.Event) {
		e.By, e.Changes, e.Counts, e.Message = "", nil, appv1alpha1.PodCounts{}, "the Deployment was deleted before the release was verified"
	})
	digest := notice.Batch{Events: []notice.Event{event("ReleaseStarted"), event("ReleaseVerified")}}
	late := notice.Batch{Events: []notice.Event{event("ReleaseSuspended")}, Late: true}
	for _, kind := range []appv1alpha1.SinkType{"DingTalk", "Feishu", "WeCom", "Slack", "Teams", "Plain"} {
		for name, row := range map[string]struct {
			spec  *appv1alpha1.ChangeSubscriptionSpec
			batch notice.Batch
		}{
			"suspended":    {spec(kind, linked), notice.Batch{Events: []notice.Event{event("ReleaseSuspended")}}},
			"suspended-zh": {spec(kind, chinese), notice.Batch{Events: []notice.Event{event("ReleaseSuspended")}}},
			"rollback":     {spec(kind), notice.Batch{Events: []notice.Event{rollback}}},
			"digest":       {spec(kind), digest},
			"late-zh":      {spec(kind, chinese), late},
			"batch":        {spec(kind), notice.Batch{Events: []notice.Event{passed}}},
			"batch-zh":     {spec(kind, chinese), notice.Batch{Events: []notice.Event{failed}}},
			"votes":        {spec(kind), notice.Batch{Events: []notice.Event{given, denied}}},
			"denied-zh":    {spec(kind, chinese), notice.Batch{Events: []notice.Event{denied}}},
			"deleted":      {spec(kind), notice.Batch{Events: []notice.Event{deleted}}},
			"hostile":      {spec(kind), notice.Batch{Events: []notice.Event{attack}}},
		} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				expectGolden(t, fmt.Sprintf("%s.%s.json", strings.ToLower(string(kind)), name), encoded(t, row.spec, row.batch, Facts{Now: now()}))
			})
		}
	}
}

func expectGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		NewWithT(t).Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	}
	wanted, err := os.ReadFile(path)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "go test ./controllers/changesubscription/encode -update writes it")
	NewWithT(t).Expect(text).To(Equal(string(wanted)), "go test ./controllers/changesubscription/encode -update, and look at the difference")
}

func TestEveryEventHasATextInEachLanguage(t *testing.T) {
	for _, words := range []words{english(), chinese()} {
		for _, name := range names() {
			NewWithT(t).Expect(words.events).To(HaveKeyWithValue(name, Not(BeEmpty())))
		}
		NewWithT(t).Expect(words.events).To(HaveLen(len(names())))
	}
}

func TestARecoveryOfAReleaseThatWasNotSuspendedHasAWordingOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	free := event("ReleaseRecovered", func(e *notice.Event) { e.Free = true })
	one, other := notice.Batch{Events: []notice.Event{free}}, notice.Batch{Events: []notice.Event{free, event("ReleaseRecovered")}}
	g.Expect(newCard(spec("Plain"), one).Title).To(Equal("[AlterShield prod] shop/web: release 7 no longer fails"))
	g.Expect(newCard(spec("Plain"), other).Lines[0].Text).To(Equal("release 7 no longer fails"))
	g.Expect(newCard(spec("Plain"), other).Lines[1].Text).To(Equal("release 7 is no longer suspended"))
	g.Expect(newCard(spec("Plain", func(s *appv1alpha1.ChangeSubscriptionSpec) { s.Language = "zh" }), one).Title).To(Equal("[AlterShield prod] shop/web：发布 7 不再失败"))
}

// names are those of all events.
func names() []appv1alpha1.SubscribedEvent {
	return []appv1alpha1.SubscribedEvent{
		"ReleaseStarted", "ReleaseBypassed", "ReleaseVerified", "RollbackVerified", "ReleaseSuspended", "ReleaseRecovered", "ReleaseFailed",
		"ReleaseRolledBack", "ReleaseUnchecked", "ReleaseSuperseded", "ReleaseFrozen", "ApprovalAwaited", "FreezeStarted", "FreezeEnded",
		"BatchChecked", "ApprovalGiven", "ApprovalDenied", "WorkloadDeleted",
	}
}

func TestMessagesTellTheNextCommand(t *testing.T) {
	for name, command := range map[appv1alpha1.SubscribedEvent]string{
		"ReleaseSuspended":  "kubectl altershield why deployment/web -n shop",
		"ApprovalAwaited":   "kubectl altershield approve deployment/web -n shop",
		"ReleaseRolledBack": "kubectl altershield history deployment/web -n shop",
		"ApprovalDenied":    "kubectl altershield why deployment/web -n shop",
		"ReleaseVerified":   "",
	} {
		one := event(name)
		card := newCard(spec("Plain"), notice.Batch{Events: []notice.Event{one}})
		last := card.Lines[len(card.Lines)-1]
		if command == "" {
			NewWithT(t).Expect(last.Label).To(Equal("Time"))
			continue
		}
		NewWithT(t).Expect(last).To(Equal(line{Label: "Next", Text: command}))
	}
}

func TestLongDigestsAreShortened(t *testing.T) {
	g := NewWithT(t)
	var batch notice.Batch
	for range 500 {
		batch.Events = append(batch.Events, event("ReleaseVerified", func(e *notice.Event) { e.Workload.Name = strings.Repeat("长", 100) }))
	}
	g.Expect(newCard(spec("Slack"), batch).Lines).To(HaveLen(21))
	g.Expect(newCard(spec("Slack"), batch).Lines[20].Text).To(Equal("480 more"))
	message, err := Encode(spec("WeCom"), batch, Facts{Now: now()})
	g.Expect(err).NotTo(HaveOccurred())
	var sent struct {
		Text struct{ Content string }
	}
	g.Expect(json.Unmarshal(message.Body, &sent)).To(Succeed())
	g.Expect(len(sent.Text.Content)).To(And(BeNumerically("<=", 2000), BeNumerically(">", 1990)))
	g.Expect(utf8.ValidString(sent.Text.Content)).To(BeTrue())
}

// The signatures were made by another implementation.
func TestChatsAreSigned(t *testing.T) {
	g := NewWithT(t)
	facts := Facts{Secret: "SECtest", Now: now()}
	batch := notice.Batch{Events: []notice.Event{event("ReleaseVerified")}}
	message, err := Encode(spec("DingTalk"), batch, facts)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(message.Query.Encode()).To(Equal("sign=95dWjipwWuWx3peyZt9fEL2zArJ5N0f9%2FVyk4XL9DJI%3D&timestamp=1795255200000"))
	message, err = Encode(spec("Feishu"), batch, facts)
	g.Expect(err).NotTo(HaveOccurred())
	var sent struct{ Timestamp, Sign string }
	g.Expect(json.Unmarshal(message.Body, &sent)).To(Succeed())
	g.Expect(sent.Timestamp + " " + sent.Sign).To(Equal("1795255200 r3xD+42coJSz071kiCu3QPOiUJHBtYW8f3KzR4iR6wk="))
	message, err = Encode(spec("DingTalk"), batch, Facts{Now: now()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(message.Query).To(BeEmpty(), "a robot without a key")
}

func TestProgramsGetStandardWebhooks(t *testing.T) {
	g := NewWithT(t)
	batch := notice.Batch{Events: []notice.Event{event("ReleaseStarted"), event("ReleaseVerified")}}
	message, err := Encode(spec("Plain"), batch, Facts{Secret: "0123456789012345678901234", Now: now()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(message.Header.Get("Webhook-Id")).To(Equal(batch.Events[1].ID))
	g.Expect(message.Header.Get("Webhook-Timestamp")).To(Equal("1795255200"))
	g.Expect(message.Header.Get("Webhook-Signature")).To(HavePrefix("v1,"))
	one := message.Header.Get("Webhook-Signature")
	message, err = Encode(spec("CDEvents"), batch, Facts{Secret: "0123456789012345678901234\n5432109876543210987654321", Now: now()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(message.Header.Get("Webhook-Signature")).To(MatchRegexp(`^v1,\S{44} v1,\S{44}$`), "while the key changes")
	g.Expect(message.Header.Get("Webhook-Signature")).NotTo(ContainSubstring(one), "of another body")
	_, err = Encode(spec("Plain"), batch, Facts{Secret: "short", Now: now()})
	g.Expect(err).To(MatchError("the key of signatures has less than 24 bytes"))
	g.Expect(Check("Plain", "short")).To(MatchError("has less than 24 bytes"))
	g.Expect(Check("DingTalk", "short")).To(Succeed(), "chats make their own keys")
	g.Expect(Check("CDEvents", "")).To(Succeed())
}

func TestMessagesOfFreezesHaveNoRelease(t *testing.T) {
	g := NewWithT(t)
	linked := spec("Plain", func(s *appv1alpha1.ChangeSubscriptionSpec) { s.LinkBase = "https://pages.example.com" })
	began := newCard(linked, notice.Batch{Events: []notice.Event{event("FreezeStarted", ofFreeze)}})
	g.Expect(began).To(Equal(card{
		Title: "[AlterShield prod] shop/lock: the freeze has begun",
		Lines: []line{{"Freeze", "ChangeFreeze shop/lock"}, {"Why", "INC-7"}, {"Time", "2026-11-21T10:00:00Z"}, {"Until", "2026-11-21T18:00:00Z"}},
	}))
	longer := notice.Batch{Events: []notice.Event{event("FreezeStarted", ofFreeze, func(e *notice.Event) { e.Prolonged = true })}}
	g.Expect(newCard(linked, longer)).To(Equal(card{
		Title: "[AlterShield prod] shop/lock: the freeze was prolonged until 2026-11-21T18:00:00Z",
		Lines: []line{{"Freeze", "ChangeFreeze shop/lock"}, {"Why", "INC-7"}, {"Time", "2026-11-21T10:00:00Z"}, {"Until", "2026-11-21T18:00:00Z"}},
	}))
	chinese := spec("Plain", func(s *appv1alpha1.ChangeSubscriptionSpec) { s.Language = "zh" })
	g.Expect(newCard(chinese, longer).Title).To(Equal("[AlterShield prod] shop/lock：冻结已延长至 2026-11-21T18:00:00Z"))
	ended := newCard(chinese, notice.Batch{Events: []notice.Event{event("FreezeEnded", ofFreeze, func(e *notice.Event) { e.Until, e.Message = time.Time{}, "" })}})
	g.Expect(ended.Title).To(Equal("[AlterShield prod] shop/lock：冻结已结束"))
	g.Expect(ended.Lines).To(Equal([]line{{"冻结", "ChangeFreeze shop/lock"}, {"时间", "2026-11-21T10:00:00Z"}}))
	digest := newCard(linked, notice.Batch{Events: []notice.Event{event("FreezeStarted", ofFreeze), event("ReleaseVerified")}})
	g.Expect(digest.Lines).To(Equal([]line{{"shop/changefreeze/lock", "the freeze has begun"}, {"shop/deployment/web", "release 7 is verified"}}))
}
