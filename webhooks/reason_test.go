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

package webhooks

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// because is why a user acts.
func because(reason string) edit {
	return annotation("altershield.defense.antgroup.com/reason", reason)
}

// goOnReasonKey has why a release goes on.
const goOnReasonKey = "altershield.defense.antgroup.com/go-on-reason"

// rollbackBecause is why a user requested a rollback, as the webhook keeps it.
func rollbackBecause(reason string) edit {
	return annotation("altershield.defense.antgroup.com/rollback-reason", reason)
}

func TestStampUpdateTakesTheReasonOfTheRelease(t *testing.T) {
	release := all(stamped(versionOf123, "4"), processed, releasedBy("bob", versionOf123, "4"))
	user, itself := author{user: "alice"}, author{user: operator, isOperator: true}
	requested, automatic := rolledBack(leaving(versionOf123, "5", `"user":"bob"`)), rolledBack(leaving(versionOf123, "5"))
	ofPolicy := rolledBack(leaving(versionOf123, "5", `"user":"ReleasePolicy shop/web"`))
	for _, row := range []struct {
		name         string
		old, updated edit
		by           author
		taken, stays string
	}{
		{"that came with it", release, all(release, repaired, because("INC-99")), user, "INC-99", ""},
		{"that came in place of an older one", all(release, because("CHG-1")), all(release, repaired, because("INC-99")), user, "INC-99", ""},
		{"not one of before", all(release, because("CHG-1")), all(release, repaired, because("CHG-1")), user, "", ""},
		{"not that of a pause, which goes on", all(release, pausedSpec, because("waits")), all(release, repaired, pausedSpec, because("waits")), user, "", "waits"},
		{"during a pause", all(release, pausedSpec), all(release, repaired, pausedSpec, because("INC-99")), user, "INC-99", ""},
		{"given before, with a request to go on", all(release, annotation(goOnKey, "4:2"), annotation(goOnReasonKey, "4:2 INC-99")),
			all(release, annotation(goOnKey, "4:2"), annotation(goOnReasonKey, "4:2 INC-99"), repaired, because("INC-99")), user, "INC-99", ""},
		{"beside a hold of the operator, which ends", all(release, suspended, held("4"), pausedSpec),
			all(release, suspended, held("4"), pausedSpec, ignoring, repaired, because("INC-99")), user, "INC-99", ""},
		{"cut", release, all(release, repaired, because(strings.Repeat("x", 300))), user, strings.Repeat("x", 253) + "...", ""},
		{"of a rollback that a user requested", all(release, asking("true"), askedBy("bob"), rollbackBecause("true INC-99")),
			all(release, repaired, requested, rollbackBecause("true INC-99")), itself, "INC-99", ""},
		{"not an older one for a rollback that a user requested", all(release, asking("true"), askedBy("bob"), because("CHG-1")),
			all(release, repaired, requested, because("CHG-1")), itself, "", ""},
		{"not that of another request for a rollback", all(release, asking("3"), askedBy("bob"), rollbackBecause("2 CHG-1")),
			all(release, repaired, requested, rollbackBecause("2 CHG-1")), itself, "", ""},
		{"not for a rollback that nobody requested", all(release, because("CHG-1")), all(release, repaired, automatic, because("CHG-1")), itself, "", ""},
		{"not for one that a user requested of the router", all(release, because("quiet")), all(release, repaired, requested, because("quiet")), itself, "", ""},
		{"not for one that a ReleasePolicy requested", all(release, asking("true"), askedBy("ReleasePolicy shop/web"), rollbackBecause("true quiet")),
			all(release, repaired, ofPolicy, rollbackBecause("true quiet")), itself, "", ""},
		{"not one that kubectl rollout undo brings back from an old ReplicaSet", release,
			all(release, annotation("altershield.defense.antgroup.com/release", "2"), repaired, because("CHG-1")), user, "", ""},
		{"none where there is none", release, all(release, repaired), user, "", ""},
		{"not without a release", release, all(release, because("CHG-1")), user, "", "CHG-1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			old := marksOf(t, deployment(t, row.old))
			result, err := stampUpdate(old, marksOf(t, deployment(t, row.updated)), row.by, now)
			g.Expect(err).NotTo(HaveOccurred())
			record, found := appv1alpha1.ReleaseRecordOf(result.annotations)
			g.Expect(found).To(BeTrue())
			g.Expect(record.Reason).To(Equal(row.taken))
			g.Expect(result.annotations["altershield.defense.antgroup.com/reason"]).To(Equal(row.stays))
			for _, key := range []string{goOnReasonKey, "altershield.defense.antgroup.com/rollback-reason"} {
				g.Expect(result.annotations).NotTo(HaveKey(key))
			}
			g.Expect(stampUpdate(old, result, row.by, now)).To(Equal(result), "asked again, the same")
		})
	}
}

func TestStampUpdateTakesTheReasonOfAReleaseWhoseKindIsPausedByItsStrategy(t *testing.T) {
	for name, kind := range map[string]workload.Kind{"DaemonSet": daemonset.Kind{}, "StatefulSet": statefulset.Kind{}} {
		g := NewWithT(t)
		manual := all(stamped(versionOf123, "4"), updating(object{"type": "OnDelete"}))
		marksOfKind := func(edits ...edit) marks {
			return newMarks(kind, &unstructured.Unstructured{Object: deployment(t, edits...)})
		}
		result, err := stampUpdate(marksOfKind(manual), marksOfKind(manual, repaired, because("INC-99")), author{user: "alice"}, now)
		g.Expect(err).NotTo(HaveOccurred())
		record, _ := appv1alpha1.ReleaseRecordOf(result.annotations)
		g.Expect(record.Reason).To(Equal("INC-99"), name)
		g.Expect(result.annotations).NotTo(HaveKey("altershield.defense.antgroup.com/reason"), name)
	}
}

func TestStampUpdateMovesTheReasonOfARequestToIt(t *testing.T) {
	release := stamped(versionOf123, "4")
	goOn, rollback := annotation(goOnKey, "4:2"), asking("true")
	const goOnReason, rollbackReason = "altershield.defense.antgroup.com/go-on-reason", "altershield.defense.antgroup.com/rollback-reason"
	for _, row := range []struct {
		name         string
		old, updated edit
		key, moved   string
		stays        string
	}{
		{"to go on", release, all(goOn, because("CHG-1")), goOnReason, "4:2 CHG-1", ""},
		{"the same again, for the next step", all(goOn, annotation(goOnReason, "4:2 CHG-1")), all(annotation(goOnKey, "4:3"), annotation(goOnReason, "4:2 CHG-1"), because("CHG-1")),
			goOnReason, "4:3 CHG-1", ""},
		{"for a rollback", release, all(rollback, because("INC-99")), rollbackReason, "true INC-99", ""},
		{"cut", release, all(goOn, because(strings.Repeat("x", 300))), goOnReason, "4:2 " + strings.Repeat("x", 253) + "...", ""},
		{"not one from before, to go on", because("waits"), all(goOn, because("waits")), goOnReason, "", "waits"},
		{"not one from before, for a rollback", because("waits"), all(rollback, because("waits")), rollbackReason, "", "waits"},
		{"not of an earlier request that was the same", all(annotation(goOnKey, "4:3"), annotation(goOnReason, "4:2 CHG-1")), all(goOn, annotation(goOnReason, "4:2 CHG-1")), goOnReason, "", ""},
		{"not of a request that is there already", goOn, all(goOn, because("CHG-1")), goOnReason, "", "CHG-1"},
		{"which keeps it, to go on", all(goOn, annotation(goOnReason, "4:2 CHG-1")), all(goOn, annotation(goOnReason, "4:2 INC-99")), goOnReason, "4:2 CHG-1", ""},
		{"which keeps it, for a rollback", all(rollback, annotation(rollbackReason, "true INC-99")), rollback, rollbackReason, "true INC-99", ""},
		{"which gets none later", goOn, all(goOn, annotation(goOnReason, "4:2 CHG-1")), goOnReason, "", ""},
		{"and forgets it with the request", all(release, annotation(goOnReason, "4:2 CHG-1")), annotation(goOnReason, "4:2 CHG-1"), goOnReason, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			old := marksOf(t, deployment(t, release, row.old))
			result, err := stampUpdate(old, marksOf(t, deployment(t, release, row.updated)), author{user: "alice"}, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.annotations[row.key]).To(Equal(row.moved))
			g.Expect(result.annotations["altershield.defense.antgroup.com/reason"]).To(Equal(row.stays))
			g.Expect(stampUpdate(old, result, author{user: "alice"}, now)).To(Equal(result), "asked again, the same")
		})
	}
}

func TestStampUpdateEndsTheReasonOfAPauseWithIt(t *testing.T) {
	reason := annotation("altershield.defense.antgroup.com/pause-reason", "waits")
	release := all(stamped(versionOf123, "4"), reason)
	for name, row := range map[string]struct {
		state edit
		stays bool
	}{"paused": {pausedSpec, true}, "resumed": {release, false}} {
		g := NewWithT(t)
		old := marksOf(t, deployment(t, release, row.state))
		result, err := stampUpdate(old, marksOf(t, deployment(t, release, row.state, repaired)), author{user: "alice"}, now)
		g.Expect(err).NotTo(HaveOccurred())
		_, stays := result.annotations["altershield.defense.antgroup.com/pause-reason"]
		g.Expect(stays).To(Equal(row.stays), name)
		g.Expect(stampUpdate(old, result, author{user: "alice"}, now)).To(Equal(result), "asked again, the same")
	}
}

func TestStampNewKeepsTheReasonOfTheCreation(t *testing.T) {
	g := NewWithT(t)
	result, err := stampNew(marksOf(t, deployment(t, because("CHG-1"))), "alice", now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/reason", "CHG-1"))
	record, _ := appv1alpha1.ReleaseRecordOf(result.annotations)
	g.Expect(record.Reason).To(Equal("CHG-1"))
}
