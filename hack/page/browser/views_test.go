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
)

func TestFirstPageShowsWhatNeedsSomebodyFirst(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{})
	page.shows("section:has(#needs)", "shop/web", "Suspend", "2 pods failed POST", "1 suspended", "1 waiting", "freeze weekend until", "12m")
	page.shows("section:has(#running)", "shop/cart", "shop/search", "StatefulSet")
	page.shows("section:has(#day)", "shop", "pay", "12.5%", "50%")
	page.shows("section:has(#others)", "pay/ledger", "RolledBack", "shop/checkout")
	if first := page.text("section:has(#needs) tbody tr"); !strings.HasPrefix(first, "shop/web") {
		t.Errorf("the first row is %q, want shop/web", first)
	}
	if marks := eval[int](page, `document.querySelectorAll("#day ~ table svg.release.Failed, #day ~ table svg.release.RolledBack").length`); marks != 2 {
		t.Errorf("the last 24 hours show %d failed releases, want 2", marks)
	}
}

func TestFirstPagePutsEachStateIntoItsSection(t *testing.T) {
	wanted := map[string]string{
		"Suspend": "needs", "Failed": "needs", "Waiting": "needs", "NotChecked": "needs", "Running": "running", "Pending": "running",
		"Success": "others", "RolledBack": "others", "Superseded": "others",
	}
	var releases []object
	for _, state := range states() {
		releases = append(releases, release("shop", strings.ToLower(state), state, nil))
	}
	old := release("shop", "unchecked-by-choice", "NotChecked", object{"started": ago(25 * time.Hour)})
	page := open(t, serve(t, append(releases, old), answers(true)), look{})
	for state, section := range wanted {
		page.shows("section:has(#"+section+")", "shop/"+strings.ToLower(state), state)
	}
	page.shows("section:has(#others)", "shop/unchecked-by-choice")
}

func TestFirstPageIsFilteredByNamespaceAndText(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{})
	page.shows("section:has(#needs)", "pay/api", "shop/web")
	page.choose("pay")
	page.until(`!document.querySelector("main").innerText.includes("shop/web")`)
	page.shows("main", "pay/api")
	page.shows("footer", "kubectl altershield list -n pay")
	page.choose("")
	page.shows("main", "shop/web")
	page.do(typed("input[type=search]", "ALICE"))
	page.until(`!document.querySelector("main").innerText.includes("pay/api")`)
	page.shows("main", "shop/web")
	page.do(typed("input[type=search]", " and nothing else"))
	page.shows("section:has(#others)", "No workload matches.")
	page.shows("section:has(#needs)", "No workload matches.")
	page.shows("section:has(#running)", "No workload matches.")
	if text := page.text("main"); strings.Contains(text, "Nothing needs anybody.") || strings.Contains(text, "No release is running.") {
		t.Errorf("a search that matches nothing says %q", text)
	}
}

// choose chooses a namespace.
func (s *tab) choose(namespace string) {
	s.t.Helper()
	eval[bool](s, fmt.Sprintf(`(() => { const select = document.querySelector(".namespaces select"); select.value = %q; select.dispatchEvent(new Event("change", { bubbles: true })); return true })()`, namespace))
}

func TestFirstPageIsCalmWithoutReleases(t *testing.T) {
	of := serve(t, nil, answers(true))
	of.set("releases", object{"items": []object{}})
	of.set("freezes", object{"items": []object{}})
	page := open(t, of, look{})
	page.shows("main", "Nothing needs anybody.", "No release is running.", "No release began and ended in the last 24 hours.")
}

func TestFirstPageIsNotCalmWithoutAList(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.refuse(true)
	page := open(t, of, look{})
	page.shows(".banner", "No connection to the plugin.", "the API server can't be reached")
	page.drawn()
	if text := page.text("main"); strings.Contains(text, "Nothing needs anybody") || strings.Contains(text, "No release is running") {
		t.Errorf("a page that knows nothing says %q", text)
	}
	of.refuse(false)
	page.click(".banner button", "Connect now")
	page.shows("section:has(#needs)", "shop/web")
	wrong := openAt(t, of, look{}, of.url+"/#wrong")
	wrong.shows(".banner", "This page needs the key of a running plugin.")
	wrong.drawn()
	if text := wrong.text("main"); strings.Contains(text, "Nothing needs anybody") {
		t.Errorf("a page without the key says %q", text)
	}
}

func TestFirstPageShowsMoreOnDemand(t *testing.T) {
	page := open(t, serve(t, many(250), answers(true)), look{})
	page.until(`document.querySelectorAll("#others ~ .scroll tbody tr").length === 100`)
	page.click("button.more", "Show 150 more")
	page.until(`document.querySelectorAll("#others ~ .scroll tbody tr").length === 250`)
}

func TestOneReleaseOfADayIsOne(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.set("releases", object{"items": []object{with(recorded()[0], object{"startedAt": ago(time.Hour), "endedAt": ago(50 * time.Minute)})}})
	page := open(t, of, look{})
	page.until(`document.querySelector(".marks")?.getAttribute("aria-label") === "1 release, 0 failed or rolled back"`)
}

// many returns verified releases.
func many(count int) []object {
	found := make([]object, count)
	for i := range found {
		found[i] = release(fmt.Sprintf("team-%02d", i%20), fmt.Sprintf("service-%04d", i), "Success", object{"pods": pods(10, 0, 0, 10, 0)})
	}
	return found
}

func TestReleasePageShowsEachState(t *testing.T) {
	for _, state := range states() {
		t.Run(state, func(t *testing.T) {
			of := serve(t, []object{release("shop", "web", state, nil)}, answers(true))
			of.change("status", object{"present": release("shop", "web", state, nil)})
			page := open(t, of, look{route: releaseOfWeb})
			page.shows(".head .state", state)
			page.shows(".timeline .last", state)
			if title := eval[string](page, `document.querySelector(".head .state").title`); len(title) < 10 {
				t.Errorf("the state %s is explained by %q", state, title)
			}
		})
	}
}

func TestReleasePageShowsAllAboutARelease(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{route: releaseOfWeb})
	page.shows(".head", "shop/web", "release 7", "a15e8a3", "491e30c", "alice@corp.example", "20 wanted", "rollout held by the operator")
	page.shows(".reasons", "2 pods failed POST", "web-85c4-b6lg8", "kubectl altershield repair deployment/web -n shop -f FILE", "to release 5", "you may not: needs patch changepods.app.ops.cloud.alipay.com/status")
	page.shows(".timeline", "recorded", "17:28:52", "batches 1-4", "PRE 2s", "POST 10s", "batches 5-6")
	page.shows("section:has(#verdicts)", "error rate: 5xx above 1%", "golden-signals", "Enforce", "5xx 3.1 % of requests")
	page.shows("section:has(#changes)", "image web: shop/web:1.8 -> shop/web:1.9")
	page.shows("section:has(#history)", "RolledBack", "refused until", "kept", "current", "4m 10s")
	page.shows("section:has(#events)", "Suspended", "2 pods failed their check")
	page.shows("section:has(#policies)", "golden-signals", "all workloads of the namespace")
	page.shows("footer", "kubectl altershield status deployment/web -n shop")
	link := eval[map[string]string](page, `(({ href, rel, target }) => ({ href, rel, target }))(document.querySelector("#verdicts ~ .scroll a"))`)
	if link["href"] != "https://grafana.example/d/web" || link["rel"] != "noopener noreferrer" || link["target"] != "_blank" {
		t.Errorf("the link of a message is %v", link)
	}
	if title := eval[string](page, `document.querySelector(".timeline time").title`); title != "22 Nov 2026, 17:28:52 CET" && title != "22 Nov 2026, 17:28:52 GMT+1" {
		t.Errorf("the title of a time is %q, want the absolute time with its zone", title)
	}
}

func TestReleasePageShowsWhatPodsThatDoNotRunWaitFor(t *testing.T) {
	of := serve(t, []object{release("shop", "web", "Running", object{"pods": pods(20, 2, 1, 3, 0), "releaseReason": "CHG-12"})}, answers(true))
	waits := []object{{"pod": "web-a", "message": "ErrImagePull"}, {"pod": "web-b", "message": "ErrImagePull"}, {"pod": "web-c", "message": "ErrImagePull"}, {"pod": "web-d", "message": "ErrImagePull"}}
	of.change("status", object{
		"workload":   object{"namespace": "shop", "kind": "Deployment", "name": "web", "known": true, "wanted": 20, "ready": 16, "updated": 8, "gated": 3, "suspended": true, "requestReason": "CHG-13"},
		"notRunning": object{"pods": waits, "notCreated": "exceeded quota", "rollbackAt": ago(-3 * time.Minute)},
	})
	of.set("why", object{"freezes": []object{{"namespace": "shop", "name": "weekend", "action": "Park", "active": true, "until": ago(-37 * time.Hour), "reason": "no releases at weekends"}}})
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".head", "20 wanted · 16 ready · 5 new", "3 wait at the step", "suspended: further releases are denied", "reason: CHG-12", "reason: CHG-13")
	page.shows(".head .podbar", "3 passed", "1 checking", "2 waiting", "14 to come")
	page.shows(".reasons", "web-a web-b web-c 1 more ErrImagePull", "pods can't be created: exceeded quota", "the operator rolls back by 17:44:52 if they don't run")
	page.shows(".reasons", "a further release would be parked by ChangeFreeze shop/weekend until Tue", "no releases at weekends")
	page.click(".languages button", "中文")
	page.shows(".reasons", "如果仍不运行，Operator 最迟于 17:44:52 回滚", "后续发布会被 ChangeFreeze shop/weekend 扣住")
}

func TestReleasePageWithoutItsBatchesHasTheCountsAndTheFailedPods(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.change("status", object{"batches": nil, "checks": nil, "failedPods": []object{{"pod": "web-85c4-b6lg8", "message": "error rate: 5xx above 1%"}, {"pod": "web-85c4-q2nvm", "message": "error rate: 5xx above 1%"}}})
	page := open(t, of, look{route: releaseOfWeb})
	page.shows("section:has(#verdicts)", "2 failed", "4 passed", "14 to come", "web-85c4-b6lg8 web-85c4-q2nvm error rate: 5xx above 1%")
	if text := page.text("section:has(#verdicts)"); strings.Contains(text, "No batch yet.") {
		t.Errorf("a release whose batches aren't read says %q", text)
	}
	of.send(t, object{"type": "release", "release": release("shop", "web", "Running", object{"release": 8, "pods": pods(20, 2, 0, 0, 0)})})
	of.change("status", object{"failedPods": nil})
	page.shows("section:has(#verdicts)", "No batch yet.")
}

func TestALinkAtTheEndOfALongTextIsWhole(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.set("events", object{"items": []object{{"type": "Warning", "reason": "Suspended", "object": "Deployment/web", "count": 1, "message": strings.Repeat("pod ", 92) + "https://grafana.example/d/web?from=1&to=2 " + strings.Repeat("and more ", 9)}}})
	page := open(t, of, look{route: releaseOfWeb})
	page.shows("section:has(#events)", "Suspended", "show all")
	if links := eval[string](page, `[...document.querySelectorAll("#events ~ .scroll a")].map((one) => one.href).join()`); links != "" && links != "https://grafana.example/d/web?from=1&to=2" {
		t.Errorf("the link is %q, want all of it or none", links)
	}
	page.click("section:has(#events) button", "show all")
	page.until(`document.querySelector("#events ~ .scroll a")?.href === "https://grafana.example/d/web?from=1&to=2"`)
}

func TestReleasePageOfAnUnknownWorkload(t *testing.T) {
	of := serve(t, nil, answers(true))
	of.fail("status", 404, object{"error": "there is no deployment/gone in namespace shop", "reason": "NotFound"})
	page := open(t, of, look{route: "/w/shop/Deployment/gone"})
	page.shows("[role=alert]", "there is no deployment/gone in namespace shop")
}

func TestReleasePageFollowsTheStream(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".head", "Suspend")
	good := release("shop", "web", "Success", object{"release": 8, "pods": pods(20, 0, 0, 20, 0)})
	of.change("status", object{"present": good, "batches": []object{{"numbers": "1-20", "count": 20, "outcome": "passed"}}})
	of.send(t, object{"type": "release", "release": good})
	page.shows(".head", "Success", "release 8")
	page.shows(".timeline", "batches 1-20")
	page.shows("[aria-live=polite]", "shop/web, release 8: Success")
}

func TestReleasePageIsShownAlthoughTheReleaseChangesFasterThanItIsRead(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.delay("status", 3*time.Second)
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".head", "release 7")
	for passed := range 3 {
		of.send(t, object{"type": "release", "release": release("shop", "web", "Running", object{"pods": pods(20, 0, 0, passed+1, 0)})})
		time.Sleep(2 * time.Second)
	}
	if text := page.text(".head"); !strings.Contains(text, "20 wanted") {
		t.Errorf("a release that changes every two seconds, and is read in three, shows %q", text)
	}
	of.delay("status", 0)
	of.change("status", object{"workload": object{"namespace": "shop", "kind": "Deployment", "name": "web", "known": true, "wanted": 21}})
	of.send(t, object{"type": "release", "release": release("shop", "web", "Running", object{"pods": pods(21, 0, 0, 9, 0)})})
	page.shows(".head", "21 wanted")
}

func TestReleasePageOfARollbackIsAboutTheReleaseThatIsThere(t *testing.T) {
	back := object{"release": 8, "by": "operator", "rollbackOf": 7, "pods": pods(20, 0, 0, 20, 0)}
	listed := release("shop", "web", "RolledBack", with(back, object{"reason": "PodsFailed", "why": "release 7 failed", "refusedUntil": ago(-23 * time.Hour)}))
	of := serve(t, []object{listed}, answers(true))
	of.change("status", object{"present": release("shop", "web", "Success", with(back, object{"reason": "PodsPassed", "why": "all pods passed"}))})
	of.set("why", object{})
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".head", "release 8", "Success", "rollback of release 7")
	page.shows(".reasons", "all pods passed")
	if text := page.text(".head") + page.text(".timeline"); strings.Contains(text, "RolledBack") || strings.Contains(text, "refused until") {
		t.Errorf("the head of a good release is %q", text)
	}
	page.goTo("/")
	page.shows("section:has(#others)", "RolledBack", "release 7 failed")
}

func TestReleasePageReadsAgainWhatIsNotInTheStream(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{route: releaseOfWeb})
	page.shows("section:has(#policies)", "golden-signals")
	time.Sleep(1500 * time.Millisecond) // what the page reads again once its list is there
	page.settled()
	of.change("status", object{"workload": object{"namespace": "shop", "kind": "Deployment", "name": "web", "known": true, "pausedByUser": true}})
	of.set("policies", object{"items": []object{{"kind": "ChangeFreeze", "namespace": "shop", "name": "weekend", "does": "parks releases", "because": "all workloads of the namespace"}}})
	of.send(t, object{"type": "beat", "now": ago(-10 * time.Minute)})
	page.shows(".head", "rollout paused by a user")
	page.shows("section:has(#policies)", "weekend")
}

func TestTimeLineHasTheDayOfWhatIsNotOfToday(t *testing.T) {
	old := release("shop", "web", "Waiting", object{"started": ago(55 * time.Hour), "since": ago(50 * time.Hour)})
	of := serve(t, []object{old}, answers(true))
	of.change("status", object{"present": old})
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".timeline li", "Fri")
	page.shows(".timeline .last", "Fri")
	page.shows(".timeline li", "20 Nov")
}

func TestAReleaseThatSuspendsNothingIsNotSaidToBeSuspended(t *testing.T) {
	failed := release("shop", "web", "Suspend", object{"notSuspended": true, "why": "2 pods failed POST; the setting blocking is off"})
	page := open(t, serve(t, []object{failed}, answers(true)), look{})
	page.shows("section:has(#needs)", "shop/web", "1 failed")
	if title := eval[string](page, `document.querySelector("td .state").title`); strings.Contains(title, "further releases are rejected") {
		t.Errorf("the state of a release that suspends nothing is explained by %q", title)
	}
}

func TestPodsAreToldByMouseAndKeyboard(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.set("pods", podList(20))
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".legend", "2 failed", "14 waiting", "4 passed")
	eval[bool](page, `(document.querySelector(".cells .frame").focus(), true)`)
	page.shows(".podline", "web-85c4-00000", "passed", "node-00", "zone-a", "Batch 1")
	page.press(strings.Repeat(arrowRight, 4))
	page.shows(".podline", "web-85c4-00004", "failed", "error rate: 5xx above 1%")
	hover := `(() => { const svg = document.querySelector(".cells .frame svg"); const box = svg.getBoundingClientRect();
		svg.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: box.left + 14 * 5 + 5, clientY: box.top + 5 })); return true })()`
	eval[bool](page, hover)
	page.shows(".podline", "web-85c4-00005")
	page.click(".toolbar button", "zone")
	page.until(`[...document.querySelectorAll(".cells .frame text")].map((one) => one.textContent).join() === "zone-b 7,zone-c 6,zone-a 7"`)
	page.click(".toolbar button", "node")
	page.until(`document.querySelectorAll(".cells .frame text").length === 7`)
}

func TestTenThousandPodsAreOnePicture(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.set("pods", podList(10_000))
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".legend", "2 failed", "104 checking", "9,894 passed")
	if count := eval[int](page, `document.querySelectorAll(".cells svg *").length`); count > 60 {
		t.Errorf("10,000 pods are %d elements, want at most 60", count)
	}
}

func TestCompareShowsTheChangesBetweenReleases(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{route: releaseOfWeb})
	page.until(`document.querySelector(".compare a")?.getAttribute("href") === "#/w/shop/Deployment/web/compare/6..7"`)
	page.click(".compare a", "Compare")
	page.shows("h1", "Compare 6 with 7")
	page.shows("main", "image web: shop/web:1.8 -> shop/web:1.9", "release 5", "Values that may be secret are not shown.")
	page.shows("footer", "kubectl altershield diff deployment/web 6..7 -n shop")
	if title := eval[string](page, "document.activeElement.tagName"); title != "H1" {
		t.Errorf("the focus of a new view is on %s, want its heading", title)
	}
}
