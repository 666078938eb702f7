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
// Command page builds the page of kubectl altershield dashboard from its sources: esbuild bundles them, Node isn't needed. The bundle is
package browser

import (
	"strings"
	"testing"
)

func TestReleasePageShowsEachState(t *testing.T) {
	for _, state := range states() {
		t.Run(state, func(t *testing.T) {
			of := serve(t, []object{release("shop", "web", state, nil)}, answers(true))
			status := of.answers["status"].(object)
			of.set("status", with(status, object{"present": release("shop", "web", state, nil)}))
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
	of.set("status", with(of.answers["status"].(object), object{"present": good, "batches": []object{{"numbers": "1-20", "count": 20, "outcome": "passed"}}}))
	of.send(t, object{"type": "release", "release": good})
	page.shows(".head", "Success", "release 8")
	page.shows(".timeline", "batches 1-20")
	page.shows("[aria-live=polite]", "shop/web, release 8: Success")
}

func TestPodsAreToldByMouseAndKeyboard(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".legend", "2 failed", "14 not replaced", "4 passed")
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
