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

package render_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/kindtool"
	"github.com/traas-stack/altershield-operator/controllers/verification/replay"
)

var style = render.Style{Now: now}

func TestColumns(t *testing.T) {
	g := NewWithT(t)
	g.Expect(render.Columns("web")).To(Equal(3))
	g.Expect(render.Columns("错误率 5%")).To(Equal(9))
	g.Expect(render.Columns("ＡＢ")).To(Equal(4))
	g.Expect(render.Columns("e\u0301")).To(Equal(1))
	g.Expect(render.Columns("✔→…")).To(Equal(3))
}

func TestLanguageOfTheFirstSetting(t *testing.T) {
	g := NewWithT(t)
	g.Expect(render.LanguageOf()).To(BeEquivalentTo("en"))
	g.Expect(render.LanguageOf("", "", "zh_CN.UTF-8")).To(BeEquivalentTo("zh"))
	g.Expect(render.LanguageOf("en", "zh")).To(BeEquivalentTo("en"))
	g.Expect(render.LanguageOf("", "C.UTF-8", "zh_CN.UTF-8")).To(BeEquivalentTo("en"))
}

func TestListOfNothing(t *testing.T) {
	g := NewWithT(t)
	g.Expect(render.List(view.ReleaseList{}, style, "shop")).To(Equal("no releases under change control were found in namespace shop\n"))
	g.Expect(render.List(view.ReleaseList{}, style, "")).To(Equal("no releases under change control were found\n"))
	g.Expect(render.List(view.ReleaseList{Counts: map[view.State]int{"Success": 31}, Hidden: 31}, style, "")).To(Equal("31 verified (--all shows them)\n"))
	g.Expect(render.List(view.ReleaseList{Counts: map[view.State]int{"Success": 31}}, style, "")).To(Equal("31 Success\n"))
	g.Expect(render.List(view.ReleaseList{Counts: map[view.State]int{"Success": 31}, Hidden: 30}, style, "")).To(Equal("31 Success\n"), "one is listed already")
	g.Expect(render.List(view.ReleaseList{Narrowed: true}, style, "shop")).To(Equal("no releases of that name or with these labels were found in namespace shop\n"))
	g.Expect(render.List(view.ReleaseList{Narrowed: true}, style, "")).To(Equal("no releases of that name or with these labels were found\n"))
}

func TestStatusWithoutARecord(t *testing.T) {
	g := NewWithT(t)
	workload := view.Workload{Namespace: "shop", Kind: "Deployment", Name: "web", Known: true, Version: version("a"), Paused: true}
	g.Expect(render.Status(view.Status{Workload: workload}, style)).To(Equal("shop/web  no release is recorded yet\nDeployment web  0 wanted · 0 ready · paused by a user\n"))
	workload.PauseReason = "waits for\nthe database"
	g.Expect(render.Status(view.Status{Workload: workload}, style)).To(HaveSuffix("0 ready · paused by a user: waits for the database\n"))
	workload.Version = ""
	g.Expect(render.Status(view.Status{Workload: workload}, style)).To(ContainSubstring("not under change control"))
	workload.Known = false
	g.Expect(render.Status(view.Status{Workload: workload}, style)).To(ContainSubstring("Deployment web  not readable"))
}

func TestStatusEndsItsColoursWhereTheTerminalIsNarrow(t *testing.T) {
	workload := view.Workload{Namespace: "shop", Kind: "Deployment", Name: "checkout-of-a-long-name", Known: true, Version: version("a")}
	for _, width := range []int{20, 32, 60} {
		text := render.Status(view.Status{Workload: workload}, render.Style{Now: now, Colour: true, Width: width})
		NewWithT(t).Expect(strings.Count(text, "\x1b[1m")).To(Equal(strings.Count(text, "\x1b[0m")), text)
	}
}

func TestStatusCountsPodsThatWaitAtTheStepApartFromNewOnes(t *testing.T) {
	workload := view.Workload{Known: true, Wanted: 4, Ready: 4, Updated: 4, Gated: 2, Old: 2}
	NewWithT(t).Expect(render.Status(view.Status{Workload: workload}, style)).To(HaveSuffix("4 wanted · 4 ready · 2 old · 2 new · 2 wait at the step\n"))
	NewWithT(t).Expect(render.Status(view.Status{Workload: workload}, render.Style{Now: now, Language: "zh"})).To(HaveSuffix("2 在步骤处等待\n"))
}

func TestStatusNamesTheRollbackByItsVersionWhereTheReleaseIsForgotten(t *testing.T) {
	shown := status()
	shown.Next.Release = 0
	NewWithT(t).Expect(render.Status(shown, style)).To(ContainSubstring("(to version a15e8a3)"))
}

func TestStatusNamesFailedPodsWhereThereAreNoBatches(t *testing.T) {
	shown := status()
	shown.Batches = nil
	NewWithT(t).Expect(render.Status(shown, style)).To(MatchRegexp(`failed pods +2\n.* web-85c4-b6lg8 +5xx\n`))
}

func TestStatusKeepsWhatCannotBeFolded(t *testing.T) {
	NewWithT(t).Expect(strings.Count(render.Status(status(), render.Style{Now: now, Height: 1}), "\n")).To(BeNumerically("<", 14))
}

func TestHistoryOfNothing(t *testing.T) {
	NewWithT(t).Expect(render.History(view.ReleaseList{}, style)).To(Equal("no release is recorded yet\n"))
}

func TestHistoryMarksVerifiedReleasesWhoseContentIsKept(t *testing.T) {
	release := suspended()
	release.Kept = true
	NewWithT(t).Expect(render.History(view.ReleaseList{Items: []view.Release{release}}, style)).NotTo(ContainSubstring("*"), "there is no way back to a failed one")
}

func TestWhyNamesFailedPodsThatItsSentenceDoesNot(t *testing.T) {
	present := suspended()
	text := render.Why(view.Why{Present: &present, Failures: []view.FailedPod{
		{Pod: "web-85c4-b6lg8", Message: "5xx"}, {Pod: "web-85c4-zzzzz", Message: "5xx"}, {Pod: "web-85c4-yyyyy", Message: "5xx"},
	}}, style)
	NewWithT(t).Expect(text).To(ContainSubstring("pod web-85c4-zzzzz, web-85c4-yyyyy: 5xx\n"))
	NewWithT(t).Expect(text).NotTo(ContainSubstring("pod web-85c4-b6lg8: 5xx"))
}

func TestTablesShowServiceAccountsByTheirEnd(t *testing.T) {
	g := NewWithT(t)
	release := suspended()
	release.By = "system:serviceaccount:ci:deployer"
	list := view.ReleaseList{Items: []view.Release{release}}
	g.Expect(render.List(list, style, "")).To(ContainSubstring("  sa:ci/deployer  "))
	g.Expect(render.History(list, style)).To(ContainSubstring("  sa:ci/deployer  "))
	g.Expect(render.List(list, render.Style{Now: now, Wide: true}, "")).To(ContainSubstring("  system:serviceaccount:ci:deployer  "))
	list.Items[0].By = "system:serviceaccount:altershieldoperator-system:altershieldoperator-controller-manager"
	g.Expect(render.List(list, style, "")).To(ContainSubstring("  …/altershieldoperator-controller-manager  "))
	g.Expect(render.History(list, render.Style{Now: now, Width: 80})).To(ContainSubstring("manager  "))
}

func TestHistoryWideShowsVersionsAndAllChanges(t *testing.T) {
	g := NewWithT(t)
	list := view.ReleaseList{Items: []view.Release{suspended()}}
	g.Expect(render.History(list, style)).NotTo(ContainSubstring("spec.volumes: reordered"))
	g.Expect(render.History(list, render.Style{Now: now, Wide: true})).To(And(ContainSubstring("spec.volumes: reordered"), ContainSubstring(version("491e30c"))))
}

func TestWhyNothing(t *testing.T) {
	present := view.Release{Namespace: "shop", Workload: "web", Number: 1, Version: version("a"), State: "Success"}
	NewWithT(t).Expect(render.Why(view.Why{Present: &present, Workload: view.Workload{Namespace: "shop", Name: "web"}}, style)).To(ContainSubstring("nothing holds it back\n"))
	NewWithT(t).Expect(render.Why(view.Why{Present: &present, Workload: view.Workload{Namespace: "shop", Name: "web", Suspended: true}}, style)).To(
		ContainSubstring("nothing holds it back; suspended: further releases are denied\n"))
}

func TestWhyOfTrials(t *testing.T) {
	g := NewWithT(t)
	g.Expect(render.Why(view.Why{Workload: status().Workload, Trial: &view.Trial{Verdict: "NoRelease"}}, style)).To(Equal("○ shop/web would be admitted and is no release: the content is the same\n"))
	g.Expect(render.Why(view.Why{Workload: status().Workload, Trial: &view.Trial{Verdict: "NotControlled"}}, style)).To(Equal("○ shop/web would be admitted without change control\n"))
}

func TestOutcome(t *testing.T) {
	for state, line := range map[view.State]string{
		"Success":    "2026-11-22 16:41:52  shop/web  release 7  ✔ Success  4✔ 2✖ of 20  verified\n",
		"Suspend":    "2026-11-22 16:41:52  shop/web  release 7  ✖ Suspend  4✔ 2✖ of 20  suspended: it failed\n",
		"RolledBack": "2026-11-22 16:41:52  shop/web  release 7  ↩ RolledBack  4✔ 2✖ of 20  rolled back: PodsFailed: it failed\n",
		"Superseded": "2026-11-22 16:41:52  shop/web  release 7  ○ Superseded  4✔ 2✖ of 20  superseded by release 8: it failed\n",
		"NotChecked": "2026-11-22 16:41:52  shop/web  release 7  ○ NotChecked  4✔ 2✖ of 20  not checked: it failed\n",
		"Pending":    "2026-11-22 16:41:52  shop/web  release 7  ◌ Pending  4✔ 2✖ of 20: it failed\n",
	} {
		release := suspended()
		release.State, release.Why = state, "it failed"
		NewWithT(t).Expect(render.Outcome(view.Outcome{Release: release, By: 8}, style)).To(Equal(line))
	}
	NewWithT(t).Expect(render.Outcome(view.Outcome{Release: view.Release{State: "Superseded"}}, style)).To(HaveSuffix("Superseded\n"))
}

func TestTimeoutAndFooter(t *testing.T) {
	g := NewWithT(t)
	g.Expect(render.Timeout("10m0s", style)).To(Equal("not decided within 10m0s"))
	g.Expect(render.Footer(style)).To(Equal("2026-11-22 16:41:52 (Ctrl-C ends)"))
}

func TestAge(t *testing.T) {
	for seconds, age := range map[int]string{
		-5: "0s", 0: "0s", 119: "119s", 120: "2m", 125: "2m5s", 600: "10m", 7199: "119m", 7200: "2h", 9000: "2h30m", 28800: "8h", 172799: "47h", 172800: "2d",
	} {
		release := view.Release{Namespace: "shop", Workload: "web", State: "Running", Since: &metav1.Time{Time: now.Add(-time.Duration(seconds) * time.Second)}}
		NewWithT(t).Expect(render.Status(view.Status{Present: &release, Workload: view.Workload{Namespace: "shop", Name: "web"}}, style)).To(ContainSubstring("Running for " + age + "  "))
	}
}

func TestDifferenceOfNothing(t *testing.T) {
	NewWithT(t).Expect(render.Difference(view.Difference{From: view.Side{Release: 1}, To: view.Side{Release: 2}}, style)).To(ContainSubstring("no differences"))
}

func TestDifferenceOfANewWorkload(t *testing.T) {
	NewWithT(t).Expect(render.Difference(view.Difference{To: view.Side{File: "web.yaml"}}, style)).To(Equal("a new workload → file web.yaml\n"))
}

func TestEventsOfNothing(t *testing.T) {
	NewWithT(t).Expect(render.Events(view.EventList{}, style)).To(Equal("no Events; they are kept for an hour\n"))
}

func TestRequest(t *testing.T) {
	g := NewWithT(t)
	request := view.Request{
		Namespace: "shop", Workload: "web", Object: "deployment/web", From: view.Side{Release: 7, Version: version("491e30c")}, To: view.Side{Version: version("a15e8a3")}, Changes: []string{"image"},
	}
	g.Expect(render.Question(request, style)).To(Equal("shop/web goes back: release 7 491e30c → a15e8a3\n  image\nDo you want this? [y/N] "))
	g.Expect(render.Request(request, style)).To(Equal("asked the operator; kubectl altershield wait deployment/web -n shop follows\n"))
	request.DryRun, request.To.Release = true, 5
	g.Expect(render.Request(request, style)).To(Equal("shop/web goes back: release 7 491e30c → release 5 a15e8a3\n  image\nnothing was changed: this was a dry run\n"))
}

func TestEachRequestSaysWhatItDoesAndWhatWasDone(t *testing.T) {
	at := view.Side{Release: 7, Version: version("491e30c")}
	for name, row := range map[string]struct {
		request             view.Request
		does, done, chinese string
	}{
		"repair": {view.Request{Kind: "RepairRequest", Workload: "web", Object: "deployment/web", From: at, To: view.Side{Release: 8, Version: version("c0")}},
			"shop/web is repaired: release 7 491e30c → release 8 c000000\n", "released the repair; kubectl altershield wait deployment/web -n shop follows\n",
			"shop/web 将修复发布：发布 7 491e30c → 发布 8 c000000\n"},
		"hold": {view.Request{Kind: "HoldRequest", Workload: "web", Object: "deployment/web", From: at, Reason: "waits for\nthe database"},
			"shop/web is paused at release 7 491e30c\n  reason    waits for the database\n", "paused; kubectl altershield resume deployment/web -n shop lets it go on\n",
			"shop/web 将暂停在发布 7 491e30c\n  理由      waits for the database\n"},
		"park": {view.Request{Kind: "ParkRequest", Workload: "db", Object: "statefulset/db", From: at},
			"shop/db at release 7 491e30c is parked: its pods come back as before, the template stays\n",
			"asked the operator; kubectl altershield status statefulset/db -n shop shows how far it is\n",
			"shop/db 的发布 7 491e30c 将停放：Pod 恢复原样，模板不变\n"},
		"go-on": {view.Request{Kind: "GoOnRequest", Workload: "web", Object: "deployment/web", From: at, Step: "2/3"},
			"shop/web at release 7 491e30c goes on to step 2/3, whatever the checks of the steps before say\n", "asked the operator; kubectl altershield wait deployment/web -n shop follows\n",
			"shop/web 的发布 7 491e30c 将继续到步骤 2/3，不再等待之前步骤的检测\n"},
		"go-on all": {view.Request{Kind: "GoOnRequest", Workload: "web", Object: "deployment/web", From: at, Step: "all"},
			"shop/web at release 7 491e30c goes on to all pods, without further steps\n", "asked the operator; kubectl altershield wait deployment/web -n shop follows\n",
			"shop/web 的发布 7 491e30c 将继续到全部 Pod，不再分步\n"},
		"approve": {view.Request{Kind: "ApproveRequest", Workload: "web", Object: "changeapproval/web-7x2kq", From: at, By: "alice"},
			"shop/web at release 7 491e30c by alice is approved\n", "approved; kubectl delete changeapproval/web-7x2kq -n shop withdraws it until the step begins\n",
			"批准 shop/web 的发布 7 491e30c（由 alice）\n"},
		"deny": {view.Request{Kind: "DenyRequest", Workload: "web", Object: "changeapproval/web-7x2kq", From: at},
			"shop/web at release 7 491e30c by ? is denied its next step that needs approvals\n", "denied; kubectl delete changeapproval/web-7x2kq -n shop withdraws it\n",
			"否决 shop/web 的发布 7 491e30c（由 ?）进入下一个需要批准的步骤\n"},
		"lock": {view.Request{Kind: "FreezeLockRequest", Object: "changefreeze/inc-99", Changes: []string{"workloads: all"}, Reason: "INC-99"},
			"the releases of namespace shop are frozen from now on\n  workloads: all\n  reason    INC-99\n", "frozen; kubectl altershield freeze unlock inc-99 -n shop ends it\n",
			"命名空间 shop 的发布从现在起冻结\n  workloads: all\n  理由      INC-99\n"},
		"unlock": {view.Request{Kind: "FreezeUnlockRequest", Object: "changefreeze/inc-99"},
			"changefreeze/inc-99 in namespace shop ends\n", "changefreeze/inc-99 in namespace shop has ended; releases that it parked start\n",
			"changefreeze/inc-99（命名空间 shop）将结束\n"},
		"break-glass": {view.Request{Kind: "BreakGlassRequest", Object: "breakglass/break-glass-x", Changes: []string{"uses: 1"}},
			"releases in namespace shop pass what would stop them\n  uses: 1\n", "created breakglass/break-glass-x in namespace shop; it keeps who uses it for what. A parked release goes on by resume --override\n",
			"命名空间 shop 中的发布可以越过阻拦\n  uses: 1\n"},
		"settings": {view.Request{Kind: "SettingRequest", Object: "opsconfiginfo/branch", Changes: []string{"content: 10 -> 20"}},
			"opsconfiginfo/branch of the operator is changed\n  content: 10 -> 20\n", "changed opsconfiginfo/branch; the operator takes it without a restart\n",
			"将修改 Operator 的 opsconfiginfo/branch\n  content: 10 -> 20\n"},
		"verdict": {view.Request{Kind: "VerdictRequest", Object: "changepod/web--x--1", Changes: []string{"web-1: unpass -> pass"}},
			"changepod/web--x--1 in namespace shop gets these verdicts\n  web-1: unpass -> pass\n", "changed the verdicts of changepod/web--x--1 in namespace shop\n",
			"changepod/web--x--1（命名空间 shop）将得到这些结论\n  web-1: unpass -> pass\n"},
	} {
		g := NewWithT(t)
		row.request.Namespace = "shop"
		g.Expect(render.Question(row.request, style)).To(Equal(row.does+"Do you want this? [y/N] "), name)
		g.Expect(render.Question(row.request, render.Style{Now: now, Language: render.Chinese})).To(Equal(row.chinese+"确定吗？[y/N] "), name)
		g.Expect(render.Request(row.request, style)).To(Equal(row.done), name)
		row.request.Warnings = []string{"it has no effect"}
		g.Expect(render.Request(row.request, style)).To(Equal("  warning   it has no effect\n"+row.done), name)
		row.request.DryRun = true
		g.Expect(render.Request(row.request, style)).To(Equal(row.does+"  warning   it has no effect\nnothing was changed: this was a dry run\n"), name)
	}
}

func TestAResumptionWithAWarningIsNotSaidToGoOn(t *testing.T) {
	g := NewWithT(t)
	request := view.Request{Kind: "ResumeRequest", Namespace: "shop", Workload: "web", Object: "deployment/web", From: view.Side{Release: 7, Version: version("491e30c")}}
	g.Expect(render.Question(request, style)).To(Equal("shop/web goes on at release 7 491e30c\nDo you want this? [y/N] "))
	g.Expect(render.Request(request, style)).To(Equal("goes on; kubectl altershield wait deployment/web -n shop follows\n"))
	request.Warnings = []string{"the release stays parked: it starts by itself"}
	g.Expect(render.Request(request, style)).To(Equal("  warning   the release stays parked: it starts by itself\n" +
		"kubectl altershield wait deployment/web -n shop shows whether it goes on\n"))
}

func TestFreezes(t *testing.T) {
	g := NewWithT(t)
	at := metav1.NewTime(now.Add(time.Hour))
	g.Expect(render.Freezes(view.FreezeList{}, style)).To(Equal("no ChangeFreezes\n"))
	g.Expect(render.Freezes(view.FreezeList{Items: []view.Freeze{
		{Namespace: "shop", Name: "inc-99", Action: "Deny", Active: true, Until: &at, Parked: 2, Reason: "checkout\nis down"}, {Namespace: "shop", Name: "friday", Action: "Park", Next: &at},
	}}, style)).To(Equal("NAMESPACE  NAME    ACTION  ACTIVE  UNTIL                NEXT                 PARKED  REASON\n" +
		"shop       inc-99  Deny    yes     2026-11-22 17:41:52                       2       checkout is down\n" +
		"shop       friday  Park    no                           2026-11-22 17:41:52\n"))
}

func TestSettings(t *testing.T) {
	NewWithT(t).Expect(render.Settings(view.SettingList{Items: []view.Setting{
		{Name: "branch", Enable: true, Content: "20", Problem: "it must be\na number"}, {Name: "park", Default: true, Remark: "Park"},
	}}, style)).To(Equal("SETTING  VALUE    DEFAULT  PROBLEM              REMARK\n" +
		"branch   on (20)  no       it must be a number\npark     off      yes                           Park\n"))
}

func TestPolicies(t *testing.T) {
	g := NewWithT(t)
	g.Expect(render.Policies(view.PolicyList{}, style)).To(Equal("no policies and no freezes\n"))
	g.Expect(render.Policies(view.PolicyList{
		Items: []view.Policy{{Kind: "ReleasePolicy", Namespace: "shop", Name: "careful", Does: "steps: 1, 100%", Because: "all workloads in namespace shop"}},
		Notes: []view.Note{{Verb: "list", Resource: "changefreezes", Namespace: "system", Lacks: view.LacksPolicies}},
	}, style)).To(Equal("! you may not list changefreezes in namespace system: some policies are not shown\n" +
		"KIND           NAMESPACE  NAME     DOES            SELECTS\nReleasePolicy  shop       careful  steps: 1, 100%  all workloads in namespace shop\n"))
}

func TestMoreEventsHaveNoHeader(t *testing.T) {
	at := metav1.NewTime(now.Add(-time.Minute))
	NewWithT(t).Expect(render.MoreEvents(view.EventList{Items: []view.Event{
		{Time: &at, Type: "Warning", Reason: "ReleaseSuspended", Object: "Deployment/web", Message: "a pod failed", Count: 2},
	}}, style)).To(Equal("60s (x2)   Warning  ReleaseSuspended  Deployment/web  a pod failed\n"))
}

func TestFullDifferencesAreColouredBySide(t *testing.T) {
	g := NewWithT(t)
	difference := view.Difference{From: view.Side{Release: 5}, To: view.Side{Release: 7}, Changes: []string{"image"}, Full: []string{"  a", "- b", "+ c\x1b[31m", "..."}}
	g.Expect(render.Difference(difference, style)).To(Equal("release 5  → release 7 \n  a\n- b\n+ c[31m\n...\n"))
	g.Expect(render.Difference(difference, render.Style{Now: now, Colour: true})).To(HaveSuffix("  a\n\x1b[31m- b\x1b[0m\n\x1b[32m+ c[31m\x1b[0m\n...\n"))
	g.Expect(render.AskSecrets(style)).To(Equal("Values may be secret. Show them? [y/N] "))
}

func TestWordsLongerThanALineAreSplit(t *testing.T) {
	narrow := style
	narrow.Width = 32
	text := render.Question(view.Request{Kind: "HoldRequest", Namespace: "shop", Workload: "web", Reason: "see " + strings.Repeat("x", 30) + " 数据库数据库数据库数据库"}, narrow)
	NewWithT(t).Expect(text).To(ContainSubstring("  reason    see\n            " + strings.Repeat("x", 20) + "\n            xxxxxxxxxx\n            数据库数据库数据库数\n            据库\n"))
}

func TestKindTrialSaysWhatIsReleasedAndHeld(t *testing.T) {
	for name, row := range map[string]struct {
		effects kindtool.Effects
		want    string
	}{
		"nothing to release": {kindtool.Effects{Operation: "creation", ObjectKind: "A", Name: "a", Mode: "Enforce", Release: "NoContent", Pods: "p", Hold: "NotSupported", Health: "Current", HealthReason: "h"},
			"○ creation of A a\n  release   no, the object has none of the templates and fields\n  pods      p\n  hold      not supported; only the next release is denied\n" +
				"  health    Current (h)\n  rules     passed\n"},
		"excluded": {kindtool.Effects{Operation: "update", ObjectKind: "A", Name: "a", Mode: "Enforce", Release: "NotWhen", Changed: []string{"/x"}, Pods: "p", Hold: "AlreadyPaused", Health: "Current", HealthReason: "h"},
			"○ update of A a\n  release   no, because of spec.release.when; changed: /x\n  pods      p\n  hold      already paused\n  health    Current (h)\n  rules     passed\n"},
		"no value": {kindtool.Effects{Operation: "update", ObjectKind: "A", Name: "a", Mode: "Enforce", Release: "Unchanged", Units: []string{"u"}, Hold: "NotPossible", Health: "Current", HealthReason: "h"},
			"○ update of A a\n  release   no\n  pods      none; reported instead: u\n  hold      not possible: its value depends on the object before the release\n" +
				"  health    Current (h)\n  rules     passed\n"},
		"a deletion": {kindtool.Effects{Operation: "deletion", ObjectKind: "A", Name: "a", Mode: "Enforce", Health: "Current", HealthReason: "h"},
			"○ deletion of A a\n  health    Current (h)\n  rules     passed\n"},
		"controlled": {kindtool.Effects{Operation: "creation", ObjectKind: "A", Name: "a", Ignored: true}, "○ creation of A a\n  has no effect: another object controls it\n"},
	} {
		NewWithT(t).Expect(render.KindTrial(view.KindTrialOf(row.effects), render.Style{Now: now})).To(Equal(row.want), name)
	}
}

func TestReplaySaysThatAReleaseIsNotOver(t *testing.T) {
	past := view.Replay{Policy: "errors", Checks: []replay.Check{{Name: "errors", Verdict: "Pending"}}}
	NewWithT(t).Expect(render.Replay(past, style)).To(HaveSuffix("no check of errors would have failed so far: the release isn't over\n"))
	past.Checks[0].Verdict = "Pass"
	NewWithT(t).Expect(render.Replay(past, style)).To(HaveSuffix("no check of errors would have failed\n"))
}
