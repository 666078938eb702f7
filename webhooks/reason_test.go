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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// because is why a user acts.
func because(reason string) edit {
	return annotation("altershield.defense.antgroup.com/reason", reason)
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
		{"not that of a pause, which goes on", all(release, pausedSpec), all(release, repaired, pausedSpec, because("waits")), user, "", "waits"},
		{"beside a hold of the operator, which ends", all(release, suspended, held("4"), pausedSpec),
			all(release, suspended, held("4"), pausedSpec, ignoring, repaired, because("INC-99")), user, "INC-99", ""},
		{"cut", release, all(release, repaired, because(strings.Repeat("x", 300))), user, strings.Repeat("x", 253) + "...", ""},
		{"of a rollback that a user requested", all(release, asking("true"), askedBy("bob"), because("INC-99")),
			all(release, repaired, requested, because("INC-99")), itself, "INC-99", ""},
		{"not for a rollback that nobody requested", all(release, because("CHG-1")), all(release, repaired, automatic, because("CHG-1")), itself, "", ""},
		{"not for one that a user requested of the router", all(release, because("quiet")), all(release, repaired, requested, because("quiet")), itself, "", ""},
		{"not for one that a ReleasePolicy requested", all(release, asking("true"), askedBy("ReleasePolicy shop/web"), because("quiet")),
			all(release, repaired, ofPolicy, because("quiet")), itself, "", ""},
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
			g.Expect(stampUpdate(old, result, row.by, now)).To(Equal(result), "asked again, the same")
		})
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
