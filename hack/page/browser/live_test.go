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
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func TestStreamThatIsCutIsResumed(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{})
	page.shows("main", "shop/web", "Suspend")
	of.refuse(true)
	of.cut()
	page.shows(".banner", "Live data stopped: stale since", "Next attempt in", "the API server can't be reached")
	page.shows("main", "shop/web")
	of.refuse(false)
	page.click(".banner button", "Connect now")
	page.until(`document.querySelector(".banner") === null`)
	of.send(t, object{"type": "release", "release": release("shop", "web", "Success", nil)})
	page.shows("section:has(#others)", "shop/web")
}

func TestBannerIsReadOutOnce(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{})
	page.shows("main", "shop/web")
	of.refuse(true)
	of.cut()
	page.shows(".banner [role=alert]", "Live data stopped: stale since", "the API server can't be reached")
	eval[bool](page, `(window.told = 0, new MutationObserver(() => window.told++).observe(document.querySelector(".banner [role=alert]"), { childList: true, characterData: true, subtree: true }), true)`)
	for range 3 {
		before := page.text(".banner")
		page.click(".banner button", "Connect now")
		page.until(fmt.Sprintf("document.querySelector('.banner').innerText !== %q", before))
	}
	if told := eval[int](page, "window.told"); told > 0 {
		t.Errorf("the banner is read out %d times more, with each attempt", told)
	}
}

func TestBannerCountsTheTimeUntilTheNextAttempt(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{})
	page.shows("main", "shop/web")
	// The first pauses end at once, so that the test needn't wait for them.
	eval[bool](page, `(() => { const after = setTimeout; window.setTimeout = (f, time, ...more) => after(f, time >= 1_000 && time < 30_000 ? 0 : time, ...more); return true })()`)
	of.refuse(true)
	of.cut()
	page.shows(".banner", "Next attempt in 30s.")
	page.until(`/Next attempt in 2\ds\./.test(document.querySelector(".banner").innerText)`)
}

func TestBannerHasTheDayOfTheLastLine(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{})
	page.shows("main", "shop/web")
	// As a machine that slept for two days.
	eval[bool](page, `(() => { const at = Date.now; Date.now = () => at() + 2 * 86_400_000; return true })()`)
	of.refuse(true)
	of.cut()
	page.until(fmt.Sprintf(`/stale since \D*%d /.test(document.querySelector(".banner")?.innerText)`, eval[int](page, "new Date().getDate()")))
}

func TestStreamIsResumedByItself(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{})
	page.shows("main", "shop/web")
	of.first = line(t, object{"type": "snapshot", "now": now, "list": object{"items": []object{release("shop", "new", "Suspend", nil)}}})
	of.cut()
	page.shows("main", "shop/new")
	page.until(`!document.querySelector("main").innerText.includes("shop/web") && document.querySelector(".banner") === null`)
}

func TestStreamWhoseFirstListTakesLongIsAwaited(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{})
	page.shows("main", "shop/web")
	// The time of silence after which the page connects again is half a second, so that the test needn't wait for it.
	eval[bool](page, `(() => { const after = setTimeout; window.setTimeout = (f, time, ...more) => after(f, time === 40_000 ? 500 : time, ...more); return true })()`)
	of.delay("stream", 2*time.Second)
	of.first = line(t, object{"type": "snapshot", "now": now, "list": object{"items": []object{release("shop", "new", "Suspend", nil)}}})
	of.cut()
	page.shows("main", "shop/new")
}

func TestStreamChangesTheList(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{})
	page.shows("section:has(#running)", "shop/cart")
	of.send(t, object{"type": "release", "release": release("shop", "cart", "Suspend", object{"release": 3, "why": "1 pod failed PRE"})})
	page.shows("section:has(#needs)", "shop/cart", "1 pod failed PRE")
	page.shows("[aria-live=polite]", "shop/cart, release 3: Suspend")
	of.send(t, object{"type": "gone", "namespace": "shop", "kind": "Deployment", "group": "apps", "workload": "cart"})
	page.until(`!document.querySelector("main").innerText.includes("shop/cart")`)
	of.send(t, object{"type": "of a later version"})
	of.send(t, object{"type": "stale", "error": "the API server doesn't answer"})
	page.shows(".banner", "stale since", "the API server doesn't answer")
	of.send(t, object{"type": "beat", "now": now})
	page.until(`document.querySelector(".banner") === null`)
	page.shows("main", "shop/web")
}

func TestKindsOfOneNameAreToldByTheirGroups(t *testing.T) {
	declared := release("shop", "web", "Running", object{"workloadAPIVersion": "example.com/v1", "release": 3, "why": "of another group"})
	rollout := object{"kind": "Rollout", "workloadAPIVersion": "argoproj.io/v1alpha1"}
	of := serve(t, append(shop(), declared, release("shop", "ring", "Running", rollout)), answers(false))
	page := open(t, of, look{})
	page.shows("section:has(#needs)", "shop/web", "2 pods failed POST")
	page.shows("section:has(#running)", "shop/web Deployment.example.com", "of another group", "shop/ring Rollout")
	if text := page.text("main"); strings.Contains(text, "Deployment.apps") || strings.Contains(text, "argoproj.io") {
		t.Errorf("groups are shown that tell nothing apart: %q", text)
	}
	addresses := eval[string](page, `[...document.querySelectorAll("main a")].map((one) => one.getAttribute("href")).filter((one) => /web$|ring$/.test(one)).sort().join()`)
	if want := "#/w/shop/Deployment.example.com/web,#/w/shop/Deployment/web,#/w/shop/Rollout.argoproj.io/ring"; addresses != want {
		t.Errorf("the addresses are %s, want %s", addresses, want)
	}
	of.change("status", object{"present": declared})
	page.click("main a", "Deployment.example.com")
	page.shows(".head", "shop/web Deployment.example.com", "release 3")
	page.shows("footer", "kubectl altershield status deployment.example.com/web -n shop")
	if asked := page.asked(); !strings.Contains(strings.Join(asked, " "), "/api/status?namespace=shop&kind=Deployment.example.com&name=web") {
		t.Errorf("the page asked for %v", asked)
	}
	page.click(".actions button", "Freeze releases…")
	page.do(typed("dialog input[name=lock]", "inc-7"), typed("dialog input[name=reason]", "INC-7"))
	page.acts("action: Park")
	if acts := of.acts(); len(acts) != 2 || acts[1]["kind"] != "Deployment.example.com" {
		t.Errorf("the dialog sent %v", acts)
	}
	page.click("dialog button", "Close")
	page.goTo("/")
	of.send(t, object{"type": "release", "release": release("shop", "ring", "Running", object{"kind": "Rollout", "workloadAPIVersion": "example.com/v1"})})
	page.shows("section:has(#running)", "shop/ring Rollout.argoproj.io", "shop/ring Rollout.example.com")
	of.send(t, object{"type": "gone", "namespace": "shop", "kind": "Deployment", "group": "example.com", "workload": "web"})
	page.until(`!document.querySelector("main").innerText.includes("Deployment.example.com")`)
	page.shows("section:has(#needs)", "shop/web")
}

func TestStreamAnnouncesChangesOfStateOnly(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{})
	page.shows("section:has(#running)", "shop/cart", "8")
	of.send(t, object{"type": "release", "release": release("shop", "cart", "Running", object{"release": 3, "pods": pods(20, 1, 3, 9, 0)})})
	page.shows("section:has(#running)", "9")
	if told := page.text("[aria-live=polite]"); told != "" {
		t.Errorf("one more pod was announced: %q", told)
	}
}

func TestStreamWithRubbishIsReadAgain(t *testing.T) {
	for _, rubbish := range []string{"{\n", "[1, 2]\n", "null\n", `{"type": "release"}` + "\n", `{"type": "release", "release": null}` + "\n", "\n\n", `{"type": "snapshot", "list": {}, "now": "yesterday"}` + "\n"} {
		of := serve(t, shop(), answers(true))
		page := open(t, of, look{})
		page.shows("main", "shop/web")
		of.sendText(rubbish)
		of.send(t, object{"type": "beat", "now": now})
		time.Sleep(50 * time.Millisecond)
		page.until(`document.querySelector(".banner") === null`)
		page.shows("main", "Needs somebody")
	}
}

func TestKeyIsTakenFromTheAddressAndKeptForTheTab(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".head", "shop/web")
	if address := eval[string](page, "location.href"); address != of.url+"/#"+releaseOfWeb {
		t.Errorf("the address bar has %s, want the route without the key", address)
	}
	page.do(chromedp.Reload())
	page.shows(".head", "shop/web")
	for _, address := range page.asked()[1:] {
		if containsKey(address) {
			t.Errorf("the key is in the address of a request: %s", address)
		}
	}
	if cookies := eval[string](page, "document.cookie"); cookies != "" {
		t.Errorf("there are cookies: %s", cookies)
	}
}

func TestKeyThatIsOpenedInTheSameTabIsTaken(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := openAt(t, of, look{}, of.url+"/#wrong")
	page.shows(".banner", "This page needs the key of a running plugin.")
	eval[bool](page, fmt.Sprintf("(location.hash = %q, true)", "#"+key+releaseOfWeb))
	time.Sleep(500 * time.Millisecond) // the page is loaded anew
	page.shows(".head", "shop/web")
	if address := eval[string](page, "location.href"); address != of.url+"/#"+releaseOfWeb {
		t.Errorf("the address bar has %s, want the route without the key", address)
	}
}

func TestATabThatIsHiddenLeavesItsStream(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{})
	page.shows("main", "shop/web")
	hide := func(hidden bool) {
		eval[bool](page, fmt.Sprintf(`(Object.defineProperty(document, "hidden", { configurable: true, get: () => %t }), document.dispatchEvent(new Event("visibilitychange")), true)`, hidden))
	}
	// Timers of a minute end at once, so that the test needn't wait for one.
	eval[bool](page, `(() => { const after = setTimeout; window.setTimeout = (f, time, ...more) => after(f, time === 60_000 ? 0 : time, ...more); return true })()`)
	hide(true)
	page.shows(".banner", "stale since")
	of.first = line(t, object{"type": "snapshot", "now": now, "list": object{"items": []object{release("shop", "new", "Suspend", nil)}}})
	time.Sleep(1500 * time.Millisecond)
	if text := page.text("main"); strings.Contains(text, "shop/new") {
		t.Error("a hidden tab connects again")
	}
	hide(false)
	page.shows("main", "shop/new")
}

func TestKeyThatIsWrongIsExplained(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := openAt(t, of, look{}, of.url+"/#wrong")
	page.shows(".banner", "Run kubectl altershield dashboard and open the address that it prints.")
	without := openAt(t, of, look{}, of.url+"/")
	without.shows(".banner", "This page needs the key of a running plugin.")
}
