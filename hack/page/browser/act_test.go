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
package browser

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestReadOnlyPageHasNoButtonsThatAct(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".reasons", "kubectl altershield rollback deployment/web -n shop")
	page.settled()
	if count := eval[int](page, `document.querySelectorAll(".actions, dialog").length`); count != 0 {
		t.Error("a read-only page has buttons that act")
	}
}

func TestAButtonStaysItselfWhenOthersCome(t *testing.T) {
	of := serve(t, shop(), answers(false))
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".actions", "Roll back…", "Freeze releases…")
	page.settled()
	eval[bool](page, `([...document.querySelectorAll(".actions button")].find((one) => one.innerText === "Freeze releases…").focus(), true)`)
	of.change("status", object{"workload": object{"namespace": "shop", "kind": "Deployment", "name": "web", "known": true, "pausedByUser": true}})
	of.send(t, object{"type": "release", "release": release("shop", "web", "Waiting", object{"step": "1/2"})})
	page.shows(".actions", "Approve…", "Resume…")
	if focused := eval[string](page, "document.activeElement.innerText"); focused != "Freeze releases…" {
		t.Errorf("the button with the focus is %q by now, want the one that had it", focused)
	}
}

func TestActionThatTheUserMayNotIsGreyedWithTheRight(t *testing.T) {
	page := open(t, serve(t, shop(), answers(false)), look{route: releaseOfWeb})
	page.shows(".actions", "Roll back…", "Correct a verdict…", "you may not: needs patch changepods.app.ops.cloud.alipay.com/status")
	page.until(`[...document.querySelectorAll(".actions button")].filter((one) => one.disabled).map((one) => one.innerText).join() === "Correct a verdict…"`)
	if text := eval[string](page, `(() => { const button = document.querySelector(".actions button:disabled"); return document.getElementById(button.getAttribute("aria-describedby")).innerText })()`); !strings.Contains(text, "patch changepods") {
		t.Errorf("the disabled button is described by %q", text)
	}
}

// What is pressed between the two would go to the page behind the dialog.
func TestDialogIsModalAsSoonAsItIsInThePage(t *testing.T) {
	page := open(t, serve(t, shop(), answers(false)), look{route: releaseOfWeb})
	page.shows(".actions", "Roll back…")
	page.until(`!document.querySelector(".actions button").disabled`)
	if isModal := eval[bool](page, `new Promise((done) => {
		new MutationObserver((_, watch) => {
			const dialog = document.querySelector("dialog");
			if (dialog) { watch.disconnect(); done(dialog.matches(":modal")); }
		}).observe(document, { childList: true, subtree: true });
		document.querySelector(".actions button").click();
	})`); !isModal {
		t.Error("the dialog comes into the page before it is modal")
	}
}

func TestDialogIsUsedByKeyboardAlone(t *testing.T) {
	of := serve(t, shop(), answers(false))
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".actions", "Roll back…")
	page.until(`!document.querySelector(".actions button").disabled`)
	page.tabTo("Roll back…")
	page.press(enter)
	page.shows("dialog", "Go back to a verified version", "kubectl altershield rollback deployment/web -n shop --to 5")
	for range 12 {
		page.press(tabKey)
		if !eval[bool](page, `document.activeElement === document.body || document.querySelector("dialog").contains(document.activeElement)`) {
			t.Fatalf("the focus leaves the dialog for %s", eval[string](page, "document.activeElement.outerHTML"))
		}
	}
	page.press(escape)
	page.until(`document.querySelector("dialog") === null`)
	if back := eval[string](page, "document.activeElement.innerText"); back != "Roll back…" {
		t.Errorf("after the dialog the focus is on %q, want its button", back)
	}
	if acts := of.acts(); len(acts) != 0 {
		t.Fatalf("a dialog that was left did %v", acts)
	}
	page.press(enter)
	page.until(`document.querySelector("dialog select") === document.activeElement`)
	page.tabTo("Check")
	page.press(enter)
	page.shows("dialog .preview", "This would change", "image web: shop/web:1.9 -> shop/web:1.8", "the rollout is held by the operator")
	page.press(enter) // a second press of the same key must not act
	page.press(enter)
	page.tabTo("Do it")
	page.press(enter)
	page.shows("dialog .preview", "Done")
	dry := object{"verb": "rollback", "namespace": "shop", "kind": "Deployment", "name": "web", "to": "5", "dryRun": true}
	act := object{"verb": "rollback", "namespace": "shop", "kind": "Deployment", "name": "web", "to": "a15e8a37c9d04b2f8a9f1e7c5a4b3c2d", "from": object{"release": 7.0, "version": "491e30c2a4c6418da3e9d6b1b6ff2b0a"}, "dryRun": false}
	if acts := of.acts(); !reflect.DeepEqual(acts, []object{dry, act}) {
		t.Errorf("the dialog sent %v, want %v", acts, []object{dry, act})
	}
	page.tabTo("Close")
	page.press(enter)
	page.until(`document.querySelector("dialog") === null`)
}

// tabTo goes to the button with a text by the tabulator.
func (s *tab) tabTo(text string) {
	s.t.Helper()
	for range 60 {
		if eval[string](s, "document.activeElement.innerText ?? ''") == text {
			return
		}
		s.press(tabKey)
	}
	s.t.Fatalf("the tabulator doesn't come to %s", text)
}

// acts checks what a dialog would do, which has to show some texts, and does it.
func (s *tab) acts(texts ...string) {
	s.t.Helper()
	s.click("dialog button", "Check")
	s.shows("dialog .preview", texts...)
	s.click("dialog button", "Do it")
	s.shows("dialog .preview", "Done")
}

func TestDialogShowsWhyADryRunFails(t *testing.T) {
	of := serve(t, shop(), answers(false))
	of.fail("act/rollback", 422, object{"error": "admission webhook denied the request: release 5 is refused", "reason": "Denied"})
	page := open(t, of, look{route: releaseOfWeb})
	page.click(".actions button", "Roll back…")
	page.click("dialog button", "Check")
	page.shows("dialog [role=alert]", "admission webhook denied the request: release 5 is refused")
	if text := page.text("dialog [role=alert]"); !strings.HasPrefix(text, "This failed:") {
		t.Errorf("what failed is told by %q", text)
	}
	if acts := of.acts(); len(acts) != 1 || acts[0]["dryRun"] != true {
		t.Errorf("the dialog sent %v, want one dry run", acts)
	}
	if count := eval[int](page, `[...document.querySelectorAll("dialog button")].filter((one) => one.innerText === "Do it").length`); count != 0 {
		t.Error("a dry run that fails can be acted on")
	}
}

func TestDialogTellsThatTheWorkloadIsAtAnotherRelease(t *testing.T) {
	of := serve(t, shop(), answers(false))
	of.change("act/rollback", object{"from": object{"release": 8, "version": "b2c9d10c2a4c6418da3e9d6b1b6ff2b0"}})
	page := open(t, of, look{route: releaseOfWeb})
	page.click(".actions button", "Roll back…")
	page.shows("dialog", "release 7")
	of.send(t, object{"type": "release", "release": release("shop", "web", "Running", object{"release": 8, "version": "b2c9d10c2a4c6418da3e9d6b1b6ff2b0"})})
	page.shows(".head", "release 8")
	page.shows("dialog", "release 7")
	page.click("dialog button", "Check")
	page.shows("dialog .preview", "The workload is at release 8 by now, not at release 7.")
}

func TestDialogStaysWhileItActs(t *testing.T) {
	page := open(t, serve(t, shop(), answers(false)), look{route: releaseOfWeb})
	page.click(".actions button", "Roll back…")
	page.click("dialog button", "Check")
	page.shows("dialog .preview", "This would change")
	eval[bool](page, `(() => { const ask = fetch; const gate = new Promise((go) => { window.answer = go; }); window.fetch = (...given) => gate.then(() => ask(...given)); return true; })()`)
	page.click("dialog button", "Do it")
	page.shows("dialog", "Asking the API server…")
	for range 3 {
		page.press(escape)
		page.drawn()
	}
	page.until(`document.querySelector("dialog:modal") !== null`)
	eval[bool](page, `(window.answer(), true)`)
	page.shows("dialog .preview", "Done")
}

func TestDialogNeedsAReasonWhereTheVerbDoes(t *testing.T) {
	of := serve(t, shop(), answers(false))
	page := open(t, of, look{route: releaseOfWeb})
	page.click(".actions button", "Freeze releases…")
	page.do(typed("dialog input[name=lock]", "inc-7"))
	page.click("dialog button", "Check")
	if acts := of.acts(); len(acts) != 0 {
		t.Errorf("without a reason the dialog sent %v", acts)
	}
	page.do(typed("dialog input[name=reason]", "INC-7: it's down"))
	page.shows("dialog .copy", `kubectl altershield freeze lock inc-7 deployment/web -n shop --for 1h --reason 'INC-7: it'\''s down'`)
	page.acts("action: Park")
	want := object{"verb": "freeze-lock", "namespace": "shop", "kind": "Deployment", "name": "web", "lock": "inc-7", "for": "1h", "reason": "INC-7: it's down", "dryRun": false}
	if acts := of.acts(); len(acts) != 2 || !reflect.DeepEqual(acts[1], want) {
		t.Errorf("the dialog sent %v, want %v last", acts, want)
	}
}

func TestReleaseInStepsCanBeApprovedDeniedAndGoOn(t *testing.T) {
	of := serve(t, shop(), answers(false))
	waiting := release("pay", "api", "Waiting", object{"step": "2/3"})
	of.change("status", object{"present": waiting, "workload": object{"known": true, "namespace": "pay", "name": "api", "kind": "Deployment", "pausedByUser": true, "pauseReason": "waits for the database"}})
	of.set("act/approve", object{"kind": "ApproveRequest", "namespace": "pay", "object": "changeapproval/api", "changes": []string{"decision: Approve"}})
	page := open(t, of, look{route: "/w/pay/Deployment/api"})
	page.shows(".actions", "Approve…", "Deny…", "Go on…", "Resume…", "Break glass…")
	page.shows(".head", "rollout paused by a user", "waits for the database")
	page.click(".actions button", "Approve…")
	page.do(typed("dialog input[name=reason]", "CHG-12"))
	page.acts("decision: Approve")
	if acts := of.acts(); len(acts) != 2 || acts[1]["reason"] != "CHG-12" || acts[1]["dryRun"] != false {
		t.Errorf("the dialog sent %v", acts)
	}
}

func TestGoOnGoesToTheStepThatWasShown(t *testing.T) {
	of := serve(t, shop(), answers(false))
	waiting := release("pay", "api", "Waiting", object{"step": "1/3"})
	of.change("status", object{"present": waiting, "workload": object{"known": true, "namespace": "pay", "name": "api", "kind": "Deployment"}})
	of.set("act/go-on", object{"kind": "GoOnRequest", "namespace": "pay", "object": "deployment/api", "from": object{"release": 7, "version": "491e30c2a4c6418da3e9d6b1b6ff2b0a"}, "step": "2/3"})
	page := open(t, of, look{route: "/w/pay/Deployment/api"})
	page.click(".actions button", "Go on…")
	page.do(typed("dialog input[name=reason]", "CHG-12"))
	page.acts("This would change")
	want := object{"verb": "go-on", "namespace": "pay", "kind": "Deployment", "name": "api", "step": "2", "reason": "CHG-12", "from": object{"release": 7.0, "version": "491e30c2a4c6418da3e9d6b1b6ff2b0a"}, "dryRun": false}
	if acts := of.acts(); len(acts) != 2 || !reflect.DeepEqual(acts[1], want) {
		t.Errorf("the dialog sent %v, want %v last", acts, want)
	}
}

func TestRollbackOffersWhatTheOperatorGoesBackTo(t *testing.T) {
	of := serve(t, shop(), answers(false))
	left := release("shop", "web", "RolledBack", object{"release": 6, "version": "ac18b34e8d0b4d4cb6bb7d0a91b0aa11", "kept": true, "refusedUntil": ago(-23 * time.Hour), "current": false})
	good := release("shop", "web", "Success", object{"release": 5, "version": "a15e8a37c9d04b2f8a9f1e7c5a4b3c2d", "kept": true, "target": true, "current": false})
	// Its last release failed, so that the operator doesn't go back to its version.
	bad := release("shop", "web", "Success", object{"release": 2, "version": "b2c9d10c2a4c6418da3e9d6b1b6ff2b0", "kept": true, "current": false})
	of.change("status", object{"earlier": []object{left, good, with(good, object{"release": 3}), bad}})
	page := open(t, of, look{route: releaseOfWeb})
	page.click(".actions button", "Roll back…")
	page.until(`[...document.querySelectorAll("dialog option")].map((one) => one.value).join() === "5"`)
}

func TestAVerdictIsOfThePodsOfABatch(t *testing.T) {
	of := serve(t, shop(), answers(false))
	of.set("may", object{"items": []object{}})
	of.set("act/verdict", object{"kind": "VerdictRequest", "namespace": "shop", "object": "changepod/web-491e30c--x--6", "changes": []string{"web-85c4-00005: Unpass -> Pass"}})
	page := open(t, of, look{route: releaseOfWeb})
	page.click(".actions button", "Correct a verdict…")
	pods := `[...document.querySelectorAll("dialog select")[1].options].map((one) => one.text).join()`
	page.until(pods + ` === "all of the batch,web-85c4-00004"`)
	choose := func(index int, value string) {
		eval[bool](page, fmt.Sprintf(`(() => { const select = document.querySelectorAll("dialog select")[%d]; select.value = %q; select.dispatchEvent(new Event("change", { bubbles: true })); return true })()`, index, value))
	}
	choose(1, "web-85c4-00004")
	page.shows("dialog .copy", "--pod web-85c4-00004")
	choose(0, "web-491e30c--x--6")
	page.until(pods + ` === "all of the batch,web-85c4-00005"`)
	if line := page.text("dialog .copy code"); strings.Contains(line, "--pod") {
		t.Errorf("the pod of another batch is still chosen: %s", line)
	}
	choose(1, "web-85c4-00005")
	page.do(typed("dialog input[name=reason]", "wrong"))
	page.acts("web-85c4-00005: Unpass -> Pass")
	want := object{"verb": "verdict", "namespace": "shop", "kind": "Deployment", "name": "web", "changePod": "web-491e30c--x--6", "pod": "web-85c4-00005", "verdict": "pass", "reason": "wrong", "dryRun": false}
	if acts := of.acts(); len(acts) != 2 || !reflect.DeepEqual(acts[1], want) {
		t.Errorf("the dialog sent %v, want %v last", acts, want)
	}
}

func TestEachKindCanBePaused(t *testing.T) {
	of := serve(t, shop(), answers(false))
	running := release("shop", "search", "Running", object{"kind": "StatefulSet"})
	of.change("status", object{"present": running, "workload": object{"known": true, "namespace": "shop", "name": "search", "kind": "StatefulSet"}})
	page := open(t, of, look{route: "/w/shop/StatefulSet/search"})
	page.shows(".actions", "Pause…")
}

func TestLockIsEndedFromTheCalendar(t *testing.T) {
	of := serve(t, shop(), answers(false))
	of.set("act/freeze-unlock", object{"kind": "FreezeUnlockRequest", "namespace": "pay", "object": "changefreeze/incident-99", "at": "f-1/3", "changes": []string{"parked: 0"}})
	page := open(t, of, look{route: "/calendar"})
	page.click("main button", "End the lock…")
	page.shows("dialog", "kubectl altershield freeze unlock incident-99 -n pay")
	page.acts("parked: 0")
	if acts := of.acts(); len(acts) != 2 || acts[1]["lock"] != "incident-99" || acts[1]["namespace"] != "pay" || acts[1]["at"] != "f-1/3" {
		t.Errorf("the dialog sent %v", acts)
	}
}

func TestALockThatTheUserMayNotEndIsGreyedWithTheRight(t *testing.T) {
	of := serve(t, shop(), answers(false))
	of.set("may-lock", object{"items": []object{
		{"verb": "freeze-lock", "needs": changeFreezes("create"), "may": true},
		{"verb": "freeze-unlock", "needs": changeFreezes("delete"), "right": "delete changefreezes.app.ops.cloud.alipay.com", "may": false},
	}})
	page := open(t, of, look{route: "/calendar"})
	page.shows("section:has(#freezes)", "you may not: needs delete changefreezes.app.ops.cloud.alipay.com")
	page.until(`[...document.querySelectorAll("section:has(#freezes) button")].filter((one) => one.disabled).map((one) => one.innerText).join() === "End the lock…"`)
	page.choose("pay")
	page.click("main p button", "Freeze releases…")
	page.shows("dialog", "Freeze releases from now on")
}
