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
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestCalendarShowsFreezes(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{route: "/calendar"})
	page.shows("section:has(#freezes)", "weekend", "active", "no releases at weekends", "incident-99", "lock", "quarter-end", "not active")
	page.shows("footer", "kubectl altershield freeze list -A")
	if bars := eval[int](page, `document.querySelectorAll(".weeks .freeze").length`); bars != 3 {
		t.Errorf("the weeks show %d freezes, want 3", bars)
	}
	if marks := eval[int](page, `document.querySelectorAll(".weeks svg.release").length`); marks < 10 {
		t.Errorf("the weeks show %d releases, want at least 10", marks)
	}
}

func TestCalendarGoesOnWithTheTime(t *testing.T) {
	of := serve(t, shop(), answers(true))
	page := open(t, of, look{})
	page.shows("main", "shop/web")
	page.goTo("/calendar")
	day := func(index int) string {
		return eval[string](page, "document.querySelectorAll('.weeks g > .band + text')["+strconv.Itoa(index)+"].textContent")
	}
	if today := day(7); today != "Sun 22 Nov" {
		t.Errorf("today is %q, want 22 Nov", today)
	}
	before := eval[int](page, `document.querySelectorAll(".weeks svg.release").length`)
	of.set("releases", object{"items": append(recorded(), with(recorded()[0], object{"release": 99, "startedAt": ago(-time.Minute)}))})
	of.send(t, object{"type": "beat", "now": ago(-10 * time.Minute)})
	page.until("document.querySelectorAll('.weeks svg.release').length === " + strconv.Itoa(before+1))
	of.send(t, object{"type": "beat", "now": ago(-24 * time.Hour)})
	page.until(`document.querySelectorAll(".weeks g > .band + text")[7].textContent === "Mon 23 Nov"`)
}

func TestCalendarHasADayOf25Hours(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.first = line(t, object{"type": "snapshot", "now": "2026-10-23T10:00:00Z", "list": object{"items": shop()}})
	page := open(t, of, look{})
	page.shows("main", "shop/web")
	page.goTo("/calendar")
	days := eval[[]string](page, `[...document.querySelectorAll(".weeks g > .band + text")].map((one) => one.textContent)`)
	if len(days) != 14 || days[0] != "Fri 16 Oct" || days[9] != "Sun 25 Oct" || days[10] != "Mon 26 Oct" || days[13] != "Thu 29 Oct" {
		t.Errorf("the days are %q", days)
	}
	wide := eval[[]float64](page, `[...document.querySelectorAll(".weeks g > .band")].map((one) => Number.parseFloat(one.getAttribute("width")))`)
	if len(wide) != 14 || wide[9] <= wide[8] || wide[9] <= wide[10] {
		t.Errorf("the day with 25 hours is no wider than others: %v", wide)
	}
}

func TestDeliveryHasWeeksFromMidnightOn(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.first = line(t, object{"type": "snapshot", "now": "2026-11-22T10:00:00Z", "list": object{"items": shop()}})
	page := open(t, of, look{zone: "America/New_York"})
	page.shows("main", "shop/web")
	page.goTo("/dora")
	weeks := eval[[]string](page, `[...document.querySelectorAll(".tile title")].slice(0, 13).map((one) => one.textContent)`)
	if len(weeks) != 13 || !strings.Contains(weeks[0], "Mon 24 Aug") && !strings.Contains(weeks[0], "Mon, 24 Aug") {
		t.Errorf("the weeks are %q", weeks)
	}
	for _, week := range weeks {
		if !strings.Contains(week, "Mon") {
			t.Errorf("%q doesn't begin on the day on which the others do", week)
		}
	}
}

func TestHoursAreFullOnesOfTheTimeZone(t *testing.T) {
	for _, zone := range []string{"Asia/Kolkata", "Asia/Kathmandu", "Europe/Berlin"} {
		page := open(t, serve(t, shop(), answers(true)), look{zone: zone})
		page.until(`document.querySelectorAll(".ticks title").length === 8`)
		if hours := eval[string](page, `[...document.querySelectorAll(".ticks title")].map((one) => one.textContent).join()`); strings.Count(hours, ":00:00") != 8 {
			t.Errorf("the hours of %s are at %s", zone, hours)
		}
	}
}

func TestLinesToCopyHaveTheClusterAndTheUserOfThePlugin(t *testing.T) {
	of := serve(t, shop(), answers(false))
	of.change("session", object{"context": "prod eu", "kubeconfig": "/home/alice/it's prod.yaml", "as": "bob", "asGroups": []string{"dev", "on call"}})
	page := open(t, of, look{})
	page.shows("footer", `kubectl altershield list -A --context 'prod eu' --kubeconfig '/home/alice/it'\''s prod.yaml' --as bob --as-group dev --as-group 'on call'`)
	page.goTo("/doctor")
	page.shows("main", "kubectl -n altershieldoperator-system get pods --context 'prod eu'")
	page.goTo(releaseOfWeb)
	page.shows("footer", "kubectl altershield status deployment/web -n shop --context 'prod eu'")
	page.click(".actions button", "Roll back…")
	page.shows("dialog", "--context 'prod eu'")
}

func TestAWayOfTwoCommandsIsTwoLinesToCopy(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.change("session", object{"context": "prod"})
	of.change("why", object{"ways": []object{{"name": "breakglass", "needs": patchDeployments(), "may": true, "commands": []string{
		"kubectl altershield break-glass deployment/web -n shop --override=Freeze --reason WHY", "kubectl altershield resume deployment/web -n shop --override",
	}}}})
	page := open(t, of, look{route: releaseOfWeb})
	page.shows(".ways", "Break the glass")
	lines := eval[string](page, `[...document.querySelectorAll(".ways code")].map((one) => one.innerText).join("\n")`)
	if want := "kubectl altershield break-glass deployment/web -n shop --override=Freeze --reason WHY --context prod\nkubectl altershield resume deployment/web -n shop --override --context prod"; lines != want {
		t.Errorf("the lines to copy are %q, want %q", lines, want)
	}
}

func TestDeliveryShowsTheFourKeys(t *testing.T) {
	record := func(name string, number int, before time.Duration, outcome string, more object) object {
		return with(object{
			"namespace": "shop", "changeRecord": name, "workload": object{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": name}, "release": number, "version": "v", "type": "Release",
			"startedAt": ago(before), "endedAt": ago(before - 10*time.Minute), "outcome": outcome,
		}, more)
	}
	day := 24 * time.Hour
	of := serve(t, shop(), answers(true))
	of.set("releases", object{"items": []object{
		record("a", 1, 20*day, "Verified", object{"commitTime": ago(20*day + 50*time.Minute)}),
		record("a", 2, 10*day, "Failed", object{"failingSince": ago(10*day - 5*time.Minute)}),
		record("a", 3, 10*day-20*time.Minute, "Verified", object{"type": "Rollback", "commitTime": ago(20*day + 50*time.Minute)}),
		record("a", 4, 9*day, "Verified", object{"commitTime": ago(20*day + 50*time.Minute)}), // no new commit
		record("b", 1, 8*day, "Verified", object{"rolledBackBy": 2}),                          // left after its verification
		record("b", 2, 7*day, "Verified", object{"type": "Rollback", "rollback": object{"time": ago(7*day + 20*time.Minute)}}),
		record("b", 3, 6*day, "Superseded", nil), record("b", 4, 5*day, "Unchecked", nil), record("b", 5, 4*day, "Verified", object{"type": "Repair"}),
	}})
	page := open(t, of, look{})
	page.shows("main", "shop/web") // with the time of the plugin
	page.goTo("/dora")
	page.shows(".tiles", "0.7 per week", "40%", "30m median", "1h median")
	page.shows("main", "Left out: 1 superseded, 1 not checked.", "66.7% of verified releases have no commit time.")
	page.shows("section:has(#namespaces)", "shop", "40%", "42.9%")
	if bars := eval[int](page, `document.querySelectorAll(".tile .value").length`); bars == 0 || bars > 4*13 {
		t.Errorf("the tiles have %d bars", bars)
	}
	text := eval[string](page, `new Promise((done) => { const create = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then(done); return create.call(URL, blob); }; [...document.querySelectorAll("button")].find((one) => one.innerText.includes("CSV")).click(); })`)
	if want := "namespace,deployments,verified,failed,superseded,unchecked,change_fail_rate,recovery_seconds_median,lead_time_seconds_median\r\nshop,2,3,2,1,1,0.4,1800,3600\r\n"; text != want {
		t.Errorf("the CSV is %q, want %q", text, want)
	}
}

func TestDeliveryCountsMoreReleasesThanACallTakes(t *testing.T) {
	items := make([]object, 130_000)
	for i := range items {
		name, at := strconv.Itoa(i/100), ago(time.Duration(100-i%100)*time.Hour)
		items[i] = object{
			"namespace": "shop", "workload": object{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": name}, "release": i%100 + 1, "type": "Release",
			"startedAt": at, "endedAt": at, "outcome": "Verified",
		}
	}
	of := serve(t, shop(), answers(true))
	of.set("releases", object{"items": items})
	page := open(t, of, look{})
	page.shows("main", "shop/web")
	page.goTo("/dora")
	page.shows(".tiles", "per week", "0%")
}

func TestSettingsShowValuesAndProblems(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{route: "/settings"})
	page.shows("main", "isBlockingUp", "on", "default", "checkTimeout", "10m", "set by the platform team", "the content is no duration")
	page.shows("footer", "kubectl altershield settings")
}

func TestDoctorShowsTheSentencesOfThePlugin(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{route: "/doctor"})
	page.shows("main", "Problems: 1.", "problem", "leader", "altershield-0", "kubectl -n altershieldoperator-system get pods", "1.34.1", "list leases.coordination.k8s.io")
	page.click(".languages button", "中文")
	page.shows("main", "问题：1 个。", "您无权 list leases.coordination.k8s.io")
}

func TestDoctorBlamesNoWebhookWhereDeploymentsAreNotEnforced(t *testing.T) {
	of := serve(t, shop(), answers(true))
	of.change("doctor", object{"problems": 0, "items": []object{{"topic": "Trial", "result": "Note", "symptom": "TrialNotEnforced", "values": []string{"shop"}}}})
	page := open(t, of, look{route: "/doctor"})
	page.shows("main", "a dry run of a new Deployment in namespace shop comes back without a version: Deployments are not enforced")
}

func TestUnknownViewLeadsBack(t *testing.T) {
	page := open(t, serve(t, shop(), answers(true)), look{route: "/nowhere/at/all"})
	page.shows("main", "There is no such view.")
	page.click("main a", "Back to the overview")
	page.shows("main", "shop/web")
}
