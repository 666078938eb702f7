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

package view_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// batch returns a ChangePod.
func batch(number int64, verified, reason string, change ...func(*appv1alpha1.ChangePod)) appv1alpha1.ChangePod {
	created := appv1alpha1.ChangePod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web--x--%s--x--%d", version("49"), number)},
		Status: appv1alpha1.ChangePodStatus{
			Status: "ExecuteDone", PreSubmitTimeUnix: 100, PostSubmitTimeUnix: 102, VerdictTime: &metav1.MicroTime{Time: time.Unix(112, 0)},
			Conditions: []metav1.Condition{{Type: "Verified", Status: metav1.ConditionStatus(verified), Reason: reason, Message: "found"}},
		},
	}
	for _, change := range change {
		change(&created)
	}
	return created
}

func fails(pods ...string) func(*appv1alpha1.ChangePod) {
	return func(changePod *appv1alpha1.ChangePod) {
		for _, pod := range pods {
			changePod.Status.PodResults = append(changePod.Status.PodResults, appv1alpha1.PodSummary{Pod: pod, Verdict: "unpass", Message: "5xx above 1%"})
		}
	}
}

func inPhase(phase string, due time.Time) func(*appv1alpha1.ChangePod) {
	return func(changePod *appv1alpha1.ChangePod) {
		changePod.Status.Status = appv1alpha1.ChangePodPhase(phase)
		changePod.Status.Deadline = &metav1.Time{Time: due}
		changePod.Status.VerdictTime = nil
	}
}

func TestStatusOfASuspendedRelease(t *testing.T) {
	g := NewWithT(t)
	known := facts(workload(7, "49", isSuspended, wentBack(rollback(6, 0, "ac"))), record(7, "49", suspended), record(5, "a1"))
	known.Kept = []view.Side{{Release: 5, Version: version("a1")}}
	known.Batches = []appv1alpha1.ChangePod{
		batch(5, "False", "PodsFailed", fails("web-5")), batch(6, "False", "PodsFailed", fails("web-6")), batch(10, "True", "CheckNotConfigured"),
		batch(1, "True", "PodsPassed"), batch(2, "True", "PodsPassed"), batch(4, "True", "PodsPassed"),
		batch(7, "Unknown", "Verifying", inPhase("PostSubmitted", now.Add(time.Minute))), batch(8, "Unknown", "Verifying", inPhase("PreWait", now)),
	}
	status := view.StatusOf(known, now)
	g.Expect(status.Present.Number).To(BeEquivalentTo(7))
	g.Expect(status.Present.Current).To(BeTrue())
	g.Expect(status.From).To(Equal(version("ac")), "the release before was rolled back, and has no record")
	g.Expect(status.Workload).To(Equal(view.Workload{
		Namespace: "shop", Kind: "Deployment", Name: "web", Known: true, Release: 7, Version: version("49"), Wanted: 20, Ready: 20, Updated: 6, Old: 16, Suspended: true, Held: true,
	}))
	type group struct {
		numbers, outcome, stage string
		count                   int
	}
	var groups []group
	for _, batches := range status.Batches {
		groups = append(groups, group{batches.Numbers, string(batches.Outcome), batches.Stage, batches.Count})
	}
	g.Expect(groups).To(Equal([]group{
		{"5-6", "failed", "", 2}, {"7", "checking", "POST", 1}, {"8", "checking", "PRE", 1}, {"10", "not checked", "", 1}, {"1-2,4", "passed", "", 3},
	}))
	g.Expect(status.Batches[0].Pods).To(Equal([]string{"web-5", "web-6"}))
	g.Expect(status.Batches[0].Message).To(Equal("5xx above 1%"))
	g.Expect(status.Batches[4].PreSeconds).To(BeEquivalentTo(2))
	g.Expect(status.Batches[4].PostSeconds).To(BeEquivalentTo(10))
	g.Expect(status.FailedPods).To(Equal([]view.FailedPod{{Pod: "web-5", Message: "5xx above 1%"}, {Pod: "web-6", Message: "5xx above 1%"}}))
	g.Expect(status.Earlier).To(HaveLen(2))
	g.Expect(status.Earlier[0].State).To(BeEquivalentTo("RolledBack"))
	g.Expect(status.Earlier[0].RefusedUntil.Time).To(BeTemporally("==", now.Add(21*time.Hour)))
	g.Expect(status.Earlier[1].Kept).To(BeTrue())
}

func TestStatusNamesTheWaysOutOfASuspension(t *testing.T) {
	g := NewWithT(t)
	known := facts(workload(7, "49", isSuspended), record(7, "49", suspended), record(5, "a1"))
	known.Batches = []appv1alpha1.ChangePod{batch(5, "False", "PodsFailed", fails("web-5"))}
	ways := view.StatusOf(known, now).Ways
	g.Expect(ways).To(HaveLen(3))
	g.Expect(ways[0].Name).To(BeEquivalentTo("repair"))
	g.Expect(ways[0].Needs.String()).To(Equal("patch deployments.apps"))
	g.Expect(ways[1].Name).To(BeEquivalentTo("rollback"))
	g.Expect(ways[1].To).To(Equal(version("a1")))
	g.Expect(ways[1].Release).To(BeEquivalentTo(5))
	g.Expect(ways[1].Command).To(Equal("kubectl altershield rollback deployment/web -n shop"))
	g.Expect(ways[2].Needs.String()).To(Equal("patch changepods.app.ops.cloud.alipay.com/status"))
	g.Expect(ways[2].Command).To(Equal("kubectl altershield verdict web--x--" + version("49") + "--x--5 pass -n shop --reason WHY"))
}

func TestStatusNamesTheBestWay(t *testing.T) {
	running := func(record *appv1alpha1.ChangeWorkload) {
		record.Status.Status, record.Status.Conditions = "Running", nil
	}
	for name, row := range map[string]struct {
		present appv1alpha1.ChangeWorkload
		earlier []appv1alpha1.ChangeWorkload
		command string
	}{
		"a rollback":                          {record(7, "49", suspended), []appv1alpha1.ChangeWorkload{record(5, "a1")}, "kubectl altershield rollback deployment/web -n shop"},
		"a repair without a verified version": {record(7, "49", suspended), nil, "kubectl altershield repair deployment/web -n shop -f FILE"},
		"to wait for what is under way":       {record(7, "49", running), []appv1alpha1.ChangeWorkload{record(5, "a1")}, "kubectl altershield wait deployment/web -n shop"},
	} {
		status := view.StatusOf(facts(workload(7, "49", isSuspended), append(row.earlier, row.present)...), now)
		NewWithT(t).Expect(status.Next).NotTo(BeNil(), name)
		NewWithT(t).Expect(status.Next.Command).To(Equal(row.command), name)
	}
	NewWithT(t).Expect(view.StatusOf(facts(workload(7, "49"), record(7, "49")), now).Next).To(BeNil(), "nothing is suspended")
}

func TestStatusNamesTheVersionThatAReleaseReplaced(t *testing.T) {
	observed := record(6, "d4")
	observed.Spec.Observed = true
	for name, row := range map[string]struct {
		records []appv1alpha1.ChangeWorkload
		kept    []view.Side
		from    string
	}{
		"by its record":                {[]appv1alpha1.ChangeWorkload{record(6, "c3"), record(5, "b2")}, nil, version("c3")},
		"by its kept content":          {[]appv1alpha1.ChangeWorkload{record(5, "b2")}, []view.Side{{Release: 6, Version: version("c3")}}, version("c3")},
		"not by one before that":       {[]appv1alpha1.ChangeWorkload{record(5, "b2")}, []view.Side{{Release: 4, Version: version("a1")}}, ""},
		"not by one of another count":  {[]appv1alpha1.ChangeWorkload{observed}, nil, ""},
		"not where it's the first one": {nil, nil, ""},
	} {
		known := facts(workload(7, "49"), append(row.records, record(7, "49"))...)
		known.Kept = row.kept
		NewWithT(t).Expect(view.StatusOf(known, now).From).To(Equal(row.from), name)
	}
}

func TestStatusNamesNoRollbackWithoutAVerifiedVersion(t *testing.T) {
	known := facts(workload(7, "49", isSuspended, wentBack(rollback(5, 6, "a1"))), record(7, "49", suspended), record(5, "a1"))
	for _, way := range view.StatusOf(known, now).Ways {
		NewWithT(t).Expect(way.Name).NotTo(BeEquivalentTo("rollback"), "the only verified version is refused")
	}
}

func TestStatusNamesTheWayOnOfAReleaseThatWaits(t *testing.T) {
	for name, row := range map[string]struct {
		waits   []recordOption
		command string
		needs   string
	}{
		"for approvals": {[]recordOption{is("Running", "Unknown", "Paced", ""), has("Paced", "True", "AwaitingApproval", "step 3 of 3 needs 1 approval")},
			"kubectl altershield approve deployment/web -n shop", "create changeapprovals.app.ops.cloud.alipay.com"},
		"for the end of a freeze": {[]recordOption{is("Running", "Unknown", "Frozen", ""), has("Frozen", "True", "ChangeFreeze", "it is frozen")},
			"kubectl altershield break-glass deployment/web -n shop --override=Freeze --reason WHY, then kubectl altershield resume deployment/web -n shop --override",
			"create breakglasses.app.ops.cloud.alipay.com"},
		"for its user": {[]recordOption{is("Running", "Unknown", "DeploymentPaused", "")}, "kubectl altershield resume deployment/web -n shop", "patch deployments.apps"},
		"to soak":      {[]recordOption{is("Running", "Unknown", "Paced", ""), has("Paced", "True", "Soaking", "it soaks")}, "", ""},
	} {
		g := NewWithT(t)
		status := view.StatusOf(facts(workload(7, "49"), record(7, "49", row.waits...)), now)
		if row.command == "" {
			g.Expect(status.Ways).To(BeEmpty(), name)
			continue
		}
		g.Expect(status.Ways).To(HaveLen(1), name)
		g.Expect(status.Ways[0].Command).To(Equal(row.command))
		g.Expect(status.Ways[0].Needs.String()).To(Equal(row.needs))
		if status.Ways[0].Name == view.WayBreakGlass {
			g.Expect(status.Ways[0].Commands).To(Equal([]string{
				"kubectl altershield break-glass deployment/web -n shop --override=Freeze --reason WHY", "kubectl altershield resume deployment/web -n shop --override",
			}))
			g.Expect(status.Next.Command).To(Equal("kubectl altershield wait deployment/web -n shop"), "the glass is for emergencies")
			g.Expect(status.Next.Commands).To(Equal([]string{"kubectl altershield wait deployment/web -n shop"}))
			continue
		}
		g.Expect(status.Ways[0].Commands).To(Equal([]string{row.command}))
		g.Expect(status.Next).To(Equal(&status.Ways[0]))
	}
}

func TestStatusNamesTheWayOnOfAPausedKindThatIsCalledJob(t *testing.T) {
	for apiVersion, ways := range map[string][]string{"batch/v1": nil, "batch.volcano.sh/v1alpha1": {"kubectl altershield resume job.batch.volcano.sh/web -n shop"}} {
		known := factsOf(apiVersion, "Job", nil)
		known.Records = []appv1alpha1.ChangeWorkload{record(7, "49", is("Running", "Unknown", "JobPaused", ""))}
		var commands []string
		for _, way := range view.StatusOf(known, now).Ways {
			commands = append(commands, way.Command)
		}
		NewWithT(t).Expect(commands).To(Equal(ways), apiVersion)
	}
}

// heldSet returns a StatefulSet whose release 7 failed and is held half way.
func heldSet() view.Facts {
	known := factsOf("apps/v1", "StatefulSet", strategy(map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(2147483647)}}),
		annotated("held", "7"), func(object *unstructured.Unstructured) {
			object.SetLabels(map[string]string{"admission-webhook-altershield.antgroup.com/version": version("49"), "altershield.defense.antgroup.com/suspend": "1"})
			object.Object["status"] = map[string]any{"replicas": int64(4), "updatedReplicas": int64(1)}
		})
	known.Records = []appv1alpha1.ChangeWorkload{record(7, "49", of("shop", "StatefulSet", "web"), suspended)}
	return known
}

func TestStatusNamesTheParkOfAStatefulSet(t *testing.T) {
	g, known := NewWithT(t), heldSet()
	g.Expect(view.StatusOf(known, now).Ways).To(ContainElement(HaveField("Command", "kubectl altershield rollback statefulset/web -n shop --park")))
	has("Parked", "True", "Requested", "the rollout is held")(&known.Records[0])
	status := view.StatusOf(known, now)
	g.Expect(status.Ways).NotTo(ContainElement(HaveField("Name", view.WayPark)))
	g.Expect(status.Present.Why).To(HaveSuffix("; the rollout is held"))
}

func TestHistoryShowsAnObservedReleaseByItsTime(t *testing.T) {
	g := NewWithT(t)
	observed := record(53, "53", func(record *appv1alpha1.ChangeWorkload) {
		record.Spec.Observed, record.Spec.CreateTimeUnix = true, now.Add(-2*time.Hour).Unix()
	})
	list := view.HistoryOf(facts(workload(7, "49"), observed, record(7, "49")), now).Items
	g.Expect(list[0].Number).To(BeEquivalentTo(7))
	g.Expect(list[1].Number).To(BeEquivalentTo(53), "it was observed before")
}

func TestStatusNamesNoWaysWhileNothingIsSuspended(t *testing.T) {
	NewWithT(t).Expect(view.StatusOf(facts(workload(7, "49"), record(7, "49")), now).Ways).To(BeEmpty())
}

func TestStatusBeforeTheFirstRecord(t *testing.T) {
	g := NewWithT(t)
	status := view.StatusOf(facts(workload(1, "49")), now)
	g.Expect(status.Present).To(BeNil())
	g.Expect(status.Workload.Version).To(Equal(version("49")))
}

func TestStatusWithoutTheWorkload(t *testing.T) {
	g := NewWithT(t)
	status := view.StatusOf(facts(nil, record(7, "49", suspended)), now)
	g.Expect(status.Workload.Known).To(BeFalse())
	g.Expect(status.Present.Current).To(BeTrue())
	g.Expect(status.Ways).To(BeEmpty())
}

func TestStatusOfAVersionThatIsReleasedAgainShowsNothingOfItsEarlierRelease(t *testing.T) {
	g := NewWithT(t)
	again := record(8, "49", suspended, func(record *appv1alpha1.ChangeWorkload) { record.Status.ObservedRelease = 7 })
	status := view.StatusOf(facts(workload(8, "49"), again), now)
	g.Expect(status.Present.State).To(BeEquivalentTo("Pending"))
	g.Expect(status.Present.Pods).To(BeZero())
	g.Expect(status.FailedPods).To(BeEmpty())
}

func TestStatusReadsTheNumbersOfOtherKinds(t *testing.T) {
	g := NewWithT(t)
	known := facts(&unstructured.Unstructured{Object: map[string]any{
		"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": map[string]any{"annotations": map[string]any{"altershield.defense.antgroup.com/held": "1"}},
		"spec":   map[string]any{"updateStrategy": map[string]any{"type": "OnDelete"}},
		"status": map[string]any{"desiredNumberScheduled": int64(3), "numberReady": int64(2), "updatedNumberScheduled": int64(1), "currentNumberScheduled": int64(3)},
	}})
	known.Reference.Kind = "DaemonSet"
	read := view.StatusOf(known, now).Workload
	g.Expect([]int64{read.Wanted, read.Ready, read.Updated, read.Old}).To(Equal([]int64{3, 2, 1, 2}))
	g.Expect(read.Held).To(BeTrue(), "its pause is the strategy")
}

func TestStatusOfADeclaredKindHasThePodsThatItsReleaseCounts(t *testing.T) {
	pipeline := func(object *unstructured.Unstructured) { object.Object["spec"] = map[string]any{"workers": int64(2)} }
	for kind, wanted := range map[string]int64{"Pipeline": 2, "Deployment": 0} {
		counted := record(7, "49", func(record *appv1alpha1.ChangeWorkload) { record.Status.Counts.Desired = 2 })
		known := facts(workload(7, "49", pipeline), counted)
		known.Reference.Kind = kind
		NewWithT(t).Expect(view.StatusOf(known, now).Workload.Wanted).To(Equal(wanted), kind)
	}
}

func TestStatusTellsAPauseOfAUserFromAHold(t *testing.T) {
	g := NewWithT(t)
	paused := func(object *unstructured.Unstructured) { object.Object["spec"].(map[string]any)["paused"] = true }
	read := view.StatusOf(facts(workload(7, "49", paused)), now).Workload
	g.Expect([]bool{read.Held, read.Paused}).To(Equal([]bool{false, true}))
	read = view.StatusOf(facts(workload(7, "49", annotated("held", "7-overridden"))), now).Workload
	g.Expect([]bool{read.Held, read.Paused}).To(Equal([]bool{false, false}))
}

func TestStatusShowsChecksOfPolicies(t *testing.T) {
	checked := record(7, "49", func(record *appv1alpha1.ChangeWorkload) {
		record.Status.Checks = []appv1alpha1.CheckResult{{
			Policy: "shop/errors", Name: "http", Mode: "Enforce", Verdict: "Fail", Reason: "CheckFailed", Message: "2% of 5xx", Numbers: &appv1alpha1.CheckNumbers{New: "0.02"},
		}}
	})
	NewWithT(t).Expect(view.StatusOf(facts(workload(7, "49"), checked), now).Checks).To(Equal([]view.Check{
		{Policy: "shop/errors", Name: "http", Mode: "Enforce", Verdict: "Fail", Reason: "CheckFailed", Message: "2% of 5xx", Numbers: &appv1alpha1.CheckNumbers{New: "0.02"}},
	}))
}

func TestStatusWritesManyRangesShortly(t *testing.T) {
	var batches []appv1alpha1.ChangePod
	for number := int64(1); number < 40; number += 2 {
		batches = append(batches, batch(number, "True", "PodsPassed"))
	}
	known := facts(workload(7, "49"), record(7, "49"))
	known.Batches = batches
	NewWithT(t).Expect(view.StatusOf(known, now).Batches[0].Numbers).To(Equal("1,3,5,7,9,11,13,15,..."))
}

func TestStatusGivesTheMessageOfABatchThatNoPodFailed(t *testing.T) {
	known := facts(workload(7, "49"), record(7, "49"))
	known.Batches = []appv1alpha1.ChangePod{batch(1, "False", "UnknownPods")}
	NewWithT(t).Expect(view.StatusOf(known, now).Batches[0].Message).To(Equal("found"))
}

func TestHistoryHasRollbacksWithoutARecord(t *testing.T) {
	g := NewWithT(t)
	spent := rollback(4, 5, "b2")
	spent.RefusedUntil = &metav1.Time{Time: now.Add(-time.Minute)}
	list := view.HistoryOf(facts(workload(7, "49", wentBack(rollback(7, 8, "49"), spent)), record(7, "49"), record(5, "a1")), now)
	g.Expect(list.Items).To(HaveLen(3))
	g.Expect(list.Items[0].State).To(BeEquivalentTo("RolledBack"), "the annotation is earlier than the condition")
	g.Expect(list.Items[0].Why).To(Equal("ImagePullBackOff"))
	g.Expect(list.Items[2].Number).To(BeEquivalentTo(4))
	g.Expect(list.Items[2].RefusedUntil).To(BeNil())
	g.Expect(list.Counts).To(Equal(map[view.State]int{"RolledBack": 2, "Success": 1}))
}

func TestHistoryShowsThatARecordedReleaseWasRolledBack(t *testing.T) {
	g := NewWithT(t)
	known := facts(workload(7, "49", wentBack(rollback(5, 7, "b2"))), record(7, "49"), record(3, "c3"))
	for number, digits := range map[int64]string{5: "b2", 4: "b2", 2: "a1"} {
		stored := view.StoredRecord{}
		stored.Spec.Workload = appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web-uid"}
		stored.Spec.Release, stored.Spec.Version, stored.Spec.Outcome = number, version(digits), "Verified"
		known.Recorded = append(known.Recorded, stored)
	}
	known.Kept = []view.Side{{Release: 7, Version: version("49")}, {Release: 5, Version: version("b2")}, {Release: 2, Version: version("a1")}}
	var shown []string
	for _, release := range view.HistoryOf(known, now).Items {
		shown = append(shown, fmt.Sprintf("%d %s refused=%t target=%t", release.Number, release.State, release.RefusedUntil != nil, release.Target))
	}
	g.Expect(shown).To(Equal([]string{
		"7 Success refused=false target=false", "5 RolledBack refused=true target=false", "4 Success refused=true target=false",
		"3 Success refused=false target=false", "2 Success refused=false target=true",
	}))
}
