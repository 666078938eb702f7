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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// axe returns the source of axe-core, which npm installs. Without npm the test is skipped, but never in CI.
func axe(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(os.Getenv("PAGE_TOOLS"), "node_modules/axe-core/axe.min.js"))
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("read axe-core: %v: make test-page installs it", err)
	}
	if err != nil {
		t.Skip("there is no axe-core: make test-page installs it by npm")
	}
	return string(source)
}

type finding struct {
	ID    string   `json:"id"`
	Help  string   `json:"help"`
	Nodes []string `json:"nodes"`
}

// barriers returns what axe-core finds by the rules of WCAG 2.2 AA and best practices.
func (s *tab) barriers() []finding {
	s.t.Helper()
	return eval[[]finding](s, `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((found) =>
		found.violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + " " + node.failureSummary.slice(0, 200)) })))`)
}

func TestNoBarriers(t *testing.T) {
	source := axe(t)
	for _, theme := range []bool{false, true} {
		for _, language := range []string{"en", "zh"} {
			t.Run(fmt.Sprintf("dark=%t %s", theme, language), func(t *testing.T) {
				of := serve(t, shop(), answers(false))
				of.change("session", object{"language": language})
				page := open(t, of, look{dark: theme})
				page.settled()
				eval[bool](page, source+"\n;true")
				for name, route := range views() {
					page.goTo(route)
					for _, found := range page.barriers() {
						t.Errorf("%s: %s: %s: %s", name, found.ID, found.Help, strings.Join(found.Nodes, "\n"))
					}
				}
				page.goTo(releaseOfWeb)
				page.click(".actions button", map[string]string{"en": "Roll back…", "zh": "回滚…"}[language])
				page.click("dialog button", map[string]string{"en": "Check", "zh": "检查"}[language])
				page.until(`document.querySelector("dialog .preview")`)
				for _, found := range page.barriers() {
					t.Errorf("dialog: %s: %s: %s", found.ID, found.Help, strings.Join(found.Nodes, "\n"))
				}
			})
		}
	}
}

func TestPageFitsAPhone(t *testing.T) {
	for _, readOnly := range []bool{true, false} {
		page := open(t, serve(t, shop(), answers(readOnly)), look{width: 360, height: 740})
		for name, route := range views() {
			page.goTo(route)
			if wide := eval[int](page, "document.documentElement.scrollWidth"); wide > 360 {
				t.Errorf("%s is %d pixels wide, want 360", name, wide)
			}
			beyond := eval[[]string](page, `[...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > 361 && !one.closest(".weeks, .hidden, thead, svg")).map((one) => one.tagName + "." + one.className)`)
			if len(beyond) > 0 {
				t.Errorf("%s has elements beyond the right edge: %v", name, beyond)
			}
		}
		page.goTo("")
		if beyond := eval[[]string](page, `[...document.querySelectorAll("td > *, td span")].filter((one) => one.offsetParent && one.getBoundingClientRect().right > one.closest("table").getBoundingClientRect().right).map((one) => one.innerText)`); len(beyond) > 0 {
			t.Errorf("cells go beyond their table: %v", beyond)
		}
		if wide := eval[float64](page, `document.querySelector(".namespaces select").getBoundingClientRect().width`); wide < 90 {
			t.Errorf("the choice of a namespace is %.0f pixels wide, want at least 90", wide)
		}
		if small := eval[[]string](page, `[...document.querySelectorAll("button, nav a, select")].filter((one) => one.offsetParent && one.getBoundingClientRect().height < 24).map((one) => one.innerText)`); len(small) > 0 {
			t.Errorf("targets below 24 pixels: %v", small)
		}
	}
}

func TestLanguageIsThatOfTheUserAndKept(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.change("session", object{"language": "zh"})
	page := open(t, of, look{})
	page.shows("main", "需要处理", "进行中", "最近 24 小时", "1 个已暂停")
	page.until(`document.documentElement.lang === "zh-CN"`)
	page.click(".languages button", "English")
	page.shows("main", "Needs somebody")
	page.until(`document.documentElement.lang === "en"`)
	page.do(chromedp.Reload())
	page.shows("main", "Needs somebody")
	page.goTo(releaseOfWeb)
	page.click(".languages button", "中文")
	page.shows(".timeline", "已记录", "批次 1-4")
	if title := eval[string](page, `document.querySelector(".timeline time").title`); !strings.HasPrefix(title, "2026年11月22日") {
		t.Errorf("the title of a time is %q", title)
	}
}

func TestLanguageThatIsChosenBeforeThePluginAnswersIsKept(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.fail("session", 503, object{"error": "the API server can't be reached", "reason": "Unavailable"})
	page := open(t, of, look{})
	page.shows(".banner", "No connection to the plugin.")
	page.click(".languages button", "中文")
	page.shows(".banner", "无法连接插件。")
	of.mend("session")
	page.click(".banner button", "立即连接")
	page.shows("main", "需要处理")
}

func TestThemeFollowsTheSystemUntilItIsChosen(t *testing.T) {
	ground := `getComputedStyle(document.body).backgroundColor`
	for _, dark := range []bool{false, true} {
		page := open(t, serve(t, shop(), answers(true)), look{dark: dark})
		page.shows("main", "shop/web")
		light, night := "rgb(246, 247, 249)", "rgb(14, 18, 23)"
		want := map[bool]string{false: light, true: night}
		page.until(ground + ` === "` + want[dark] + `"`)
		for _, chosen := range []string{light, night, want[dark]} {
			eval[bool](page, `document.querySelector(".theme").click() === undefined`)
			page.until(ground + ` === "` + chosen + `"`)
		}
	}
}

func TestMotionIsReducedWhereTheUserWantsThat(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{})
	page.shows("section:has(#running)", "shop/cart")
	page.until(`[...document.querySelectorAll(".mark.turn")].every((one) => getComputedStyle(one).animationName === "none")`)
}

func TestPrintLeavesOutWhatActs(t *testing.T) {
	page := open(t, serve(t, shop(), answers(false)), look{route: releaseOfWeb})
	page.shows(".actions", "Roll back…")
	page.media("print")
	page.until(`getComputedStyle(document.querySelector("header")).display === "none" && getComputedStyle(document.querySelector(".actions")).display === "none"`)
	page.shows("main", "shop/web", "image web: shop/web:1.8")
}

func TestPrintIsLightWhateverTheTheme(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{dark: true, route: releaseOfWeb})
	page.shows("main", "shop/web", "image web: shop/web:1.8")
	for range 3 {
		page.media("print")
		page.until(`document.querySelector("table") && document.querySelector(".muted") && getComputedStyle(document.querySelector("table")).backgroundColor === "rgb(255, 255, 255)" && getComputedStyle(document.querySelector(".muted")).color === "rgb(86, 97, 112)"`)
		page.media("")
		eval[bool](page, `document.querySelector(".theme").click() === undefined`)
	}
}

func TestNothingLeavesThePlugin(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{})
	for _, route := range views() {
		page.goTo(route)
	}
	if found := page.violations(); len(found) > 0 {
		t.Errorf("the page violates the policy: %v", found)
	}
	if foreign := slices.DeleteFunc(page.asked(), func(address string) bool { return !page.isOffOrigin(address) }); len(foreign) > 0 {
		t.Errorf("the page asks others: %v", foreign)
	}
}

func TestCopyAsKubectlCopies(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{route: releaseOfWeb})
	page.shows("footer", "kubectl altershield status deployment/web -n shop")
	eval[bool](page, `(Object.defineProperty(navigator, "clipboard", { value: { writeText: (text) => { window.copied = text; return Promise.resolve(); } } }), true)`)
	page.click("footer button", "Copy as kubectl")
	page.shows("footer [role=status]", "Copied")
	page.until(`window.copied === "kubectl altershield status deployment/web -n shop"`)
}

func TestCopiedIsSaidOfTheLineThatWasCopied(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{})
	page.shows("main", "shop/web")
	eval[bool](page, `(Object.defineProperty(navigator, "clipboard", { value: { writeText: () => Promise.resolve() } }), true)`)
	page.click("footer button", "Copy as kubectl")
	page.shows("footer [role=status]", "Copied")
	page.goTo("/settings")
	page.shows("footer", "kubectl altershield settings")
	if told := page.text("footer [role=status]"); told != "" {
		t.Errorf("of a line that was not copied the page says %q", told)
	}
}

// TestFirstRowsOfManyWorkloads reports the time until the first rows are there. It depends on the machine, so it isn't checked.
func TestFirstRowsOfManyWorkloads(t *testing.T) {
	of := serve(t, append(shop(), many(1_000)...), answers(true))
	began := time.Now()
	page := open(t, of, look{})
	page.shows("main", "shop/web")
	t.Logf("first rows of 1,000 workloads after %.0f ms by the page's clock, %.0f ms with the start of the tab",
		eval[float64](page, "window.firstRow"), float64(time.Since(began).Milliseconds()))
	page.shows("section:has(#others)", "1,007")
	t.Logf("heap: %.1f MB", eval[float64](page, "performance.memory.usedJSHeapSize / 1e6"))
}

// A cluster with 1,000 workloads that are released three times each, of 10 pods, which change one by one.
func TestATabKeepsNothingOfChangesThatAreOver(t *testing.T) {
	const most = 80e6
	of := serve(t, append(shop(), many(1_000)...), answers(true))
	page := open(t, of, look{})
	page.shows("section:has(#others)", "1,007")
	change := func(round int) {
		var text strings.Builder
		for i := range 1_000 {
			text.WriteString(line(t, object{"type": "release", "release": release(fmt.Sprintf("team-%02d", i%20), fmt.Sprintf("service-%04d", i), "Success", object{
				"release": 7 + round/10, "pods": pods(10, 0, 0, 1+round%10, 0),
			})}))
		}
		text.WriteString(line(t, object{"type": "release", "release": release("shop", "cart", "Running", object{"release": 3, "why": fmt.Sprintf("round %d.", round)})}))
		of.sendText(text.String())
		page.shows("main", fmt.Sprintf("round %d.", round))
	}
	change(0)
	before := page.heap()
	for round := range 30 {
		change(1 + round)
	}
	after := page.heap()
	t.Logf("heap: %.1f MB, after 30,000 changes %.1f MB", before/1e6, after/1e6)
	if after > most || after > before+5e6 {
		t.Errorf("a tab takes %.1f MB after 30,000 changes, and %.1f MB before; at most 80 MB, and no more than before", after/1e6, before/1e6)
	}
}
