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
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func views() map[string]string {
	return map[string]string{
		"first": "", "release": releaseOfWeb, "compare": releaseOfWeb + "/compare/5..7", "calendar": "/calendar", "dora": "/dora", "settings": "/settings", "doctor": "/doctor",
	}
}

func TestForbiddenPartsAreTold(t *testing.T) {
	views := map[string][]string{
		"":                             {"releases", "freezes"},
		releaseOfWeb:                   {"status", "pods", "history", "events", "policies", "why"},
		"/calendar":                    {"freezes", "releases"},
		"/dora":                        {"releases"},
		"/settings":                    {"settings"},
		"/doctor":                      {"doctor"},
		releaseOfWeb + "/compare/5..7": {"diff"},
	}
	for route, calls := range views {
		for _, call := range calls {
			t.Run(route+" "+call, func(t *testing.T) {
				of := serve(t, shop(), answers(true))
				of.fail(call, 403, object{"error": "you may not list " + call + " in namespace shop", "reason": "Forbidden"})
				// Another clock than the browser's has some parts read again, at any moment after the page is open.
				of.first = line(t, object{"type": "snapshot", "now": time.Now(), "list": object{"items": shop()}})
				page := open(t, of, look{route: route})
				page.shows("main [role=alert]", "you may not list "+call+" in namespace shop")
				of.mend(call)
				page.click("main [role=alert] button", "Try again")
				page.until(`document.querySelector("main [role=alert]") === null`)
			})
		}
	}
}

func TestNotesTellWhatTheUserMayNotSee(t *testing.T) {
	lacks := map[string]string{
		"workload": "the workload's own state is not shown", "batches": "batches are not shown", "kept": "which contents are kept is not shown", "recorded": "releases without a ChangeWorkload are not shown",
		"pods": "pods that don't run are not shown", "reviews": "what you may do is not shown", "policies": "some policies are not shown",
	}
	for lack, text := range lacks {
		of := serve(t, shop(), answers(true))
		of.change("status", object{"notes": []object{{"verb": "list", "resource": "changepods.app.ops.cloud.alipay.com", "namespace": "shop", "lacks": lack}}})
		page := open(t, of, look{route: releaseOfWeb})
		page.shows(".notes", "You may not list changepods.app.ops.cloud.alipay.com in namespace shop: "+text)
	}
}

func TestForbiddenListIsTold(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.fail("session", 403, object{"error": "you may not list changeworkloads in any namespace", "reason": "Forbidden"})
	page := open(t, of, look{})
	page.shows(".banner", "The plugin refuses the live list: you may not list changeworkloads in any namespace")
	page.goTo("/calendar")
	page.shows("section:has(#freezes)", "weekend")
	page.shows(".banner", "you may not list changeworkloads in any namespace")
}

func TestForbiddenListIsAskedForAgain(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.fail("session", 403, object{"error": "you may not list changeworkloads in any namespace", "reason": "Forbidden"})
	page := open(t, of, look{})
	page.shows(".banner", "you may not list changeworkloads in any namespace")
	of.mend("session")
	page.click(".banner button", "Connect now")
	page.shows("main", "shop/web")
	page.until(`document.querySelector(".banner") === null`)
}

// hostile are texts that would harm a page that took them for markup, code, links or layout.
func hostile() []string {
	return []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `javascript:alert(1)`, `[x](javascript:alert(1))`, `https://evil.example/"onmouseover="alert(1)`, `http://user:secret@evil.example/`,
		"\u202Egnp.exe\u202C \u2067\u200F", "{{constructor.constructor('alert(1)')()}}", strings.Repeat("very-long-", 1_000), `</title><svg onload=alert(1)>`, "line\nbreak\u0000\u0007", `'; rm -rf / #`,
	}
}

// poison replaces each text in an answer but those that the page depends on.
func poison(value any, text string, name string) any {
	switch value := value.(type) {
	case map[string]any:
		poisoned := object{}
		for key, inner := range value {
			poisoned[key] = poison(inner, text, key)
		}
		return poisoned
	case []any:
		for i := range value {
			value[i] = poison(value[i], text, name)
		}
		return value
	case string:
		if slices.Contains([]string{"now", "language", "type"}, name) {
			return value
		}
		return text
	}
	return value
}

func poisoned(t *testing.T, value any, text string) any {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var copied any
	if err := json.Unmarshal(encoded, &copied); err != nil {
		t.Fatal(err)
	}
	return poison(copied, text, "")
}

func TestHostileTextsAreInert(t *testing.T) {
	for _, text := range hostile() {
		given := answers(false)
		for call := range maps.Clone(given) {
			if call != "releases" { // whose times are compared by the fake
				given[call] = poisoned(t, given[call], text)
			}
		}
		items := poisoned(t, recorded(), text).([]any)
		kept := recorded()
		for i := range items {
			item := items[i].(object)
			kept[i] = with(item, object{"startedAt": kept[i]["startedAt"], "endedAt": kept[i]["endedAt"]})
		}
		given["releases"] = object{"items": kept}
		var releases []object
		for _, one := range shop() {
			releases = append(releases, poisoned(t, one, text).(object), with(poisoned(t, one, text).(object), object{"state": "Suspend", "namespace": one["namespace"], "kind": one["kind"], "workload": one["workload"]}))
		}
		page := open(t, serve(t, releases, given), look{width: 800, height: 700})
		for name, route := range views() {
			page.goTo(route)
			page.isInert(name, text)
			if name == "first" && text == hostile()[6] {
				page.shows("main", "⟨U+202E⟩gnp.exe⟨U+202C⟩")
			}
		}
	}
}

// isInert checks that a view takes a text for nothing but a text.
func (s *tab) isInert(name, text string) {
	s.t.Helper()
	if found := s.violations(); len(found) > 0 {
		s.t.Errorf("%s with %.40q violates the policy: %v", name, text, found)
	}
	if bad := eval[[]string](s, `[...document.querySelectorAll("a[href]")].map((one) => one.href).filter((one) => !/^https?:/.test(one) || one.includes("@"))`); len(bad) > 0 {
		s.t.Errorf("%s with %.40q has links %v", name, text, bad)
	}
	if bad := eval[int](s, `document.querySelectorAll("#page script, #page img, #page [onerror], #page [onload], #page [onmouseover], #page [style], #page iframe").length`); bad > 0 {
		s.t.Errorf("%s with %.40q has %d elements of the text", name, text, bad)
	}
	raw := `[...document.querySelectorAll("#page *")].filter((one) => [...one.childNodes].concat([...one.attributes].filter((inner) => inner.name !== "value" && inner.name !== "href")).some((inner) => inner.nodeType !== 1 && /[\u202e\u2067\u200f\u0000\u0007]/.test(inner.data ?? inner.value))).map((one) => one.outerHTML.slice(0, 200))`
	if shown := eval[[]string](s, raw); len(shown) > 0 {
		s.t.Errorf("%s with %.40q shows control characters in %v", name, text, shown)
	}
	if wide := eval[int](s, "document.documentElement.scrollWidth"); wide > 800 {
		s.t.Errorf("%s with %.40q is %d pixels wide, want 800", name, text, wide)
	}
}
