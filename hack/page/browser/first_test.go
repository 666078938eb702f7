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
	choose := `(() => { const select = document.querySelector(".namespaces select"); select.value = "pay"; select.dispatchEvent(new Event("change", { bubbles: true })); return true })()`
	eval[bool](page, choose)
	page.until(`!document.querySelector("main").innerText.includes("shop/web")`)
	page.shows("main", "pay/api")
	page.shows("footer", "kubectl altershield list -n pay")
	eval[bool](page, strings.ReplaceAll(choose, `"pay"`, `""`))
	page.shows("main", "shop/web")
	page.do(typed("input[type=search]", "ALICE"))
	page.until(`!document.querySelector("main").innerText.includes("pay/api")`)
	page.shows("main", "shop/web")
	page.do(typed("input[type=search]", " and nothing else"))
	page.shows("section:has(#others)", "No workload matches.")
}

func TestFirstPageIsCalmWithoutReleases(t *testing.T) {
	of := serve(t, nil, answers(true))
	of.set("releases", object{"items": []object{}})
	of.set("freezes", object{"items": []object{}})
	page := open(t, of, look{})
	page.shows("main", "Nothing needs anybody.", "No release is running.", "No release ended in the last 24 hours.")
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

// many returns verified releases.
func many(count int) []object {
	found := make([]object, count)
	for i := range found {
		found[i] = release(fmt.Sprintf("team-%02d", i%20), fmt.Sprintf("service-%04d", i), "Success", object{"pods": pods(10, 0, 0, 10, 0)})
	}
	return found
}
